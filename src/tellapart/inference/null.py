"""What the statistic would be if the distributions were equal: three nulls, each one value with ``judge``.

A null judges the values of a witness on rows that did not help to learn it. Given the training rows, the witness
is then a fixed function, and under the null hypothesis its values on the pooled test rows are exchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, stdtr

from tellapart import _checks as checks
from tellapart.inference.enumeration import log_binomial, log_exact_tail
from tellapart.inference.pvalue import paper_pvalue, permutation_pvalue, reaches, stopped_pvalue, tail_pvalue
from tellapart.inference.relabel import relabelled_differences
from tellapart.inference.saddlepoint import approximates_well, log_saddlepoint_tail
from tellapart.moments import Standardised, WitnessMoments

Values = NDArray[np.float64]

DIFFERENCE = "difference in means of the witness"
TAU = "tau, the difference in means in standard errors"

# Early stopping, because nobody needs 9,999 draws to see that p is about a half.
_DRAWS_OTHERWISE, _STOP_AFTER = 9999, 100


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a null says: the statistic that it used and its p-value."""

    statistic: float
    pvalue: float
    statistic_name: str
    how: str  # the way to the p-value, in words
    null_distribution: Values | None = None


@runtime_checkable
class Null(Protocol):
    """Stage II: whatever judges witness values on fresh rows."""

    def judge(self, h_x: Values, h_y: Values, rng: np.random.Generator) -> Verdict: ...


@dataclass(frozen=True)
class Normal:
    """The large-sample null of the paper's Theorem 1: ``tau = sqrt(N) SNR`` is standard normal.

    Parameters
    ----------
    student : bool
        Refer Welch's statistic, tau with variances over n - 1, to Student's t with Welch's degrees of freedom (the
        default). It tends to the theorem's normal, and at few rows keeps the level far better: with 5 rows on each side
        the normal rejects nearly twice as often as it says. False is the theorem to the letter.

    Notes
    -----
    Guarantee: asymptotic. The witness needs a finite variance; with few rows and a skewed witness use an exact null.
    """

    student: bool = True

    def judge(self, h_x: Values, h_y: Values, rng: np.random.Generator) -> Verdict:
        """The p-value of tau."""
        w = WitnessMoments.of(h_x, h_y)
        how = "Student's t with Welch's degrees of freedom" if self.student else "standard normal"
        if w.sd_x == w.sd_y == 0:  # constant on each sample: no noise to compare with, so count relabellings
            separated = -float(log_binomial(w.n + w.m, w.n)) if w.difference > 0 else 0.0
            return Verdict(w.tau, tail_pvalue(separated), TAU, "share of relabellings, as the witness has no noise")
        log_tail = _log_welch_tail(w) if self.student else float(log_ndtr(-w.tau))
        return Verdict(w.tau, tail_pvalue(log_tail), TAU, how)


