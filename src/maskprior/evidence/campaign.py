"""Many trainings in the background of other work: in balanced rounds, as many at once as asked for, at idle priority.

A round is one seed of every cell, so that whatever ends early has compared all methods on the seeds that it has. What
has a record is not trained, and what was interrupted goes on from its checkpoint: the same command resumes a campaign.
"""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from maskprior import paths
from maskprior.config.settings import Settings
from maskprior.config.yaml_file import read_text
from maskprior.errors import UserError
from maskprior.evidence import cost
from maskprior.evidence.plan import planned
from maskprior.runs.spec import Run
from maskprior.runs.store import relative

LOWEST_PRIORITY = 19


@dataclass(frozen=True)
class Ended:
    """A training that ended. `code` is the exit code of its program, 0 where there is a record now."""

    run: Run
    code: int
    log: Path


def missing_runs(names: Iterable[str], settings: Settings) -> list[Run]:
    """The runs of these targets that have no record, each once. A name can be a target, a run, or a file of such."""
    found = [record for name in _names(names) for record in planned(name, settings)]
    return list(dict.fromkeys(record.run for record in found if record.source == "missing"))


def _names(given: Iterable[str]) -> Iterator[str]:
    """A file holds one name a line; what stands behind # is a comment."""
    for name in given:
        if not Path(name).is_file():
            yield name
            continue
        lines = [line.partition("#")[0].strip() for line in read_text(Path(name), name).splitlines()]
        if not any(lines):
            raise UserError(f"{name}: no target and no run in it; write one a line")
        yield from filter(None, lines)


def in_rounds(runs: Sequence[Run], hours: Mapping[Run, float]) -> list[Run]:
    """Seed 0 of every cell, then seed 1, …; in a round the tasks whose runs are short first, else as planned."""
    of_task: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in runs:
        of_task[run.experiment, run.task].append(hours[run])
    length = {task: mean(values) for task, values in of_task.items()}
    return sorted(runs, key=lambda run: (run.seed, length[run.experiment, run.task]))


def carry_out(runs: Sequence[Run], *, jobs: int, device: str) -> Iterator[Ended]:
    """Train the runs in this order, `jobs` at once; yield each as it ends. A failed one does not stop the others."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(_train, run, device) for run in runs]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _train(run: Run, device: str) -> Ended:
    log = paths.root() / "results" / "logs" / "campaign" / run.scale / f"{run.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [run.experiment, run.task, run.method_variant, "--seed", str(run.seed), "--scale", run.scale]
    command = [sys.executable, "-m", "maskprior", "run", *words, "--device", device]
    with log.open("w", encoding="utf-8") as file:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file).returncode
    return Ended(run, code, log)


def step_back() -> None:
    """From now on this process and those that it starts take only the processor's time that nothing else wants."""
    os.nice(LOWEST_PRIORITY)
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def run_campaign(
    names: Sequence[str], settings: Settings, *, jobs: int, publish: Callable[[list[Run]], None] | None
) -> bool:
    """Train what has no record of these targets, with a progress bar. False if a training failed.

    The time left is what recorded runs took on a processor. `publish` is called whenever a round is through, with the
    runs of it that ended well.
    """
    costs = cost.read_costs()
    predictor = cost.Predictor(cost.recorded(costs), cost.CPU, costs)
    missing = missing_runs(names, settings)
    hours = {run: predictor.predict(run).hours or 0.0 for run in missing}

    def left(runs: Iterable[Run]) -> str:
        return f"about {cost.duration(cost.list_schedule([hours[run] for run in runs], jobs))} left"

    waiting = in_rounds(missing, hours)
    print(f"{len(waiting)} runs to train, {jobs} at a time, {left(waiting)}", flush=True)
    done: list[Run] = []
    failed = 0
    with _bar() as bar:
        task = bar.add_task("", total=len(waiting), left=left(waiting))
        for ended in carry_out(list(waiting), jobs=jobs, device=settings.device):
            waiting.remove(ended.run)
            if ended.code:
                failed += 1
                bar.console.print(f"failed   {ended.run.name}: {_reason(ended.log)} ({relative(ended.log)})")
            else:
                done.append(ended.run)
                bar.console.print(f"trained  {ended.run.name}, {left(waiting)}")
            bar.update(task, advance=1, left=left(waiting))
            if publish and done and all(run.seed > ended.run.seed for run in waiting):
                publish(done)
                done = []
    if failed:
        print(f"{failed} of {len(missing)} trainings failed; the same command tries them again")
    return not failed


def _bar() -> Progress:
    columns = (TextColumn("campaign"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, TextColumn("{task.fields[left]}"), console=Console(soft_wrap=True))


def _reason(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"
