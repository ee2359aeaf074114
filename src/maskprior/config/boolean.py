"""Configuration of the Boolean extrapolation experiment (paper section 5.1, appendix G.1)."""

from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from maskprior.config.base import MaskConfig, Method, OptConfig, OptimizerConfig, Section, SvdConfig, TransformerConfig

Task = Literal["2parity", "cyclic3", "majority3", "threesym"]
PATTERNS = {
    "2parity": ("perm", "blockself", "layered"),
    "cyclic3": ("forward", "centered", "early"),
    "majority3": ("identity", "identity_first"),
    "threesym": ("perm", "blockself"),
}
METHODS = ("default", "structured_svd", "structured_opt", "mask", "mask_zero", "mask_fixed")


class EncoderConfig(TransformerConfig):
    embedding_std: PositiveFloat = Field(description="token embedding ~ N(0, std)")
    position_std: PositiveFloat = Field(description="learned position embedding ~ N(0, std)")
    readout: Literal["pool_norm", "norm_pool"] = Field(description="order of mean-pool and LayerNorm before the head")


class BooleanConfig(Section):
    task: Task
    method: Method
    dimension: PositiveInt = Field(ge=4, le=20, description="number of input bits d")
    pattern: str
    model: EncoderConfig
    mask: MaskConfig
    svd: SvdConfig
    opt: OptConfig
    optimizer: OptimizerConfig
    position_scale: PositiveFloat = Field(1.0, description="multiplies the position embedding of every method but SVD")
    sampled: bool = Field(description="train and test on sampled sets instead of the seen part and the whole cube")
    sample_size: PositiveInt = Field(32768, description="rows of each sampled set")
    probe_completions: PositiveInt = Field(description="probe batch: all 8 values of (x0, x1, x2) times this many")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.method not in METHODS:
            raise ValueError(f"method: {self.method} is not one of boolean's methods: {', '.join(METHODS)}")
        if self.pattern not in PATTERNS[self.task]:
            raise ValueError(f"pattern: {self.pattern} is not a pattern of {self.task}: {', '.join(PATTERNS[self.task])}")
        return self
