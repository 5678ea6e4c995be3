"""``(A + ridge I) x = b`` for one matrix and many ridges.

One reduction serves every ridge. In an orthonormal basis ``Q`` in which ``A`` is tridiagonal, ``A = Q T Q'``, each
ridge costs only the O(N) solve ``(T + ridge I) z = Q' b``. Two reductions are used, and Cholesky where there is
nothing to share:

- Householder (LAPACK's sytrd): exact, 4/3 N^3 operations once, instead of 1/3 N^3 for each ridge. It pays from
  about four ridges, because half of its operations run at the speed of matrix-vector products.
- Lanczos from ``b``: after k steps ``Q`` spans the Krylov space, 2 k N^2 operations. It is stopped when the residual
  of *every* ridge, which is known from T alone, is below rounding; where that takes too many steps, Householder
  is used instead. Full reorthogonalisation, because lost orthogonality would make that residual a lie.

No ridge is ever enlarged: one that is lost in the rounding of A is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_TOO_FEW_TO_SHARE = 3  # ridges
_LANCZOS_FROM = 800  # rows
_LANCZOS_STEPS = 1 / 6  # of N: beyond that, Householder is cheaper
_CONVERGED = 1e-13


class RidgeTooSmall(ValueError):
    """A ridge that is lost in the rounding of the matrix."""


@dataclass(frozen=True, eq=False)
class Tridiagonal:
    """``A = Q T Q'`` seen from ``b``: diagonal and off-diagonal of T, ``Q' b``, and ``z -> Q z``."""

    diagonal: Vector
    off_diagonal: Vector
    start: Vector

    def solve(self, ridge: float) -> Vector:
        """``(T + ridge I)^-1 Q' b``."""
        if len(self.diagonal) == 1:
            return self.start / (self.diagonal + ridge)
        *_, z, info = lapack.dptsv(self.diagonal + ridge, self.off_diagonal, self.start)
        if info:
            raise _indefinite(ridge)
        return np.asarray(z).reshape(-1)


def solve_shifted(a: Matrix, b: Vector, ridges: Sequence[float], rounding: float = 0.0) -> Matrix:
    """Solutions for all `ridges`, one row each: (R, N). `a` is symmetric, positive semidefinite, and overwritten.

    `rounding` is the error that `a` came with: it may be the small difference of large numbers.
    """
    smallest = max(rounding, 8 * np.finfo(np.float64).eps * float(np.abs(a).sum(axis=0).max()))
    for ridge in ridges:
        if ridge <= smallest:
            raise _too_small(ridge, smallest)
    if not b.any():
        return np.zeros((len(ridges), len(b)))
    if len(ridges) <= _TOO_FEW_TO_SHARE:
        return np.array([_cholesky(a, b, ridge) for ridge in ridges])
    if len(b) >= _LANCZOS_FROM:
        found = _lanczos(a, b, ridges)
        if found is not None:
            return found
    return _householder(a, b, ridges)


def _cholesky(a: Matrix, b: Vector, ridge: float) -> Vector:
    shifted = a.copy(order="F")
    shifted.flat[:: len(b) + 1] += ridge
    _, x, info = lapack.dposv(shifted, b, overwrite_a=True)
    if info:
        raise _indefinite(ridge)
    return np.asarray(x).reshape(-1)


def _householder(a: Matrix, b: Vector, ridges: Sequence[float]) -> Matrix:
    n = len(b)
    if n == 1:
        return np.array([b / (a[0] + ridge) for ridge in ridges])
    work = int(lapack.dsytrd_lwork(n, lower=1)[0])
    reflectors, diagonal, off_diagonal, tau, _ = lapack.dsytrd(a.T, lower=1, lwork=work, overwrite_a=1)
    # The reflectors leave the first row alone; below it they are those of a QR decomposition.
    below = np.asfortranarray(reflectors[1:, :-1])
    start = b.copy()
    start[1:] = _rotated(below, tau, b[1:, None], "T")[:, 0]
    tridiagonal = Tridiagonal(diagonal, off_diagonal, start)
    z = np.stack([tridiagonal.solve(ridge) for ridge in ridges], axis=1)  # (N, R)
    z[1:] = _rotated(below, tau, z[1:], "N")
    return z.T


def _rotated(reflectors: Matrix, tau: Vector, c: Matrix, trans: str) -> Matrix:
    """``Q c`` or ``Q' c``."""
    rotated, _, _ = lapack.dormqr("L", trans, reflectors, tau, c, max(1, 32 * c.shape[1]))
    return np.asarray(rotated)


def _lanczos(a: Matrix, b: Vector, ridges: Sequence[float]) -> Matrix | None:
    """Lanczos until every ridge has converged; None where that takes too long."""
    n = len(b)
    most = max(8, int(n * _LANCZOS_STEPS))
    norm = float(np.linalg.norm(b))
    basis = np.empty((most + 1, n))
    basis[0] = b / norm
    diagonal, off_diagonal = np.zeros(most), np.zeros(most)
    for k in range(most):
        v = a @ basis[k]
        diagonal[k] = basis[k] @ v
        for _ in range(2):  # twice is enough (Parlett and Kahan)
            v -= basis[: k + 1].T @ (basis[: k + 1] @ v)
        off_diagonal[k] = np.linalg.norm(v)
        last = off_diagonal[k] <= 1e-14 * np.abs(diagonal[: k + 1]).max()  # the Krylov space is complete
        if last or k % 8 == 7:
            start = np.zeros(k + 1)
            start[0] = norm
            tridiagonal = Tridiagonal(diagonal[: k + 1], off_diagonal[:k], start)
            z = np.stack([tridiagonal.solve(ridge) for ridge in ridges])  # (R, k + 1)
            # || b - (A + ridge I) Q z || is off_diagonal[k] |z_k|: compare with the smallest ||(A + ridge) x||.
            if last or (off_diagonal[k] * np.abs(z[:, -1])).max() <= _CONVERGED * norm:
                return z @ basis[: k + 1]
        basis[k + 1] = v / off_diagonal[k]
    return None


def _too_small(ridge: float, smallest: float) -> RidgeTooSmall:
    return RidgeTooSmall(
        f"`ridge` must be larger than the rounding of the kernel matrix (about {smallest:.1e}), got {ridge!r}. "
        "Use a larger ridge, or bring the columns to scale 1 and offset 0."
    )


def _indefinite(ridge: float) -> RidgeTooSmall:
    return RidgeTooSmall(
        "`kernel` must be positive semidefinite, but its matrix has a negative eigenvalue, perhaps from rounding, that "
        f"`ridge` does not lift above zero, got {ridge!r}. Use a larger ridge, bring the columns to scale 1 and offset "
        "0, or take a kernel such as Gaussian()."
    )
