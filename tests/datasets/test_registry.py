import subprocess
import sys

import pytest
from http_helpers import entry as bare_entry

from maskprior import paths
from maskprior.datasets import registry
from maskprior.errors import UserError


def entry(**changes):
    return bare_entry(members={"a.txt": {"sha256": "0" * 64, "size": 3}}) | changes


def test_names_of_the_generated_sets():
    assert {
        "boolean-2parity", "boolean-cyclic3", "boolean-majority3", "boolean-threesym",
        "arithmetic-addition", "arithmetic-multiplication",
    } <= set(registry.load().names)  # fmt: skip


def test_every_version_is_16_hex_digits_and_distinct():
    versions = [registry.dataset_version(name) for name in registry.load().names]
    assert all(len(version) == 16 and int(version, 16) >= 0 for version in versions)
    assert len(set(versions)) == len(versions)


def test_version_follows_content_and_nothing_else(project):
    project({"a": entry()})
    before = registry.dataset_version("a")
    project({"a": entry(title="other words", homepage="https://example.org", note="n")})
    assert registry.dataset_version("a") == before
    for change in (
        {"members": {"a.txt": {"sha256": "1" * 64, "size": 3}}},
        {"members": {"b.txt": {"sha256": "0" * 64, "size": 3}}},
        {"preparation": 2},
        {"kind": "stories"},
    ):
        project({"a": entry(**change)})
        assert registry.dataset_version("a") != before


def test_version_of_a_subset_follows_the_whole_set(project):
    part = entry(members={}, subset={"of": "a", "per_class": 5})
    project({"a": entry(), "part": part})
    before = registry.dataset_version("part")
    project({"a": entry(preparation=2), "part": part})
    assert registry.dataset_version("part") != before


def test_version_follows_the_class_list(project, tmp_path):
    classes = tmp_path / "config" / "datasets" / "classes.txt"
    classes.write_text("n01440764\n")
    project({"a": entry(classes="classes.txt")})
    before = registry.dataset_version("a")
    classes.write_text("n01443537\n")
    assert registry.dataset_version("a") != before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": entry(colour="red")}, "config/datasets.yaml: a.colour: Extra inputs are not permitted"),
        ({"a": entry(members={"../a": {"sha256": "0" * 64, "size": 3}})}, "config/datasets.yaml: a.members"),
        ({"a": entry(members={"a": {"sha256": "xyz", "size": 3}})}, "config/datasets.yaml: a.members.a.sha256"),
        ({"a": entry(members={"a": {"size": 3}})}, "config/datasets.yaml: a.members.a.sha256: Field required"),
        ({"a": entry(subset={"of": "nothing", "per_class": 1})}, "a: needs nothing, which is not registered"),
    ],
)
def test_a_wrong_entry_is_named_in_one_line(project, content, message):
    project(content)
    with pytest.raises(UserError) as caught:
        registry.load()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_an_unknown_name_lists_the_known_ones(project):
    project({"a": entry()})
    with pytest.raises(UserError, match=r"data set b: not in config/datasets.yaml; registered: a$"):
        registry.dataset_version("b")


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("registry", {"torch", "numpy", "pandas", "pyarrow", "tokenizers"}),
        ("download", {"torch", "numpy", "pandas", "pyarrow", "tokenizers"}),
        ("cli", {"torch", "numpy", "pandas", "pyarrow", "tokenizers"}),
        ("prepare", {"torch", "pandas", "pyarrow", "tokenizers"}),
    ],
)
def test_import_costs_no_heavy_library(module, heavy):
    code = f"import sys, maskprior.datasets.{module}; print({heavy!r} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_registry_lies_in_the_project():
    assert registry.registry_file() == paths.root() / "config" / "datasets.yaml"
