from typing import Any

import pytest
import timm
import torch
from torch.nn import functional as F

from maskprior.attention import MaskedAttention, attentions, mask_parameters, query_key_logits
from maskprior.models.vit import Vit

TINY = {"image_size": 224, "patch_size": 16, "dim": 192, "layers": 12, "heads": 3, "mlp_dim": 768}


def small(**changes: Any) -> Vit:
    torch.manual_seed(0)
    shape = {"image_size": 8, "patch_size": 4, "dim": 24, "layers": 2, "heads": 3, "mlp_dim": 48, "classes": 5}
    return Vit(**{**shape, "pool": "token", "drop_path": 0.0, **changes})


def images(side: int, count: int = 2) -> torch.Tensor:
    return torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(1))


def masked(model: Vit, value: float = 0.0, spread: float = 0.0) -> Vit:
    noise = torch.Generator().manual_seed(2)
    for module in attentions(model):
        shape = (module.heads, module.tokens, module.tokens)
        module.set_mask(value + spread * torch.randn(shape, generator=noise), learnable=True)
    return model


@pytest.mark.parametrize(("classes", "pool"), [(1000, "token"), (10, "token"), (100, "avg")])
def test_without_a_mask_it_is_timms_network_bit_for_bit(classes, pool):
    """The same seed gives the same weights under the same names, the same outputs and the same gradients."""
    torch.manual_seed(3)
    expected = timm.create_model(
        "vit_tiny_patch16_224", num_classes=classes, global_pool=pool, drop_path_rate=0.1, pretrained=False
    )
    torch.manual_seed(3)
    found = Vit(classes=classes, pool=pool, drop_path=0.1, **TINY)
    theirs = expected.state_dict()
    ours = {name.replace(".attn.inner.", ".attn."): value for name, value in found.state_dict().items()}
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], value) for name, value in theirs.items())

    x = images(224)
    for model in (expected, found):
        model.eval()
    assert torch.equal(found(x), expected(x))
    losses = []
    for model in (expected, found):
        model.train()
        torch.manual_seed(4)  # stochastic depth
        losses.append(F.cross_entropy(model(x), torch.tensor([1, 2])))
        losses[-1].backward()
    assert torch.equal(*losses)
    gradients = ({n.replace(".inner", ""): p.grad for n, p in m.named_parameters()} for m in (expected, found))
    theirs, ours = gradients
    assert all(torch.equal(ours[name], gradient) for name, gradient in theirs.items() if gradient is not None)


def test_a_mask_of_zeros_changes_nothing_but_rounding():
    x = images(8)
    torch.testing.assert_close(masked(small())(x), small()(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", ["log_sigmoid", "additive", "hadamard"])
def test_a_masked_layer_is_the_papers_equation(form):
    """In float64, against the class that writes the equation out; values, and gradients of weights and M."""
    found = []
    for forward in (Vit.forward, None):
        model = masked(small(form=form), spread=3.0).double()
        module, x = attentions(model)[1], torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(5)).double()
        output = module(x) if forward else MaskedAttention.forward(module, x)
        output.square().sum().backward()
        found.append([output, module.mask_logits.grad, *module.query_key_gradients()])
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected)


def test_the_diagnostics_see_the_logits_and_the_map_that_the_layer_uses():
    model = masked(small(), spread=3.0).double()
    module, x = attentions(model)[0], torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(6)).double()
    queries, keys, values = module.queries_keys_values(x)
    q, k = (w.unflatten(0, (3, 8)) for w in module.query_key_weights())
    torch.testing.assert_close(queries, torch.einsum("bnc,hdc->bhnd", x, q))
    torch.testing.assert_close(keys, torch.einsum("bnc,hdc->bhnd", x, k))
    torch.testing.assert_close(module.query_key_logits(x), query_key_logits(queries, keys))
    mixed = module.attention(module.query_key_logits(x)) @ values
    torch.testing.assert_close(module(x), module.project_out(mixed.transpose(1, 2).flatten(2)))


def test_weights_are_views_of_the_fused_parameter():
    module = attentions(small())[0]
    with torch.no_grad():
        for weight in (*module.query_key_weights(), *module.value_out_weights()):
            weight.fill_(7)
    assert (module.inner.qkv.weight == 7).all()
    assert (module.inner.proj.weight == 7).all()


def test_the_position_scale_multiplies_the_position_embedding():
    x, scaled, plain = images(8), small(position_scale=18.0), small()
    assert not torch.allclose(scaled(x), plain(x))
    with torch.no_grad():
        plain.pos_embed *= 18
    torch.testing.assert_close(scaled(x), plain(x))
    assert torch.equal(scaled.positions(), plain.positions())


def test_pytorchs_own_initialisation_of_linear_layers():
    """Uniform in +-1/sqrt(fan in), weights and biases, where timm's are normal and zero."""
    head = small(weight_init="reset").head
    assert head.weight.abs().max() <= 24**-0.5
    assert head.bias.abs().max() > 0
    assert small().head.bias.abs().max() == 0


@pytest.mark.parametrize(("classes", "parameters"), [(1000, 5_717_416), (10, 5_526_346), (100, 5_543_716)])
def test_parameter_counts(classes, parameters):
    """192 weights and a bias a class; M has 12 layers of 3 heads of 197 x 197 tokens."""
    model = Vit(classes=classes, pool="token", drop_path=0.1, **TINY)
    assert sum(p.numel() for p in model.parameters()) == parameters
    assert sum(p.numel() for p in mask_parameters(masked(model))) == 12 * 3 * 197**2 == 1_397_124
    assert sum(p.numel() for p in model.parameters()) == parameters + 1_397_124
