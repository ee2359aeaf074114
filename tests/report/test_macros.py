"""Every number in the paper is a macro, and every macro the paper uses is there."""

import re
from pathlib import Path

import pytest

from maskprior import paths
from maskprior.analysis import claims, claims_file, explanations, interventions
from maskprior.analysis.records import load_target
from maskprior.config.settings import read_settings
from maskprior.report import claims_table, interventions_table
from maskprior.report.macros import _few, latex, macros
from maskprior.runs.spec import planned_runs
from tests.constructed_runs import WriteRun

PAPER = paths.package().parents[1] / "paper"
SECTIONS = sorted((PAPER / "sections").glob("*.tex"))


def found_macros() -> dict[str, str]:
    settings = read_settings()
    at_paper = load_target("all", settings.model_copy(update={"scale": "paper"}))
    found = macros(load_target("all", settings), claims.evaluate(settings), settings, at_paper=at_paper)
    tasks = interventions.load_tasks(settings)
    judged = {task: explanations.judge(explanations.read_groups(), cells) for task, cells in tasks.items()}
    return found | interventions_table.interventions_macros(judged, tasks)


def test_the_paper_uses_only_macros_that_exist_before_and_after_runs(project: Path, write_run: WriteRun) -> None:
    used = {key for path in SECTIONS for key in re.findall(r"\\(?:result|finding)\{([^}]*)\}", path.read_text())}
    assert len(used) > 50
    assert used - found_macros().keys() == set()
    for seed in range(3):
        write_run("2parity", "default", seed, {"test_loss": 1.0 + seed})
        write_run("2parity", "mask", seed, {"test_loss": 0.5 + seed})
    found = found_macros()
    assert used - found.keys() == set()
    assert found["boolean/2parity/default/test_loss/value"] == r"1.817 \ci{0.457}{7.223}"  # 1, 2 and 3 on logarithms
    assert found["difference/boolean/2parity/mask/test_loss/mean"] == "0.679"  # (0.5 x 1.5 x 2.5 / 6) ^ (1/3)
    assert found["difference/boolean/2parity/mask/test_loss/sign"] == "0.250"
    assert found["boolean/2parity/mask/n"] == "3/5"
    assert found["boolean/cyclic3/mask/test_loss/value"] == "--"
    assert found["records/missing"] == str(int(found["records/all"]) - 6)
    assert found["counts/numbers/claims"] == "86"
    assert found["config/paper/boolean/2parity/mask/optimizer.steps"] == r"8\,640"


def test_the_text_can_speak_of_cells_of_another_scale(project: Path) -> None:
    settings = read_settings({"scale": "smoke"})
    assert not any("fraction" in run.method_variant for run in planned_runs("all", settings))
    found = macros(load_target("all", settings), claims.evaluate(settings), settings)
    assert found["arithmetic/addition/mask+fraction2pct/sequence_accuracy/value"] == "--"
    assert found["config/arithmetic/addition/mask+fraction2pct/train_fraction"] == "0.02"
    assert found["records/all"] == str(len(planned_runs("all", settings)))


def test_macros_are_one_a_line() -> None:
    assert latex({"b/c_d": "1", "a": r"2 \ci{1}{3}"}) == "\\setresult{a}{2 \\ci{1}{3}}\n\\setresult{b/c_d}{1}"


@pytest.mark.parametrize("path", SECTIONS, ids=lambda path: path.name)
def test_no_numeral_is_typed_into_the_paper(path: Path) -> None:
    assert typed_numerals(path.read_text()) == []


def test_the_scan_finds_numerals() -> None:
    assert typed_numerals(r"accuracy of 75.0 \% and \result{a/3/b} in $x_0$ (\ref{tab:1})") == ["75.0"]
    assert typed_numerals(r"\includegraphics[width=0.8\linewidth]{figure5} % 12") == []


def typed_numerals(text: str) -> list[str]:
    """Numerals outside comments, mathematics, and the arguments of commands that are not read as text."""
    text = re.sub(r"(?<!\\)%.*", "", text)
    text = re.sub(r"\$[^$]*\$", "", text)
    text = re.sub(r"\\begin\{(tabular|longtable)\}\{[^\n]*\}", "", text)
    silent = "result|finding|outcome|input|rows|ref|autoref|label|citep|citet|includegraphics|setlength|texttt"
    text = re.sub(rf"\\({silent})(\[[^\]]*\])?\{{[^}}]*\}}(\{{[^}}]*\}})?", "", text)
    return re.findall(r"\d[\d.,]*", text)


def test_claims_tables_hold_every_claim(project: Path) -> None:
    judgements = claims.evaluate(read_settings())
    read = claims_file.read_claims()
    assert claims_table.published_claims_latex(judgements).count(r" \\") == 112
    assert claims_table.statements_latex(judgements).count("& ") == 3 * (len(read) - 112)
    assert len(claims_table.claims_frame(judgements)) == len(judgements)
    assert len(claims_table.tests_frame(judgements)) == sum(len(j.tested) for j in judgements)
    last = claims_table.matrix_latex(judgements).splitlines()[-3]
    distinct = len(read) - 26
    assert last == rf"all & {distinct} & 0 & 0 & 0 & 0 & 0 (0) & 0 (0) & 0 (0) & 0 (0) & {distinct} \\"


def test_one_claim_from_its_published_value_to_its_records(project: Path, write_run: WriteRun) -> None:
    for seed in range(3):
        write_run("2parity", "default", seed, {"test_loss": 1.0 + seed})
        write_run("2parity", "mask", seed, {"test_loss": 0.01 + seed / 1000})
    judgements = claims.evaluate(read_settings())
    chosen = [j for j in judgements if j.claim.id == "T1-boolean-2parity-mask-test_loss"]
    text = claims_table.chain_text(chosen)
    assert "published: 0.0029" in text
    assert "paper scale: value not tested, direction not tested" in text
    assert "reduced scale: direction holds" in text
    assert "2parity/mask test_loss: seed 0: 0.01, seed 1: 0.011, seed 2: 0.012" in text
    assert len(re.findall(r"results/local/reduced/boolean/2parity/(?:mask|default)/seed\d-", text)) == 6


def test_the_number_of_seeds_stands_where_there_are_too_few_for_an_interval() -> None:
    assert [_few(n) for n in (0, 1, 2)] == ["--", "(1 seed)", "(2 seeds)"]
