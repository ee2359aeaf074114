from pathlib import Path

import pytest

from maskprior.build import pdf
from maskprior.errors import UserError
from tests.constructed_runs import WriteRun


def test_a_pdf_that_shows_local_records_is_not_published(project: Path, write_run: WriteRun) -> None:
    write_run("addition", "mask", 1, {"sequence_accuracy": 95.0}, scale="paper")
    with pytest.raises(UserError, match="not published: arithmetic/addition/mask/seed1; publish them first"):
        pdf.publish()
