"""The encoder of the Boolean and arithmetic experiments: pre-LayerNorm blocks on learned embeddings."""

import torch
from torch import Tensor, nn

from maskprior.attention import Attention, MaskForm


class Block(nn.Module):
    """x + attention(LN x), then x + MLP(LN x), GELU, no dropout: (B, N, D) -> (B, N, D)."""

    def __init__(self, dim: int, *, heads: int, head_dim: int, mlp_dim: int, tokens: int, form: MaskForm) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, heads=heads, head_dim=head_dim, tokens=tokens, form=form)
        self.mlp_norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, mlp_dim), nn.GELU(), nn.Linear(mlp_dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Embedding(nn.Module):
    """Token embedding ~ N(0, token_std) plus position embedding ~ N(0, position_std) times a fixed scale.

    (B, N) token indices -> (B, N, D). The scale is part of structured_svd as coded by its authors.
    """

    def __init__(
        self, vocabulary: int, dim: int, *, tokens: int, token_std: float, position_std: float, position_scale: float
    ) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.randn(vocabulary, dim) * token_std)
        self.position = nn.Parameter(torch.randn(tokens, dim) * position_std)
        self.position_scale = position_scale

    def positions(self) -> Tensor:
        """What is added to every input, (N, D)."""
        return self.position_scale * self.position

    def forward(self, indices: Tensor) -> Tensor:
        return nn.functional.embedding(indices, self.token) + self.positions()


class MeanPool(nn.Module):
    """Mean over tokens: (B, N, D) -> (B, D)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(1)


def build_readout(kind: str, dim: int) -> nn.Module:
    """(B, N, D) -> (B, D) or, flattened, (B, N D). The order decides what the head can read.

    `pool_norm`: LayerNorm after the mean, which can multiply what the tokens say apart. `norm_pool`: LayerNorm before
    it, additive over tokens. `pool`, `flatten`: no LayerNorm. `norm_flatten`: LayerNorm of each token.
    """
    steps = {"pool": MeanPool, "flatten": lambda: nn.Flatten(1), "norm": lambda: nn.LayerNorm(dim)}
    return nn.Sequential(*(steps[step]() for step in kind.split("_")))  # type: ignore[operator]


class Encoder(nn.Module):
    """Token indices (B, N) -> outputs (B, K): embedding, L blocks, a readout, and a linear head."""

    def __init__(self, embedding: Embedding, blocks: list[Block], readout: nn.Module, head: nn.Linear) -> None:
        super().__init__()
        self.embedding = embedding
        self.blocks = nn.ModuleList(blocks)
        self.readout = readout
        self.head = head

    def forward(self, indices: Tensor) -> Tensor:
        x = self.embedding(indices)
        for block in self.blocks:
            x = block(x)
        return self.head(self.readout(x))

    def positions(self) -> Tensor:
        """The position part of every input, (N, D)."""
        return self.embedding.positions()
