"""The exact tail of a sum of rows drawn without replacement, where it can be enumerated.

All subsets of n of N rows are too many to list beyond N = 25 or so, but they need not be listed. Rows with
equal values are counted together, the distinct values are cut into two halves, and for each half the pairs (how
many rows are drawn, what they sum to) are listed with their multiplicity. Every subset is one such pair from each
half with n rows together, and a sorted list answers how many of the second half reach what the first leaves
open. 30 different values need 2 x 32,768 pairs instead of 155 million subsets; two different values are the
hypergeometric distribution at any N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

Values = NDArray[np.float64]

_MOST_STATES = 2**15
_MOST_DISTINCT = 1000
_GRID = 1e-10  # values that agree to this are the same value: `h` has largest size 1


@dataclass(frozen=True, eq=False)
class _States:
    """Ways to draw from some of the values: how many rows, their sum, log of the number of such subsets."""

    drawn: NDArray[np.int64]
    total: Values
    log_ways: Values


def log_exact_tail(h: Values, n: int, threshold: float, most_states: int = _MOST_STATES) -> float | None:
    """Log of P(sum of n rows of `h` drawn without replacement >= threshold), or None where that takes too long.

    Examples
    --------
    One of the six pairs from 1, 2, 3, 4 sums to 7:

    >>> round(float(np.exp(log_exact_tail(np.array([0.25, 0.5, 0.75, 1.0]), 2, 1.75))), 6)
    0.166667
    """
    if few_distinct(h) is None:
        return None
    values, counts = _distinct(h)
    reach = threshold - _GRID * len(h)
    if len(values) == 2:
        log_ways = _log_two_values(values, counts, n, reach)
    else:
        in_first = _halves(counts)
        halves = [(values[part], counts[part]) for part in (in_first, ~in_first)]
        if not all(_few_states(*half, n, lattice_step(h), most_states) for half in halves):
            return None
        first, second = (_listed(*half, n) for half in halves)
        log_ways = _log_pairs(first, second, n, reach)
    return min(0.0, log_ways - float(log_binomial(len(h), n)))


def _log_two_values(values: Values, counts: NDArray[np.int64], n: int, reach: float) -> float:
    """Log of the number of subsets that reach: j rows with the larger value, n - j with the smaller."""
    j = np.arange(max(0, n - counts[0]), min(n, counts[1]) + 1)
    ways = log_binomial(int(counts[1]), j) + log_binomial(int(counts[0]), n - j)
    return float(logsumexp(np.where(j * values[1] + (n - j) * values[0] >= reach, ways, -np.inf)))


def _log_pairs(first: _States, second: _States, n: int, reach: float) -> float:
    """Log of the number of pairs, n rows together, whose sums reach together."""
    order = np.lexsort((-second.total, second.drawn))
    drawn, falling, ways = second.drawn[order], -second.total[order], second.log_ways[order]
    terms = [np.array([-np.inf])]
    for k in np.unique(first.drawn):
        low, high = np.searchsorted(drawn, [n - k, n - k + 1])
        if low == high:
            continue
        mine = first.drawn == k
        reached = np.searchsorted(falling[low:high], first.total[mine] - reach, side="right")
        cumulated = np.concatenate([[-np.inf], np.logaddexp.accumulate(ways[low:high])])
        terms.append(first.log_ways[mine] + cumulated[reached])
    return float(logsumexp(np.concatenate(terms)))


def log_binomial(n: int, k: ArrayLike) -> Values:
    """Log of n over k."""
    k = np.asarray(k)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def few_distinct(h: Values) -> Values | None:
    """The different values up to rounding, or None where there are more than a thousand."""
    for some in (h[: 4 * _MOST_DISTINCT], h):  # a look at the first rows spares a sort of all of them
        values = np.unique(np.round(some, 10))
        if len(values) > _MOST_DISTINCT:
            return None
    return values


def lattice_step(h: Values) -> float:
    """The step of the lattice on which few different values lie, 0 if they lie on none.

    A sum on a lattice jumps, and the continuous approximation meets its tail half a step below the value.
    """
    values = few_distinct(h)
    if values is None:
        return 0.0
    step = 0.0
    for gap in np.diff(values):
        x, y = float(gap), step
        while y > 1e-8:  # Euclid's algorithm, up to rounding
            x, y = y, math.fmod(x, y)
            if step and y > x - 1e-8:
                y = 0.0
        step = x
        if step < 1e-6:
            return 0.0
    return step


def _distinct(h: Values) -> tuple[Values, NDArray[np.int64]]:
    """Different values, and how often each occurs."""
    values, counts = np.unique(np.round(h / _GRID).astype(np.int64), return_counts=True)
    return np.asarray(values * _GRID, dtype=np.float64), counts.astype(np.int64)


def _halves(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which values go to the first half, so that both halves have about equally many states."""
    size = np.log(counts + 1.0)
    in_first = np.zeros(len(counts), dtype=bool)
    balance = 0.0
    for i in np.argsort(-size, kind="stable"):
        in_first[i] = balance <= 0
        balance += size[i] if in_first[i] else -size[i]
    return in_first


def _few_states(values: Values, counts: NDArray[np.int64], n: int, step: float, most: int) -> bool:
    """Whether a half has at most so many states, told before they are listed."""
    width = float(values.max() - values.min()) if len(values) else 0.0
    if step and (n + 1) * (n * width / step + 1) <= most:
        return True  # on a lattice sums repeat, however many subsets there are
    subsets = np.ones(1)  # how many subsets have 0, 1, 2, ... rows
    for count in counts:
        subsets = np.convolve(subsets, np.ones(min(int(count), n) + 1))[: n + 1]
        if subsets.sum() > most:
            return False
    return True


def _listed(values: Values, counts: NDArray[np.int64], n: int) -> _States:
    states = _States(np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1))
    for value, count in zip(values, counts, strict=True):
        j = np.arange(min(int(count), n) + 1)
        drawn = np.add.outer(states.drawn, j).ravel()
        total = np.add.outer(states.total, j * value).ravel()
        ways = np.add.outer(states.log_ways, log_binomial(int(count), j)).ravel()
        keep = drawn <= n
        states = _merged(_States(drawn[keep], total[keep], ways[keep]))
    return states


def _merged(states: _States) -> _States:
    """States with the same count and sum become one: on a lattice this keeps the list short."""
    key = np.round(states.total / _GRID).astype(np.int64)
    order = np.lexsort((key, states.drawn))
    drawn, key = states.drawn[order], key[order]
    new = np.concatenate([[True], (np.diff(drawn) != 0) | (np.diff(key) > 1)])
    if new.all():
        return states
    first = np.flatnonzero(new)
    ways = np.logaddexp.reduceat(states.log_ways[order], first)
    return _States(drawn[first], states.total[order][first], ways)
