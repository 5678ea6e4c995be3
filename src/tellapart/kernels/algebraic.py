"""Kernels that are not radial: polynomial, linear, of the energy distance, given as a matrix, or by features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray
from tellapart._checks import positive, whole
from tellapart.kernels.base import Kernel
from tellapart.pairs import Matrix, Pairs, Shares, column_spreads


@dataclass(frozen=True)
class Polynomial(Kernel):
    """``(scale a . b + offset)^degree``: sees the moments up to `degree`. Not invariant to shifts of the data."""

    degree: int = 2
    scale: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        whole("degree", self.degree)
        positive("scale", self.scale)
        if self.offset != 0:
            positive("offset", self.offset)

    def of(self, pairs: Pairs) -> Matrix:
        k: Matrix = (self.scale * pairs.products() + self.offset) ** int(self.degree)
        return k


@dataclass(frozen=True)
class Linear(Kernel):
    """``a . b``: sees the means of the columns, nothing else."""

    def of(self, pairs: Pairs) -> Matrix:
        return pairs.products().copy()


@dataclass(frozen=True)
class Energy(Kernel):
    """``(|a| + |b| - |a - b|) / 2`` for columns in units of `unit` around `origin`: its MMD is the energy distance.

    Parameters
    ----------
    unit, origin : tuple of floats, optional
        One number per column. If not given, they are resolved on the pooled rows: spread and median of each column.

    References
    ----------
    Sejdinovic, Sriperumbudur, Gretton, Fukumizu (2013). Equivalence of distance-based and RKHS-based statistics in
    hypothesis testing. doi:10.1214/13-AOS1140.
    """

    unit: tuple[float, ...] | None = None
    origin: tuple[float, ...] | None = None

    @classmethod
    def at(cls, rows: FloatArray, shares: Shares = None) -> Energy:
        """The kernel whose units and origin are those of some rows."""
        middle = np.median(np.asarray(rows, dtype=np.float64), axis=0)
        return cls(tuple(column_spreads(rows, shares).tolist()), tuple(middle.tolist()))

    def resolved(self, rows: FloatArray, rng: np.random.Generator, shares: Shares = None) -> Kernel:
        return self if self.unit is not None else Energy.at(rows, shares)

    def of(self, pairs: Pairs) -> Matrix:
        unit = (1.0,) * pairs.a.shape[1] if self.unit is None else self.unit
        origin = np.zeros(len(unit)) if self.origin is None else np.asarray(self.origin)
        to_a, to_b = (np.linalg.norm((z - origin) / np.asarray(unit), axis=1) for z in (pairs.a, pairs.b))
        k: Matrix = (to_a[:, None] + to_b - pairs.distances(unit)) / 2
        return k


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A kernel matrix of all pooled rows, first those of `x`, then those of `y`: strings, graphs, sets, anything.

    Samples are then numbers of rows of this matrix, which :func:`tellapart.tell_apart` makes itself: `x` and `y` may be
    sequences of any objects, of which only the lengths are used.

    Examples
    --------
    >>> words = ["ant", "ants", "bee"]
    >>> k = Precomputed.of_function(lambda a, b: len(set(a) & set(b)), words[:2], words[2:])
    >>> k.matrix.tolist()
    [[3.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 2.0]]
    """

    matrix: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        k = np.asarray(self.matrix)
        if k.ndim != 2 or k.shape[0] != k.shape[1] or k.dtype.kind not in "biuf" or not len(k):
            raise ValueError(f"`matrix` must be a square matrix of real numbers, got {k.dtype} of shape {k.shape}.")
        k = k.astype(np.float64)
        if not np.isfinite(k).all():
            raise ValueError(f"`matrix` must be finite, got {int((~np.isfinite(k)).sum())} NaN or infinite values.")
        if np.abs(k - k.T).max() > 1e-8 * np.abs(k).max():
            raise ValueError("`matrix` must be symmetric. Symmetrise it with (matrix + matrix.T) / 2.")
        object.__setattr__(self, "matrix", k)

    def __repr__(self) -> str:
        return f"Precomputed(matrix of {len(self.matrix)} rows)"

    @classmethod
    def of_function(cls, function: Callable[[Any, Any], float], x: Sequence[Any], y: Sequence[Any]) -> Precomputed:
        """From a symmetric positive definite function of two objects."""
        objects = [*x, *y]
        k = np.empty((len(objects), len(objects)))
        for i, a in enumerate(objects):
            for j in range(i + 1):
                k[i, j] = k[j, i] = function(a, objects[j])
        return cls(k)

    def of(self, pairs: Pairs) -> Matrix:
        if pairs.a.shape[1] != 1:
            raise ValueError(
                "`kernels`: a Precomputed kernel stands for all rows and cannot go with kernels of columns."
            )
        i, j = (z[:, 0].astype(np.intp) for z in (pairs.a, pairs.b))
        return self.matrix[np.ix_(i, j)]


@dataclass(frozen=True)
class Features(Kernel):
    """``phi(a) . phi(b)`` for any function ``phi`` from rows (rows, d) to features (rows, q)."""

    function: Callable[[FloatArray], Any]

    def of(self, pairs: Pairs) -> Matrix:
        phi_a = self._features(pairs.a)
        phi_b = phi_a if pairs.a is pairs.b else self._features(pairs.b)
        return phi_a @ phi_b.T

    def _features(self, rows: FloatArray) -> Matrix:
        phi = np.asarray(self.function(rows), dtype=np.float64)
        if phi.ndim != 2 or len(phi) != len(rows):
            raise ValueError(f"`function` must return one row of features for each row, got shape {phi.shape}.")
        return phi
