"""What the experiments on short token sequences share: the encoder, its prior, its optimiser, the order of its data."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from maskprior.attention import mask_parameters, query_key_parameters
from maskprior.config.base import OptimizerConfig
from maskprior.config.token import TokenConfig
from maskprior.initialization.mask import write_mask, write_zero_mask
from maskprior.initialization.structured import write_structured_opt, write_structured_svd
from maskprior.models.encoder import Block, Embedding, Encoder, build_readout
from maskprior.patterns.pattern import Pattern
from maskprior.training.determinism import METHOD, MODEL, ORDER, generator, stream_seed
from maskprior.training.optimizer import build_optimizer

EVALUATION_BATCH = 2048


def encoder_with_prior(
    config: TokenConfig, pattern: Pattern, seed: int, *, vocabulary: int, tokens: int, outputs: int
) -> Encoder:
    """The encoder with the pattern where the method keeps it. All methods of a seed share their other weights."""
    torch.manual_seed(stream_seed(seed, MODEL))
    model = build_encoder(config, vocabulary=vocabulary, tokens=tokens, outputs=outputs)
    write_prior(model, config, pattern, generator(seed, METHOD))
    return model


def build_encoder(config: TokenConfig, *, vocabulary: int, tokens: int, outputs: int) -> Encoder:
    m = config.model
    embedding = Embedding(
        vocabulary,
        m.dim,
        tokens=tokens,
        token_std=m.embedding_std,
        position_std=m.position_std,
        position_scale=config.svd.position_scale if config.method == "structured_svd" else config.position_scale,
    )
    shape = {"heads": m.heads, "head_dim": m.head_dim, "mlp_dim": m.mlp_dim, "tokens": tokens}
    blocks = [Block(m.dim, form=config.mask.form, **shape) for _ in range(m.layers)]
    width = m.dim * tokens if m.readout.endswith("flatten") else m.dim
    return Encoder(embedding, blocks, build_readout(m.readout, m.dim), nn.Linear(width, outputs))


def write_prior(model: Encoder, config: TokenConfig, pattern: Pattern, noise: torch.Generator) -> None:
    """Put the pattern where the method keeps it."""
    match config.method:
        case "mask" | "mask_fixed":
            learnable = config.method == "mask"
            write_mask(model, pattern, amplitude=config.mask.amplitude, learnable=learnable, form=config.mask.form)
        case "mask_zero":
            write_zero_mask(model)
        case "structured_svd":
            options = config.svd.model_dump(exclude={"position_scale"})
            write_structured_svd(model, model.positions(), pattern, generator=noise, **options)
        case "structured_opt":
            write_structured_opt(model, model.positions(), pattern, generator=noise, **config.opt.model_dump())


def encoder_optimizer(model: Encoder, config: OptimizerConfig) -> torch.optim.Optimizer:
    masks, query_keys = mask_parameters(model), query_key_parameters(model)
    special = {id(parameter) for parameter in [*masks, *query_keys]}
    others = [parameter for parameter in model.parameters() if id(parameter) not in special]
    return build_optimizer(config, masks=masks, query_keys=query_keys, others=others)


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
    training = model.training
    model.eval()
    outputs = torch.cat([model(part) for part in inputs.split(EVALUATION_BATCH)])
    model.train(training)
    return outputs


def fidelity(arrays: dict[str, np.ndarray], position_open_mass: np.ndarray) -> dict[str, float]:
    """How much of the pattern is there before training, averaged over layers and heads: on real inputs, and in the
    query-key weights alone, read from positions without content."""
    names = {"map_alignment": "alignment", "open_mass": "open_mass", "open_fraction": "open_mass_chance"}
    found = {f"init_fidelity_{to}": float(np.nanmean(arrays[f"persistence/{of}"][0])) for of, to in names.items()}
    return found | {"init_fidelity_position_open_mass": float(np.nanmean(position_open_mass))}
