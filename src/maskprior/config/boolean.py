"""Configuration of the Boolean extrapolation experiment (paper section 5.1, appendix G.1)."""

from typing import Self

from pydantic import Field, PositiveInt, model_validator

from maskprior import tasks
from maskprior.config.token import TokenConfig


class BooleanConfig(TokenConfig):
    dimension: PositiveInt = Field(ge=6, le=20, description="number of input bits d")
    sampled: bool = Field(description="train and test on sampled sets instead of the seen part and the whole cube")
    sample_size: PositiveInt = Field(32768, description="rows of each sampled set")
    probe_completions: PositiveInt = Field(description="probe batch: all 8 values of (x0, x1, x2) times this many")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.pattern not in (known := tasks.find("boolean", self.task).patterns):
            raise ValueError(f"pattern: {self.pattern} is not a pattern of {self.task}: {', '.join(known)}")
        return self
