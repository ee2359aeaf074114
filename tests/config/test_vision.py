import math

import pytest
import torch
from pydantic import ValidationError
from timm.scheduler import CosineLRScheduler

from maskprior.config.vision import VisionOptimizerConfig
from tests.vision_runs import changed, paper, smoke


def timm_rates(config: VisionOptimizerConfig) -> list[float]:
    """The learning rate of each epoch as timm's own scheduler sets it in timm's own training script."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=config.lr)
    scheduler = CosineLRScheduler(
        optimizer,
        t_initial=config.epochs,
        lr_min=config.min_lr,
        warmup_t=config.warmup_epochs,
        warmup_lr_init=config.warmup_lr,
    )
    rates = []
    for epoch in range(config.epochs + config.cooldown_epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step(epoch + 1)
    return rates


@pytest.mark.parametrize("task", ["cifar10", "imagenet100"])
def test_the_schedule_is_timms_in_every_epoch(task):
    config = paper(task).optimizer
    rates = timm_rates(config)
    assert len(rates) * config.steps_per_epoch == config.steps
    for place in (0, config.steps_per_epoch // 2, config.steps_per_epoch - 1):  # first, middle, last step of an epoch
        steps = range(place, config.steps, config.steps_per_epoch)
        found = [config.lr * config.factor(step) for step in steps]
        assert found == pytest.approx(rates, rel=1e-12)


def test_the_schedule_by_hand():
    """Epochs 0 and 25 of a warm-up of 50, its end, the cosine's middle at 200, and the last of 400 epochs."""
    config = paper("cifar10").optimizer
    rate = [2e-3 * config.factor(97 * epoch) for epoch in (0, 25, 50, 200, 399)]
    expected = [1e-6, (1e-6 + 2e-3) / 2, 1e-6 + 1.999e-3 * (1 + math.cos(math.pi / 8)) / 2, (1e-6 + 2e-3) / 2]
    assert rate[:4] == pytest.approx(expected)
    assert rate[4] == pytest.approx(1e-6 + 1.999e-3 * math.sin(math.pi / 800) ** 2)


def test_cool_down_stays_at_the_lowest_rate():
    config = paper("imagenet100").optimizer
    assert config.steps == 310 * 247
    assert [1e-3 * config.factor(247 * epoch) for epoch in (300, 305, 309)] == pytest.approx([1e-5] * 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optimizer": {"steps": 7}}, "steps: 7 are not so many epochs of 3 steps"),
        ({"optimizer": {"warmup_steps": 3}}, "only the cosine with warmup_epochs"),
        ({"optimizer": {"query_key_lr_multiplier": 0.0}}, "no parameters of their own"),
        ({"model": {"head_dim": 7}}, "3 heads of 7 are not the width 24"),
        ({"model": {"patch_size": 5}}, "5 does not divide the image size 16"),
        ({"map_layers": (0, 2)}, "2 is not below the number of layers, 2"),
        ({"method": "nonsense"}, "nonsense has no file in src/maskprior/methods: default, impulse, mask"),
    ],
)
def test_what_is_impossible_says_so(change, message):
    with pytest.raises(ValidationError, match=message):
        changed(smoke(), **change)
