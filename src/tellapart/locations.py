"""Tests by a few features that are learned: values at locations (ME) or at frequencies (SCF).

A part of the rows learns where to look, the others are judged by Hotelling's statistic of what is seen there: linear
time, and a short answer to the question where the samples differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import as_generator
from tellapart.classical_result import RelabelledResult
from tellapart.inference.among_relabellings import judged_among
from tellapart.inference.exchange import Exchange
from tellapart.inference.hotelling import NAME, ChiSquared, Hotelling
from tellapart.inference.null import Permutation, Verdict
from tellapart.samples import Samples, as_samples
from tellapart.split import Split, TrainShare, split_samples
from tellapart.witness.locations import (
    FrequencyFeatures,
    LocationFeatures,
    optimised_frequencies,
    optimised_locations,
)

Features = LocationFeatures | FrequencyFeatures

_LEAST_RIDGE = 1e-12  # features lie between -1 and 1: what is smaller is lost in the rounding of their covariance


def mean_embedding_test(
    x: Any,
    y: Any,
    *,
    locations: int = 5,
    null: Permutation | ChiSquared = Permutation(999),
    ridge: float = 1e-5,
    train_share: TrainShare = 0.5,
    rng: Any = None,
) -> LocationsTestResult:
    """Test whether two samples come from the same distribution, by the mean of a Gaussian kernel at a few locations.

    Parameters
    ----------
    x, y : array-like, data frame or tensor of shape (n, d) and (m, d)
        The samples. Data frames are matched by column name.
    locations : int
        How many; together with the width of the kernel they are those that tell the training rows apart best.
    null : Permutation or ChiSquared
        How the statistic is judged: exactly, or by its large-sample distribution.
    ridge : float
        Added to the covariance of the features, which lie between 0 and 1.
    train_share : float, or pair of arrays
        Share of each sample that learns, or these rows of `x` and of `y` as indices or masks.
    rng : int, numpy.random.Generator, or None
        Seed or source of randomness. The same seed gives the same result.

    Returns
    -------
    LocationsTestResult
        It prints as a verdict and unpacks into ``(statistic, pvalue)``; `features.locations` are where to look.

    Notes
    -----
    The statistic is ``T = n m / N d' (S + ridge I)^-1 d``, with d the difference in means of the features ``k(v_j, .)``
    on the N rows that judge, and S their covariance within samples. On the training rows it is maximised over
    locations and width by gradients, from locations that a Gaussian fitted to each sample, or the sample itself, draws.
    The papers pair row i of `x` with row i of `y`, which needs n = m and an order of the rows; S needs neither.

    Level: given the training rows the features are fixed functions. If the distributions are equal, the rows that judge
    are exchangeable, and every relabelling is judged by the same T: the permutation p-value is exact. That of
    chi-square is asymptotic, and on few rows wrong by far: see :class:`ChiSquared`. Time O(N J d) for each step of the
    search and O(N J B) for B relabellings.

    References
    ----------
    Chwialkowski, Ramdas, Sejdinovic, Gretton (2015). Fast two-sample testing with analytic representations of
    probability measures. NeurIPS. arXiv:1506.04725.
    Jitkrittum, Szabo, Chwialkowski, Gretton (2016). Interpretable distribution features with maximum testing power.
    NeurIPS. arXiv:1605.06796.

    Examples
    --------
    A fifth of the second sample sits in one spot:

    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.random((400, 2)), rng.random((400, 2))
    >>> y[:80] = [0.8, 0.2] + 0.05 * rng.normal(size=(80, 2))
    >>> result = mean_embedding_test(x, y, locations=1, rng=0)
    >>> result.pvalue, np.round(result.features.locations, 1).tolist()
    (0.001, [[0.8, 0.2]])
    """
    return _tested(_MEAN_EMBEDDING, locations, as_samples(x, y), null, ridge, train_share, rng)


def smooth_cf_test(
    x: Any,
    y: Any,
    *,
    frequencies: int = 5,
    null: Permutation | ChiSquared = Permutation(999),
    ridge: float = 1e-5,
    train_share: TrainShare = 0.5,
    rng: Any = None,
) -> LocationsTestResult:
    """Test whether two samples come from the same distribution, by their smoothed characteristic functions.

    Parameters
    ----------
    frequencies : int
        How many; each has two features, a sine and a cosine. Together with the width of the smoothing they are those
        that tell the training rows apart best.
    x, y, null, ridge, train_share, rng
        As in :func:`mean_embedding_test`.

    Returns
    -------
    LocationsTestResult
        It prints as a verdict and unpacks into ``(statistic, pvalue)``; `features.frequencies` are radians per unit of
        each column.

    Notes
    -----
    The features of a row z are ``l(u) sin(w_j . u)`` and ``l(u) cos(w_j . u)`` with u its distance from the median of
    the pooled training rows and ``l(u) = exp(-|u / width|^2 / 2)``; statistic, level and time are those of
    :func:`mean_embedding_test`, with two features for each frequency. It finds differences that repeat themselves.

    References
    ----------
    As in :func:`mean_embedding_test`.

    Examples
    --------
    >>> from tellapart.datasets import blobs
    >>> x, y = blobs(200, theta=np.pi / 4, rng=0)
    >>> smooth_cf_test(x, y, rng=0).pvalue
    0.001
    """
    return _tested(_SMOOTH_CF, frequencies, as_samples(x, y), null, ridge, train_share, rng)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocationsTestResult(RelabelledResult):
    """The outcome of :func:`mean_embedding_test` or :func:`smooth_cf_test`.

    Attributes
    ----------
    features : LocationFeatures or FrequencyFeatures
        What was learned, in the units of the columns; ``result.features(rows)`` are the features of any rows.
    """

    features: Any

    _schema: ClassVar[str] = "locations 1"
    _specs: ClassVar[tuple[str, ...]] = (*RelabelledResult._specs, "features")


@dataclass(frozen=True)
class _Method:
    """What the two tests differ in."""

    test: str
    points: str
    features_each: int
    learn: Callable[[Samples, int, float, np.random.Generator], Features]


_MEAN_EMBEDDING = _Method("mean_embedding_test", "locations", 1, optimised_locations)
_SMOOTH_CF = _Method("smooth_cf_test", "frequencies", 2, optimised_frequencies)


def _tested(
    method: _Method, count: int, samples: Samples, null: Any, ridge: float, share: TrainShare, rng: Any
) -> LocationsTestResult:
    generator, record = as_generator(rng)
    null, ridge = _as_null(null), _as_ridge(ridge)
    split = split_samples(samples, share, generator)
    count = _as_count(method, count, split)
    features = method.learn(split.train, count, ridge, generator)
    verdict = _judged(features, split.test, ridge, null, generator)
    return LocationsTestResult.of(
        verdict,
        split,
        test=method.test,
        features=features,
        choices={method.points: count, "ridge": ridge, "train_share": share},
        null=null,
        rng=record,
    )


def _judged(features: Features, test: Samples, ridge: float, null: Any, rng: np.random.Generator) -> Verdict:
    """Hotelling's statistic of the features on rows that did not learn them."""
    values = _shuffled_values(features, test, rng)
    statistic, exchange = Hotelling(values, ridge), Exchange.of(test.n, test.m)
    if isinstance(null, ChiSquared):
        observed = np.repeat([[test.m / len(values)], [-test.n / len(values)]], [test.n, test.m], axis=0)
        return null.judge(float(statistic(observed)[0]), values.shape[1])
    return judged_among(statistic, NAME, exchange, null, rng)


