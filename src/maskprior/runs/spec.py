"""What a run is, and the configuration it resolves to."""

import functools
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import yaml
from pydantic import ValidationError

from maskprior import paths
from maskprior.config.base import Scale, Section
from maskprior.config.messages import one_line
from maskprior.config.settings import Settings
from maskprior.errors import UserError

EXPERIMENTS = ("boolean", "arithmetic", "vision", "language")
SECTIONS = ("defaults", "tasks", "methods", "scales", "variants", "targets")


@dataclass(frozen=True, order=True)
class Run:
    """One training: a cell (experiment, task, method, variant at a scale) and a seed. Its result is one record."""

    experiment: str
    task: str
    method: str
    variant: str
    scale: str
    seed: int

    @property
    def cell(self) -> str:
        """`boolean/2parity/mask`, with a variant `boolean/2parity/default+position18`."""
        return f"{self.experiment}/{self.task}/{self.method_variant}"

    @property
    def method_variant(self) -> str:
        return f"{self.method}+{self.variant}" if self.variant else self.method

    @property
    def name(self) -> str:
        return f"{self.cell}/seed{self.seed}"


def make_run(experiment: str, task: str, method: str, *, scale: str, seed: int = 0) -> Run:
    """The run these words name; `method` may carry a variant (`default+position18`). UserError for impossible ones."""
    method, _, variant = method.partition("+")
    run = Run(experiment, task, method, variant, scale, seed)
    if seed < 0:
        raise UserError(f"seed: {seed} is negative (allowed: 0, 1, 2, …)")
    resolve(run)
    return run


def parse_run(name: str, *, scale: str) -> Run:
    """The inverse of `Run.name`."""
    match = re.fullmatch(r"([^/]+)/([^/]+)/([^/]+)/seed(\d+)", name)
    if not match:
        raise UserError(f"{name}: not a run's name (expected: experiment/task/method[+variant]/seed<k>)")
    experiment, task, method, seed = match.groups()
    return make_run(experiment, task, method, scale=scale, seed=int(seed))


def built_experiments() -> list[str]:
    """The experiments that have a configuration file."""
    return [name for name in EXPERIMENTS if _file(name).exists()]


def experiment_file(experiment: str) -> dict[str, Any]:
    """config/experiments/<experiment>.yaml, its sections checked by name."""
    if experiment not in built_experiments():
        raise UserError(f"experiment: {experiment!r} unknown (allowed: {', '.join(built_experiments())})")
    path = _file(experiment)
    return _read(str(path), path.stat().st_mtime_ns)


def resolve(run: Run) -> Section:
    """The run's whole configuration: defaults < task < method < scale < the scale's task < variant, validated."""
    file = experiment_file(run.experiment)
    where = f"config/experiments/{run.experiment}.yaml"
    choices = {"task": ("tasks", run.task), "method": ("methods", run.method), "scale": ("scales", run.scale)}
    if run.variant:
        choices["variant"] = ("variants", run.variant)
    for word, (section, value) in choices.items():
        if value not in file[section]:
            raise UserError(f"{where}: {word}: {value!r} unknown (allowed: {', '.join(file[section])})")
    scale = dict(file["scales"][run.scale])
    in_scale = scale.pop("tasks", {}).get(run.task, {})
    merged: dict[str, Any] = {}
    for part in (
        file["defaults"],
        file["tasks"][run.task],
        file["methods"][run.method],
        scale,
        in_scale,
        file["variants"].get(run.variant, {}),
    ):
        merged = _merge(merged, part or {})
    model = config_model(run.experiment)
    try:
        return model.model_validate({**merged, "task": run.task, "method": run.method})
    except ValidationError as error:
        raise UserError(f"{where}: {one_line(error, model)}") from None


def config_model(experiment: str) -> type[Section]:
    """The pydantic model of an experiment's configuration: `maskprior.config.<experiment>.<Experiment>Config`."""
    module = importlib.import_module(f"maskprior.config.{experiment}")
    model: type[Section] = getattr(module, f"{experiment.capitalize()}Config")
    return model


def targets() -> dict[str, list[str]]:
    """Target name (`table1`, …) -> the experiments that feed it."""
    found: dict[str, list[str]] = {}
    for experiment in built_experiments():
        for target in experiment_file(experiment)["targets"]:
            found.setdefault(target, []).append(experiment)
    return found


def planned_runs(target: str, settings: Settings) -> list[Run]:
    """The runs of a target at the chosen scale, seed by seed, so that any stop leaves a balanced table."""
    known = targets()
    if target != "all" and target not in known:
        raise UserError(f"target: {target!r} unknown (allowed: all, {', '.join(known)})")
    cells = dict.fromkeys(cell for name in known if target in ("all", name) for cell in _cells(name, settings.scale))
    return [replace(cell, seed=seed) for seed in range(settings.seeds) for cell in cells]


def _cells(target: str, scale: str) -> Iterator[Run]:
    for experiment in targets()[target]:
        file = experiment_file(experiment)
        chosen = file["targets"][target]
        if scale not in chosen.get("scales", get_args(Scale)):
            continue
        for task in chosen.get("tasks", file["tasks"]):
            for method in chosen["methods"]:
                yield make_run(experiment, task, method, scale=scale)


def _file(experiment: str) -> Any:
    return paths.config() / "experiments" / f"{experiment}.yaml"


@functools.cache
def _read(path: str, changed: int) -> dict[str, Any]:
    with open(path) as stream:
        file = yaml.safe_load(stream)
    name = "/".join(path.split("/")[-3:])
    for section in SECTIONS:
        if section not in file:
            raise UserError(f"{name}: {section}: missing section")
    if unknown := set(file) - set(SECTIONS):
        raise UserError(f"{name}: {sorted(unknown)[0]}: unknown section (allowed: {', '.join(SECTIONS)})")
    if missing := set(get_args(Scale)) - set(file["scales"]):
        raise UserError(f"{name}: scales: {sorted(missing)[0]} is missing (needed: {', '.join(get_args(Scale))})")
    return file


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        merged[key] = (
            _merge(merged[key], value) if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
        )
    return merged
