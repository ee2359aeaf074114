"""The pieces every experiment's configuration is made of. Together they are a run's whole protocol."""

import math
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

from maskprior import paths

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


class RunConfig(Section):
    """What every experiment's configuration has: which task and method, and what only a method of one's own knows."""

    task: str
    method: str
    options: dict[str, bool | int | float | str] = Field({}, description="values that the method's own file reads")

    @model_validator(mode="after")
    def _method_has_a_file(self) -> Self:
        if self.method not in (known := method_files()):
            raise ValueError(f"method: {self.method} has no file in src/maskprior/methods: {', '.join(known)}")
        return self


def method_files() -> list[str]:
    """The methods that there is code for, sorted."""
    return sorted(file.stem for file in (paths.package() / "methods").glob("*.py") if file.stem != "__init__")


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


class MimeticConfig(Section):
    """W_Q W_K^T = identity I + noise Z of each head; W_V W_O = noise Z - identity I."""

    query_key_identity: float = 0.7
    query_key_noise: float = 0.7
    value_out_identity: float = 0.4
    value_out_noise: float = 0.4


class OptimizerConfig(Section):
    name: Literal["adam", "adamw", "sgd"] = Field(description="adam has L2 weight decay, adamw decoupled decay")
    lr: PositiveFloat
    weight_decay: float = Field(ge=0)
    mask_weight_decay: float = Field(ge=0, description="weight decay of M")
    mask_lr_multiplier: PositiveFloat = 1.0
    query_key_lr_multiplier: float = Field(1.0, ge=0, description="0 freezes W_Q and W_K")
    trained: Literal["all", "mask", "query_key"] = Field("all", description="the only parameters that move")
    schedule: Literal["cosine", "constant"] = "cosine"
    warmup_steps: int = Field(0, ge=0)
    steps: PositiveInt
    batch_size: PositiveInt

    @property
    def moves_mask(self) -> bool:
        return self.trained in ("all", "mask")

    @property
    def moves_query_key(self) -> bool:
        return self.trained in ("all", "query_key")

    def factor(self, step: int) -> float:
        """The learning rate of the step that follows `step` updates, in units of `lr`.

        Linear warm-up to 1, then constant, or a cosine that reaches 0 after the last step.
        """
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        if self.schedule == "constant":
            return 1.0
        done = (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * done))
