import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from maskprior.attention import attentions, query_key_products
from maskprior.diagnostics import persistence
from maskprior.diagnostics.persistence import alignment, diagnostic_steps, gap, layer_states, position_share
from maskprior.experiments import boolean, language
from maskprior.patterns.pattern import Pattern
from maskprior.training.loop import train
from tests.boolean_runs import smoke
from tests.language_runs import smoke as language_smoke

ROWS = torch.ones(1, 3, dtype=torch.bool)
OPEN = torch.tensor([[[1, 0, 0], [0, 1, 1], [0, 0, 1]]], dtype=torch.bool)
TARGET = torch.tensor([[[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1]]])


def test_diagnostic_steps():
    assert diagnostic_steps(60) == [0, 1, 3, 10, 30, 60]
    assert diagnostic_steps(2000) == [0, 1, 3, 10, 30, 100, 300, 1000, 2000]
    assert diagnostic_steps(1) == [0, 1]
    assert diagnostic_steps(10) == [0, 1, 3, 10]


def test_the_pattern_is_aligned_with_itself():
    assert alignment(TARGET, TARGET, ROWS).item() == pytest.approx(1)
    assert alignment(7 * TARGET - 2, TARGET, ROWS).item() == pytest.approx(1)
    assert alignment(-TARGET, TARGET, ROWS).item() == pytest.approx(-1)


def test_a_constant_map_is_not_aligned():
    assert alignment(torch.full((1, 3, 3), 1 / 3), TARGET, ROWS).item() == pytest.approx(0, abs=1e-6)
    shifted_rows = torch.tensor([5.0, -2.0, 0.1]).reshape(1, 3, 1).expand(1, 3, 3)
    assert alignment(shifted_rows, TARGET, ROWS).item() == pytest.approx(0, abs=1e-6)


def test_an_orthogonal_map_is_not_aligned():
    """In each row a centred vector at right angles to the centred target's row."""
    unrelated = torch.tensor([[[0.0, 1, -1], [0, 1, -1], [1, -1, 0]]])
    assert alignment(unrelated, TARGET, ROWS).item() == pytest.approx(0, abs=1e-6)


def test_alignment_by_hand():
    """One row: target (1, 0, 0) centred (2, -1, -1)/3; values (1, 1, 0) centred (1, 1, -2)/3: cosine 3/6 = 1/2."""
    values = torch.tensor([[[1.0, 1, 0], [9, 0, 0], [9, 0, 0]]])
    only_first = torch.tensor([[True, False, False]])
    assert alignment(values, TARGET, only_first).item() == pytest.approx(0.5)


def test_a_head_without_an_informative_row_has_no_alignment():
    assert alignment(TARGET, TARGET, torch.zeros(1, 3, dtype=torch.bool)).isnan().all()
    assert gap(TARGET, OPEN, torch.zeros(1, 3, dtype=torch.bool)).isnan().all()


def test_gap_by_hand():
    """Rows: 6 - (1 + 3)/2 = 4; (5 + 1)/2 - 2 = 1; 0 - (1 + 1)/2 = -1; their mean 4/3."""
    logits = torch.tensor([[[6.0, 1, 3], [2, 5, 1], [1, 1, 0]]])
    assert gap(logits, OPEN, ROWS).item() == pytest.approx(4 / 3)
    assert gap(logits, OPEN, torch.tensor([[True, True, False]])).item() == pytest.approx(2.5)


def test_gap_of_a_written_mask_is_its_amplitude():
    """log sigmoid(a) - log sigmoid(-a) = a."""
    mask = torch.where(OPEN, 10.0, -10.0).double()
    assert gap(F.logsigmoid(mask), OPEN, ROWS).item() == pytest.approx(10)


def test_position_share_by_hand():
    random = torch.Generator().manual_seed(0)
    structure, content = torch.randn(2, 1, 1, 3, 3, dtype=torch.float64, generator=random)
    signs = torch.tensor([1.0, -1, 1, -1], dtype=torch.float64).reshape(4, 1, 1, 1)
    assert position_share(structure.expand(4, 1, 3, 3), ROWS).item() == pytest.approx(1)
    assert position_share(signs * content, ROWS).item() == pytest.approx(0, abs=1e-12)
    # Equal parts of both, one as large as the other: half.
    assert position_share(structure + signs * structure, ROWS).item() == pytest.approx(0.5)
    # A shift of each row of each input is nothing.
    shift = 100 * torch.randn(4, 1, 3, 1, dtype=torch.float64, generator=random)
    assert position_share(structure + shift, ROWS).item() == pytest.approx(1)
    assert position_share(torch.zeros(4, 1, 3, 3), ROWS).isnan().all()


