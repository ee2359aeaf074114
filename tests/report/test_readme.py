"""Only evidence goes into README.md."""

from pathlib import Path

import pytest

from maskprior import paths
from maskprior.analysis.claims import evaluate
from maskprior.config.settings import read_settings
from maskprior.report import readme
from tests.constructed_runs import WriteRun

PROJECT = paths.package().parents[1]


@pytest.fixture
def page(project: Path) -> Path:
    path = project / "README.md"
    path.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n")
    return path


@pytest.mark.parametrize("name", [readme.SHORT, readme.LONG])
def test_the_project_has_the_markers(name: str) -> None:
    text = (PROJECT / name).read_text()
    assert text.count(readme.BEGIN) == text.count(readme.END) == 1


def test_published_results_replace_the_table_and_nothing_else(page: Path) -> None:
    settings = read_settings()
    assert readme.update("README.md", "| new |", settings) == "README.md: results renewed"
    assert page.read_text() == f"before\n{readme.BEGIN}\n| new |\n{readme.END}\nafter\n"
    assert readme.update("README.md", "| new |", settings) == "README.md: up to date"


@pytest.mark.parametrize(
    ("text", "settings", "why"),
    [
        ("Records: 5 published, 1 local.", {}, "not every record is a published one"),
        ("Records: 5 published, 1 missing.", {}, "not every record is a published one"),
        ("| new |", {"scale": "smoke"}, "not the configured settings"),
        ("| new |", {"seeds": 2}, "not the configured settings"),
    ],
)
def test_anything_else_leaves_it_alone(page: Path, text: str, settings: dict[str, object], why: str) -> None:
    before = page.read_text()
    assert why in readme.update("README.md", text, read_settings(settings))
    assert page.read_text() == before


def test_rows_are_never_lost_for_want_of_records(page: Path) -> None:
    page.write_text(f"{readme.BEGIN}\n| a |\n| b |\n| c |\n{readme.END}\n")
    assert (
        readme.update("README.md", "| new |", read_settings())
        == "README.md: left alone, 2 rows of its tables have no record here"
    )


def test_explanations_stand_there_with_their_verdict(project: Path, write_run: WriteRun) -> None:
    assert readme.explained(read_settings()) == []
    for seed in range(3):
        write_run("2parity", "structured_svd", seed, {}, strength=(1.0, 0.9, 0.5, 0.1))
        write_run("2parity", "structured_svd+sgd", seed, {})
    settings = read_settings({"seeds": 3})
    lines = readme.explained(settings)
    assert lines[0] == "| explanation of persistence | 2Parity, reduced |"
    (adam,) = [line for line in lines if "plain gradient descent" in line]
    assert adam.endswith(" they last. | open (1/1) |")  # it takes two predictions to survive
    assert lines[-2].endswith("docs/protocol.md says what each of their cells changes. Records: 6 local, 132 missing.")

    for seed in range(3):
        write_run("addition", "mask", seed, {}, function=(0.0, 0.0, 0.5, 1.0))
        write_run("addition", "mask+position_std1", seed, {}, function=(0.0, 0.0, 0.5, 1.0))
    lines = readme.explained(settings)
    assert lines[0] == "| explanation of persistence | 2Parity, reduced | Addition, reduced |"
    (positions,) = [line for line in lines if "as large as contents" in line]
    assert positions.endswith(" | not tested (0/3) | refuted (0/1) |")
    (pattern,) = [line for line in lines if "Any pattern" in line]
    assert pattern.endswith(" | not tested (0/2) | not tested (0/1) |")


def test_runs_still_to_be_made_at_the_papers_scale_are_not_missing(project: Path, write_run: WriteRun) -> None:
    write_run("addition", "mask", 0, {"sequence_accuracy": 95.0}, scale="paper", kind="published")
    settings = read_settings()
    text = readme.results(settings, evaluate(settings))
    assert text.count("| Addition | Mask | paper |") == 1
    assert "Records: 1 published." in text
    assert " missing" not in text


def test_a_row_says_which_metric_has_which_outcome(project: Path, write_run: WriteRun) -> None:
    metrics = {"sequence_accuracy": 60.0, "digit_accuracy": 70.78, "test_loss": 2.27}
    write_run("multiplication", "default", 0, metrics, scale="paper", kind="published")
    settings = read_settings()
    (row,) = [line for line in readme.results(settings, evaluate(settings)).splitlines() if "| Multiplication" in line]
    assert row.endswith(" | 1/5 | 1 seed: outside / 1 seed: inside / 1 seed: inside |  |")
    for seed in (1, 2):
        more = {name: value + 0.01 * seed for name, value in metrics.items()}
        write_run("multiplication", "default", seed, more, scale="paper", kind="published")
    (row,) = [line for line in readme.results(settings, evaluate(settings)).splitlines() if "| Multiplication" in line]
    assert row.endswith(" | 3/5 | differs / agrees / agrees |  |")


def test_results_in_markdown(project: Path, write_run: WriteRun) -> None:
    for seed in range(3):
        write_run("2parity", "default", seed, {"test_loss": 1.2, "test_accuracy": 75.0})
    settings = read_settings({"seeds": 3})
    text = readme.results(settings, evaluate(settings))
    numbers = "| 1.379 | 1.200 [1.200, 1.200] | 75.00 | 75.00 [75.00, 75.00] | 3/3 |"
    assert f"| 2Parity | Default | reduced {numbers}  | holds |" in text.splitlines()
    assert "| all numbers | 86 | 0 | 0 | 0 | 0 | 2 (0) | 0 (0) | 0 (0) | 0 (0) | 84 |" in text.splitlines()


def test_outcomes_come_first_and_the_long_tables_are_folded(project: Path, write_run: WriteRun) -> None:
    for seed in range(3):
        write_run("2parity", "default", seed, {"test_loss": 1.2, "test_accuracy": 75.0})
    settings = read_settings({"seeds": 3})
    lines = readme.results(settings, evaluate(settings)).splitlines()
    assert lines[0].startswith("| claims of | all | value agrees | value differs | value open | value 1 seed |")
    assert lines[2] == "| Table 1 | 28 | 0 | 0 | 0 | 0 | 2 (0) | 0 (0) | 0 (0) | 0 (0) | 26 |"
    folded = "<details><summary>Boolean: our numbers beside the published ones</summary>"
    first = lines.index(folded)
    assert lines[first + 1] == ""  # else the table is not read as Markdown
    assert lines[first + 2].startswith("| task | method | scale | loss: published | ours |")
    assert lines.count("</details>") == len([line for line in lines if line.startswith("<details>")]) == 2


def test_the_main_claims_stand_by_experiment_with_their_scale(project: Path, write_run: WriteRun) -> None:
    """Lower losses with the mask on every Boolean task, in three seeds; language has no such claim on query and key."""
    for task in ("2parity", "cyclic3", "majority3", "threesym"):
        for seed in range(3):
            write_run(task, "default", seed, {"test_loss": 1.0 + 0.01 * seed})
            write_run(task, "mask", seed, {"test_loss": 0.1 + 0.01 * seed})
    lines = readme.answers(evaluate(read_settings({"seeds": 3}))).splitlines()
    assert lines[0] == "| the paper's claim | Boolean | Vision | Language | Arithmetic |"
    assert lines[2].startswith("| The mask does better than no prior | **holds** (reduced) | not tested")
    assert lines[3].split(" | ")[3] == "not claimed"
