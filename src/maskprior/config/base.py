"""The pieces every experiment's configuration is made of. Together they are a run's whole protocol."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

Method = Literal["default", "mimetic", "structured_svd", "structured_opt", "impulse", "mask", "mask_zero", "mask_fixed"]
Scale = Literal["smoke", "reduced", "paper"]


class Section(BaseModel):
    """A frozen part of a configuration that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class TransformerConfig(Section):
    layers: PositiveInt
    heads: PositiveInt
    dim: PositiveInt
    head_dim: PositiveInt
    mlp_dim: PositiveInt


class MaskConfig(Section):
    """How the pattern becomes an attention bias (methods mask, mask_zero, mask_fixed)."""

    form: Literal["log_sigmoid", "additive", "hadamard"] = Field(
        "log_sigmoid", description="bias log sigmoid(M); raw bias B; or softmax(.) * sigmoid(M)"
    )
    amplitude: PositiveFloat = Field(description="open entries +amplitude, closed -amplitude (nats)")


class SvdConfig(Section):
    """Structured (SVD) initialisation of the query-key weights."""

    open_value: PositiveFloat
    closed_value: float = 0.0
    noise_std: float = Field(0.6, ge=0, description="of the truncated normal on closed entries")
    noise_scale: float = Field(3.0, ge=0)
    query_key_norm: PositiveFloat = Field(7.0, description="Frobenius norm of W_Q and of W_K of a head")
    position_scale: PositiveFloat = Field(18.0, description="the position embedding is multiplied by this")


class OptConfig(Section):
    """Structured (Opt) initialisation of the query-key weights."""

    steps: PositiveInt
    lr: PositiveFloat = 1e-4
    norm_every: PositiveInt = 100


class OptimizerConfig(Section):
    name: Literal["adam", "adamw", "sgd"] = Field(description="adam has L2 weight decay, adamw decoupled decay")
    lr: PositiveFloat
    weight_decay: float = Field(ge=0)
    mask_weight_decay: float = Field(ge=0, description="weight decay of M")
    mask_lr_multiplier: PositiveFloat = 1.0
    query_key_lr_multiplier: float = Field(1.0, ge=0, description="0 freezes W_Q and W_K")
    schedule: Literal["cosine", "constant"] = "cosine"
    warmup_steps: int = Field(0, ge=0)
    steps: PositiveInt
    batch_size: PositiveInt
