"""What is left of a prior: measured on a fixed probe batch, per layer and head, and never changing the training.

The prior is a pattern; it can live in the mask M or in the query-key logits, and it shows in the attention map.
Neutral rows of the pattern are left out everywhere, since they ask for nothing. Softmax ignores a shift of a row, so
logits are compared after centring each row. In a causal model the future is no entry: it is in no mean, no sum and no
centring, and row 0, which sees itself alone, is neutral. A graded prior asks for a map, its own softmax before
training, and is compared with the maps that attention, mask and logits give, each alone; its open entries are those
that each row prefers most. Shapes: B batch, L layers, H heads, N tokens, D width.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from maskprior.attention import MaskedAttention, attention_bias, attentions, query_key_products
from maskprior.diagnostics.theory import sensitivities
from maskprior.evaluation import evaluation_mode
from maskprior.patterns.pattern import Pattern

Measures = dict[str, np.ndarray]


def diagnostic_steps(last: int) -> list[int]:
    """0, 1, 3, 10, 30, 100, … and the last step."""
    points = [digit * 10**k for k in range(len(str(last))) for digit in (1, 3)]
    return [0, *(point for point in points if point < last), last]


@dataclass(frozen=True)
class LayerState:
    """One layer on the probe batch: its normalised input (B, N, D), QK logits and attention (B, H, N, N)."""

    inputs: Tensor
    logits: Tensor
    attention: Tensor


@torch.no_grad()
def layer_states(model: nn.Module, probe: Tensor) -> list[LayerState]:
    """Every attention layer's state on the probe batch, in evaluation mode."""
    seen: list[Tensor] = []
    modules = attentions(model)
    hooks = [module.register_forward_pre_hook(lambda _, args: seen.append(args[0])) for module in modules]
    with evaluation_mode(model):
        model(probe)
    for hook in hooks:
        hook.remove()
    states = []
    for module, inputs in zip(modules, seen, strict=True):
        logits = module.query_key_logits(inputs)
        states.append(LayerState(inputs, logits, module.attention(logits)))
    return states


@torch.no_grad()
def position_open_mass(model: nn.Module, positions: Tensor, pattern: Pattern) -> np.ndarray:
    """Open mass of the attention to positions alone, (L, H): softmax of the QK logits of LayerNorm(P), no mask.

    Beside the open mass on real inputs it tells a prior that content drowns from one that is not in the weights.
    """
    inputs = nn.functional.layer_norm(positions, positions.shape[-1:]).unsqueeze(0)
    found = []
    for index, module in enumerate(attentions(model)):
        opened, neutral = torch.from_numpy(pattern.open[index]), torch.from_numpy(pattern.neutral_rows[index])
        logits = module.query_key_logits(inputs)[0].cpu()
        if module.causal:
            logits = logits.masked_fill(~torch.from_numpy(pattern.visible), -math.inf)
        attention = logits.softmax(-1)
        found.append(_row_mean((attention * opened).sum(-1), ~neutral))
    return torch.stack(found).numpy()


def mean_attention(states: list[LayerState]) -> np.ndarray:
    """The attention map averaged over the probe batch, (L, H, N, N)."""
    return torch.stack([state.attention.mean(0) for state in states]).numpy(force=True)


@dataclass(frozen=True)
class Start:
    """What later measurements are compared with: attention, M and W_Q W_K^T of each layer before training."""

    attention: list[Tensor]
    mask: list[Tensor | None]
    products: list[Tensor]


@torch.no_grad()
def start_of(model: nn.Module, states: list[LayerState]) -> Start:
    modules = attentions(model)
    return Start(
        attention=[state.attention.clone() for state in states],
        mask=[None if m.mask_logits is None else m.mask_logits.detach().clone() for m in modules],
        products=[query_key_products(module) for module in modules],
    )


