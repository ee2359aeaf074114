import math

import numpy as np
import pytest
import torch

from maskprior.experiments.observers import Series, Trace, trace_steps

TO_60 = [*range(10), 10, 11, 13, 14, 16, 18, 20, 22, 25, 28, 32, 35, 40, 45, 50, 56, 60]


def test_trace_steps_by_hand():
    """Every step to 10, then 10^(1 + i / 20) rounded, and the end."""
    assert trace_steps(60) == TO_60
    to_100 = [*TO_60[:-1], 63, 71, 79, 89]
    assert trace_steps(100) == [*to_100, 100]
    hundreds = [100, 112, 126, 141, 158, 178, 200, 224, 251, 282, 316, 355, 398, 447, 501, 562, 631, 708, 794, 891]
    thousands = [1000, 1122, 1259, 1413, 1585, 1778, 1995]
    assert trace_steps(2000) == [*to_100, *hundreds, *thousands, 2000]


@pytest.mark.parametrize("last", [1, 2, 5, 9, 10, 11, 999, 1000, 1001, 8640])
def test_trace_steps_begin_and_end(last):
    steps = trace_steps(last)
    assert steps == sorted(set(steps))
    assert steps[: min(11, last + 1)] == list(range(min(11, last + 1)))
    assert steps[-1] == last


def test_trace_means_the_losses_since_it_last_looked():
    trace = Trace(60, lambda: {"test_loss": 7.0})
    losses = [float(step) for step in range(60)]
    for step in range(61):
        trace.observe(step, losses[:step])
    arrays = trace.arrays()
    assert arrays["trace/step"].tolist() == TO_60
    found = arrays["trace/train_loss"].tolist()
    assert math.isnan(found[0])
    assert found[1:11] == [float(step) for step in range(10)]
    # From 11 to 13 the losses 11 and 12; from 56 to 60 those of 56 … 59.
    assert (found[12], found[-1]) == (11.5, 57.5)
    assert set(arrays["trace/test_loss"]) == {7.0}


def test_series_remember():
    series, copy = Series(), Series()
    series.append(0, {"a": 1.0, "b": np.ones((2, 3))})
    copy.load(series.state())
    copy.append(5, {"a": torch.tensor(2.0), "b": np.zeros((2, 3))})
    arrays = copy.arrays("x")
    assert arrays["x/step"].tolist() == [0, 5]
    assert arrays["x/a"].tolist() == [1, 2]
    assert arrays["x/b"].shape == (2, 2, 3)
    assert all(array.dtype == np.float32 for name, array in arrays.items() if name != "x/step")
