"""Configuration of the vision experiment (paper section 5.3, appendix G.3, Tables 9-11)."""

import math
from typing import Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from maskprior.config.base import (
    MaskConfig,
    MimeticConfig,
    OptimizerConfig,
    RunConfig,
    Section,
    SvdConfig,
    TransformerConfig,
)


class VitConfig(TransformerConfig):
    """timm's VisionTransformer with a class token; `heads` times `head_dim` is `dim`."""

    image_size: PositiveInt
    patch_size: PositiveInt
    pool: Literal["token", "avg"] = Field(description="the head reads the class token, or the mean over patches")
    drop_path: float = Field(ge=0, lt=1, description="stochastic depth, rising linearly to this in the last layer")
    weight_init: Literal["timm", "reset"] = Field(
        "timm", description="linear layers: timm's truncated normal 0.02, or PyTorch's own (timm's weight_init=skip)"
    )

    @property
    def patches(self) -> int:
        return (self.image_size // self.patch_size) ** 2

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.heads * self.head_dim != self.dim:
            raise ValueError(f"head_dim: {self.heads} heads of {self.head_dim} are not the width {self.dim}")
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size: {self.patch_size} does not divide the image size {self.image_size}")
        return self


class AugmentationConfig(Section):
    policy: Literal["crop_mirror", "timm"] = Field(
        description="pad, crop and mirror on tensors; or timm's transforms: random resized crop, mirror, auto_augment, "
        "random erasing, and for evaluation a resize and a centre crop"
    )
    auto_augment: str = Field(description="timm's notation, policy timm")
    erase: float = Field(ge=0, le=1, description="probability of random erasing, policy timm")
    crop_fraction: float = Field(gt=0, le=1, description="share of the resized test image that is kept, policy timm")
    mixup: float = Field(ge=0, description="alpha, 0 for none")
    cutmix: float = Field(ge=0, description="alpha, 0 for none")
    label_smoothing: float = Field(ge=0, lt=1)


class VisionOptimizerConfig(OptimizerConfig):
    """timm's schedule: it moves once an epoch, linearly from `warmup_lr`, then along a cosine that counts the warm-up's
    epochs too and ends at `min_lr`, where it stays for `cooldown_epochs`."""

    epochs: PositiveInt = Field(description="without the cool-down")
    warmup_epochs: NonNegativeInt
    cooldown_epochs: NonNegativeInt = 0
    warmup_lr: PositiveFloat
    min_lr: float = Field(ge=0)
    steps_per_epoch: PositiveInt = Field(description="train images // batch size: the incomplete batch is dropped")

    @model_validator(mode="before")
    @classmethod
    def _total(cls, values: Any) -> Any:
        try:
            total = (values["epochs"] + values.get("cooldown_epochs", 0)) * values["steps_per_epoch"]
        except (KeyError, TypeError):
            return values
        return {"steps": total, **values}

    @model_validator(mode="after")
    def _one_schedule(self) -> Self:
        if self.steps != (self.epochs + self.cooldown_epochs) * self.steps_per_epoch:
            raise ValueError(f"steps: {self.steps} are not so many epochs of {self.steps_per_epoch} steps")
        if self.schedule != "cosine" or self.warmup_steps:
            raise ValueError("schedule: only the cosine with warmup_epochs is there")
        if self.query_key_lr_multiplier != 1:
            raise ValueError("query_key_lr_multiplier: W_Q and W_K are no parameters of their own here (allowed: 1)")
        if self.trained != "all":
            raise ValueError("trained: W_Q and W_K are no parameters of their own here (allowed: all)")
        return self

    def factor(self, step: int) -> float:
        """The learning rate of the step that follows `step` updates, in units of `lr`."""
        epoch = step // self.steps_per_epoch
        if epoch < self.warmup_epochs:
            rate = self.warmup_lr + epoch * (self.lr - self.warmup_lr) / self.warmup_epochs
        elif epoch < self.epochs:
            rate = self.min_lr + 0.5 * (self.lr - self.min_lr) * (1 + math.cos(math.pi * epoch / self.epochs))
        else:
            rate = self.min_lr
        return rate / self.lr


class VisionConfig(RunConfig):
    dataset: str
    test_split: Literal["test", "val"]
    classes: PositiveInt
    pattern: Literal["centre_first", "raster"] = Field(description="order in which heads take the 3x3 offsets")
    vproj: Literal["default", "mimetic"] = Field(description="initialisation of W_V and W_O")
    position_scale: PositiveFloat = Field(1.0, description="multiplies the position embedding of all but impulse")
    model: VitConfig
    mask: MaskConfig
    svd: SvdConfig
    mimetic: MimeticConfig
    augmentation: AugmentationConfig
    optimizer: VisionOptimizerConfig
    autocast: bool = Field(description="bfloat16 autocast on CUDA")
    epoch_images: PositiveInt | None = Field(description="test images looked at after each epoch, null for all")
    probe_images: PositiveInt = Field(description="test images the persistence diagnostics look at")
    map_layers: tuple[NonNegativeInt, ...] = Field(description="layers whose maps the record keeps")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if max(self.map_layers, default=0) >= self.model.layers:
            raise ValueError(
                f"map_layers: {max(self.map_layers)} is not below the number of layers, {self.model.layers}"
            )
        return self
