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
_POWER = 1.0
_LEAST_SKEWNESS = 0.02
_NO_SPREAD = 1e-12  # of the largest value of a row: less is rounding
_LEAST_SQUARES = 1e-9  # of the other values, where the largest is 1
_LOUDEST = 40.0


def standard_scores(rows: Matrix) -> Matrix:
    """Each value minus the mean of the *other* values of its row, over their deviation; a constant row is zero.

    Were a loud value part of its own yardstick, the deviation would grow with it, and no score of B + 1 values could
    exceed ``sqrt(B)``.

    >>> standard_scores(np.array([[1.0, 3.0, 12.0], [5.0, 5.0, 5.0]])).round(2).tolist()
    [[-1.44, -0.64, 10.0], [0.0, 0.0, 0.0]]
    """
    return _against_the_others(rows)[0]


def skewed_scores(rows: Matrix) -> Matrix:
    """Normal scores by the Pearson III distribution with mean, deviation and skewness of the other values of the row.

    Quadratic statistics are nearly weighted sums of chi-squares: right-skewed, which standard scores ignore. The third
    root of a gamma variable is nearly normal (Wilson and Hilferty 1931), which is accurate in the tail and cheap. Where
    the skewness is not positive the fitted distribution would end, and the standard score is taken.

    >>> gamma = np.random.default_rng(0).gamma(1.5, size=(1, 20000))
    >>> bool(abs(np.quantile(skewed_scores(gamma), 0.999) - 3.09) < 0.2)
    True
    """
    z, skewness = _against_the_others(rows)
    shape = 4 / np.maximum(skewness, _LEAST_SKEWNESS) ** 2
    # z = (G - shape) / sqrt(shape) for a gamma variable G of that shape
    gamma = np.maximum(1 + z / np.sqrt(shape), 0.0)
    return np.where(skewness > _LEAST_SKEWNESS, 3 * np.sqrt(shape) * (np.cbrt(gamma) - 1 + 1 / (9 * shape)), z)


def _against_the_others(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Standard score of each value among the other values of its row, and their skewness.

    With c the values around the mean of all n, and M2 and M3 the sums of their squares and cubes, the others have the
    mean ``a = -c / (n - 1)``, squares ``M2 - c^2 - (n - 1) a^2`` around it and cubes
    ``M3 - c^3 - 3 a (M2 - c^2) + 2 (n - 1) a^3``.
    """
    n = rows.shape[1]
    c = rows - rows.mean(axis=1, keepdims=True)
    size = np.abs(c).max(axis=1, keepdims=True)
    varies = size > _NO_SPREAD * np.abs(rows).max(axis=1, keepdims=True)
    c = np.where(varies, c / np.where(varies, size, 1.0), 0.0)
    square = c * c
    m2, m3 = square.sum(axis=1, keepdims=True), np.einsum("ij,ij->i", square, c)[:, None]
    a = c * (-1 / (n - 1))
    others = np.maximum(m2 - square * (n / (n - 1)), _LEAST_SQUARES) / (n - 1)
    cubes = m3 - square * c - 3 * a * (m2 - square) + 2 * (n - 1) * a * a * a
    z = np.clip((c - a) / np.sqrt(others), -_LOUDEST, _LOUDEST)
    return z, cubes / ((n - 1) * others * np.sqrt(others))


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

    p is the tail probability of a family's score under the Pearson III distribution of its B + 1 scores. With power 1
    it orders as the weighted harmonic mean of p-values, between the smallest of them (infinity: one loud family
    decides) and Fisher's product (0: all count alike). How it was chosen: ``docs/without_a_split.md``.
    """
    log_tails = -log_ndtr(-skewed_scores(families))
    return np.asarray(logsumexp(power * log_tails, axis=0, b=np.asarray(weights, dtype=np.float64)[:, None]))


def pvalue_of_first(scores: Values) -> float:
    """Share of the columns that are at least as loud as the first: exact, because columns are exchangeable."""
    return float(rank_pvalues(scores)[0])
