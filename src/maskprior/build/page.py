"""Write build/index.html.

`python -m maskprior.build.page build/index.html` makes it from records, figures and the notebooks' first words.
"""

import argparse
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
from maskprior.build.workflow import pictures
from maskprior.config.settings import Settings, read_settings
from maskprior.errors import UserError
from maskprior.files import write_atomically
from maskprior.report import readme
from maskprior.report.claims_table import chance_words, matrix_markdown, outcome_words
from maskprior.report.outcomes import SCALES
from maskprior.report.page import gather
from maskprior.runs.store import relative

FOLDER = Path(gather.__file__).parent
VERSIONS = ("python", "torch", "numpy", "torchvision", "timm")


@dataclass(frozen=True)
class Picture:
    """A figure of the report: where it lies, and what its notebook says of it."""

    file: str
    notebook: str
    title: str
    text: str

    @property
    def name(self) -> str:
        return Path(self.file).stem

    @property
    def png(self) -> str:
        return base64.b64encode((paths.root() / self.file).read_bytes()).decode()


def page(settings: Settings, figures: Sequence[Picture]) -> str:
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
        figures=figures,
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


def head(notebook: str) -> tuple[str, str]:
    """A notebook's title and the first paragraph of its text."""
    text = (paths.root() / "notebooks" / f"{notebook}.py").read_text(encoding="utf-8")
    cell = text.partition("# %% [markdown]\n")[2].partition("\n\n")[0]
    lines = [line.removeprefix("#").strip() for line in cell.splitlines()]
    title, _, rest = "\n".join(lines).partition("\n")
    return title.lstrip("# "), " ".join(rest.strip().partition("\n\n")[0].split()).replace("`", "")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m maskprior.build.page", description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--scale", help="[default: config/config.yaml]")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--recompute", action="store_true", default=None)
    chosen = vars(parser.parse_args(arguments))
    output: Path = chosen.pop("output")
    try:
        settings = read_settings({key: value for key, value in chosen.items() if value is not None})
        text = re.sub(
            r"\n\s*\n+", "\n", page(settings, [Picture(file, name, *head(name)) for name, file in pictures()])
        )
        write_atomically(output, text.encode())
    except UserError as error:
        print(f"maskprior: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
