import shutil

import numpy as np
import pytest
import torch

from maskprior import paths, tasks
from maskprior.datasets import boolean as data
from maskprior.experiments import boolean
from maskprior.experiments.boolean import Rows, best, probe_measures, reference, rows, scores, train_and_test
from maskprior.experiments.observers import trace_steps
from maskprior.experiments.run import execute
from maskprior.runs.record import read_arrays, read_record
from maskprior.runs.spec import make_run
from maskprior.training.loop import train
from tests.boolean_runs import METHODS, TASKS, smoke

METRICS = {
    *(f"{part}_{name}" for part in ("test", "seen", "unseen") for name in ("loss", "accuracy", "sign_accuracy")),
    *("unseen_mean_prediction", "train_loss", "best_test_loss", "best_step"),
    *(f"init_fidelity_{name}" for name in ("alignment", "open_mass", "open_mass_chance", "position_open_mass")),
}
STATE = {
    *(f"{part}_{name}" for part in ("map", "query_key", "mask") for name in ("alignment",)),
    *("query_key_gap", "mask_gap", "open_mass", "open_fraction", "kl_from_initial", "position_share"),
    *("override_ratio", "mask_drift", "mask_drift_beyond_decay", "query_key_drift", "query_key_cosine"),
    *(f"{part}_{name}" for part in ("query", "key", "mask") for name in ("sensitivity", "bound")),
}
UPDATES = {
    *(f"{part}_gradient" for part in ("query", "key", "mask")),
    *(f"{part}_{name}" for part in ("query_key", "mask") for name in ("step", "logit_step")),
}
TRACE = {"test_loss", "test_accuracy", "seen_loss", "unseen_loss", "unseen_accuracy", "unseen_mean_prediction"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copytree(paths.config(), tmp_path / "config")
    monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("method", METHODS)
def test_the_record_of_every_method_is_complete(project, method):
    path = execute(make_run("boolean", "2parity", method, scale="smoke"), device="cpu")
    record = read_record(path)
    arrays = read_arrays(path, record)
    assert record.status == "completed"
    assert set(record.metrics) == METRICS
    assert all(value is not None for value in record.metrics.values())
    assert record.reference == {"mdi_test_loss": 4.0, "mdi_test_accuracy": 75.0, "mdi_test_sign_accuracy": 75.0}
    assert len(record.loss_head) == 32

    looks, updates, points = len([0, 1, 3, 10, 30, 60]), len([0, 1, 3, 10, 30, 59]), len(trace_steps(60))
    for name in STATE:
        assert arrays[f"persistence/{name}"].shape == (looks, 2, 3), name
    for name in UPDATES:
        assert arrays[f"persistence/{name}"].shape == (updates, 2, 3), name
    for name in TRACE | {"train_loss"}:
        assert arrays[f"trace/{name}"].shape == (points,), name
    assert arrays["trace/step"].tolist() == trace_steps(60)
    assert arrays["trace/fourier"].shape == (points, 8)
    assert arrays["fourier_final"].shape == (8,)
    assert record.labels == {
        "trace/fourier": (names := ["1", "x0", "x1", "x2", "x0 x1", "x0 x2", "x1 x2", "x0 x1 x2"]),
        "fourier_final": names,
    }
    for name in ("attention_initial", "attention_final"):
        assert arrays[f"maps/{name}"].shape == (2, 3, 8, 8)
    masked = method.startswith("mask")
    assert ("maps/mask_final" in arrays) == masked
    assert np.isfinite(arrays["persistence/mask_drift"]).all() == masked
    assert np.isfinite(arrays["persistence/map_alignment"]).all()
    if method == "mask_fixed":
        assert (arrays["persistence/mask_drift"] == 0).all()
        assert np.unique(arrays["maps/mask_final"]).tolist() == [-10, 10]


@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains_with_its_prior_in_place(task):
    prepared = boolean.prepare(smoke(task), 0, "cpu")
    outcome = prepared.report(train(prepared.setup), None)
    assert outcome.metrics["init_fidelity_open_mass"] > 0.99
    assert outcome.metrics["init_fidelity_open_mass_chance"] == pytest.approx(3 / 8 if task == "cyclic3" else 1 / 8)
    assert outcome.metrics["train_loss"] < outcome.arrays["trace/test_loss"][0]
    assert set(outcome.labels["fourier_final"]) >= {"1", "x0 x1 x2"}


def test_methods_start_with_the_prior_they_claim():
    found = {}
    for method in METHODS:
        prepared = boolean.prepare(smoke(method=method, optimizer={"steps": 1}), 0, "cpu")
        found[method] = prepared.report(train(prepared.setup), None).metrics
    mass = {method: metrics["init_fidelity_open_mass"] for method, metrics in found.items()}
    in_weights = {method: metrics["init_fidelity_position_open_mass"] for method, metrics in found.items()}
    assert min(mass["mask"], mass["mask_fixed"], mass["structured_svd"], in_weights["structured_svd"]) > 0.95
    assert max(mass["default"], mass["mask_zero"], in_weights["default"], in_weights["mask"]) < 0.3
    assert in_weights["mask"] == in_weights["default"]


def test_a_record_of_the_reduced_scale_stays_below_40_kb(project):
    """Three steps instead of 2,000, and the rest of its 59 points and 9 looks counted on top."""
    file = project / "config" / "experiments" / "boolean.yaml"
    file.write_text(file.read_text().replace("variants:\n", "variants:\n  short: {optimizer: {steps: 3}}\n"))
    path = execute(make_run("boolean", "2parity", "mask+short", scale="reduced"), device="cpu")
    arrays = read_arrays(path, read_record(path))
    grows = {"trace": len(trace_steps(2000)), "persistence": 9}
    sizes = {
        name: array.nbytes * grows.get(name.split("/")[0], len(array)) / len(array) for name, array in arrays.items()
    }
    extra = 32 * 25  # the rest of the loss head
    total = sum(sizes.values()) + path.stat().st_size + extra
    total += path.with_suffix(".safetensors").stat().st_size - sum(array.nbytes for array in arrays.values())
    assert total <= 40 * 1024


def by_hand() -> Rows:
    """2parity on (x0, x1) = ++, +-, -+, -- with x2 = 1: targets 1, -1, -1, 1; the last is unseen."""
    return rows(
        tasks.find("boolean", "2parity"),
        np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]], dtype=np.int8),
        "cpu",
    )


