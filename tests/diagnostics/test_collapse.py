import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from maskprior.attention import attention_map
from maskprior.diagnostics.collapse import frobenius_norm, hadamard_bounds, smallest_logits, softmax_bounds

N = 5
maps = st.tuples(st.integers(0, 2**16), st.floats(0.01, 300), st.floats(0.01, 50), st.floats(-40, 40))


def draw(seed: int, logit_scale: float, mask_scale: float, mask_shift: float) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    logits, mask = torch.randn(2, 3, N, N, dtype=torch.float64, generator=random)
    return logit_scale * logits, mask_shift + mask_scale * mask


@given(maps)
@settings(max_examples=200, deadline=None)
def test_log_sigmoid_masks_never_collapse(values):
    logits, mask = draw(*values)
    low, high = softmax_bounds(N)
    norm = frobenius_norm(attention_map(logits, mask, "log_sigmoid"))
    assert (norm >= low - 1e-12).all()
    assert (norm <= high + 1e-12).all()


@given(maps)
@settings(max_examples=200, deadline=None)
def test_hadamard_masks_stay_within_their_bounds(values):
    logits, mask = draw(*values)
    low, high = hadamard_bounds(mask)
    norm = frobenius_norm(attention_map(logits, mask, "hadamard"))
    assert (norm >= low * (1 - 1e-9)).all()
    assert (norm <= high * (1 + 1e-9)).all()


@given(maps)
@settings(max_examples=50, deadline=None)
def test_the_hadamard_bounds_are_attained(values):
    _, mask = draw(*values)
    low, high = hadamard_bounds(mask)
    torch.testing.assert_close(frobenius_norm(attention_map(smallest_logits(mask), mask, "hadamard")), low)
    one_hot = 1e6 * F.one_hot(mask.argmax(-1), N).double()
    torch.testing.assert_close(frobenius_norm(attention_map(one_hot, mask, "hadamard")), high)


def test_the_softmax_bounds_are_attained():
    low, high = softmax_bounds(N)
    assert frobenius_norm(torch.full((N, N), 1 / N)).item() == pytest.approx(low)
    assert frobenius_norm(torch.eye(N)).item() == pytest.approx(high)


def test_a_neutral_hadamard_mask_halves_the_norm():
    low, high = hadamard_bounds(torch.zeros(N, N))
    assert (low.item(), high.item()) == pytest.approx((0.5, math.sqrt(N) / 2))


def test_closing_everything_switches_a_hadamard_layer_off_and_leaves_the_other_as_it_was():
    logits = torch.randn(N, N, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    norms = []
    for value in (0.0, -10.0, -20.0, -40.0):
        mask = torch.full((N, N), value, dtype=torch.float64)
        norms.append(frobenius_norm(attention_map(logits, mask, "hadamard")).item())
        torch.testing.assert_close(attention_map(logits, mask, "log_sigmoid"), logits.softmax(-1))
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < 1e-16
