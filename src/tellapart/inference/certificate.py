"""How far apart the distributions are at least: a certified lower bound on their total variation distance.

``TV(P, Q) = sup_A P(A) - Q(A)``, so for every set A that is fixed before the judging rows are looked at, the difference
of the two probabilities of A is at most TV. A is "the witness exceeds a threshold", both chosen on learning rows. If
the witness orders rows as the density ratio does, the best threshold attains TV.

**One block.** Of n and m independent judging rows, x and y lie in A: two binomials with probabilities p and q, and a
lower bound on ``p - q`` is a lower bound on TV. It is Buehler's: order the outcomes (i, j) by a score T, large where
``p - q`` looks large, and let

    p(delta) = gamma + sup { P_{p,q}(T(i, j) >= T(x, y)) : p - q <= delta, (p, q) in the box }.

The box is a confidence region for (p, q) with error gamma = 1e-6 (Berger and Boos), which keeps unlikely nuisance
parameters with a larger variance out. If ``p - q <= delta``, then ``P(p(delta) <= a) <= a``: a p-value of the null "the
distributions differ by at most delta". It grows with delta, so ``bound = max {delta : p(delta) <= error}`` has
``P(bound > TV) <= error``, and ``p(delta) <= error`` if and only if ``bound >= delta`` (for delta > 0).

T is the usual approximate bound itself: the difference minus z = 1.645 standard errors, from (x + 1) / (n + 2). Any
fixed T is valid, and one that nearly is the answer is nearly optimal. For z < 2 it rises with i and falls with j (a
step of i moves the difference by 1 / n and the standard error by less than 1 / (2 n)), so the probability rises in p
and falls in q. That turns the supremum over a cell of a grid into the value at its corner: no optimisation, no point
missed. On a grid of common step all pairs (p, q) are one matrix product, and all delta are its diagonals.

The distance from the observed difference to the bound at 5 %, in units of 1.645 standard errors (what a normal
approximation claims): 1.05 to 1.1 at n = m = 50 (1.3 where nearly all rows lie on the right side), 1.01 to 1.1 at 500,
1.00 to 1.05 at 5,000, 1.02 to 1.03 at a million, and 1.02 to 1.09 for 5,000 against 500. Two Clopper-Pearson bounds
with the error divided between them as well as possible come to 1.7 (1.45 at 10:1), because both seldom err together.
Betting on the difference cannot do better than ``sqrt(2 log 20) / 1.645 = 1.49``. And clipped witness values in place
of the set lost to it by 5 to 18 %, even if their bound is granted the normal approximation.

**Several blocks.** Block k has its own witness, threshold and set, chosen from the blocks before it. Given these,
``p_k(delta)`` is a p-value of ``TV <= delta``, as any set will do, so the blocks combine as in
:func:`tellapart.inference.pvalue.sequential_pvalue`, with the weights of :mod:`tellapart.inference.prequential`; the
result again grows with delta. Four blocks, of which the first only learns, gave bounds 2 to 9 % larger than one split
into halves on blobs, shifts and unequal samples (and lost where one row in twelve was contaminated and either bound was
next to nothing); more blocks gave less, because the first witnesses are too poor.

All of this needs independent rows: with groups or an order in time the counts are not binomial, and the bound is void.

References
----------
Berger, Boos (1994). P values maximized over a confidence set for the nuisance parameter.
doi:10.1080/01621459.1994.10476836.
Buehler (1957). Confidence intervals for the product of two binomial parameters. doi:10.1080/01621459.1957.10501404.
Zubkov, Serov (2012). A complete proof of universal inequalities for the distribution function of the binomial law.
doi:10.1137/S0040585X97986138.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaln, ndtr, xlogy

from tellapart import _checks as checks
from tellapart.inference.prequential import Block, Prequential
from tellapart.inference.pvalue import sequential_pvalue
from tellapart.inference.stage_one import Learns
from tellapart.samples import Samples

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Marks = NDArray[np.bool_]

_NUISANCE = 1e-6  # gamma: the price of the box, and the smallest p-value of one block
_ORDER = 1.645  # T is the approximate bound at the usual level
_STEPS = 60  # of the grid in one standard error
_EDGES = 512  # outcomes of the smaller sample that are told apart
_EXACT = 2000  # rows up to which binomial probabilities are summed; beyond, they are bounded
_SHAPE = 16.0  # as in prequential
_BLOCKS = 4


def certify(samples: Samples, learner: Learns, rng: np.random.Generator) -> Certificate:
    """The certificate of `samples`, whose rows are independent, by sets that `learner` finds in blocks of them."""
    return Certificate.of_blocks(tuple(Prequential(_BLOCKS).learned(samples, learner, rng)))


def threshold_of(learned_x: Values, learned_y: Values) -> float:
    """Midway between the two means of the witness on the rows that it was learned from.

    On blobs, shifts, a tiny shift at n = 100,000, contamination and 10:1 samples this was best or nearly so among:
    the threshold with the largest difference on the learning rows, with and without its standard error taken off, and
    the middle of all thresholds that are nearly as good. Those follow the noise of rows the witness knows by heart.

    >>> threshold_of(np.array([1.0, 3.0]), np.array([0.0]))
    1.0
    """
    return float(np.mean(learned_x) + np.mean(learned_y)) / 2


@dataclass(frozen=True, eq=False)
class Counted:
    """How many of n and of m independent judging rows lie in a set that was fixed before."""

    inside_x: int
    n: int
    inside_y: int
    m: int

    @classmethod
    def of(cls, marks_x: Marks, marks_y: Marks) -> Counted:
        """The set as one truth value for each judging row."""
        for name, marks in (("marks_x", marks_x), ("marks_y", marks_y)):
            if np.ndim(marks) != 1 or not len(marks) or np.asarray(marks).dtype != bool:
                raise ValueError(f"`{name}` must be a vector of at least one boolean, got {np.asarray(marks).dtype}.")
        return cls(int(np.sum(marks_x)), len(marks_x), int(np.sum(marks_y)), len(marks_y))

    @property
    def swapped(self) -> Counted:
        """The same seen from the other side: complement and other sample, for the same difference p - q."""
        return Counted(self.m - self.inside_y, self.m, self.n - self.inside_x, self.n)


@dataclass(frozen=True, eq=False)
class Curve:
    """The p-value of "the difference is at most delta" for delta on a grid: a step function, rounded up."""

    step: float
    first: int  # the least multiple of the step on the grid
    pvalues: Values  # rising

    def at(self, delta: float) -> float:
        """The p-value at delta."""
        place = math.ceil(delta / self.step - 1e-9) - self.first
        return _NUISANCE if place < 0 else float(self.pvalues[min(place, len(self.pvalues) - 1)])

    @property
    def grid(self) -> Values:
        """Where the p-value steps."""
        return np.asarray((self.first + np.arange(len(self.pvalues))) * self.step, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What the judging rows certify about total variation.

    Examples
    --------
    80 of 100 rows of the first sample are in the set and 30 of 100 of the second:

    >>> certificate = Certificate.of([Counted(80, 100, 30, 100)])
    >>> round(certificate.bound(0.95), 2), certificate.exceeds(0.3) < 0.05, certificate.exceeds(0.45) < 0.05
    (0.39, True, False)
    """

    curves: tuple[Curve, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, counted: Sequence[Counted], weights: Sequence[float] | None = None) -> Certificate:
        """From what was counted in each block, in the order of the blocks; by default its rows are its weight."""
        if not counted:
            raise ValueError("`counted` must hold at least one block of judging rows.")
        if weights is None:
            weights = [c.n * c.m / (c.n + c.m) for c in counted]
        if len(weights) != len(counted) or not all(w > 0 for w in weights):
            raise ValueError(f"`weights` must be a positive number for each of {len(counted)} blocks, got {weights!r}.")
        return cls(tuple(curve_of(c) for c in counted), tuple(float(w) for w in weights))

    @classmethod
    def of_blocks(cls, blocks: Sequence[Block]) -> Certificate:
        """From the witness values of :meth:`tellapart.inference.prequential.Prequential.learned`."""
        counted = []
        for b in blocks:
            threshold = threshold_of(b.learned_x, b.learned_y)
            counted.append(Counted.of(b.h_x > threshold, b.h_y > threshold))
        return cls.of(counted, [b.weight for b in blocks])

    def exceeds(self, delta: float) -> float:
        """The p-value of the null hypothesis that total variation is at most `delta`."""
        if not (checks.is_number(delta) and 0 <= delta < 1):
            raise ValueError(f"`delta` must be at least 0 and less than 1, got {delta!r}.")
        return self._pvalue(float(delta))

    def bound(self, confidence_level: float = 0.95) -> float:
        """The largest total variation that is exceeded with this confidence; 0 if there is none."""
        error = 1 - checks.share("confidence_level", confidence_level, usual=0.95)
        grid = np.unique(np.concatenate([c.grid for c in self.curves]))
        grid = grid[(grid > 0) & (grid < 1)]
        low, high = 0, len(grid)  # the p-values of grid[:low] are small enough, those of grid[high:] are not
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._pvalue(float(grid[middle])) <= error else (low, middle)
        return float(grid[low - 1]) if low else 0.0

    def _pvalue(self, delta: float) -> float:
        total = _SHAPE * len(self.curves)
        shapes = total * np.array(self.weights) / sum(self.weights)
        return sequential_pvalue([c.at(delta) for c in self.curves], shapes, total)


