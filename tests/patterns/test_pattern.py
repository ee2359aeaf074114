import numpy as np
import pytest

from maskprior.patterns.pattern import Pattern, from_heads

OPEN = np.array([[[[1, 0, 0], [1, 1, 1], [0, 0, 0]]]], dtype=bool)


def test_rows_of_one_kind_are_neutral():
    assert Pattern(OPEN).neutral_rows.tolist() == [[[False, True, True]]]


def test_mask_logits_are_plus_and_minus_the_amplitude():
    logits = Pattern(OPEN).mask_logits(10)
    assert logits.dtype == np.float32
    assert logits.tolist() == [[[[10, -10, -10], [10, 10, 10], [-10, -10, -10]]]]


def test_the_target_spreads_each_row_over_its_open_entries():
    open_ = np.array([[[[1, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]]]], dtype=bool)
    expected = [[1, 0, 0, 0], [0.5, 0, 0.5, 0], [0.25] * 4, [0.25] * 4]
    assert Pattern(open_).target_map()[0, 0].tolist() == expected


def test_from_heads_repeats_layers():
    heads = np.arange(18).reshape(2, 3, 3) % 2 == 0
    assert np.array_equal(from_heads(heads, 4).open, np.stack([heads] * 4))


@pytest.mark.parametrize("bad", [np.ones((1, 1, 2, 2)), np.ones((1, 2, 2), dtype=bool), np.ones((1, 1, 2, 3), bool)])
def test_a_pattern_is_boolean_and_square(bad):
    with pytest.raises(ValueError, match="boolean of shape"):
        Pattern(bad)
