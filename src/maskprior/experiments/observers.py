"""What is written down while a run trains: the function on a probe batch, and the prior's persistence."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from maskprior.attention import attentions, mask_parameters
from maskprior.config.base import OptimizerConfig
from maskprior.diagnostics import persistence
from maskprior.patterns.pattern import Pattern
from maskprior.training.optimizer import DecayOnly

Arrays = dict[str, np.ndarray]


def trace_steps(last: int) -> list[int]:
    """Every step to 10, then 20 points a decade, and the last step."""
    decades = int(np.ceil(np.log10(max(last, 11)))) - 1
    points = np.unique(np.round(10 ** (1 + np.arange(20 * decades + 1) / 20)).astype(int))
    return [*range(min(10, last)), *(int(p) for p in points if p < last), last]


def evenly(count: int, wanted: int | None) -> np.ndarray:
    """`wanted` evenly spaced row numbers below `count`, all of them for None: a fixed sample for all methods."""
    if wanted is None or wanted >= count:
        return np.arange(count)
    return np.linspace(0, count - 1, wanted).round().astype(np.int64)


def fidelity(arrays: Arrays, position_open_mass: np.ndarray) -> dict[str, float]:
    """How much of the prior is there before training, averaged over layers and heads: on real inputs, and in the
    query-key weights alone, read from positions without content."""
    names = {"map_alignment": "alignment", "open_mass": "open_mass", "open_fraction": "open_mass_chance"}
    found = {f"init_fidelity_{to}": float(np.nanmean(arrays[f"persistence/{of}"][0])) for of, to in names.items()}
    return found | {"init_fidelity_position_open_mass": float(np.nanmean(position_open_mass))}


class Series:
    """Named values over steps, as float32 arrays with the steps beside them."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: dict[str, list[Tensor]] = {}

    def append(self, step: int, values: dict[str, Any]) -> None:
        self.steps.append(step)
        self.update(values)

    def update(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            self.values.setdefault(name, []).append(torch.as_tensor(value, dtype=torch.float32))

    def arrays(self, prefix: str) -> Arrays:
        found = {f"{prefix}/{name}": torch.stack(values).numpy() for name, values in self.values.items()}
        return {f"{prefix}/step": np.array(self.steps, dtype=np.int32), **found}

    def state(self) -> dict[str, Any]:
        return {"steps": self.steps, "values": self.values}

    def load(self, state: dict[str, Any]) -> None:
        self.steps, self.values = state["steps"], state["values"]


class Trace:
    """The function during training: `measure()` at `trace_steps` or every so many steps, and the mean training loss
    between them."""

    def __init__(self, steps: int, measure: Callable[[], dict[str, Any]], *, every: int | None = None) -> None:
        self.wanted = set(trace_steps(steps) if every is None else range(0, steps + 1, every))
        self.measure = measure
        self.series = Series()

    def observe(self, step: int, losses: Sequence[float]) -> None:
        if step not in self.wanted:
            return
        since = losses[self.series.steps[-1] : step] if self.series.steps else []
        train_loss = float(np.mean(since)) if since else float("nan")
        self.series.append(step, {"train_loss": train_loss, **self.measure()})

    def before_update(self, step: int) -> None: ...

    def after_update(self, step: int) -> None: ...

    def arrays(self) -> Arrays:
        return self.series.arrays("trace")

    def state(self) -> dict[str, Any]:
        return self.series.state()

    def load(self, state: dict[str, Any]) -> None:
        self.series.load(state)


class Persistence:
    """The prior during training: its state at 0, 1, 3, 10, 30, … and the end, and the updates that follow those looks.

    `persistence/step` counts updates done before a look, `persistence/update` the index (from 0) of a measured update:
    the one after each look, and the training's last.
    """

    def __init__(self, model: nn.Module, probe: Tensor, pattern: Pattern, config: OptimizerConfig) -> None:
        self.model, self.probe, self.pattern, self.config = model, probe, pattern, config
        self.wanted = persistence.diagnostic_steps(config.steps)
        self.step_probe: persistence.StepProbe | None = None
        states = persistence.layer_states(model, probe)
        self.start = persistence.start_of(model, states)
        self.initial_map = persistence.mean_attention(states)
        self.decay_only = DecayOnly(config, mask_parameters(model))
        self.state_series, self.step_series = Series(), Series()

    def observe(self, step: int, losses: Sequence[float]) -> None:
        if step in self.wanted:
            states = persistence.layer_states(self.model, self.probe)
            decayed: list[Tensor | None] = list(self.decay_only.masks) or [None] * len(attentions(self.model))
            measures = persistence.measure_state(self.model, states, self.start, self.pattern, decayed)
            self.state_series.append(step, measures)

    def before_update(self, step: int) -> None:
        if step in self.wanted or step == self.wanted[-1] - 1:
            self.step_probe = persistence.StepProbe(self.model, persistence.layer_states(self.model, self.probe))

    def after_update(self, step: int) -> None:
        self.decay_only.step(step)
        if self.step_probe is not None:
            self.step_series.append(step, self.step_probe.measure())
            self.step_probe = None

    def arrays(self) -> Arrays:
        updates = self.step_series.arrays("persistence")
        updates["persistence/update"] = updates.pop("persistence/step")
        return {**self.state_series.arrays("persistence"), **updates, **self.maps()}

    def maps(self) -> Arrays:
        final = persistence.mean_attention(persistence.layer_states(self.model, self.probe))
        found = {"maps/attention_initial": self.initial_map, "maps/attention_final": final}
        if masks := mask_parameters(self.model):
            found["maps/mask_final"] = torch.stack(list(masks)).numpy(force=True)
        with np.errstate(over="ignore"):  # a diverged run's maps may not fit
            return {name: value.astype(np.float16) for name, value in found.items()}

    def state(self) -> dict[str, Any]:
        series = [self.state_series.state(), self.step_series.state()]
        return {"series": series, "decay_only": self.decay_only.state()}

    def load(self, state: dict[str, Any]) -> None:
        self.state_series.load(state["series"][0])
        self.step_series.load(state["series"][1])
        self.decay_only.load(state["decay_only"])