@torch.no_grad()
def measure_state(
    model: nn.Module, states: list[LayerState], start: Start, pattern: Pattern, decayed: list[Tensor | None]
) -> Measures:
    """The prior's state: quantity -> (L, H). NaN where undefined (no mask, no informative row).

    alignment: cosine of the row-centred map or logits with the row-centred pattern; retention is its ratio to t = 0.
    gap: mean logit on open minus closed entries, nats. open_mass: attention on open entries, beside its chance value
    open_fraction. kl_from_initial: KL(P_0 || P_t), nats. position_share: the part of the QK logits' variance that is
    the same for all inputs. override_ratio: standard deviation of the QK logits over the mask's gap. mask_drift: RMS
    change of M, beyond_decay against M as regularisation alone would leave it (`decayed`, per layer).
    query_key_drift, query_key_cosine: relative Frobenius change of W_Q W_K^T, and its cosine with the initial one.
    """
    layers = []
    for index, (module, state) in enumerate(zip(attentions(model), states, strict=True)):
        target = torch.from_numpy(pattern.target_map()[index])
        opened = torch.from_numpy(pattern.open[index])
        rows = ~torch.from_numpy(pattern.neutral_rows[index])
        target, opened, rows = (x.to(state.logits.device) for x in (target, opened, rows))
        logits, attention = state.logits.mean(0), state.attention.mean(0)
        visible = visible_entries(module, logits)
        found = {
            "map_alignment": alignment(attention, target, rows, visible),
            "query_key_alignment": alignment(_compared(logits, pattern, visible), target, rows, visible),
            "query_key_gap": gap(logits, opened, rows, visible),
            "open_mass": _row_mean((attention * opened).sum(-1), rows),
            "open_fraction": _row_mean(_open_fraction(opened, visible), rows),
            "kl_from_initial": _row_mean(_kl(start.attention[index], state.attention).mean(0), rows),
            "position_share": position_share(state.logits, rows, visible),
            **_product_measures(query_key_products(module), start.products[index]),
            **_mask_measures(module, start.mask[index], decayed[index], state, pattern, target, opened, rows),
            **_bounds(module, state),
        }
        layers.append(found)
    return {name: torch.stack([layer[name] for layer in layers]).numpy(force=True) for name in layers[0]}


class StepProbe:
    """One optimiser step seen from both sides: gradients before it, what it moved after it.

    gradient: Frobenius norm per head. step: RMS change of a head's parameters. logit_step: RMS change of the
    row-centred logits on the probe batch that this part of the step alone makes, nats.
    """

    def __init__(self, model: nn.Module, states: list[LayerState]) -> None:
        self.modules = attentions(model)
        self.states = states
        self.gradients = [self._gradients(module) for module in self.modules]
        self.before = [self._parameters(module) for module in self.modules]

    @torch.no_grad()
    def measure(self) -> Measures:
        """Call after the optimiser step: quantity -> (L, H)."""
        layers = []
        for module, state, gradients, before in zip(
            self.modules, self.states, self.gradients, self.before, strict=True
        ):
            visible = visible_entries(module, state.logits)
            share = _share(visible)
            query, key, mask = (
                None if new is None or old is None else new - old
                for new, old in zip(self._parameters(module), before, strict=True)
            )
            nothing = torch.full((module.heads,), math.nan, device=state.logits.device)
            assert query is not None
            assert key is not None
            moved = module.query_key_logits(state.inputs) - state.logits
            found = {
                **gradients,
                "query_key_step": torch.cat([_per_head(query, module), _per_head(key, module)], 1)
                .square()
                .mean(1)
                .sqrt(),
                "query_key_logit_step": (_centred(moved, visible).square().mean(dim=(0, 2, 3)) / share).sqrt(),
                "mask_step": nothing,
                "mask_logit_step": nothing,
            }
            if mask is not None and module.mask_logits is not None:
                found["mask_step"] = (mask.flatten(1).square().mean(1) / share).sqrt()
                bias, old_bias = _bias(module.mask_logits, module), _bias(module.mask_logits - mask, module)
                moved = _centred(bias - old_bias, visible)
                found["mask_logit_step"] = (moved.square().mean(dim=(1, 2)) / share).sqrt()
            layers.append(found)
        return {name: torch.stack([layer[name] for layer in layers]).numpy(force=True) for name in layers[0]}

    @staticmethod
    def _parameters(module: MaskedAttention) -> tuple[Tensor | None, ...]:
        parameters = (*module.query_key_weights(), module.mask_logits)
        return tuple(None if p is None else p.detach().clone() for p in parameters)

    @staticmethod
    def _gradients(module: MaskedAttention) -> dict[str, Tensor]:
        query, key = module.query_key_gradients()
        mask = None if module.mask_logits is None else module.mask_logits.grad
        nothing = torch.full((module.heads,), math.nan, device=module.query_key_weights()[0].device)

        def norm(gradient: Tensor | None) -> Tensor:
            return nothing if gradient is None else _per_head(gradient, module).norm(dim=1)

        return {
            "query_gradient": norm(query),
            "key_gradient": norm(key),
            "mask_gradient": norm(mask),
        }


