import pytest

from maskprior.config.arithmetic import PATTERNS
from maskprior.patterns.arithmetic import pattern

# Rows and columns a2 a1 a0 b2 b1 b0, written by hand.
ALIGNED = ["000100", "000010", "000001", "100000", "010000", "001000"]
ALIGNED_SELF = ["100100", "010010", "001001", "100100", "010010", "001001"]
CARRY = ["010110", "001011", "000001", "110010", "011001", "001000"]
CROSS = ["000111", "000111", "000111", "111000", "111000", "111000"]
DIAGONAL = ["000001", "000010", "000100", "001000", "010000", "100000"]

BY_HAND = {
    ("addition", "aligned"): [ALIGNED] * 4,
    ("addition", "aligned_self"): [ALIGNED_SELF] * 4,
    ("addition", "carry"): [ALIGNED, ALIGNED, CARRY, ALIGNED],
    ("multiplication", "cross"): [CROSS] * 4,
    ("multiplication", "partial"): [CROSS, CROSS, DIAGONAL, CROSS],
}


@pytest.mark.parametrize(("task", "name"), BY_HAND)
def test_patterns_by_hand(task, name):
    expected = [[[cell == "1" for cell in row] for row in head] for head in BY_HAND[task, name]]
    found = pattern(task, name, layers=2, heads=4)
    assert found.open.tolist() == [expected] * 2
    assert not found.neutral_rows.any()


def test_every_configurable_pattern_is_written_by_hand():
    assert {(task, name) for task, names in PATTERNS.items() for name in names} == set(BY_HAND)
