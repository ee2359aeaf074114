"""The profile for Slurm on a real Slurm: the same records as locally."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import HERE, Project
from slurm import running, why_not

PLUGINS = HERE / ".venv" / "cluster"

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "Slurm"),
    pytest.mark.skipif(not PLUGINS.exists(), reason="the plugins of requirements/cluster.txt are not in .venv/cluster"),
]
# What this one node has in place of a real cluster: its partition, no accounting, little memory.
HERE_ONLY = (
    *("--default-resources", "slurm_partition=debug", "mem_mb=500", "runtime=10"),
    *("--set-resources", "train:mem_mb=500", "train:slurm_partition=debug"),
    *("--slurm-status-command", "squeue", "--slurm-no-account", "--slurm-init-seconds-before-status-checks", "2"),
    *("--seconds-between-status-checks", "2", "--latency-wait", "10"),
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[None]:
    with running(tmp_path):
        yield


def numbers(path: Path) -> tuple[object, bytes]:
    return json.loads(path.read_text())["metrics"], path.with_suffix(".safetensors").read_bytes()


@pytest.mark.usefixtures("cluster")
def test_table1_has_the_same_records_as_locally(clone: Project) -> None:
    profile = clone.folder / "workflow" / "profiles" / "slurm"
    words = ("--profile", str(profile), *HERE_ONLY, "--config", "recompute=true", "--", "table1")
    clone.call("snakemake", *words, PYTHONPATH=f"{clone.folder / 'src'}:{PLUGINS}")
    trained = clone.records("local")
    assert len(trained) >= 20
    for record in trained:
        published = clone.folder / "results" / "published" / record.relative_to(clone.folder / "results" / "local")
        assert numbers(record) == numbers(published), record
