"""Rows against rows: the distances and products that kernels are made of, computed once for all that ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tellapart._arrays import FloatArray

Matrix = NDArray[np.float64]
Shares = NDArray[np.float64] | None  # what part of its source each column is; None where each is its own

_FAR = 1e16  # sums of many squares of it are numbers in single precision, too
_SUBSAMPLE = 1000  # rows that a bandwidth rule looks at: its quantiles then err by one or two per cent


class Pairs:
    """Rows `a` against rows `b`, with the distances between them computed once for all kernels that ask.

    A bandwidth grid asks ten times for the same distances, so sharing them is most of the speed of a grid.
    ``same`` says that `a` and `b` are one table, so that a kernel matrix of them is symmetric. Distances (not
    products) may be asked for in single precision: seven digits of the distance from the middle of the columns.
    """

    def __init__(self, a: FloatArray, b: FloatArray, single: bool = False) -> None:
        self.a, self.b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        self.single = single
        if self.a.shape[1:] != self.b.shape[1:] or self.a.ndim != 2:
            raise ValueError(
                f"`a` and `b` must be tables with the same number of columns, got {self.a.shape[-1]} and "
                f"{self.b.shape[-1]}."
            )
        self.same = a is b
        self._kept: dict[Any, Matrix] = {}

    def squared_distances(self, unit: tuple[float, ...]) -> Matrix:
        """``||(a_i - b_j) / unit||^2``; read-only, shared."""
        return self._once(("l2", unit), lambda: self._squared(np.asarray(unit)))

    def distances(self, unit: tuple[float, ...]) -> Matrix:
        """``||(a_i - b_j) / unit||``; read-only, shared."""
        return self._once(("root", unit), lambda: np.sqrt(self.squared_distances(unit)))

    def l1_distances(self, unit: tuple[float, ...]) -> Matrix:
        """``sum_k |a_ik - b_jk| / unit_k``; read-only, shared."""
        u = np.asarray(unit)
        return self._once(("l1", unit), lambda: self._rounded(cdist(self.a / u, self.b / u, "cityblock")))

    def products(self) -> Matrix:
        """``a_i . b_j``; read-only, shared."""
        return self._once("dot", lambda: self.a @ self.b.T)

    def _squared(self, unit: NDArray[np.float64]) -> Matrix:
        if self.a.shape[1] <= 8:  # few columns: subtract pairwise, which is as fast and loses no digits
            return np.asarray(self._rounded(cdist(self.a / unit, self.b / unit, "sqeuclidean")))
        # Distances do not change, but their large common part would cost digits; few rows far away leave a median.
        origin = np.median(self.b, axis=0)
        a, b = self._rounded((self.a - origin) / unit), self._rounded((self.b - origin) / unit)
        d2 = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * (a @ b.T)
        np.maximum(d2, 0, out=d2)
        if self.same:
            np.fill_diagonal(d2, 0)
        return np.asarray(d2)

    def _rounded(self, values: Matrix) -> Any:
        """In the precision asked for; what is too far away for its square in single precision comes nearer."""
        return np.clip(values, -_FAR, _FAR).astype(np.float32) if self.single else values

    def _once(self, key: Any, compute: Callable[[], Matrix]) -> Matrix:
        if key not in self._kept:
            self._kept[key] = compute()
            self._kept[key].flags.writeable = False
        return self._kept[key]


def column_spreads(rows: FloatArray, shares: Shares = None, norm: str = "l2") -> NDArray[np.float64]:
    """A robust standard deviation of each column: interquartile range / 1.349, else the standard deviation, else 1.

    Where K columns are made of one source (the categories of a column of a table, the cycles of a date), each is a
    share 1/K of it. Squared distances between rows add up over columns, so spreads are then larger by the root of K
    (in the l1 norm by K), and the source counts as much as one column of numbers.

    >>> rows = np.eye(4)
    >>> (column_spreads(rows, np.array([0.25, 0.25, 0.25, 1.0])) / column_spreads(rows)).tolist()
    [2.0, 2.0, 2.0, 1.0]
    """
    rows = np.asarray(rows, dtype=np.float64)
    lower, upper = np.quantile(rows, [0.25, 0.75], axis=0)
    spread = (upper - lower) / 1.349
    spread = np.where(spread > 0, spread, rows.std(axis=0))
    spread = np.where(spread > 0, spread, 1.0)
    if shares is None:
        return spread
    return np.asarray(spread / (shares if norm == "l1" else np.sqrt(shares)))


def pairwise_distances(rows: FloatArray, rng: np.random.Generator, norm: str = "l2") -> NDArray[np.float64]:
    """Distances of all pairs of at most 1,000 rows, drawn without looking at labels, in the l2 or the l1 norm."""
    if len(rows) > _SUBSAMPLE:
        rows = rows[rng.choice(len(rows), _SUBSAMPLE, replace=False)]
    pairs, unit = Pairs(rows, rows), (1.0,) * rows.shape[1]
    distances = pairs.distances(unit) if norm == "l2" else pairs.l1_distances(unit)
    return np.asarray(distances[~np.tri(len(rows), dtype=bool)])
