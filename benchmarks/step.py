"""A training step of this project beside one of the leanest encoder that torch alone makes, in turns: JSON of both.

Both have the size of the Boolean encoder at the paper's scale, the same batch, loss and Adam. The peer has no mask, or
M as a fixed bias of torch's own fused attention; it measures nothing and keeps no checkpoint.
"""

import json
import time
from collections.abc import Callable
from statistics import median

from maskprior.runs.environment import pin

pin()

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from maskprior.experiments.run import prepare  # noqa: E402
from maskprior.runs.spec import make_run, resolve  # noqa: E402
from maskprior.training.optimizer import set_learning_rate  # noqa: E402

STEPS, ROUNDS = 10, 9


class LeanBlock(nn.Module):
    def __init__(self, dim: int, heads: int, head_dim: int, mlp_dim: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(dim), nn.LayerNorm(dim)])
        self.projections = nn.Linear(dim, 3 * heads * head_dim, bias=False)
        self.out = nn.Linear(heads * head_dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, mlp_dim), nn.GELU(), nn.Linear(mlp_dim, dim))

    def forward(self, x: Tensor, bias: Tensor | None) -> Tensor:
        parts = self.projections(self.norms[0](x)).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


def lean(masked: bool) -> Callable[[], None]:
    """A function that does one update of the peer."""
    config = resolve(make_run("boolean", "2parity", "mask", scale="paper"))
    m = config.model
    tokens, batch = config.dimension, config.optimizer.batch_size
    token, position = (nn.Parameter(torch.randn(count, m.dim)) for count in (2, tokens))
    blocks = nn.ModuleList(LeanBlock(m.dim, m.heads, m.head_dim, m.mlp_dim) for _ in range(m.layers))
    norm, head = nn.LayerNorm(m.dim), nn.Linear(m.dim, 1)
    bias = torch.randn(m.heads, tokens, tokens) if masked else None
    parameters = [token, position, *blocks.parameters(), *norm.parameters(), *head.parameters()]
    adam = torch.optim.Adam(parameters, lr=1e-3, weight_decay=1e-3)
    inputs, targets = torch.randint(2, (batch, tokens)), torch.randn(batch)

    def update() -> None:
        x = F.embedding(inputs, token) + position
        for block in blocks:
            x = block(x, bias)
        loss = F.mse_loss(head(norm(x.mean(1))).squeeze(-1), targets)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return update


def ours(method: str) -> Callable[[], None]:
    """A function that does one update of a run as it is, without its observers."""
    setup = prepare(make_run("boolean", "2parity", method, scale="paper"), "cpu").setup
    batches = setup.batches(0)

    def update() -> None:
        set_learning_rate(setup.optimizer, setup.config, 0)
        loss = setup.loss(next(batches))
        setup.optimizer.zero_grad()
        loss.backward()
        setup.optimizer.step()

    return update


def milliseconds(update: Callable[[], None]) -> float:
    began = time.perf_counter()
    for _ in range(STEPS):
        update()
    return (time.perf_counter() - began) / STEPS * 1000


def main() -> None:
    pairs = {
        "Default": (ours("default"), lean(masked=False)),
        "the mask": (ours("mask"), lean(masked=True)),
    }
    found = []
    for name, pair in pairs.items():
        for update in pair:
            milliseconds(update)
        rounds = [[milliseconds(update) for update in pair] for _ in range(ROUNDS)]
        taken, peer = (median(column) for column in zip(*rounds, strict=True))
        found.append({"name": name, "ms": taken, "peer": peer, "ratio": median(one / other for one, other in rounds)})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