def visible_entries(module: MaskedAttention, maps: Tensor) -> Tensor | None:
    """The entries of a causal layer's maps (..., N, N) that exist, (N, N); None where all do."""
    shape = maps.shape[-2:]
    return torch.ones(shape, dtype=torch.bool, device=maps.device).tril() if module.causal else None


def alignment(values: Tensor, target: Tensor, rows: Tensor, visible: Tensor | None = None) -> Tensor:
    """Cosine of row-centred values with the row-centred target over the informative rows: (H, N, N) -> (H,)."""
    a, b = (_centred(x, visible) * rows.unsqueeze(-1) for x in (values, target))
    # A constant map points nowhere: its alignment is 0, not noise over noise.
    size = (a.square().sum((1, 2)) * b.square().sum((1, 2))).sqrt()
    cosine = (a * b).sum((1, 2)) / size.clamp_min(1e-12)
    return torch.where(rows.any(-1), cosine, math.nan)


def gap(logits: Tensor, opened: Tensor, rows: Tensor, visible: Tensor | None = None) -> Tensor:
    """Mean logit on open minus mean on closed entries, averaged over the informative rows: (H, N, N) -> (H,), nats."""
    closed = ~opened if visible is None else ~opened & visible
    on_open = (logits * opened).sum(-1) / opened.sum(-1).clamp_min(1)
    on_closed = (logits * closed).sum(-1) / closed.sum(-1).clamp_min(1)
    return _row_mean(on_open - on_closed, rows)


def position_share(logits: Tensor, rows: Tensor, visible: Tensor | None = None) -> Tensor:
    """|mean over inputs|^2 / mean of |.|^2 of the row-centred QK logits: (B, H, N, N) -> (H,), 0 to 1."""
    centred = _centred(logits, visible) * rows.unsqueeze(-1)
    total = centred.square().mean(0).sum((1, 2))
    return torch.where(total > 0, centred.mean(0).square().sum((1, 2)) / total, math.nan)


def _mask_measures(
    module: MaskedAttention,
    initial: Tensor | None,
    decayed: Tensor | None,
    state: LayerState,
    pattern: Pattern,
    target: Tensor,
    opened: Tensor,
    rows: Tensor,
) -> dict[str, Tensor]:
    nothing = torch.full((module.heads,), math.nan, device=target.device)
    names = ("mask_alignment", "mask_gap", "override_ratio", "mask_drift", "mask_drift_beyond_decay")
    if module.mask_logits is None or initial is None:
        return dict.fromkeys(names, nothing)
    bias, visible = _bias(module.mask_logits, module), visible_entries(module, state.logits)
    spread = (_centred(state.logits, visible).square().mean(0) * rows.unsqueeze(-1)).sum((1, 2))
    entries = rows.sum(-1) * rows.shape[-1] if visible is None else (rows * visible.sum(-1)).sum(-1)
    spread = (spread / entries.clamp_min(1)).sqrt()
    mask_gap = gap(bias, opened, rows, visible)
    drift = _change(module.mask_logits, initial, visible)
    beyond = nothing if decayed is None else _change(module.mask_logits, decayed, visible)
    override = torch.where(mask_gap > 0, spread / mask_gap, math.nan)
    aligned = alignment(_compared(bias, pattern, visible), target, rows, visible)
    found = (aligned, mask_gap, override, drift, beyond)
    return dict(zip(names, found, strict=True))


