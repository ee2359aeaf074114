"""Small Boolean runs that the tests of the science share."""

from typing import Any

from maskprior import tasks
from maskprior.config.boolean import BooleanConfig
from maskprior.patterns.pattern import Pattern
from maskprior.runs.spec import make_run, resolve

METHODS = ("default", "structured_svd", "structured_opt", "mask", "mask_zero", "mask_fixed")
TASKS = ("2parity", "cyclic3", "majority3", "threesym")


def smoke(task: str = "2parity", method: str = "mask", **changes: Any) -> BooleanConfig:
    """The smoke configuration with changes on top; a dict changes single values of a section."""
    config = resolve(make_run("boolean", task, method, scale="smoke"))
    values = config.model_dump()
    for name, value in changes.items():
        values[name] = values[name] | value if isinstance(value, dict) else value
    return BooleanConfig.model_validate(values)


def pattern(task: str, name: str, **shape: int) -> Pattern:
    """A Boolean task's pattern; `shape`: layers, heads, tokens."""
    found: Pattern = tasks.find("boolean", task).patterns[name](**shape)
    return found
