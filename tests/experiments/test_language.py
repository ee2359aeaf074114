import itertools
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from maskprior import paths
from maskprior.attention import attentions, query_key_products
from maskprior.errors import UserError
from maskprior.experiments import language
from maskprior.experiments.language import build_model, evenly, profile
from maskprior.experiments.run import execute
from maskprior.runs.record import pack_arrays, read_record
from maskprior.runs.spec import make_run
from maskprior.runs.store import checkpoint_path
from maskprior.training import checkpoint, loop
from maskprior.training.loop import train
from tests.language_runs import smoke

KILLED = Path(__file__).parents[1] / "training" / "killed_run.py"

METHODS = ("default", "mimetic", "mask")


def finished(**changes: Any):
    prepared = language.prepare(smoke(**changes), 0, "cpu")
    return prepared, prepared.report(train(prepared.setup), None)


@pytest.mark.parametrize("task", ["wikitext2", "tinystories"])
@pytest.mark.parametrize("method", METHODS)
def test_smoke_run(task, method):
    _, outcome = finished(task=task, method=method)
    metrics, arrays = outcome.metrics, outcome.arrays
    assert all(np.isfinite(value) for value in metrics.values())
    for split in ("val", "test"):
        assert metrics[f"{split}_perplexity_exact"] == pytest.approx(metrics[f"{split}_perplexity"], rel=0.05)
        # One token is one byte here.
        bits = np.log2(metrics[f"{split}_perplexity_exact"])
        assert metrics[f"{split}_bits_per_byte"] == pytest.approx(bits, rel=1e-3)
    assert arrays["persistence/map_alignment"].shape == (6, 2, 2)
    assert arrays["trace/val_loss"][0] == pytest.approx(np.log(256), abs=0.1)
    assert arrays["profile/attention_final"].shape == (2, 2, 16)
    assert ("profile/mask_final" in arrays) == (method == "mask")
    assert not any(name.startswith("maps/") for name in arrays)
    prompt, continuation = outcome.labels["sample"]
    assert "the tall child sees".startswith(prompt)
    assert len(prompt) == 8
    assert 0 < len(continuation) <= 20
    assert outcome.labels["tokenizer_sha256"] == ["bytes"]


def test_before_training_a_model_is_as_perplexed_as_its_vocabulary():
    prepared = language.prepare(smoke(method="default"), 0, "cpu")
    found = train(prepared.setup, stop=1)
    assert found.values[0] == pytest.approx(np.log(256), abs=0.05)


@pytest.mark.parametrize("prior", ["distance", "alibi"])
def test_the_mask_starts_as_its_formula(prior):
    model = build_model(smoke(mask={"prior": prior}), 256, 0)
    for module in attentions(model):
        assert module.mask_scale == 10
        for h, i, j in np.ndindex(2, 16, 16):
            found = torch.nn.functional.logsigmoid(10 * module.mask_logits[h, i, j]).item()
            slope = 2.0 ** (-8 * (h + 1) / 2)
            bias = (
                -np.log1p(np.exp(10.0 * max(i - j, 0))) if prior == "distance" else -np.log(2) - slope * max(i - j, 0)
            )
            assert found == pytest.approx(bias, rel=1e-5)


def test_methods_of_a_seed_differ_where_they_say_alone():
    default, mask, mimetic = (build_model(smoke(method=m), 256, 3).state_dict() for m in ("default", "mask", "mimetic"))
    other_seed = build_model(smoke(method="default"), 256, 4).state_dict()
    masks = {name for name in mask if name.endswith("mask_logits")}
    assert len(masks) == 2
    assert mask.keys() - masks == default.keys() == mimetic.keys()
    assert all(torch.equal(mask[name], default[name]) for name in default)
    differing = {name for name in default if not torch.equal(mimetic[name], default[name])}
    parts = ("query", "key", "value", "out")
    assert differing == {f"blocks.{k}.attention.{part}.weight" for k in range(2) for part in parts}
    assert not torch.equal(default["token.weight"], other_seed["token.weight"])


