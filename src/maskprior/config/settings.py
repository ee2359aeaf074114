"""config/config.yaml: what the workflow does."""

from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from maskprior import paths
from maskprior.config.base import Scale, Section
from maskprior.config.messages import one_line
from maskprior.errors import UserError


class Settings(Section):
    scale: Scale
    seeds: int = Field(ge=1, description="runs of every cell: seeds 0 .. seeds-1")
    device: Literal["auto", "cpu", "cuda"]
    recompute: bool = Field(description="true: never read the published records")


def read_settings(overrides: dict[str, Any] | None = None) -> Settings:
    """config/config.yaml with `overrides` (the workflow's --config) on top."""
    path = paths.config() / "config.yaml"
    values = yaml.safe_load(path.read_text()) | (overrides or {})
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise UserError(f"config/config.yaml: {one_line(error, Settings)}") from None
