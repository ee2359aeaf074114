"""The GPT of the language experiment: pre-LayerNorm blocks with causal attention (paper appendix F)."""

import torch
from torch import Tensor, nn

from maskprior.attention import Attention
from maskprior.evaluation import evaluation_mode


class Block(nn.Module):
    """x + dropout(attention(LN x)), then x + dropout(MLP(LN x)), ReLU: (B, T, D) -> (B, T, D)."""

    def __init__(
        self, dim: int, *, heads: int, head_dim: int, mlp_dim: int, block: int, dropout: float, mask_scale: float
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(dim)
        self.attention = Attention(
            dim, heads=heads, head_dim=head_dim, tokens=block, mask_scale=mask_scale, causal=True, dropout=dropout
        )
        self.dropout = nn.Dropout(dropout)
        self.mlp_norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, mlp_dim), nn.ReLU(), nn.Linear(mlp_dim, dim), nn.Dropout(dropout))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.attention_norm(x)))
        return x + self.mlp(self.mlp_norm(x))


class Gpt(nn.Module):
    """Token ids (B, T), T at most the block, -> logits of the next token at every position, (B, T, V).

    Learned positions, a head of its own (not tied to the embedding); all matrices and embeddings ~ N(0, std), biases 0.
    """

    def __init__(self, vocabulary: int, dim: int, *, block: int, blocks: list[Block], std: float) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, dim)
        self.position = nn.Embedding(block, dim)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocabulary)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=std)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, indices: Tensor) -> Tensor:
        x = self.token(indices) + self.position.weight[: indices.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits

    def positions(self) -> Tensor:
        """The position part of every input, (N, D)."""
        return self.position.weight.detach()


@torch.no_grad()
def generate(model: nn.Module, prompt: Tensor, count: int, *, block: int, generator: torch.Generator) -> Tensor:
    """`count` tokens after the prompt (P), each drawn from the softmax given the last `block` tokens; (P + count)."""
    found = prompt
    with evaluation_mode(model):
        for _ in range(count):
            logits = model(found[-block:].unsqueeze(0))[0, -1]
            drawn = torch.multinomial(logits.double().softmax(-1).cpu(), 1, generator=generator)
            found = torch.cat([found, drawn.to(found.device)])
    return found
