"""What runs cost: operations counted by hand, a schedule by hand, and predictions from constructed records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskprior.errors import UserError
from maskprior.evidence import cost
from maskprior.evidence.cost import Measured, Predictor, list_schedule, operations, read_costs
from maskprior.runs.spec import make_run, resolve

RUN = make_run("boolean", "2parity", "mask", scale="paper")
CONFIG = resolve(RUN).model_dump()
OTHER = make_run("boolean", "threesym", "mask", scale="paper")


def measured(run, seconds, *, device="cpu"):
    return Measured(run, device, seconds, 1000, operations(resolve(run).model_dump()))


def test_operations_of_a_run_counted_by_hand():
    # A layer: four matrices of 256 x 192 and two of 256 x 256; the attention of a token: 2 x 15 tokens x 192, twice.
    layer = 4 * 256 * 192 + 2 * 256 * 256
    token = 3 * 4 * (2 * layer + 4 * 15 * 192)
    assert operations(CONFIG) == token * 15 * 256 * 8640


def test_a_model_that_is_no_transformer_is_not_counted():
    assert operations({"model": {"width": 3}, "optimizer": {}}) is None
    assert operations({}) is None


def test_images_have_a_token_for_every_patch_and_one_for_the_class():
    assert cost.tokens(resolve(make_run("vision", "cifar10", "mask", scale="paper")).model_dump()) == 14 * 14 + 1


def test_records_of_the_cell_come_first():
    costs = read_costs()
    predictor = Predictor([measured(RUN, one) for one in (3600, 7200, 36000)], "cpu", costs)
    assert predictor.predict(RUN) == cost.Estimate(2.0, cost.BY_CELL)
    # A task with fewer updates of the same network takes as much less.
    other = predictor.predict(OTHER)
    assert other.basis == cost.BY_SCALE
    assert other.hours == pytest.approx(2.0 * 5760 / 8640)


def test_another_kind_of_device_tells_nothing():
    estimate = Predictor([measured(RUN, 3600)], "h200", read_costs()).predict(RUN)
    assert estimate.basis == cost.BY_TABLE
    # A layer takes at least a millisecond an update on a card, and this small network never more.
    assert estimate.hours == pytest.approx(8640 * 4 * 0.001 / 3600)


def test_an_unknown_device_is_named():
    with pytest.raises(UserError, match=r"--device: 'h2000' unknown.*h200"):
        Predictor([], "h2000", read_costs())


def test_a_schedule_by_hand():
    # 3 to the first, 1 and then 2 to the second, 4 to whichever is free at 3.
    assert list_schedule([3, 1, 2, 4], 2) == 7
    assert list_schedule([], 3) == 0


@given(st.lists(st.floats(0, 100), max_size=30), st.integers(1, 8))
def test_a_schedule_is_between_its_bounds(hours, workers):
    found = list_schedule(hours, workers)
    least = max([sum(hours) / workers, *hours])
    assert least - 1e-6 <= found <= sum(hours) / workers + max(hours, default=0) + 1e-6


def test_a_card_is_known_by_its_name_and_all_else_is_a_processor():
    costs = read_costs()
    assert costs.kind("NVIDIA H200") == "h200"
    assert costs.kind("NVIDIA A100-SXM4-80GB") == "a100"
    assert costs.kind("AuthenticAMD-25-17") == "cpu"


def test_more_hours_than_allowed_are_refused_with_the_option_that_starts_them(project):
    runs = [make_run("vision", "cifar10", "mask", scale="paper", seed=seed) for seed in range(3)]
    with pytest.raises(UserError, match=r"3 runs to train.*max_hours=\d+ starts it") as refused:
        cost.check_hours(runs, read_costs(), "cpu")
    allowed = float(str(refused.value).split("--config max_hours=")[1].split()[0])
    cost.check_hours(runs, read_costs(allowed), "cpu")
