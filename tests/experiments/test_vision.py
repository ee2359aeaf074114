from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from timm.optim import param_groups_weight_decay
from torch.nn import functional as F

from maskprior.attention import attentions, mask_parameters, query_key_products
from maskprior.datasets import images, synthetic
from maskprior.diagnostics.persistence import diagnostic_steps
from maskprior.errors import UserError
from maskprior.experiments import vision
from maskprior.experiments.observers import evenly
from maskprior.experiments.vision import Stopwatch, best, evaluate, vision_pattern, vit_with_prior
from maskprior.experiments.vision_data import loading_workers, open_pictures, training_batches, transform
from maskprior.runs.spec import make_run, resolve
from maskprior.training import loop
from maskprior.training.loop import train
from tests.vision_runs import METHODS, paper, smoke

PLAIN = {"policy": "crop_mirror", "mixup": 0.0, "cutmix": 0.0}


@pytest.mark.parametrize("method", METHODS)
def test_smoke_run(method):
    config = smoke(method=method)
    prepared = vision.prepare(config, 0, "cpu")
    losses = train(prepared.setup)
    outcome = prepared.report(losses, None)
    arrays = outcome.arrays
    assert losses.values[0] == pytest.approx(np.log(4), abs=0.3)
    assert arrays["trace/step"].tolist() == [0, 3, 6, 9, 12]
    assert outcome.metrics["best_top1"] == arrays["trace/test_top1"].max()
    assert outcome.metrics["last_top1"] == pytest.approx(arrays["trace/test_top1"][-1], abs=1e-5)
    assert outcome.metrics["train_loss"] == pytest.approx(arrays["trace/train_loss"][-1])
    assert arrays["maps/attention_first_image"].shape == arrays["maps/attention_final"].shape == (2, 3, 17, 17)
    np.testing.assert_allclose(arrays["maps/attention_first_image"].sum(-1, dtype=np.float32), 1, atol=5e-3)
    assert ("maps/mask_final" in arrays) == ("mask_open" in outcome.metrics) == method.startswith("mask")
    assert all(np.isfinite(value) for value in outcome.metrics.values())
    speed = outcome.environment["speed"]
    assert speed["images_per_second"] > 0
    assert 0 < speed["data_share"] < 1


@pytest.mark.parametrize("task", ["cifar100", "imagenet100"])
def test_the_other_tasks_run(task):
    prepared = vision.prepare(smoke(task, "mask"), 0, "cpu")
    assert prepared.report(train(prepared.setup), None).metrics["test_loss"] > 0


def test_methods_share_what_is_not_their_prior():
    weights = {
        method: vit_with_prior(smoke(method=method), vision_pattern(smoke()), 0).state_dict() for method in METHODS
    }
    default = weights.pop("default")
    prior = {"mimetic": (".qkv.weight", ".proj.weight"), "impulse": (".qkv.weight", ".proj.weight")}
    for method, state in weights.items():
        for name, value in default.items():
            is_prior = "attn.inner" in name and name.endswith(prior.get(method, ()) or "nothing")
            assert torch.equal(state[name], value) != is_prior, (method, name)
    value_out = [weights[method]["blocks.0.attn.inner.qkv.weight"][48:] for method in ("mimetic", "impulse")]
    assert torch.equal(*value_out)  # the same V and Proj, where a method sets them


def test_values_and_projections_can_be_swapped_between_methods():
    pattern = vision_pattern(smoke())
    default = vit_with_prior(smoke(method="default"), pattern, 0)
    with_mimetic = vit_with_prior(smoke(method="mask", vproj="mimetic"), pattern, 0)
    without = vit_with_prior(smoke(method="impulse", vproj="default"), pattern, 0)
    impulse = vit_with_prior(smoke(method="impulse"), pattern, 0)
    for layer in range(2):
        assert_same(attentions(without)[layer].value_out_weights(), attentions(default)[layer].value_out_weights())
        assert_same(attentions(with_mimetic)[layer].value_out_weights(), attentions(impulse)[layer].value_out_weights())
        assert_same(attentions(without)[layer].query_key_weights(), attentions(impulse)[layer].query_key_weights())


def assert_same(found, expected):
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_impulse_hits_the_shift_at_the_papers_configuration():
    """Where patches look, judged by positions alone: the right one in at least 99 % of all rows that have a target."""
    config = paper("cifar10", "impulse")
    pattern = vision_pattern(config)
    model = vit_with_prior(config, pattern, 0)
    with torch.no_grad():
        inputs = F.layer_norm(model.positions(), (192,))[None, 1:]
        hits = []
        for layer, module in enumerate(attentions(model)):
            chosen = module.attention(module.query_key_logits(inputs))[0].argmax(-1)
            target = pattern.without_prefix().open[layer]
            rows = target.any(-1)
            hits.append((chosen.numpy() == target.argmax(-1))[rows])
    assert sum(len(hit) for hit in hits) == 12 * (196 + 2 * 182)
    assert np.concatenate(hits).mean() >= 0.99