def run(method: str = "mask", **changes):
    setup = boolean.prepare(smoke(method=method, **changes), 0, "cpu").setup
    return setup, setup.observers[1]


def measured(model, observer, pattern=None):
    states = layer_states(model, observer.probe)
    decayed = list(observer.decay_only.masks) or [None] * len(attentions(model))
    return persistence.measure_state(model, states, observer.start, pattern or observer.pattern, decayed)


def test_before_training_nothing_has_moved():
    setup, observer = run()
    found = measured(setup.model, observer)
    for name in ("kl_from_initial", "query_key_drift", "mask_drift", "mask_drift_beyond_decay"):
        assert np.array_equal(found[name], np.zeros((2, 3))), name
    np.testing.assert_allclose(found["query_key_cosine"], 1, rtol=1e-5)
    np.testing.assert_allclose(found["mask_alignment"], 1, rtol=1e-5)
    np.testing.assert_allclose(found["mask_gap"], 10, rtol=1e-5)
    assert (found["open_mass"] > 0.99).all()
    np.testing.assert_allclose(found["open_fraction"], 1 / 8)


def test_neutral_rows_are_left_out():
    """identity_first has three informative rows; what the others attend to must not count."""
    setup, observer = run(task="majority3", pattern="identity_first")
    before = measured(setup.model, observer)
    assert (before["open_mass"] > 0.99).all()
    with torch.no_grad():
        for module in attentions(setup.model):
            module.mask_logits[:, 3:] += 7 * torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))
    # The first layer's input does not depend on its own mask, so its numbers must stay.
    after = measured(setup.model, observer)
    for name in ("map_alignment", "mask_alignment", "open_mass", "mask_gap", "kl_from_initial", "override_ratio"):
        np.testing.assert_array_equal(after[name][0], before[name][0], err_msg=name)


def test_quantities_without_a_mask_are_undefined():
    setup, observer = run("default")
    found = measured(setup.model, observer)
    for name in ("mask_alignment", "mask_gap", "override_ratio", "mask_drift", "mask_drift_beyond_decay"):
        assert np.isnan(found[name]).all(), name
    assert np.isfinite(found["map_alignment"]).all()


def test_a_zero_mask_has_no_gap_to_override():
    setup, observer = run("mask_zero")
    found = measured(setup.model, observer)
    assert (found["mask_gap"] == 0).all()
    assert np.isnan(found["override_ratio"]).all()
    np.testing.assert_allclose(found["mask_alignment"], 0)


def test_state_by_hand():
    """A change of M by a constant c: drift |c|, the same map. Scaled W_Q: drift |s - 1|, cosine 1, larger gap."""
    setup, observer = run()
    before = measured(setup.model, observer)
    with torch.no_grad():
        for module in attentions(setup.model):
            module.query.weight *= 3
            module.mask_logits += torch.where(module.mask_logits > 0, 0.25, -0.25)
    after = measured(setup.model, observer)
    np.testing.assert_allclose(after["mask_drift"], 0.25, rtol=1e-5)
    np.testing.assert_allclose(after["mask_drift_beyond_decay"], 0.25, rtol=1e-5)
    np.testing.assert_allclose(after["query_key_drift"], 2, rtol=1e-5)
    np.testing.assert_allclose(after["query_key_cosine"], 1, rtol=1e-5)
    np.testing.assert_allclose(after["mask_gap"], 10.25, rtol=1e-5)
    np.testing.assert_allclose(after["query_key_gap"][0], 3 * before["query_key_gap"][0], rtol=1e-3)
    np.testing.assert_allclose(after["position_share"][0], before["position_share"][0], rtol=1e-4)
    np.testing.assert_allclose(after["override_ratio"][0], 3 / 1.025 * before["override_ratio"][0], rtol=1e-4)


def test_kl_by_hand():
    """KL from (1/2, 1/2) to (1/4, 3/4) is log(2 / sqrt 3)."""
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.75, 0.0])
    assert persistence._kl(p, q).item() == pytest.approx(math.log(2 / math.sqrt(3)), rel=1e-5)


