import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from maskprior.attention import attentions
from maskprior.experiments.language import build_model
from maskprior.models.gpt import Block, Gpt, generate
from maskprior.runs.spec import make_run, resolve

V, D, H, T = 11, 6, 2, 7
SHAPE = {"heads": H, "head_dim": 3, "mlp_dim": 10, "block": T, "mask_scale": 10.0}


def gpt(*, layers: int = 2, dropout: float = 0.0, masked: bool = False, seed: int = 0) -> Gpt:
    torch.manual_seed(seed)
    model = Gpt(V, D, block=T, blocks=[Block(D, dropout=dropout, **SHAPE) for _ in range(layers)], std=0.5)
    if masked:
        for module in attentions(model):
            module.set_mask(torch.randn(H, T, T), learnable=True)
    return model


@given(
    seed=st.integers(0, 2**16),
    masked=st.booleans(),
    token=st.integers(0, T - 1),
    change=st.integers(1, V - 1),
    training=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_token_changes_nothing_before_it(seed, masked, token, change, training):
    """Bit for bit, whatever M says about the future."""
    model = gpt(masked=masked, seed=seed).train(training)
    tokens = torch.randint(V, (2, T), generator=torch.Generator().manual_seed(seed))
    changed = tokens.clone()
    changed[:, token] = (changed[:, token] + change) % V
    before, after = model(tokens), model(changed)
    assert torch.equal(before[:, :token], after[:, :token])
    assert not torch.equal(before[:, token], after[:, token])


def test_no_loss_reaches_what_m_says_about_the_future():
    model = gpt(masked=True)
    model(torch.randint(V, (3, T), generator=torch.Generator().manual_seed(1))).square().sum().backward()
    for module in attentions(model):
        gradient = module.mask_logits.grad
        assert (gradient.triu(1) == 0).all()
        assert (gradient.tril(-1)[:, 1:].abs().amax(-1) > 0).all()


def test_a_shorter_input_is_the_beginning_of_a_longer_one():
    model = gpt(masked=True).double()
    tokens = torch.randint(V, (2, T), generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(model(tokens[:, :4]), model(tokens)[:, :4])


def test_block_is_pre_norm_with_two_residuals_and_relu():
    """Attention written out head by head, with the bias log sigmoid(10 M) and no future."""
    block = gpt(layers=1, masked=True).double().blocks[0]
    x = torch.randn(3, T, D, dtype=torch.float64, generator=torch.Generator().manual_seed(3))

    def normalised(y):
        return (y - y.mean(-1, keepdim=True)) / (y.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()

    inputs, attention = normalised(x), block.attention
    mixed = attention.out.bias.expand(3, T, D)
    for h in range(H):
        own = slice(3 * h, 3 * h + 3)
        q, k, v = (inputs @ layer.weight[own].T for layer in (attention.query, attention.key, attention.value))
        weights = (q @ k.transpose(1, 2) / math.sqrt(3) + F.logsigmoid(10 * attention.mask_logits[h])).exp().tril()
        mixed = mixed + weights / weights.sum(-1, keepdim=True) @ v @ attention.out.weight[:, own].T
    y = x + mixed
    first, _, second, _ = block.mlp
    expected = y + F.relu(normalised(y) @ first.weight.T + first.bias) @ second.weight.T + second.bias
    torch.testing.assert_close(block(x), expected)


def test_dropout_acts_in_training_alone_and_on_the_attention_too():
    model, tokens = gpt(dropout=0.5), torch.zeros(1, T, dtype=torch.long)
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    assert not torch.equal(model(tokens), model(tokens))


def test_everything_begins_at_the_stated_spread():
    torch.manual_seed(0)
    blocks = [Block(200, heads=2, head_dim=100, mlp_dim=300, block=100, dropout=0.0, mask_scale=1.0)]
    model = Gpt(300, 200, block=100, blocks=blocks, std=0.02)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name
        else:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.03), name
    assert model.head.weight.data_ptr() != model.token.weight.data_ptr()


def test_parameters_of_the_papers_network():
    """About 89 million are stated; exactly: embeddings, 12 blocks, the last LayerNorm, a head with a bias."""
    vocabulary, dim, inner, hidden, block, layers = 50257, 512, 12 * 42, 2048, 64, 12
    attention = 3 * dim * inner + inner * dim + dim
    mlp = 2 * dim * hidden + hidden + dim
    one_block = attention + mlp + 4 * dim
    expected = vocabulary * dim + block * dim + layers * one_block + 2 * dim + dim * vocabulary + vocabulary
    counts = {}
    for method in ("default", "mask"):
        config = resolve(make_run("language", "wikitext2", method, scale="paper"))
        with torch.device("meta"):
            m = config.model
            shape = {"heads": m.heads, "head_dim": m.head_dim, "mlp_dim": m.mlp_dim, "block": m.block}
            blocks = [Block(m.dim, dropout=m.dropout, mask_scale=10.0, **shape) for _ in range(m.layers)]
            counts[method] = _count(Gpt(vocabulary, m.dim, block=m.block, blocks=blocks, std=0.02))
    assert counts["default"] == expected == 89_160_785
    small = {method: build_model(_smoke(method), V, 0) for method in ("default", "mask")}
    assert _count(small["mask"]) - _count(small["default"]) == 2 * 2 * 16 * 16
    assert resolve(make_run("language", "wikitext2", "mask", scale="paper")).optimizer.batch_size * block == 8192


def _smoke(method: str):
    return resolve(make_run("language", "wikitext2", method, scale="smoke"))


class Next(nn.Module):
    """Says the next token is the last one plus the number of tokens it sees."""

    def forward(self, tokens):
        return 200 * F.one_hot((tokens[:, -1:] + tokens.shape[1]) % 100, 100).double()


def test_generating_goes_on_from_the_last_block():
    found = generate(Next(), torch.tensor([1, 2]), 4, block=3, generator=torch.Generator())
    assert found.tolist() == [1, 2, 4, 7, 10, 13]


def test_the_same_draw_gives_the_same_text():
    model, prompt = gpt().eval(), torch.tensor([1, 2, 3])
    draws = [generate(model, prompt, 30, block=T, generator=torch.Generator().manual_seed(s)) for s in (0, 0, 1)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_generating_draws_from_the_models_distribution():
    """One token after a prompt, 4,000 times, against the softmax of the logits."""
    model, prompt, random = gpt().eval(), torch.tensor([4, 5]), torch.Generator().manual_seed(0)
    drawn = torch.stack([generate(model, prompt, 1, block=T, generator=random)[-1] for _ in range(4000)])
    expected = model(prompt.unsqueeze(0))[0, -1].softmax(-1)
    found = torch.bincount(drawn, minlength=V) / 4000
    assert (found - expected).abs().max() < 4 * 0.5 / 4000**0.5


def _count(model) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
