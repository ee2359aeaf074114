"""Golden smoke records: the numbers every run must keep giving while the code around it is reworked.

tests/golden/<experiment>.json holds, for every task x method and one run of each variant that chooses other code: all
metrics, the first losses and the sha256 of the arrays, as exact floats, and where they were made. On that device class
they must agree bit for bit, on any other within the tolerances of `maskprior.evidence.compare`.
"""

import functools
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from maskprior import paths
from maskprior.errors import DATA, DIFFERENCE, UserError
from maskprior.evidence.compare import Comparison, Numbers, compare_numbers, numbers
from maskprior.evidence.parallel import in_order
from maskprior.files import write_atomically
from maskprior.runs.environment import device_class
from maskprior.runs.record import Record, read_record
from maskprior.runs.spec import Run, experiment_file, make_run
from maskprior.runs.store import relative

Execute = Callable[..., Path]


class Golden(BaseModel):
    """The golden records of an experiment. `environment`: as in a record, without how long it took."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    environment: dict[str, Any]
    runs: dict[str, Numbers]


def golden_file(experiment: str) -> Path:
    return paths.root() / "tests" / "golden" / f"{experiment}.json"


def golden_runs(experiment: str) -> list[Run]:
    """Every possible task x method, and the first run a target plans of each variant that chooses other code.

    A variant that only changes numbers runs the same code as the rest. Smoke scale, seed 0.
    """
    file = experiment_file(experiment)
    cells = [(task, method) for task in file["tasks"] for method in file["methods"]]
    seen = set()
    for target in file["targets"].values():
        for method in target["methods"]:
            variant = method.partition("+")[2]
            if variant and variant not in seen and _chooses(file["variants"][variant]):
                seen.add(variant)
                cells.append(((target["tasks"] or list(file["tasks"]))[0], method))
    return [run for run in (_possible(experiment, *cell) for cell in cells) if run]


def read_golden(experiment: str) -> Golden:
    path = golden_file(experiment)
    try:
        return Golden.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{relative(path)}: missing; check out the whole project", DATA) from None
    except ValidationError as error:
        raise UserError(
            f"{relative(path)}: {error.errors(include_url=False)[0]['msg']}; restore it with git", DATA
        ) from None


def write_golden(experiment: str, execute: Execute, *, jobs: int = 1) -> None:
    """Make the numbers of the current code the expected ones."""
    runs = golden_runs(experiment)
    found: dict[str, Numbers] = {}
    where: dict[str, Any] = {}
    for run, record in zip(runs, _train(runs, execute, jobs), strict=True):
        found[run.name] = numbers(record)
        where = {key: value for key, value in record.environment.items() if key not in ("seconds", "speed")}
        print(f"[{len(found)}/{len(runs)}] {run.name}", flush=True)
    content = Golden(environment=where, runs=found).model_dump()
    write_atomically(golden_file(experiment), (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())
    print(f"{relative(golden_file(experiment))}: {len(found)} golden records written")


def comparisons(experiment: str, execute: Execute, *, jobs: int = 1) -> Iterator[Comparison]:
    """Train every golden run on the current code and compare it with its golden record."""
    golden, runs = read_golden(experiment), golden_runs(experiment)
    names = {run.name for run in runs}
    if missing := sorted(names ^ set(golden.runs)):
        remedy = f"add or remove it with `maskprior golden --experiment {experiment} --write`"
        raise UserError(
            f"{relative(golden_file(experiment))}: {missing[0]}: not in both file and configuration; {remedy}"
        )
    for run, record in zip(runs, _train(runs, execute, jobs), strict=True):
        same_class = device_class(record.environment) == device_class(golden.environment)
        yield compare_numbers(run, golden.runs[run.name], numbers(record), same_class=same_class)


def check(experiment: str, execute: Execute, *, jobs: int = 1) -> list[Comparison]:
    """Print how each golden record compares, and return it. UserError (exit code 4) if a number moved."""
    total, moved, how, found = len(golden_runs(experiment)), [], "", []
    for count, comparison in enumerate(comparisons(experiment, execute, jobs=jobs), start=1):
        how = "bit for bit, on the device class they were made on" if comparison.same_class else (
            "within the tolerance, since this is another device class than the one they were made on"
        )  # fmt: skip
        print(f"[{count}/{total}] {comparison.run.name}: {comparison.verdict}{_first(comparison)}", flush=True)
        found.append(comparison)
        if not comparison.passes:
            moved.append(comparison.run.name)
    if moved:
        raise UserError(f"{len(moved)} of {total} golden {experiment} records moved: {', '.join(moved)}", DIFFERENCE)
    print(f"{total} golden {experiment} records unchanged: compared {how}")
    return found


def train_smoke(runs: list[Run], execute: Execute, jobs: int) -> Iterator[tuple[Run, Record]]:
    """Train runs of the scale smoke on the CPU, where they touch nothing that this machine trained."""
    yield from zip(runs, _train(runs, execute, jobs), strict=True)


def _chooses(change: Any) -> bool:
    """Whether a change of the configuration names something, rather than setting numbers only."""
    return any(map(_chooses, change.values())) if isinstance(change, dict) else isinstance(change, str)


def _first(comparison: Comparison) -> str:
    """What to look at first where a record moved."""
    for row in comparison.rows:
        if comparison.passes:
            break
        if row.published != row.local if comparison.same_class else not row.passes:
            return f": {row.quantity} was {row.published!r}, is {row.local!r}"
    return "" if comparison.passes else ": only its arrays"


def _possible(experiment: str, task: str, method: str) -> Run | None:
    try:
        return make_run(experiment, task, method, scale="smoke")
    except UserError:
        return None


def _train(runs: list[Run], execute: Execute, jobs: int) -> Iterator[Record]:
    """Fresh records of `runs`, made on the CPU in a folder of their own."""
    with _scratch():
        for path in in_order(functools.partial(execute, device="cpu"), runs, jobs=jobs):
            yield read_record(path)


@contextmanager
def _scratch() -> Iterator[None]:
    """An empty project with this one's configuration and data, so that nothing this machine trained is touched."""
    before = os.environ.get("MASKPRIOR_ROOT")
    with tempfile.TemporaryDirectory(prefix="maskprior-golden-") as name:
        for folder in (paths.config(), paths.data()):
            if folder.exists():
                (Path(name) / folder.name).symlink_to(folder.resolve())
        os.environ["MASKPRIOR_ROOT"] = name
        try:
            yield
        finally:
            os.environ.pop("MASKPRIOR_ROOT")
            if before is not None:
                os.environ["MASKPRIOR_ROOT"] = before
