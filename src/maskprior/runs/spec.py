"""What a run is, and the configuration it resolves to."""

import functools
import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from pydantic import ConfigDict, Field, PositiveInt, ValidationError

from maskprior import paths
from maskprior.config.base import Scale, Section
from maskprior.config.messages import Location, one_line, unknown
from maskprior.config.settings import Settings
from maskprior.config.yaml_file import parse_mapping, read_text
from maskprior.errors import UserError

LARGEST_SEED = 2**31 - 1
EXPERIMENTS = ("boolean", "arithmetic", "vision", "language")


class TargetSection(Section):
    """The cells a table or figure is made of: methods (with variants) x tasks, at some scales.

    `seeds` is the most seeds worth their time at a scale, where that is less than config.yaml asks for.
    """

    methods: tuple[str, ...] = Field(min_length=1)
    tasks: tuple[str, ...] | None = None
    scales: tuple[Scale, ...] = get_args(Scale)
    seeds: dict[Scale, PositiveInt] = Field(default_factory=dict)


class ExperimentFile(Section):
    """config/experiments/<experiment>.yaml. An empty section (`mask:`) changes nothing.

    `titles`: how tables and figures call a task, a method or a variant; without one, by its name.
    """

    defaults: dict[str, Any]
    tasks: dict[str, dict[str, Any] | None]
    methods: dict[str, dict[str, Any] | None]
    scales: dict[str, dict[str, Any] | None]
    variants: dict[str, dict[str, Any] | None]
    targets: dict[str, TargetSection]
    titles: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, order=True)
class Run:
    """One training: a cell (experiment, task, method, variant at a scale) and a seed. Its result is one record."""

    experiment: str
    task: str
    method: str
    variant: str
    scale: str
    seed: int

    __pydantic_config__ = ConfigDict(extra="forbid")  # a record holds its run

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
    method, plus, variant = method.partition("+")
    if plus and not variant:
        raise UserError(f"method: {method}+: names no variant after the +")
    run = Run(experiment, task, method, variant, scale, seed)
    if seed < 0:
        raise UserError(f"seed: {seed} is negative (allowed: 0, 1, 2, …)")
    if seed > LARGEST_SEED:
        raise UserError(f"seed: {seed} is too large (allowed: 0 to {LARGEST_SEED})")
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
    """The experiments that have a configuration file: the paper's in its order, then any others by name."""
    found = {file.stem for file in (paths.config() / "experiments").glob("*.yaml")}
    return [*(name for name in EXPERIMENTS if name in found), *sorted(found - set(EXPERIMENTS))]


def experiment_file(experiment: str) -> dict[str, Any]:
    """config/experiments/<experiment>.yaml, its sections checked by name."""
    return _read(experiment).model_dump()


def task_names(experiment: str) -> tuple[str, ...]:
    """The experiment's tasks, in the order of its configuration."""
    return tuple(_read(experiment).tasks)


def titles() -> dict[str, str]:
    """The titles of all experiments' tasks, methods and variants by name."""
    return {name: title for experiment in built_experiments() for name, title in _read(experiment).titles.items()}


def resolve(run: Run) -> Section:
    """The run's whole configuration, validated.

    defaults < task < method < scale < the scale's task < variant < the variant's scale: later ones win.
    """
    return _resolved(replace(run, seed=0), _text(run.experiment))


@functools.lru_cache(maxsize=16384)
def _resolved(run: Run, text: str) -> Section:
    where = _name(run.experiment)
    file = _validated(text, where)
    _check(f"{where}: task", run.task, file.tasks)
    _check(f"{where}: method", run.method, file.methods)
    _check(f"{where}: scale", run.scale, file.scales)
    if run.variant:
        _check(f"{where}: variant", run.variant, file.variants)
    scale = dict(file.scales[run.scale] or {})
    in_scale = (scale.pop("tasks", None) or {}).get(run.task)
    variant = dict(file.variants.get(run.variant) or {})
    at_scales = variant.pop("scales", None) or {}
    for name in at_scales:
        _check(f"{where}: variants.{run.variant}.scales", name, file.scales)
    parts = {
        "defaults": file.defaults,
        f"tasks.{run.task}": file.tasks[run.task],
        f"methods.{run.method}": file.methods[run.method],
        f"scales.{run.scale}": scale,
        f"scales.{run.scale}.tasks.{run.task}": in_scale,
        f"variants.{run.variant}": variant,
        f"variants.{run.variant}.scales.{run.scale}": at_scales.get(run.scale),
    }
    merged: dict[str, Any] = {"task": run.task, "method": run.method}
    for part in parts.values():
        merged = _merge(merged, part or {})
    model = config_model(run.experiment)

    def origin(key: Location) -> str:
        """The last section that sets the key: the one that counts."""
        sections = [name for name, part in parts.items() if _sets(part, key)]
        return f"{where}: {sections[-1]}." if sections else f"{where}: "

    try:
        return model.model_validate(merged)
    except ValidationError as error:
        raise UserError(one_line(error, model, origin)) from None


