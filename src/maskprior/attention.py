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


def query_key_logits(queries: Tensor, keys: Tensor) -> Tensor:
    """Q K^T / sqrt(d): (B, H, N, d) x (B, H, N, d) -> (B, H, N, N), nats."""
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def attention_bias(mask_logits: Tensor, form: MaskForm) -> Tensor | None:
    """What is added to the logits: log sigmoid(M), the raw M, or nothing (Hadamard). Shape as M, (H, N, N)."""
    if form == "log_sigmoid":
        return F.logsigmoid(mask_logits)
    return mask_logits if form == "additive" else None


def attention_map(logits: Tensor, mask_logits: Tensor | None, form: MaskForm, *, causal: bool = False) -> Tensor:
    """softmax(logits + log sigmoid(M)), or softmax(logits) * sigmoid(M) for the Hadamard form: (B, H, N, N).

    M is finite everywhere: what no token may ever see is cut off by `causal`, a constant, and not by M. A row of M with
    one value only is neutral, since softmax ignores a shift of its row.
    """
    bias = None if mask_logits is None else attention_bias(mask_logits, form)
    if bias is not None:
        logits = logits + bias
    if causal:
        future = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).triu(1)
        logits = logits.masked_fill(future, -math.inf)
    attention = logits.softmax(-1)
    return attention * mask_logits.sigmoid() if mask_logits is not None and form == "hadamard" else attention


class MaskedAttention(nn.Module):
    """Multi-head self-attention with an optional mask M per head: (B, N, D) -> (B, N, D).

    What the models' attention layers share; a layer adds its projections: `queries_keys_values`, `project_out`, for
    the initialisations `query_key_weights` and `value_out_weights`, and for the diagnostics the former's gradients.

    Args:
        heads: H.
        head_dim: d.
        tokens: N, the shape of M; shorter inputs use its upper left part.
        form: how M enters; `mask_logits` is None until a method writes M with `set_mask`.
        mask_scale: the bias is log sigmoid(mask_scale M), 1 but for the language models.
        causal: a token sees itself and those before it.
        dropout: of the attention weights while training.
    """

    def __init__(
        self,
        *,
        heads: int,
        head_dim: int,
        tokens: int,
        form: MaskForm = "log_sigmoid",
        mask_scale: float = 1.0,
        causal: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.heads, self.head_dim, self.tokens = heads, head_dim, tokens
        self.form: MaskForm = form
        self.mask_scale, self.causal, self.dropout = mask_scale, causal, dropout
        self.mask_logits: nn.Parameter | None = None

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(B, N, D) -> three times (B, H, N, d)."""
        raise NotImplementedError

    def project_out(self, mixed: Tensor) -> Tensor:
        """The heads' outputs side by side, (B, N, H d), -> (B, N, D)."""
        raise NotImplementedError

    def query_key_weights(self) -> tuple[Tensor, Tensor]:
        """W_Q and W_K, (H d, D), as views of the parameters."""
        raise NotImplementedError

    def query_key_gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """The loss gradients of W_Q and W_K, (H d, D), None where there is none."""
        raise NotImplementedError

    def value_out_weights(self) -> tuple[Tensor, Tensor]:
        """W_V, (H d, D), and W_O, (D, H d), as views of the parameters."""
        raise NotImplementedError

    def set_mask(self, mask_logits: Tensor, *, learnable: bool) -> None:
        """Give the module its M, (H, N, N), finite."""
        expected = (self.heads, self.tokens, self.tokens)
        if mask_logits.shape != expected or not mask_logits.isfinite().all():
            raise ValueError(f"M must be finite of shape {expected}, got {tuple(mask_logits.shape)}")
        self.mask_logits = nn.Parameter(mask_logits.clone(), requires_grad=learnable)

    def scaled_mask(self, tokens: int | None = None) -> Tensor | None:
        """mask_scale M for inputs of so many tokens, (H, N, N); None without a mask."""
        if self.mask_logits is None:
            return None
        shown = self.mask_logits if tokens in (None, self.tokens) else self.mask_logits[:, :tokens, :tokens]
        return shown if self.mask_scale == 1 else self.mask_scale * shown

    def query_key_logits(self, x: Tensor) -> Tensor:
        """Q K^T / sqrt(d) for the normalised input x: (B, N, D) -> (B, H, N, N)."""
        queries, keys, _ = self.queries_keys_values(x)
        return query_key_logits(queries, keys)

    def attention(self, logits: Tensor) -> Tensor:
        """The attention map these QK logits and the mask give: (B, H, N, N)."""
        return attention_map(logits, self.scaled_mask(logits.shape[-1]), self.form, causal=self.causal)

    def forward(self, x: Tensor) -> Tensor:
        queries, keys, values = self.queries_keys_values(x)
        p = F.dropout(self.attention(query_key_logits(queries, keys)), self.dropout, self.training)
        return self.project_out((p @ values).transpose(1, 2).flatten(2))

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, N, H d) -> (B, H, N, d)."""
        return x.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)


class Attention(MaskedAttention):
    """The layer of encoder and GPT: queries, keys and values without bias, an output projection with one."""

    def __init__(
        self,
        dim: int,
        *,
        heads: int,
        head_dim: int,
        tokens: int,
        form: MaskForm = "log_sigmoid",
        mask_scale: float = 1.0,
        causal: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            heads=heads,
            head_dim=head_dim,
            tokens=tokens,
            form=form,
            mask_scale=mask_scale,
            causal=causal,
            dropout=dropout,
        )
        inner = heads * head_dim
        self.query = nn.Linear(dim, inner, bias=False)
        self.key = nn.Linear(dim, inner, bias=False)
        self.value = nn.Linear(dim, inner, bias=False)
        self.out = nn.Linear(inner, dim)

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.split_heads(self.query(x)), self.split_heads(self.key(x)), self.split_heads(self.value(x))

    def project_out(self, mixed: Tensor) -> Tensor:
        projected: Tensor = self.out(mixed)
        return projected

    def query_key_weights(self) -> tuple[Tensor, Tensor]:
        return self.query.weight, self.key.weight

    def query_key_gradients(self) -> tuple[Tensor | None, Tensor | None]:
        return self.query.weight.grad, self.key.weight.grad

    def value_out_weights(self) -> tuple[Tensor, Tensor]:
        return self.value.weight, self.out.weight


def attentions(model: nn.Module) -> list[MaskedAttention]:
    """The model's attention modules, first layer first."""
    return [module for module in model.modules() if isinstance(module, MaskedAttention)]


def mask_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Every layer's M, also fixed ones, first layer first."""
    return [module.mask_logits for module in attentions(model) if module.mask_logits is not None]


def query_key_parameters(model: nn.Module) -> list[nn.Parameter]:
    """W_Q and W_K of every layer that keeps them as parameters of their own."""
    weights = [weight for module in attentions(model) for weight in module.query_key_weights()]
    return [weight for weight in weights if isinstance(weight, nn.Parameter)]


@torch.no_grad()
def query_key_products(module: MaskedAttention) -> Tensor:
    """W_Q W_K^T per head, (H, D, D): the bilinear form of which Q K^T is made."""
    queries, keys = (w.unflatten(0, (module.heads, module.head_dim)) for w in module.query_key_weights())
    return queries.transpose(1, 2) @ keys
