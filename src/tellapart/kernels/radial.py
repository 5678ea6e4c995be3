"""Radial kernels: functions of the distance between two rows in bandwidths, and grids of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray
from tellapart._checks import one_of, positive, whole
from tellapart.kernels.base import Kernel
from tellapart.pairs import Matrix, Pairs, Shares, column_spreads, pairwise_distances

# "median": median distance of pooled rows; "scaled-median": the same after every column is divided by its spread.
BandwidthRule: TypeAlias = Literal["median", "scaled-median"]
Bandwidth: TypeAlias = float | tuple[float, ...] | BandwidthRule

_RULES = ("median", "scaled-median")
_LEAST, _MOST = 1e-120, 1e120  # bandwidths whose squares are floats too, as those of the samples are


def _checked_bandwidth(bandwidth: Any) -> Bandwidth:
    if isinstance(bandwidth, str):
        rule: BandwidthRule = one_of("bandwidth", bandwidth, _RULES)
        return rule
    values = np.asarray(bandwidth)
    if values.dtype.kind not in "iuf" or values.ndim > 1 or not values.size:
        raise TypeError(
            f"`bandwidth` must be a positive number, one per column, or one of {_RULES}, got {bandwidth!r}."
        )
    values = values.astype(np.float64)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"`bandwidth` must be positive and finite, got {bandwidth!r}.")
    if values.min() < _LEAST or values.max() > _MOST:
        raise ValueError(
            f"`bandwidth` must have a square within the range of floats ({_LEAST:g} to {_MOST:g}), got {bandwidth!r}. "
            "Multiply the columns by a constant in both samples first."
        )
    return float(values) if values.ndim == 0 else tuple(float(v) for v in values)


def scaled_bandwidth(size: float, unit: Sequence[float] | NDArray[np.float64]) -> float | tuple[float, ...]:
    """`size` times the units of the columns; a plain number where all units are 1."""
    if all(u == 1 for u in unit):
        return size
    return tuple(float(size * u) for u in unit)


@dataclass(frozen=True)
class Radial(Kernel):
    """A kernel of the distance between two rows, measured in bandwidths."""

    bandwidth: Bandwidth = "scaled-median"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", _checked_bandwidth(self.bandwidth))

    @abstractmethod
    def of(self, pairs: Pairs) -> Matrix: ...

    def resolved(self, rows: FloatArray, rng: np.random.Generator, shares: Shares = None) -> Kernel:
        if not isinstance(self.bandwidth, str):
            return self
        norm = getattr(self, "norm", "l2")
        unit = column_spreads(rows, shares, norm) if self.bandwidth == "scaled-median" else np.ones(rows.shape[1])
        typical = float(np.median(pairwise_distances(rows / unit, rng, norm)))
        return replace(self, bandwidth=scaled_bandwidth(typical or 1.0, unit))

    def _unit_and_size(self, pairs: Pairs) -> tuple[tuple[float, ...], float]:
        """Bandwidth = size * unit, so that kernels that differ only in size share their distances."""
        d = pairs.a.shape[1]
        if isinstance(self.bandwidth, str):
            raise TypeError(
                f"{self!r} has no bandwidth yet: call kernel.resolved(rows, rng) with pooled rows, or pass a number."
            )
        if not isinstance(self.bandwidth, tuple):
            return (1.0,) * d, self.bandwidth
        if len(self.bandwidth) != d:
            raise ValueError(f"`bandwidth` must have one number per column ({d}), got {len(self.bandwidth)}.")
        size = self.bandwidth[0]
        return tuple(float(f"{b / size:.14g}") for b in self.bandwidth), size


@dataclass(frozen=True)
class Gaussian(Radial):
    """``exp(-||a - b||^2 / (2 bandwidth^2))``.

    Parameters
    ----------
    bandwidth : float, tuple of floats, "scaled-median" or "median"
        One number, one number per column, or a rule that is resolved on the pooled training rows: the median
        distance of two rows, as it is or after every column is divided by its spread (the default, which does
        not care about the units of the columns).
    """

    def of(self, pairs: Pairs) -> Matrix:
        unit, size = self._unit_and_size(pairs)
        k = pairs.squared_distances(unit) * (-0.5 / size**2)
        return np.exp(k, out=k)


@dataclass(frozen=True)
class Laplace(Radial):
    """``exp(-||a - b|| / bandwidth)`` with the l1 norm (default) or the l2 norm."""

    norm: Literal["l1", "l2"] = "l1"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("norm", self.norm, ("l1", "l2"))

    def of(self, pairs: Pairs) -> Matrix:
        unit, size = self._unit_and_size(pairs)
        r = pairs.l1_distances(unit) if self.norm == "l1" else pairs.distances(unit)
        k = r * (-1 / size)
        return np.exp(k, out=k)


@dataclass(frozen=True)
class Matern(Radial):
    """Matern kernel with ``nu`` 1/2, 3/2 or 5/2 of the l2 distance (default), or its product over columns (l1).

    With ``r = sqrt(2 nu) ||a - b|| / bandwidth``: ``exp(-r)``, ``(1 + r) exp(-r)``, ``(1 + r + r^2/3) exp(-r)``.
    For ``norm="l1"`` each column has its own factor, so that the exponents add up to the l1 distance. (The
    same formula of the l1 distance itself is not positive definite for nu > 1/2 in several dimensions.)
    """

    nu: float = 1.5
    norm: Literal["l1", "l2"] = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("nu", self.nu, (0.5, 1.5, 2.5))
        one_of("norm", self.norm, ("l1", "l2"))

    def of(self, pairs: Pairs) -> Matrix:
        unit, size = self._unit_and_size(pairs)
        if self.norm == "l2":
            return self._profile(pairs.distances(unit) * (math.sqrt(2 * self.nu) / size))
        k = np.ones((len(pairs.a), len(pairs.b)))
        for j, u in enumerate(unit):
            r = np.abs(np.subtract.outer(pairs.a[:, j], pairs.b[:, j])) * (math.sqrt(2 * self.nu) / (size * u))
            k *= self._profile(r)
        return k

    def _profile(self, r: Matrix) -> Matrix:
        polynomial = {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[self.nu]
        k: Matrix = polynomial * np.exp(-r)
        return k


@dataclass(frozen=True)
class InverseMultiquadric(Radial):
    """``(1 + ||a - b||^2 / bandwidth^2)^(-exponent)``: heavier tails than the Gaussian."""

    exponent: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("exponent", self.exponent)

    def of(self, pairs: Pairs) -> Matrix:
        unit, size = self._unit_and_size(pairs)
        base: Matrix = 1 + pairs.squared_distances(unit) / size**2
        return base**-self.exponent


@dataclass(frozen=True)
class BandwidthGrid:
    """Kernels of one shape whose bandwidths span the distances found among the pooled rows.

    The bandwidths are `count` steps of a geometric sequence from a quarter of the 5 % quantile of the pairwise
    distances (in the norm of the kernel) to twice their 95 % quantile: from "only near neighbours matter" to "nearly
    linear".

    Parameters
    ----------
    shape : Radial
        Its bandwidth is replaced; everything else stays.
    count : int
    scaled : bool
        Whether to divide every column by its spread first (default), so that units do not matter.
    """

    shape: Radial = Gaussian()
    count: int = 10
    scaled: bool = True

    def __post_init__(self) -> None:
        whole("count", self.count)
        if not isinstance(self.shape, Radial):
            raise TypeError(f"`shape` must be a kernel with a bandwidth, such as Gaussian(), got {self.shape!r}.")

    def kernels(self, rows: FloatArray, rng: np.random.Generator, shares: Shares = None) -> list[Kernel]:
        """The kernels for these pooled rows, narrowest first."""
        norm = getattr(self.shape, "norm", "l2")
        unit = column_spreads(rows, shares, norm) if self.scaled else np.ones(rows.shape[1])
        distances = pairwise_distances(rows / unit, rng, norm)
        near, far = np.quantile(distances, [0.05, 0.95])
        far = far or 1.0
        sizes = np.geomspace((near or far / 100) / 4, 2 * far, int(self.count))
        return [replace(self.shape, bandwidth=scaled_bandwidth(float(s), unit)) for s in sizes]
