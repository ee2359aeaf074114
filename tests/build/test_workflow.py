"""What the workflow takes as the inputs of a notebook."""

from pathlib import Path

import pytest

from maskprior.build import workflow
from maskprior.build.notebooks import read_notebooks
from maskprior.config.settings import Settings, read_settings
from maskprior.runs.store import relative
from tests.constructed_runs import WriteRun


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