def test_mimetic_is_07_identity_plus_07_noise_at_the_papers_configuration():
    """The rank-64 part of 0.7 I + 0.7 Z, with |Z| <= sqrt(3/192): it keeps the largest singular values."""
    config = paper("cifar10", "mimetic")
    model = vit_with_prior(config, vision_pattern(config), 0)
    for module in attentions(model):
        for product in query_key_products(module):
            # A third of the directions, those with the larger singular values: between a third and all of the trace.
            assert 0.7 * 64 < product.trace() < 0.7 * 192
            s = torch.linalg.svdvals(product)
            assert (s[:64] > 0.7).all()
            assert (s[64:] < 1e-4).all()


@pytest.mark.parametrize("method", ["mask", "mask_fixed", "default"])
def test_decay_is_grouped_as_timm_groups_it(method):
    """M has more than one dimension and no name of timm's exceptions, so it is decayed as the weights are."""
    setup = vision.prepare(smoke(method=method), 0, "cpu").setup
    expected = {}
    for group in param_groups_weight_decay(setup.model, 0.05, no_weight_decay_list=setup.model.no_weight_decay()):
        expected |= {id(p): group["weight_decay"] for p in group["params"]}
    found = {id(p): g["weight_decay"] for g in setup.optimizer.param_groups for p in g["params"]}
    assert found == expected
    if method == "mask":
        assert {found[id(m)] for m in mask_parameters(setup.model)} == {0.05}


def test_the_decay_of_m_can_be_turned_off_alone():
    setup = vision.prepare(smoke(optimizer={"mask_weight_decay": 0.0}), 0, "cpu").setup
    masks = {id(m) for m in mask_parameters(setup.model)}
    for group in setup.optimizer.param_groups:
        is_mask = {id(p) in masks for p in group["params"]}
        assert len(is_mask) == 1
        assert group["weight_decay"] == (0 if is_mask == {True} else group["weight_decay"])
    assert {g["weight_decay"] for g in setup.optimizer.param_groups} == {0.0, 0.05}


def test_the_record_holds_what_decay_alone_makes_of_m():
    """Decoupled decay multiplies M by 1 - lr wd in every step; the loss moves it by less than two nats here."""
    config = smoke(optimizer={"weight_decay": 5.0, "mask_weight_decay": 5.0, "lr": 0.02})
    prepared = vision.prepare(config, 0, "cpu")
    outcome = prepared.report(train(prepared.setup), None)
    o = config.optimizer
    factor = np.prod([1 - 5.0 * 0.02 * o.factor(step) for step in range(o.steps)])
    assert 0.3 < factor < 0.7
    assert outcome.metrics["mask_open_decay_only"] == pytest.approx(10 * factor, rel=1e-4)
    assert outcome.metrics["mask_closed_decay_only"] == pytest.approx(-10 * factor, rel=1e-4)
    assert 0 < abs(outcome.metrics["mask_open"] - 10 * factor) < 12 * 0.02
    assert outcome.arrays["mask/closed"].shape == (2, 3)


@pytest.mark.parametrize("changes", [{}, {"augmentation": PLAIN}], ids=["timm", "crop_mirror"])
@pytest.mark.parametrize("stop", [1, 4, 9])
def test_going_on_mid_epoch_changes_no_bit(tmp_path: Path, monkeypatch, changes, stop):
    """With stochastic depth and augmentation on; epochs have 3 updates, so 9 is between two of them."""
    whole, first, second = (vision.prepare(smoke(**changes), 0, "cpu") for _ in range(3))
    losses = train(whole.setup)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)
    train(first.setup, checkpoint=tmp_path / "run.pt", stop=stop)
    resumed = train(second.setup, checkpoint=tmp_path / "run.pt")
    assert resumed.values == losses.values
    expected, found = whole.report(losses, None), second.report(resumed, None)
    assert found.metrics == expected.metrics
    assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in expected.arrays.items())


def first_batch(step: int = 0, seed: int = 0, **changes):
    config = smoke(**changes)
    return next(training_batches(config, open_pictures(config, seed, "cpu"), seed=seed, step=step, device="cpu"))


def test_mixed_targets_are_smoothed_pairs_and_depend_on_seed_and_step_alone():
    pixels, targets = first_batch()
    assert pixels.shape == (32, 3, 16, 16)
    torch.testing.assert_close(targets.sum(1), torch.ones(32))
    assert targets.min().item() == pytest.approx(0.1 / 4)  # smoothing 0.1 over 4 classes
    torch.manual_seed(99)
    np.random.seed(99)
    assert_same(first_batch(), (pixels, targets))
    assert not torch.equal(first_batch(seed=1)[0], pixels)
    assert not torch.equal(first_batch(step=3)[0], pixels)


