"""Regions of the rows where the samples have different shares: found on one half of the rows, counted on the other.

A random half of each sample learns a witness, and a shallow regression tree cuts the table where the witness changes
most: each leaf is a region, a few conditions on columns. The other half is counted. It had no part in choosing the
regions, so for independent rows the numbers of rows of both samples in a region are two binomials:

- *p-value*: Fisher's exact test of equal shares, with Holm's correction for all regions; exact given the first half.
- *confidence interval* of the difference of the shares: the two one-sided bounds of Buehler that
  :mod:`tellapart.inference.certificate` inverts, each with half of the error, so it covers the difference with at least
  the confidence asked for at any number of rows. It is of one region by itself.

The regions together are all rows, and they do not overlap. Other halves would find other regions: what is certain of
those that are reported is their counts, not that no other region differs more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart.inference.certificate import Counted, curve_of
from tellapart.inference.pvalue import fisher_pvalue, holm_pvalues
from tellapart.inference.stage_one import Learns, values_of
from tellapart.samples import Samples

Matrix = NDArray[np.float64]
Values = NDArray[np.float64]
Ids = NDArray[np.intp]

LEAST_ROWS = 20  # of each sample: fewer cannot both learn and be counted
_MOST_LEARNING = 5000  # rows of each sample that learn; all others are counted
_DEPTH = 3
_LEAST_LEAF = 10  # rows, and not less than this share:
_LEAST_SHARE = 0.05
_NOTHING = 1e-12  # of the variance: less is rounding


@dataclass(frozen=True)
class Bounds:
    """Between which two values an encoded column lies: low < value <= high."""

    column: int
    low: float
    high: float

    def __and__(self, other: Bounds) -> Bounds:
        return Bounds(self.column, max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True)
class Region:
    """A rule, and what was counted of it on rows that had no part in finding it."""

    rule: tuple[Bounds, ...]
    count_x: int
    count_y: int
    n: int
    m: int
    pvalue: float  # allowing for all regions
    low: float  # of the share in y minus the share in x
    high: float


def regions_of(samples: Samples, learner: Learns, level: float, rng: np.random.Generator) -> list[Region]:
    """The regions, the most telling first; none where a tree finds nothing to cut."""
    dealt = [rng.permutation(size) for size in (samples.n, samples.m)]
    cuts = [min(size // 2, _MOST_LEARNING) for size in (samples.n, samples.m)]
    learning = samples.take(*(rows[:cut] for rows, cut in zip(dealt, cuts, strict=True)))
    judging = samples.take(*(rows[cut:] for rows, cut in zip(dealt, cuts, strict=True)))
    witness = learner.learn(learning, rng)
    rows = np.asarray(learning.pooled, dtype=np.float64)
    rules = leaves_of(rows, values_of(witness, learning.pooled))
    return counted(rules, judging, level) if len(rules) > 1 else []


def leaves_of(rows: Matrix, values: Values, depth: int = _DEPTH) -> list[tuple[Bounds, ...]]:
    """Rules of the leaves of a shallow tree that predicts the values, with thresholds that are short numbers.

    >>> rows = np.array([[1.0, 5.0], [2.0, 5.0], [30.0, 5.0], [40.0, 5.0]] * 10)
    >>> [[(b.column, b.low, b.high) for b in rule] for rule in leaves_of(rows, (rows[:, 0] > 9) * 1.0)]
    [[(0, -inf, 20.0)], [(0, 20.0, inf)]]
    """
    least = max(_LEAST_LEAF, math.ceil(_LEAST_SHARE * len(rows)))
    found = []
    waiting: list[tuple[Ids, tuple[Bounds, ...], int]] = [(np.arange(len(rows)), (), depth)]
    while waiting:
        mine, rule, left = waiting.pop(0)
        cut = best_cut(rows[mine], values[mine], least) if left else None
        if cut is None:
            found.append(simplified(rule))
            continue
        column, threshold = cut
        at = short_between(np.unique(rows[:, column]), threshold)
        below = rows[mine, column] <= at
        waiting.append((mine[below], (*rule, Bounds(column, -math.inf, at)), left - 1))
        waiting.append((mine[~below], (*rule, Bounds(column, at, math.inf)), left - 1))
    return found


def best_cut(rows: Matrix, values: Values, least: int) -> tuple[int, float] | None:
    """Column and threshold that leave the least variance of the values on both sides; None where nothing is gained.

    With S the sum of the n centred values on a side, the variance falls by ``S^2 / n`` of the one and the other side.
    (scikit-learn's tree does the same, and takes longer to import than most comparisons take.)

    >>> best_cut(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [9.0, 5.0]]), np.array([0.0, 0.0, 1.0, 1.0]), 1)
    (0, 2.5)
    """
    n = len(rows)
    if n < 2 * least:
        return None
    order = np.argsort(rows, axis=0, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=0)
    centred = values - values.mean()
    sums = np.cumsum(centred[order], axis=0)[:-1]  # of all values up to each row: (n - 1, columns)
    below = np.arange(1, n)[:, None]
    gain = sums * sums * (1 / below + 1 / (n - below))
    gain[(ordered[1:] == ordered[:-1]) | (below < least) | (n - below < least)] = 0.0
    place, column = np.unravel_index(int(np.argmax(gain)), gain.shape)
    if gain[place, column] <= _NOTHING * float(centred @ centred):
        return None
    return int(column), float(ordered[place, column] / 2 + ordered[place + 1, column] / 2)


def short_between(ordered: Values, threshold: float) -> float:
    """The number with the fewest digits that separates the same values as a threshold does.

    >>> short_between(np.array([40.2, 42.9, 50.0]), 41.5512)
    42.0
    """
    place = int(np.searchsorted(ordered, threshold, "right"))
    if not 0 < place < len(ordered):
        return threshold
    below, above = float(ordered[place - 1]), float(ordered[place])
    for digits in range(1, 17):
        rounded = float(f"{threshold:.{digits}g}")
        if below <= rounded < above:
            return rounded
    return threshold


def simplified(rule: tuple[Bounds, ...]) -> tuple[Bounds, ...]:
    """One pair of bounds for each column, in the order in which the columns were first cut.

    >>> simplified((Bounds(0, 1.0, math.inf), Bounds(2, 0.0, math.inf), Bounds(0, 3.0, math.inf)))
    (Bounds(column=0, low=3.0, high=inf), Bounds(column=2, low=0.0, high=inf))
    """
    kept: dict[int, Bounds] = {}
    for bounds in rule:
        kept[bounds.column] = kept[bounds.column] & bounds if bounds.column in kept else bounds
    return tuple(kept.values())


def inside(rule: tuple[Bounds, ...], rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which rows a rule holds for."""
    held = np.ones(len(rows), dtype=bool)
    for b in rule:
        column = rows[:, b.column].astype(np.float64)
        held &= (column > b.low) & (column <= b.high)
    return held


