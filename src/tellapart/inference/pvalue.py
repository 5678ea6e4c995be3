"""The only place where p-values are born. The doctests are its law."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc, gammainccinv

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


def sequential_pvalue(pvalues: ArrayLike, shapes: ArrayLike, total: float) -> float:
    """One p-value from several that came one after the other, each valid given those before it.

    ``P(Gamma(total) >= sum_k q_k)`` with ``q_k`` the upper ``p_k`` quantile of ``Gamma(shape_k)`` (Lancaster 1961).
    Shapes of 1 are Fisher's combination, and as they grow it becomes Stouffer's with weights ``sqrt(shape_k)``; but a
    p-value of 1, which few rows or ties bring about, adds nothing instead of minus infinity.

    Level: if ``P(p_k <= a | past) <= a`` for every a, there are independent uniform ``U_k <= p_k`` (randomise p_k
    within its jumps). The gamma variables of the U_k are no smaller than those of the p_k, and they add up to
    ``Gamma(total)``: also if shape_k was fixed only when the past was known, as long as the shapes sum up to at most
    `total`, because ``E exp(-s q_k) = (1 + s)^-shape_k`` given the past, and these factors multiply from the last block
    to the first.

    References
    ----------
    Lancaster (1961). The combination of probabilities: an application of orthonormal functions. Aust. J. Stat. 3.

    Examples
    --------
    >>> round(sequential_pvalue([0.05, 0.05], [1.0, 1.0], 2.0), 6)      # Fisher's
    0.017479
    >>> sequential_pvalue([0.01, 1.0], [8.0, 8.0], 16.0) < 1, sequential_pvalue([1.0, 1.0], [8.0, 8.0], 16.0)
    (True, 1.0)
    """
    p, shape = np.asarray(pvalues, dtype=np.float64), np.asarray(shapes, dtype=np.float64)
    if p.shape != shape.shape or p.ndim != 1 or not ((p > 0) & (p <= 1)).all():
        raise ValueError(f"`pvalues` must lie in (0, 1] and have a shape parameter each, got {pvalues!r}.")
    if not (shape >= 0).all() or shape.sum() > total * (1 + 1e-9):
        raise ValueError(f"`shapes` must not be negative and sum up to at most {total}, got {shapes!r}.")
    used = shape > 0
    if used.sum() == 1 and shape.sum() >= total * (1 - 1e-9):
        return float(p[used][0])
    return min(1.0, max(SMALLEST, float(gammaincc(total, gammainccinv(shape[used], p[used]).sum()))))
