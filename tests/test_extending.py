"""docs/extending.md, done: each of its files goes into a copy of the project as it stands there, and is run."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from maskprior import paths

BLOCK = re.compile(r"^`(?P<file>[^`]+)`[^\n]*:\n\n```\w+\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
ALONE = re.compile(r"^```python\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
# The identities of all runs that the project plans, by name.
IDENTITIES = """
import json
from maskprior.config.settings import read_settings
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.spec import planned_runs
print(json.dumps({run.name: fingerprint(run).digest for run in planned_runs("all", read_settings({"seeds": 1}))}))
"""
TABLE = """
from maskprior.analysis.claims import evaluate
from maskprior.analysis.records import load_target
from maskprior.config.settings import read_settings
from maskprior.report import figures
from maskprior.report.boolean_table import boolean_latex, boolean_rows
from maskprior.runs.spec import task_names
settings = read_settings({"scale": "smoke", "seeds": 1})
print(boolean_latex(boolean_rows("T1", settings, evaluate(settings))))
figures.use_style()
entries = load_target("table1", settings)
methods = dict.fromkeys(entry.run.method_variant for entry in entries)
figure = figures.learning_curves(entries, task_names("boolean"), list(methods))
print([ax.get_title() for ax in figure.axes])
print([text.get_text() for legend in figure.legends for text in legend.get_texts()])
"""


def sections() -> dict[str, str]:
    """Heading -> text."""
    parts = re.split(r"^## (.+)\n", (paths.root() / "docs" / "extending.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("src", "config"):
        shutil.copytree(paths.root() / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def python(copy: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "MASKPRIOR_ROOT": str(copy), "MPLBACKEND": "agg"}
    result = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def merge(base: Any, over: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return base | {key: merge(base.get(key), value) for key, value in over.items()}


def follow(copy: Path, section: str) -> list[str]:
    """Do what a section says; the files it touches."""
    touched = []
    for block in BLOCK.finditer(section):
        path, text = copy / block["file"], block["text"]
        if path.suffix == ".yaml" and path.exists():
            added = yaml.safe_load("\n".join(line for line in text.splitlines() if line.strip() != "…"))
            text = yaml.safe_dump(merge(yaml.safe_load(path.read_text()), added), sort_keys=False, allow_unicode=True)
        path.write_text(text)
        touched.append(block["file"])
    assert touched
    return touched


def identities(copy: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(python(copy, "-c", IDENTITIES))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heading", "run", "shown"),
    [
        ("A Boolean task", ("product3", "mask"), "Product3"),
        ("A prior in the mask", ("2parity", "mask_near"), "Mask, near"),
        ("An initialisation", ("2parity", "same_query_key"), "Same QK"),
    ],
)
def test_a_task_and_a_method_are_two_files_and_make_nothing_stale(
    copy: Path, heading: str, run: tuple[str, str], shown: str
) -> None:
    before = identities(copy)
    touched = follow(copy, sections()[heading])
    assert len(touched) == 2
    assert {name: digest for name, digest in identities(copy).items() if name in before} == before
    printed = python(copy, "-m", "maskprior", "run", "boolean", *run, "--scale", "smoke")
    record = json.loads((copy / printed.splitlines()[-1]).read_text())
    assert record["status"] == "completed"
    assert (record["run"]["task"], record["run"]["method"]) == run
    # The table has a row and the figure a panel or a curve for it, without a further line of code.
    latex, panels, curves = python(copy, "-c", TABLE).rsplit("\n", 3)[:3]
    assert shown in latex
    assert shown in panels + curves


@pytest.mark.slow
def test_an_experiment_on_own_data(copy: Path) -> None:
    (copy / "data").mkdir()
    content = "".join(f"{a} {b} {c} {a * b}\n" for a in (1, -1) for b in (1, -1) for c in (1, -1)).encode() * 4
    (copy / "data" / "mine.txt").write_bytes(content)
    before = identities(copy)
    assert len(follow(copy, sections()["An experiment on your own data"])) == 3
    values = copy / "config" / "experiments" / "table.yaml"
    values.write_text(values.read_text().replace("SHA256", hashlib.sha256(content).hexdigest()))
    after = identities(copy)
    assert {name: after[name] for name in before} == before
    assert {name for name in after if name not in before} == {"table/mine/default/seed0", "table/mine/mask/seed0"}
    printed = python(copy, "-m", "maskprior", "run", "table", "mine", "mask", "--scale", "smoke")
    assert json.loads((copy / printed.splitlines()[-1]).read_text())["metrics"]["test_loss"] > 0
    python(copy, "-m", "maskprior.build.results", str(copy / "results.csv.gz"), "--scale", "smoke", "--seeds", "1")
    import pandas as pd

    rows = pd.read_csv(copy / "results.csv.gz")
    assert set(rows[rows.metric == "test_loss"].experiment) == {"table"}


@pytest.mark.slow
def test_a_change_of_one_task_makes_exactly_its_own_runs_stale(copy: Path) -> None:
    before = identities(copy)
    file = copy / "src" / "maskprior" / "tasks" / "boolean" / "cyclic3.py"
    file.write_text(file.read_text().replace("np.roll(x, -2, axis=1)", "np.roll(x, -3, axis=1)"))
    after = identities(copy)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in before if name.startswith("boolean/cyclic3/")}


@pytest.mark.slow
def test_a_change_of_one_method_makes_exactly_its_own_runs_stale(copy: Path) -> None:
    before = identities(copy)
    file = copy / "src" / "maskprior" / "methods" / "mask_zero.py"
    file.write_text(file.read_text() + "\nUNUSED = 1\n")
    after = identities(copy)
    changed = {name for name in before if before[name] != after[name]}
    assert changed
    assert changed == {name for name in before if name.split("/")[2].partition("+")[0] == "mask_zero"}


def test_the_mask_in_a_network_of_your_own_moves() -> None:
    names: dict[str, Any] = {"__name__": "example"}
    exec(ALONE.findall(sections()["The mask in a network of your own"])[0], names)
    moved = (names["model"].attention.mask_logits - names["m"]).abs()
    assert 0 < moved.max() <= 1.001e-3
