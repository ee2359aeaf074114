"""Write build/index.html.

`python -m maskprior.build.page build/index.html` makes it from records, figures and the notebooks' first words.
"""

import base64
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from maskprior import paths
from maskprior.analysis.claims import evaluate
from maskprior.analysis.decide import DIRECTIONS
from maskprior.build.command import write_from_records
from maskprior.build.workflow import pictures
from maskprior.config.settings import Settings
from maskprior.report import readme
from maskprior.report.claims_table import chance_words, matrix_markdown, outcome_words
from maskprior.report.outcomes import SCALES
from maskprior.report.page import gather
from maskprior.runs.store import relative

FOLDER = Path(gather.__file__).parent
VERSIONS = ("python", "torch", "numpy", "torchvision", "timm")


@dataclass(frozen=True)
class Notebook:
    """A notebook's title, its first paragraph, and the figures that it draws: name and content, as base64."""

    name: str
    title: str
    text: str
    pictures: tuple[tuple[str, str], ...]


def page(settings: Settings, drawn: Sequence[Notebook]) -> str:
    """The page as HTML. Equal records and figures give equal text."""
    judgements = evaluate(settings)
    claims = gather.claims(judgements)
    cells = gather.cells(settings)
    records = [entry.record for cell in cells.values() for entry in cell.recorded if entry.record]
    loader = FileSystemLoader(FOLDER)
    templates = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    versions = {(name, str(r.environment[name])) for r in records for name in VERSIONS if name in r.environment}
    own = {claim.own_cell(judgement) for claim in claims for judgement in claim.members}
    return templates.get_template("page.html.jinja").render(
        sentences=gather.sentences(judgements),
        short=gather.in_short(judgements),
        matrix=html(matrix_markdown(judgements)),
        chance=chance_words(judgements),
        claims=claims,
        cells=cells,
        drawings={key: cell for key, cell in cells.items() if key in own},
        records=len(records),
        experiments=list(dict.fromkeys(claim.experiment for claim in claims)),
        directions=[*DIRECTIONS, "not tested"],
        scale=settings.scale,
        scales=SCALES,
        kind=gather.kind_of,
        words_of=outcome_words,
        path=lambda entry: relative(entry.resolved.path),
        tables=[(title, html(lines)) for title, lines in readme.tables(settings, judgements)],
        explained=html(readme.explained(settings)),
        costs=html(readme.costs(settings)),
        notebooks=drawn,
        versions=sorted(versions),
        devices=sorted({gather.device(record) for record in records}),
        untested=html([untested()]),
    )


def html(markdown: Sequence[str]) -> Markup:
    """Markdown of our own making as HTML."""
    return Markup(MarkdownIt("commonmark").enable("table").render("\n".join(markdown)))


def untested() -> str:
    """What docs/reliability.md says is not tested."""
    return (paths.root() / "docs" / "reliability.md").read_text(encoding="utf-8").partition("## What is not tested")[2]


def notebooks(files: Sequence[tuple[str, str]]) -> list[Notebook]:
    """What to show of each notebook; `files`: its name beside each figure that it draws."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, file in files:
        content = (paths.root() / file).read_bytes()
        found.setdefault(name, []).append((file, base64.b64encode(content).decode()))
    return [Notebook(name, *head(name), tuple(drawn)) for name, drawn in found.items()]


def head(notebook: str) -> tuple[str, str]:
    """A notebook's title and the first paragraph of its text."""
    text = (paths.root() / "notebooks" / f"{notebook}.py").read_text(encoding="utf-8")
    cell = text.partition("# %% [markdown]\n")[2].partition("\n\n")[0]
    lines = [line.removeprefix("#").strip() for line in cell.splitlines()]
    title, _, rest = "\n".join(lines).partition("\n")
    return title.lstrip("# "), " ".join(rest.strip().partition("\n\n")[0].split()).replace("`", "")


def file(settings: Settings) -> bytes:
    """The page, without its empty lines, with the figures that lie in paper/generated."""
    return re.sub(r"\n\s*\n+", "\n", page(settings, notebooks(pictures()))).encode()


if __name__ == "__main__":
    sys.exit(write_from_records("page", __doc__, file))
