import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from maskprior.attention import Attention, attentions, query_key_products
from maskprior.initialization.structured import write_structured_opt, write_structured_svd
from maskprior.patterns.pattern import Pattern
from tests.boolean_runs import pattern

TOKENS, DIM = 8, 24


def layers(head_dim: int = 8) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*(Attention(DIM, heads=3, head_dim=head_dim, tokens=TOKENS) for _ in range(2)))


def positions() -> torch.Tensor:
    return torch.randn(TOKENS, DIM, generator=torch.Generator().manual_seed(1))


def generator(seed: int = 2) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def svd(model: nn.Module, target: Pattern, **changes: float) -> nn.Module:
    options = {"open_value": 1000.0, "closed_value": 0.0, "noise_std": 0.6, "noise_scale": 3.0, "query_key_norm": 7.0}
    write_structured_svd(model, positions(), target, **{**options, **changes}, generator=generator())
    return model


def opt(model: nn.Module, target: Pattern, *, steps: int = 300, lr: float = 1e-2, seed: int = 2) -> nn.Module:
    write_structured_opt(model, positions(), target, steps=steps, lr=lr, norm_every=100, generator=generator(seed))
    return model


def position_logits(module: Attention) -> torch.Tensor:
    """QK logits of the positions alone, (H, N, N)."""
    return module.query_key_logits(F.layer_norm(positions(), (DIM,))[None])[0].detach()


def by_head(linear: nn.Linear, head_dim: int) -> torch.Tensor:
    return linear.weight.detach().unflatten(0, (3, head_dim))


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [w.detach().clone() for m in attentions(model) for w in (m.query.weight, m.key.weight)]


PATTERNS = [
    ("2parity", "perm"),
    ("2parity", "blockself"),
    ("majority3", "identity"),
    ("cyclic3", "forward"),
    ("threesym", "perm"),
]


@pytest.mark.parametrize(("task", "name"), PATTERNS)
def test_svd_logits_of_positions_are_largest_on_the_open_entries(task, name):
    target = pattern(task, name, layers=2, heads=3, tokens=TOKENS)
    for module, opened in zip(svd(layers(), target), torch.from_numpy(target.open), strict=True):
        logits = position_logits(module)
        lowest_open = logits.masked_fill(~opened, math.inf).amin(-1)
        highest_closed = logits.masked_fill(opened, -math.inf).amax(-1)
        assert (lowest_open - highest_closed > 5).all()


def test_svd_weights_of_a_head_have_norm_7():
    model = svd(layers(), pattern("2parity", "perm", layers=2, heads=3, tokens=TOKENS))
    for module in model:
        for linear in (module.query, module.key):
            torch.testing.assert_close(by_head(linear, 8).norm(dim=(1, 2)), torch.full((3,), 7.0))


def test_svd_is_the_rank_d_approximation_of_the_pulled_back_pattern():
    """Against numpy in float64: W_Q W_K^T is proportional to the best rank-d approximation of P^+ T P^+T."""
    target = pattern("cyclic3", "forward", layers=2, heads=3, tokens=TOKENS)
    found = query_key_products(svd(layers(), target, noise_scale=0.0)[1]).numpy()
    p = F.layer_norm(positions().double(), (DIM,)).numpy()
    inverse = np.linalg.pinv(p)
    expected = inverse @ (1000.0 * target.open[1, 0]) @ inverse.T
    cosine = np.sum(found[0] * expected) / np.linalg.norm(found[0]) / np.linalg.norm(expected)
    assert cosine == pytest.approx(1, abs=1e-6)


def test_svd_truncates_to_the_head_width():
    head_dim = 4
    target = pattern("majority3", "identity", layers=2, heads=3, tokens=TOKENS)
    model = svd(layers(head_dim), target)
    for module in model:
        products = query_key_products(module).double()
        assert products.isfinite().all()
        assert (torch.linalg.matrix_rank(products, rtol=1e-5) == head_dim).all()
        torch.testing.assert_close(by_head(module.query, head_dim).norm(dim=(1, 2)), torch.full((3,), 7.0))


def test_svd_noise_is_fresh_in_every_layer():
    target = pattern("2parity", "perm", layers=2, heads=3, tokens=TOKENS)
    first, second = svd(layers(), target)
    assert not torch.equal(first.query.weight, second.query.weight)
    first, second = svd(layers(), target, noise_scale=0.0)
    assert torch.equal(first.query.weight, second.query.weight)


