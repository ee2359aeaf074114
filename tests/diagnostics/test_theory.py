import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from maskprior.diagnostics import theory
from tests.diagnostics import theorem

N, D = 5, 4


def row(q: torch.Tensor, k: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return (k @ q / math.sqrt(D) + F.logsigmoid(m)).softmax(-1)


def inputs(seed: int, scale: float = 1.0, mask_scale: float = 3.0) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    q, k, m = (torch.randn(*shape, dtype=torch.float64, generator=random) for shape in ((D,), (N, D), (N,)))
    return [scale * q, scale * k, mask_scale * m]


def one_hot(seed: int) -> list[torch.Tensor]:
    q, k, m = inputs(seed)
    k[2] += 400 * q / q.square().sum()
    return [q, k, m]


def ties(seed: int) -> list[torch.Tensor]:
    q, k, m = inputs(seed)
    k[:], m[:] = k[0], m[0]
    return [q, k, m]


def extremes(seed: int) -> list[torch.Tensor]:
    q, k, _ = inputs(seed)
    return [q, k, torch.tensor([50.0, -50.0, 50.0, -50.0, 0.0], dtype=torch.float64)]


CASES = {
    **{f"random {seed}": inputs(seed) for seed in range(5)},
    "huge norms": inputs(7, scale=1e3),
    "tiny norms": inputs(8, scale=1e-6),
    "one-hot": one_hot(9),
    "ties": ties(10),
    "m = +-50": extremes(11),
    "all closed": [*inputs(12)[:2], torch.full((N,), -50.0, dtype=torch.float64)],
    "zero query": [torch.zeros(D, dtype=torch.float64), *inputs(13)[1:]],
}


@pytest.mark.parametrize("case", CASES)
def test_theorem_1_is_what_autograd_finds(case):
    q, k, m = CASES[case]
    p = row(q, k, m)
    dq, dk, dm = torch.autograd.functional.jacobian(row, (q, k, m))
    close = {"rtol": 1e-9, "atol": 1e-13 * (1 + k.abs().max().item())}
    torch.testing.assert_close(theorem.derivative_query(p, k), dq, **close)
    torch.testing.assert_close(theorem.derivative_keys(p, q), dk, **close)
    torch.testing.assert_close(theorem.derivative_mask(p, m), dm, **close)


def test_derivatives_take_leading_dimensions():
    cases = [inputs(seed) for seed in range(6)]
    q, k, m = (torch.stack(part).unflatten(0, (2, 3)) for part in zip(*cases, strict=True))
    p = torch.stack([row(*case) for case in cases]).unflatten(0, (2, 3))
    for index, (one_q, one_k, one_m) in enumerate(cases):
        at, one_p = divmod(index, 3), row(one_q, one_k, one_m)
        torch.testing.assert_close(theorem.derivative_query(p, k)[at], theorem.derivative_query(one_p, one_k))
        torch.testing.assert_close(theorem.derivative_keys(p, q)[at], theorem.derivative_keys(one_p, one_q))
        torch.testing.assert_close(theorem.derivative_mask(p, m)[at], theorem.derivative_mask(one_p, one_m))


def actual_and_bound(q: torch.Tensor, k: torch.Tensor, m: torch.Tensor) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Norm of each p_i's derivative (N) (for keys and mask of its largest j), and Corollary 1's bound on it."""
    p = row(q, k, m)
    return {
        "query": (theorem.derivative_query(p, k).norm(dim=-1), theory.bound_query(p, k.norm(dim=-1).amax(), D)),
        "key": (theorem.derivative_keys(p, q).norm(dim=-1).amax(-1), theory.bound_keys(p, q.norm(), D)),
        "mask": (theorem.derivative_mask(p, m).abs().amax(-1), theory.bound_mask(p)),
    }


def assert_bounded(case: list[torch.Tensor]) -> None:
    for name, (actual, bound) in actual_and_bound(*case).items():
        # Squares of numbers below 1e-154 are subnormal, and the norms made of them round coarsely.
        assert (actual <= bound * (1 + 1e-12) + 1e-140).all(), name


@given(
    seed=st.integers(0, 2**20),
    scale=st.floats(1e-3, 1e3),
    mask_scale=st.floats(1e-3, 50),
)
@settings(max_examples=300, deadline=None)
def test_corollary_1_is_never_violated(seed, scale, mask_scale):
    assert_bounded(inputs(seed, scale, mask_scale))


@pytest.mark.parametrize("case", CASES)
def test_corollary_1_holds_in_the_corners(case):
    assert_bounded(CASES[case])


def test_corollary_1_cannot_be_improved():
    """Two opposite keys, p_1 -> 0: the query bound is 2 p B_k / sqrt d. The others: p_i -> 0 and one p_j -> 1."""
    q = torch.zeros(D, dtype=torch.float64)
    q[0] = 1
    k = torch.zeros(N, D, dtype=torch.float64)
    k[0, 0], k[1, 0] = 50, -50
    m = torch.full((N,), -50.0, dtype=torch.float64)
    for actual, bound in actual_and_bound(q, k, m).values():
        assert (actual[1] / bound[1]).item() == pytest.approx(1, abs=1e-6)


def test_how_tight_the_bounds_are(record_property):
    """On N(0, 1) inputs Corollary 1 overstates queries and masks several times; the quantiles go to the report."""
    found = [actual_and_bound(*inputs(seed)) for seed in range(500)]
    for name in ("query", "key", "mask"):
        ratios = torch.cat([actual / bound for actual, bound in (one[name] for one in found)])
        quantiles = ratios.quantile(torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64)).tolist()
        record_property(f"{name}_tightness_quantiles", quantiles)
        assert 0 < quantiles[0] < quantiles[1] < quantiles[2] <= 1
        assert quantiles[1] < {"query": 0.5, "key": 0.95, "mask": 0.75}[name]


@pytest.mark.parametrize("slope", ["log_sigmoid", "raw", "none"])
def test_sensitivities_are_means_of_the_full_derivatives(slope):
    """The shortcuts for norms against the (N, N, N) and (N, N, d) tensors they avoid."""
    random = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 3, 2, N, D, dtype=torch.float64, generator=random)
    m = 3 * torch.randn(2, N, N, dtype=torch.float64, generator=random)
    p = (q @ k.transpose(-1, -2) / math.sqrt(D) + F.logsigmoid(m)).softmax(-1)
    slopes = {"log_sigmoid": (-m).sigmoid(), "raw": torch.ones_like(m), "none": None}[slope]
    found = theory.sensitivities(q, k, p, slopes)
    over = (0, 2, 3)
    expected = {
        "query_sensitivity": theorem.derivative_query(p, k.unsqueeze(2)).norm(dim=-1).mean(over),
        "key_sensitivity": theorem.derivative_keys(p, q).norm(dim=-1).amax(-1).mean(over),
        "query_bound": (2 * p * k.norm(dim=-1).amax(-1)[..., None, None] / math.sqrt(D)).mean(over),
        "key_bound": (p * q.norm(dim=-1).amax(-1)[..., None, None] / math.sqrt(D)).mean(over),
    }
    if slopes is None:
        assert found["mask_sensitivity"].isnan().all()
        assert found["mask_bound"].isnan().all()
    else:
        jacobian = theorem.softmax_jacobian(p) * slopes.unsqueeze(-2)
        expected["mask_sensitivity"] = jacobian.abs().amax(-1).mean(over)
        expected["mask_bound"] = torch.full((2,), 1 / N, dtype=torch.float64)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)


def test_sensitivities_with_ties_in_a_row():
    """Uniform rows: max_j p_i |delta_ij - p_j| = (1/N)(1 - 1/N), times the slope."""
    q = k = torch.zeros(1, 1, N, D, dtype=torch.float64)
    p = torch.full((1, 1, N, N), 1 / N, dtype=torch.float64)
    found = theory.sensitivities(q, k, p, torch.full((1, N, N), 0.5, dtype=torch.float64))
    assert found["mask_sensitivity"].item() == pytest.approx((1 / N) * (1 - 1 / N) / 2)
    assert found["query_sensitivity"].item() == 0
