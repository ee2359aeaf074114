import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from maskprior.attention import (
    Attention,
    attention_bias,
    attention_map,
    attentions,
    mask_parameters,
    query_key_logits,
    query_key_parameters,
    query_key_products,
)

B, H, N, D = 2, 3, 5, 4
FORMS = ("log_sigmoid", "additive", "hadamard")


def random_inputs(seed: int, scale: float = 1.0) -> tuple[torch.Tensor, ...]:
    """Q, K, V (B, H, N, d) and M (H, N, N) in float64."""
    random = torch.Generator().manual_seed(seed)
    queries, keys, values = (scale * torch.randn(B, H, N, D, dtype=torch.float64, generator=random) for _ in range(3))
    return queries, keys, values, 4 * torch.randn(H, N, N, dtype=torch.float64, generator=random)


def reference_map(queries: np.ndarray, keys: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The equation written out, one number at a time: p_ij = sigma(m_ij) e^{q_i k_j / sqrt d} / sum over j."""
    found = np.zeros((B, H, N, N))
    for b, h, i in np.ndindex(B, H, N):
        weights = [
            math.exp(sum(queries[b, h, i] * keys[b, h, j]) / math.sqrt(D)) / (1 + math.exp(-mask[h, i, j]))
            for j in range(N)
        ]
        found[b, h, i] = np.array(weights) / sum(weights)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_attention_is_the_papers_equation(seed):
    queries, keys, _, mask = random_inputs(seed)
    found = attention_map(query_key_logits(queries, keys), mask, "log_sigmoid")
    expected = reference_map(queries.numpy(), keys.numpy(), mask.numpy())
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_theorem_1(seed):
    """For L = sum <C, P V>: dL/dx = sum_ij <c_i, v_j> dp_ij/dx, with the theorem's dp_ij/dq, dp_ij/dk, dp_ij/dm."""
    tensors = [x.requires_grad_() for x in random_inputs(seed)]
    queries, keys, values, mask = tensors
    cotangent = torch.randn(B, H, N, D, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    out = attention_map(query_key_logits(queries, keys), mask, "log_sigmoid") @ values
    out.backward(cotangent)

    q, k, v, m = (x.detach().numpy() for x in tensors)
    c, p = cotangent.numpy(), reference_map(q, k, m)
    expected = [np.zeros_like(x) for x in (q, k, v, m)]
    dq, dk, dv, dm = expected
    for b, h, i in np.ndindex(B, H, N):
        row = p[b, h, i]
        mean_key = row @ k[b, h]
        for a in range(N):
            weight = c[b, h, i] @ v[b, h, a]
            dq[b, h, i] += weight * row[a] / math.sqrt(D) * (k[b, h, a] - mean_key)
            dv[b, h, a] += row[a] * c[b, h, i]
            for j in range(N):
                jacobian = row[a] * ((a == j) - row[j])
                dk[b, h, j] += weight * jacobian * q[b, h, i] / math.sqrt(D)
                dm[h, i, j] += weight * jacobian / (1 + math.exp(m[h, i, j]))
    for tensor, values_expected in zip(tensors, expected, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), values_expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", ["log_sigmoid", "additive"])
@pytest.mark.parametrize("value", [-10.0, 0.0, 10.0])
def test_a_row_of_one_value_is_neutral(form, value):
    queries, keys, _, mask = random_inputs(0)
    mask[:, 2] = value
    logits = query_key_logits(queries, keys)
    found, without = attention_map(logits, mask, form), attention_map(logits, None, form)
    torch.testing.assert_close(found[:, :, 2], without[:, :, 2])
    assert not torch.allclose(found[:, :, 1], without[:, :, 1])


def test_without_a_mask_it_is_softmax():
    logits = torch.tensor([[[[0.0, math.log(3)], [math.log(4), 0.0]]]])
    for form in FORMS:
        torch.testing.assert_close(attention_map(logits, None, form), torch.tensor([[[[0.25, 0.75], [0.8, 0.2]]]]))


def test_the_three_forms_by_hand():
    """Logits (0, 0), M = (log 3, 0): sigma = (3/4, 1/2)."""
    logits, mask = torch.zeros(1, 1, 1, 2), torch.tensor([[[math.log(3), 0.0]]])
    expected = {"log_sigmoid": [0.6, 0.4], "additive": [0.75, 0.25], "hadamard": [0.375, 0.25]}
    for form, row in expected.items():
        torch.testing.assert_close(attention_map(logits, mask, form), torch.tensor([[[row]]]))
    torch.testing.assert_close(attention_bias(mask, "log_sigmoid"), torch.tensor([[[math.log(0.75), math.log(0.5)]]]))
    assert attention_bias(mask, "additive") is mask
    assert attention_bias(mask, "hadamard") is None


def test_the_gap_of_amplitude_10_is_10_nats():
    bias = attention_bias(torch.tensor([10.0, -10.0], dtype=torch.float64), "log_sigmoid")
    assert (bias[0] - bias[1]).item() == pytest.approx(10, abs=1e-12)


finite = st.floats(-30, 30, width=32)


@given(seed=st.integers(0, 2**16), scale=st.floats(0.01, 10), form=st.sampled_from(FORMS[:2]))
@settings(max_examples=50, deadline=None)
def test_rows_sum_to_one(seed, scale, form):
    queries, keys, _, mask = random_inputs(seed, scale)
    found = attention_map(query_key_logits(queries, keys), mask, form)
    assert (found >= 0).all()
    torch.testing.assert_close(found.sum(-1), torch.ones(B, H, N, dtype=torch.float64))


@given(seed=st.integers(0, 2**16), shift=st.lists(finite, min_size=N, max_size=N))
@settings(max_examples=50, deadline=None)
def test_a_shift_of_a_row_changes_nothing(seed, shift):
    queries, keys, _, mask = random_inputs(seed)
    logits, shifts = query_key_logits(queries, keys), torch.tensor(shift, dtype=torch.float64)[:, None]
    expected = attention_map(logits, mask, "additive")
    torch.testing.assert_close(attention_map(logits, mask + shifts, "additive"), expected)
    torch.testing.assert_close(attention_map(logits + shifts, mask, "additive"), expected)
    torch.testing.assert_close(
        attention_map(logits + shifts, mask, "log_sigmoid"), attention_map(logits, mask, "log_sigmoid")
    )


@given(seed=st.integers(0, 2**16), order=st.permutations(range(N)), form=st.sampled_from(FORMS))
@settings(max_examples=50, deadline=None)
def test_permuting_tokens_permutes_the_map(seed, order, form):
    queries, keys, _, mask = random_inputs(seed)
    permuted = attention_map(
        query_key_logits(queries[:, :, order], keys[:, :, order]), mask[:, order][:, :, order], form
    )
    original = attention_map(query_key_logits(queries, keys), mask, form)
    torch.testing.assert_close(permuted, original[:, :, order][:, :, :, order])


@given(seed=st.integers(0, 2**16))
@settings(max_examples=25, deadline=None)
def test_hadamard_rows_lose_mass(seed):
    queries, keys, _, mask = random_inputs(seed)
    logits = query_key_logits(queries, keys)
    found = attention_map(logits, mask, "hadamard")
    torch.testing.assert_close(found, logits.softmax(-1) * mask.sigmoid())
    assert (found.sum(-1) < 1).all()


def module(form: str = "log_sigmoid") -> Attention:
    torch.manual_seed(0)
    return Attention(7, heads=H, head_dim=D, tokens=N, form=form).double()


def test_heads_are_blocks_of_the_weights():
    """Head h owns rows h d … (h + 1) d of W_Q, W_K, W_V and the same columns of W_O."""
    attention, x = module(), torch.randn(B, N, 7, dtype=torch.float64)
    mask = 3 * torch.randn(H, N, N, dtype=torch.float64)
    attention.set_mask(mask, learnable=True)
    expected = attention.out.bias.expand(B, N, 7)
    for h in range(H):
        own = slice(h * D, (h + 1) * D)
        q, k, v = (x @ layer.weight[own].T for layer in (attention.query, attention.key, attention.value))
        p = (q @ k.transpose(1, 2) / math.sqrt(D) + F.logsigmoid(mask[h])).softmax(-1)
        expected = expected + p @ v @ attention.out.weight[:, own].T
    torch.testing.assert_close(attention(x), expected)


def test_products_are_the_bilinear_form_of_the_logits():
    attention, x = module(), torch.randn(1, N, 7, dtype=torch.float64)
    products = query_key_products(attention)
    assert products.shape == (H, 7, 7)
    torch.testing.assert_close(attention.query_key_logits(x)[0], x[0] @ products @ x[0].T / math.sqrt(D))


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_mask_is_finite(bad):
    mask = torch.zeros(H, N, N)
    mask[0, 1, 2] = bad
    with pytest.raises(ValueError, match="finite"):
        module().set_mask(mask, learnable=True)


def test_a_mask_has_a_matrix_per_head():
    with pytest.raises(ValueError, match=r"\(3, 5, 5\)"):
        module().set_mask(torch.zeros(N, N), learnable=True)


def test_a_fixed_mask_gets_no_gradient():
    attention = module()
    attention.set_mask(torch.randn(H, N, N, dtype=torch.float64), learnable=False)
    attention(torch.randn(B, N, 7, dtype=torch.float64)).square().sum().backward()
    assert attention.mask_logits.grad is None
    assert attention.query.weight.grad.abs().max() > 0
    attention.set_mask(torch.randn(H, N, N, dtype=torch.float64), learnable=True)
    attention(torch.randn(B, N, 7, dtype=torch.float64)).square().sum().backward()
    assert attention.mask_logits.grad.abs().max() > 0


def test_the_module_keeps_its_own_mask():
    attention, mask = module(), torch.zeros(H, N, N)
    attention.set_mask(mask, learnable=True)
    mask += 1
    assert attention.mask_logits.abs().max() == 0
    assert "mask_logits" in attention.state_dict()


def test_finding_the_parts_of_a_model():
    first, second = module(), module("additive")
    model = torch.nn.Sequential(first, torch.nn.Linear(7, 7), second)
    assert attentions(model) == [first, second]
    assert mask_parameters(model) == []
    second.set_mask(torch.zeros(H, N, N), learnable=False)
    assert [id(m) for m in mask_parameters(model)] == [id(second.mask_logits)]
    expected = [first.query.weight, first.key.weight, second.query.weight, second.key.weight]
    assert [id(w) for w in query_key_parameters(model)] == [id(w) for w in expected]
