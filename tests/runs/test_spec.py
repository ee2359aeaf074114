import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from maskprior.config.settings import Settings
from maskprior.errors import UserError
from maskprior.runs.spec import (
    Run,
    built_experiments,
    cell_runs,
    experiment_file,
    make_run,
    parse_run,
    planned_runs,
    resolve,
    targets,
)

FILE = "config/experiments/boolean.yaml"


def problem(*words: str, scale: str = "reduced", seed: int = 0) -> str:
    with pytest.raises(UserError) as caught:
        make_run(*words, scale=scale, seed=seed)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def change(project: Path, **sections: object) -> None:
    """Replace sections of the Boolean configuration file."""
    path = project / FILE
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | sections))


def section(project: Path, name: str) -> dict:
    return yaml.safe_load((project / FILE).read_text())[name]


def test_names_are_read_back() -> None:
    for method in ("mask", "default+position18"):
        run = make_run("boolean", "2parity", method, scale="reduced", seed=3)
        assert run.name == f"boolean/2parity/{method}/seed3"
        assert parse_run(run.name, scale="reduced") == run


def test_a_variant_is_split_from_the_method() -> None:
    run = make_run("boolean", "2parity", "default+position18", scale="smoke")
    assert run == Run("boolean", "2parity", "default", "position18", "smoke", 0)
    assert resolve(run).position_scale == 18.0
    assert resolve(make_run("boolean", "2parity", "default", scale="smoke")).position_scale == 1.0


@pytest.mark.parametrize("name", ["", "boolean", "boolean/2parity/mask", "boolean/2parity/mask/seed", "a/b/c/d/seed1"])
def test_what_is_not_a_name_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="not a run's name"):
        parse_run(name, scale="smoke")


def test_later_sections_win(project: Path) -> None:
    """defaults < task < method < scale < the scale's task < variant < the variant's scale, key by key."""
    levels = ("defaults", "task", "method", "scale", "scale's task", "variant", "variant's scale")
    scales, other = section(project, "scales"), {"position_scale": 99}
    for highest in range(1, len(levels) + 1):
        at = {name: {"position_scale": level} if level <= highest else {} for level, name in enumerate(levels, start=1)}
        change(
            project,
            defaults=section(project, "defaults") | at["defaults"],
            tasks={"2parity": {"pattern": "perm"} | at["task"]},
            methods={"mask": at["method"]},
            scales=scales | {"smoke": scales["smoke"] | at["scale"] | {"tasks": {"2parity": at["scale's task"]}}},
            variants={"changed": at["variant"] | {"scales": {"smoke": at["variant's scale"], "paper": other}}},
            targets={},
        )
        assert resolve(make_run("boolean", "2parity", "mask+changed", scale="smoke")).position_scale == highest


def test_nested_sections_are_merged_not_replaced() -> None:
    smoke = resolve(make_run("boolean", "2parity", "mask", scale="smoke"))
    assert (smoke.model.layers, smoke.model.heads, smoke.model.dim) == (2, 3, 24)


def test_unknown_words_name_file_key_and_choices() -> None:
    assert problem("bolean", "2parity", "mask").startswith(
        "experiment: 'bolean' unknown (did you mean boolean? allowed: "
    )
    assert problem("boolean", "2party", "mask").startswith(f"{FILE}: task: '2party' unknown (did you mean 2parity? ")
    assert problem("boolean", "2parity", "msk").startswith(
        f"{FILE}: method: 'msk' unknown (did you mean mask? allowed: "
    )
    assert problem("boolean", "2parity", "impulse").startswith(f"{FILE}: method: 'impulse' unknown (allowed: default, ")
    assert problem("boolean", "2parity", "mask+x").startswith(f"{FILE}: variant: 'x' unknown (allowed: ")
    assert problem("boolean", "2parity", "mask", scale="huge") == (
        f"{FILE}: scale: 'huge' unknown (allowed: paper, reduced, smoke)"
    )


def test_a_negative_seed_is_refused() -> None:
    assert problem("boolean", "2parity", "mask", seed=-1) == "seed: -1 is negative (allowed: 0, 1, 2, …)"


def test_an_unknown_key_names_the_section_it_stands_in(project: Path) -> None:
    change(project, methods=section(project, "methods") | {"mask": {"optimizer": {"stepz": 3}}})
    assert problem("boolean", "2parity", "mask").startswith(
        f"{FILE}: methods.mask.optimizer.stepz: unknown key (did you mean steps? allowed: name, lr, "
    )


def test_a_bad_value_names_the_section_that_counts(project: Path) -> None:
    scales = section(project, "scales")
    scales["reduced"]["optimizer"]["lr"] = -1
    change(project, scales=scales)
    assert problem("boolean", "2parity", "mask") == (
        f"{FILE}: scales.reduced.optimizer.lr: -1: input should be greater than 0"
    )


def test_an_impossible_task_and_pattern_pair_names_the_possible_ones(project: Path) -> None:
    change(project, tasks=section(project, "tasks") | {"majority3": {"pattern": "perm", "sampled": True}})
    told = problem("boolean", "majority3", "mask")
    assert told.startswith(f"{FILE}: pattern: ")
    assert "identity" in told


def test_a_method_without_code_names_those_with_code(project: Path) -> None:
    change(project, methods=section(project, "methods") | {"nonsense": {}})
    told = problem("boolean", "2parity", "nonsense")
    assert told.startswith(f"{FILE}: method: ")
    assert "mask_fixed" in told