def _shuffled_values(features: Features, test: Samples, rng: np.random.Generator) -> NDArray[np.float64]:
    """Features computed in random order, so that rounding, which may depend on places, does not know the samples."""
    order = rng.permutation(test.n + test.m)
    values = features(test.pooled[order])
    values[order] = values.copy()
    return values


def _as_count(method: _Method, given: Any, split: Split) -> int:
    """How many locations or frequencies, if both parts have more rows than there are features."""
    count = checks.whole(method.points, given)
    fewest = min(split.train.n + split.train.m, split.test.n + split.test.m)
    most = (fewest - 3) // method.features_each
    if count > most:
        features = ", with two features each" if method.features_each == 2 else ""
        raise ValueError(
            f"`{method.points}` must be at most {most}{features}, because only {fewest} rows learn or judge and the "
            f"covariance of the features has to be estimated, got {count}."
        )
    return count


def _as_ridge(ridge: Any) -> float:
    if checks.positive("ridge", ridge) < _LEAST_RIDGE:
        raise ValueError(f"`ridge` must be at least {_LEAST_RIDGE:g}, or it is lost in rounding, got {ridge!r}.")
    return float(ridge)


def _as_null(null: Any) -> Permutation | ChiSquared:
    if not isinstance(null, Permutation | ChiSquared):
        raise TypeError(f"`null` must be Permutation(...) or ChiSquared(), got {null!r}.")
    return null
