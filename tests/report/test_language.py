"""Table 6 and Figures 7 and 8, on constructed records and on a real smoke run."""

from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from maskprior.analysis import claims, claims_file
from maskprior.analysis.persistence import distance_scalars
from maskprior.analysis.records import load_target
from maskprior.config.base import OptimizerConfig
from maskprior.config.settings import Settings, read_settings
from maskprior.experiments.run import execute
from maskprior.report import language_figures, language_table
from maskprior.report.language_figures import decayed
from maskprior.report.language_table import language_frame, language_latex, language_rows
from maskprior.report.macros import macros
from maskprior.runs.spec import make_run, resolve
from maskprior.training.optimizer import DecayOnly
from tests.constructed_runs import WriteRun

METHODS = ("default", "mimetic", "mask", "mask+alibi")


@pytest.fixture
def settings(project: Path) -> Settings:
    """Three seeds of Table 6 with one text."""
    path = project / "config" / "experiments" / "language.yaml"
    file = yaml.safe_load(path.read_text())
    file["targets"] = {"table6": {"tasks": ["wikitext2"], "methods": list(METHODS)}}
    path.write_text(yaml.safe_dump(file, sort_keys=False))
    return read_settings({"seeds": 3})


def perplexities(value: float) -> dict[str, float]:
    """As a run has them: the validation's one higher, the exact ones half higher, two bits a byte."""
    found = {"test_perplexity": value, "val_perplexity": value + 1}
    found |= {f"{name}_exact": number + 0.5 for name, number in found.items()}
    return found | {"val_bits_per_byte": 2.0, "test_bits_per_byte": 2.0}


@pytest.fixture
def written(settings: Settings, write_run: WriteRun) -> Settings:
    """The mask is lower than Default by 3, 4 and 5; Mimetic has one seed."""
    for seed, default in enumerate((160.0, 170.0, 180.0)):
        write_run("wikitext2", "default", seed, perplexities(default))
        write_run("wikitext2", "mask", seed, perplexities(default - 3 - seed))
    write_run("wikitext2", "mimetic", 0, perplexities(165.0))
    write_run("wikitext2", "mask", 0, perplexities(180.0), scale="paper")
    return settings


def test_table_as_latex(written: Settings) -> None:
    lines = language_latex(language_rows(written, claims.evaluate(written))).splitlines()
    default, mimetic, mask, at_paper, alibi = [line for line in lines if " & " in line][2:]
    # the geometric mean of 161, 171 and 181 is 170.80
    assert default.startswith(r"WikiText-2 & Default & 172.78 & 181.91 & 170.80 \ci{147.")
    assert mimetic.endswith(
        r"& 166.00 & 165.00 & $\times$1.03 & 2.000 & 1/3 &  &  & \outcome{1 seed} & \outcome{1 seed} \\"
    )
    # the mask over Default: 157/160, 166/170 and 175/180, on logarithms
    logs = np.log([157 / 160, 166 / 170, 175 / 180])
    mean, half = logs.mean(), 4.302653 * logs.std(ddof=1) / 3**0.5
    ratio = rf"$\times${np.exp(mean):.3f} \ci{{{np.exp(mean - half):.3f}}}{{{np.exp(mean + half):.3f}}}"
    assert mask.endswith(rf"{ratio} & 2.000 & 3/3 &  &  & \outcome{{holds}} & \outcome{{holds}} \\")
    assert at_paper.startswith(r" & Mask \atpaper & 166.76 & 179.70 & 181.00 & 180.00 & --")
    assert at_paper.endswith(
        r"\outcome{1 seed: outside} & \outcome{1 seed: inside} & \outcome{not tested} & \outcome{not tested} \\"
    )
    assert alibi == r" & Mask, ALiBi slopes & -- & -- & -- & -- & -- & -- & 0/3 &  &  &  &  \\"


def test_table_as_numbers(written: Settings) -> None:
    frame = language_frame(language_rows(written, claims.evaluate(written)))
    mask = frame.set_index(["method", "scale", "metric"]).loc[("mask", "reduced", "test_perplexity_exact")]
    mean, default = (np.prod(values) ** (1 / 3) for values in ([157.5, 166.5, 175.5], [160.5, 170.5, 180.5]))
    assert (mask["mean"], mask["difference"]) == pytest.approx((mean, mean / default))
    assert (mask["n"], mask["unit"], mask["published"]) == (3, "ratio", "")
    assert mask["sign_p"] == pytest.approx(0.25)


def test_without_any_record_everything_says_so(settings: Settings) -> None:
    rows = language_rows(settings, claims.evaluate(settings))
    assert [row.sources for row in rows] == [{"missing": 3}] * 4
    assert language_latex(rows).count("0/3") == 4
    entries = load_target("table6", settings)
    assert language_table.samples(entries).empty
    for figure in (
        language_figures.curves(entries, METHODS),
        language_figures.profiles(entries, METHODS),
        language_figures.mask_changes(entries),
    ):
        figure.canvas.draw()


