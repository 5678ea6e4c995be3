"""The only place where p-values are born. The doctests are its law."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaincc, gammainccinv, logsumexp

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


def stepdown_pvalues(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """P-values of several hypotheses that allow for all of them: Westfall and Young's step-down maximum.

    `scores` has a row for each hypothesis over the same B + 1 labellings, the observed one first; large is loud. The
    loudest row is ranked among the largest score of all rows in every labelling, the next one among the largest of
    those that are left, and so on; none gets less than the one before it.

    Level: let the rows of the hypotheses that hold be computed from data whose distribution the relabellings leave
    unchanged *together*. If any of these gets ``p <= a``, the first of them was ranked among at least all of them, so
    their largest observed score has rank ``<= a`` among their own B + 1 largest scores, which are exchangeable: that
    has probability at most a. It does not matter what the other hypotheses do.

    References
    ----------
    Westfall, Young (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    The second is below the largest of the others in one of four labellings, but not once the first is set aside:

    >>> stepdown_pvalues(np.array([[9.0, 3.0, 5.0, 0.0], [4.0, 0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]])).tolist()
    [0.25, 0.25, 1.0]
    """
    order = np.argsort(-scores[:, 0], kind="stable")
    largest = np.maximum.accumulate(scores[order[::-1]], axis=0)[::-1]  # of each row and all that are less loud
    found = np.empty(len(scores))
    found[order] = [permutation_pvalue(float(scores[i, 0]), row[1:]) for i, row in zip(order, largest, strict=True)]
    found[order] = np.maximum.accumulate(found[order])
    return found


def fisher_pvalue(inside_x: int, n: int, inside_y: int, m: int) -> float:
    """Fisher's exact test of equal shares: two-sided, for counts of independent rows in a set that was fixed before.

    Given how many of all rows are inside, those of the first sample are hypergeometric if the shares are equal; the
    p-value adds up all outcomes that are at most as likely as the observed one.

    >>> round(fisher_pvalue(3, 4, 1, 4), 6), fisher_pvalue(0, 5, 0, 7)
    (0.485714, 1.0)
    """
    total = inside_x + inside_y
    outcome = np.arange(max(0, total - m), min(n, total) + 1)
    log_ways = _log_ways(n, outcome) + _log_ways(m, total - outcome) - _log_ways(n + m, np.array([total]))
    as_unlikely = log_ways <= log_ways[inside_x - outcome[0]] + 1e-7
    return tail_pvalue(float(logsumexp(log_ways[as_unlikely])))


def _log_ways(n: int, k: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.asarray(-math.log(n + 1) - betaln(n - k + 1, k + 1))


def holm_pvalues(pvalues: ArrayLike) -> NDArray[np.float64]:
    """P-values that allow for all hypotheses, whatever they have to do with each other (Holm 1979).

    >>> holm_pvalues([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    found = np.empty(len(p))
    found[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return found
