import numpy as np
import pytest
import yaml

from maskprior import paths, tasks
from tests.boolean_runs import pattern

IDENTITY = ["1000", "0100", "0010", "0001"]
SWAP_01 = ["0100", "1000", "0010", "0001"]
SWAP_12 = ["1000", "0010", "0100", "0001"]
SWAP_02 = ["0010", "0100", "1000", "0001"]
BLOCK_01 = ["1100", "1100", "0010", "0001"]
BLOCK_12 = ["1000", "0110", "0110", "0001"]
BLOCK_02 = ["1010", "0100", "1010", "0001"]
FORWARD = ["1110", "0111", "1011", "1101"]
CENTERED = ["1101", "1110", "0111", "1011"]
FIRST = ["1000", "0100", "0010", "0000"]

# The permutation 2 0 1 3.
SHUFFLED = ["0010", "1000", "0100", "0001"]

# Three layers of three heads, written by hand for four tokens: task, name -> layers -> heads -> rows.
BY_HAND = {
    ("2parity", "perm"): [[SWAP_01] * 3] * 3,
    ("2parity", "blockself"): [[BLOCK_01] * 3] * 3,
    ("2parity", "layered"): [[SWAP_01] * 3, [IDENTITY] * 3, [IDENTITY] * 3],
    ("majority3", "identity"): [[IDENTITY] * 3] * 3,
    ("majority3", "identity_first"): [[FIRST] * 3] * 3,
    ("cyclic3", "forward"): [[FORWARD] * 3] * 3,
    ("cyclic3", "centered"): [[CENTERED] * 3] * 3,
    ("cyclic3", "early"): [[FORWARD] * 3, [FORWARD] * 3, [IDENTITY] * 3],
    ("threesym", "perm"): [[SWAP_01, SWAP_12, SWAP_02]] * 3,
    ("threesym", "blockself"): [[BLOCK_01, BLOCK_12, BLOCK_02]] * 3,
    # The controls, which are wrong on purpose.
    ("2parity", "itself"): [[IDENTITY] * 3] * 3,
    ("2parity", "shuffled"): [[SHUFFLED] * 3] * 3,
    ("cyclic3", "itself"): [[IDENTITY] * 3] * 3,
    ("threesym", "itself"): [[IDENTITY] * 3] * 3,
    ("threesym", "shuffled"): [[SHUFFLED] * 3] * 3,
}
# Too large for four tokens: the two tokens that attend to each other in each of three heads.
WRONG_PAIRS = {"2parity": [(3, 4)] * 3, "threesym": [(3, 4), (4, 5), (3, 5)]}


def parse(rows: list[str]) -> list[list[bool]]:
    return [[cell == "1" for cell in row] for row in rows]


@pytest.mark.parametrize(("task", "name"), BY_HAND)
def test_patterns_by_hand(task, name):
    expected = [[parse(head) for head in layer] for layer in BY_HAND[task, name]]
    found = pattern(task, name, layers=3, heads=3, tokens=4)
    assert found.open.tolist() == expected


def test_every_pattern_is_written_by_hand():
    known = {(task, name) for task in tasks.names("boolean") for name in tasks.find("boolean", task).patterns}
    assert known == set(BY_HAND) | {(task, "wrong_pair") for task in WRONG_PAIRS}


@pytest.mark.parametrize("task", WRONG_PAIRS)
def test_a_wrong_pair_is_as_sparse_as_the_right_one_and_shares_no_token_with_it(task):
    right, wrong = (pattern(task, name, layers=2, heads=3, tokens=8).open for name in ("perm", "wrong_pair"))
    assert right.sum() == wrong.sum()
    itself = np.eye(8, dtype=bool)
    for layer in wrong:
        for head, (i, j) in zip(layer, WRONG_PAIRS[task], strict=True):
            assert {tuple(entry) for entry in np.argwhere(head & ~itself).tolist()} == {(i, j), (j, i)}
            assert not {i, j} & {0, 1, 2}


@pytest.mark.parametrize("task", tasks.names("boolean"))
def test_default_patterns_have_no_neutral_row(task):
    file = yaml.safe_load((paths.config() / "experiments" / "boolean.yaml").read_text())
    default = pattern(task, file["tasks"][task]["pattern"], layers=4, heads=3, tokens=15)
    assert default.open.shape == (4, 3, 15, 15)
    assert default.open.any(-1).all()
    assert not default.neutral_rows.any()


def test_a_fourth_head_of_threesym_starts_over():
    found = pattern("threesym", "perm", layers=1, heads=4, tokens=6).open[0]
    assert np.array_equal(found[3], found[0])


def test_forward_wraps_around():
    rows = pattern("cyclic3", "forward", layers=1, heads=1, tokens=15).open[0, 0]
    assert np.flatnonzero(rows[14]).tolist() == [0, 1, 14]
    assert np.flatnonzero(rows[3]).tolist() == [3, 4, 5]


def test_an_unknown_task_names_the_known_ones():
    with pytest.raises(ValueError, match="addition is not a task of boolean: 2parity, cyclic3, majority3, threesym"):
        tasks.find("boolean", "addition")
