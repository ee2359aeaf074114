"""SVD's logits as a bias: the same logits as Structured (SVD) gives positions, and Default's weights beside them."""

import math

import pytest
import torch
from torch.nn import functional as F

from maskprior.attention import attentions
from maskprior.errors import UserError
from maskprior.experiments import boolean
from tests.boolean_runs import smoke

ADDITIVE = {"mask": {"form": "additive"}}


def model(method: str, seed: int = 3, **options: object) -> torch.nn.Module:
    return boolean.prepare(smoke(method=method, **options), seed, "cpu").setup.model


def test_the_bias_is_what_the_weights_of_structured_svd_say_of_positions() -> None:
    """Head by head in float64: P W_Q^T W_K P^T / sqrt(d), for P each position embedding normalised."""
    biased, svd = model("svd_bias", **ADDITIVE), model("structured_svd", svd={"position_scale": 1})
    positions = svd.embedding.position.detach().double()
    rows = (positions - positions.mean(1, keepdim=True)) / (positions.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    for module, weighted in zip(attentions(biased), attentions(svd), strict=True):
        query, key = (weight.detach().double() for weight in weighted.query_key_weights())
        for head in range(module.heads):
            part = slice(head * module.head_dim, (head + 1) * module.head_dim)
            expected = rows @ query[part].T @ key[part] @ rows.T / math.sqrt(module.head_dim)
            torch.testing.assert_close(module.mask_logits[head].double(), expected, rtol=1e-4, atol=1e-3)


def test_every_other_weight_is_the_defaults() -> None:
    biased, default = model("svd_bias", **ADDITIVE).state_dict(), model("default").state_dict()
    assert {name.rpartition(".")[2] for name in biased.keys() - default.keys()} == {"mask_logits"}
    assert all(torch.equal(biased[name], value) for name, value in default.items())


def test_the_bias_starts_with_the_prior_and_learns() -> None:
    module = attentions(model("svd_bias", **ADDITIVE))[0]
    assert module.mask_logits.requires_grad
    swapped = module.mask_logits[0, :2, :2]  # x0 and x1 attend to each other
    assert (swapped.flip(1).diagonal() - swapped.diagonal() > 5).all()
    assert F.softmax(module.mask_logits, -1)[0, 0, 1] > 0.9


def test_another_seed_gives_another_bias() -> None:
    first, second = (attentions(model("svd_bias", seed, **ADDITIVE))[0].mask_logits for seed in (0, 1))
    assert not torch.equal(first, second)


def test_a_form_that_would_change_the_logits_is_refused() -> None:
    with pytest.raises(UserError, match=r"svd_bias: needs mask.form: additive, not log_sigmoid"):
        model("svd_bias", mask={"form": "log_sigmoid"})
