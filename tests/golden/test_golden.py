"""The current code gives the golden numbers: see maskprior.evidence.golden."""

import pytest

from maskprior.evidence.golden import check
from maskprior.experiments.run import execute
from maskprior.runs.spec import built_experiments


@pytest.mark.slow
@pytest.mark.parametrize("experiment", built_experiments())
def test_golden_records(experiment: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Raises where a number moved. What is printed says whether it was compared bit for bit or within the tolerance."""
    check(experiment, execute)
    told = capsys.readouterr().out.splitlines()[-1]
    with capsys.disabled():
        print(f"\n{told}")
    assert "unchanged: compared" in told
