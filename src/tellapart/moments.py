"""Number, mean and scatter of any features. They add, so chunks, batches and partitions merge with ``+``.

Both stages need nothing else: stage I solves with the moments of features, stage II judges by the moments of
the scalar witness values. The signal-to-noise ratio stands here because both stages speak of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart._arrays import FloatArray, to_numpy


@dataclass(frozen=True, eq=False)
class Moments:
    """``n``, ``mean`` and ``scatter`` (sum of squared deviations) of n values or of n rows of M features.

    Examples
    --------
    >>> whole, parts = Moments.of([1.0, 2.0, 6.0]), Moments.of([1.0]) + Moments.of([2.0, 6.0])
    >>> float(whole.mean), float(parts.scatter - whole.scatter)
    (3.0, 0.0)
    """

    n: int
    mean: NDArray[np.float64]  # () or (M,)
    scatter: NDArray[np.float64]  # () or (M, M)

    @classmethod
    def of(cls, features: ArrayLike) -> Moments:
        """Moments of values (n,) or of features (n, M)."""
        f = np.asarray(features, dtype=np.float64)
        mean = f.mean(axis=0)
        centred = f - mean
        return cls(len(f), mean, np.asarray(centred.T @ centred))

    def __add__(self, other: Moments) -> Moments:
        # Chan, Golub, LeVeque (1983): no difference of large sums, so no digits are lost however many are added.
        n = self.n + other.n
        step = other.mean - self.mean
        mean = self.mean + step * (other.n / n)
        between = np.multiply.outer(step, step) * (self.n * other.n / n)
        return Moments(n, np.asarray(mean), self.scatter + other.scatter + between)

    @property
    def variance(self) -> NDArray[np.float64]:
        """Scatter over n, as NumPy's default and the authors' code have it."""
        return self.scatter / self.n


@dataclass(frozen=True, eq=False)
class Standardised:
    """Witness values moved to pooled mean 0 and largest size 1: ``h = scale * values + constant``.

    Every statistic of ours is invariant to this, and its squares can then neither overflow nor underflow: a witness
    of 1e-200 has a signal-to-noise ratio too. Values that differ only by rounding become exact zeros, `scale` 0.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    scale: float

    @classmethod
    def of(cls, h_x: FloatArray, h_y: FloatArray) -> Standardised:
        pooled, scale = unit_scaled(np.concatenate([h_x, h_y]).astype(np.float64)[:, None])
        return cls(pooled[: len(h_x), 0], pooled[len(h_x) :, 0], float(scale[0]))

    @property
    def pooled(self) -> NDArray[np.float64]:
        return np.concatenate([self.x, self.y])

    @property
    def constant(self) -> bool:
        return self.scale == 0


@dataclass(frozen=True)
class WitnessMoments:
    """What stage II knows of the witness values: size, mean and standard deviation (over n) on each sample.

    The difference is kept beside the means, and deviations instead of variances, so that neither a large offset nor
    tiny or huge units cost digits.
    """

    n: int
    m: int
    mean_x: float
    mean_y: float
    difference: float
    sd_x: float
    sd_y: float

    @classmethod
    def of(cls, h_x: FloatArray, h_y: FloatArray) -> WitnessMoments:
        z = Standardised.of(h_x, h_y)
        p, q = Moments.of(z.x), Moments.of(z.y)
        # The mean of equal numbers is rounded, so their deviation has to be told that it is zero.
        sd_x, sd_y = (math.sqrt(s.variance) if np.ptp(h) > 0 else 0.0 for s, h in ((p, z.x), (q, z.y)))
        difference = 0.0 if z.constant else float(p.mean - q.mean) * z.scale
        mean_x, mean_y = float(np.mean(h_x)), float(np.mean(h_y))
        return cls(p.n, q.n, mean_x, mean_y, difference, sd_x * z.scale, sd_y * z.scale)

    def snr_at(self, n: float, m: float) -> float:
        """The signal-to-noise ratio that the same means and deviations have with n and m rows.

        ``SNR = (mean_x - mean_y) / sqrt(var_x / c + var_y / (1 - c))`` with ``c = n / (n + m)``. Without noise
        it is 0 (no difference), +inf or -inf.
        """
        noise = math.hypot(self.sd_x * math.sqrt((n + m) / n), self.sd_y * math.sqrt((n + m) / m))
        if noise > 0:
            return self.difference / noise
        return math.copysign(math.inf, self.difference) if self.difference else 0.0

    @property
    def snr(self) -> float:
        return self.snr_at(self.n, self.m)

    @property
    def tau(self) -> float:
        """``sqrt(n + m) SNR``: standard normal in large samples if the distributions are equal."""
        return math.sqrt(self.n + self.m) * self.snr

    def welch(self) -> tuple[float, float]:
        """Standard error of the difference from variances over n - 1, and Welch's degrees of freedom."""
        error_x, error_y = self.sd_x / math.sqrt(self.n - 1), self.sd_y / math.sqrt(self.m - 1)
        error = math.hypot(error_x, error_y)
        freedom = 1 / ((error_x / error) ** 4 / (self.n - 1) + (error_y / error) ** 4 / (self.m - 1))
        return error, freedom


