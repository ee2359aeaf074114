"""Each control of the Boolean interventions changes what it is named after, and nothing else."""

import pytest

from maskprior.report.interventions_table import changes
from maskprior.runs.spec import experiment_file, make_run, resolve

CHANGES = {
    "mask+position18": "position scale 1 → 18",
    "mask_fixed+position18": "position scale 1 → 18",
    "structured_svd+position1": "position scale 18 → 1",
    "svd_bias+position18": "position scale 1 → 18",
    "mask+wrong_pair": "pattern perm → wrong_pair",
    "mask+itself": "pattern perm → itself",
    "mask+shuffled": "pattern perm → shuffled",
    "mask+mask_lr100_decay0": "decay of M 0.001 → 0, rate of M, factor 1 → 100",
    "mask+only_mask": "trained all → mask",
    "structured_svd+only_query_key": "trained all → query_key",
    "mask+random_targets": "random targets False → True",
}


@pytest.mark.parametrize("cell", CHANGES)
def test_a_control_differs_from_its_twin_in_the_keys_that_it_names(cell: str) -> None:
    assert changes("boolean", "2parity", cell, "reduced") == CHANGES[cell]


def test_the_bias_differs_from_structured_svd_in_the_method_and_the_form_of_the_mask_alone() -> None:
    cells = (
        resolve(make_run("boolean", "2parity", method, scale="reduced")) for method in ("structured_svd", "svd_bias")
    )
    svd, bias = (config.model_dump() for config in cells)
    assert bias == svd | {"method": "svd_bias", "mask": svd["mask"] | {"form": "additive"}}


def test_every_control_is_looked_at() -> None:
    planned = set(experiment_file("boolean")["targets"]["controls"]["methods"])
    assert planned == {*CHANGES, "svd_bias"}
