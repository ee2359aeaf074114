import numpy as np
import pytest
import torch
from torch.nn import functional as F

from maskprior.patterns.language import alibi_slopes, mask_logits, pattern

H, N, S = 4, 9, 10.0


def test_the_papers_mask_is_minus_the_distance():
    found = mask_logits("distance", heads=H, tokens=N, scale=S)
    assert found.dtype == np.float32
    for h, i, j in np.ndindex(H, N, N):
        assert found[h, i, j] == -max(i - j, 0)


def test_slopes_of_eight_heads_are_those_of_the_source():
    assert alibi_slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


def test_alibi_mask_gives_alibis_bias_up_to_a_shift_of_each_row():
    """log sigmoid(s M_ij) = -m_h (i - j) - log 2, to the precision of float32's M."""
    found = torch.from_numpy(mask_logits("alibi", heads=H, tokens=N, scale=S)).double()
    bias = F.logsigmoid(S * found)
    for h, i, j in np.ndindex(H, N, N):
        expected = -(2.0 ** (-8 * (h + 1) / H)) * max(i - j, 0) - np.log(2)
        assert bias[h, i, j].item() == pytest.approx(expected, rel=1e-5)
    assert (found.diagonal(dim1=1, dim2=2) == 0).all()


@pytest.mark.parametrize("prior", ["distance", "alibi"])
def test_the_pattern_is_what_the_mask_alone_attends_to(prior):
    found = pattern(prior, layers=3, heads=H, tokens=N, scale=S)
    logits = F.logsigmoid(S * torch.from_numpy(mask_logits(prior, heads=H, tokens=N, scale=S)).double())
    expected = logits.masked_fill(torch.ones(N, N).triu(1) == 1, -torch.inf).softmax(-1)
    for layer in found.target_map():
        np.testing.assert_allclose(layer, expected, atol=1e-7)
    assert (found.open == np.eye(N, dtype=bool)).all()
    assert (found.neutral_rows == (np.arange(N) == 0)).all()
    assert found.causal


def test_the_papers_prior_is_almost_pure_self_attention_and_alibis_is_not():
    """The nearest token's weight beside the token's own: e^-9.3 for the paper, e^-m_h for ALiBi."""
    paper, alibi = (pattern(p, layers=1, heads=H, tokens=64, scale=S).graded[0] for p in ("distance", "alibi"))
    ratio = paper[:, 63, 62] / paper[:, 63, 63]
    np.testing.assert_allclose(ratio, np.exp(-10 - np.log1p(np.exp(-10)) + np.log(2)), rtol=1e-6)
    assert (paper.diagonal(axis1=1, axis2=2) > 0.9999).all()
    np.testing.assert_allclose(alibi[:, 63, 62] / alibi[:, 63, 63], np.exp(-alibi_slopes(H)), rtol=1e-5)


def test_unknown_prior():
    with pytest.raises(ValueError, match="'t5' is not a prior"):
        mask_logits("t5", heads=1, tokens=2, scale=1.0)
