import pytest
import torch
from torch import nn

from maskprior.config.base import OptimizerConfig
from maskprior.errors import UserError
from maskprior.experiments import boolean, dry_run, vision
from maskprior.experiments.dry_run import rates, rehearse, saved_bytes, text, update_in_parts
from maskprior.runs.spec import make_run
from maskprior.training.loop import Setup
from tests import boolean_runs
from tests.vision_runs import paper, smoke

NO_DEPTH = {"model": {"drop_path": 0.0}}


def setups(name: str, count: int) -> list[Setup]:
    if name == "boolean":
        made = [boolean.prepare(boolean_runs.smoke(), 0, "cpu").setup for _ in range(count)]
    else:
        made = [vision.prepare(smoke(method=name, **NO_DEPTH), 0, "cpu").setup for _ in range(count)]
    for setup in made:
        setup.model.train()
    return made


@pytest.mark.parametrize("part", [1, 5, 31])
@pytest.mark.parametrize("name", ["boolean", "mask", "impulse"])
def test_an_update_in_parts_is_the_update_of_the_whole_batch_up_to_rounding(name, part):
    """Also where the parts are not equal; loss, gradients and what the optimiser makes of them."""
    whole, parts = setups(name, 2)
    batch = next(whole.batches(0))
    expected = update_in_parts(whole, batch, part=len(batch[0]))
    assert expected == pytest.approx(whole_loss(name, batch), rel=1e-6)
    assert update_in_parts(parts, batch, part=part) == pytest.approx(expected, rel=1e-6)
    for (key, a), b in zip(whole.model.named_parameters(), parts.model.parameters(), strict=True):
        if a.grad is not None:
            torch.testing.assert_close(b.grad, a.grad, rtol=1e-3, atol=1e-6, msg=key)


def whole_loss(name: str, batch) -> float:
    (fresh,) = setups(name, 1)
    return fresh.loss(batch).item()


def test_what_autograd_keeps_of_a_linear_layer_by_hand():
    """y = W2 relu(W1 x): it keeps x (3 numbers a sample) and relu's output (5); weights are no activations."""
    model = nn.Sequential(nn.Linear(3, 5, bias=False), nn.ReLU(), nn.Linear(5, 1, bias=False))
    config = OptimizerConfig(name="sgd", lr=1.0, weight_decay=0, mask_weight_decay=0, steps=1, batch_size=7)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    setup = Setup(model, optimizer, config, lambda step: iter(()), lambda batch: model(batch[0]).mean(), ())
    assert saved_bytes(setup, (torch.randn(7, 3),)) == 7 * (3 + 5) * 4


def test_rates_at_the_papers_scale():
    """CIFAR: the warm-up's 50 epochs end after 4,850 of 38,800 steps; without one the rate starts at its highest."""
    found = {name: (step, rate) for step, name, rate in rates(paper("cifar10").optimizer)}
    assert found["start"] == (0, pytest.approx(1e-6))
    assert found["after warm-up"] == (4850, pytest.approx(1.9239e-3, rel=1e-4))
    assert found["middle"] == (19400, pytest.approx(1.0005e-3, rel=1e-4))
    assert found["last"][0] == 38799
    assert found["last"][1] == pytest.approx(1.03e-6, rel=1e-2)
    boolean_rates = rates(boolean_runs.smoke().optimizer)
    assert boolean_rates[0][2] == boolean_rates[1][2] == pytest.approx(1e-3)


def test_a_rehearsal_of_a_smoke_run():
    found = rehearse(make_run("vision", "cifar10", "mask", scale="smoke"), memory_mib=1)
    assert found.stand_in == ""
    assert found.parameters == found.trained == 13_234
    assert found.mask_parameters == 2 * 3 * 17**2
    assert (found.input_shape, found.output_shape) == ((3, 16, 16), (4,))
    assert (found.batch_size, found.steps) == (32, 12)
    assert 1 <= found.part < 32  # about a tenth of a MiB a sample
    assert found.part * found.sample_bytes + found.fixed_bytes <= 2**20
    assert found.loss == pytest.approx(1.386, abs=0.3)
    assert found.hours == pytest.approx(12 * (found.seconds + found.load_seconds) / 3600)
    told = text(found)
    assert "13,234, of which M 1,734" in told
    assert "32 samples of 3 x 16 x 16 -> 4" in told


def test_a_fixed_mask_is_not_trained():
    found = rehearse(make_run("vision", "cifar10", "mask_fixed", scale="smoke"))
    assert found.parameters - found.trained == found.mask_parameters == 1734


def test_without_the_data_it_takes_random_inputs_and_says_so(tmp_path, monkeypatch):
    """The configuration is the project's, the data folder is empty."""
    run = make_run("vision", "cifar100", "mask", scale="reduced")
    monkeypatch.setattr(dry_run.importlib.import_module("maskprior.paths"), "data", lambda: tmp_path)
    found = rehearse(run)
    assert "cifar100-10pct: not prepared" in found.stand_in
    assert (found.input_shape, found.output_shape) == ((3, 32, 32), (100,))
    assert found.loss == pytest.approx(4.605, abs=0.3)
    assert "random: data set cifar100-10pct" in text(found)


def test_other_errors_are_not_hidden(monkeypatch):
    def refuse(*_):
        raise UserError("no")

    monkeypatch.setattr(vision, "prepare", refuse)
    with pytest.raises(UserError, match="no"):
        rehearse(make_run("vision", "cifar10", "mask", scale="smoke"))
