import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from maskprior.experiments import perplexity as p
from maskprior.experiments.perplexity import bits_per_byte, estimated_loss, random_batches, text_nats, windows
from tests.models.test_gpt import T, V, gpt


class Uniform(nn.Module):
    """Gives all of `size` tokens the same probability."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, tokens):
        return torch.zeros(*tokens.shape, self.size, dtype=torch.float64)


def text(count: int, vocabulary: int = V) -> np.ndarray:
    return np.random.default_rng(count).integers(vocabulary, size=count).astype(np.uint16)


@pytest.mark.parametrize("size", [2, 4096, 50257])
@pytest.mark.parametrize("stride", [1, 32, 64])
def test_a_model_that_knows_nothing_has_the_vocabulary_as_its_perplexity(size, stride):
    tokens = text(301, size)
    exact = text_nats(Uniform(size), tokens, block=64, stride=stride, device="cpu") / 300
    assert p.perplexity(exact) == pytest.approx(size, rel=1e-12)
    batches = random_batches(tokens, count=5, block=64, batch_size=3, seed=0, stream="val", device="cpu")
    assert p.perplexity(estimated_loss(Uniform(size), batches)) == pytest.approx(size, rel=1e-12)


@given(count=st.integers(2, 200), block=st.integers(1, 40), data=st.data())
@settings(max_examples=200, deadline=None)
def test_windows_count_every_token_but_the_first_once_with_enough_before_it(count, block, data):
    stride = data.draw(st.integers(1, block))
    begins, had = windows(count, block=block, stride=stride)
    seen = []
    for begin, skipped in zip(begins, had, strict=True):
        targets = range(begin + 1, begin + 1 + min(block, count - 1))
        assert targets[-1] < count
        for target in list(targets)[skipped:]:
            seen.append(target)
            before = target - begin
            assert before == target or before >= block - stride + 1
    assert seen == list(range(1, count))


@pytest.mark.parametrize(("count", "stride"), [(2, 3), (6, 3), (8, 3), (9, 3), (40, 3), (41, 1), (100, 7)])
def test_nats_are_those_of_a_token_by_token_reference(monkeypatch, count, stride):
    """Every target by itself, given the tokens that its window has before it; windows found by stepping along."""
    monkeypatch.setattr(p, "WINDOWS", 3)
    model, tokens = gpt(masked=True).double(), text(count)
    expected, begin, target = 0.0, 0, 1
    while target < count:
        end = min(begin + T, count - 1)
        begin = max(end - T, 0)
        while target <= end:
            logits = model(torch.from_numpy(tokens[begin:target].astype(np.int64)).unsqueeze(0))[0, -1]
            expected -= logits.log_softmax(-1)[int(tokens[target])].item()
            target += 1
        begin += stride
    assert text_nats(model, tokens, block=T, stride=stride, device="cpu") == pytest.approx(expected, rel=1e-12)


def test_looking_back_further_is_not_the_same():
    model, tokens = gpt(masked=True).double(), text(60)
    found = [text_nats(model, tokens, block=T, stride=stride, device="cpu") for stride in (1, T)]
    assert found[0] != pytest.approx(found[1], rel=1e-6)


def test_the_estimate_is_the_mean_over_its_batches_without_dropout():
    model, tokens = gpt(dropout=0.5).double(), text(100)
    options = {"block": T, "batch_size": 3, "seed": 5, "stream": "test", "device": "cpu"}
    found = estimated_loss(model, random_batches(tokens, count=4, **options))
    assert model.training
    model.eval()
    losses = [
        -model(inputs).log_softmax(-1).gather(-1, targets.unsqueeze(-1)).mean().item()
        for inputs, targets in random_batches(tokens, count=4, **options)
    ]
    assert found == pytest.approx(np.mean(losses), rel=1e-12)


def test_progress_and_mode():
    model, told = gpt(dropout=0.5), []
    text_nats(model, text(600), block=T, stride=T, device="cpu", progress=lambda *words: told.append(words))
    assert model.training
    assert [done for done, _, _ in told] == [*range(8, 81, 8), 86]
    assert all(total == 86 and 0 < loss < 100 for _, total, loss in told)


def test_eight_bits_a_byte_for_who_knows_nothing_of_bytes():
    nats = text_nats(Uniform(256), text(1001, 256), block=10, stride=5, device="cpu")
    assert bits_per_byte(nats, 1000) == pytest.approx(8, rel=1e-12)


def test_a_hopeless_model_is_infinitely_perplexed():
    assert p.perplexity(1000.0) == math.inf
