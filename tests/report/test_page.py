"""The page as a reader meets it: from a few records, in a real browser where there is one."""

import json
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from maskprior import paths
from maskprior.analysis.claims_file import read_claims
from maskprior.build.page import head, html, notebooks, page
from maskprior.config.settings import Settings
from maskprior.report.page import gather, svg
from maskprior.report.page.svg import Curve
from maskprior.runs.spec import make_run
from tests.constructed_runs import WriteRun

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Found(HTMLParser):
    """The ids and the inner links of a page, and what it would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        href = found.get("href") or ""
        if href.startswith("#"):
            self.links.append(href[1:])
        source = found.get("src") or (href if tag in ("link", "use") else "")
        if source and not source.startswith(("data:", "#")):
            self.loads.append(source)


def test_a_curve_by_hand() -> None:
    """Steps 0 and 9 are the ends of the axis, 0.5 and 1 of the values; the frame is 252 x 104 from (40, 8)."""
    drawn = svg.curves([Curve("own", [0, 9], [1.0, 0.5])], log=False, span=(0.5, 1.0))
    assert '<polyline class="own" points="40,8.0 292,112.0"/>' in drawn
    assert ">9 steps<" in drawn


def test_nothing_finite_draws_nothing() -> None:
    assert svg.curves([Curve("own", [0, 1], [float("nan")] * 2)], log=True) == ""
    assert svg.dots([], None, None, log=True) == ""


def test_a_published_zero_stands_at_the_left_end_of_a_logarithmic_axis() -> None:
    assert '<path class="published" d="M10.0 8V36"/>' in svg.dots([0.1, 0.2], 0.0, (0.05, 0.3), log=True)


def test_bounds_in_words() -> None:
    found = [gather.between(0.5, float("inf")), gather.between(float("-inf"), 3), gather.between(1, 2)]
    assert found == ["at least 0.5", "at most 3", "between 1 and 2"]


def test_a_notebooks_title_and_first_paragraph() -> None:
    title, text = head("figure4")
    assert title == "Figure 4: how much training data each task needs"
    assert text.startswith("Accuracy on held-out pairs")


def test_markdown_tables_become_html() -> None:
    assert "<td>1</td>" in html(["| a |", "|---|", "| 1 |"])


# ---- a whole page

# Played in the page itself; what it finds is the text of the element `found`.
PLAY = """
<script>
addEventListener("load", () => {
  const rows = () => [...document.querySelectorAll("#list > details")], shown = () => rows().filter(row => !row.hidden);
  const type = (id, text) => {
    const field = document.getElementById(id); field.value = text; field.dispatchEvent(new Event("input"));
  };
  const found = { all: shown().length };
  type("search", "2parity mask sequence nothing-has-this-word"); found.none = shown().length;
  type("search", "2parity mask"); found.searched = shown().map(row => row.id);
  type("search", ""); type("experiment", "boolean");
  found.experiments = [...new Set(shown().map(row => row.dataset.experiment))];
  type("experiment", "");
  const sort = document.querySelector("[data-sort=published]");
  const numbers = () => rows().map(row => row.dataset.published).filter(text => text !== "").map(Number);
  sort.click(); found.up = numbers(); sort.click(); found.down = numbers();
  const row = document.getElementById("T1-boolean-2parity-mask-test_loss");
  found.closed = row.open; row.querySelector("summary").click(); found.opened = row.open;
  found.dots = row.querySelectorAll("circle").length;
  location.hash = "#cell-reduced-boolean-2parity-mask";
  setTimeout(() => {
    found.cell = document.getElementById("cell-reduced-boolean-2parity-mask").open;
    found.command = document.querySelector("#cell-reduced-boolean-2parity-mask .commands code").textContent;
    const out = document.createElement("pre");
    out.id = "found"; out.textContent = JSON.stringify(found); document.body.append(out);
  }, 50);
});
</script>
</body>"""


@pytest.fixture
def written(project: Path, write_run: WriteRun) -> str:
    """The page of a project with a few records of one task."""
    for folder in ("docs", "notebooks"):
        shutil.copytree(paths.package().parents[1] / folder, project / folder)
    for seed in range(3):
        write_run("2parity", "default", seed, {"test_loss": 2.0 + seed / 10, "test_accuracy": 75.0})
        write_run("2parity", "mask", seed, {"test_loss": 0.01 + seed / 1000, "test_accuracy": 99.0 + seed / 10})
    return page(Settings(scale="reduced", seeds=3, device="cpu", recompute=False), [])


def test_every_link_leads_to_something_in_the_page_and_nothing_is_loaded(written: str) -> None:
    found = Found()
    found.feed(written)
    assert len(found.ids) == len(set(found.ids))
    assert set(found.links) <= set(found.ids)
    assert found.loads == []
    assert len(written) < 10_000_000


def test_every_claim_has_its_anchor(written: str) -> None:
    found = Found()
    found.feed(written)
    assert {claim.id for claim in read_claims()} <= set(found.ids)


def test_the_numbers_of_a_claim_are_those_of_its_records(written: str) -> None:
    row = written.partition('id="T1-boolean-2parity-mask-test_loss"')[2].partition("</details>")[0]
    # The geometric mean of 0.010, 0.011 and 0.012 is (1.32e-6)^(1/3).
    assert 'data-ours="0.011"' in row
    assert 'data-published="0.0029"' in row
    assert row.count("<circle") == 3


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
def test_a_reader_searches_filters_sorts_and_opens(written: str, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text(written.replace("</body>", PLAY))
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path}/p",
    ]
    result = subprocess.run(
        [str(CHROMIUM), *options, "--virtual-time-budget=5000", "--dump-dom", f"file://{file}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert "CONSOLE" not in result.stderr
    found = json.loads(unescape(result.stdout.partition('<pre id="found">')[2].partition("</pre>")[0]))
    assert found["none"] == 0
    assert "T1-boolean-2parity-mask-test_loss" in found["searched"]
    assert len(found["searched"]) < found["all"]
    assert found["experiments"] == ["boolean"]
    assert found["up"] == sorted(found["up"])
    assert found["down"] == sorted(found["up"], reverse=True)
    assert (found["closed"], found["opened"], found["dots"]) == (False, True, 3)
    assert found["cell"]
    words = found["command"].split()
    assert words[:2] == ["maskprior", "run"]
    experiment, task, method = words[2:5]
    assert make_run(experiment, task, method, scale=words[8], seed=int(words[6])).name == "boolean/2parity/mask/seed0"


def test_the_figures_of_a_notebook_stand_together_under_its_words(project: Path) -> None:
    shutil.copytree(paths.package().parents[1] / "notebooks", project / "notebooks")
    for name in ("a", "b", "c"):
        (project / f"{name}.png").write_bytes(name.encode())
    found = notebooks([("figure4", "a.png"), ("figure2", "b.png"), ("figure4", "c.png")])
    assert [(notebook.name, notebook.pictures) for notebook in found] == [
        ("figure4", (("a.png", "YQ=="), ("c.png", "Yw=="))),
        ("figure2", (("b.png", "Yg=="),)),
    ]


def test_a_wrong_option_of_the_page_is_one_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "maskprior.build.page", str(tmp_path / "index.html"), "--scale", "huge"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "huge" in result.stderr
