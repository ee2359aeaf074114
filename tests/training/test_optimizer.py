import math
from typing import Any

import pytest
import torch
from torch import nn

from maskprior.attention import mask_parameters, query_key_parameters
from maskprior.config.base import OptimizerConfig
from maskprior.experiments import boolean
from maskprior.training.optimizer import DecayOnly, build_optimizer, set_learning_rate
from tests.boolean_runs import METHODS, smoke


def config(**changes: Any) -> OptimizerConfig:
    values = {
        "name": "adam",
        "lr": 1e-3,
        "weight_decay": 1e-3,
        "mask_weight_decay": 1e-2,
        "steps": 60,
        "batch_size": 32,
    }
    return OptimizerConfig(**{**values, **changes})


def test_cosine_by_hand():
    """Four steps: 1, cos^2(pi/8), 1/2, sin^2(pi/8); the value 0 would come after the last one."""
    found = [config(steps=4).factor(step) for step in range(5)]
    assert found == pytest.approx([1, math.cos(math.pi / 8) ** 2, 0.5, math.sin(math.pi / 8) ** 2, 0])


def test_warm_up_is_linear_and_ends_at_one():
    cosine = config(steps=14, warmup_steps=4)
    assert [cosine.factor(step) for step in range(5)] == pytest.approx([0.25, 0.5, 0.75, 1, 1])
    assert cosine.factor(9) == pytest.approx(0.5)
    assert cosine.factor(13) == pytest.approx(math.sin(math.pi / 20) ** 2)
    constant = config(steps=14, warmup_steps=4, schedule="constant")
    assert [constant.factor(step) for step in (0, 3, 4, 13)] == pytest.approx([0.25, 1, 1, 1])


def test_the_sum_of_a_cosine_is_half_the_steps():
    """Up to half a step: the paper's 8,640 steps at 1e-3 sum to 4.32."""
    assert sum(config(steps=8640).factor(step) for step in range(8640)) == pytest.approx(4320.5)


class Halving(OptimizerConfig):
    def factor(self, step: int) -> float:
        return 0.5**step


