from typing import Literal

import pytest
from pydantic import Field, ValidationError

from maskprior.config.base import Section
from maskprior.config.messages import one_line, unknown


class Inner(Section):
    width: int = Field(ge=1)
    depth: int = 1


class Outer(Section):
    form: Literal["round", "square"]
    inner: Inner
    maybe: Inner | None = None


GOOD = {"form": "round", "inner": {"width": 2}}


def message(**changes: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(GOOD | changes)
    return one_line(caught.value, Outer)


def test_an_unknown_key_names_the_keys_of_its_section() -> None:
    assert message(inner={"width": 2, "colour": 1}) == "inner.colour: unknown key (allowed: width, depth)"


def test_a_misspelt_key_is_told_as_unknown_with_a_guess_not_as_missing() -> None:
    assert message(inner={"widht": 2}) == "inner.widht: unknown key (did you mean width? allowed: width, depth)"


def test_the_section_is_found_through_an_optional() -> None:
    assert message(maybe={"width": 1, "colour": 1}) == "maybe.colour: unknown key (allowed: width, depth)"


def test_an_unknown_word_names_the_allowed_ones() -> None:
    assert message(form="rond") == "form: 'rond' unknown (did you mean round? allowed: round, square)"


def test_a_missing_word_names_the_allowed_ones() -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"inner": {"width": 2}})
    assert one_line(caught.value, Outer) == "form: missing (allowed: round, square)"


def test_a_value_out_of_range_shows_value_and_range() -> None:
    assert message(inner={"width": 0}) == "inner.width: 0: input should be greater than or equal to 1"


def test_origin_is_put_before_the_key() -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(GOOD | {"form": "x"})
    assert one_line(caught.value, Outer, lambda key: f"<{key[0]}> ").startswith("<form> form: 'x' unknown")


def test_no_guess_where_nothing_is_near() -> None:
    assert unknown("zzz", ["mask", "default"]) == "'zzz' unknown (allowed: mask, default)"
