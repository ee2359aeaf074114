"""What runs cost before they start: hours, memory, disk, download; and how far such predictions were off."""

import heapq
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from pydantic import Field, PositiveFloat, ValidationError

from maskprior import paths
from maskprior.config.base import Section
from maskprior.config.messages import one_line, unknown
from maskprior.config.yaml_file import parse_mapping, read_text
from maskprior.datasets.manifest import FILE as MANIFEST
from maskprior.datasets.registry import load
from maskprior.errors import UserError
from maskprior.files import write_atomically
from maskprior.runs.fingerprint import dataset_name, is_registered
from maskprior.runs.spec import Run, resolve
from maskprior.tasks.arithmetic import TOKENS

FILE = "config/costs.yaml"
PAGE = "docs/costs.md"
BEGIN, END = "<!-- costs: generated from the records -->", "<!-- /costs -->"
CPU = "cpu"
GPT2_VOCABULARY = 50257
# Bytes a parameter takes in training (itself, its gradient, two moments) and in the two checkpoints (without gradient).
STATE_BYTES, CHECKPOINT_BYTES = 16, 24
MIB = 2**20

BY_CELL, BY_SCALE, BY_EXPERIMENT, BY_TABLE, UNKNOWN = (
    "records of the cell",
    "records of the experiment at this scale",
    "records of the experiment at another scale",
    f"counted operations and {FILE}",
    "no record and no transformer to count",
)


class Device(Section):
    """A kind of device. Its records are those whose device's name contains `named`."""

    named: str
    float32: PositiveFloat
    bfloat16: PositiveFloat
    share: float = Field(gt=0, le=1)
    layer_ms: float = Field(ge=0)


class Costs(Section):
    max_hours: PositiveFloat
    devices: dict[str, Device]

    def kind(self, name: str) -> str:
        """The kind of the device that a record names; whatever is no known card is a processor."""
        return next((kind for kind, device in self.devices.items() if device.named and device.named in name), CPU)


@dataclass(frozen=True)
class Measured:
    """What a recorded run took. `operations`: counted, None where its model is none that this module can count."""

    run: Run
    device: str
    seconds: float
    size: int
    operations: float | None


@dataclass(frozen=True)
class Estimate:
    """The hours of one run, None if unknown, and what they rest on."""

    hours: float | None
    basis: str


@dataclass(frozen=True)
class Total:
    """The costs of several runs. `unknown`: runs of which nothing can be said; the sums leave them out."""

    runs: int
    hours: float
    wall_hours: float
    bases: Mapping[str, int]
    unknown: int
    memory_mib: float
    disk_mib: float
    download_mib: float
    download_unknown: int


@dataclass(frozen=True)
class Check:
    """A target's recorded runs, predicted from the records of all other cells."""

    target: str
    scale: str
    runs: int
    measured_hours: float
    predicted_hours: float
    median_error: float
    largest_error: float


def read_costs(max_hours: float | None = None) -> Costs:
    values = parse_mapping(read_text(paths.config() / "costs.yaml", FILE), FILE)
    try:
        return Costs.model_validate(values | ({} if max_hours is None else {"max_hours": max_hours}))
    except ValidationError as error:
        raise UserError(one_line(error, Costs, lambda _: f"{FILE}: ")) from None


