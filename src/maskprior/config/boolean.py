"""Configuration of the Boolean extrapolation experiment (paper section 5.1, appendix G.1)."""

from typing import Literal, Self

from pydantic import Field, PositiveInt, model_validator

from maskprior.config.token import TokenConfig

Task = Literal["2parity", "cyclic3", "majority3", "threesym"]
PATTERNS = {
    "2parity": ("perm", "blockself", "layered"),
    "cyclic3": ("forward", "centered", "early"),
    "majority3": ("identity", "identity_first"),
    "threesym": ("perm", "blockself"),
}
METHODS = ("default", "structured_svd", "structured_opt", "mask", "mask_zero", "mask_fixed")


class BooleanConfig(TokenConfig):
    task: Task
    dimension: PositiveInt = Field(ge=6, le=20, description="number of input bits d")
    sampled: bool = Field(description="train and test on sampled sets instead of the seen part and the whole cube")
    sample_size: PositiveInt = Field(32768, description="rows of each sampled set")
    probe_completions: PositiveInt = Field(description="probe batch: all 8 values of (x0, x1, x2) times this many")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.method not in METHODS:
            raise ValueError(f"method: {self.method} is not one of boolean's methods: {', '.join(METHODS)}")
        if self.pattern not in PATTERNS[self.task]:
            raise ValueError(
                f"pattern: {self.pattern} is not a pattern of {self.task}: {', '.join(PATTERNS[self.task])}"
            )
        return self