def test_svd_noise_spoils_closed_entries_only():
    """With noise as large as the pattern the logits still follow it, less well."""
    target = pattern("majority3", "identity", layers=2, heads=3, tokens=TOKENS)
    clean, noisy = (position_logits(svd(layers(), target, noise_scale=scale)[0]) for scale in (0.0, 1000.0))
    opened = torch.from_numpy(target.open[0])
    spread = lambda x: x[~opened].std()  # noqa: E731
    assert spread(noisy) > 10 * spread(clean)


@pytest.mark.parametrize("write", [svd, opt])
def test_structured_methods_write_queries_and_keys_alone(write):
    before, model = layers().state_dict(), layers()
    write(model, pattern("2parity", "perm", layers=2, heads=3, tokens=TOKENS))
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {f"{layer}.{part}.weight" for layer in (0, 1) for part in ("query", "key")}


@pytest.mark.parametrize("write", [svd, opt])
def test_structured_methods_depend_on_the_generator_alone(write):
    target = pattern("2parity", "perm", layers=2, heads=3, tokens=TOKENS)
    torch.manual_seed(5)
    one = weights(write(layers(), target))
    torch.manual_seed(6)
    assert all(torch.equal(a, b) for a, b in zip(one, weights(write(layers(), target)), strict=True))


def error(module: Attention, target: Pattern) -> float:
    return F.mse_loss(position_logits(module).softmax(-1), torch.from_numpy(target.target_map()[0])).item()


@pytest.mark.parametrize(("task", "name"), PATTERNS)
def test_opt_moves_attention_to_the_pattern(task, name):
    target = pattern(task, name, layers=2, heads=3, tokens=TOKENS)
    start, fitted = opt(layers(), target, steps=1)[0], opt(layers(), target)[0]
    # The norm resets cap the logits, so the error of a small network does not reach 0; its largest entries are right.
    assert error(fitted, target) < 0.25 * error(start, target)
    opened = torch.from_numpy(target.open[0])
    logits = position_logits(fitted)
    assert (logits.masked_fill(~opened, math.inf).amin(-1) > logits.masked_fill(opened, -math.inf).amax(-1)).all()


def test_opt_error_falls_with_steps():
    target = pattern("majority3", "identity", layers=2, heads=3, tokens=TOKENS)
    errors = [error(opt(layers(), target, steps=steps, lr=1e-3)[0], target) for steps in (1, 50, 100, 200)]
    assert errors == sorted(errors, reverse=True)


def test_opt_resets_column_norms():
    """After a reset all columns have the mean norm the uniform start had; a step later they do not."""
    target = pattern("2parity", "perm", layers=2, heads=3, tokens=TOKENS)
    bound, random = math.sqrt(1 / (8 * 3)), generator()
    start = [(2 * torch.rand(3, DIM, 8, generator=random) - 1) * bound for _ in range(2)]
    module = opt(layers(), target, steps=200)[0]
    for linear, factor in zip((module.query, module.key), start, strict=True):
        norms = by_head(linear, 8).norm(dim=2)
        torch.testing.assert_close(norms, torch.full((3, 8), factor.norm(dim=1).mean().item()))
    assert by_head(opt(layers(), target, steps=201)[0].query, 8).norm(dim=2).std() > 1e-4


def test_opt_reuses_its_solution_where_the_pattern_is_the_same():
    first, second = opt(layers(), pattern("2parity", "perm", layers=2, heads=3, tokens=TOKENS), steps=100)
    assert torch.equal(first.query.weight, second.query.weight)
    assert torch.equal(first.key.weight, second.key.weight)
    first, second = opt(layers(), pattern("2parity", "layered", layers=2, heads=3, tokens=TOKENS), steps=100)
    assert not torch.equal(first.query.weight, second.query.weight)


def test_opt_starts_differ_by_seed():
    target = pattern("2parity", "perm", layers=2, heads=3, tokens=TOKENS)
    one, other = weights(opt(layers(), target, steps=1)), weights(opt(layers(), target, steps=1, seed=3))
    assert not torch.equal(one[0], other[0])
