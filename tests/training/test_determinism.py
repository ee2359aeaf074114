import itertools

import torch

from maskprior.training.determinism import METHOD, MODEL, ORDER, generator, make_deterministic, stream_seed


def test_streams_do_not_meet():
    """Weights, noise and each epoch's order of each seed have a seed of their own."""
    streams = [(MODEL,), (METHOD,), *((ORDER, epoch) for epoch in range(200))]
    seeds = {stream_seed(seed, *stream) for seed, stream in itertools.product(range(20), streams)}
    assert len(seeds) == 20 * len(streams)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_generators_repeat_themselves():
    one, other = (torch.randperm(1000, generator=generator(3, ORDER, 5)) for _ in range(2))
    assert torch.equal(one, other)
    assert not torch.equal(one, torch.randperm(1000, generator=generator(3, ORDER, 6)))


def test_switches():
    make_deterministic()
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"