def counted(rules: list[tuple[Bounds, ...]], judging: Samples, level: float) -> list[Region]:
    """Rows of both samples in every region, with p-values and confidence intervals."""
    n, m = judging.n, judging.m
    counts = [(int(inside(rule, judging.x).sum()), int(inside(rule, judging.y).sum())) for rule in rules]
    pvalues = holm_pvalues([fisher_pvalue(i, n, j, m) for i, j in counts])
    found = [
        Region(rule, i, j, n, m, float(p), *interval(i, n, j, m, 1 - level))
        for rule, (i, j), p in zip(rules, counts, pvalues, strict=True)
    ]
    return sorted(found, key=lambda r: (r.pvalue, -abs(r.count_y / m - r.count_x / n)))


def interval(inside_x: int, n: int, inside_y: int, m: int, confidence: float) -> tuple[float, float]:
    """Confidence interval for the share in y minus the share in x: two Buehler bounds.

    >>> low, high = interval(30, 100, 80, 100, 0.95)
    >>> round(low, 2), round(high, 2)
    (0.37, 0.62)
    """
    error = (1 - confidence) / 2
    low = _lower_bound(Counted(inside_y, m, inside_x, n), error)
    high = -_lower_bound(Counted(inside_x, n, inside_y, m), error)
    return max(-1.0, low), min(1.0, high)


def _lower_bound(counted: Counted, error: float) -> float:
    """The largest difference whose null hypothesis "at most this" is rejected, negative ones included."""
    curve = curve_of(counted)
    rejected = int(np.searchsorted(curve.pvalues, error, side="right"))
    return float(curve.grid[rejected - 1]) if rejected else -1.0
