import numpy as np
import pytest
import torch

from maskprior.attention import attention_map
from maskprior.patterns.vision import OFFSETS, ORDERS, pattern, shift


def test_shifts_of_a_3x3_grid_by_hand():
    """Patches 0 1 2 / 3 4 5 / 6 7 8: what each of them sees, None outside the image."""
    known = {
        (0, 0): list(range(9)),
        (-1, 0): [None, None, None, 0, 1, 2, 3, 4, 5],
        (0, 1): [1, 2, None, 4, 5, None, 7, 8, None],
        (1, -1): [None, 3, 4, None, 6, 7, None, None, None],
    }
    for offset, seen in known.items():
        found = [row.nonzero()[0].tolist() for row in shift(offset, 3)]
        assert found == [[] if target is None else [target] for target in seen], offset


def test_of_16_patches_9_12_or_16_see_one_as_in_the_figure():
    """Corner, edge and centre offsets: nothing wraps around."""
    counts = {offset: int(shift(offset, 4).sum()) for offset in OFFSETS}
    assert counts == {offset: {0: 16, 1: 12, 2: 9}[sum(map(abs, offset))] for offset in OFFSETS}


def test_the_first_three_heads_see_themselves_up_and_right():
    found = pattern("centre_first", layers=2, heads=3, side=3)
    for head, offset in enumerate([(0, 0), (-1, 0), (0, 1)]):
        assert (found.open[:, head, 1:, 1:] == shift(offset, 3)).all()


@pytest.mark.parametrize("order", ORDERS)
def test_nine_heads_have_all_offsets_and_a_tenth_the_first_again(order):
    heads = pattern(order, layers=1, heads=10, side=3).open[0]
    assert len({head.tobytes() for head in heads}) == 9
    assert (heads[9] == heads[0]).all()
    raster = [shift(offset, 3) for offset in OFFSETS]
    expected = raster if order == "raster" else [raster[k] for k in (4, 1, 5, 3, 7, 0, 2, 6, 8)]
    assert (heads[:9, 1:, 1:] == expected).all()


def test_the_class_token_and_patches_without_a_target_are_neutral():
    """In M they are 0: at any logits their attention is what it were without a mask."""
    made = pattern("centre_first", layers=1, heads=3, side=3)
    m = made.mask_logits(10)[0]
    assert (m[:, 0] == 0).all()
    assert (m[:, :, 0] == 0).all()
    up = m[1]
    assert (up[1:4] == 0).all()
    assert (up[4:, 1:] == np.where(shift((-1, 0), 3)[3:], 10, -10)).all()
    logits = torch.randn(1, 3, 10, 10, generator=torch.Generator().manual_seed(0))
    masked = attention_map(logits, torch.from_numpy(m), "log_sigmoid")
    neutral = torch.from_numpy(made.neutral_rows[0])
    assert neutral.sum(-1).tolist() == [1, 4, 4]
    torch.testing.assert_close(masked[0, neutral], logits.softmax(-1)[0, neutral])


def test_an_informed_row_splits_between_its_target_and_the_class_token_as_sigmoid_does():
    """Equal logits: weight sigmoid(10) on the target, sigmoid(0) on the class token, sigmoid(-10) on the others."""
    m = torch.from_numpy(pattern("centre_first", layers=1, heads=1, side=3).mask_logits(10)[0])
    row = attention_map(torch.zeros(1, 1, 10, 10), m, "log_sigmoid")[0, 0, 5]
    weights = torch.sigmoid(torch.tensor([0.0, *[-10.0] * 4, 10.0, *[-10.0] * 4], dtype=torch.float64))
    torch.testing.assert_close(row.double(), weights / weights.sum(), rtol=1e-5, atol=1e-9)


def test_the_pattern_of_the_patches_has_no_class_token():
    made = pattern("raster", layers=2, heads=3, side=4)
    assert made.without_prefix().open.shape == (2, 3, 16, 16)
    assert (made.without_prefix().open[1, 2] == shift((-1, 1), 4)).all()
