"""Many statistics, one exact p-value: rows of values over relabellings are made comparable, then joined.

Each function takes rows over the same B + 1 relabellings and treats all columns alike, so the result is again a
statistic computed identically for every relabelling, and its rank gives an exact p-value at any number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

Matrix = NDArray[np.float64]
Values = NDArray[np.float64]

_TIE = 1e-9
_POWER = 0.75
_LEAST_SKEWNESS = 0.02


def standard_scores(rows: Matrix) -> Matrix:
    """Each row minus its mean, over its standard deviation; a constant row is zero."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.where(spread > 1e-12 * largest, centred / np.where(spread > 0, spread, 1.0), 0.0)


def skewed_scores(rows: Matrix) -> Matrix:
    """Normal scores by the Pearson III distribution that has each row's mean, deviation and skewness.

    Quadratic statistics are nearly weighted sums of chi-squares: right-skewed, which standard scores ignore. The third
    root of a gamma variable is nearly normal (Wilson and Hilferty 1931), which is accurate in the tail and cheap. Where
    the skewness is not positive the fitted distribution would end, and the standard score is taken.

    >>> gamma = np.random.default_rng(0).gamma(1.5, size=(1, 20000))
    >>> bool(abs(np.quantile(skewed_scores(gamma), 0.999) - 3.09) < 0.2)
    True
    """
    z = standard_scores(rows)
    skewness = np.einsum("ij,ij,ij->i", z, z, z)[:, None] / z.shape[1]
    shape = 4 / np.maximum(skewness, _LEAST_SKEWNESS) ** 2
    # z = (G - shape) / sqrt(shape) for a gamma variable G of that shape
    gamma = np.maximum(1 + z / np.sqrt(shape), 0.0)
    return np.where(skewness > _LEAST_SKEWNESS, 3 * np.sqrt(shape) * (np.cbrt(gamma) - 1 + 1 / (9 * shape)), z)


def rank_pvalues(scores: Values) -> Values:
    """For each column, the share of all columns whose score is at least as large (ties up to rounding).

    >>> rank_pvalues(np.array([3.0, 1.0, 2.0, 2.0])).tolist()
    [0.25, 1.0, 0.75, 0.75]
    """
    tolerance = _TIE * float(np.abs(scores).max(initial=0.0))
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, scores - tolerance, side="left")
    return np.asarray((len(scores) - below) / len(scores))


def joined(families: Matrix, weights: Sequence[float], power: float = _POWER) -> Values:
    """Weighted sum of ``p ** -power`` over the families for each column, large is loud: (columns,).

    p is the tail probability of a family's score under the Pearson III distribution of its B + 1 scores. The power lies
    between the smallest p-value (infinity: one loud family decides) and Fisher's product (0: all count alike); with 1
    it is the harmonic mean. How it and the weights were chosen: ``docs/without_a_split.md``.
    """
    log_tails = -log_ndtr(-skewed_scores(families))
    return np.asarray(logsumexp(power * log_tails, axis=0, b=np.asarray(weights, dtype=np.float64)[:, None]))


def pvalue_of_first(scores: Values) -> float:
    """Share of the columns that are at least as loud as the first: exact, because columns are exchangeable."""
    return float(rank_pvalues(scores)[0])
