"""Everything that a training's future depends on, in a file: what is killed goes on where it was, bit for bit.

Two generations are kept, `name.pt` and `name.previous.pt`. A file that cannot be read is set aside under `.damaged`,
and the training goes on from the generation before it, or from the beginning.
"""

import io
import os
import sys
from pathlib import Path
from typing import Any

import torch

from maskprior.files import write_atomically


def save(path: Path, state: dict[str, Any]) -> None:
    """Write the state and the random streams of torch; what was there becomes the previous generation."""
    buffer = io.BytesIO()
    random = {
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    torch.save(state | random, buffer)
    if path.exists():
        os.replace(path, previous(path))
    write_atomically(path, buffer.getvalue())


def load(path: Path) -> dict[str, Any] | None:
    """The newest state that can be read, with torch's random streams set to where they were; None if there is none."""
    for file in (path, previous(path)):
        if not file.exists():
            continue
        try:
            state: dict[str, Any] = torch.load(file, weights_only=True, map_location="cpu")
            torch.set_rng_state(state["random"])
        except Exception as error:  # torch.load has no list of what a damaged file makes it raise
            aside = file.with_name(f"{file.name}.damaged")
            os.replace(file, aside)
            reason = " ".join(str(error).split())[:80] or type(error).__name__
            print(f"checkpoint {file.name}: damaged ({reason}); set aside as {aside.name}", file=sys.stderr)
            continue
        if state["random_cuda"]:
            torch.cuda.set_rng_state_all(state["random_cuda"])
        return state
    return None


def remove(path: Path) -> None:
    """Both generations, when the run is done."""
    for file in (path, previous(path)):
        file.unlink(missing_ok=True)


def previous(path: Path) -> Path:
    return path.with_name(f"{path.stem}.previous{path.suffix}")
