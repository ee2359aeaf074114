"""Boolean extrapolation: a function of d bits, learned on the part of the cube that is seen (paper 5.1, appendix E).

Shapes: R rows, d bits of a row, each +1 or -1, x_0 … x_{d-1}; L layers, H heads, N = d tokens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from maskprior.patterns.pattern import Pattern
from maskprior.tasks.interpolation import minimum_degree_interpolator

Rows = np.ndarray
Function = Callable[[Rows], np.ndarray]

FIRST_THREE = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))


@dataclass(frozen=True)
class BooleanTask:
    """A Boolean task.

    Attributes:
        target: f, (R, d) -> float32 (R).
        seen: whether a row may be trained on, (R, d) -> bool (R).
        patterns: the attention that the task's structure asks for, by name; each gives (L, H, N, N) for the keywords
            layers, heads and tokens. A row that is all open or all closed carries no prior.
        interpolator: the minimum-degree polynomial that agrees with f on the seen part, as a formula; computed from
            `target` and `seen` where no formula is given.
        followed: the monomials whose coefficients are followed during training, each as the numbers of its variables.
    """

    target: Function
    seen: Function
    patterns: Mapping[str, Callable[..., Pattern]]
    interpolator: Function | None = None
    followed: tuple[tuple[int, ...], ...] = FIRST_THREE

    def interpolate(self, x: Rows) -> np.ndarray:
        """The minimum-degree interpolator of the seen part on every row: (R, d) -> (R)."""
        if self.interpolator is not None:
            return self.interpolator(x)
        return minimum_degree_interpolator(self.target, self.seen, x.shape[1])(x)


def first_three(x: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The variables that the paper's tasks are about: (R, d) -> x0, x1, x2, each (R)."""
    return x[:, 0], x[:, 1], x[:, 2]
