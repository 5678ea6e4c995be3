"""Few features in place of a large kernel matrix, chosen without looking at labels.

Landmarks are drawn from a random part of the pooled rows by randomly pivoted Cholesky decomposition: each next one with
a probability proportional to what the features so far leave unexplained of its row. For landmarks C the Nystrom
features are ``phi(z) = L^{-1} k(C, z)`` with ``k(C, C) = L L'``; their inner products are the best
approximation to the kernel from these landmarks. The error is known: ``k(z, z) - |phi(z)|^2`` is never negative, and
its share of the trace is what a result reports.

References
----------
Chen, Epperly, Tropp, Webber (2025). Randomly pivoted Cholesky. doi:10.1002/cpa.22234.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray, IndexArray
from tellapart.kernels import Kernel, kernel_matrix
from tellapart.pairs import Pairs

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

_RANK = 1e-10
_EXACT = 1e-14  # of the largest eigenvalue: below, a feature is more rounding than kernel
_BLOCK = 16  # landmarks that are drawn together


def diagonal(kernel: Kernel, rows: FloatArray) -> Values:
    """``k(z, z)`` for every row, from small blocks of the kernel matrix."""
    blocks = (rows[start : start + 64] for start in range(0, len(rows), 64))
    return np.concatenate([np.diagonal(kernel_matrix(kernel, Pairs(z, z))) for z in blocks])


def pivots(kernel: Kernel, rows: FloatArray, count: int, rng: np.random.Generator) -> IndexArray:
    """Indices of at most `count` rows, by randomly pivoted Cholesky decomposition of their kernel matrix, in blocks."""
    n, count = len(rows), min(count, len(rows))
    left = diagonal(kernel, rows)
    whole = left.sum()
    factor, filled = np.empty((count + _BLOCK, n)), 0  # transposed: what is filled is one piece of memory
    chosen: list[IndexArray] = []
    while filled < count and left.sum() > _RANK * whole:
        size = min(_BLOCK, count - filled, int((left > 0).sum()))
        block = rng.choice(n, size, replace=False, p=left / left.sum())
        known = factor[:filled]
        columns = kernel_matrix(kernel, Pairs(rows, rows[block])) - known.T @ known[:, block]
        new = columns @ _whitening(columns[block])
        factor[filled : filled + new.shape[1]] = new.T
        filled += new.shape[1]
        left = np.maximum(left - (new * new).sum(axis=1), 0)
        left[block] = 0
        chosen.append(block)
    return np.concatenate(chosen) if chosen else np.zeros(1, dtype=np.intp)


def _whitening(inner: Matrix) -> Matrix:
    """W with ``W W' = inner^{-1}``: columns times W are features whose products are ``columns inner^{-1} columns'``.

    With NumPy's linear algebra, not SciPy's, because other threads go on meanwhile.
    """
    jitter = _RANK * float(np.trace(inner)) + 1e-300
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(inner + jitter * np.eye(len(inner)))).T)
    except np.linalg.LinAlgError:  # positive definite up to rounding only: leave the lost directions out
        return _principal(inner, _RANK)


def _principal(inner: Matrix, least: float) -> Matrix:
    """The same along principal axes, without those whose share of the largest eigenvalue is less than `least`."""
    values, vectors = np.linalg.eigh(inner)
    keep = values > least * max(values[-1], 0.0)
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]))


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Nystrom features of one kernel from landmarks."""

    kernel: Kernel
    landmarks: FloatArray  # (r, d)
    whitening: Matrix  # (landmarks, r)

    @classmethod
    def of(cls, kernel: Kernel, landmarks: FloatArray) -> FeatureMap:
        """The features that these landmarks make of a kernel."""
        return cls(kernel, landmarks, _whitening(kernel_matrix(kernel, Pairs(landmarks, landmarks))))

    @classmethod
    def exact(cls, kernel: Kernel, landmarks: FloatArray) -> FeatureMap:
        """The same to about ten digits, at the price of a decomposition into eigenvalues."""
        return cls(kernel, landmarks, _principal(kernel_matrix(kernel, Pairs(landmarks, landmarks)), _EXACT))

    def features(self, pairs: Pairs) -> Matrix:
        """Features of the rows ``pairs.a``, where ``pairs.b`` are the landmarks: (rows, rank)."""
        k = kernel_matrix(self.kernel, pairs)
        return np.asarray(k @ self.whitening.astype(k.dtype, copy=False))

    def rotated(self, rotation: Matrix) -> FeatureMap:
        """The same features times a matrix."""
        return FeatureMap(self.kernel, self.landmarks, self.whitening @ rotation)

    def captured(self, rows: FloatArray) -> float:
        """Share of the kernel's trace on some rows that the features have."""
        whole = float(diagonal(self.kernel, rows).sum())
        phi = self.features(Pairs(rows, self.landmarks))
        return min(1.0, float((phi * phi).sum()) / whole) if whole > 0 else 1.0


def captured_words(landmarks: int, captured: Sequence[float]) -> str:
    """How much of the kernels' traces the features have, in words."""
    return f"{landmarks} features for each kernel, with {min(captured):.0%} to {max(captured):.0%} of its trace"
