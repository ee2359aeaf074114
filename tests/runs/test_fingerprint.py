import ast
import io
import json
import math
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskprior import paths
from maskprior.errors import UserError
from maskprior.runs.fingerprint import (
    Fingerprint,
    canonical,
    code_hash,
    config_hash,
    fingerprint,
    import_closure,
    syntax_hash,
)
from maskprior.runs.spec import Run, make_run, resolve

SOURCES = sorted(import_closure("maskprior.experiments.boolean").values())
ids = [path.relative_to(paths.package()).as_posix() for path in SOURCES]


# ---- code: what does not run does not count --------------------------------------------------------------------


def hash_of(folder: Path, source: str) -> str:
    path = folder / "module.py"
    path.write_text(source)
    return syntax_hash(path)


@pytest.mark.parametrize("path", SOURCES, ids=ids)
def test_comments_blank_lines_and_formatting_do_not_count(path: Path, tmp_path: Path) -> None:
    source = path.read_text()
    assert hash_of(tmp_path, ast.unparse(ast.parse(source))) == syntax_hash(path)
    assert hash_of(tmp_path, commented(source)) == syntax_hash(path)


def commented(source: str) -> str:
    """The source with a comment and a blank line after every statement's end."""
    lines = source.splitlines()
    ends = {t.end[0] for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type == tokenize.NEWLINE}
    return "\n".join(line + ("  # note\n" if number in ends else "") for number, line in enumerate(lines, 1)) + "\n"


@pytest.mark.parametrize("path", SOURCES, ids=ids)
def test_docstrings_do_not_count(path: Path, tmp_path: Path) -> None:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            if ast.get_docstring(node) is not None:
                node.body[0] = ast.Expr(ast.Constant("Another text."))
            else:
                node.body.insert(0, ast.Expr(ast.Constant("A new text.")))
    assert hash_of(tmp_path, ast.unparse(ast.fix_missing_locations(tree))) == syntax_hash(path)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from(["", "    ", "# note", "    # note", "\t"]), max_size=5), st.text("ab \n#", max_size=20)
)
def test_any_comment_and_any_docstring_is_the_same_function(gap: list[str], text: str) -> None:
    blank = "\n".join(line if line.strip().startswith("#") or not line.strip() else "" for line in gap)
    written = f"def f(x):\n    {text!r}\n{blank}\n    return x + 1  # {' '.join(text.split())}\n"
    assert of_text(written) == of_text("def f(x): return x+1")


def of_text(source: str) -> str:
    from maskprior.runs.fingerprint import _syntax_hash

    return _syntax_hash(source)


# ---- code: what runs always counts -----------------------------------------------------------------------------

OTHER: dict[type[ast.AST], ast.AST] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Div(), ast.Div: ast.Mult(), ast.Pow: ast.Mult(),
    ast.FloorDiv: ast.Mod(), ast.Mod: ast.FloorDiv(), ast.MatMult: ast.Mult(), ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(), ast.BitXor: ast.BitOr(), ast.LShift: ast.RShift(), ast.RShift: ast.LShift(),
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(), ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
    ast.And: ast.Or(), ast.Or: ast.And(), ast.USub: ast.UAdd(), ast.UAdd: ast.USub(), ast.Not: ast.Invert(),
    ast.Invert: ast.Not(),
}  # fmt: skip


def mutants(source: str) -> Iterator[tuple[str, ast.Module]]:
    """The syntax tree with one operator, number or name changed, once for each place."""
    for number, node in enumerate(ast.walk(ast.parse(source))):
        for what, change in changes(node):
            mutant = ast.parse(source)
            change(next(found for count, found in enumerate(ast.walk(mutant)) if count == number))
            yield f"{what} in line {getattr(node, 'lineno', '?')}", mutant


def changes(node: ast.AST) -> Iterator[tuple[str, Callable]]:
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.UnaryOp | ast.BoolOp):
        yield "operator", lambda found: setattr(found, "op", OTHER[type(found.op)])
    elif isinstance(node, ast.Compare):
        yield "comparison", lambda found: found.ops.__setitem__(0, OTHER[type(found.ops[0])])
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number", lambda found: setattr(found, "value", found.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "switch", lambda found: setattr(found, "value", not found.value)
    elif isinstance(node, ast.Attribute):
        yield "attribute", lambda found: setattr(found, "attr", found.attr + "_")
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "return", lambda found: setattr(found, "value", None)


