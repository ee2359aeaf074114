"""`make reproduce`: restore and verify the records, rebuild everything from them, and say briefly what came of it.

What the programs themselves print goes to results/logs/reproduce.log. What is up to date is not done again: a stamp
holds the state (path, time of change, size) of every file that went in and came out.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from maskprior import paths
from maskprior.files import write_atomically
from maskprior.runs.fingerprint import folder_state
from maskprior.runs.store import relative

PLACES = """\
start here build/index.html (the answer, every claim and its evidence, in one file)
paper      paper/main.pdf
tables     paper/generated/*.tex and *.csv
figures    paper/generated/*.pdf and *.png
results    build/results.csv.gz (every number, one a line)
report     build/report.html
notebooks  results/logs/notebooks/*.ipynb (executed)"""
VERIFIED = ("src/maskprior", "config", "results/published")
REBUILT = (
    *(*VERIFIED, "results/local", "notebooks", "paper", "workflow", "Snakefile"),
    *("build/report.html", "build/results.csv.gz", "build/index.html", "docs"),
)
# The first lines of a program's output that say why it failed.
REASON = re.compile(r"^(snakemake|maskprior): |^Error in rule|^\w*(Error|Exception)\b.*:|^results/|failed|\bERROR\b")
REASONS = 12
# `total  24` in the list of jobs, and `3 of 24 steps (12%) done` after each of them.
STEPS = re.compile(r"^total +(\d+)|^(\d+) of (\d+) steps")


class Failed(Exception):
    """A program that ended with an error, after what it printed went to the log."""


def main() -> int:
    log().parent.mkdir(parents=True, exist_ok=True)
    log().write_text("")
    try:
        reproduce()
    except Failed as failure:
        print(f"make reproduce: {failure}", file=sys.stderr)
        return 1
    return 0


def reproduce() -> None:
    stamp = paths.root() / "build" / "reproduced.txt"
    if (told := _read(stamp, REBUILT)) is not None:
        print("Everything is up to date: no file has changed since it was built.", told, sep="\n")
    else:
        records = _verified()
        print(f"records    {records}", flush=True)
        _rebuild()
        pdf = (paths.root() / "results" / "logs" / "paper.log").read_text().splitlines()
        verdicts = _call("read the verdicts", sys.executable, "-m", "maskprior", "claims")
        told = "\n".join([*(f"pdf        {line}" for line in pdf[-1:]), f"verdicts   {_indented(verdicts)}"])
        _write(stamp, REBUILT, told)
        print(told)
    print(PLACES, f"log        {relative(log())}", sep="\n")


def log() -> Path:
    return paths.root() / "results" / "logs" / "reproduce.log"


def _verified() -> str:
    """What verification said of the records: now, or when they, the code and the configuration were the same."""
    stamp = paths.root() / "build" / "verified.txt"
    told = _read(stamp, VERIFIED)
    if told is None:
        print("Restoring the published records and verifying them …", flush=True)
        told = _call("restore and verify the records", "make", "--no-print-directory", "restore")[-1]
        _write(stamp, VERIFIED, told)
    return told


def _rebuild() -> None:
    """Everything the workflow knows, and its report, from one look at the files."""
    command = ["snakemake", "--cores", "all", "--report", "build/report.html", "--report-after-run", "--", "all"]
    bar = Progress(
        TextColumn("rebuilding"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stdout),
    )
    with bar:
        task = bar.add_task("rebuilding", total=None)
        for line in _lines("rebuild everything", sys.executable, "-m", *command):
            if match := STEPS.match(line):
                total, done, of = match.groups()
                bar.update(task, total=int(total or of), completed=int(done or 0))
        # Nothing was out of date: there was no list of jobs.
        if bar.tasks[0].total is None:
            bar.update(task, total=0)


def _call(what: str, *command: str) -> list[str]:
    return list(_lines(what, *command))


def _lines(what: str, *command: str) -> Iterator[str]:
    """The lines a program prints, as they come, also into the log. Failed shows the first useful ones."""
    # A make inside a make would look for the other one's jobs.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    printed = []
    with log().open("a", encoding="utf-8") as file:
        print("$", *command, file=file, flush=True)
        with subprocess.Popen(
            command,
            cwd=paths.root(),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as program:
            assert program.stdout is not None
            for line in program.stdout:
                file.write(line)
                file.flush()
                if text := line.rstrip():
                    printed.append(text)
                    yield text
    if program.returncode:
        shown = useful(printed)
        raise Failed(f"could not {what}\n" + "\n".join(shown) + f"\nAll of the output: {relative(log())}")


def useful(lines: list[str]) -> list[str]:
    """The first lines that name a reason; the last ones where none does."""
    return (
        list(dict.fromkeys(line.strip() for line in lines if REASON.search(line.strip())))[:REASONS] or lines[-REASONS:]
    )


def _indented(lines: list[str]) -> str:
    return ("\n" + " " * len("verdicts   ")).join(lines)


def _read(stamp: Path, places: tuple[str, ...]) -> str | None:
    """What was told when the stamp was written; None if a file has changed since, or nothing was told."""
    digest, _, told = stamp.read_text(encoding="utf-8").partition("\n") if stamp.exists() else ("", "", "")
    return told if digest == _digest(places) else None


def _write(stamp: Path, places: tuple[str, ...], told: str) -> None:
    write_atomically(stamp, f"{_digest(places)}\n{told}".encode())


def _digest(places: tuple[str, ...]) -> str:
    """Hash of the state of all files in these places, of the environment and of whether there is LaTeX."""
    found: list[object] = [sys.prefix, sys.version, shutil.which("latexmk")]
    for place in (*places, ".venv/report/.installed"):
        path = paths.root() / place
        status = path.stat() if path.is_file() else None
        found.append(folder_state(path) if status is None else (place, status.st_mtime_ns, status.st_size))
    return hashlib.sha256(repr(found).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