def test_rows_are_tokens_targets_and_seen():
    found = by_hand()
    assert found.tokens.tolist() == [[1, 1, 1], [1, 0, 1], [0, 1, 1], [0, 0, 1]]
    assert found.tokens.dtype == torch.int64
    assert found.targets.tolist() == [1, -1, -1, 1]
    assert found.seen.tolist() == [True, True, True, False]


def test_scores_by_hand():
    """Errors 0, 0.5 (not below 0.5), -0.4, -1.5: squares 0, 0.25, 0.16, 2.25."""
    found = scores(torch.tensor([1.0, -0.5, -1.4, -0.5]), by_hand())
    expected = {
        "test_loss": 2.66 / 4,
        "seen_loss": 0.41 / 3,
        "unseen_loss": 2.25,
        "test_accuracy": 50,
        "seen_accuracy": 200 / 3,
        "unseen_accuracy": 0,
        "test_sign_accuracy": 75,
        "seen_sign_accuracy": 100,
        "unseen_sign_accuracy": 0,
        "unseen_mean_prediction": -0.5,
    }
    assert found == pytest.approx(expected)


def test_a_silent_network_has_no_sign():
    assert scores(torch.zeros(4), by_hand())["test_sign_accuracy"] == 0


class Polynomial(torch.nn.Module):
    """A network that says the task's minimum-degree interpolator."""

    def __init__(self, task: str) -> None:
        super().__init__()
        self.task = task

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(tasks.find("boolean", self.task).interpolate((2 * tokens - 1).numpy()))[:, None]


@pytest.mark.parametrize("task", TASKS)
def test_a_model_that_is_the_interpolator_scores_as_the_reference(task):
    """On the probe batch, which is balanced like the cube, and with the interpolator's own Fourier coefficients."""
    learned = tasks.find("boolean", task)
    probe = rows(learned, data.probe_rows(8, 4), "cpu")
    found = probe_measures(learned, Polynomial(task), probe)
    exact = {"2parity": 4.0, "cyclic3": 8.0, "majority3": 1.0, "threesym": 9.625}[task]
    assert found["test_loss"] == pytest.approx(exact, rel=1e-6)
    assert found["seen_loss"] == 0
    cube = rows(learned, data.cube(8), "cpu")
    assert reference(learned, cube)["mdi_test_loss"] == pytest.approx(exact, rel=1e-6)
    coefficients = dict(zip(learned.followed, found["fourier"].round(5).tolist(), strict=True))
    expected = {
        "2parity": {(): -1, (0,): 1, (1,): 1},
        "majority3": {(0,): 0.5, (1,): 0.5, (2,): 1, (0, 2): -0.5, (1, 2): -0.5},
        "threesym": {(0,): -1.25, (1,): 1.5, (2,): 1},
    }
    if task in expected:
        assert coefficients == {monomial: expected[task].get(monomial, 0) for monomial in coefficients}


def test_the_best_moment_is_the_lowest_test_loss():
    steps = np.array([0, 1, 2, 5], dtype=np.int32)
    found = best({"trace/step": steps, "trace/test_loss": np.array([2.0, 0.5, np.nan, 1.0], dtype=np.float32)})
    assert found == {"best_test_loss": 0.5, "best_step": 1.0}
    assert np.isnan(best({"trace/step": steps, "trace/test_loss": np.full(4, np.nan)})["best_test_loss"])


def test_trained_and_tested_rows():
    parity, majority = tasks.find("boolean", "2parity"), tasks.find("boolean", "majority3")
    train_x, test_x = train_and_test(smoke("2parity"), parity, 0)
    assert (len(train_x), len(test_x)) == (192, 256)
    train_x, test_x = train_and_test(smoke("majority3"), majority, 0)
    assert (len(train_x), len(test_x)) == (256, 256)
    assert not np.array_equal(test_x, train_and_test(smoke("majority3"), majority, 1)[1])
    assert np.array_equal(test_x, train_and_test(smoke("majority3"), majority, 0)[1])


def test_only_svd_scales_positions_and_the_control_does_it_for_the_others():
    scales = {m: boolean.prepare(smoke(method=m), 0, "cpu").setup.model.embedding.position_scale for m in METHODS}
    assert scales.pop("structured_svd") == 18
    assert set(scales.values()) == {1}
    control = boolean.prepare(smoke(method="default", position_scale=18), 0, "cpu").setup.model
    svd = boolean.prepare(smoke(method="structured_svd"), 0, "cpu").setup.model
    assert torch.equal(control.positions(), svd.positions())
