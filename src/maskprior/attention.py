"""Attention with a learnable mask, the paper's one equation (section 4.1):

    softmax(Q K^T / sqrt(d) + log sigmoid(M)) V

Shapes: B batch, H heads, N tokens, D width, d width of a head.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MaskForm = Literal["log_sigmoid", "additive", "hadamard"]


def attention_bias(mask_logits: Tensor, form: MaskForm) -> Tensor | None:
    """What is added to the logits: log sigmoid(M), the raw M, or nothing (Hadamard). Shape as M, (H, N, N)."""
    if form == "log_sigmoid":
        return F.logsigmoid(mask_logits)
    return mask_logits if form == "additive" else None


def query_key_logits(queries: Tensor, keys: Tensor) -> Tensor:
    """Q K^T / sqrt(d): (B, H, N, d) x (B, H, N, d) -> (B, H, N, N), nats."""
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def attention_map(logits: Tensor, mask_logits: Tensor | None, form: MaskForm) -> Tensor:
    """softmax(logits + log sigmoid(M)), or softmax(logits) * sigmoid(M) for the Hadamard form: (B, H, N, N).

    M is finite everywhere. A row of M with one value only is neutral, since softmax ignores a shift of its row.
    """
    if mask_logits is None:
        return logits.softmax(-1)
    bias = attention_bias(mask_logits, form)
    if bias is None:
        return logits.softmax(-1) * mask_logits.sigmoid()
    return (logits + bias).softmax(-1)


class Attention(nn.Module):
    """Multi-head self-attention with an optional mask M per head: (B, N, D) -> (B, N, D).

    Args:
        dim: D.
        heads: H.
        head_dim: d; queries, keys and values have no bias, the output projection has one.
        tokens: N, the shape of M.
        form: how M enters; `mask_logits` is None until a method writes M with `set_mask`.
    """

    def __init__(self, dim: int, *, heads: int, head_dim: int, tokens: int, form: MaskForm = "log_sigmoid") -> None:
        super().__init__()
        self.heads, self.head_dim, self.tokens = heads, head_dim, tokens
        self.form: MaskForm = form
        inner = heads * head_dim
        self.query = nn.Linear(dim, inner, bias=False)
        self.key = nn.Linear(dim, inner, bias=False)
        self.value = nn.Linear(dim, inner, bias=False)
        self.out = nn.Linear(inner, dim)
        self.mask_logits: nn.Parameter | None = None

    def set_mask(self, mask_logits: Tensor, *, learnable: bool) -> None:
        """Give the module its M, (H, N, N), finite."""
        expected = (self.heads, self.tokens, self.tokens)
        if mask_logits.shape != expected or not mask_logits.isfinite().all():
            raise ValueError(f"M must be finite of shape {expected}, got {tuple(mask_logits.shape)}")
        self.mask_logits = nn.Parameter(mask_logits.clone(), requires_grad=learnable)

    def query_key_logits(self, x: Tensor) -> Tensor:
        """Q K^T / sqrt(d) for the normalised input x: (B, N, D) -> (B, H, N, N)."""
        return query_key_logits(self._split(self.query(x)), self._split(self.key(x)))

    def forward(self, x: Tensor) -> Tensor:
        p = attention_map(self.query_key_logits(x), self.mask_logits, self.form)
        mixed = p @ self._split(self.value(x))
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        """(B, N, H d) -> (B, H, N, d)."""
        return x.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)


def attentions(model: nn.Module) -> list[Attention]:
    """The model's attention modules, first layer first."""
    return [module for module in model.modules() if isinstance(module, Attention)]


def mask_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Every layer's M, also fixed ones, first layer first."""
    return [module.mask_logits for module in attentions(model) if module.mask_logits is not None]


def query_key_parameters(model: nn.Module) -> list[nn.Parameter]:
    """W_Q and W_K of every layer."""
    return [weight for module in attentions(model) for weight in (module.query.weight, module.key.weight)]


@torch.no_grad()
def query_key_products(module: Attention) -> Tensor:
    """W_Q W_K^T per head, (H, D, D): the bilinear form of which Q K^T is made."""
    queries = module.query.weight.unflatten(0, (module.heads, module.head_dim))
    keys = module.key.weight.unflatten(0, (module.heads, module.head_dim))
    return queries.transpose(1, 2) @ keys
