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


CAUSAL = np.array([[[[1, 0, 0], [1, 1, 0], [0, 1, 0]]]], dtype=bool)


def test_in_a_causal_pattern_only_the_past_makes_a_row():
    """Rows 0 and 1 are open wherever they can be, and therefore neutral."""
    found = Pattern(CAUSAL, causal=True)
    assert found.visible.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert found.neutral_rows.tolist() == [[[True, True, False]]]
    assert Pattern(CAUSAL).neutral_rows.tolist() == [[[False, False, False]]]
    assert found.target_map()[0, 0].tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0]]


def test_an_all_closed_causal_row_asks_for_nothing_among_what_it_sees():
    closed = np.array([[[[0, 0, 0], [0, 0, 0], [1, 0, 0]]]], dtype=bool)
    assert Pattern(closed, causal=True).target_map()[0, 0].tolist() == [[1, 0, 0], [0.5, 0.5, 0], [1, 0, 0]]


def test_a_graded_pattern_is_its_own_target():
    graded = np.array([[[[1, 0, 0], [0.25, 0.75, 0], [0.125, 0.25, 0.625]]]])
    found = Pattern(np.eye(3, dtype=bool)[None, None], causal=True, graded=graded).target_map()
    assert found.dtype == np.float32
    assert np.array_equal(found, graded)


def test_no_entry_of_the_future_is_open():
    with pytest.raises(ValueError, match="above the diagonal"):
        Pattern(np.ones((1, 1, 2, 2), dtype=bool), causal=True)
    with pytest.raises(ValueError, match="graded map has the pattern's shape"):
        Pattern(CAUSAL, causal=True, graded=np.ones((3, 3)))
