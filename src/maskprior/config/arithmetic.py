"""Configuration of the arithmetic experiment (paper section 5.2, appendix G.2)."""

from typing import Literal, Self

from pydantic import Field, PositiveInt, model_validator

from maskprior import tasks
from maskprior.config.token import EncoderConfig, TokenConfig
from maskprior.tasks.arithmetic import TOKENS


class ArithmeticEncoderConfig(EncoderConfig):
    readout: Literal["token", "pool_norm", "norm_pool", "pool", "norm_flatten", "flatten"] = Field(
        description="what the linear head reads: each result digit at a token of its own, or a pool of all tokens"
    )  # type: ignore[assignment]  # one more word than the encoder of every experiment knows


class ArithmeticConfig(TokenConfig):
    model: ArithmeticEncoderConfig
    digit_tokens: tuple[int, ...] | None = Field(
        None, description="readout token: where the result's digits are read, the most significant digit first"
    )
    train_fraction: float = Field(gt=0, lt=1, description="part of all 10^6 ordered pairs that is trained on")
    sample_pairs: PositiveInt = Field(description="held-out pairs every run is evaluated on")
    probe_pairs: PositiveInt = Field(description="held-out pairs followed during training")
    full_evaluation: bool = Field(description="evaluate on all held-out pairs at the end")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.pattern not in (known := tasks.find("arithmetic", self.task).patterns):
            raise ValueError(f"pattern: {self.pattern} is not a pattern of {self.task}: {', '.join(known)}")
        self._check_digit_tokens()
        return self

    def _check_digit_tokens(self) -> None:
        """One token for each result digit, none twice: a shared head says the same of the same token."""
        tokens, digits = self.digit_tokens, tasks.find("arithmetic", self.task).digits
        if self.model.readout != "token":
            if tokens is not None:
                raise ValueError(f"digit_tokens: only readout token reads digits at tokens, not {self.model.readout}")
        elif tokens is None or len(tokens) != digits:
            raise ValueError(
                f"digit_tokens: a result of {self.task} has {digits} digits, and {len(tokens or ())} tokens are given"
            )
        elif len(set(tokens)) < digits or not set(tokens) <= set(range(TOKENS)):
            raise ValueError(f"digit_tokens: {list(tokens)}: needs {digits} different tokens of 0 to {TOKENS - 1}")