def test_open_mass_of_a_uniform_map_is_the_open_fraction():
    setup, observer = run("mask_zero", task="cyclic3")
    with torch.no_grad():
        for module in attentions(setup.model):
            module.query.weight.zero_()
    found = measured(setup.model, observer)
    np.testing.assert_allclose(found["open_mass"], 3 / 8, rtol=1e-6)
    np.testing.assert_allclose(found["open_fraction"], 3 / 8, rtol=1e-6)
    np.testing.assert_allclose(found["map_alignment"], 0, atol=1e-6)


def test_structured_positions_are_found_in_the_weights_alone():
    found = {}
    for method in ("structured_svd", "structured_opt", "default"):
        setup, observer = run(method, opt={"steps": 1000, "lr": 1e-2})
        found[method] = persistence.position_open_mass(setup.model, setup.model.positions(), observer.pattern)
    assert (found["structured_svd"] > 0.99).all()
    assert (found["structured_opt"] > 0.5).all()
    assert (found["default"] < 0.25).all()


def test_mask_logit_step_is_sigmoid_of_minus_m_times_the_step():
    """d log sigmoid(M) = sigmoid(-M) dM to first order, centred in each row."""
    setup, observer = run(mask={"amplitude": 2.0})
    probe = persistence.StepProbe(setup.model, layer_states(setup.model, observer.probe))
    changes, random = [], torch.Generator().manual_seed(0)
    with torch.no_grad():
        for module in attentions(setup.model):
            slope = (-module.mask_logits).sigmoid()
            change = 1e-3 * torch.randn(3, 8, 8, generator=random)
            moved = slope * change
            module.mask_logits += change
            changes.append((change, moved - moved.mean(-1, keepdim=True)))
    found = probe.measure()
    for layer, (change, moved) in enumerate(changes):
        np.testing.assert_allclose(found["mask_step"][layer], change.square().mean((1, 2)).sqrt(), rtol=1e-3)
        np.testing.assert_allclose(found["mask_logit_step"][layer], moved.square().mean((1, 2)).sqrt(), rtol=2e-3)
    assert (found["query_key_step"] == 0).all()
    assert (found["query_key_logit_step"] == 0).all()


def test_query_key_logit_step_is_what_the_new_weights_change_on_the_old_inputs():
    setup, observer = run()
    states = layer_states(setup.model, observer.probe)
    probe = persistence.StepProbe(setup.model, states)
    with torch.no_grad():
        for module in attentions(setup.model):
            module.query.weight *= 1.5
    found = probe.measure()
    for layer, state in enumerate(states):
        centred = state.logits - state.logits.mean(-1, keepdim=True)
        expected = 0.5 * centred.square().mean((0, 2, 3)).sqrt()
        np.testing.assert_allclose(found["query_key_logit_step"][layer], expected, rtol=1e-4)
    assert (found["mask_step"] == 0).all()


def test_gradients_are_those_of_the_update_they_stand_at():
    """Also with frozen queries and keys, whose gradients no optimiser clears."""
    for multiplier in (1.0, 0.0):
        setup, observer = run(optimizer={"query_key_lr_multiplier": multiplier})
        train(replace(setup, observers=(observer,)), stop=31)
        at = observer.step_series.steps.index(30)
        # Once more by hand: parameters after 30 updates, gradient of batch 30.
        again, _ = run(optimizer={"query_key_lr_multiplier": multiplier})
        train(replace(again, observers=()), stop=30)
        again.model.zero_grad()
        again.loss(next(again.batches(30))).backward()
        for layer, module in enumerate(attentions(again.model)):
            for name, parameter in (("query", module.query.weight), ("mask", module.mask_logits)):
                expected = parameter.grad.reshape(3, -1).norm(dim=1)
                found = observer.step_series.values[f"{name}_gradient"][at][layer]
                torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)


def test_series_have_their_steps():
    for steps in (1, 3, 11, 60):
        setup, observer = run(optimizer={"steps": steps})
        train(setup)
        arrays = observer.arrays()
        looks, updates = arrays["persistence/step"].tolist(), arrays["persistence/update"].tolist()
        assert looks == diagnostic_steps(steps)
        assert updates == sorted({*diagnostic_steps(steps)[:-1], steps - 1})
        assert arrays["persistence/open_mass"].shape == (len(looks), 2, 3)
        assert arrays["persistence/mask_step"].shape == (len(updates), 2, 3)
        assert arrays["persistence/query_gradient"].dtype == np.float32


