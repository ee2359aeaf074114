"""Executed notebooks: equal bytes each time, and kept when a cell fails."""

import json
from pathlib import Path

import nbformat
import papermill
import pytest
from project import Project

from maskprior.build.notebooks import execute, normalised

pytestmark = pytest.mark.workflow

FIGURE = """# %% tags=["parameters"]
scale = "reduced"
# %%
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
print(scale)
plt.plot([1, 2, 4])
plt.show()
"""


def test_two_executions_give_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "figure.py"
    source.write_text(FIGURE)
    for name in ("one", "two"):
        execute(source, tmp_path / name / "figure.ipynb", {"scale": "smoke"})
    executed = (tmp_path / "one" / "figure.ipynb").read_bytes()
    assert executed == (tmp_path / "two" / "figure.ipynb").read_bytes()
    notebook = json.loads(executed)
    nbformat.validate(nbformat.from_dict(notebook))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert outputs[0]["text"] == ["smoke\n"]  # the injected parameter won


def test_a_failing_cell_leaves_the_executed_copy_with_its_traceback(tmp_path: Path) -> None:
    source, executed = tmp_path / "broken.py", tmp_path / "broken.ipynb"
    source.write_text("# %%\nprint('before')\n# %%\n1 / 0\n# %%\nprint('after')\n")
    with pytest.raises(papermill.PapermillExecutionError, match="ZeroDivisionError"):
        execute(source, executed, {})
    kept = executed.read_text()
    assert "before" in kept
    assert "ZeroDivisionError" in kept
    assert normalised(executed.read_bytes()) == executed.read_bytes()


def test_the_rule_keeps_the_copy_and_drops_the_output(clone: Project) -> None:
    (clone.folder / "notebooks" / "broken.py").write_text(
        "# %%\nfrom pathlib import Path\nPath('paper/generated/broken.tex').write_text('half')\n# %%\n1 / 0\n"
    )
    table = clone.folder / "config" / "notebooks.yaml"
    table.write_text("broken: {targets: [figure99], records: [], outputs: [paper/generated/broken.tex]}\n")
    told = clone.snakemake("figure99", expect=1)
    assert "ZeroDivisionError" in told  # the failed log is shown
    assert "ZeroDivisionError" in (clone.folder / "results" / "logs" / "notebooks" / "broken.ipynb").read_text()
    assert not (clone.folder / "paper" / "generated" / "broken.tex").exists()


@pytest.mark.parametrize(
    "text", ["broken: {targets: [a], records: []}", "broken: {targets: [a], records: [], outputs: [], x: 1}"]
)
def test_a_wrong_entry_is_one_line(clone: Project, text: str) -> None:
    (clone.folder / "config" / "notebooks.yaml").write_text(text)
    told = clone.snakemake("-n", "all", expect=2).splitlines()
    assert told[-1].startswith("snakemake: config/notebooks.yaml: broken.")
