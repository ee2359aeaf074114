"""A run's identity: a name that changes when the science changes, and only then."""

import ast
import functools
import hashlib
import json
import math
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maskprior import paths
from maskprior.config.base import Section
from maskprior.datasets.registry import dataset_version, load, registry_file
from maskprior.errors import UserError
from maskprior.runs.spec import Run, resolve

PACKAGE = "maskprior"

# What tells one state of a folder from another: path, time of change and size of each of its files.
State = tuple[tuple[str, int, int], ...]
CLOCK_TICK = 100_000_000  # nanoseconds; file systems' clocks go on at least ten times as often


@dataclass(frozen=True)
class Fingerprint:
    """Digests (hex) of what a run's result depends on; `digest` is the hash of the other three."""

    config: str
    data: str
    code: str

    @property
    def digest(self) -> str:
        return canonical_hash({"config": self.config, "data": self.data, "code": self.code})

    @property
    def short(self) -> str:
        return self.digest[:8]


def fingerprint(run: Run) -> Fingerprint:
    """The fingerprint of the run's cell: configuration, dataset version and code. Names hold the seed beside it."""
    return _fingerprint(replace(run, seed=0), _state(paths.config()), _state(paths.package()))


@functools.lru_cache(maxsize=16384)
def _fingerprint(run: Run, _config: State, _package: State) -> Fingerprint:
    return Fingerprint(config=config_hash(resolve(run)), data=data_version(run), code=code_hash(run))


def dataset_name(run: Run) -> str:
    """The registry's name of the data a run uses: its `dataset` configuration value, else experiment-task."""
    return getattr(resolve(run), "dataset", f"{run.experiment}-{run.task}")


def data_version(run: Run) -> str:
    """The registry's version of the run's data; empty where it lists none, and the run's code makes its own data."""
    return data_hash(dataset_name(run)) if is_registered(run) else ""


def is_registered(run: Run) -> bool:
    """Whether the registry says what the run's data are: it does, or the configuration names a data set of it."""
    return hasattr(resolve(run), "dataset") or dataset_name(run) in load().names


def data_hash(dataset: str) -> str:
    """The registry's version of a data set."""
    class_lists = sorted(path for path in (paths.config() / "datasets").glob("*") if path.is_file())
    return _data_hash(dataset, registry_file().read_bytes(), tuple(path.read_bytes() for path in class_lists))


@functools.lru_cache(maxsize=64)
def _data_hash(dataset: str, registry: bytes, class_lists: tuple[bytes, ...]) -> str:
    return dataset_version(dataset)


def config_hash(config: Section) -> str:
    return canonical_hash(config.model_dump())


def canonical(value: Any) -> str:
    """JSON with sorted keys and exact floats. TypeError for any type that JSON does not have, and for inf and nan."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_hash(value: Any) -> str:
    return _hash(canonical(value))


def code_hash(run: Run) -> str:
    """Hash of the normalised syntax trees of all the code that the run executes, and of no other task's or method's."""
    return _code_hash(run.experiment, run.task, run.method, _state(paths.package()))


@functools.lru_cache(maxsize=1024)
def _code_hash(experiment: str, task: str, method: str, _package: State) -> str:
    modules = code_modules(experiment, task, method)
    return canonical_hash({name: syntax_hash(path) for name, path in modules.items()})


def code_modules(experiment: str, task: str, method: str) -> dict[str, Path]:
    """The static import closure of the experiment, the task's file and the method's file: name -> file.

    Tasks and methods are found by name when a run starts, so no import of the experiment leads to them. A task that is
    nothing but data and configuration has no file.
    """
    experiments, methods = f"{PACKAGE}.experiments.{experiment}", f"{PACKAGE}.methods.{method}"
    found = import_closure(experiments, methods, f"{PACKAGE}.tasks.{experiment}.{task}")
    for needed, where in ((experiments, f"config/experiments/{experiment}.yaml"), (methods, f"method {method}")):
        if needed not in found:
            raise UserError(f"{where}: its code, {needed}, does not exist")
    return found


def script_closure(script: Path) -> dict[str, Path]:
    """Every module of this package that a file outside it imports, directly or not: name -> file."""
    return import_closure(*_imports(script.read_text(encoding="utf-8"), "", is_package=False))


def import_closure(*modules: str) -> dict[str, Path]:
    """Every module of this package that `modules` import, directly or not, anywhere in their code: name -> file."""
    package = paths.package()
    found: dict[str, Path] = {}
    waiting = [*modules]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _source(package, name)
        if path is None:
            continue
        found[name] = path
        parents = name.split(".")
        waiting += [".".join(parents[:i]) for i in range(1, len(parents))]
        waiting += _imports(path.read_text(encoding="utf-8"), name, is_package=path.name == "__init__.py")
    return dict(sorted(found.items()))


def syntax_hash(path: Path) -> str:
    """Hash of a file's syntax tree without comments, docstrings, formatting and positions."""
    return _syntax_hash(path.read_text(encoding="utf-8"))


# Keyed by the text itself: a plan asks for the same few modules hundreds of times, and no edit can be missed.
@functools.lru_cache(maxsize=1024)
def _syntax_hash(source: str) -> str:
    return _hash(json.dumps(_normalised(ast.parse(source))))


def folder_state(folder: Path) -> State:
    """The state of a folder's files, sorted by path. A plan asks it thousands of times, so no file is read for it."""
    found: list[tuple[str, int, int]] = []
    waiting = [str(folder)] if folder.is_dir() else []
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    waiting += [entry.path] if entry.name != "__pycache__" else []
                else:
                    status = entry.stat()
                    found.append((entry.path, status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))


def _state(folder: Path) -> State:
    """A folder's state as a key: a file that has just changed can change again and show the same time."""
    now = time.time_ns()
    state = folder_state(folder)
    return state if all(now - changed > CLOCK_TICK for _, changed, _ in state) else (*state, ("", now, 0))


def _source(package: Path, module: str) -> Path | None:
    path = package.joinpath(*module.split(".")[1:])
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.exists():
            return candidate
    return None


@functools.lru_cache(maxsize=1024)
def _imports(source: str, module: str, *, is_package: bool) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = module.split(".")[: None if is_package and node.level == 1 else (is_package - node.level)]
                base = ".".join([*up, *([node.module] if node.module else [])])
            # `from package import name` may import a submodule: both are candidates, only existing files count.
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.split(".")[0] == PACKAGE]


def _normalised(node: Any) -> Any:
    """A syntax tree as lists. Empty fields are left out, so that Python versions that add fields agree."""
    if isinstance(node, ast.AST):
        fields = []
        for name, value in ast.iter_fields(node):
            if (
                name not in ("type_comment", "kind", "ctx")
                and value is not None
                and (plain := _normalised(value)) != []
            ):
                fields.append([name, plain])
        return [type(node).__name__, fields]
    if isinstance(node, list):
        return [_normalised(item) for item in node if not _is_text(item)]
    return [type(node).__name__, repr(node)]


def _is_text(statement: Any) -> bool:
    """A string that stands alone: a docstring, or the description of an attribute. It does nothing when it runs."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{value} has no canonical form")
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} has no canonical form")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
