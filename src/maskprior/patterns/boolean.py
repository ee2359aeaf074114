"""Patterns of the Boolean tasks (paper 4.2, appendix E, figures 2 and 6; reconstructed from the text).

Every row keeps at least one open entry, for a row that is all closed is neutral and carries no prior.
"""

import numpy as np

from maskprior.patterns.pattern import Pattern, from_heads


def pattern(task: str, name: str, *, layers: int, heads: int, tokens: int) -> Pattern:
    """The pattern `name` of a task, (L, H, N, N).

    2parity: `perm` x0 <-> x1, every other token itself; `blockself` the block {x0, x1} and the others themselves;
    `layered` perm in the first layer, then every token itself.
    majority3: `identity` every token itself; `identity_first` only the first three, the other rows neutral.
    cyclic3: `forward` token i attends to i, i+1, i+2 (cyclic); `centered` to i-1, i, i+1; `early` forward in the first
    two layers, then every token itself.
    threesym: `perm` one pair a head, {0,1}, {1,2}, {0,2}; `blockself` the same with blocks.
    """
    itself = np.eye(tokens, dtype=bool)
    everywhere = (heads, 1, 1)
    if task == "2parity":
        swapped, block = _pair(0, 1, tokens, with_self=False), _pair(0, 1, tokens, with_self=True)
        if name == "layered":
            first = from_heads(np.tile(swapped, everywhere), 1).open
            return Pattern(np.concatenate([first, from_heads(np.tile(itself, everywhere), layers - 1).open]))
        return from_heads(np.tile({"perm": swapped, "blockself": block}[name], everywhere), layers)
    if task == "majority3":
        if name == "identity_first":
            itself = itself & (np.arange(tokens) < 3)[:, None]
        return from_heads(np.tile(itself, everywhere), layers)
    if task == "cyclic3":
        offsets = (-1, 0, 1) if name == "centered" else (0, 1, 2)
        local = np.logical_or.reduce([np.roll(itself, offset, axis=1) for offset in offsets])
        found = from_heads(np.tile(local, everywhere), layers).open.copy()
        if name == "early":
            found[2:] = itself
        return Pattern(found)
    if task == "threesym":
        pairs = [(0, 1), (1, 2), (0, 2)]
        per_head = [_pair(*pairs[head % 3], tokens, with_self=name == "blockself") for head in range(heads)]
        return from_heads(np.stack(per_head), layers)
    raise ValueError(f"task: {task!r} has no Boolean pattern")


def _pair(i: int, j: int, tokens: int, *, with_self: bool) -> np.ndarray:
    """Tokens i and j attend to each other (and to themselves), every other token to itself; (N, N)."""
    found = np.eye(tokens, dtype=bool)
    found[i, i] = found[j, j] = with_self
    found[i, j] = found[j, i] = True
    return found
