import pytest
import torch

from maskprior.attention import attentions
from maskprior.models.encoder import Block, Embedding, Encoder, build_readout


def embedding(**changes: float) -> Embedding:
    torch.manual_seed(0)
    return Embedding(
        2, 6, tokens=5, **{"token_std": 1.0, "position_std": 0.5, "position_scale": 1.0, **changes}
    ).double()


def blocks(count: int) -> list[Block]:
    return [Block(6, heads=2, head_dim=3, mlp_dim=8, tokens=5, form="log_sigmoid") for _ in range(count)]


def test_embedding_is_token_plus_scaled_position():
    module = embedding(position_scale=18.0)
    indices = torch.tensor([[0, 1, 1, 0, 1]])
    torch.testing.assert_close(module(indices)[0], module.token[indices[0]] + 18 * module.position)
    torch.testing.assert_close(module.positions(), 18 * module.position)


def test_embedding_scales_share_their_draws():
    one, other = embedding(), embedding(token_std=2.0, position_std=0.1, position_scale=3.0)
    torch.testing.assert_close(other.token, 2 * one.token)
    torch.testing.assert_close(other.position, one.position / 5, rtol=1e-6, atol=0)


def test_embedding_has_the_stated_spread():
    torch.manual_seed(0)
    module = Embedding(200, 300, tokens=200, token_std=2.0, position_std=0.1, position_scale=7.0)
    assert module.token.std().item() == pytest.approx(2, rel=0.01)
    assert module.position.std().item() == pytest.approx(0.1, rel=0.01)


def test_block_is_pre_norm_with_two_residuals():
    torch.manual_seed(0)
    block = blocks(1)[0].double()
    x = torch.randn(3, 5, 6, dtype=torch.float64)
    normalised = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    y = x + block.attention(normalised)
    normalised = (y - y.mean(-1, keepdim=True)) / (y.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    first, _, second = block.mlp
    hidden = normalised @ first.weight.T + first.bias
    hidden = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
    torch.testing.assert_close(block(x), y + hidden @ second.weight.T + second.bias)


TOKENS = [[[1.0, -1.0], [-3.0, -1.0], [-3.0, -1.0]]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # The mean is (-5/3, -1). A norm over two features gives +-1: the tokens become (1, -1), (-1, 1), (-1, 1).
        ("pool_norm", [-1.0, 1.0]),
        ("norm_pool", [-1 / 3, 1 / 3]),
        ("pool", [-5 / 3, -1.0]),
        ("flatten", [1.0, -1.0, -3.0, -1.0, -3.0, -1.0]),
        ("norm_flatten", [1.0, -1.0, -1.0, 1.0, -1.0, 1.0]),
    ],
)
def test_readouts_by_hand(kind, expected):
    torch.testing.assert_close(
        build_readout(kind, 2)(torch.tensor(TOKENS)), torch.tensor([expected]), atol=1e-4, rtol=0
    )


@pytest.mark.parametrize("kind", ["pool_norm", "norm_pool"])
def test_only_norm_before_pool_is_additive_over_tokens(kind):
    """f(a, b) - f(a, b') - f(a', b) + f(a', b') is 0 for every additive f: why identity masks need pool_norm."""
    torch.manual_seed(0)
    a, a2, b, b2 = torch.randn(4, 1, 1, 6, dtype=torch.float64)
    readout = build_readout(kind, 6).double()
    f = lambda *tokens: readout(torch.cat([t.unsqueeze(0) for t in tokens], 1))  # noqa: E731
    mixed = (f(a, b) - f(a, b2) - f(a2, b) + f(a2, b2)).abs().max().item()
    assert mixed < 1e-12 if kind == "norm_pool" else mixed > 0.01


def test_encoder_puts_the_parts_together():
    parts = embedding(), blocks(2), build_readout("pool_norm", 6), torch.nn.Linear(6, 1)
    model = Encoder(*parts).double()
    indices = torch.randint(2, (4, 5))
    x = parts[0](indices)
    for block in parts[1]:
        x = block(x)
    torch.testing.assert_close(model(indices), parts[3](parts[2](x)))
    assert model(indices).shape == (4, 1)
    assert attentions(model) == [block.attention for block in parts[1]]
    torch.testing.assert_close(model.positions(), parts[0].positions())
