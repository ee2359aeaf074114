"""Where records lie. `published` is the evidence, `local` what this machine trained; both have one layout."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from maskprior import paths
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.spec import Run


@dataclass(frozen=True)
class Resolved:
    """A run and where its record is or will be. source: `published`, `local` or `missing` (then `path` is local)."""

    run: Run
    path: Path
    source: str


def record_path(run: Run, kind: str, identity: str = "") -> Path:
    """results/<kind>/<scale>/<experiment>/<task>/<method>[+variant]/seed<k>-<fp8>.json.

    `identity`: the eight digits of the run's cell, for a caller who asks about many of its seeds.
    """
    return folder(run, kind) / f"seed{run.seed}-{identity or fingerprint(run).short}.json"


def folder(run: Run, kind: str) -> Path:
    return paths.results(kind) / run.scale / run.experiment / run.task / run.method_variant


def checkpoint_path(run: Run) -> Path:
    """Keyed by the fingerprint and outside the records, so that no workflow engine deletes it before a rerun."""
    return paths.checkpoints() / f"{run.name.replace('/', '-')}-{run.scale}-{fingerprint(run).short}.pt"


def resolve_record(run: Run, identity: str = "", *, recompute: bool = False) -> Resolved:
    """The published record if there is one (and not `recompute`), else the local one, else where it will be.

    `identity`: as in `record_path`.
    """
    local = record_path(run, "local", identity)
    published = folder(run, "published") / local.name
    if published.exists() and not recompute:
        return Resolved(run, published, "published")
    return Resolved(run, local, "local" if local.exists() else "missing")


def relative(path: Path) -> str:
    """The path as people type it and as it stands in messages: relative to the project's folder."""
    return path.relative_to(paths.root()).as_posix() if path.is_relative_to(paths.root()) else str(path)


def stored_records(kind: str, scale: str, experiment: str) -> Iterator[Path]:
    """All record files of an experiment at a scale, also stale ones, in a stable order."""
    yield from sorted((paths.results(kind) / scale / experiment).glob("*/*/seed*-*.json"))