def snr(h_x: ArrayLike, h_y: ArrayLike) -> float:
    """Signal-to-noise ratio of a witness, from its values on two samples.

    Parameters
    ----------
    h_x, h_y : array-like of shape (n,), (m,)
        Values of one witness on rows of the first and of the second sample that did not help to learn it.

    Returns
    -------
    float
        ``(mean_x - mean_y) / sqrt(var_x / c + var_y / (1 - c))`` with ``c = n / (n + m)`` and variances over n.
        The power of a test on N rows is ``1 - Phi(z - sqrt(N) SNR)``: see :func:`tellapart.power`.

    Examples
    --------
    >>> round(snr([1.0, 3.0], [0.0, 0.0]), 6)
    1.414214
    >>> snr([2.0, 2.0], [2.0, 2.0])
    0.0
    """
    x, y = as_values(h_x, "h_x"), as_values(h_y, "h_y")
    return WitnessMoments.of(x, y).snr


def as_values(h: Any, name: str) -> NDArray[np.float64]:
    """Witness values as a vector of finite float64."""
    try:
        given = to_numpy(h)
    except ValueError as error:
        raise ValueError(f"`{name}` must be a vector of witness values, got a ragged {type(h).__name__}.") from error
    if given.size and given.dtype.kind not in "biuf":
        raise TypeError(f"`{name}` must hold real numbers, one for each row, got dtype {given.dtype}.")
    values = given.astype(np.float64, copy=False)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"`{name}` must be a vector of witness values, got shape {values.shape}.")
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        raise ValueError(f"`{name}` must be finite, got {bad} NaN or infinite witness values of {values.size}.")
    return values


def unit_scaled(h: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns of `h` moved to mean 0 and largest size 1, and the scale that was divided out of each."""
    mean = h.mean(axis=0)
    h = h - mean
    spread = np.abs(h).max(axis=0)
    # Summation leaves errors of a few units in the last place; a witness that varies less is a constant.
    varies = spread > 32 * np.finfo(np.float64).eps * np.abs(mean)
    h /= np.where(varies, spread, np.inf)
    return h, np.where(varies, spread, 0.0)


def column_snr(h: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """SNR of many witnesses at once: `h` is (rows, witnesses), its first `n` rows from the first sample."""
    h, _ = unit_scaled(h)
    x, y = h[:n], h[n:]
    mean_x, mean_y = x.sum(axis=0) / len(x), y.sum(axis=0) / len(y)
    signal = mean_x - mean_y
    x, y = x - mean_x, y - mean_y
    noise = np.sqrt(len(h) * ((x * x).sum(axis=0) / len(x) ** 2 + (y * y).sum(axis=0) / len(y) ** 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(noise > 0, signal / noise, np.where(signal == 0, 0.0, np.copysign(np.inf, signal)))