def tokens(config: Mapping[str, Any]) -> int:
    """The tokens of one sample."""
    model = config["model"]
    if "patch_size" in model:
        return int((model["image_size"] // model["patch_size"]) ** 2) + 1
    return int(model.get("block") or config.get("dimension") or TOKENS)


def vocabulary(config: Mapping[str, Any]) -> int:
    """Words that the model tells apart at every token; 0 where it does not."""
    if "block" not in config["model"]:
        return 0
    dataset = load()[config["dataset"]]
    if dataset.generated:
        return 0  # a handful of words
    return dataset.retokenized.vocabulary if dataset.retokenized else GPT2_VOCABULARY


def weights(config: Mapping[str, Any]) -> int:
    """The weights a token goes through: four matrices of attention and two of the MLP in each layer, and the words."""
    model = config["model"]
    inner = model["heads"] * model["head_dim"]
    layer = 4 * model["dim"] * inner + 2 * model["dim"] * model["mlp_dim"]
    return int(model["layers"] * layer + vocabulary(config) * model["dim"])


def operations(config: Mapping[str, Any]) -> float | None:
    """Multiplications and additions of all updates; None where the configuration is no transformer's.

    A weight costs two for each token, a pair of tokens four for each width of attention; backward is twice forward.
    """
    try:
        model, optimizer, count = config["model"], config["optimizer"], tokens(config)
        pairs = model["layers"] * model["heads"] * model["head_dim"] * count
        return float(3 * (2 * weights(config) + 4 * pairs) * count * optimizer["batch_size"] * optimizer["steps"])
    except (KeyError, TypeError, UserError):
        return None


def memory_mib(config: Mapping[str, Any]) -> float:
    """A run's peak on its device, roughly: parameters with Adam, and what the backward pass keeps, in float32."""
    try:
        model, count = config["model"], tokens(config)
        token = model["layers"] * (8 * model["dim"] + 2 * model["mlp_dim"] + 2 * model["heads"] * count)
        kept = 4 * count * config["optimizer"]["batch_size"] * (token + 2 * vocabulary(config))
        return (STATE_BYTES * _parameters(config) + kept) / MIB
    except (KeyError, TypeError, UserError):
        return 0.0


def _parameters(config: Mapping[str, Any]) -> int:
    """The matrices, and the mask: one number for each pair of tokens, head and layer."""
    model = config["model"]
    return int(weights(config) + model["layers"] * model["heads"] * tokens(config) ** 2)


def recorded(costs: Costs) -> list[Measured]:
    """What every record here took, also of earlier code. A file that cannot be read is left to `maskprior verify`."""
    found = []
    for kind in ("published", "local"):
        for path in sorted(paths.results(kind).glob("*/*/*/*/seed*-*.json")):
            try:
                content = json.loads(path.read_bytes())
                run, environment = Run(**content["run"]), content["environment"]
                size = path.stat().st_size + path.with_suffix(".safetensors").stat().st_size
                seconds = float(environment["seconds"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if content["status"] == "completed":
                count = operations(content["config"])
                found.append(Measured(run, costs.kind(environment["device"]), seconds, size, count))
    return found


class Predictor:
    """Hours of a run on one kind of device, from what was measured there; else from the table of devices."""

    def __init__(self, measured: Iterable[Measured], device: str, costs: Costs) -> None:
        if device not in costs.devices:
            raise UserError(f"--device: {unknown(device, costs.devices)}")
        self._device = costs.devices[device]
        cells: dict[tuple[str, str], list[float]] = defaultdict(list)
        rates: dict[tuple[str, str], list[float]] = defaultdict(list)
        for one in measured:
            if one.device != device or one.seconds <= 0:
                continue
            cells[one.run.cell, one.run.scale].append(one.seconds)
            if one.operations:
                for scale in (one.run.scale, ""):
                    rates[one.run.experiment, scale].append(one.operations / one.seconds)
        self._cells = {key: median(values) for key, values in cells.items()}
        self._rates = {key: median(values) for key, values in rates.items()}
        self._known: dict[tuple[str, str], Estimate] = {}

    def predict(self, run: Run) -> Estimate:
        key = (run.cell, run.scale)
        if key not in self._known:
            self._known[key] = self._predict(run)
        return self._known[key]

    def _predict(self, run: Run) -> Estimate:
        if seconds := self._cells.get((run.cell, run.scale)):
            return Estimate(seconds / 3600, BY_CELL)
        config = _config(run)
        count = operations(config)
        if count is None:
            return Estimate(None, UNKNOWN)
        if rate := self._rates.get((run.experiment, run.scale)):
            return Estimate(count / rate / 3600, BY_SCALE)
        if rate := self._rates.get((run.experiment, "")):
            return Estimate(count / rate / 3600, BY_EXPERIMENT)
        rate = self._device.share * 1e12 * getattr(self._device, "bfloat16" if config.get("autocast") else "float32")
        least = config["optimizer"]["steps"] * config["model"]["layers"] * self._device.layer_ms / 1000
        return Estimate(max(count / rate, least) / 3600, BY_TABLE)


def _config(run: Run) -> dict[str, Any]:
    return resolve(run).model_dump()


def list_schedule(hours: Sequence[float], workers: int) -> float:
    """The time until all are done: each, in this order, goes to the worker that is free first."""
    free = [0.0] * workers
    for one in hours:
        heapq.heapreplace(free, free[0] + one)
    return max(free)


def total(runs: Sequence[Run], measured: Sequence[Measured], *, device: str, workers: int, costs: Costs) -> Total:
    """What training these runs costs on `workers` devices of one kind."""
    predictor = Predictor(measured, device, costs)
    estimates = [predictor.predict(run) for run in runs]
    hours = [one.hours for one in estimates if one.hours is not None]
    bases: dict[str, int] = defaultdict(int)
    for one in estimates:
        bases[one.basis] += 1
    configs = {run.cell: _config(run) for run in runs}
    checkpoints = [CHECKPOINT_BYTES * _parameters(c) for c in configs.values() if operations(c) is not None]
    data, no_size = _download(runs)
    return Total(
        runs=len(runs),
        hours=sum(hours),
        wall_hours=list_schedule(hours, workers),
        bases=bases,
        unknown=len(runs) - len(hours),
        memory_mib=max(map(memory_mib, configs.values()), default=0.0),
        disk_mib=(_records_size(runs, measured) + workers * max(checkpoints, default=0)) / MIB,
        download_mib=data / MIB,
        download_unknown=no_size,
    )


def _records_size(runs: Iterable[Run], measured: Iterable[Measured]) -> float:
    """The records that the runs will write, as large as those of their experiment are; of a new one, nothing."""
    sizes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in measured:
        for scale in (one.run.scale, ""):
            sizes[one.run.experiment, scale].append(one.size)
    mean = {key: sum(values) / len(values) for key, values in sizes.items()}
    return sum(mean.get((run.experiment, run.scale), mean.get((run.experiment, ""), 0.0)) for run in runs)


def _download(runs: Iterable[Run]) -> tuple[int, int]:
    """Bytes to fetch for the data sets that are not prepared here, and how many files are of a size nobody states."""
    registry = load()
    cells = {run.cell: run for run in runs}.values()
    waiting = [dataset_name(run) for run in cells if is_registered(run)]
    files: dict[str, int | None] = {}
    seen = set()
    while waiting:
        name = waiting.pop()
        if name in seen or (paths.data() / name / MANIFEST).exists():
            continue
        seen.add(name)
        waiting += registry[name].needs
        for source in registry[name].sources:
            files |= {download.file: download.size for download in source.downloads}
    return sum(size or 0 for size in files.values()), sum(size is None for size in files.values())


def text(found: Total, *, device: str, workers: int) -> str:
    """The costs for people, one quantity a line."""
    if not found.runs:
        return "nothing to train"
    rests = ", ".join(f"{count} runs on {basis}" for basis, count in sorted(found.bases.items()))
    unsized = f"; and {found.download_unknown} files whose size is not stated" if found.download_unknown else ""
    lines = {
        "to train": f"{found.runs} runs, {duration(found.hours)} on one {device}: {rests}",
        "wall time": f"{duration(found.wall_hours)} on {workers} {device}, one run at a time on each",
        "memory": f"about {size(found.memory_mib)} for the largest run (an estimate)",
        "disk": f"about {size(found.disk_mib)} of records and checkpoints, data sets not counted",
        "download": f"{size(found.download_mib)} of data sets{unsized}",
    }
    if found.unknown:
        lines["unknown"] = f"{found.unknown} runs are in none of these sums: {UNKNOWN}"
    return "\n".join(f"{name:12}{value}" for name, value in lines.items())


def check_hours(runs: Sequence[Run], costs: Costs, device: str) -> None:
    """UserError where these runs together train longer than `max_hours`."""
    predictor = Predictor(recorded(costs), device, costs)
    hours = sum(predictor.predict(run).hours or 0.0 for run in runs)
    if hours > costs.max_hours:
        raise UserError(
            f"{len(runs)} runs to train, about {duration(hours)} on one {device}, and max_hours in {FILE} is "
            f"{costs.max_hours:g}; `maskprior plan` says more, and --config max_hours={_enough(hours)} starts it"
        )


def _enough(hours: float) -> int:
    """A round number above."""
    return int(10 ** math.ceil(math.log10(hours + 1)))


def markdown(checks: Iterable[Check]) -> str:
    """The table of docs/costs.md."""
    lines = [
        "| target | scale | runs | measured | predicted | middle error of a run | largest error |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in checks:
        hours = f"{duration(one.measured_hours)} | {duration(one.predicted_hours)}"
        errors = f"{one.median_error:.0%} | {one.largest_error:.0%}"
        lines.append(f"| {one.target} | {one.scale} | {one.runs} | {hours} | {errors} |")
    return "\n".join(lines)


def write_page(checks: Iterable[Check]) -> None:
    """Put the table between its markers in docs/costs.md."""
    page = paths.root() / PAGE
    before, begin, rest = read_text(page, PAGE).partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UserError(f"{PAGE}: the markers {BEGIN} and {END} are missing; restore it with git")
    write_atomically(page, f"{before}{BEGIN}\n{markdown(checks)}\n{END}{after}".encode())


def duration(hours: float) -> str:
    if hours >= 48:
        return f"{hours / 24:,.1f} days"
    return f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"


def size(mib: float) -> str:
    return f"{mib / 1024:,.1f} GiB" if mib >= 1024 else f"{mib:,.0f} MiB"


def leave_one_target_out(runs_of: Mapping[str, Sequence[Run]], costs: Costs, device: str = CPU) -> list[Check]:
    """Each target's recorded runs, predicted without any record of its cells; only where the device has records."""
    measured = [one for one in recorded(costs) if one.device == device]
    checks = []
    for target, runs in runs_of.items():
        cells = {(run.cell, run.scale) for run in runs}
        inside = [one for one in measured if (one.run.cell, one.run.scale) in cells]
        outside = [one for one in measured if (one.run.cell, one.run.scale) not in cells]
        predictor = Predictor(outside, device, costs)
        for scale in sorted({one.run.scale for one in inside}):
            some = [one for one in inside if one.run.scale == scale]
            checks.append(_check(target, scale, some, predictor))
    return checks


def _check(target: str, scale: str, measured: Sequence[Measured], predictor: Predictor) -> Check:
    pairs = [(one.seconds / 3600, predictor.predict(one.run).hours or 0.0) for one in measured if one.seconds > 0]
    errors = [abs(guess - real) / real for real, guess in pairs]
    return Check(
        target=target,
        scale=scale,
        runs=len(pairs),
        measured_hours=sum(real for real, _ in pairs),
        predicted_hours=sum(guess for _, guess in pairs),
        median_error=median(errors),
        largest_error=max(errors),
    )
