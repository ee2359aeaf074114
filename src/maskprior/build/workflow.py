"""What the Snakefile asks the package: which files a target needs, and which runs would make them."""

import functools
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from maskprior import paths
from maskprior.build.notebooks import Notebook, read_notebooks
from maskprior.config.settings import Settings
from maskprior.config.settings import read_settings as settings_of
from maskprior.datasets import manifest
from maskprior.datasets.registry import load
from maskprior.errors import UserError
from maskprior.evidence import cost
from maskprior.runs.fingerprint import (
    PACKAGE,
    dataset_name,
    fingerprint,
    import_closure,
    is_registered,
    script_closure,
)
from maskprior.runs.spec import make_run, planned_runs, targets
from maskprior.runs.store import folder, record_path, relative, resolve_record

# Most runs feed several notebooks, and every record of the workflow is looked for before its first job.
resolved_once = functools.cache(resolve_record)

NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")


def read_settings(overrides: Mapping[str, Any]) -> Settings:
    """The settings with the workflow's --config on top. A wrong configuration ends the program with one line."""
    try:
        settings = settings_of({key: value for key, value in overrides.items() if key != "max_hours"})
        planned_runs("all", settings)
        read_notebooks()
    except UserError as error:
        print(f"snakemake: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    return settings


@functools.cache
def record_files(target: str, settings: Settings) -> tuple[str, ...]:
    """The records of a target's runs: published, else local, else where the training rule will write them."""
    runs = planned_runs(target, settings)
    return tuple(relative(resolved_once(run, recompute=settings.recompute).path) for run in runs)


def notebook_records(notebook: Notebook, settings: Settings) -> list[str]:
    """The records a notebook reads, each once: those of its runs, and what there is at the paper's scale.

    Results of the paper's scale stand beside those of the chosen one, so a new one makes the notebook run again; one
    that is not there is not asked for.
    """
    return _records(notebook.records, settings)


def all_records(settings: Settings) -> list[str]:
    """The records that the table of all results holds."""
    return _records(["all"], settings)


def _records(names: Iterable[str], settings: Settings) -> list[str]:
    planned = [file for target in names for file in record_files(target, settings)]
    beside = [file for target in names for file in records_at_paper(target, settings)]
    return list(dict.fromkeys([*planned, *beside]))


@functools.cache
def records_at_paper(target: str, settings: Settings) -> tuple[str, ...]:
    """The records a target's runs have at the paper's scale."""
    runs = planned_runs(target, settings.model_copy(update={"scale": "paper"}))
    # Most runs have none there: a look at the folder spares them their fingerprint.
    some = [run for run in runs if any(folder(run, kind).exists() for kind in ("published", "local"))]
    resolved = [resolved_once(run, recompute=settings.recompute) for run in some]
    return tuple(relative(found.path) for found in resolved if found.source != "missing")


def files_read(notebook: Notebook) -> list[str]:
    """What a notebook reads beside records, as it is now."""
    return [relative(path) for pattern in notebook.reads for path in sorted(paths.root().glob(pattern))]


def notebook_sources(name: str) -> list[str]:
    """What a notebook's output depends on beside its records: the code it imports, and the configuration it reads.

    Not config.yaml, whose values are the notebook's parameters, not notebooks.yaml, which makes the rules, and not
    costs.yaml, which says how long a training may take.
    """
    code = script_closure(paths.root() / "notebooks" / f"{name}.py")
    files = {*code.values(), *(_task_files() if f"{PACKAGE}.tasks" in code else ())}
    return [relative(path) for path in [*_configuration(), *sorted(files)]]


def pictures() -> list[tuple[str, str]]:
    """The figures that the page shows, each with the notebook that draws it."""
    return [(name, file) for name, book in read_notebooks().items() for file in book.outputs if file.endswith(".png")]


def page_sources() -> list[str]:
    """What the page depends on beside records and figures: code, template, the texts it quotes, the configuration."""
    quoted = [paths.root() / "docs" / "reliability.md", *sorted((paths.root() / "notebooks").glob("*.py"))]
    template = paths.package() / "report" / "page" / "page.html.jinja"
    code = {*import_closure(f"{PACKAGE}.build.page").values(), *_task_files()}
    return [relative(path) for path in [*_configuration(), template, *quoted, *sorted(code)]]


def _configuration() -> list[Path]:
    """The files of config/ that decide numbers and texts."""
    settings = ("config.yaml", "costs.yaml", "notebooks.yaml")
    return [path for path in sorted(paths.config().rglob("*")) if path.is_file() and path.name not in settings]


def _task_files() -> list[Path]:
    """The code of all tasks. A task's file is found by name, so no import leads to it."""
    files = [path.relative_to(paths.package()) for path in (paths.package() / "tasks").glob("*/[!_]*.py")]
    return list(import_closure(*(".".join([PACKAGE, *file.with_suffix("").parts]) for file in files)).values())


def results_sources() -> list[str]:
    """The code that decides what stands in the table of all results."""
    names = ("build/results.py", "analysis/records.py", "analysis/persistence.py")
    return [relative(paths.package() / name) for name in names]


def target_names() -> list[str]:
    """Every word that can be asked for: the experiments' targets and what the notebooks add to them."""
    added = (target for notebook in read_notebooks().values() for target in notebook.targets)
    return list(dict.fromkeys([*targets(), *added]))


def target_files(target: str, settings: Settings) -> list[str]:
    """The files a target stands for: what its notebooks write, or its records where no notebook reads them yet."""
    outputs = [file for book in read_notebooks().values() if target in book.targets for file in book.outputs]
    return outputs or list(record_files(target, settings))


def training_data(wildcards: Mapping[str, str]) -> list[str]:
    """The manifest of the prepared data set a run reads; nothing where the data are generated as the run starts.

    UserError when a record is asked for that today's code and configuration would not write.
    """
    words = dict(wildcards.items())
    run = make_run(words["experiment"], words["task"], words["method"], scale=words["scale"], seed=int(words["seed"]))
    if fingerprint(run).short != words["fingerprint"]:
        raise UserError(
            f"{run.name}: record {words['fingerprint']} belongs to another version of the code or configuration; "
            f"today's is {relative(record_path(run, 'local'))}"
        )
    dataset = dataset_name(run)
    return (
        []
        if dataset in generated_data() or not is_registered(run)
        else [relative(paths.data() / dataset / manifest.FILE)]
    )


@functools.cache
def generated_data() -> frozenset[str]:
    """The data sets that are generated from their definition, not prepared in data/."""
    return frozenset(name for name, dataset in load().root.items() if dataset.generated)


def check_costs(jobs: Iterable[Mapping[str, str]], overrides: Mapping[str, Any], settings: Settings) -> None:
    """End the program with one line if these training jobs would take longer than is allowed without being asked."""
    try:
        costs = cost.read_costs(overrides.get("max_hours"))
        runs = [
            make_run(job["experiment"], job["task"], job["method"], scale=job["scale"], seed=int(job["seed"]))
            for job in jobs
        ]
        # A card's kind is not known before a job runs on it; with one, only the processor's hours are too many.
        if runs and not gpus(settings):
            cost.check_hours(runs, costs, cost.CPU)
    except UserError as error:
        print(f"snakemake: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def gpus(settings: Settings) -> int:
    """GPUs a training job takes: 1 where it runs on CUDA, so that two jobs never share a card by accident."""
    return int(settings.device == "cuda" or (settings.device == "auto" and NVIDIA_DRIVER.exists()))
