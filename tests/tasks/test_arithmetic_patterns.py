import pytest

from maskprior import tasks

# Rows and columns a2 a1 a0 b2 b1 b0, written by hand.
ALIGNED = ["000100", "000010", "000001", "100000", "010000", "001000"]
ALIGNED_SELF = ["100100", "010010", "001001", "100100", "010010", "001001"]
CARRY = ["010110", "001011", "000001", "110010", "011001", "001000"]
CROSS = ["000111", "000111", "000111", "111000", "111000", "111000"]
DIAGONAL = ["000001", "000010", "000100", "001000", "010000", "100000"]

# The controls, which are wrong on purpose: a digit with the other number's next higher one, and a permutation.
WRONG_PAIR = ["000001", "000100", "000010", "001000", "100000", "010000"]
ITSELF = ["100000", "010000", "001000", "000100", "000010", "000001"]
SHUFFLED = ["000100", "001000", "000001", "000010", "100000", "010000"]  # the permutation 3 2 5 4 0 1

BY_HAND = {
    ("addition", "aligned"): [ALIGNED] * 4,
    ("addition", "aligned_self"): [ALIGNED_SELF] * 4,
    ("addition", "carry"): [ALIGNED, ALIGNED, CARRY, ALIGNED],
    ("addition", "wrong_pair"): [WRONG_PAIR] * 4,
    ("addition", "itself"): [ITSELF] * 4,
    ("addition", "shuffled"): [SHUFFLED] * 4,
    ("multiplication", "cross"): [CROSS] * 4,
    ("multiplication", "partial"): [CROSS, CROSS, DIAGONAL, CROSS],
}


@pytest.mark.parametrize(("task", "name"), BY_HAND)
def test_patterns_by_hand(task, name):
    expected = [[[cell == "1" for cell in row] for row in head] for head in BY_HAND[task, name]]
    found = tasks.find("arithmetic", task).patterns[name](layers=2, heads=4)
    assert found.open.tolist() == [expected] * 2
    assert not found.neutral_rows.any()


def test_every_pattern_is_written_by_hand():
    known = {(task, name) for task in tasks.names("arithmetic") for name in tasks.find("arithmetic", task).patterns}
    assert known == set(BY_HAND)


@pytest.mark.parametrize(("task", "name"), [("addition", "carry"), ("multiplication", "partial")])
def test_a_pattern_about_the_third_head_needs_three(task, name):
    with pytest.raises(ValueError, match="third head, and there are 2"):
        tasks.find("arithmetic", task).patterns[name](layers=1, heads=2)
