"""What is trained again and what is not: after a clone, a touch, a comment, a change of what is computed."""

import ast
import os
import re
from pathlib import Path

import pytest
from project import Project

pytestmark = pytest.mark.workflow


def trainings(project: Project) -> set[str]:
    """The experiments of which `snakemake -n all` would train a run."""
    plan = project.snakemake("-n", "all")
    assert "This was a dry-run" in plan
    return set(re.findall(r"^Job \d+: train (\w+)/", plan, re.MULTILINE))


def test_five_clones_in_a_row_plan_no_training(origin: Project, tmp_path: Path) -> None:
    for number in range(5):
        clone = origin.clone(tmp_path / str(number))
        jobs = clone.planned()
        assert jobs["all"] == 1
        assert "train" not in jobs


def test_without_the_published_records_everything_is_trained(origin: Project, tmp_path: Path) -> None:
    clone = origin.clone(tmp_path / "clone", pull=False)
    assert clone.planned()["train"] == len(origin.records("published"))


def test_touch_comment_and_formatting_train_nothing(clone: Project) -> None:
    for name in clone.call("git", "ls-files").splitlines():
        os.utime(clone.folder / name)
    assert trainings(clone) == set()
    modules = sorted((clone.folder / "src").rglob("*.py"))
    for module in modules:
        module.write_text(module.read_text() + "\n# a remark\n")
    assert trainings(clone) == set()
    for module in modules:  # no comment left, every expression laid out anew
        module.write_text(ast.unparse(ast.parse(module.read_text())) + "\n")
    assert clone.call("git", "diff", "--stat", "--", "src").count("|") > len(modules) / 2
    assert trainings(clone) == set()


def test_what_is_computed_decides_what_is_trained(clone: Project) -> None:
    assert trainings(clone) == set()
    change_an_operator(clone.folder / "src" / "maskprior" / "experiments" / "boolean.py")
    assert trainings(clone) == {"boolean"}
    clone.call("git", "checkout", "--quiet", "src/maskprior/experiments/boolean.py")
    assert trainings(clone) == set()
    change_an_operator(clone.folder / "src" / "maskprior" / "attention.py")
    assert trainings(clone) == {"boolean", "arithmetic", "vision", "language"}


def test_recompute_never_reads_the_published_records(clone: Project) -> None:
    plan = clone.snakemake("-n", "all", "--config", "recompute=true")
    assert plan.count(": train ") == len(clone.records("published"))


def test_record_of_other_code_is_refused_by_name(clone: Project) -> None:
    record = next(iter(clone.records("published"))).relative_to(clone.folder).as_posix()
    stale = record.replace("published", "local").rsplit("-", 1)[0] + "-00000000.json"
    assert "00000000 belongs to another version of the code" in clone.snakemake("-n", stale, expect=1)


def test_more_hours_than_allowed_do_not_start(clone: Project) -> None:
    table1 = ("table1", "--config", "recompute=true", "max_hours=1e-9")
    said = clone.snakemake(*table1, expect=2)
    assert re.search(r"\d+ runs to train, about .* on one cpu, and max_hours in config/costs.yaml is 1e-09", said)
    assert clone.records("local") == set()
    assert "This was a dry-run" in clone.snakemake("-n", *table1)


def change_an_operator(module: Path) -> None:
    """Turn the first arithmetic operator of the module into another one."""
    tree = ast.parse(module.read_text())
    operation = next(node for node in ast.walk(tree) if isinstance(node, ast.BinOp))
    operation.op = ast.Sub() if not isinstance(operation.op, ast.Sub) else ast.Add()
    module.write_text(ast.unparse(tree))