@pytest.mark.parametrize("name", ["attention.py", "initialization/mask.py", "patterns/boolean.py"])
def test_every_change_of_an_operator_number_or_name_counts(name: str) -> None:
    source = (paths.package() / name).read_text()
    hashes = [(what, of_text(ast.unparse(mutant))) for what, mutant in mutants(source)]
    assert len(hashes) > 5
    assert [what for what, digest in hashes if digest == of_text(source)] == []


def test_one_and_true_and_one_point_zero_are_three_numbers() -> None:
    assert len({of_text(f"x = {value}") for value in ("1", "True", "1.0", "'1'", "b'1'", "1j")}) == 6


def test_a_string_that_is_used_counts_and_one_that_stands_alone_does_not() -> None:
    assert of_text("x = 1\n'about x'\ny = 2") == of_text("x = 1\ny = 2")
    assert of_text("x = 'a'") != of_text("x = 'b'")
    assert of_text("x = f'a'") != of_text("x = f'b'")


def test_the_order_of_statements_counts() -> None:
    assert of_text("a()\nb()") != of_text("b()\na()")


def test_moving_a_statement_out_of_a_block_counts() -> None:
    assert of_text("if a:\n    b()\n    c()") != of_text("if a:\n    b()\nc()")


# ---- the import closure ----------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes a hand-made package in place of ours: file -> text. Every folder becomes a package."""
    folder = tmp_path / "maskprior"
    monkeypatch.setattr(paths, "package", lambda: folder)

    def write(files: dict[str, str]) -> None:
        for name, text in ({"methods/default.py": ""} | files).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            for parent in path.relative_to(folder).parents:
                (folder / parent / "__init__.py").touch()
            path.write_text(text)

    return write


def hash_of_run(experiment: str) -> str:
    """The code hash of a run of the method `default` on a task without a file."""
    return code_hash(Run(experiment, "task", "default", "", "smoke", 0))


def closure(module: str) -> set[str]:
    return {name.removeprefix("maskprior").removeprefix(".") for name in import_closure(f"maskprior.{module}")} - {""}


@pytest.mark.parametrize(
    "line",
    [
        "import maskprior.a.b",
        "import maskprior.a.b as other",
        "from maskprior.a import b",
        "from maskprior.a.b import thing",
        "from maskprior.a.b import *",
        "from ..a import b",
        "from ..a.b import thing",
        "def f():\n    from maskprior.a import b",
        "if f:\n    import maskprior.a.b",
        "try:\n    import maskprior.a.b\nexcept ImportError: pass",
    ],
)
def test_every_way_to_import_is_found(written, line: str) -> None:
    written({"a/b.py": "thing = 1", "a/unused.py": "", "top/one.py": line})
    assert closure("top.one") == {"top", "top.one", "a", "a.b"}


def test_siblings_by_one_dot_from_a_module_and_from_a_package(written) -> None:
    written({"a/b.py": "from . import c", "a/c.py": "", "a/__init__.py": "from .d import x", "a/d.py": "x = 1"})
    assert closure("a.b") == {"a", "a.b", "a.c", "a.d"}


def test_the_closure_goes_on_through_imported_modules_and_ends_in_circles(written) -> None:
    written({"a.py": "import maskprior.b", "b.py": "from maskprior import c", "c.py": "import maskprior.a", "d.py": ""})
    assert closure("a") == {"a", "b", "c"}


def test_a_name_that_is_no_module_is_left_out(written) -> None:
    written({"a.py": "from maskprior.b import f, CONSTANT\nimport numpy.linalg", "b.py": "def f(): pass\nCONSTANT = 1"})
    assert closure("a") == {"a", "b"}


def test_only_changes_inside_the_closure_count(written) -> None:
    files = {"experiments/boolean.py": "from maskprior import a", "a.py": "x = 1", "plot.py": "y = 1"}
    written(files)
    before = hash_of_run("boolean")
    written({"plot.py": "y = 2"})
    assert hash_of_run("boolean") == before
    written({"a.py": "x = 2"})
    assert hash_of_run("boolean") != before
    written({"a.py": "x = 1  # one"})
    assert hash_of_run("boolean") == before