@pytest.mark.parametrize(("task", "fractions"), [("addition", 7), ("multiplication", 6)])
@pytest.mark.parametrize(("scale", "most"), [("reduced", 2000), ("paper", math.inf)])
def test_the_sweep_of_figure4_trains_50_epochs(task: str, fractions: int, scale: str, most: float) -> None:
    """Also the plain cells, which are its points at the fractions of Table 2; both methods at the same fractions."""
    found: dict[str, list[float]] = {}
    for method in experiment_file("arithmetic")["targets"][f"figure4_{task}"]["methods"]:
        run = make_run("arithmetic", task, method, scale=scale)
        config: Any = resolve(run)
        epoch = math.ceil(config.train_fraction * 1_000_000 / config.optimizer.batch_size)
        assert config.optimizer.steps == min(50 * epoch, most)
        found.setdefault(run.method, []).append(config.train_fraction)
    assert len(found["default"]) == len(set(found["default"])) == fractions
    assert found["mask"] == found["default"] == sorted(found["default"])


def test_an_unknown_scale_of_a_variant_is_named(project: Path) -> None:
    change(project, variants={"changed": {"scales": {"papr": {}}}}, targets={})
    assert problem("boolean", "2parity", "mask+changed") == (
        f"{FILE}: variants.changed.scales: 'papr' unknown (did you mean paper? allowed: paper, reduced, smoke)"
    )


@pytest.mark.parametrize("name", ["defaults", "tasks", "methods", "scales", "variants", "targets"])
def test_a_missing_section_is_named(project: Path, name: str) -> None:
    file = yaml.safe_load((project / FILE).read_text())
    del file[name]
    (project / FILE).write_text(yaml.safe_dump(file))
    assert problem("boolean", "2parity", "mask") == f"{FILE}: {name}: missing"


def test_a_missing_scale_is_named_with_the_needed_ones(project: Path) -> None:
    scales = section(project, "scales")
    del scales["paper"]
    change(project, scales=scales)
    assert problem("boolean", "2parity", "mask") == f"{FILE}: scales: paper: missing (needed: smoke, reduced, paper)"


def test_a_target_with_an_unknown_method_is_named(project: Path) -> None:
    change(project, targets={"table1": {"methods": ["mask", "defalt"]}})
    assert problem("boolean", "2parity", "mask").startswith(
        f"{FILE}: targets.table1.methods: 'defalt' unknown (did you mean default? "
    )


def test_a_plan_goes_seed_by_seed_and_names_each_cell_once() -> None:
    settings = Settings(scale="reduced", seeds=3, device="cpu", recompute=False)
    runs = planned_runs("all", settings)
    cells = [run.cell for run in runs if run.seed == 0]
    assert len(cells) == len(set(cells))
    planned = {(run.cell, run.seed) for run in runs}
    assert [(run.cell, run.seed) for run in runs] == [
        (cell, seed) for seed in range(3) for cell in cells if (cell, seed) in planned
    ]
    # Some cells are planned for fewer seeds, but none without the smaller ones.
    assert {(cell, seed - 1) for cell, seed in planned if seed} <= planned
    assert {run.cell for target in targets() for run in planned_runs(target, settings)} == set(cells)


def test_an_unknown_target_names_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"^target: 'tabel1' unknown \(did you mean table1\? allowed: all, "):
        planned_runs("tabel1", Settings(scale="reduced", seeds=1, device="cpu", recompute=False))


def test_a_target_of_other_scales_has_no_runs_at_this_one(project: Path) -> None:
    change(project, targets={"table9": {"methods": ["mask"], "tasks": ["2parity"], "scales": ["paper"]}})
    planned = {
        scale: [
            run.cell for run in planned_runs("table9", Settings(scale=scale, seeds=1, device="cpu", recompute=False))
        ]
        for scale in ("reduced", "paper")
    }
    assert planned == {"reduced": [], "paper": ["boolean/2parity/mask"]}


def test_a_target_may_ask_for_fewer_seeds_at_a_scale(project: Path) -> None:
    few = {"methods": ["mask", "default"], "tasks": ["2parity"], "seeds": {"reduced": 2}}
    more = {"methods": ["default"], "tasks": ["2parity"]}
    change(project, targets={"table8": few, "table9": more})

    def seeds(target: str, scale: str, planned: int) -> list[tuple[str, int]]:
        settings = Settings(scale=scale, seeds=planned, device="cpu", recompute=False)
        runs = planned_runs(target, settings)
        return [(run.method, run.seed) for run in runs if run.experiment == "boolean"]

    assert seeds("table8", "reduced", 5) == [("mask", 0), ("default", 0), ("mask", 1), ("default", 1)]
    assert seeds("table8", "reduced", 1) == [("mask", 0), ("default", 0)]
    assert len(seeds("table8", "paper", 5)) == 10
    # A cell of two targets gets what the more demanding one wants.
    assert seeds("all", "reduced", 3) == [
        ("mask", 0), ("default", 0), ("mask", 1), ("default", 1), ("default", 2)
    ]  # fmt: skip
    settings = Settings(scale="reduced", seeds=4, device="cpu", recompute=False)
    assert [run.seed for run in cell_runs("boolean", "2parity", "mask", settings)] == [0, 1]
    assert [run.seed for run in cell_runs("boolean", "2parity", "mask_fixed", settings)] == [0, 1, 2, 3]


def test_every_planned_run_of_this_project_resolves_at_every_scale() -> None:
    for scale in ("smoke", "reduced", "paper"):
        for run in planned_runs("all", Settings(scale=scale, seeds=1, device="cpu", recompute=False)):
            assert resolve(run).task == run.task
    assert "boolean" in built_experiments()


def test_a_seed_too_large_and_a_plus_without_a_variant_are_refused() -> None:
    assert "too large" in problem("boolean", "2parity", "mask", seed=10**20)
    assert problem("boolean", "2parity", "mask+") == "method: mask+: names no variant after the +"
