"""Many statistics, one exact p-value: rows of values over relabellings are made comparable, then the loudest speaks.

Each function takes rows over the same B + 1 relabellings and treats all columns alike, so the result is again a
statistic computed identically for every relabelling, and its rank gives an exact p-value at any number of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, log_ndtr

Matrix = NDArray[np.float64]
Values = NDArray[np.float64]

_TIE = 1e-9


def standard_scores(rows: Matrix) -> Matrix:
    """Each row minus its mean, over its standard deviation; a constant row is zero."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.where(spread > 1e-12 * largest, centred / np.where(spread > 0, spread, 1.0), 0.0)


def tail_scores(rows: Matrix) -> Matrix:
    """``-log`` of the tail of the Pearson III distribution that has each row's mean, deviation and skewness.

    Quadratic statistics are nearly weighted sums of chi-squares: right-skewed, which z-scores ignore. Where the
    skewness is not positive the fitted tail would end, and the normal tail is taken.
    """
    z = standard_scores(rows)
    skewness = (z**3).mean(axis=1, keepdims=True)
    shape = 4 / np.maximum(skewness, 0.02) ** 2
    # z = (G - shape) / sqrt(shape) for a gamma variable G
    gamma = np.maximum(shape + z * np.sqrt(shape), 0.0)
    with np.errstate(divide="ignore"):
        pearson = -np.log(gammaincc(shape, gamma))
    # Where the tail underflows, z still orders the columns.
    pearson = np.where(np.isfinite(pearson), pearson, 700 + z)
    return np.where(skewness > 0.02, pearson, -log_ndtr(-z))


def rank_pvalues(scores: Values) -> Values:
    """For each column, the share of all columns whose score is at least as large (ties up to rounding).

    >>> rank_pvalues(np.array([3.0, 1.0, 2.0, 2.0])).tolist()
    [0.25, 1.0, 0.75, 0.75]
    """
    tolerance = _TIE * float(np.abs(scores).max(initial=0.0))
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, scores - tolerance, side="left")
    return np.asarray((len(scores) - below) / len(scores))


def joined(families: Matrix) -> Values:
    """Sum of inverse rank p-values over the families for each column: (families, columns) -> (columns,), large is loud.

    One family that is very loud decides nearly alone, as with the smallest p-value, but others that agree still help.
    Of the smallest p-value, Fisher's and this (the harmonic mean), this lost least to the best combination of any
    problem: ``benchmarks/power/study.py``, which chose it, and the problems kept aside from that choice.
    """
    return np.asarray(np.sum([1 / rank_pvalues(family) for family in families], axis=0))


def pvalue_of_first(scores: Values) -> float:
    """Share of the columns that are at least as loud as the first: exact, because columns are exchangeable."""
    return float(rank_pvalues(scores)[0])
