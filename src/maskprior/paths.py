"""Where things lie in the project. `MASKPRIOR_ROOT` points all of them at another project folder."""

import os
from pathlib import Path


def root() -> Path:
    return Path(os.environ.get("MASKPRIOR_ROOT") or Path(__file__).resolve().parents[2])


def package() -> Path:
    """The folder of the package's own source, whose syntax trees are part of every run's identity."""
    return Path(__file__).resolve().parent


def config() -> Path:
    return root() / "config"


def data() -> Path:
    return root() / "data"


def results(kind: str) -> Path:
    """`published` (the evidence, restored by DVC) or `local` (what this machine trained)."""
    return root() / "results" / kind


def checkpoints() -> Path:
    return root() / "results" / "checkpoints"
