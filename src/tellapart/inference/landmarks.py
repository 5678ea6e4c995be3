"""Few features in place of a large kernel matrix, chosen without looking at labels.

Landmarks are drawn from a random part of the pooled rows by randomly pivoted Cholesky decomposition: each next one with
a probability proportional to what the features so far leave unexplained of its row. For landmarks C the Nystrom
features are ``phi(z) = k(z, C) V D^{-1/2}`` with ``k(C, C) = V D V'``; their inner products are the best
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
from scipy.linalg import eigh

from tellapart._arrays import FloatArray, IndexArray
from tellapart.kernels import Kernel, kernel_matrix
from tellapart.pairs import Pairs

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

_RANK = 1e-10


def diagonal(kernel: Kernel, rows: FloatArray) -> Values:
    """``k(z, z)`` for every row, from small blocks of the kernel matrix."""
    blocks = (rows[start : start + 64] for start in range(0, len(rows), 64))
    return np.concatenate([np.diagonal(kernel_matrix(kernel, Pairs(z, z))) for z in blocks])


def pivots(kernel: Kernel, rows: FloatArray, count: int, rng: np.random.Generator) -> IndexArray:
    """Indices of at most `count` rows, by randomly pivoted Cholesky decomposition of their kernel matrix."""
    n, count = len(rows), min(count, len(rows))
    left = diagonal(kernel, rows)
    whole = left.sum()
    factor = np.zeros((n, count))
    chosen: list[int] = []
    for i in range(count):
        if left.sum() <= _RANK * whole:
            break
        p = int(rng.choice(n, p=left / left.sum()))
        column = kernel_matrix(kernel, Pairs(rows, rows[p : p + 1]))[:, 0] - factor[:, :i] @ factor[p, :i]
        factor[:, i] = column / np.sqrt(column[p])
        left = np.maximum(left - factor[:, i] ** 2, 0)
        left[p] = 0
        chosen.append(p)
    return np.array(chosen, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Nystrom features of one kernel from landmarks."""

    kernel: Kernel
    landmarks: FloatArray  # (r, d)
    whitening: Matrix  # (r, rank)

    @classmethod
    def of(cls, kernel: Kernel, landmarks: FloatArray) -> FeatureMap:
        """The features that these landmarks make of a kernel."""
        values, vectors = eigh(kernel_matrix(kernel, Pairs(landmarks, landmarks)), check_finite=False, driver="evd")
        keep = values > _RANK * max(values[-1], 0.0)
        return cls(kernel, landmarks, vectors[:, keep] / np.sqrt(values[keep]))

    def features(self, pairs: Pairs) -> Matrix:
        """Features of the rows ``pairs.a``, where ``pairs.b`` are the landmarks: (rows, rank)."""
        return np.asarray(kernel_matrix(self.kernel, pairs) @ self.whitening)

    def captured(self, rows: FloatArray) -> float:
        """Share of the kernel's trace on some rows that the features have."""
        whole = float(diagonal(self.kernel, rows).sum())
        phi = self.features(Pairs(rows, self.landmarks))
        return min(1.0, float((phi * phi).sum()) / whole) if whole > 0 else 1.0


def captured_words(landmarks: int, captured: Sequence[float]) -> str:
    """How much of the kernels' traces the features have, in words."""
    return f"{landmarks} features for each kernel, with {min(captured):.0%} to {max(captured):.0%} of its trace"
