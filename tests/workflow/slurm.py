"""A real Slurm of one node on this machine, with two cards that are empty files. It takes root and no other Slurm."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CONFIGURATION = Path("/etc/slurm")
OURS = "# Written by the tests of maskprior; they remove it again.\n"
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "munged")
WAIT_SECONDS = 60.0

SLURM = """\
ClusterName=local
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MinJobAge=300
SlurmdTimeout=10
ReturnToService=2
GresTypes=gpu
DefMemPerCPU=1000
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 Gres=gpu:2 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Why no Slurm can be started here; empty where it can."""
    if os.geteuid() != 0:
        return "starting Slurm takes root"
    if missing := [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")]:
        return f"Slurm is not installed ({', '.join(missing)})"
    file = CONFIGURATION / "slurm.conf"
    if file.exists() and not file.read_text().startswith(OURS):
        return "this machine has a Slurm of its own"
    return ""


def pids(name: str) -> list[int]:
    return [int(word) for word in subprocess.run(["pgrep", name], capture_output=True, text=True).stdout.split()]


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_until(true: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.2)


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """Start munge, the controller and the node; stop them and remove their configuration."""
    host = socket.gethostname().partition(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    for card in ("card0", "card1"):
        (folder / card).touch()
    written = {
        "slurm.conf": SLURM.format(host=host, folder=folder),
        "gres.conf": f"NodeName={host} Name=gpu File={folder}/card[0-1]\n",
    }
    for name, text in written.items():
        (CONFIGURATION / name).write_text(OURS + text)
    try:
        if not pids("munged"):
            subprocess.run(["install", "-d", "-o", "munge", "-g", "munge", "-m", "755", "/run/munge"], check=True)
            subprocess.run(["runuser", "-u", "munge", "--", "/usr/sbin/munged"], check=True)
        subprocess.run(["/usr/sbin/slurmctld", "-c"], check=True)
        subprocess.run(["/usr/sbin/slurmd", "-c"], check=True)
        idle = ["sinfo", "--noheader", "--format=%T"]
        wait_until(lambda: subprocess.run(idle, capture_output=True, text=True).stdout.strip() == "idle", "the node")
        yield
    finally:
        subprocess.run(["scancel", "--user=root"], check=False)
        for daemon in ("slurmd", "slurmctld"):
            for pid in pids(f"^{daemon}"):
                kill(pid)
        for name in written:
            (CONFIGURATION / name).unlink()
