"""What is learned: a task is one file in tasks/<experiment>/ that bears the task's name and holds the object `TASK`.

A file is found by its name, and no file imports its neighbours. So a new task is a new file, and the identity of no
other task's runs depends on it. Numpy only.
"""

import importlib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def names(experiment: str) -> list[str]:
    """The tasks an experiment has files of, sorted; none where a task is nothing but its data and configuration."""
    return sorted(file.stem for file in (FOLDER / experiment).glob("*.py") if file.stem != "__init__")


def find(experiment: str, name: str) -> Any:
    """The task's object. ValueError, with the known names, for an unknown one."""
    known = names(experiment)
    if name not in known:
        raise ValueError(f"task: {name} is not a task of {experiment}: {', '.join(known)}")
    return importlib.import_module(f"{__name__}.{experiment}.{name}").TASK
