"""The real command, in processes of its own, in a copy of the project."""

import json
import math
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from project import Project, copy_sources, environment, write_yaml

from maskprior.runs.record import copy_record

RUN = ("run", "boolean", "2parity", "mask", "--scale", "smoke")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project at smoke scale with one seed and two cells in its only target."""
    project = Project(tmp_path_factory.mktemp("copied"))
    copy_sources(project.folder)
    write_yaml(project.folder / "config" / "config.yaml", scale="smoke", seeds=1, device="cpu")
    cells = {"methods": ["default", "mask"], "tasks": ["2parity"]}
    for file in (project.folder / "config" / "experiments").glob("*.yaml"):
        write_yaml(file, targets={"table1": cells} if file.stem == "boolean" else {})
    return project


@pytest.fixture(scope="module")
def trained(copied: Project) -> Project:
    """The project with the local records of table1."""
    for method in ("default", "mask"):
        copied.maskprior("run", "boolean", "2parity", method)
    return copied


def streams(project: Project, *words: str, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *python, "-m", "maskprior", *words],
        cwd=project.folder, env=environment(project.folder), capture_output=True, text=True, check=False,
    )  # fmt: skip


def snapshot(project: Project) -> set[Path]:
    return {path for path in project.folder.rglob("*") if "__pycache__" not in path.parts}


# ---- fast, and without what a reader does not have -------------------------------------------------------------


@pytest.mark.parametrize("words", [("--help",), ("plan", "--help"), ("data", "--help")])
def test_help_needs_none_of_the_heavy_packages(copied: Project, words: tuple[str, ...]) -> None:
    done = streams(copied, *words, python=("-X", "importtime"))
    assert done.returncode == 0
    assert "Usage: " in done.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "maskprior.cli" in imported
    assert imported.isdisjoint({"torch", "pandas", "matplotlib", "scipy", "numpy"})


# scipy looks into sys.modules for torch, so that `None` there, which forbids an import too, confuses it.
WITHOUT_TORCH = """
import importlib.abc, sys

class NoTorch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is not to be had")