def test_looking_leaves_the_model_in_training_mode_and_its_gradients_alone():
    setup, observer = run()
    setup.model.train()
    setup.loss(next(setup.batches(0))).backward()
    gradients = [p.grad.clone() for p in setup.model.parameters()]
    states = layer_states(setup.model, observer.probe)
    assert setup.model.training
    assert all(torch.equal(p.grad, g) for p, g in zip(setup.model.parameters(), gradients, strict=True))
    assert not any(module._forward_pre_hooks for module in attentions(setup.model))
    assert not any(s.logits.requires_grad or s.attention.requires_grad for s in states)


def test_start_is_a_copy():
    setup, observer = run()
    train(setup)
    before = run()[0].model
    for module, fresh, mask, product in zip(
        attentions(setup.model), attentions(before), observer.start.mask, observer.start.products, strict=True
    ):
        assert torch.equal(mask, fresh.mask_logits)
        assert not torch.equal(mask, module.mask_logits)
        torch.testing.assert_close(product, query_key_products(fresh))


def test_sensitivities_resolve_a_small_part_of_their_bound():
    """structured_svd attends to one token up to 1e-6 and less: there float32 leaves rounding, far below the bound."""
    setup, observer = run("structured_svd")
    found = measured(setup.model, observer)
    model = setup.model.double()
    state = layer_states(model, observer.probe)[0]
    queries, keys, _ = (x.detach() for x in attentions(model)[0].queries_keys_values(state.inputs))
    exact = persistence.sensitivities(queries, keys, state.attention, None)
    error = np.abs(found["query_sensitivity"][0] - exact["query_sensitivity"].numpy())
    assert (error < 3e-4 * exact["query_bound"].numpy()).all()
    np.testing.assert_allclose(found["query_bound"][0], exact["query_bound"], rtol=1e-4)


def test_a_pattern_of_neutral_rows_measures_nothing():
    setup, observer = run("default")
    nothing = Pattern(np.ones((2, 3, 8, 8), dtype=bool))
    found = measured(setup.model, observer, nothing)
    for name in ("map_alignment", "query_key_gap", "open_mass", "position_share"):
        assert np.isnan(found[name]).all(), name


def causal_run(method: str = "mask", **changes):
    setup = language.prepare(language_smoke(method=method, **changes), 0, "cpu").setup
    return setup, setup.observers[1]


def past(i: int) -> slice:
    """The columns that row i of a causal map has."""
    return slice(0, i + 1)


def test_causal_measures_are_those_of_the_past_alone():
    """Written out row by row in float64: rows 1 to 15, each over the columns up to its own."""
    setup, observer = causal_run(model={"dropout": 0.0})
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for module in attentions(setup.model):
            module.query.weight += 0.5 * torch.randn(16, 16, generator=random)
            module.mask_logits += 0.5 * torch.randn(2, 16, 16, generator=random).tril()
    found = measured(setup.model, observer)
    states = layer_states(setup.model, observer.probe)
    target = observer.pattern.graded
    for layer, module in enumerate(attentions(setup.model)):
        logits = states[layer].logits.double().numpy()
        bias = F.logsigmoid(10 * module.mask_logits.detach().double()).numpy()
        for h in range(2):
            sums = dict.fromkeys(("map", "query_key", "mask"), np.zeros(3))
            rows = []
            for i in range(1, 16):
                own = past(i)
                mean = logits[:, h, i, own].mean(0)
                content = logits[:, h, i, own] - logits[:, h, i, own].mean(-1, keepdims=True)
                attention = states[layer].attention.double().numpy()[:, h, i, own].mean(0)
                maps = {"map": attention, "query_key": softmax(mean), "mask": softmax(bias[h, i, own])}
                b = target[layer, h, i, own] - target[layer, h, i, own].mean()
                for name, values in maps.items():
                    a = values - values.mean()
                    sums[name] = sums[name] + [a @ b, a @ a, b @ b]
                rows.append(
                    {
                        "open_mass": attention[i],
                        "open_fraction": 1 / (i + 1),
                        "query_key_gap": mean[i] - mean[:i].mean(),
                        "mask_gap": bias[h, i, i] - bias[h, i, :i].mean(),
                        "spread": (content**2).mean(0).sum(),
                        "entries": i + 1,
                        "structure": (content.mean(0) ** 2).sum(),
                        "drift": ((module.mask_logits - observer.start.mask[layer]) ** 2)[h, i, own].sum().item(),
                    }
                )
            mean_of = {name: np.mean([row[name] for row in rows]) for name in rows[0]}
            total = {name: np.sum([row[name] for row in rows]) for name in rows[0]}
            expected = {name: mean_of[name] for name in ("open_mass", "open_fraction", "query_key_gap", "mask_gap")}
            expected |= {f"{name}_alignment": s[0] / np.sqrt(s[1] * s[2]) for name, s in sums.items()}
            expected["position_share"] = total["structure"] / total["spread"]
            spread = np.sqrt(total["spread"] / total["entries"])
            expected["override_ratio"] = spread / mean_of["mask_gap"]
            first = ((module.mask_logits - observer.start.mask[layer]) ** 2)[h, 0, 0].item()
            expected["mask_drift"] = np.sqrt((total["drift"] + first) / (16 * 17 / 2))
            for name, value in expected.items():
                assert found[name][layer, h] == pytest.approx(value, rel=2e-4, abs=1e-6), name