def curve_of(counted: Counted) -> Curve:
    """``p(delta)`` of the formula above, for all delta at once."""
    c = counted if counted.n <= counted.m else counted.swapped
    step = float(_standard_error(c.inside_x, c.n, c.inside_y, c.m)) / _STEPS
    (p_low, p_high), (q_low, q_high) = _box(c.inside_x, c.n), _box(c.inside_y, c.m)
    p = np.arange(math.floor(p_low / step), math.ceil(p_high / step) + 1)
    q = np.arange(math.floor(q_low / step), math.ceil(q_high / step) + 1)
    i = _edges(c.n, p_low, p_high)
    j = _boundary(i, c)
    # P(T >= T(x, y)) <= sum over bins of i: P(bin) P(j <= boundary at the upper end of the bin)
    bins = np.diff(_distribution(i, c.n, np.clip(p * step, 0, p_high), below=True), axis=1, prepend=0.0)
    tails = bins @ _distribution(j, c.m, np.clip(q * step, 0, 1), below=False).T  # (p, q)
    # q in [b, b + 1] steps and p <= q + k: the probability is at most that at p = b + 1 + k and q = b.
    shift = p[:, None] - q - 1
    first = int(shift.min())
    worst = np.zeros(int(shift.max()) - first + 1)
    np.maximum.at(worst, shift - first, tails)
    return Curve(step, first, np.minimum(1.0, np.maximum.accumulate(worst) + _NUISANCE))


