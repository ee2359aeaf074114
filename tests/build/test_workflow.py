"""What the workflow takes as the inputs of a notebook."""

import re
from pathlib import Path

import pytest

from maskprior.build import workflow
from maskprior.build.notebooks import read_notebooks
from maskprior.config.settings import Settings, read_settings
from maskprior.runs.store import relative
from tests.constructed_runs import WriteRun

HERE = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings(project: Path) -> Settings:
    return read_settings({"seeds": 3})


def test_a_record_at_the_papers_scale_is_an_input_of_its_notebooks_once_it_is_there(
    settings: Settings, write_run: WriteRun
) -> None:
    book = read_notebooks()["table2"]
    workflow.records_at_paper.cache_clear()
    before = workflow.notebook_records(book, settings)
    assert not any("/paper/" in file for file in before)
    path = write_run("addition", "mask", 1, {"sequence_accuracy": 95.0}, scale="paper")
    workflow.records_at_paper.cache_clear()
    assert set(workflow.notebook_records(book, settings)) - set(before) == {relative(path)}
    workflow.records_at_paper.cache_clear()


def test_the_inputs_of_a_notebook_are_the_code_it_imports_and_the_configuration() -> None:
    found = workflow.notebook_sources("figure2")
    assert {
        "src/maskprior/tasks/boolean/2parity.py",
        "src/maskprior/patterns/boolean.py",
        "src/maskprior/report/figures.py",
    } <= set(found)
    assert {"config/experiments/vision.yaml", "config/claims.yaml", "config/datasets.yaml"} <= set(found)
    assert "src/maskprior/report/claims_table.py" not in found
    assert "src/maskprior/report/claims_table.py" in workflow.notebook_sources("claims")
    assert not [file for file in found if "/training/" in file or "/experiments/boolean.py" in file]


@pytest.mark.parametrize("name", read_notebooks())
def test_every_package_a_notebook_imports_is_among_its_inputs(name: str) -> None:
    source = (HERE / "notebooks" / f"{name}.py").read_text()
    named = re.findall(r"^from maskprior\.([\w.]+) import", source, re.MULTILINE)
    found = workflow.notebook_sources(name)
    for module in named:
        file = f"src/maskprior/{module.replace('.', '/')}"
        assert any(other in (f"{file}.py", f"{file}/__init__.py") or other.startswith(f"{file}/") for other in found)
