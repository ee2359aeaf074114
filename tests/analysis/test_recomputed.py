"""Table 1 from the raw JSON of the published records with plain numpy and scipy, without the package's analysis."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from maskprior.analysis.claims import evaluate
from maskprior.analysis.claims_file import read_claims
from maskprior.config.settings import read_settings

PROJECT = Path(__file__).parents[2]
PUBLISHED = PROJECT / "results" / "published" / "reduced" / "boolean"


def values(task: str, method: str, metric: str) -> np.ndarray:
    """In the order of the seeds."""
    found = {}
    for path in (PUBLISHED / task / method).glob("*.json"):
        record = json.loads(path.read_text())
        found[record["run"]["seed"]] = record["metrics"][metric]
    return np.array([found[seed] for seed in sorted(found)])


def printed() -> dict[tuple[str, str, str], float]:
    with open(PROJECT / "config" / "reported_values.csv", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["table"] == "T1"]
    return {(row["task"], row["method"], row["metric"]): float(row["value"]) for row in rows}


def half_width(steps: np.ndarray) -> float:
    return float(student.ppf(0.975, len(steps) - 1) * steps.std(ddof=1) / math.sqrt(len(steps)))


def sign_outcome(steps: np.ndarray, sign: float) -> str:
    """Whether the 95 % interval of the mean step excludes 0, on the side of `sign` or on the other."""
    low, high = sign * steps.mean() - half_width(steps), sign * steps.mean() + half_width(steps)
    return "holds" if low > 0 else "contradicted" if high < 0 else "open"


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published records are not restored here")
def test_signs_of_table_1_from_the_raw_records() -> None:
    claims = [claim for claim in read_claims() if claim.id.startswith("T1-")]
    judged = {j.claim.id: j for j in evaluate(read_settings(), claims) if j.scale == "reduced"}
    published = printed()
    compared = 0
    for (task, method, metric), value in published.items():
        if method == "default":
            continue
        difference = value - published[task, "default", metric]
        default = published[task, "default", metric]
        margin = max(0.02, 0.1 * default) if metric == "test_loss" else 1.0
        if abs(difference) <= margin:
            continue  # no difference is expected: another test
        ours, theirs = values(task, method, metric), values(task, "default", metric)
        steps = np.log(ours) - np.log(theirs) if metric == "test_loss" else ours - theirs
        found = judged[f"T1-boolean-{task}-{method}-{metric}"]
        assert found.direction == sign_outcome(steps, math.copysign(1, difference)), found.claim.id
        assert found.n == len(ours) == 5
        compared += 1
    assert compared >= 10


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published records are not restored here")
def test_means_and_intervals_of_losses_from_the_raw_records() -> None:
    claims = [claim for claim in read_claims() if claim.id.startswith("T1-") and claim.id.endswith("test_loss")]
    compared = 0
    for judged in evaluate(read_settings(), claims):
        if judged.scale != "reduced":
            continue
        reported, ours = judged.claim.reported, judged.ours
        assert reported is not None
        assert ours is not None
        logs = np.log(values(reported.task, reported.method, "test_loss"))
        assert ours.mean == pytest.approx(math.exp(logs.mean()), rel=1e-12)
        assert ours.low == pytest.approx(math.exp(logs.mean() - half_width(logs)), rel=1e-9)
        assert ours.high == pytest.approx(math.exp(logs.mean() + half_width(logs)), rel=1e-9)
        compared += 1
    assert compared == 16