sys.meta_path.insert(0, NoTorch())
from maskprior.cli import main
main()
"""


@pytest.mark.parametrize("words", [("plan",), ("show", "boolean/2parity/mask/seed0"), ("verify",), ("claims",)])
def test_a_reader_needs_no_torch(trained: Project, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *words],
        cwd=trained.folder, env=environment(trained.folder), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == (3 if words == ("verify",) else 0), done.stderr


def test_version_and_every_command_of_the_manual(copied: Project) -> None:
    assert copied.maskprior("--version").startswith("maskprior ")
    told = copied.maskprior("--help")
    commands = ("plan", "run", "dry-run", "show", "compare", "verify", "publish", "rekey", "golden", "data", "claims")
    for command in commands:
        assert f" {command} " in told


# ---- mistakes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "bolean", "2parity", "mask"), "experiment: 'bolean' unknown (did you mean boolean? allowed: "),
        (("run", "boolean", "2party", "mask"), "boolean.yaml: task: '2party' unknown (did you mean 2parity? allowed: "),
        (("run", "boolean", "2parity", "msk"), "boolean.yaml: method: 'msk' unknown (did you mean mask? allowed: "),
        (("run", "boolean", "2parity", "impulse"), "boolean.yaml: method: 'impulse' unknown (allowed: default, "),
        ((*RUN, "--seed", "-1"), "seed: -1 is negative (allowed: 0, 1, 2, …)"),
        ((*RUN, "--device", "gpu"), "device: 'gpu' unknown (allowed: auto, cpu, cuda)"),
        ((*RUN[:-1], "huge"), "scale: 'huge' unknown (allowed: smoke, reduced, paper)"),
        (("plan", "table12"), "target: 'table12' unknown (did you mean table1? allowed: all, table1)"),
        (("plan", "--only", "lost"), "--only: 'lost' unknown (allowed: published, local, missing)"),
        (("plan", "--format", "csv"), "--format: 'csv' unknown (allowed: table, tsv, paths)"),
        (("plan", "--seeds", "0"), "command line: seeds: 0: input should be greater than or equal to 1"),
        (("show", "boolean/2parity/mask"), "not a run's name (expected: experiment/task/method[+variant]/seed<k>)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_line_with_exit_code_2_and_writes_nothing(
    copied: Project, words: tuple[str, ...], message: str
) -> None:
    before = snapshot(copied)
    done = streams(copied, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("maskprior: ")
    assert message in done.stderr
    assert snapshot(copied) == before


@pytest.mark.parametrize(
    ("file", "edit", "message"),
    [
        ("config.yaml", lambda text: text + "seed: 1\n", "config/config.yaml: seed: unknown key (did you mean seeds? "),
        ("config.yaml", lambda text: text.replace("scale: smoke", ""), "config/config.yaml: scale: missing (allowed: "),
        ("config.yaml", lambda text: text + "seeds: 2\n", "config/config.yaml: line 5, column 1: seeds: given twice"),
        (
            "experiments/boolean.yaml",
            lambda text: text.replace("heads: 3", "haeds: 3"),
            "experiments/boolean.yaml: defaults.model.haeds: unknown key (did you mean heads? allowed: ",
        ),
        (
            "experiments/boolean.yaml",
            lambda text: text.replace("pattern: perm", "pattern: identity"),
            "experiments/boolean.yaml: pattern: identity is not a pattern of 2parity: perm, ",
        ),
        ("experiments/boolean.yaml", lambda text: text + "\n- x\n", "config/experiments/boolean.yaml: line "),
    ],
    ids=["unknown key", "missing scale", "twice", "unknown key of a run", "impossible pair", "not YAML"],
)
def test_a_mistake_in_a_file_names_file_key_and_choices(
    copied: Project, file: str, edit: Callable[[str], str], message: str
) -> None:
    path = copied.folder / "config" / file
    whole = path.read_text()
    assert edit(whole) != whole
    before = snapshot(copied)
    path.write_text(edit(whole))
    try:
        done = streams(copied, "run", "boolean", "2parity", "mask")
    finally:
        path.write_text(whole)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
    assert snapshot(copied) == before


def test_cuda_is_refused_before_training_where_there_is_none(copied: Project) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    before = snapshot(copied)
    done = streams(copied, *RUN, "--seed", "9", "--device", "cuda")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no usable CUDA device (allowed: auto, cpu)" in done.stderr
    assert snapshot(copied) == before


def test_usage_errors_have_exit_code_2(copied: Project) -> None:
    assert streams(copied, "run", "boolean").returncode == 2
    assert streams(copied, "nothing").returncode == 2


# ---- what people do --------------------------------------------------------------------------------------------


def test_a_plan_names_the_files_that_runs_then_write(copied: Project) -> None:
    seed = ("--seed", "3")
    planned = copied.maskprior("plan", "boolean/2parity/mask/seed3", "--format", "paths").strip()
    assert not (copied.folder / planned).exists()
    done = streams(copied, *RUN, *seed)
    assert done.returncode == 0
    assert done.stdout == planned + "\n"
    written = (copied.folder / planned).read_bytes()
    again = streams(copied, *RUN, *seed)
    assert (again.returncode, again.stdout) == (0, planned + "\n")
    assert "is there already" in again.stderr
    assert (copied.folder / planned).read_bytes() == written
    assert copied.maskprior("plan", "boolean/2parity/mask/seed3", "--format", "tsv").splitlines() == [
        "source\trun\tpath",
        f"local\tboolean/2parity/mask/seed3\t{planned}",
    ]
    assert copied.maskprior("plan", "boolean/2parity/mask/seed3", "--only", "missing", "--format", "paths") == ""


def test_a_dry_run_says_what_a_run_would_cost_and_writes_nothing(copied: Project) -> None:
    before = snapshot(copied)
    told = copied.maskprior("dry-run", "vision", "cifar10", "mask", "--scale", "smoke", "--memory", "2")
    values = {line[:24].strip(): line[24:].strip() for line in told.splitlines()}
    assert values["run"] == "vision/cifar10/mask/seed0 at scale smoke, on the CPU; nothing was written"
    assert values["inputs"] == "the run's own data"
    assert values["parameters"] == "13,234, of which M 1,734; trained 13,234"
    assert values["steps"] == "12"
    assert values["rate, start"] == "1e-06 (step 0)"
    assert "minutes on one thread" in values["estimated time"]
    assert snapshot(copied) == before


def test_recompute_gives_the_same_numbers_and_another_seed_others(trained: Project) -> None:
    def numbers(*words: str) -> tuple[object, ...]:
        path = trained.folder / streams(trained, *RUN, *words).stdout.strip()
        record = json.loads(path.read_text())
        return record["metrics"], record["loss_head"], record["arrays_sha256"]

    first = numbers()
    assert numbers("--recompute") == first
    other = numbers("--seed", "1")
    assert other[0] != first[0]
    assert other[1] != first[1]


def test_show_puts_the_published_value_beside_the_run(trained: Project) -> None:
    told = trained.maskprior("show", "boolean/2parity/mask/seed0")
    loss = next(line.split() for line in told.splitlines() if line.startswith("test_loss"))
    assert loss[2:] == ["0.0029,", "0.02", "4"]  # Tables 1 and 4, and the exact minimum-degree interpolator's
    assert "this run is at scale smoke" in told
    path = trained.maskprior("plan", "boolean/2parity/mask/seed0", "--format", "paths").strip()
    assert trained.maskprior("show", path) == told


def test_evidence_from_training_to_a_moved_code(trained: Project, tmp_path: Path) -> None:
    """run -> publish -> verify -> compare -> the code moves -> rekey -> verify, with git and DVC."""
    project = Project(tmp_path / "clone")
    project.folder.mkdir()
    for name in ("config", "src", ".gitignore"):
        project.call("cp", "-r", str(trained.folder / name), name)
    for path in trained.records("local"):
        if path.name.startswith("seed0-"):
            copy_record(path, project.folder / path.relative_to(trained.folder))
    boolean = project.folder / "config" / "experiments" / "boolean.yaml"  # a few golden records are enough here
    file = yaml.safe_load(boolean.read_text())
    few = {"tasks": ["2parity"], "methods": ["default", "mask"]}
    write_yaml(boolean, **{section: {name: file[section][name] for name in names} for section, names in few.items()})
    project.call("git", "init", "--quiet")
    project.call("dvc", "init", "--quiet")
    project.call("dvc", "remote", "add", "--quiet", "--default", "inside", "artifacts/dvc-remote")
    project.maskprior("golden", "--write")

    assert "smoke records say nothing" in project.maskprior("publish", expect=2)
    assert "2 records published" in project.maskprior("publish", "table1", "--scale", "smoke")
    assert "2 of 2 published records (2 smoke) are there and intact" in project.maskprior("verify")
    assert "equal bit for bit" in project.maskprior("compare", "boolean", "2parity", "mask", "--seed", "0")

    local = next(path for path in project.records("local") if "/mask/" in path.as_posix())
    record = json.loads(local.read_text())
    record["metrics"]["test_loss"] = math.nextafter(record["metrics"]["test_loss"], 9)
    local.write_text(json.dumps(record))
    assert "NOT EQUAL on the same device class" in project.maskprior("compare", "table1", expect=4)

    source = project.folder / "src" / "maskprior" / "attention.py"
    source.write_text(source.read_text() + "\n\nUNUSED = 1\n")
    assert "; 2 problems are named above" in project.maskprior("verify", expect=3)
    assert "4 records re-stamped, 0 stay stale" in project.maskprior("rekey")
    assert "2 of 2 published records (2 smoke) are there and intact" in project.maskprior("verify")
    assert "re-stamped" in project.maskprior("show", "boolean/2parity/mask/seed0")
    assert project.call("dvc", "status", "--json").strip() == "{}"

    changed = source.read_text().replace("/ math.sqrt(", "* math.sqrt(")
    assert changed != source.read_text()
    source.write_text(changed)
    before = {path: path.read_bytes() for path in project.records("published")}
    assert "golden boolean records moved" in project.maskprior("rekey", expect=4)
    assert {path: path.read_bytes() for path in project.records("published")} == before


def test_a_bar_with_loss_and_time_left_on_a_terminal(trained: Project) -> None:
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "maskprior", *RUN, "--recompute"],
        cwd=trained.folder, env=environment(trained.folder) | {"TERM": "xterm", "COLUMNS": "120"},
        stdout=subprocess.DEVNULL, stderr=follower,
    )  # fmt: skip
    os.close(follower)
    told = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        told += chunk
    os.close(leader)
    assert child.wait() == 0
    assert b"loss" in told
    assert b"left" in told


def test_ctrl_c_ends_without_a_record_and_without_a_traceback(trained: Project) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "maskprior", "run", "boolean", "2parity", "mask", "--scale", "reduced"],
        cwd=trained.folder, env=environment(trained.folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background inherit it ignored
    )  # fmt: skip
    assert child.stderr is not None
    assert "at scale reduced on cpu" in child.stderr.readline()
    time.sleep(2.0)
    child.send_signal(signal.SIGINT)
    out, error = child.communicate()
    assert child.returncode not in (0, -signal.SIGINT)
    assert out == ""
    assert "Traceback" not in error
    assert not [path for path in trained.records("local") if "/reduced/" in path.as_posix()]


def test_a_claim_that_is_not_there_is_one_short_line(copied: Project) -> None:
    done = streams(copied, "claims", "boolean-mask-beat-default")
    assert done.returncode == 2
    told = "did you mean boolean-mask-beats-default? `maskprior claims --all` lists them all"
    assert done.stderr == f"maskprior: claim: 'boolean-mask-beat-default' unknown ({told})\n"
