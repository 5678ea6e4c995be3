"""What one pass over the rows adds up: rows in pieces, and sums of their features, which merge with ``+=``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tellapart._arrays import FloatArray
from tellapart.inference.leave_one_out import RidgeGrid, signal_to_noise
from tellapart.pairs import Shares

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]

_RANK = 1e-12
_TOGETHER = 2**17  # products of two columns that are held at a time


@dataclass(frozen=True, eq=False)
class PooledRows:
    """Rows of all samples, one after the other or in another order, without a copy of them all."""

    parts: tuple[FloatArray, ...]
    order: Ids | None = None  # which row stands where
    shares: Shares = None  # what part of its source each column is

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def take(self, rows: Ids) -> Matrix:
        """Some rows, in float64."""
        rows = rows if self.order is None else self.order[rows]
        taken = np.empty((len(rows), self.parts[0].shape[1]))
        start = 0
        for part in self.parts:
            mine = (rows >= start) & (rows < start + len(part))
            taken[mine] = part[rows[mine] - start]
            start += len(part)
        return taken


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of one fold, unit by unit, and what the labellings say of the units.

    All that knows labels are `entries`, and they meet features only as sums over the rows of a unit, in double
    precision: whatever rounding there is in a feature, it is the same for all labellings.
    """

    fold: int
    z: Matrix  # (rows, d)
    weights: Values | None  # of the rows; None if all are 1
    starts: Ids  # where each unit begins
    entries: Matrix  # (units, columns)

    def weighted(self, features: NDArray[Any]) -> NDArray[Any]:
        """Features times the weights of their rows."""
        return features if self.weights is None else features * self.weights[:, None].astype(features.dtype)

    def contrast(self, weighted: NDArray[Any]) -> Matrix:
        """Sums over the rows of weighted features times entries: (features, columns)."""
        return np.asarray(self.by_unit(weighted).T.astype(np.float64, copy=False) @ self.entries)

    def by_unit(self, weighted: NDArray[Any]) -> NDArray[Any]:
        """Sums over the rows of each unit: (units, features)."""
        n = len(self.z)
        if len(self.starts) == n:
            return weighted
        adds = csr_array((np.ones(n, weighted.dtype), np.arange(n), np.append(self.starts, n)), (len(self.starts), n))
        return np.asarray(adds @ weighted)

    def contrast_of_pairs(self, f: Matrix) -> Matrix:
        """The same for all products of two columns of `f`: (d (d - 1) / 2, columns)."""
        d, lengths = f.shape[1], np.diff(np.append(self.starts, len(f)))
        contrast = np.zeros((d * (d - 1) // 2, self.entries.shape[1]))
        step = max(1, _TOGETHER // d**2)
        for length in np.unique(lengths):
            alike = np.flatnonzero(lengths == length)
            for units in (alike[k : k + step] for k in range(0, len(alike), step)):
                rows = self.starts[units, None] + np.arange(length)
                weights = None if self.weights is None else self.weights[rows]
                contrast += _products(f[rows], weights).T @ self.entries[units]
        return contrast


def _products(f: Matrix, weights: Values | None) -> Matrix:
    """Products of two columns summed over the rows of each unit, from (units, rows, d): (units, d (d - 1) / 2).

    They are one half of a product ``F' F`` for each unit, which is cheaper than the products of every row.
    """
    weighted = f if weights is None else f * weights[..., None]
    i, j = np.triu_indices(f.shape[2], 1)
    return weighted[:, 0, i] * f[:, 0, j] if f.shape[1] == 1 else (f.transpose(0, 2, 1) @ weighted)[:, i, j]


class Tally(dict[Any, Any]):
    """Sums by name: adding a name that is there already adds up, so tallies of pieces, files and machines merge."""

    def add(self, name: Any, value: Any) -> None:
        """Add to what is there; it is overwritten."""
        if name in self:
            self[name] += value
        else:
            self[name] = value

    def __iadd__(self, other: Tally) -> Tally:
        for name, value in other.items():
            self.add(name, value)
        return self


@dataclass(frozen=True, eq=False)
class Sums:
    """Scatter of features, and their contrasts; the first feature is 1, so that weight and totals are among them."""

    scatter: Matrix  # (1 + r, 1 + r)
    contrast: Matrix  # (1 + r, columns)

    @classmethod
    def of(cls, features: NDArray[Any], piece: Piece) -> Sums:
        """Of the rows of a piece."""
        weighted = piece.weighted(features)
        return cls((features.T @ weighted).astype(np.float64, copy=False), piece.contrast(weighted))

    def __iadd__(self, other: Sums) -> Sums:
        np.add(self.scatter, other.scatter, out=self.scatter)
        np.add(self.contrast, other.contrast, out=self.contrast)
        return self

    @property
    def weight(self) -> float:
        return float(self.scatter[0, 0])

    def of_first(self) -> Sums:
        """The same for the first labelling alone."""
        return Sums(self.scatter, self.contrast[:, :1])

    def centred(self, mean: Values) -> tuple[Matrix, Matrix]:
        """Scatter and contrasts of the other features around a mean."""
        cross = np.outer(self.scatter[0, 1:], mean)
        scatter = self.scatter[1:, 1:] - cross - cross.T + self.weight * np.outer(mean, mean)
        return scatter, self.contrast[1:] - np.outer(mean, self.contrast[0])


def with_one(features: NDArray[Any]) -> NDArray[Any]:
    """A feature that is 1 before the others."""
    return np.concatenate([np.ones((len(features), 1), features.dtype), features], axis=1)


@dataclass(frozen=True, eq=False)
class Solved:
    """One kernel's sums, centred: the principal axes of all rows, and the parts of the folds."""

    mean: Values
    values: Values
    projected: Matrix  # contrasts along the principal axes: (r, columns)
    freedoms: list[float]
    shrinkages: list[Values]
    scatters: list[Matrix]
    contrasts: list[Matrix]
    shares: list[float]  # of each fold in the weight

    @classmethod
    def of(cls, folds: Sequence[Sums], ridges: RidgeGrid, rows: int) -> Solved:
        """From the sums of the folds."""
        weight = sum(f.weight for f in folds)
        mean = np.sum([f.scatter[0, 1:] for f in folds], axis=0) / weight
        centred = [f.centred(mean) for f in folds]
        scatters, contrasts = [s for s, _ in centred], [c for _, c in centred]
        w, axes = np.linalg.eigh(np.sum(scatters, axis=0))
        keep = w > _RANK * max(w[-1], 0.0)
        projected = axes[:, keep].T @ np.sum(contrasts, axis=0) / np.sqrt(w[keep])[:, None]
        freedoms, shrinkages = ridges.grid(w[keep], rows)
        return cls(
            mean, w[keep], projected, freedoms, shrinkages, scatters, contrasts, [f.weight / weight for f in folds]
        )

    @property
    def ridges(self) -> list[float]:
        return [float(self.values[-1] * (1 - s[-1]) / s[-1]) for s in self.shrinkages]

    @property
    def contrast(self) -> Matrix:
        return np.asarray(np.sum(self.contrasts, axis=0))

    def witnesses(self, ridge: float) -> list[Matrix]:
        """Coefficients learned without each fold, for every labelling: (r, columns) each."""
        whole, contrast = np.sum(self.scatters, axis=0), self.contrast
        return [
            np.linalg.solve(whole - s + ridge * (1 - share) * np.eye(len(s)), contrast - c)
            for s, c, share in zip(self.scatters, self.contrasts, self.shares, strict=True)
        ]

    def whole_witness(self, ridge: float) -> Matrix:
        """Coefficients learned from all rows: (r, columns)."""
        whole = np.sum(self.scatters, axis=0)
        return np.asarray(np.linalg.solve(whole + ridge * np.eye(len(whole)), self.contrast))

    def judged(self, ridge: float, square: Values, rows: int) -> Values:
        """Signal-to-noise ratio on the folds that did not learn: (columns,)."""
        parts = list(zip(self.witnesses(ridge), self.scatters, self.contrasts, strict=True))
        signal = np.sum([np.einsum("ij,ij->j", w, c) for w, _, c in parts], axis=0)
        noise = np.sum([np.einsum("ij,ij->j", w, s @ w) for w, s, _ in parts], axis=0)
        return signal_to_noise(signal / rows, noise * square / rows**2)
