"""timm's vision transformer with the paper's attention in its blocks."""

from typing import Literal

import torch
from timm.layers import Attention
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

from maskprior.attention import MaskedAttention, MaskForm, attention_bias


class VitAttention(MaskedAttention):
    """timm's attention layer with an optional mask per head: (B, N, D) -> (B, N, D).

    Everything but the bias is timm's own forward, so without a mask the bits are timm's. Queries, keys and values come
    out of one parameter; W_Q, W_K and W_V are views of it. Their biases start at 0 and belong to no prior.
    """

    def __init__(self, inner: Attention, *, tokens: int, form: MaskForm) -> None:
        super().__init__(heads=inner.num_heads, head_dim=inner.head_dim, tokens=tokens, form=form)
        self.inner = inner

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = self.inner.qkv(x).chunk(3, dim=-1)
        return self.split_heads(queries), self.split_heads(keys), self.split_heads(values)

    def project_out(self, mixed: Tensor) -> Tensor:
        projected: Tensor = self.inner.proj(mixed)
        return projected

    def query_key_weights(self) -> tuple[Tensor, Tensor]:
        query, key, _ = self.inner.qkv.weight.chunk(3)
        return query, key

    def query_key_gradients(self) -> tuple[Tensor | None, Tensor | None]:
        gradient = self.inner.qkv.weight.grad
        if gradient is None:
            return None, None
        query, key, _ = gradient.chunk(3)
        return query, key

    def value_out_weights(self) -> tuple[Tensor, Tensor]:
        return self.inner.qkv.weight.chunk(3)[2], self.inner.proj.weight

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        """timm passes the last two as they are here; other values are not for this layer."""
        assert attn_mask is None
        assert not is_causal
        mask = self.scaled_mask()
        if mask is not None and self.form == "hadamard":
            return super().forward(x)
        mixed: Tensor = self.inner(x, attn_mask=None if mask is None else attention_bias(mask, self.form))
        return mixed


class Vit(VisionTransformer):
    """Images (B, 3, S, S) -> logits (B, K): patches and a class token, N = 1 + (S / patch)^2 tokens, L blocks, a head.

    The position embedding is multiplied by `position_scale`, which is part of the impulse initialisation as coded by
    its authors.
    """

    def __init__(
        self,
        *,
        image_size: int,
        patch_size: int,
        classes: int,
        dim: int,
        layers: int,
        heads: int,
        mlp_dim: int,
        pool: Literal["token", "avg"],
        drop_path: float,
        weight_init: str = "timm",
        form: MaskForm = "log_sigmoid",
        position_scale: float = 1.0,
    ) -> None:
        super().__init__(
            img_size=image_size,
            patch_size=patch_size,
            num_classes=classes,
            global_pool=pool,
            embed_dim=dim,
            depth=layers,
            num_heads=heads,
            mlp_ratio=mlp_dim / dim,
            drop_path_rate=drop_path,
        )
        if weight_init == "reset":
            self.init_weights("reset")
        self.position_scale = position_scale
        for block in self.blocks:
            assert isinstance(block.attn, Attention)
            block.attn = VitAttention(block.attn, tokens=1 + self.patch_embed.num_patches, form=form)

    def positions(self) -> Tensor:
        """The position part of every input, (N, D)."""
        assert self.pos_embed is not None
        return self.position_scale * self.pos_embed[0]

    def _pos_embed(self, x: Tensor) -> Tensor:
        if self.position_scale == 1:
            return super()._pos_embed(x)
        assert self.cls_token is not None
        tokens = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        return self.pos_drop(tokens + self.positions())