def test_mimetic_writes_its_products():
    config = smoke(
        method="mimetic", mimetic={"query_key_noise": 0.0, "value_out_noise": 0.0}, model={"heads": 1, "head_dim": 16}
    )
    for module in attentions(build_model(config, 256, 0)):
        torch.testing.assert_close(query_key_products(module)[0], 0.7 * torch.eye(16), atol=1e-5, rtol=0)
        product = module.value.weight.T @ module.out.weight.T
        torch.testing.assert_close(product, -0.4 * torch.eye(16), atol=1e-5, rtol=0)


def test_before_training_the_prior_is_there_and_nothing_has_moved():
    _, outcome = finished(method="mask")
    first = {name: values[0] for name, values in outcome.arrays.items() if name.startswith("persistence/")}
    for name in ("kl_from_initial", "mask_drift", "query_key_drift"):
        assert np.array_equal(first[f"persistence/{name}"], np.zeros((2, 2))), name
    np.testing.assert_allclose(first["persistence/mask_alignment"], 1, rtol=1e-5)
    np.testing.assert_allclose(first["persistence/map_alignment"], 1, rtol=1e-3)
    assert (first["persistence/open_mass"] > 0.999).all()
    np.testing.assert_allclose(first["persistence/open_fraction"], np.mean(1 / np.arange(2, 17)), rtol=1e-5)
    assert outcome.metrics["init_fidelity_alignment"] > 0.999


def test_profile_is_the_mean_along_each_diagonal():
    maps = np.arange(9.0).reshape(1, 1, 3, 3)
    assert profile(maps).tolist() == [[[4.0, 5.0, 6.0]]]
    assert profile(maps).dtype == np.float32


def test_profiles_say_where_the_attention_goes():
    """Rows sum to one: the profile, weighted by how many rows reach so far, adds up to the number of rows."""
    _, outcome = finished(method="mask")
    for word in ("initial", "final"):
        found = outcome.arrays[f"profile/attention_{word}"]
        np.testing.assert_allclose((found * np.arange(16, 0, -1)).sum(-1), 16, rtol=1e-5)
    initial = outcome.arrays["profile/mask_initial"]
    np.testing.assert_array_equal(initial, np.broadcast_to(-np.arange(16.0), (2, 2, 16)))
    change = outcome.arrays["mask_change_first_head"].astype(np.float32)
    assert (np.triu(change, 1) == 0).all()
    moved = profile(change[:, None])[:, 0]
    np.testing.assert_allclose(moved, (outcome.arrays["profile/mask_final"] - initial)[:, 0], atol=1e-4)


def test_all_methods_train_on_the_same_batches_and_the_seed_decides_which():
    def first(method: str, seed: int):
        batches = language.prepare(smoke(method=method), seed, "cpu").setup.batches(0)
        return torch.stack([inputs for inputs, _ in itertools.islice(batches, 3)])

    assert torch.equal(first("default", 0), first("mask", 0))
    assert not torch.equal(first("default", 0), first("default", 1))


def test_batches_do_not_depend_on_where_they_start():
    batches = language.prepare(smoke(), 0, "cpu").setup.batches
    whole = list(itertools.islice(batches(0), 12))
    for (inputs, targets), (expected, shifted) in zip(batches(7), whole[7:], strict=False):
        assert torch.equal(inputs, expected)
        assert torch.equal(targets, shifted)
        assert torch.equal(inputs[:, 1:], targets[:, :-1])


@pytest.mark.parametrize("method", ["default", "mask"])
@pytest.mark.parametrize("stop", [1, 31, 39])
def test_going_on_from_a_checkpoint_changes_no_bit(tmp_path, monkeypatch, method, stop):
    """With dropout on: after the first update, after one that the diagnostics measured, before the last one."""
    config = smoke(method=method)
    assert config.model.dropout > 0
    _, expected = finished(method=method)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)
    train(language.prepare(config, 0, "cpu").setup, checkpoint=tmp_path / "run.pt", stop=stop)
    torch.rand(7)
    resumed = language.prepare(config, 0, "cpu")
    found = resumed.report(train(resumed.setup, checkpoint=tmp_path / "run.pt"), None)
    assert found.metrics == expected.metrics
    assert found.labels == expected.labels
    assert found.arrays.keys() == expected.arrays.keys()
    assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in expected.arrays.items())


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_record(tmp_path, monkeypatch):
    """With dropout on, killed by SIGKILL after an update and while its checkpoint is being renamed into place."""
    shutil.copytree(paths.config(), tmp_path / "config")
    monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path))
    run = make_run("language", "wikitext2", "mask", scale="smoke")
    path = execute(run, device="cpu")
    whole = [science(path), path.with_suffix(".safetensors").read_bytes()]
    path.unlink()
    for last, where in (("17", "step"), ("29", "write")):
        words = [sys.executable, str(KILLED), last, where, "0", "language", "wikitext2", "mask"]
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
        newest = checkpoint_path(run)
        # The kill while the second one is written leaves the generation before it.
        assert (newest if where == "step" else checkpoint.previous(newest)).exists()
    assert not path.exists()
    execute(run, device="cpu")
    assert [science(path), path.with_suffix(".safetensors").read_bytes()] == whole


