from pathlib import Path

import pytest

from maskprior.config.yaml_file import parse_mapping, read_text
from maskprior.errors import UserError


def problem(text: str) -> str:
    with pytest.raises(UserError) as caught:
        parse_mapping(text, "config/x.yaml")
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_keys_and_values() -> None:
    assert parse_mapping("a: 1\nb: {c: [x, 2.5]}\n", "x") == {"a": 1, "b": {"c": ["x", 2.5]}}


def test_a_syntax_error_is_one_line_with_its_place() -> None:
    assert problem("a: 1\nb: [1, 2\nc: 3\n").startswith("config/x.yaml: line 3, column 2: ")


def test_a_tab_is_named_with_its_place() -> None:
    assert problem("a:\n\tb: 1\n").startswith("config/x.yaml: line 2, column 1: ")


def test_a_key_given_twice_is_refused_at_any_depth() -> None:
    assert problem("a: 1\nb: 2\na: 3\n") == "config/x.yaml: line 3, column 1: a: given twice"
    assert problem("top:\n  a: 1\n  a: 1\n") == "config/x.yaml: line 3, column 3: a: given twice"


def test_python_objects_are_refused() -> None:
    assert "line 1" in problem("a: !!python/object/apply:os.getcwd []\n")


@pytest.mark.parametrize("text", ["", "# only a comment\n", "- a\n- b\n", "word\n"])
def test_anything_but_keys_with_values_is_refused(text: str) -> None:
    assert problem(text).startswith("config/x.yaml: must be keys with values")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^config/x\.yaml: no such file"):
        read_text(tmp_path / "x.yaml", "config/x.yaml")