def test_without_mixing_targets_are_labels():
    _, targets = first_batch(augmentation={"mixup": 0.0, "cutmix": 0.0})
    expected = synthetic.images("train")[1][images.epoch_order(96, seed=0, epoch=0)[:32]]
    assert targets.tolist() == expected.tolist()


def test_label_smoothing_of_labels_is_that_of_mixed_targets():
    """With mixup's alpha so small that nothing is mixed, both ways give the same loss."""
    loss = {}
    for name, mixup in (("labels", 0.0), ("targets", 1e-9)):
        config = smoke(augmentation={"mixup": mixup, "cutmix": 0.0}, model={"drop_path": 0.0})
        setup = vision.prepare(config, 0, "cpu").setup
        pixels, targets = next(setup.batches(0))
        assert targets.is_floating_point() == (name == "targets")
        loss[name] = setup.loss((pixels, targets)).item()
    assert loss["labels"] == pytest.approx(loss["targets"], rel=1e-5)


def test_the_papers_transforms():
    """RandAugment and erasing in training; for evaluation a resize to 256 and the centre 224 x 224."""
    config = paper("cifar10").augmentation
    names = [type(step).__name__ for step in transform(config, 224, training=True).transforms]
    assert names[:3] == ["RandomResizedCropAndInterpolation", "RandomHorizontalFlip", "RandAugment"]
    assert names[-1] == "RandomErasing"
    evaluation = transform(config, 224, training=False)
    assert evaluation.transforms[0].size == 256
    assert tuple(evaluation.transforms[1].size) == (224, 224)
    grey = evaluation(Image.new("RGB", (32, 32), (124, 116, 104)))  # about ImageNet's mean
    assert grey.shape == (3, 224, 224)
    assert grey.abs().max() < 0.02


def test_evaluation_by_hand():
    """Answers class 0 with logit log 3 against three zeros: 1/2 against 1/6, right on every fourth image."""
    config = smoke(augmentation=PLAIN)
    pictures = open_pictures(config, 0, "cpu")

    class Answers(torch.nn.Module):
        def forward(self, x):
            assert not self.training
            return torch.tensor([np.log(3.0), 0, 0, 0], dtype=torch.float32).expand(len(x), -1)

    found = evaluate(Answers(), pictures, evenly(48, None), "cpu")
    assert found["test_top1"] == 25
    assert found["test_loss"] == pytest.approx((np.log(2) + 3 * np.log(6)) / 4, rel=1e-6)
    only = evaluate(Answers(), pictures, np.array([0, 4, 8, 1]), "cpu")
    assert only["test_top1"] == 75


def test_best_is_the_first_of_the_highest():
    arrays = {"trace/test_top1": np.array([10, 40, 30, 40.0]), "trace/step": np.array([0, 5, 10, 15])}
    assert best(arrays, 5) == {"best_top1": 40, "best_epoch": 1}


def test_evenly():
    assert evenly(10, 4).tolist() == [0, 3, 6, 9]
    assert evenly(3, None).tolist() == evenly(3, 99).tolist() == [0, 1, 2]


def test_loading_needs_no_helpers_on_a_cpu():
    assert loading_workers("cpu") == 0
    assert 0 <= loading_workers("cuda") <= 8


def test_wrong_steps_per_epoch_say_what_is_right():
    with pytest.raises(UserError, match=r"^optimizer\.steps_per_epoch: 4, but synthetic-images has 3 batches of 32"):
        vision.prepare(smoke(optimizer={"steps_per_epoch": 4}), 0, "cpu")


def test_the_stopwatch_splits_waiting_from_computing(monkeypatch):
    """A clock that ticks once whenever it is read: each batch asks 3 times, one tick of which is the wait."""
    ticks = iter(range(100))
    monkeypatch.setattr(vision.time, "perf_counter", lambda: float(next(ticks)))
    watch = Stopwatch()
    watched = watch.over(iter([(torch.zeros(4), None)] * 3))
    assert watch.speed() == {}
    for _ in range(3):
        next(watched)
    assert watch.speed() == {"images_per_second": 2.4, "data_share": 0.6}


def test_a_record_of_the_reduced_scale_stays_below_300_kb():
    """As many tokens, heads, layers and maps, and for each epoch and look as much as here."""
    full = resolve(make_run("vision", "cifar10", "mask", scale="reduced"))
    side = full.model.image_size // full.model.patch_size
    shape = {"patch_size": 16 // side, "layers": full.model.layers, "heads": full.model.heads}
    assert full.model.heads == 3
    prepared = vision.prepare(smoke(model=shape, augmentation=PLAIN, map_layers=full.map_layers), 0, "cpu")
    arrays = prepared.report(train(prepared.setup, stop=1), None).arrays
    grows = {"trace": full.optimizer.epochs + 1, "persistence": len(diagnostic_steps(full.optimizer.steps))}
    size = sum(a.nbytes * grows.get(name.split("/")[0], len(a)) / len(a) for name, a in arrays.items())
    assert 200_000 < size < 290_000
