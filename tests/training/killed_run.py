"""Execute a smoke run and end it by SIGKILL: at a step, or while it writes a checkpoint.

`keep` is before the last checkpoint becomes the previous one, `write` before the new one is renamed into place.

usage: python killed_run.py STEP step|keep|write SECONDS_BETWEEN_CHECKPOINTS [EXPERIMENT TASK METHOD]
"""

import os
import signal
import sys

from maskprior.runs.environment import pin

pin()

from maskprior.experiments.run import execute  # noqa: E402
from maskprior.runs.spec import make_run  # noqa: E402
from maskprior.training import loop  # noqa: E402

last, where, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
loop.CHECKPOINT_SECONDS = seconds
rename = os.replace


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_the_second(old: object, new: object) -> None:
    rename(old, new)
    os.replace = die


def progress(step: int, steps: int, loss: float) -> None:
    if step == last and where == "step":
        die()
    os.replace = {"keep": die, "write": die_at_the_second}.get(where, rename) if step == last else rename


experiment, task, method = sys.argv[4:] or ("boolean", "2parity", "mask")
execute(make_run(experiment, task, method, scale="smoke"), device="cpu", progress=progress)