def softmax(row: np.ndarray) -> np.ndarray:
    weights = np.exp(row - row.max())
    return weights / weights.sum()


def test_what_m_says_about_the_future_is_measured_nowhere():
    setup, observer = causal_run()
    before = measured(setup.model, observer)
    probe = persistence.StepProbe(setup.model, layer_states(setup.model, observer.probe))
    with torch.no_grad():
        for module in attentions(setup.model):
            module.mask_logits += torch.randn(2, 16, 16, generator=torch.Generator().manual_seed(0)).triu(1)
    after = measured(setup.model, observer)
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values, err_msg=name)
    assert (probe.measure()["mask_logit_step"] == 0).all()


def test_causal_steps_are_averaged_over_the_past():
    setup, observer = causal_run()
    states = layer_states(setup.model, observer.probe)
    probe = persistence.StepProbe(setup.model, states)
    with torch.no_grad():
        for module in attentions(setup.model):
            module.query.weight *= 1.5
            module.mask_logits += torch.eye(16)
    found = probe.measure()
    for layer, (module, state) in enumerate(zip(attentions(setup.model), states, strict=True)):
        for h in range(2):
            rows = [state.logits[:, h, i, past(i)] for i in range(16)]
            squares = sum(((row - row.mean(-1, keepdim=True)) ** 2).sum().item() for row in rows)
            expected = 0.5 * np.sqrt(squares / (len(state.logits) * 136))
            assert found["query_key_logit_step"][layer, h] == pytest.approx(expected, rel=1e-4)
            # log sigmoid(10) - log sigmoid(0) on the diagonal of row i, less its share of the row's mean.
            step = F.logsigmoid(torch.tensor(10.0)).item() + math.log(2)
            moved = [step**2 * (1 - 1 / (i + 1)) for i in range(16)]
            assert found["mask_logit_step"][layer, h] == pytest.approx(np.sqrt(sum(moved) / 136), rel=1e-4)
            assert found["mask_step"][layer, h] == pytest.approx(np.sqrt(16 / 136))
        assert module.causal


def test_causal_sensitivities_are_means_over_the_entries_that_exist():
    setup, observer = causal_run()
    found = measured(setup.model, observer)
    for layer, (module, state) in enumerate(
        zip(attentions(setup.model), layer_states(setup.model, observer.probe), strict=True)
    ):
        p, slope = state.attention, 10 * torch.sigmoid(-10 * module.mask_logits.detach())
        visible = torch.ones(16, 16).tril().bool()
        np.testing.assert_allclose(found["mask_bound"][layer], p[..., visible].mean((0, 2)), rtol=1e-5)
        # The largest |dp_i / dm_j| by the definition, with every j written out.
        jacobian = (p.diag_embed() - p.unsqueeze(-1) * p.unsqueeze(-2)) * slope.unsqueeze(-2)
        expected = jacobian.abs().amax(-1)[..., visible].mean((0, 2))
        np.testing.assert_allclose(found["mask_sensitivity"][layer], expected, rtol=1e-3)


def test_positions_alone_attend_to_the_past():
    setup, observer = causal_run("default")
    uniform = torch.zeros(16, 16)
    found = persistence.position_open_mass(setup.model, uniform, observer.pattern)
    np.testing.assert_allclose(found, np.mean(1 / np.arange(2, 17)), rtol=1e-5)
