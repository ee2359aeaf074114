"""Campaigns: the order of their runs by hand, and real trainings at smoke scale, one of them killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maskprior import paths
from maskprior.config.settings import read_settings
from maskprior.errors import UserError
from maskprior.evidence.campaign import in_rounds, missing_runs
from maskprior.runs.spec import make_run
from maskprior.runs.store import record_path

CELLS = [("threesym", "default"), ("2parity", "default"), ("2parity", "mask")]


def run(task, method, seed):
    return make_run("boolean", task, method, scale="smoke", seed=seed)


def test_rounds_are_seeds_and_short_tasks_come_first():
    runs = [run(*cell, seed) for cell in CELLS for seed in (0, 1)]
    hours = {one: {"threesym": 2.0, "2parity": 1.0}[one.task] for one in runs}
    expected = ["2parity/default", "2parity/mask", "threesym/default"]
    assert [f"{one.task}/{one.method} {one.seed}" for one in in_rounds(runs, hours)] == [
        f"{cell} {seed}" for seed in (0, 1) for cell in expected
    ]


def test_a_file_of_targets_and_runs(tmp_path: Path):
    file = tmp_path / "campaign.txt"
    file.write_text("# the first round\nboolean/2parity/mask/seed0\n\nboolean/2parity/default/seed0  # and its twin\n")
    runs = missing_runs([str(file), "boolean/2parity/mask/seed0"], read_settings({"scale": "smoke"}))
    assert runs == [run("2parity", "mask", 0), run("2parity", "default", 0)]


def test_an_empty_file_is_named(tmp_path: Path):
    file = tmp_path / "campaign.txt"
    file.write_text("# nothing yet\n")
    with pytest.raises(UserError, match=r"campaign\.txt: no target and no run in it"):
        missing_runs([str(file)], read_settings({"scale": "smoke"}))


def start(project: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "maskprior", "campaign", *words, "--scale", "smoke", "--jobs", "2"]
    return subprocess.Popen(
        command,
        cwd=project,
        env=os.environ | {"MASKPRIOR_ROOT": str(project)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


RUNS = ("boolean/2parity/mask/seed1", "boolean/2parity/mask/seed0")


@pytest.mark.slow
def test_a_killed_campaign_goes_on_and_ends_with_the_same_records(project: Path, trained: Path):
    campaign = start(project, *RUNS)
    logs = [project / "results" / "logs" / "campaign" / "smoke" / f"{name}.log" for name in RUNS]
    while campaign.poll() is None and not all(log.exists() for log in logs):
        time.sleep(0.05)
    assert os.getpriority(os.PRIO_PROCESS, campaign.pid) == 19
    assert os.sched_getscheduler(campaign.pid) == os.SCHED_IDLE
    time.sleep(1.0)
    os.killpg(campaign.pid, signal.SIGKILL)
    campaign.communicate()

    told, _ = (again := start(project, *RUNS)).communicate()
    assert again.returncode == 0, told
    # Seed 0 comes first, whatever the order of the words.
    assert "runs to train, 2 at a time, about " in told
    for seed in (0, 1):
        record = record_path(make_run("boolean", "2parity", "mask", scale="smoke", seed=seed), "local")
        expected = trained / record.relative_to(paths.results("local"))
        assert record.with_suffix(".safetensors").read_bytes() == expected.with_suffix(".safetensors").read_bytes()
        found, whole = (json.loads(path.read_text()) for path in (record, expected))
        assert found["metrics"] == whole["metrics"]

    told, _ = start(project, *RUNS).communicate()
    assert "0 runs to train" in told


@pytest.mark.slow
def test_a_round_is_published_when_it_is_through(repository: Path):
    campaign = start(repository, *RUNS, "--publish")
    told, _ = campaign.communicate()
    assert campaign.returncode == 0, told
    assert told.count("tracked and pushed") >= 1
    assert len(list((repository / "results" / "published").rglob("seed*.json"))) == 2


@pytest.mark.slow
def test_a_failed_training_is_named_and_stops_no_other(project: Path):
    # A folder lies where the record of seed 0 belongs.
    record_path(run("2parity", "mask", 0), "local").with_suffix(".safetensors").mkdir(parents=True)
    campaign = start(project, *RUNS)
    told, _ = campaign.communicate()
    assert campaign.returncode == 1
    assert "failed   boolean/2parity/mask/seed0: " in told
    assert "trained  boolean/2parity/mask/seed1" in told
    assert "1 of 2 trainings failed; the same command tries them again" in told


@pytest.mark.slow
def test_two_processes_never_train_the_same_run_at_once(project: Path):
    words = [sys.executable, "-m", "maskprior", "run", "boolean", "2parity", "mask", "--scale", "smoke"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = sorted(process.communicate()[1] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert sum("is trained by another process; waiting" in text for text in told) == 1
    assert sum("is there already" in text for text in told) == 1
