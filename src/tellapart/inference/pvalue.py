"""The only place where p-values are born. The doctests are its law."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

# No p-value of ours is zero. A double holds nothing smaller than this with full precision.
SMALLEST = float(np.finfo(np.float64).tiny)
# Two sums of the same numbers in another order differ by rounding; so much of the largest one counts as a tie.
_TIE = 1e-9


def permutation_pvalue(statistic: float, null_distribution: ArrayLike) -> float:
    """One-sided p-value of a statistic among values drawn from its null distribution.

    ``(1 + #{T_b >= T_0}) / (1 + B)``: under exchangeability the observed value is one of B + 1 that are equally
    likely to stand at any rank, so ``P(p <= level) <= level`` for every B and every level. Values that are equal up to
    rounding count as ties, and ties speak for the null hypothesis.

    Parameters
    ----------
    statistic : float
        Observed value; large values speak against the null hypothesis.
    null_distribution : array-like of shape (B,)
        The same statistic on B random relabellings.

    Returns
    -------
    float
        At least 1 / (1 + B), at most 1.

    References
    ----------
    Phipson, Smyth (2010). Permutation p-values should never be zero. doi:10.2202/1544-6115.1585.

    Examples
    --------
    The smallest possible value, reached when nothing comes near:

    >>> permutation_pvalue(5.0, [1.0, 2.0, 3.0])
    0.25

    A tie speaks for the null hypothesis, also one that only rounding hides:

    >>> permutation_pvalue(3.0, [1.0, 2.0, 3.0])
    0.5
    >>> permutation_pvalue(0.1 + 0.2, [0.3, 0.0, 0.0])
    0.5

    Two identical constant samples:

    >>> permutation_pvalue(0.0, [0.0, 0.0, 0.0])
    1.0
    """
    if not isinstance(statistic, int | float | np.integer | np.floating):
        raise TypeError(f"`statistic` must be a real number, got {statistic!r}.")
    drawn = np.asarray(null_distribution)
    if drawn.size and drawn.dtype.kind not in "biuf":
        raise TypeError(f"`null_distribution` must hold real numbers, got dtype {drawn.dtype}.")
    drawn = drawn.astype(np.float64, copy=False)
    if drawn.ndim != 1 or drawn.size == 0:
        raise ValueError(f"`null_distribution` must be a vector of at least one value, got shape {drawn.shape}.")
    if np.isnan(drawn).any() or math.isnan(statistic):
        raise ValueError("`statistic` and `null_distribution` must not contain NaN.")
    return (1 + int(reaches(drawn, statistic).sum())) / (1 + drawn.size)


def reaches(drawn: NDArray[np.float64], statistic: float) -> NDArray[np.bool_]:
    """Which drawn values are at least the observed one, up to rounding.

    >>> reaches(np.array([1.0, 2.0 - 1e-12, 1.9]), 2.0).tolist()
    [False, True, False]
    """
    largest = max(abs(statistic), float(np.abs(drawn).max(initial=0.0)))
    reached: NDArray[np.bool_] = drawn >= statistic - (_TIE * largest if math.isfinite(largest) else 0.0)
    return reached


def stopped_pvalue(reached: NDArray[np.bool_], stop_after: int) -> tuple[float, int]:
    """Besag and Clifford's p-value: draw until `stop_after` values reach the observed one.

    ``stop_after / draws`` if that happens, else the ordinary ``(1 + count) / (1 + B)``; and the number of draws used.
    The level is kept exactly: whether p <= a depends only on the rank of the observed value among the first draws.

    References
    ----------
    Besag, Clifford (1991). Sequential Monte Carlo p-values. doi:10.1093/biomet/78.2.301.

    Examples
    --------
    >>> stopped_pvalue(np.array([True, False, False, True, True]), stop_after=2)
    (0.5, 4)
    >>> stopped_pvalue(np.array([False, False, False, True]), stop_after=2)
    (0.4, 4)
    """
    count = np.cumsum(reached)
    if count.size and count[-1] >= stop_after:
        draws = int(np.searchsorted(count, stop_after)) + 1
        return stop_after / draws, draws
    return (1 + int(count[-1] if count.size else 0)) / (1 + reached.size), reached.size


def paper_pvalue(reached: NDArray[np.bool_]) -> float:
    """The paper's ``count / B``: can be zero, and exceeds the level (0.055 at B = 200, 0.10 at B = 20, nominal 0.05).

    >>> paper_pvalue(np.array([False, False]))
    0.0
    """
    return float(reached.mean())


def tail_pvalue(log_tail: float) -> float:
    """A p-value from the logarithm of a tail probability: at most 1, never 0.

    >>> tail_pvalue(-800.0) > 0, tail_pvalue(1e-17)
    (True, 1.0)
    """
    return min(1.0, max(SMALLEST, math.exp(min(0.0, log_tail))))
