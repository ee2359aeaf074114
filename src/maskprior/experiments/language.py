"""GPT-style language models: data, model, method, loss and metrics of one run (paper appendix F, Table 6)."""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from maskprior import methods
from maskprior.attention import mask_parameters
from maskprior.config.language import LanguageConfig
from maskprior.datasets import text
from maskprior.datasets.text import Corpus
from maskprior.diagnostics.persistence import layer_states, mean_attention, position_open_mass
from maskprior.experiments.observers import Persistence, Trace, fidelity
from maskprior.experiments.outcome import Outcome, Prepared
from maskprior.experiments.perplexity import (
    bits_per_byte,
    estimated_loss,
    perplexity,
    random_batches,
    text_nats,
    token_losses,
)
from maskprior.initialization.mimetic import write_mimetic_value_out
from maskprior.models.gpt import Block, Gpt, generate
from maskprior.patterns import language as priors
from maskprior.patterns.language import DistancePattern
from maskprior.training.determinism import DROPOUT, METHOD, MODEL, SAMPLE, generator, make_deterministic, stream_seed
from maskprior.training.loop import Losses, Progress, Setup
from maskprior.training.optimizer import model_optimizer

PROMPT = 8

Batch = tuple[Tensor, Tensor]
Arrays = dict[str, np.ndarray]


def prepare(config: LanguageConfig, seed: int, device: str) -> Prepared:
    """The run of this configuration and seed. All methods of a seed share weights, batches and dropout."""
    return prepare_on(text.corpus(config.dataset), config, seed, device)


def prepare_without_data(config: LanguageConfig, seed: int, device: str) -> Prepared:
    """The run on random tokens: for trying out what it costs where its text is missing."""
    return prepare_on(text.random_corpus(config.dataset), config, seed, device)


def prepare_on(corpus: Corpus, config: LanguageConfig, seed: int, device: str) -> Prepared:
    make_deterministic()
    block = config.model.block
    pattern = distance_pattern(config)
    model = build_model(config, corpus.vocabulary, seed).to(device)
    optimizer = model_optimizer(model, config.optimizer)
    probe, probe_targets = (part.to(device) for part in evenly(corpus.splits["valid"], config))
    trace = Trace(config.optimizer.steps, lambda: {"val_loss": estimated_loss(model, iter([(probe, probe_targets)]))})
    persistence = Persistence(model, probe, pattern, config.optimizer)
    in_positions = position_open_mass(model, model.positions(), pattern)
    initial_masks = [mask.detach().cpu().clone() for mask in mask_parameters(model)]

    def batches(step: int) -> Iterator[Batch]:
        for at in itertools.count(step):
            size = config.optimizer.batch_size
            found = text.batch(corpus.splits["train"], block=block, batch_size=size, seed=seed, stream="train", step=at)
            yield found[0].to(device), found[1].to(device)

    def loss(batch: Batch) -> Tensor:
        return token_losses(model, *batch).mean()

    def report(losses: Losses, progress: Progress | None = None) -> Outcome:
        observed = persistence.arrays()
        arrays = {name: value for name, value in observed.items() if not name.startswith("maps/")}
        arrays |= trace.arrays()
        final = mean_attention(layer_states(model, probe))
        arrays |= {
            "profile/attention_initial": profile(persistence.initial_map),
            "profile/attention_final": profile(final),
        }
        if masks := [mask.detach().cpu() for mask in mask_parameters(model)]:
            before, after = torch.stack(initial_masks).numpy(), torch.stack(masks).numpy()
            arrays |= {"profile/mask_initial": profile(before), "profile/mask_final": profile(after)}
            arrays["mask_change_first_head"] = (after - before)[:, 0].astype(np.float16)
        last = losses.values[-100:]
        metrics = {"train_loss": float(np.mean(last)) if last else float("nan")}
        metrics |= evaluate(model, corpus, config, seed, device, progress) | fidelity(arrays, in_positions)
        labels = {"sample": sample(model, corpus, config, seed, device), "tokenizer_sha256": [corpus.tokenizer_sha256]}
        return Outcome(metrics, {}, arrays, labels)

    setup = Setup(model, optimizer, config.optimizer, batches, loss, (trace, persistence))
    # Dropout draws from the global stream; the training's part of it begins here.
    torch.manual_seed(stream_seed(seed, DROPOUT))
    return Prepared(setup, report)


