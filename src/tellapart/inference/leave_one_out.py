"""Statistics in which every row learns and every row judges, for many relabellings at once.

Kernel ridge regression of the centred labels with a free intercept is the Fisher discriminant of the pooled covariance,
and the pooled covariance does not know the labels. So with the eigenvectors U and eigenvalues w of the centred kernel
matrix, the shrinkage ``s = w / (w + ridge)`` and labels ``y`` that sum to zero:

    F = U diag(s) U' y                             fitted witness values
    H_ii = sum_k U_ik^2 s_k + 1/N                  leverage, the same for every relabelling
    F_{-i} = (F_i - H_ii y_i) / (1 - H_ii)         the witness learned from all rows but i, at row i: exact

The last line is the usual identity for linear smoothers; `tests/inference/test_leave_one_out.py` compares it with N
explicit refits. For a matrix Y of relabellings everything is one matrix product for each ridge.

Any statistic that is computed in the same way for every relabelling has an exact permutation p-value, whatever it
chooses, standardises or maximises on the way. Nothing here is therefore allowed to know which column of Y was observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import brentq

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

_RANK = 1e-12  # eigenvalues below this share of the largest are rounding


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvectors (N, r) and positive eigenvalues (r,) of a centred kernel matrix."""

    vectors: Matrix
    values: Values

    @classmethod
    def of(cls, k: Matrix) -> Spectrum:
        """Centre a kernel matrix and decompose it; `k` is overwritten."""
        k -= k.mean(axis=0)
        k -= k.mean(axis=1)[:, None]
        values, vectors = eigh(k, overwrite_a=True, check_finite=False, driver="evd")
        keep = values > _RANK * max(values[-1], 0.0)
        return cls(vectors[:, keep], values[keep])

    def ridge_for(self, freedom: float) -> float:
        """The ridge at which ``sum w / (w + ridge)``, the effective degrees of freedom, has this value."""
        w = self.values
        if not 0 < freedom < len(w):
            raise ValueError(f"`freedom` must lie between 0 and the rank {len(w)}, got {freedom}.")
        low, high = w.sum() / freedom * 1e-12, w.sum() / freedom  # sum w / (w + ridge) <= sum w / ridge
        return float(np.exp(brentq(lambda t: (w / (w + np.exp(t))).sum() - freedom, np.log(low), np.log(high))))

    def shrinkage(self, ridge: float) -> Values:
        """``w / (w + ridge)``."""
        return self.values / (self.values + ridge)

    def leverage(self, s: Values) -> Values:
        """``H_ii``: how much row i decides about itself."""
        return (self.vectors**2) @ s + 1 / len(self.vectors)


def left_out_values(spectrum: Spectrum, s: Values, y: Matrix, projected: Matrix | None = None) -> Matrix:
    """``F_{-i}(z_i)`` for every row i and every column of `y`: (N, columns)."""
    projected = spectrum.vectors.T @ y if projected is None else projected
    h = spectrum.leverage(s)[:, None]
    fitted = spectrum.vectors @ (s[:, None] * projected)
    fitted -= h * y
    fitted /= 1 - h
    return fitted


def leave_one_out_rows(spectrum: Spectrum, shrinkages: Sequence[Values], y: Matrix) -> Matrix:
    """``mean(e) / std(e)`` with ``e_i = y_i F_{-i}(z_i)``: one row for each ridge, (ridges, columns)."""
    projected = spectrum.vectors.T @ y
    rows = np.empty((len(shrinkages), y.shape[1]))
    for row, s in zip(rows, shrinkages, strict=True):
        e = left_out_values(spectrum, s, y, projected)
        e *= y
        mean = e.mean(axis=0)
        spread = np.sqrt(np.maximum(np.einsum("ij,ij->j", e, e) / len(e) - mean**2, 0))
        np.divide(mean, spread, out=row, where=spread > 0)
        row[spread == 0] = 0.0
    return rows


def quadratic_rows(spectrum: Spectrum, shrinkages: Sequence[Values], y: Matrix) -> Matrix:
    """``sum_k s_k (U_k' y)^2`` for each ridge (KFDA), and with ``s = w`` (MMD) last: (ridges + 1, columns)."""
    squares = (spectrum.vectors.T @ y) ** 2
    return np.stack([*shrinkages, spectrum.values]) @ squares


def potential_rows(potentials: Matrix, y: Matrix) -> Matrix:
    """``|mean_x - mean_y|`` of functions of the rows that never saw a label: (functions, columns).

    Two-sided, because nothing has fixed their sign. They see changes of scale and covariance in many columns, which
    the mean of a kernel misses.
    """
    return np.abs(potentials @ y)