def science(path: Path) -> dict[str, Any]:
    """A record without the time it took."""
    found = read_record(path).model_dump()
    found["environment"].pop("seconds")
    return found


def test_dropout_belongs_to_the_seed():
    losses = []
    for seed, dropout in ((0, 0.2), (0, 0.2), (0, 0.0), (1, 0.2)):
        torch.rand(13)
        losses.append(train(language.prepare(smoke(model={"dropout": dropout}), seed, "cpu").setup, stop=3).values)
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]
    assert losses[0] != losses[3]


def test_looking_changes_nothing():
    whole = train(language.prepare(smoke(), 0, "cpu").setup).values
    bare = language.prepare(smoke(), 0, "cpu").setup
    assert train(loop.Setup(bare.model, bare.optimizer, bare.config, bare.batches, bare.loss, ())).values == whole


def test_the_probe_is_evenly_spaced_over_the_text():
    tokens = np.arange(100, dtype=np.uint16)
    inputs, targets = evenly(tokens, smoke())
    assert inputs[:, 0].tolist() == [0, 27, 55, 83]
    assert torch.equal(targets, inputs + 1)
    assert targets.max() == 99


def test_one_text_in_both_roles_gets_one_exact_perplexity():
    """As the paper's TinyStories: the estimates draw other windows, the exact numbers are the same."""
    config, model = smoke(), build_model(smoke(), 256, 0)
    corpus = language.text.corpus(config.dataset)
    splits = corpus.splits | {"test": corpus.splits["valid"]}
    sizes = corpus.text_bytes | {"test": corpus.text_bytes["valid"]}
    both = language.Corpus(splits, sizes, corpus.vocabulary, corpus.tokenizer_sha256, corpus.decode)
    found = language.evaluate(model, both, config, 0, "cpu", None)
    assert found["val_perplexity_exact"] == found["test_perplexity_exact"]
    assert found["val_bits_per_byte"] == found["test_bits_per_byte"]
    assert found["val_perplexity"] != found["test_perplexity"]


def test_the_record_of_the_reduced_scale_is_small():
    """Its arrays have the shapes of the smoke run's, with 4 layers, 4 heads and 64 tokens."""
    _, outcome = finished(method="mask", model={"layers": 4, "heads": 4, "block": 64}, optimizer={"steps": 40})
    assert len(pack_arrays(outcome.arrays)[0]) < 100_000


def test_without_its_text_a_run_can_be_tried_on_random_tokens():
    """The encoding's vocabulary, the run's own shapes; what a missing text leaves to say."""
    for dataset, vocabulary in (("wikitext2-raw", 50257), ("wikitext2-bpe4096", 4096)):
        prepared = language.prepare_without_data(smoke(dataset=dataset), 0, "cpu")
        assert prepared.setup.model.head.out_features == vocabulary
        inputs, targets = next(prepared.setup.batches(0))
        assert inputs.shape == targets.shape == (8, 16)
        assert prepared.setup.loss((inputs, targets)).item() == pytest.approx(np.log(vocabulary), abs=0.1)


def test_impossible_configurations():
    with pytest.raises(UserError, match="impulse"):
        make_run("language", "wikitext2", "impulse", scale="smoke")
    with pytest.raises(ValueError, match="17 skips tokens"):
        smoke(stride=17)