def config_model(experiment: str) -> type[Section]:
    """The pydantic model of an experiment's configuration: `maskprior.config.<experiment>.<Experiment>Config`."""
    module = importlib.import_module(f"maskprior.config.{experiment}")
    model: type[Section] = getattr(module, f"{experiment.capitalize()}Config")
    return model


def targets() -> dict[str, list[str]]:
    """Target name (`table1`, …) -> the experiments that feed it."""
    found: dict[str, list[str]] = {}
    for experiment in built_experiments():
        for target in _read(experiment).targets:
            found.setdefault(target, []).append(experiment)
    return found


def planned_runs(target: str, settings: Settings) -> list[Run]:
    """The runs of a target at the chosen scale, seed by seed, so that any stop leaves a balanced table."""
    known = targets()
    if target != "all":
        _check("target", target, ["all", *known])
    named = [name for name in known if target in ("all", name)]
    cells = dict.fromkeys(cell for name in named for cell in _cells(name, settings.scale))
    seeds = {cell: _seeds(cell, named, settings) for cell in cells}
    return [replace(cell, seed=seed) for seed in range(settings.seeds) for cell in cells if seed < seeds[cell]]


def cell_runs(experiment: str, task: str, method: str, settings: Settings) -> list[Run]:
    """The planned runs of one cell; one per seed of config.yaml if no target has it."""
    cell = make_run(experiment, task, method, scale=settings.scale)
    return [replace(cell, seed=seed) for seed in range(_seeds(cell, targets(), settings) or settings.seeds)]


def _cells(target: str, scale: str) -> Iterator[Run]:
    for experiment in targets()[target]:
        file = _read(experiment)
        chosen = file.targets[target]
        if scale not in chosen.scales:
            continue
        for task in chosen.tasks or file.tasks:
            for method in chosen.methods:
                yield make_run(experiment, task, method, scale=scale)


def _seeds(cell: Run, names: Iterable[str], settings: Settings) -> int:
    """How many seeds of a cell these targets want: the most that any of them does, 0 if none has it."""
    file = _read(cell.experiment)
    found = [
        min(settings.seeds, target.seeds.get(settings.scale, settings.seeds))
        for name, target in file.targets.items()
        if name in names
        and settings.scale in target.scales
        and cell.method_variant in target.methods
        and cell.task in (target.tasks or file.tasks)
    ]
    return max(found, default=0)


def _name(experiment: str) -> str:
    return f"config/experiments/{experiment}.yaml"


def _file(experiment: str) -> Path:
    return paths.config() / "experiments" / f"{experiment}.yaml"


def _read(experiment: str) -> ExperimentFile:
    return _validated(_text(experiment), _name(experiment))


def _text(experiment: str) -> str:
    if not re.fullmatch(r"[a-z]\w*", experiment) or not (file := _file(experiment)).exists():
        _check("experiment", experiment, built_experiments())
    return read_text(file, _name(experiment))


@functools.lru_cache(maxsize=32)
def _validated(text: str, where: str) -> ExperimentFile:
    try:
        file = ExperimentFile.model_validate(parse_mapping(text, where))
    except ValidationError as error:
        raise UserError(f"{where}: {one_line(error, ExperimentFile)}") from None
    for scale in get_args(Scale):
        if scale not in file.scales:
            raise UserError(f"{where}: scales: {scale}: missing (needed: {', '.join(get_args(Scale))})")
    for scale in file.scales:
        _check(f"{where}: scales", scale, get_args(Scale))
    for name, target in file.targets.items():
        for task in target.tasks or ():
            _check(f"{where}: targets.{name}.tasks", task, file.tasks)
        for method in target.methods:
            method, _, variant = method.partition("+")
            _check(f"{where}: targets.{name}.methods", method, file.methods)
            if variant:
                _check(f"{where}: targets.{name}.methods: variant", variant, file.variants)
    return file


def _check(where: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise UserError(f"{where}: {unknown(value, allowed)}")


def _sets(part: Any, key: Location) -> bool:
    for word in key:
        if not isinstance(part, dict) or word not in part:
            return False
        part = part[word]
    return bool(key)


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged
