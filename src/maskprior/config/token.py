"""What the experiments on short token sequences (Boolean, arithmetic) have in common."""

from typing import Literal

from pydantic import Field, PositiveFloat

from maskprior.config.base import MaskConfig, OptConfig, OptimizerConfig, RunConfig, SvdConfig, TransformerConfig


class EncoderConfig(TransformerConfig):
    embedding_std: PositiveFloat = Field(description="token embedding ~ N(0, std)")
    position_std: PositiveFloat = Field(description="learned position embedding ~ N(0, std)")
    readout: Literal["pool_norm", "norm_pool", "pool", "norm_flatten", "flatten"] = Field(
        description="what the linear head reads: mean-pool or flatten, and where the final LayerNorm stands"
    )


class TokenConfig(RunConfig):
    pattern: str
    model: EncoderConfig
    mask: MaskConfig
    svd: SvdConfig
    opt: OptConfig
    optimizer: OptimizerConfig
    position_scale: PositiveFloat = Field(1.0, description="multiplies the position embedding of every method but SVD")
    random_targets: bool = Field(False, description="train on the targets of other rows: a gradient without a task")
