"""Records in, outcomes out: expected direction x place of our seeds x number of seeds x what is missing x scale."""

from collections.abc import Iterator

import pytest

from maskprior.analysis.claims import evaluate
from maskprior.analysis.claims_file import read_claims
from maskprior.analysis.decide import AGREES, CONTRADICTED, DIFFERS, FEW, HOLDS, OPEN
from maskprior.config.settings import read_settings
from maskprior.runs.spec import make_run
from maskprior.runs.store import record_path
from tests.constructed_runs import WriteRun

# Numbers of Table 1: what is expected -> task, method, metric, and for each place our mean, the direction, the value.
# Published are 0.0029, 1.737, 75.00 and 87.45; Default has a loss of 1.379 and an accuracy of 75 here, and of a
# cyclic3 Default an accuracy of 86.5 to 88.5 is expected.
CASES: dict[str, tuple[str, str, str, dict[str, tuple[float, str, str]]]] = {
    "less": (
        "2parity", "mask", "test_loss",
        {
            "inside": (0.0029, HOLDS, AGREES),
            "above": (9.0, CONTRADICTED, DIFFERS),
            "below": (0.00001, HOLDS, DIFFERS),  # better than published is not the published value
        },
    ),
    "greater": (
        "2parity", "structured_svd", "test_loss",
        {"inside": (1.737, HOLDS, AGREES), "above": (9.0, HOLDS, DIFFERS), "below": (0.5, CONTRADICTED, DIFFERS)},
    ),
    "equal": (
        "2parity", "structured_opt", "test_accuracy",
        {
            "inside": (75.0, HOLDS, AGREES),
            "above": (90.0, CONTRADICTED, DIFFERS),
            "below": (60.0, CONTRADICTED, DIFFERS),
        },
    ),
    "band": (
        "cyclic3", "default", "test_accuracy",
        {
            "inside": (87.45, HOLDS, AGREES),
            "above": (95.0, CONTRADICTED, DIFFERS),
            "below": (60.0, CONTRADICTED, DIFFERS),
        },
    ),
}  # fmt: skip
# Seeds within 0.4 % of their mean, in another order for Default, so that pairs differ.
STEPS = (1.0, 1.002, 0.998, 1.004, 0.996, 1.0)
SCALES = ("reduced", "paper")


@pytest.mark.parametrize("place", ["inside", "above", "below"])
def test_every_case(write_run: WriteRun, place: str) -> None:
    cells = {expected: (task, method, metric) for expected, (task, method, metric, _) in CASES.items()}
    for scale in SCALES:
        for seed in range(6):
            turned = STEPS[(seed + 2) % 5]
            write_run(
                "2parity", "default", seed, {"test_loss": 1.379 * turned, "test_accuracy": 75 * turned}, scale=scale
            )
        for expected, (task, method, metric) in cells.items():
            for seed in range(5):
                write_run(task, method, seed, {metric: CASES[expected][3][place][0] * STEPS[seed]}, scale=scale)

    ids = {f"T1-boolean-{task}-{method}-{metric}": expected for expected, (task, method, metric) in cells.items()}
    claims = [claim for claim in read_claims() if claim.id in ids]
    assert len(claims) == len(cells)
    wrong = []
    for n, what in _conditions(write_run, [(task, method) for task, method, _ in cells.values()]):
        planned = n if what == "complete" else n + 1
        for judged in evaluate(read_settings({"seeds": planned}), claims):
            expected = ids[judged.claim.id]
            _, direction, value = CASES[expected][3][place]
            if n < 3:
                direction = value = FEW
            elif what == "one diverged":
                direction = OPEN if direction == HOLDS else direction
                value = OPEN if value == AGREES else value
            should = (value if judged.scale == "paper" else None, direction, n, planned, int(what == "one diverged"))
            is_ = (judged.value, judged.direction, judged.n, judged.planned, judged.diverged)
            if is_ != should:
                wrong.append((expected, judged.scale, n, what, is_, should))
    assert wrong == []


def _conditions(write_run: WriteRun, cells: list[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    """Five seeds and fewer: all that are planned, one missing, one diverged. The records on disk are as it says."""
    for n in (5, 3, 2, 1):
        yield n, "complete"
        for scale in SCALES:
            for task, method in cells:
                run = make_run("boolean", task, method, scale=scale, seed=n)
                record_path(run, "local").unlink(missing_ok=True)
        yield n, "one missing"
        for scale in SCALES:
            for task, method in cells:
                write_run(task, method, n, {}, scale=scale, diverged=True)
        yield n, "one diverged"
