"""The rules applied to made-up cells err as often as docs/protocol.md says they may."""

from pathlib import Path

import numpy as np
import pytest

from maskprior.analysis.coverage import CELLS, KINDS, Rates, study

PROTOCOL = Path(__file__).parents[2] / "docs" / "protocol.md"


def bounds() -> dict[tuple[str, str, int], tuple[float, float]]:
    """(column, kind, seeds) -> at least, at most, in percent: the protocol's table."""
    section = PROTOCOL.read_text().partition("### How often the rules err")[2].partition("\n#")[0]
    rows = [[entry.strip() for entry in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {
        (column, kind, int(n)): (float(least), float(most))
        for columns, kinds, seeds, least, most in rows[2:]
        for column in columns.split(", ")
        for kind in kinds.split(", ")
        for n in seeds.split(", ")
    }


@pytest.fixture(scope="module")
def found() -> list[Rates]:
    return study()


def test_every_rate_lies_where_the_protocol_says(found: list[Rates]) -> None:
    allowed = bounds()
    outside = []
    for rates in found:
        assert rates.cells == CELLS == 2000
        shares = {key: value for key, value in vars(rates).items() if isinstance(value, float)}
        for column, share in shares.items():
            least, most = allowed.pop((column, rates.kind, rates.n))
            if not least <= 100 * share <= most:
                outside.append(f"{column} of {rates.kind} with {rates.n} seeds: {100 * share:.2f}")
    assert outside == []
    assert not allowed


def test_the_true_means_are_those_of_the_draws() -> None:
    for kind in KINDS:
        for draw in (kind.seeds, kind.steady):
            values = draw(np.random.default_rng(1), (200_000,))
            there = np.log(values) if kind.axis.is_log else values
            truth = np.log(kind.mean) if kind.axis.is_log else kind.mean
            assert abs(there.mean() - truth) < 5 * there.std() / np.sqrt(len(there))


def test_the_same_study_gives_the_same_rates() -> None:
    assert study(50) == study(50)