def _standard_error(i: NDArray[np.generic] | int, n: int, j: NDArray[np.generic] | int, m: int) -> NDArray[np.float64]:
    p, q = (np.asarray(i) + 1) / (n + 2), (np.asarray(j) + 1) / (m + 2)
    return np.asarray(np.sqrt(p * (1 - p) / n + q * (1 - q) / m))


def _box(inside: int, n: int) -> tuple[float, float]:
    """Clopper-Pearson interval: its two ends and those of the other sample have an error of gamma together."""
    low = float(betaincinv(inside, n - inside + 1, _NUISANCE / 4)) if inside > 0 else 0.0
    high = float(betaincinv(inside + 1, n - inside, 1 - _NUISANCE / 4)) if inside < n else 1.0
    return low, high


def _edges(n: int, p_low: float, p_high: float) -> Counts:
    """Upper ends of the bins of 0..n: all outcomes, or evenly many of those that occur if p is in the box."""
    if n < _EDGES:
        return np.arange(n + 1)
    low, high = (n * p + sign * (6 * math.sqrt(n * p * (1 - p)) + 6) for p, sign in ((p_low, -1), (p_high, 1)))
    inner = np.linspace(max(0.0, low), min(float(n), high), _EDGES).astype(np.int64)
    return np.unique(np.append(inner, n))


def _boundary(i: Counts, c: Counted) -> Counts:
    """The largest j with ``T(i, j) >= T(x, y)``; -1 if there is none."""

    def score(i: Counts | int, j: Counts | int) -> Values:
        return np.asarray(np.asarray(i) / c.n - np.asarray(j) / c.m - _ORDER * _standard_error(i, c.n, j, c.m))

    reached = score(c.inside_x, c.inside_y) - 1e-12
    low, high = np.full(len(i), -1), np.full(len(i), c.m)
    while (low < high).any():
        middle = (low + high + 1) // 2
        enough = score(i, middle) >= reached
        low, high = np.where(enough, middle, low), np.where(enough, high, middle - 1)
    return np.asarray(np.maximum.accumulate(low))  # rising anyway, but for rounding


def _distribution(k: Counts, n: int, p: Values, below: bool) -> Values:
    """P(Bin(n, p) <= k) for every p and k: (p, k); for many rows a bound from below or from above."""
    if n <= _EXACT:
        cumulated = np.cumsum(_probabilities(n, p), axis=1)
        values = np.where(k < 0, 0.0, cumulated[:, np.maximum(k, 0)])
    else:
        values = _zubkov_serov(k if below else k + 1, n, p[:, None])
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, np.minimum(values, 1.0)))


def _probabilities(n: int, p: Values) -> Values:
    i = np.arange(n + 1)
    log_ways = gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1)
    return np.asarray(np.exp(log_ways + xlogy(i, p[:, None]) + xlogy(n - i, 1 - p[:, None])))


def _zubkov_serov(k: Counts, n: int, p: Values) -> Values:
    """C(k) with ``C(k) <= P(Bin(n, p) <= k) <= C(k + 1)``: the normal distribution at the root of the deviance."""
    share = np.clip(k / n, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviance = 2 * n * (xlogy(share, share / p) + xlogy(1 - share, (1 - share) / (1 - p)))
        values = ndtr(np.sign(share - p) * np.sqrt(np.maximum(deviance, 0.0)))
        values = np.where(k <= 0, (1 - p) ** n, values)  # the ends are exact
        values = np.where(k >= n, 1 - p**n, values)
    return np.asarray(np.where(p <= 0, 1.0, np.where(p >= 1, 0.0, values)))