def distance_pattern(config: LanguageConfig) -> DistancePattern:
    m, prior = config.model, config.mask
    return priors.pattern(prior.prior, layers=m.layers, heads=m.heads, tokens=m.block, scale=prior.scale)


def build_model(config: LanguageConfig, vocabulary: int, seed: int) -> Gpt:
    """The GPT with the prior where the method keeps it. All methods of a seed share their other weights."""
    m = config.model
    torch.manual_seed(stream_seed(seed, MODEL))
    shape = {"heads": m.heads, "head_dim": m.head_dim, "mlp_dim": m.mlp_dim, "block": m.block}
    blocks = [Block(m.dim, dropout=m.dropout, mask_scale=config.mask.scale, **shape) for _ in range(m.layers)]
    model = Gpt(vocabulary, m.dim, block=m.block, blocks=blocks, std=m.init_std)
    noise = generator(seed, METHOD)
    methods.find(config).write(model, config, distance_pattern(config), noise)
    if config.method == "mimetic":
        options = config.mimetic
        write_mimetic_value_out(
            model, identity=options.value_out_identity, noise=options.value_out_noise, generator=noise
        )
    return model


def evenly(tokens: text.Tokens, config: LanguageConfig) -> Batch:
    """`probe_sequences` windows evenly spaced over the text, and their targets: a fixed sample for all methods."""
    block = config.model.block
    begins = np.linspace(0, len(tokens) - block - 1, config.probe_sequences).astype(np.int64)
    found = torch.from_numpy(tokens[begins[:, None] + np.arange(block + 1)].astype(np.int64))
    return found[:, :-1], found[:, 1:]


def evaluate(
    model: Gpt, corpus: Corpus, config: LanguageConfig, seed: int, device: str, progress: Progress | None
) -> dict[str, float]:
    """Perplexities of the validation and the test text.

    `<split>_perplexity` is the paper's estimate on random batches of the training's size; `<split>_perplexity_exact`
    and `<split>_bits_per_byte` are of the whole text but its first token.
    """
    found: dict[str, float] = {}
    block, splits = config.model.block, {"val": corpus.splits["valid"], "test": corpus.splits["test"]}
    nats: dict[int, float] = {}
    for name, tokens in splits.items():
        batches = random_batches(
            tokens,
            count=config.evaluation_batches,
            block=block,
            batch_size=config.optimizer.batch_size,
            seed=seed,
            stream=name,
            device=device,
        )
        found[f"{name}_perplexity"] = perplexity(estimated_loss(model, batches))
        # One text that serves as both is read once.
        if id(tokens) not in nats:
            nats[id(tokens)] = text_nats(
                model, tokens, block=block, stride=config.stride, device=device, progress=progress
            )
        total = nats[id(tokens)]
        found[f"{name}_perplexity_exact"] = perplexity(total / (len(tokens) - 1))
        size = corpus.text_bytes["valid" if name == "val" else name]
        found[f"{name}_bits_per_byte"] = bits_per_byte(total, size)
    return found


def profile(maps: np.ndarray) -> np.ndarray:
    """Mean over rows of the entries at each distance i - j = 0 … N - 1: (L, H, N, N) -> float32 (L, H, N)."""
    tokens = maps.shape[-1]
    by_distance = [np.diagonal(maps, -r, axis1=2, axis2=3).mean(-1) for r in range(tokens)]
    return np.stack(by_distance, axis=-1).astype(np.float32)


def sample(model: Gpt, corpus: Corpus, config: LanguageConfig, seed: int, device: str) -> list[str]:
    """The test text's first tokens, and what the model goes on with: drawn at temperature 1, the seed's draw."""
    prompt = torch.from_numpy(corpus.splits["test"][:PROMPT].astype(np.int64)).to(device)
    drawn = generate(
        model, prompt, config.sample_tokens, block=config.model.block, generator=generator(seed, SAMPLE)
    ).tolist()
    return [corpus.decode(drawn[: len(prompt)]), corpus.decode(drawn[len(prompt) :])]