def test_figures_and_samples_of_real_runs(settings: Settings) -> None:
    smoke = settings.model_copy(update={"scale": "smoke", "seeds": 1})
    for method in METHODS:
        execute(make_run("language", "wikitext2", method, scale="smoke"), device="cpu")
    entries = load_target("table6", smoke)
    curves = language_figures.curves(entries, METHODS)
    assert [len(ax.lines) for ax in curves.axes] == [4, 4]  # below: three methods and the zero
    assert curves.axes[0].lines[0].get_ydata()[0] == pytest.approx(256, rel=0.1)
    mask, change, before, after = language_figures.profiles(entries, METHODS).axes
    # The paper's M and ALiBi's, each before and after; its change as well for every layer of the paper's.
    assert (len(mask.lines), len(change.lines), len(before.lines), len(after.lines)) == (4, 2 + 2, 4, 4)
    assert mask.lines[0].get_ydata().tolist() == [0, -1, -2, -3, -4]
    samples = language_table.samples(entries)
    assert samples["method"].tolist() == ["Default", "Mimetic", "Mask", "Mask, ALiBi slopes"]
    assert set(samples["prompt"]) == {"the tall"}
    assert len(language_figures.mask_changes(entries).axes) == 2 + 1


def test_what_is_not_learned_is_not_shown(settings: Settings) -> None:
    """Far from the diagonal no attention ever arrives: there M changes by weight decay alone."""
    execute(make_run("language", "wikitext2", "mask", scale="smoke"), device="cpu")
    entry = load_target("table6", settings.model_copy(update={"scale": "smoke", "seeds": 1}))[2]
    added = language_figures._added(entry)
    change = entry.arrays["mask_change_first_head"].astype(np.float64)
    far = np.tril(np.ones((16, 16), dtype=bool), -10)
    assert (change[:, far] > 0.005).all()
    assert np.abs(added[:, far]).max() < 1e-5
    near = np.tril(np.ones((16, 16), dtype=bool)) & ~np.tril(np.ones((16, 16), dtype=bool), -2)
    assert np.abs(added[:, near]).max() > 1e-3


@pytest.mark.parametrize("scale", ["smoke", "reduced"])
def test_decay_alone_is_what_the_optimiser_makes_of_a_mask_without_gradient(scale: str) -> None:
    config: OptimizerConfig = resolve(make_run("language", "wikitext2", "mask", scale=scale)).optimizer  # type: ignore[attr-defined]
    alone = DecayOnly(config, [torch.nn.Parameter(torch.ones(1, dtype=torch.float64))])
    for step in range(config.steps):
        alone.step(step)
    assert decayed(config.model_dump()) == pytest.approx(alone.masks[0].item(), rel=1e-12)


def test_slope_and_reach_by_hand() -> None:
    """Uniform causal attention over 4 tokens: row i looks back i/2 on average, the mean over rows is 3/4."""
    uniform = np.tril(1 / np.arange(1, 5)[:, None] * np.ones((4, 4)))
    profile = np.array([np.diagonal(uniform, -r).mean() for r in range(4)])
    itself = np.array([1.0, 0.0, 0.0, 0.0])
    arrays = {
        "profile/attention_initial": np.stack([itself, itself]).reshape(1, 2, 4),
        "profile/attention_final": np.stack([profile, itself]).reshape(1, 2, 4),
        "profile/mask_initial": np.tile(-np.arange(4.0), (1, 2, 1)),
        "profile/mask_final": np.array([[[0.1, -0.7, 0, 0], [0, -1, 0, 0]]]),
    }
    assert distance_scalars(arrays) == pytest.approx(
        {
            "mask_slope_initial": 1.0,
            "mask_slope_final": 0.9,
            "attention_reach_initial": 0.0,
            "attention_reach_final": 3 / 8,
        }
    )
    assert distance_scalars({}) == {}


def test_macros_of_the_text(written: Settings) -> None:
    found = macros(load_target("table6", written), claims.evaluate(written), written)
    assert found["difference/language/wikitext2/mask/test_perplexity/mean"] == "0.977"
    assert found["language/wikitext2/mask/test_bits_per_byte/mean"] == "2.000"
    assert found["language/wikitext2/mask/mask_slope_final/value"] == "--"
    assert found["config/language/wikitext2/mask/mask.scale"] == "10"
    assert found["direction/language-mimetic-is-behind-default"] == "1 seed at the reduced scale"
    assert found["direction/language-mask-equals-default-on-tinystories"] == "not tested"


def test_every_published_number_of_table_6_has_a_cell_and_a_direction() -> None:
    read = [claim for claim in claims_file.read_claims() if claim.experiment == "language" and claim.reported]
    assert len(read) == 12
    expected = {(c.reported.task, c.reported.method): c.tests[0].expected for c in read if c.tests}
    assert expected == {
        ("wikitext2", "mask"): "less", ("wikitext2", "mimetic"): "greater",
        ("tinystories", "mask"): "equal", ("tinystories", "mimetic"): "greater",
    }  # fmt: skip


def test_the_text_may_say_that_m_cannot_move_a_step_between_distances() -> None:
    """The sum of the rates is below one in every run, and the reduced scale has that of the paper's WikiText-2."""
    sums = {}
    for scale in ("paper", "reduced"):
        for task in ("wikitext2", "tinystories"):
            config = resolve(make_run("language", task, "mask", scale=scale)).optimizer  # type: ignore[attr-defined]
            sums[scale, task] = config.lr * config.mask_lr_multiplier * config.steps / 2
    assert max(sums.values()) < 1
    assert sums["reduced", "wikitext2"] == pytest.approx(sums["paper", "wikitext2"])
