"""The picture of all published numbers shows each once a scale, with what the records say of it."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from maskprior.analysis.claims import evaluate
from maskprior.config.settings import read_settings
from maskprior.report import dots, figures
from tests.constructed_runs import WriteRun

PROJECT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with plt.rc_context():
        figures.use_style()
        yield
    plt.close("all")


def constructed(write_run: WriteRun) -> None:
    """Lower losses with the mask in three seeds at the reduced scale, and one seed at the paper's."""
    for seed in range(3):
        write_run("2parity", "default", seed, {"test_loss": 1.0 + 0.01 * seed, "test_accuracy": 75.0})
        write_run("2parity", "mask", seed, {"test_loss": 0.1 + 0.01 * seed, "test_accuracy": 100.0})
    write_run("2parity", "mask", 0, {"test_loss": 0.002, "test_accuracy": 99.0}, scale="paper")


def test_a_number_is_a_dot_at_each_scale_that_has_it(project: Path, write_run: WriteRun) -> None:
    constructed(write_run)
    found = dots.points(evaluate(read_settings({"seeds": 3})))
    mask = found[(found.method == "mask") & (found.metric == "test_loss")].set_index("scale")
    # Table 4 prints this cell again, with another number: it stays one dot a scale.
    assert list(mask.index) == ["paper", "reduced"]
    assert list(mask.published) == [0.0029, 0.0029]
    assert list(mask.seeds) == [1, 3]
    assert mask.ours["paper"] == pytest.approx(0.002)
    assert mask.ours["reduced"] == pytest.approx((0.1 * 0.11 * 0.12) ** (1 / 3))
    assert mask.direction["reduced"] == "holds"
    assert mask.direction["paper"] == "1 seed"
    assert not found.duplicated(["id", "scale"]).any()


def test_losses_are_left_and_accuracies_right(project: Path, write_run: WriteRun) -> None:
    constructed(write_run)
    left, right = dots.figure(dots.points(evaluate(read_settings({"seeds": 3})))).axes
    assert left.get_xscale() == left.get_yscale() == "log"
    assert right.get_xscale() == right.get_yscale() == "linear"
    assert sorted(x for group in right.collections for x in group.get_offsets()[:, 0]) == [75.0, 100.0, 100.0]


def test_without_runs_there_is_an_empty_picture(project: Path) -> None:
    assert dots.write(evaluate(read_settings())).empty
    assert (project / "paper" / "generated" / "dots.png").stat().st_size > 0


def test_the_readmes_picture_is_renewed_with_the_numbers_alone(project: Path, write_run: WriteRun) -> None:
    (project / "docs").mkdir()
    constructed(write_run)
    first = dots.write(evaluate(read_settings({"seeds": 3})))
    assert dots.update_picture(first) == "docs/dots.png: drawn anew"
    assert dots.update_picture(first) == "docs/dots.png: up to date"
    write_run("2parity", "mask", 1, {"test_loss": 0.004, "test_accuracy": 99.0}, scale="paper")
    second = dots.write(evaluate(read_settings({"seeds": 3})))
    assert dots.update_picture(second) == "docs/dots.png: drawn anew"
    assert dots.note_of(project / dots.README_PICTURE) == dots.digest(second.to_csv(index=False))


def test_the_readmes_picture_says_what_it_shows() -> None:
    note = dots.note_of(PROJECT / dots.README_PICTURE)
    assert note is not None
    assert note.startswith("points ")