@dataclass(frozen=True)
class Permutation:
    """The exact null by relabelling the test rows at random.

    Parameters
    ----------
    n_permutations : int
        Random relabellings. The smallest p-value is 1 / (n_permutations + 1).
    stop_after : int, optional
        Besag and Clifford's early stopping: stop when so many relabellings reach the observed value (10 is usual).
    count : {"exact", "paper"}
        ``(1 + count) / (1 + B)``, or the paper's ``count / B``, which can be zero and exceeds the level.

    Notes
    -----
    Guarantee: exact at any number of rows. Given the training rows the witness is fixed, so under the null
    hypothesis its values on the pooled test rows are exchangeable, and the observed difference in means is one of
    ``B + 1`` equally likely to have any rank. Above 10,000 test rows the relabellings are rotations of randomly
    ordered rows instead of independent permutations: see :mod:`tellapart.inference.relabel`.
    """

    n_permutations: int = 999
    stop_after: int | None = None
    count: Literal["exact", "paper"] = "exact"

    def __post_init__(self) -> None:
        checks.whole("n_permutations", self.n_permutations)
        if self.stop_after is not None:
            checks.whole("stop_after", self.stop_after)
        checks.one_of("count", self.count, ("exact", "paper"))
        if self.count == "paper" and self.stop_after is not None:
            raise ValueError('`stop_after` has a p-value of its own and cannot go with count="paper".')

    def judge(self, h_x: Values, h_y: Values, rng: np.random.Generator) -> Verdict:
        """The p-value of the difference in means among relabellings."""
        z = Standardised.of(h_x, h_y)
        observed = float(z.x.mean() - z.y.mean())
        early = self.stop_after is not None
        batches = relabelled_differences(z.pooled, len(z.x), int(self.n_permutations), rng, early)
        pvalue, how, drawn = self.compared(observed, batches, "random relabellings of the test rows")
        return Verdict(observed * z.scale, pvalue, DIFFERENCE, how, drawn * z.scale)

    def compared(self, observed: float, batches: Iterable[Values], words: str) -> tuple[float, str, Values]:
        """The p-value of any statistic among `batches` of relabelled ones, how it came about, and what was drawn."""
        drawn = self._drawn(observed, batches)
        if self.count == "paper":
            pvalue, how = paper_pvalue(reaches(drawn, observed)), f"{len(drawn)} {words}, count / B"
        elif self.stop_after is not None:
            pvalue, used = stopped_pvalue(reaches(drawn, observed), self.stop_after)
            drawn, how = drawn[:used], f"{used} {words}, at most {self.n_permutations}"
        else:
            pvalue, how = permutation_pvalue(observed, drawn), f"{len(drawn)} {words}"
        return pvalue, how, drawn

    def _drawn(self, observed: float, batches: Iterable[Values]) -> Values:
        """All batches, or those up to the one in which early stopping may stop."""
        kept, reached = [], 0
        for batch in batches:
            kept.append(batch)
            reached += int(reaches(batch, observed).sum())
            if self.stop_after is not None and reached >= self.stop_after:
                break
        return np.concatenate(kept)


@dataclass(frozen=True)
class Saddlepoint:
    """The permutation null without permutations: no Monte-Carlo error and no floor.

    Where the relabellings can be enumerated (up to about 30 test rows, or few different witness values) the tail is
    exact; elsewhere it is a double saddlepoint approximation with a small *relative* error, so that a p-value of 1e-30
    means what it says. Where a few rows dominate the witness values no smooth approximation holds, and up to 9,999
    random relabellings are drawn instead; the pooled values decide that, without looking at labels. (They are also
    drawn where the saddlepoint is out of reach of rounding; the exact value is then far below any that they can give.)

    Notes
    -----
    Guarantee: that of all permutations, up to the relative error of the approximation; ``tests/claims`` checks the
    level with heavy tails, ties and few rows. References and formulas: :mod:`tellapart.inference.saddlepoint`.
    """

    def judge(self, h_x: Values, h_y: Values, rng: np.random.Generator) -> Verdict:
        """The p-value of the difference in means among all relabellings."""
        z = Standardised.of(h_x, h_y)
        observed = float(z.x.mean() - z.y.mean()) * z.scale
        if z.constant:
            return Verdict(observed, 1.0, DIFFERENCE, "all relabellings of a constant witness")
        # Draw the smaller sample: its sum is large when the larger sample's is small.
        h, drawn = (z.pooled, z.x) if len(z.x) <= len(z.y) else (-z.pooled, -z.y)
        log_tail = log_exact_tail(h, len(drawn), float(drawn.sum()))
        how = "all relabellings of the test rows"
        if log_tail is None and approximates_well(h, len(drawn)):
            log_tail = log_saddlepoint_tail(h, len(drawn), float(drawn.sum()))
            how = "saddlepoint approximation to all relabellings of the test rows"
        if log_tail is None:
            verdict = Permutation(_DRAWS_OTHERWISE, stop_after=_STOP_AFTER).judge(h_x, h_y, rng)
            return replace(verdict, how=f"{verdict.how}, because a few rows dominate the witness")
        return Verdict(observed, tail_pvalue(log_tail), DIFFERENCE, how)


def _log_welch_tail(w: WitnessMoments) -> float:
    """Log of P(T >= t) for Student's t with Welch's degrees of freedom."""
    if min(w.n, w.m) < 2:
        raise ValueError("`null`: Normal needs at least 2 test rows of each sample. Use Permutation or Saddlepoint.")
    error, freedom = w.welch()
    tail = float(stdtr(freedom, -w.difference / error))
    return math.log(tail) if tail > 0 else -math.inf