def _bounds(module: MaskedAttention, state: LayerState) -> dict[str, Tensor]:
    # Every so many rows, so that the samples stay balanced and are about 64.
    few = slice(None, None, max(1, len(state.inputs) // 64))
    queries, keys, _ = module.queries_keys_values(state.inputs[few])
    m, slope = module.scaled_mask(), None
    if m is not None:
        slope = module.mask_scale * ((-m).sigmoid() if module.form == "log_sigmoid" else torch.ones_like(m))
    found = sensitivities(queries, keys, state.attention[few], slope)
    if module.causal:
        # All of them are 0 in the future, and their mean is to be that over the entries that exist.
        found = {name: value / _share(visible_entries(module, state.logits)) for name, value in found.items()}
    # The theorem is about a softmax; a Hadamard-masked map is none.
    undefined = m is not None and module.form == "hadamard"
    return {name: torch.full_like(value, math.nan) for name, value in found.items()} if undefined else found


def _bias(mask_logits: Tensor, module: MaskedAttention) -> Tensor:
    scaled = module.mask_scale * mask_logits
    bias = attention_bias(scaled, module.form)
    return nn.functional.logsigmoid(scaled) if bias is None else bias


def _per_head(parameter: Tensor, module: MaskedAttention) -> Tensor:
    """(H d, D) or (H, N, N) -> (H, everything of the head)."""
    return parameter.reshape(module.heads, -1)


def _centred(values: Tensor, visible: Tensor | None) -> Tensor:
    """Values minus the mean of their row; of a causal map the visible entries alone, 0 elsewhere."""
    if visible is None:
        return values - values.mean(-1, keepdim=True)
    mean = (values * visible).sum(-1, keepdim=True) / visible.sum(-1, keepdim=True)
    return (values - mean) * visible


def _compared(logits: Tensor, pattern: Pattern, visible: Tensor | None) -> Tensor:
    """What is compared with the pattern's target: the logits, or for a graded prior the map they alone would give."""
    if pattern.graded is None:
        return logits
    return (logits if visible is None else logits.masked_fill(~visible, -math.inf)).softmax(-1)


def _share(visible: Tensor | None) -> float:
    """The part of a map's entries that exist."""
    return 1.0 if visible is None else float(visible.float().mean())


def _change(new: Tensor, old: Tensor, visible: Tensor | None) -> Tensor:
    """RMS difference of two masks over the entries that exist: (H, N, N) -> (H,)."""
    difference = new - old if visible is None else (new - old) * visible
    return (difference.flatten(1).square().mean(1) / _share(visible)).sqrt()


def _open_fraction(opened: Tensor, visible: Tensor | None) -> Tensor:
    """Open entries among those of the row that exist: (H, N, N) -> (H, N)."""
    return opened.float().mean(-1) if visible is None else opened.sum(-1) / visible.sum(-1)


def _kl(p: Tensor, q: Tensor) -> Tensor:
    tiny = torch.finfo(p.dtype).tiny
    return (p * (p.clamp_min(tiny).log() - q.clamp_min(tiny).log())).sum(-1)


def _product_measures(new: Tensor, old: Tensor) -> dict[str, Tensor]:
    size, old_size = new.norm(dim=(1, 2)).clamp_min(1e-12), old.norm(dim=(1, 2)).clamp_min(1e-12)
    return {
        "query_key_drift": (new - old).norm(dim=(1, 2)) / old_size,
        "query_key_cosine": (new * old).sum((1, 2)) / (size * old_size),
    }


def _row_mean(values: Tensor, rows: Tensor) -> Tensor:
    """Mean over the informative rows: (H, N) -> (H,), NaN where a head has none."""
    return torch.where(rows, values, 0.0).sum(-1) / torch.where(rows.any(-1), rows.sum(-1), math.nan)
