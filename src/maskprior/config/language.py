"""Configuration of the language-model experiment (paper section 5.4, appendix F, Table 12)."""

from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from maskprior.config.base import MimeticConfig, OptimizerConfig, RunConfig, Section, TransformerConfig


class GptConfig(TransformerConfig):
    block: PositiveInt = Field(ge=2, description="tokens a sequence has, and the most a token can look back on")
    dropout: float = Field(ge=0, lt=1, description="of attention weights, attention output and MLP output")
    init_std: PositiveFloat = Field(description="all matrices and embeddings ~ N(0, std)")


class DistanceMaskConfig(Section):
    """The prior over distances as an attention bias log sigmoid(scale M)."""

    prior: Literal["distance", "alibi"] = Field(description="M_ij = -(i - j), or the M whose bias is ALiBi's")
    scale: PositiveFloat

    @property
    def amplitude(self) -> float:
        """The prior gives M entry by entry."""
        return 1.0

    @property
    def form(self) -> Literal["log_sigmoid"]:
        return "log_sigmoid"


class LanguageConfig(RunConfig):
    dataset: str = Field(description="a prepared text, or generated sentences (config/datasets.yaml)")
    model: GptConfig
    mask: DistanceMaskConfig
    mimetic: MimeticConfig
    optimizer: OptimizerConfig
    probe_sequences: PositiveInt = Field(description="validation sequences followed during training")
    evaluation_batches: PositiveInt = Field(description="random batches of the paper's perplexity estimate")
    stride: PositiveInt = Field(description="tokens the window of the exact perplexity moves on by")
    sample_tokens: int = Field(ge=0, description="tokens generated at the end")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.stride > self.model.block:
            raise ValueError(f"stride: {self.stride} skips tokens (allowed: at most the block, {self.model.block})")
        return self
