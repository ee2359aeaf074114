"""What the experiments on short token sequences share: the encoder, its prior, the order of its data."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from maskprior import methods
from maskprior.config.token import TokenConfig
from maskprior.evaluation import evaluation_mode
from maskprior.models.encoder import Block, Embedding, Encoder, build_readout
from maskprior.patterns.pattern import Pattern
from maskprior.training.determinism import METHOD, MODEL, ORDER, TARGETS, generator, stream_seed

EVALUATION_BATCH = 2048


def encoder_with_prior(
    config: TokenConfig, pattern: Pattern, seed: int, *, vocabulary: int, tokens: int, outputs: int
) -> Encoder:
    """The encoder with the pattern where the method keeps it. All methods of a seed share their other weights."""
    torch.manual_seed(stream_seed(seed, MODEL))
    model = build_encoder(config, vocabulary=vocabulary, tokens=tokens, outputs=outputs)
    methods.find(config).write(model, config, pattern, generator(seed, METHOD))
    return model


def build_encoder(config: TokenConfig, *, vocabulary: int, tokens: int, outputs: int) -> Encoder:
    m = config.model
    embedding = Embedding(
        vocabulary,
        m.dim,
        tokens=tokens,
        token_std=m.embedding_std,
        position_std=m.position_std,
        position_scale=methods.find(config).position_scale(config),
    )
    shape = {"heads": m.heads, "head_dim": m.head_dim, "mlp_dim": m.mlp_dim, "tokens": tokens}
    blocks = [Block(m.dim, form=config.mask.form, **shape) for _ in range(m.layers)]
    width = m.dim * tokens if m.readout.endswith("flatten") else m.dim
    return Encoder(embedding, blocks, build_readout(m.readout, m.dim), nn.Linear(width, outputs))


def learned_targets(config: TokenConfig, targets: Tensor, seed: int) -> Tensor:
    """The targets of the training rows, (R, …): their own, or with `random_targets` a permutation of them."""
    if not config.random_targets:
        return targets
    return targets[torch.randperm(len(targets), generator=generator(seed, TARGETS)).to(targets.device)]


def shuffled(
    inputs: Tensor, targets: Tensor, *, batch_size: int, seed: int, step: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches from `step` on: each epoch is a permutation that depends on the seed and the epoch alone."""
    per_epoch = -(-len(targets) // batch_size)
    epoch, first = divmod(step, per_epoch)
    while True:
        order = torch.randperm(len(targets), generator=generator(seed, ORDER, epoch)).to(targets.device)
        for index in order.split(batch_size)[first:]:
            yield inputs[index], targets[index]
        epoch, first = epoch + 1, 0


@torch.no_grad()
def predict(model: nn.Module, inputs: Tensor) -> Tensor:
    """The network's output on every row, in evaluation mode: (R, N) -> (R, K)."""
    with evaluation_mode(model):
        return torch.cat([model(part) for part in inputs.split(EVALUATION_BATCH)])
