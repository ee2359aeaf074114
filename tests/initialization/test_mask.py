import copy

import pytest
import torch
from torch import nn

from maskprior.attention import Attention, attention_bias, attentions
from maskprior.experiments import boolean
from maskprior.initialization.mask import write_mask, write_zero_mask
from tests.boolean_runs import METHODS, pattern, smoke

PATTERN = pattern("threesym", "perm", layers=2, heads=3, tokens=5)


def layers(form: str = "log_sigmoid") -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*(Attention(6, heads=3, head_dim=4, tokens=5, form=form) for _ in range(2)))


@pytest.mark.parametrize("form", ["log_sigmoid", "hadamard"])
@pytest.mark.parametrize("learnable", [True, False])
def test_mask_is_plus_amplitude_where_open_and_minus_where_closed(form, learnable):
    model = layers(form)
    write_mask(model, PATTERN, amplitude=10.0, learnable=learnable, form=form)
    for module, opened in zip(model, torch.from_numpy(PATTERN.open), strict=True):
        assert torch.equal(module.mask_logits, torch.where(opened, 10.0, -10.0))
        assert module.mask_logits.requires_grad == learnable


def test_raw_bias_starts_where_log_sigmoid_starts():
    raw, original = layers("additive"), layers("log_sigmoid")
    write_mask(raw, PATTERN, amplitude=10.0, learnable=True, form="additive")
    write_mask(original, PATTERN, amplitude=10.0, learnable=True, form="log_sigmoid")
    x = torch.randn(2, 5, 6)
    for one, other in zip(raw, original, strict=True):
        assert torch.equal(
            attention_bias(one.mask_logits, "additive"), attention_bias(other.mask_logits, "log_sigmoid")
        )
    assert torch.equal(raw(x), original(x))


def test_a_pattern_of_another_depth_is_refused():
    with pytest.raises(ValueError, match="zip"):
        write_mask(nn.Sequential(*layers(), *layers()), PATTERN, amplitude=10.0, learnable=True, form="log_sigmoid")


def test_zero_mask_leaves_the_output_alone():
    model = boolean.prepare(smoke(method="default"), 0, "cpu").setup.model.eval()
    tokens = torch.randint(2, (16, 8))
    without = model(tokens)
    write_zero_mask(model)
    assert all(module.mask_logits.requires_grad for module in attentions(model))
    assert all(module.mask_logits.abs().max() == 0 for module in attentions(model))
    torch.testing.assert_close(model(tokens), without, rtol=1e-5, atol=1e-6)
    write_mask(
        model,
        pattern("2parity", "perm", layers=2, heads=3, tokens=8),
        amplitude=10.0,
        learnable=True,
        form="log_sigmoid",
    )
    assert (model(tokens) - without).abs().max() > 0.01


def test_all_methods_of_a_seed_share_every_other_weight():
    """Only what a method writes differs: W_Q and W_K of the structured ones, M of the mask ones."""
    states = {m: boolean.prepare(smoke(method=m), 3, "cpu").setup.model.state_dict() for m in METHODS}
    default = copy.deepcopy(states["default"])
    for method, state in states.items():
        own = {name for name in state if name not in default or not torch.equal(state[name], default[name])}
        written = {"structured_svd": ("query", "key"), "structured_opt": ("query", "key"), "default": ()}
        allowed = written.get(method, ("mask_logits",))
        assert {name.removesuffix(".weight").rsplit(".", 1)[-1] for name in own} == set(allowed), method
        assert set(default) <= set(state)
        assert len(own) == len(allowed) * 2


def test_methods_of_a_seed_see_the_same_batches():
    first = {}
    for method in METHODS:
        batches = boolean.prepare(smoke(method=method), 3, "cpu").setup.batches(0)
        first[method] = torch.cat([next(batches)[0] for _ in range(5)])
    assert all(torch.equal(tokens, first["default"]) for tokens in first.values())
