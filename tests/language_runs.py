"""Small language runs that the tests share."""

from typing import Any

from maskprior.config.language import LanguageConfig
from maskprior.runs.spec import make_run, resolve


def smoke(task: str = "wikitext2", method: str = "mask", **changes: Any) -> LanguageConfig:
    """The smoke configuration with changes on top; a dict changes single values of a section."""
    values = resolve(make_run("language", task, method, scale="smoke")).model_dump()
    for name, value in changes.items():
        values[name] = values[name] | value if isinstance(value, dict) else value
    return LanguageConfig.model_validate(values)
