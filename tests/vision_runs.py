"""Vision configurations that the tests of the science share."""

from typing import Any

from maskprior.config.vision import VisionConfig
from maskprior.runs.spec import make_run, resolve

METHODS = ("default", "mimetic", "impulse", "mask_fixed", "mask")


def changed(config: VisionConfig, **changes: Any) -> VisionConfig:
    """The configuration with changes on top; a dict changes single values of a section."""
    values = config.model_dump()
    del values["optimizer"]["steps"]  # follows from the epochs
    for name, value in changes.items():
        values[name] = values[name] | value if isinstance(value, dict) else value
    return VisionConfig.model_validate(values)


def smoke(task: str = "cifar10", method: str = "mask", **changes: Any) -> VisionConfig:
    config = resolve(make_run("vision", task, method, scale="smoke"))
    assert isinstance(config, VisionConfig)
    return changed(config, **changes)


def paper(task: str = "cifar10", method: str = "mask", **changes: Any) -> VisionConfig:
    config = resolve(make_run("vision", task, method, scale="paper"))
    assert isinstance(config, VisionConfig)
    return changed(config, **changes)
