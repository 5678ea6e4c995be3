"""A few features that tell two samples apart best: kernel values at locations, or smoothed waves.

Both maximise Hotelling's statistic on the training rows. For features Phi (N, J), ``delta`` the vector of 1/n on the
first sample and -1/m on the second, ``g = n m / N`` and C the projection that subtracts column means,

    A = Phi' C Phi + (N - 2) ridge I,    a = A^-1 Phi' delta,    s = g delta' Phi a,    T = (N - 2) s / (1 - s).

A perturbation dPhi changes s by ``g (2 delta' dPhi a - 2 (C Phi a)' dPhi a)``, so the gradient has rank one,

    ds / dPhi = 2 g (delta - C Phi a) a',

and the parameters of the features follow by the chain rule. ``log T`` is maximised, whose gradient is
``ds / (s (1 - s))``: its size does not depend on how strong the signal is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from tellapart._arrays import FloatArray
from tellapart.kernels import Gaussian
from tellapart.pairs import column_spreads, pairwise_distances
from tellapart.samples import Samples
from tellapart.witness.fisher import mean_coefficients

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Table = tuple[tuple[float, ...], ...]
# The chain rule: from the derivative by the features to those by the points and by the logarithm of the width.
Chain = Callable[[Matrix], tuple[Matrix, float]]

_SIZES = 5  # widths that the search starts from
_DRAWS = 16  # starting points of each kind and width: cheap beside a climb, and a small spot is easily missed
_STEPS = 15  # of L-BFGS: on fresh rows, more of them lose what they win on the training rows
_LOWEST = -700.0  # log T where no feature varies


@dataclass(frozen=True)
class LocationFeatures:
    """``exp(-|(z - location) / width|^2 / 2)`` for each location, with one width per column."""

    locations: Table  # (J, d)
    width: tuple[float, ...]  # (d,)

    def __call__(self, rows: FloatArray) -> Matrix:
        return Gaussian(self.width)(rows, np.array(self.locations))


@dataclass(frozen=True)
class FrequencyFeatures:
    """``exp(-|(z - centre) / width|^2 / 2)`` times the sine and the cosine of ``frequency . (z - centre)``."""

    frequencies: Table  # (J, d)
    centre: tuple[float, ...]  # (d,)
    width: tuple[float, ...]  # (d,)

    def __call__(self, rows: FloatArray) -> Matrix:
        u = np.asarray(rows, dtype=np.float64) - np.array(self.centre)
        smooth = np.exp(-0.5 * ((u / np.array(self.width)) ** 2).sum(axis=1))[:, None]
        phase = u @ np.array(self.frequencies).T
        return np.concatenate([smooth * np.sin(phase), smooth * np.cos(phase)], axis=1)


class Family(Protocol):
    """Features of standardised rows, as a function of points (J, d) and of the logarithm of a width."""

    def __call__(self, points: Matrix, log_width: float, /) -> tuple[Matrix, Chain]: ...

    def starts(self, count: int, size: float, rng: np.random.Generator) -> Iterator[tuple[Matrix, float]]:
        """Where to start from for features that change over distances of about `size`."""
        ...


class Bumps:
    """Gaussian bumps at locations."""

    def __init__(self, rows: Matrix, n: int) -> None:
        self.rows, self.n = rows, n

    def __call__(self, points: Matrix, log_width: float) -> tuple[Matrix, Chain]:
        precision, d2 = math.exp(-2 * log_width), cdist(self.rows, points, "sqeuclidean")
        phi = np.exp(-0.5 * precision * d2)

        def chain(by_phi: Matrix) -> tuple[Matrix, float]:
            w = by_phi * phi
            by_points = precision * (w.T @ self.rows - w.sum(axis=0)[:, None] * points)
            return by_points, precision * float((w * d2).sum())

        return phi, chain

    def starts(self, count: int, size: float, rng: np.random.Generator) -> Iterator[tuple[Matrix, float]]:
        """Locations from a Gaussian fitted to each sample, as in the papers; or at random training rows."""
        for _ in range(_DRAWS):
            yield self._fitted(count, rng), math.log(size)
            yield self.rows[rng.choice(len(self.rows), count, replace=len(self.rows) < count)], math.log(size)

    def _fitted(self, count: int, rng: np.random.Generator) -> Matrix:
        """Half of the locations from each Gaussian; random sums of the centred rows have their covariance."""
        drawn = []
        for part in (self.rows[: self.n], self.rows[self.n :]):
            mean = part.mean(axis=0)
            drawn.append(mean + rng.normal(size=(count, len(part))) @ (part - mean) / math.sqrt(len(part)))
        return np.asarray(np.where((rng.permutation(count) < count // 2)[:, None], *drawn))


class Waves:
    """Sines and cosines under one Gaussian envelope: the smoothed characteristic function."""

    def __init__(self, rows: Matrix, n: int) -> None:
        self.rows, self.squared = rows, (rows * rows).sum(axis=1)[:, None]
        self.span = math.sqrt(float(np.median(self.squared)) or 1.0)

    def __call__(self, points: Matrix, log_width: float) -> tuple[Matrix, Chain]:
        precision, phase = math.exp(-2 * log_width), self.rows @ points.T
        smooth = np.exp(-0.5 * precision * self.squared)
        sines, cosines = smooth * np.sin(phase), smooth * np.cos(phase)
        phi = np.concatenate([sines, cosines], axis=1)

        def chain(by_phi: Matrix) -> tuple[Matrix, float]:
            by_sines, by_cosines = np.hsplit(by_phi, 2)
            by_phase = by_sines * cosines - by_cosines * sines
            return by_phase.T @ self.rows, precision * float((by_phi * phi * self.squared).sum())

        return phi, chain

    def starts(self, count: int, size: float, rng: np.random.Generator) -> Iterator[tuple[Matrix, float]]:
        """Normal frequencies, as in the papers: from the spectrum of a Gaussian kernel of bandwidth `size`."""
        for _ in range(_DRAWS):
            for envelope in (1.0, 4.0):
                yield rng.normal(size=(count, self.rows.shape[1])) / size, math.log(envelope * self.span)


def log_statistic(phi: Matrix, n: int, ridge: float) -> tuple[float, Matrix]:
    """``log T`` of features of which the first `n` rows are of P, and its gradient by the features."""
    total = len(phi)
    freedom, g = total - 2, n * (total - n) / total
    delta, centred = mean_coefficients(n, total - n), phi - phi.mean(axis=0)
    a_matrix = centred.T @ centred
    a_matrix.flat[:: len(a_matrix) + 1] += freedom * ridge
    a = cho_solve(cho_factor(a_matrix), centred.T @ delta)
    image = centred @ a
    s = g * float(delta @ image)
    if not 1e-12 < s < 1:  # no feature varies: nothing to climb
        return _LOWEST, np.zeros_like(phi)
    by_phi = np.multiply.outer((delta - image) * (2 * g / (s * (1 - s))), a)
    return math.log(freedom * s / (1 - s)), by_phi


def optimised_locations(train: Samples, count: int, ridge: float, rng: np.random.Generator) -> LocationFeatures:
    """The locations and the width with the largest statistic on the training rows."""
    centre, unit, rows = _standardised(train)
    points, width = _climbed(Bumps(rows, train.n), rows, train.n, count, ridge, rng)
    return LocationFeatures(_table(points * unit + centre), tuple((width * unit).tolist()))


def optimised_frequencies(train: Samples, count: int, ridge: float, rng: np.random.Generator) -> FrequencyFeatures:
    """The frequencies and the width of the envelope with the largest statistic on the training rows."""
    centre, unit, rows = _standardised(train)
    points, width = _climbed(Waves(rows, train.n), rows, train.n, count, ridge, rng)
    return FrequencyFeatures(_table(points / unit), tuple(centre.tolist()), tuple((width * unit).tolist()))


def _standardised(train: Samples) -> tuple[Vector, Vector, Matrix]:
    """Centre and spread of the pooled columns, and the rows in these units."""
    rows = train.pooled.astype(np.float64)
    centre, unit = np.median(rows, axis=0), column_spreads(rows)
    return centre, unit, (rows - centre) / unit


def _table(points: Matrix) -> Table:
    return tuple(tuple(float(v) for v in point) for point in points)


def _climbed(
    family: Family, rows: Matrix, n: int, count: int, ridge: float, rng: np.random.Generator
) -> tuple[Matrix, float]:
    """Points and width by L-BFGS: the highest of the tops above the best starting point of each size."""
    near, far = (float(q) for q in np.quantile(pairwise_distances(rows, rng), [0.05, 0.95]))
    far = far or 1.0
    near = near or far / 100
    climb = _Climb(family, n, ridge, (count, rows.shape[1]), (math.log(near / 4), math.log(100 * far)))
    tops = []
    for size in np.geomspace(near / 2, far, _SIZES):
        starts = [np.append(points, log_width) for points, log_width in family.starts(count, float(size), rng)]
        tops.append(climb.top(min(starts, key=climb.depth)))
    points, log_width = climb.unpacked(min(tops, key=climb.depth))
    return points, math.exp(log_width)


@dataclass(frozen=True)
class _Climb:
    """Minus ``log T`` as a function of one vector: all points, then the logarithm of the width."""

    family: Family
    n: int
    ridge: float
    shape: tuple[int, int]
    log_widths: tuple[float, float]

    def unpacked(self, packed: Vector) -> tuple[Matrix, float]:
        return packed[:-1].reshape(self.shape), float(packed[-1])

    def __call__(self, packed: Vector) -> tuple[float, Vector]:
        phi, chain = self.family(*self.unpacked(packed))
        value, by_phi = log_statistic(phi, self.n, self.ridge)
        return -value, -np.append(*chain(by_phi))

    def depth(self, packed: Vector) -> float:
        return self(packed)[0]

    def top(self, start: Vector) -> Vector:
        """Uphill from a starting point."""
        from scipy.optimize import minimize  # a tenth of a second that only this learner needs

        bounds = [(None, None)] * (len(start) - 1) + [self.log_widths]
        found = minimize(self, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS})
        return np.asarray(found.x)
