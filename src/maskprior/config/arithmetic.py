"""Configuration of the arithmetic experiment (paper section 5.2, appendix G.2)."""

from typing import Literal, Self

from pydantic import Field, PositiveInt, model_validator

from maskprior.config.token import TokenConfig

Task = Literal["addition", "multiplication"]
PATTERNS = {"addition": ("aligned", "aligned_self", "carry"), "multiplication": ("cross", "partial")}
METHODS = ("default", "structured_svd", "structured_opt", "mask", "mask_zero", "mask_fixed")


class ArithmeticConfig(TokenConfig):
    task: Task
    train_fraction: float = Field(gt=0, lt=1, description="part of all 10^6 ordered pairs that is trained on")
    sample_pairs: PositiveInt = Field(description="held-out pairs every run is evaluated on")
    probe_pairs: PositiveInt = Field(description="held-out pairs followed during training")
    full_evaluation: bool = Field(description="evaluate on all held-out pairs at the end")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.method not in METHODS:
            raise ValueError(f"method: {self.method} is not one of arithmetic's methods: {', '.join(METHODS)}")
        if self.pattern not in PATTERNS[self.task]:
            allowed = ", ".join(PATTERNS[self.task])
            raise ValueError(f"pattern: {self.pattern} is not a pattern of {self.task}: {allowed}")
        return self