def test_a_configuration_may_bring_its_own_schedule():
    own = Halving(**config(mask_lr_multiplier=10.0).model_dump())
    m, w = (nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = build_optimizer(own, masks=[m], others=[w])
    set_learning_rate(optimizer, own, 3)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([1e-2 / 8, 1e-3 / 8])


def test_what_is_never_decayed_moves_by_its_gradient_alone():
    """AdamW with a gradient of 0 leaves it where it is, and shrinks the others by 1 - lr decay."""
    decayed, undecayed = (nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = build_optimizer(
        config(name="adamw", lr=0.1, weight_decay=0.5), masks=[], others=[decayed], undecayed=[undecayed]
    )
    for parameter in (decayed, undecayed):
        parameter.grad = torch.zeros(2)
    optimizer.step()
    assert undecayed.tolist() == [1, 1]
    assert decayed.tolist() == pytest.approx([0.95, 0.95])


@pytest.mark.parametrize("method", METHODS)
def test_every_trained_parameter_is_in_one_group_and_no_other(method):
    setup = boolean.prepare(smoke(method=method), 0, "cpu").setup
    grouped = [id(p) for group in setup.optimizer.param_groups for p in group["params"]]
    assert sorted(grouped) == sorted(id(p) for p in setup.model.parameters() if p.requires_grad)
    assert len(set(grouped)) == len(grouped)
    fixed = [p for p in setup.model.parameters() if not p.requires_grad]
    assert len(fixed) == (2 if method == "mask_fixed" else 0)


def test_groups_have_their_own_decay_and_rate():
    changes = {
        "weight_decay": 0.1,
        "mask_weight_decay": 0.2,
        "mask_lr_multiplier": 10.0,
        "query_key_lr_multiplier": 0.01,
    }
    setup = boolean.prepare(smoke(optimizer=changes), 0, "cpu").setup
    masks, query_keys, others = setup.optimizer.param_groups
    assert [id(p) for p in masks["params"]] == [id(p) for p in mask_parameters(setup.model)]
    assert [id(p) for p in query_keys["params"]] == [id(p) for p in query_key_parameters(setup.model)]
    assert [group["weight_decay"] for group in (masks, query_keys, others)] == [0.2, 0.1, 0.1]
    set_learning_rate(setup.optimizer, setup.config, 30)
    assert [group["lr"] for group in (masks, query_keys, others)] == pytest.approx([0.5e-2, 0.5e-5, 0.5e-3])


def test_a_multiplier_of_zero_freezes_queries_and_keys():
    setup = boolean.prepare(smoke(optimizer={"query_key_lr_multiplier": 0.0}), 0, "cpu").setup
    trained = {id(p) for group in setup.optimizer.param_groups for p in group["params"]}
    assert not trained & {id(p) for p in query_key_parameters(setup.model)}
    assert trained >= {id(p) for p in mask_parameters(setup.model)}


@pytest.mark.parametrize(("name", "kind"), [("adam", "Adam"), ("adamw", "AdamW"), ("sgd", "SGD")])
def test_names(name, kind):
    found = build_optimizer(config(name=name), masks=[nn.Parameter(torch.ones(1))])
    assert type(found).__name__ == kind


def decayed(settings: OptimizerConfig, start: float, steps: int) -> float:
    masks = DecayOnly(settings, [nn.Parameter(torch.full((1, 2, 2), start))])
    for step in range(steps):
        masks.step(step)
    assert masks.masks[0].unique().numel() == 1
    return masks.masks[0][0, 0, 0].item()


@pytest.mark.parametrize("start", [10.0, -10.0])
@pytest.mark.parametrize("kind", ["adamw", "sgd"])
@pytest.mark.parametrize("shape", ["cosine", "constant"])
def test_decoupled_decay_is_a_product(start, kind, shape):
    """AdamW, and SGD without a gradient: M_T = M_0 prod_t (1 - lr_t wd)."""
    settings = config(name=kind, lr=0.1, mask_weight_decay=0.5, schedule=shape, warmup_steps=5)
    expected = start * math.prod(1 - 0.1 * settings.factor(t) * 0.5 for t in range(60))
    assert decayed(settings, start, 60) == pytest.approx(expected, rel=1e-5)
    assert abs(expected) < 0.3 * abs(start)


@pytest.mark.parametrize("start", [10.0, -10.0])
@pytest.mark.parametrize("decay", [1e-3, 1e-1])
def test_l2_under_adam_is_sign_decay(start, decay):
    """Adam's step is scale-free: |M| falls by the sum of the learning rates, however small the decay."""
    settings = config(lr=1e-2, mask_weight_decay=decay)
    expected = start - math.copysign(sum(1e-2 * settings.factor(t) for t in range(60)), start)
    assert decayed(settings, start, 60) == pytest.approx(expected, abs=1e-3)


def adam_on_decay_alone(settings: OptimizerConfig, m: float) -> float:
    """Adam's recursion for one number whose gradient is wd m."""
    mean = square = 0.0
    for t in range(settings.steps):
        gradient = settings.mask_weight_decay * m
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        step = (mean / (1 - 0.9 ** (t + 1))) / (math.sqrt(square / (1 - 0.999 ** (t + 1))) + 1e-8)
        m -= settings.lr * settings.factor(t) * step
    return m


def test_long_decay_under_adam_follows_its_recursion():
    """2,000 steps at 1e-3: M falls by a little less than the sum of the rates, 1, for the second moment trails."""
    settings = config(steps=2000, mask_weight_decay=1e-3)
    expected = adam_on_decay_alone(settings, 10.0)
    assert 9.0 < expected < 9.05
    assert decayed(settings, 10.0, 2000) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd"])
def test_no_decay_leaves_the_mask(kind):
    assert decayed(config(name=kind, mask_weight_decay=0.0), 10.0, 60) == 10.0


def test_the_masks_learning_rate_multiplier_speeds_its_decay():
    assert decayed(config(mask_lr_multiplier=10.0), 10.0, 60) == pytest.approx(10 - 10 * 60e-3 / 2, abs=0.01)


def test_a_fixed_mask_does_not_decay():
    masks = DecayOnly(config(), [nn.Parameter(torch.full((1, 2, 2), 10.0), requires_grad=False)])
    masks.step(0)
    assert masks.masks[0].unique().tolist() == [10.0]
    DecayOnly(config(), []).step(0)


def test_decay_only_never_touches_the_masks_themselves():
    original = nn.Parameter(torch.full((1, 2, 2), 10.0))
    masks = DecayOnly(config(), [original])
    masks.step(0)
    assert original.unique().tolist() == [10.0]
    assert original.grad is None


@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd"])
def test_decay_only_goes_on_from_its_state(kind):
    settings = config(name=kind)
    whole, first, second = (DecayOnly(settings, [nn.Parameter(torch.full((1, 2, 2), 10.0))]) for _ in range(3))
    for step in range(60):
        whole.step(step)
    for step in range(20):
        first.step(step)
    second.load(first.state())
    for step in range(20, 60):
        second.step(step)
    assert torch.equal(second.masks[0], whole.masks[0])
