"""The tables on constructed records, in full: what a reader sees."""

from pathlib import Path

import pytest
import yaml

from maskprior.analysis import claims, claims_file
from maskprior.analysis.aggregate import summarise
from maskprior.analysis.records import load_beside, load_cell
from maskprior.config.settings import Settings, read_settings
from maskprior.report import boolean_table, persistence_table
from maskprior.report.boolean_table import boolean_frame, boolean_latex, boolean_rows
from maskprior.report.output import interval, number
from tests.constructed_runs import WriteRun

EXPECTED = Path(__file__).parent / "expected" / "table1.tex"


@pytest.fixture
def settings(project: Path) -> Settings:
    """Three seeds of Table 1 with one task and two methods."""
    path = project / "config" / "experiments" / "boolean.yaml"
    file = yaml.safe_load(path.read_text())
    file["targets"] = {"table1": {"tasks": ["2parity"], "methods": ["default", "mask", "default+position18"]}}
    path.write_text(yaml.safe_dump(file, sort_keys=False))
    return read_settings({"seeds": 3})


@pytest.fixture
def rows(settings: Settings, write_run: WriteRun) -> list[boolean_table.Row]:
    absent, there = (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)
    for seed in range(3):
        default = {"test_loss": 1.2, "test_accuracy": 75.0, "best_test_loss": 1.1}
        mask = {"test_loss": 0.001 * (1 + seed), "test_accuracy": 100.0, "best_test_loss": 0.001}
        write_run("2parity", "default", seed, default, map_alignment=absent)
        write_run("2parity", "mask", seed, mask, map_alignment=there)
    write_run("2parity", "mask", 0, {}, scale="paper", diverged=True)
    chosen = [c for c in claims_file.read_claims() if c.id.startswith("T1-boolean-2parity")]
    return boolean_rows("T1", settings, claims.evaluate(settings, chosen))


def test_table_as_latex(rows: list[boolean_table.Row]) -> None:
    assert boolean_latex(rows) + "\n" == EXPECTED.read_text()


def test_a_smaller_cube_is_named(settings: Settings) -> None:
    judgements: list[claims.Judgement] = []
    rows = boolean_rows("T1", settings.model_copy(update={"scale": "smoke"}), judgements)
    assert boolean_latex(rows).count("$d=8$") == 1
    rows = boolean_rows("T1", settings.model_copy(update={"scale": "paper"}), judgements)
    assert "$d=" not in boolean_latex(rows)


def test_table_as_numbers(rows: list[boolean_table.Row]) -> None:
    frame = boolean_frame(rows).set_index(["method", "scale", "metric"])
    mask = frame.loc[("mask", "reduced", "test_loss")]
    assert mask["mean"] == pytest.approx(0.001 * 6 ** (1 / 3))  # the geometric mean of 0.001, 0.002 and 0.003
    assert (mask["published"], mask["seeds"], mask["seeds_planned"]) == ("0.0029", 3, 3)
    assert (mask["value"], mask["direction"], mask["unit"], mask["n"]) == ("", "holds", "ratio", 3)
    assert mask["difference"] == pytest.approx(0.001 * 6 ** (1 / 3) / 1.2)
    assert mask["low"] < mask["difference"] < mask["high"] < 1
    assert frame.loc[("mask", "paper", "test_loss")]["diverged"] == 1


def test_table_says_where_its_records_come_from(rows: list[boolean_table.Row], settings: Settings) -> None:
    text = boolean_table.note(rows, settings)
    assert "Scale: reduced. Records: 7 local, 5 missing." in text
    assert r"\atpaper" in text


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (1.2345, "test_loss", "1.234"),
        (0.00294, "test_loss", "0.0029"),
        (0.0000004, "test_loss", "0.000000"),
        (-0.0000001, "test_loss", "0.000000"),
        (87.4, "test_accuracy", "87.40"),
        (-0.5, "map_final", "$-$0.500"),
        (float("nan"), "test_loss", "--"),
    ],
)
def test_numbers_as_printed(value: float, metric: str, text: str) -> None:
    assert number(value, metric) == text


def test_interval_as_printed() -> None:
    assert interval(summarise([1.0, 1.0, 1.0], planned=3), "test_loss") == r"1.000 \ci{1.000}{1.000}"
    assert interval(summarise([1.0, 2.0], planned=2), "test_loss") == "1.500"
    assert interval(summarise([1.0], planned=2), "test_loss") == "1.000"
    assert interval(summarise([], planned=2), "test_loss") == "--"


def test_half_lives_of_seeds_that_disagree(settings: Settings, write_run: WriteRun) -> None:
    write_run("2parity", "mask", 0, {}, map_alignment=(1.0, 1.0, 0.25, 0.1))
    write_run("2parity", "mask", 1, {}, map_alignment=(1.0, 1.0, 0.9, 0.8))
    write_run("2parity", "mask", 2, {}, map_alignment=(0.0, 0.0, 0.0, 0.0))
    entries = load_cell("boolean", "2parity", "mask", settings)
    found = persistence_table.persisted(entries, "map")
    # from 1 at step 1 to 1/4 at step 10: half way on the logarithmic scale, 5.5
    assert [h.step for h in found.half_lives] == [pytest.approx(5.5), None, None]
    assert persistence_table.half_life_text(found) == (r"6 \nof{1}{3}, $\infty$ \nof{1}{3}, $\varnothing$ \nof{1}{3}")
    function = persistence_table.persisted(entries, "function")
    assert persistence_table.half_life_text(function) == r"$\infty$"
    assert (function.initial.mean, function.final.mean) == (1.0, 1.0)


def test_half_lives_at_the_papers_scale_stand_beside_the_others(settings: Settings, write_run: WriteRun) -> None:
    write_run("2parity", "mask", 0, {}, map_alignment=(1.0, 1.0, 1.0, 1.0))
    write_run("2parity", "mask", 0, {}, scale="paper", map_alignment=(1.0, 1.0, 0.25, 0.1))
    entries = load_beside("table1", settings)
    found = persistence_table.persisted_cells(entries, ("2parity",), ("mask",))
    assert [(p.scale, p.level) for p in found] == [
        (scale, level) for scale in ("reduced", "paper") for level in persistence_table.LEVELS
    ]
    latex = persistence_table.persistence_latex(found)
    reduced, paper = (line for line in latex.splitlines() if "Mask" in line)
    assert reduced.startswith("2Parity & Mask & 1.00 & 1.00 & ")
    assert paper.startswith(r" & Mask \atpaper & 1.00 & 0.10 & ")
