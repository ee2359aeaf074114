"""Each control of the Boolean interventions changes what it is named after, and nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from maskprior.runs.spec import experiment_file, make_run, resolve

CHANGES = {
    "mask+position18": {"position_scale": 18.0},
    "mask_fixed+position18": {"position_scale": 18.0},
    "structured_svd+position1": {"svd.position_scale": 1.0},
    "svd_bias+position18": {"position_scale": 18.0},
    "mask+wrong_pair": {"pattern": "wrong_pair"},
    "mask+itself": {"pattern": "itself"},
    "mask+shuffled": {"pattern": "shuffled"},
    "mask+mask_lr100_decay0": {"optimizer.mask_lr_multiplier": 100.0, "optimizer.mask_weight_decay": 0.0},
    "mask+only_mask": {"optimizer.trained": "mask"},
    "structured_svd+only_query_key": {"optimizer.trained": "query_key"},
    "mask+random_targets": {"random_targets": True},
}


def values(cell: str) -> dict[str, Any]:
    config: Any = resolve(make_run("boolean", "2parity", cell, scale="reduced"))
    return dict(flat(config.model_dump()))


def flat(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


@pytest.mark.parametrize("cell", CHANGES)
def test_a_control_differs_from_its_twin_in_the_keys_that_it_names(cell: str) -> None:
    twin, control = values(cell.partition("+")[0]), values(cell)
    assert {key: value for key, value in control.items() if twin[key] != value} == CHANGES[cell]


def test_the_bias_differs_from_structured_svd_in_the_method_and_the_form_alone() -> None:
    twin, control = values("structured_svd"), values("svd_bias")
    assert {key for key in control if control[key] != twin[key]} == {"method", "mask.form"}


def test_every_control_is_looked_at() -> None:
    planned = set(experiment_file("boolean")["targets"]["controls"]["methods"])
    assert planned == {*CHANGES, "svd_bias"}
