"""Configuration of the language-model experiment (paper section 5.4, appendix F, Table 12)."""

from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from maskprior.config.base import Method, OptimizerConfig, Section, TransformerConfig

Task = Literal["wikitext2", "tinystories"]
METHODS = ("default", "mimetic", "mask")


class GptConfig(TransformerConfig):
    block: PositiveInt = Field(ge=2, description="tokens a sequence has, and the most a token can look back on")
    dropout: float = Field(ge=0, lt=1, description="of attention weights, attention output and MLP output")
    init_std: PositiveFloat = Field(description="all matrices and embeddings ~ N(0, std)")


class DistanceMaskConfig(Section):
    """The prior over distances as an attention bias log sigmoid(scale M)."""

    prior: Literal["distance", "alibi"] = Field(description="M_ij = -(i - j), or the M whose bias is ALiBi's")
    scale: PositiveFloat


class MimeticConfig(Section):
    """W_Q W_K^T = identity I + noise Z a head; W_V W_O = noise Z - identity I."""

    query_key_identity: float
    query_key_noise: float
    value_out_identity: float
    value_out_noise: float


class LanguageConfig(Section):
    task: Task
    method: Method
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
        if self.method not in METHODS:
            raise ValueError(f"method: {self.method} is not one of language's methods: {', '.join(METHODS)}")
        if self.stride > self.model.block:
            raise ValueError(f"stride: {self.stride} skips tokens (allowed: at most the block, {self.model.block})")
        return self
