"""Notebooks as rules: which records each reads, which files it writes, and how it is executed reproducibly.

`python -m maskprior.build.notebooks table1 --executed results/logs/table1.ipynb` executes notebooks/table1.py.
"""

import argparse
import functools
import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from maskprior import paths
from maskprior.config.base import Section
from maskprior.errors import UserError
from maskprior.files import write_atomically

# Figures carry dates otherwise. The day is the paper's month; only that it is fixed matters.
SOURCE_DATE_EPOCH = "1785542400"


class Notebook(Section):
    """An entry of config/notebooks.yaml."""

    targets: list[str] = Field(description="the words that ask for it: table1, figure4, claims, …")
    records: list[str] = Field(description="the targets whose records it reads (`all`: every record)")
    reads: list[str] = Field(default=[], description="files it reads beside records, as patterns (paper/*.tex)")
    outputs: list[str] = Field(description="the files it writes")


def read_notebooks() -> dict[str, Notebook]:
    """config/notebooks.yaml: the name of a file in notebooks/ (without .py) -> its entry."""
    return _parse((paths.config() / "notebooks.yaml").read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=8)
def _parse(text: str) -> dict[str, Notebook]:
    try:
        return TypeAdapter(dict[str, Notebook]).validate_python(yaml.safe_load(text) or {})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(f"config/notebooks.yaml: {key}: {first['msg'][0].lower()}{first['msg'][1:]}") from None


def execute(source: Path, executed: Path, parameters: dict[str, Any]) -> None:
    """Execute a percent-format notebook; the executed copy is written also when a cell fails (the error is raised).

    Equal sources, parameters and records give equal bytes in `executed`.
    """
    import jupytext
    import papermill

    os.environ["SOURCE_DATE_EPOCH"] = SOURCE_DATE_EPOCH
    # The kernel is another process: it must find the same package as this one.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(paths.package().parent), *_set("PYTHONPATH")])
    notebook = jupytext.read(source)
    notebook.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
    executed.parent.mkdir(parents=True, exist_ok=True)
    jupytext.write(notebook, executed, fmt="ipynb")
    try:
        papermill.execute_notebook(
            executed, executed, parameters=parameters, cwd=paths.root(), progress_bar=False, log_output=False
        )
    finally:
        write_atomically(executed, normalised(executed.read_bytes()))


def normalised(content: bytes) -> bytes:
    """An executed notebook without what differs from one execution to the next: timing, ids, interpreter version."""
    notebook = json.loads(content)
    notebook["metadata"].pop("papermill", None)
    notebook["metadata"].get("language_info", {}).pop("version", None)
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{number:03d}"
        cell["metadata"].pop("papermill", None)
        cell["metadata"].pop("execution", None)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _set(variable: str) -> list[str]:
    return [value] if (value := os.environ.get(variable)) else []


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m maskprior.build.notebooks", description=__doc__)
    parser.add_argument("name", help="a file in notebooks/, without .py")
    parser.add_argument("--executed", type=Path, required=True, help="where the executed copy goes")
    parser.add_argument("--scale", default="reduced")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--recompute", action="store_true")
    chosen = parser.parse_args(arguments)
    parameters = {"scale": chosen.scale, "seeds": chosen.seeds, "recompute": chosen.recompute}
    execute(paths.root() / "notebooks" / f"{chosen.name}.py", chosen.executed, parameters)
    return 0


if __name__ == "__main__":
    sys.exit(main())
