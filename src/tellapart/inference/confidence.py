"""Confidence intervals for the difference in means of a witness."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tellapart import _checks as checks
from tellapart.moments import WitnessMoments

Values = NDArray[np.float64]
Method = Literal["welch", "bootstrap", "betting"]


class ConfidenceInterval(NamedTuple):
    """Lower and upper end."""

    low: float
    high: float


def welch_interval(w: WitnessMoments, confidence_level: float) -> ConfidenceInterval:
    """Difference in means +- Student's quantile with Welch's degrees of freedom: asymptotic."""
    if min(w.n, w.m) < 2:
        raise ValueError(f"`method='welch'` needs at least 2 test rows of each sample, got {w.n} and {w.m}.")
    if w.sd_x == w.sd_y == 0:
        return ConfidenceInterval(w.difference, w.difference)
    error, freedom = w.welch()
    half = float(stdtrit(freedom, (1 + confidence_level) / 2)) * error
    return ConfidenceInterval(w.difference - half, w.difference + half)


def bootstrap_interval(
    h_x: Values, h_y: Values, confidence_level: float, n_resamples: int, rng: np.random.Generator
) -> ConfidenceInterval:
    """Percentile bootstrap, each sample resampled by itself: asymptotic, follows a skewed witness."""
    n_resamples = checks.whole("n_resamples", n_resamples)
    means = _resampled_means(h_x, n_resamples, rng) - _resampled_means(h_y, n_resamples, rng)
    low, high = np.quantile(means, [(1 - confidence_level) / 2, (1 + confidence_level) / 2])
    return ConfidenceInterval(float(low), float(high))


def betting_interval(
    h_x: Values, h_y: Values, bounds: tuple[float, float], confidence_level: float
) -> ConfidenceInterval:
    """Interval for the difference in means of the witness *clipped to `bounds`*: valid at every sample size.

    For each sample a betting interval of Waudby-Smith and Ramdas for a bounded mean. `bounds` must not depend on
    these values. The four one-sided bounds share the error probability equally (union bound).

    References
    ----------
    Waudby-Smith, Ramdas (2024). Estimating means of bounded random variables by betting. doi:10.1093/jrsssb/qkad009.
    """
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"`bounds` must be two finite numbers in increasing order, got {bounds!r}.")
    x, y = ((np.clip(h, low, high) - low) / (high - low) for h in (h_x, h_y))
    error = (1 - confidence_level) / 4
    least = lower_mean_bound(x, error) + lower_mean_bound(1 - y, error) - 1
    most = 1 - lower_mean_bound(1 - x, error) - lower_mean_bound(y, error)
    return ConfidenceInterval(least * (high - low), most * (high - low))


def lower_mean_bound(values: Values, error: float) -> float:
    """Lower confidence bound for the mean of independent values in [0, 1].

    A gambler who believes that the mean exceeds q bets a predictable share ``b_t <= 1 / (2 q)`` of the wealth on each
    value: ``W_t(q) = prod_t (1 + b_t (v_t - q))``. If the mean is q, this is a nonnegative martingale that starts at 1,
    so ``P(W_n(q) >= 1 / error) <= error`` (Markov), and every q that makes the gambler so rich is excluded. W falls in
    q, so bisection finds the largest excluded q.

    Examples
    --------
    >>> bool(0.40 < lower_mean_bound(np.tile([0.0, 1.0], 500), 0.05) < 0.5)
    True
    >>> lower_mean_bound(np.zeros(10), 0.05)
    0.0
    """
    bets = _predictable_bets(values, error)

    def log_wealth(q: float) -> float:
        return float(np.log1p(np.minimum(bets, 0.5 / q) * (values - q)).sum())

    return _largest_root(log_wealth, -math.log(error))


def _largest_root(falling: Callable[[float], float], target: float) -> float:
    """The largest q in (0, 1) with falling(q) >= target, to 1e-9 from below; 0 if there is none."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) >= target else (low, middle)
    return low


def _predictable_bets(values: Values, error: float) -> Values:
    """``sqrt(2 log(1/error) / (n var_{t-1}))``: the bet at t knows only the values before t."""
    n = len(values)
    t = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(values)) / (t + 1)
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    return np.sqrt(2 * math.log(1 / error) / (n * before))


def _resampled_means(h: Values, n_resamples: int, rng: np.random.Generator) -> Values:
    batch = max(1, 2**22 // len(h))
    means = [
        h[rng.integers(len(h), size=(min(batch, n_resamples - start), len(h)))].mean(axis=1)
        for start in range(0, n_resamples, batch)
    ]
    return np.concatenate(means)
