"""config/config.yaml: what the workflow does."""

from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from maskprior import paths
from maskprior.config.base import Scale, Section
from maskprior.config.messages import one_line
from maskprior.config.yaml_file import parse_mapping, read_text
from maskprior.errors import UserError

FILE = "config/config.yaml"
MOST_SEEDS = 1000


class Settings(Section):
    scale: Scale
    seeds: int = Field(ge=1, le=MOST_SEEDS, description="runs of every cell: seeds 0 .. seeds-1")
    device: Literal["auto", "cpu", "cuda"]
    recompute: bool = Field(description="true: never read the published records")

    @field_validator("seeds", mode="before")
    @classmethod
    def _is_a_number(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("must be a whole number")
        return value


def read_settings(overrides: dict[str, Any] | None = None) -> Settings:
    """config/config.yaml with `overrides` (the workflow's --config, a command's options) on top."""
    overrides = overrides or {}
    values = parse_mapping(read_text(paths.config() / "config.yaml", FILE), FILE) | overrides
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        message = one_line(
            error, Settings, lambda key: "command line: " if key and key[0] in overrides else f"{FILE}: "
        )
        raise UserError(message) from None
