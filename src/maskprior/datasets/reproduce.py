"""`python -m maskprior.datasets.reproduce NAME`: run the DVC stage of a data set, waiting while another DVC is at work.

This is what Snakemake's dataset rule calls: DVC itself refuses to start beside another one.
"""

import subprocess
import sys

from filelock import FileLock

from maskprior import paths
from maskprior.datasets.registry import load
from maskprior.errors import DATA, UserError


def reproduce(name: str) -> None:
    """`dvc repro NAME`; UserError (3) if its stage fails (the stage has then said why)."""
    load()[name]
    state = paths.root() / ".dvc"
    if not state.is_dir():
        raise UserError(f"{paths.root()} has no .dvc folder; use a clone or an archive of the whole project", DATA)
    (state / "tmp").mkdir(exist_ok=True)
    dvc = [sys.executable, "-m", "dvc"]
    with FileLock(state / "tmp" / "maskprior.lock"):
        if not (paths.root() / ".git").exists():  # an archive, not a clone: DVC must be told
            subprocess.run([*dvc, "config", "--local", "core.no_scm", "true"], cwd=paths.root(), check=True)
        done = subprocess.run([*dvc, "repro", name], cwd=paths.root(), check=False)
    if done.returncode:
        raise UserError(f"data set {name}: dvc repro {name} failed, the reason stands above", DATA)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m maskprior.datasets.reproduce NAME")
    try:
        reproduce(sys.argv[1])
    except UserError as error:
        print(f"maskprior: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
