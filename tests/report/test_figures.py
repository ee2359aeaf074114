"""Figures are the same bytes from the same records, and their text is text."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from maskprior.analysis.records import load_beside, load_target
from maskprior.config.settings import Settings, read_settings
from maskprior.report import figures
from tests.constructed_runs import WriteRun


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with plt.rc_context():
        figures.use_style()
        yield
    plt.close("all")


@pytest.fixture
def settings(project: Path) -> Settings:
    return read_settings({"seeds": 2, "scale": "smoke"})


@pytest.mark.parametrize("kind", ["levels", "maps", "masks"])
def test_same_records_same_bytes(settings: Settings, write_run: WriteRun, project: Path, kind: str) -> None:
    for seed in range(2):
        for method in ("default", "mask"):
            write_run("2parity", method, seed, {"test_loss": 1.0}, scale="smoke")
    entries = load_target("table4", settings)
    tasks = ("2parity", "threesym")
    draw = {
        "levels": lambda: figures.three_levels(entries, tasks, ("default", "mask")),
        "maps": lambda: figures.attention_before_after(entries, tasks, ("default", "mask")),
        "masks": lambda: figures.initial_masks(tasks, "smoke"),
    }[kind]
    written = []
    for _ in range(2):
        figures.save(draw(), "figure")
        folder = project / "paper" / "generated"
        written.append([(folder / f"figure{ending}").read_bytes() for ending in (".pdf", ".png")])
    assert written[0] == written[1]
    pdf = written[0][0]
    assert b"/Type3" not in pdf
    assert b"/CIDFontType2" in pdf
    assert b"/CreationDate" not in pdf


def test_curves_are_the_mean_of_the_completed_seeds(settings: Settings, write_run: WriteRun) -> None:
    write_run("2parity", "mask", 0, {}, scale="smoke")
    write_run("2parity", "mask", 1, {}, scale="smoke", diverged=True)
    figure = figures.learning_curves(load_target("table4", settings), ("2parity",), ("mask",))
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "Mask"]
    # the constructed trace of seed 0; step 0 stands at 1/2
    assert np.asarray(line.get_ydata()) == pytest.approx([0.0, 0.1, 0.5, 0.9])
    assert np.asarray(line.get_xdata()) == pytest.approx([0.5, 1, 10, 60])


def test_the_papers_scale_stands_beside_the_chosen_one(settings: Settings, write_run: WriteRun) -> None:
    write_run("2parity", "mask", 0, {}, scale="smoke")
    write_run("2parity", "mask", 0, {}, scale="paper", map_alignment=(1.0, 1.0, 0.5, 0.25))
    write_run("majority3", "mask", 0, {}, scale="smoke")
    entries, tasks = load_beside("table4", settings), ("majority3", "2parity")
    titles = ["Majority3", "2Parity", "2Parity\n(paper's scale)"]

    levels = figures.three_levels(entries, tasks, ("mask",))
    assert [ax.get_title() for ax in levels.axes[:3]] == titles
    final = [[line.get_ydata()[-1] for line in ax.lines if line.get_label() == "Mask"] for ax in levels.axes[3:6]]
    assert final == [[1.0], [1.0], [0.25]]

    maps = figures.attention_before_after(entries, tasks, ("mask",))
    assert [ax.get_ylabel() for ax in maps.axes[:9:3]] == [f"{title}\nquery token" for title in titles]
    assert not [text for ax in maps.axes for text in ax.texts]


def test_a_missing_record_is_said_in_the_figure(settings: Settings) -> None:
    figure = figures.attention_before_after(load_target("table4", settings), ("2parity",), ("mask",))
    assert [text.get_text() for ax in figure.axes for text in ax.texts].count("no\nrecord") == 2


def test_figures_of_arithmetic_have_its_tokens(project: Path) -> None:
    logits = figures.mask_logits("addition", "smoke")
    # a2 attends to b2 alone
    assert logits[0, 0, 0].tolist() == [-5, -5, -5, 5, -5, -5]
    # all heads agree: one row of two tasks, and the colour bar
    assert len(figures.initial_masks(("addition", "multiplication"), "smoke").axes) == 3


def test_masks_start_at_the_amplitude_where_the_pattern_is_open(project: Path) -> None:
    logits = figures.mask_logits("2parity", "smoke")
    assert logits[0, 0, 0, :3].tolist() == [-10, 10, -10]
    assert logits[0, 0, 2, :3].tolist() == [-10, -10, 10]
