import numpy as np
import pytest

from maskprior import tasks
from maskprior.datasets import arithmetic, registry


@pytest.mark.parametrize("task", ["addition", "multiplication"])
def test_every_row_is_true(task):
    inputs, outputs = arithmetic.table(tasks.find("arithmetic", task))
    assert inputs.shape == (10**6, 6)
    assert outputs.shape == (10**6, {"addition": 4, "multiplication": 6}[task])
    assert inputs.dtype == outputs.dtype == np.uint8
    value = lambda digits: digits.astype(np.int64) @ (10 ** np.arange(digits.shape[1] - 1, -1, -1))  # noqa: E731
    a, b = value(inputs[:, :3]), value(inputs[:, 3:])
    assert np.array_equal(a * 1000 + b, np.arange(10**6))
    assert np.array_equal(value(outputs), a + b if task == "addition" else a * b)


def test_rows_by_hand():
    inputs, sums = arithmetic.table(tasks.find("arithmetic", "addition"))
    assert inputs[67092].tolist() == [0, 6, 7, 0, 9, 2]
    assert sums[67092].tolist() == [0, 1, 5, 9]
    assert sums[999999].tolist() == [1, 9, 9, 8]
    assert arithmetic.table(tasks.find("arithmetic", "multiplication"))[1][999999].tolist() == [9, 9, 8, 0, 0, 1]


@pytest.mark.parametrize("task", ["addition", "multiplication"])
def test_content_has_the_registered_hash(task):
    assert arithmetic.content_hash(tasks.find("arithmetic", task)) == registry.load()[f"arithmetic-{task}"].generated


def test_split_is_a_partition_of_the_stated_size():
    split = arithmetic.split(0.004, seed=0)
    assert len(split.train) == 4000
    assert np.array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(10**6))


def test_split_depends_on_seed_alone():
    assert arithmetic.split(0.03, seed=1).digest == arithmetic.split(0.03, seed=1).digest
    assert arithmetic.split(0.03, seed=1).digest != arithmetic.split(0.03, seed=2).digest
    assert np.array_equal(arithmetic.split(0.03, seed=1).train[:4000], arithmetic.split(0.004, seed=1).train)


@pytest.mark.parametrize("fraction", [0.0, 1.0, 1e-7])
def test_split_refuses_an_empty_side(fraction):
    with pytest.raises(ValueError, match="train_fraction"):
        arithmetic.split(fraction, seed=0)