def test_every_edit_counts_at_once_also_one_of_the_same_length(written) -> None:
    written({"experiments/one.py": "x = 0\n"})
    hashes = {}
    for number in range(10):
        written({"experiments/one.py": f"x = {number}\n"})
        hashes[number] = hash_of_run("one")
    assert len(set(hashes.values())) == 10
    written({"experiments/one.py": "x = 3\n"})
    assert hash_of_run("one") == hashes[3]


def test_moving_code_to_another_module_counts(written) -> None:
    written({"experiments/boolean.py": "from maskprior import a", "a.py": "x = 1"})
    before = hash_of_run("boolean")
    written({"experiments/boolean.py": "from maskprior import b", "b.py": "x = 1"})
    assert hash_of_run("boolean") != before


def test_an_experiment_without_code_is_an_error(written) -> None:
    written({"experiments/other.py": ""})
    with pytest.raises(UserError, match=r"maskprior\.experiments\.boolean, does not exist"):
        hash_of_run("boolean")


def test_the_closure_of_boolean_is_what_trains_it_and_no_more() -> None:
    names = set(import_closure("maskprior.experiments.boolean"))
    assert {"maskprior.attention", "maskprior.training.loop", "maskprior.tasks.boolean"} <= names
    above = tuple(f"maskprior.{room}" for room in ("runs", "evidence", "analysis", "report", "build", "cli"))
    assert not {name for name in names if name.startswith(above)}


# ---- canonical form --------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None, max_examples=50)
@given(json_values)
def test_canonical_is_json_and_a_fixed_point(value: object) -> None:
    assert canonical(json.loads(canonical(value))) == canonical(value)
    assert json.loads(canonical(value)) == value


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=5))
def test_the_order_of_keys_does_not_count(value: dict[str, int]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)


def test_floats_are_exact() -> None:
    assert canonical(0.1) != canonical(math.nextafter(0.1, 1))
    assert canonical(1.0) != canonical(1)


@pytest.mark.parametrize(
    "value",
    [{1, 2}, b"x", Path("x"), np.float32(1), np.int64(1), np.zeros(2), object(), {1: 2}, math.nan, math.inf, 1 + 2j],
    ids=lambda value: type(value).__name__,
)
def test_canonical_refuses_what_json_has_no_exact_form_for(value: object) -> None:
    with pytest.raises(TypeError, match="canonical form"):
        canonical({"key": [value]})


# ---- fingerprints of runs --------------------------------------------------------------------------------------


def test_the_digest_is_of_all_three_parts() -> None:
    digests = {Fingerprint(*parts).digest for parts in ("abc", "xbc", "axc", "abx", "bac")}
    assert len(digests) == 5


def test_the_seed_is_not_part_of_it_and_every_cell_has_its_own() -> None:
    def digest(*words: str, scale: str = "smoke", seed: int = 0) -> str:
        return fingerprint(make_run("boolean", *words, scale=scale, seed=seed)).digest

    assert digest("2parity", "mask", seed=1) == digest("2parity", "mask")
    others = [("2parity", "default"), ("cyclic3", "mask"), ("2parity", "default+position18")]
    assert (
        len({digest("2parity", "mask"), digest("2parity", "mask", scale="reduced"), *(digest(*o) for o in others)}) == 5
    )


def test_a_comment_in_the_configuration_does_not_count_and_a_value_does(project: Path) -> None:
    run = make_run("boolean", "2parity", "mask", scale="smoke")
    path = project / "config" / "experiments" / "boolean.yaml"
    before, text = config_hash(resolve(run)), path.read_text()
    path.write_text("# a note\n" + text.replace("heads: 3", "heads:    3  # heads"))
    assert config_hash(resolve(run)) == before
    path.write_text(text.replace("heads: 3", "heads: 2"))
    assert config_hash(resolve(run)) != before


def test_data_of_another_preparation_are_another_version(project: Path) -> None:
    run = make_run("boolean", "2parity", "mask", scale="smoke")
    other = make_run("boolean", "cyclic3", "mask", scale="smoke")
    before, unchanged = fingerprint(run), fingerprint(other)
    registry = project / "config" / "datasets.yaml"
    registry.write_text(registry.read_text().replace("preparation: 1", "preparation: 2", 1))  # 2parity's comes first
    assert fingerprint(run).data != before.data
    assert (fingerprint(run).config, fingerprint(run).code) == (before.config, before.code)
    assert fingerprint(other) == unchanged
