"""The squared MMD and the statistic of the kernel Fisher discriminant on all rows, for many relabellings at once.

K is the kernel matrix of the N pooled rows, centred (``K 1 = 0``), and ``K = Phi Phi'`` with one row of centred
features phi_i for each row of data. Each column y of centred labels is a relabelling: with n rows of the first sample
and ``c = n / N``, y is ``1 - c`` on these and ``-c`` on the other m. The means are mu_P and mu_Q, and
``d = mu_P - mu_Q``. As ``Phi' 1 = 0``, ``mu_P = (1 - c) d``, ``mu_Q = -c d`` and ``Phi' y = g d`` with ``g = n m / N``.

*Squared MMD.* ``|d|^2 = y' K y / g^2``: one matrix product serves all relabellings.

*Kernel Fisher discriminant.* ``T = d' (Sigma + ridge)^-1 d``, the largest regularised squared signal-to-noise ratio
``(f . d)^2 / f' (Sigma + ridge) f`` that a witness f has on the rows that it was learned from. Both weightings have

    Sigma = 1/N sum_i (phi_i - mu(i)) (phi_i - mu(i))' / e_i      with mu(i) the mean of the sample of row i and

    paper:   e = c^2 on P, (1 - c)^2 on Q     Sigma = Sigma_P / c + Sigma_Q / (1 - c), as in the signal-to-noise ratio
    pooled:  e = c (1 - c) everywhere         Sigma = Sigma_P / (1 - c) + Sigma_Q / c, the covariance within samples

and for n = m they are the same. For both, with ``W = K / N`` and ``E = diag(e)``,

    (W + ridge E) z = y,     T = y' W z / (ridge c (1 - c) y' z).

Proof: let ``f = Phi' z``. Then ``phi_i . f = N (W z)_i = N (y_i - ridge e_i z_i)``, and as y and e are constant on each
sample, ``phi_i . f`` minus its mean over the sample is ``-N ridge e_i (z_i - zbar(i))``. So

    Sigma f = -ridge sum_i (phi_i - mu(i)) (z_i - zbar(i)) = -ridge f + ridge (n zbar_P mu_P + m zbar_Q mu_Q),
    (Sigma + ridge) f = ridge g (zbar_P - zbar_Q) d = ridge (y' z) d,

hence ``(Sigma + ridge)^-1 d = f / (ridge y' z)``, and the product of d with it, where ``d . f = y' K z / g``, is T. Its
numerator and denominator are positive quadratic forms, so neither a small nor a large ridge costs digits.

With pooled weights ``W + ridge E`` does not know the labels: one Cholesky decomposition serves all relabellings. There
``y' W z = g - ridge c (1 - c) y' z``, so T rises with ``y' W z``, the same statistic with the *total* scatter in place
of the scatter within samples: as permutation tests the two are one.

With the paper's weights and n != m the noise e moves with the labels. Let A select the rows of the smaller sample, l be
their share, ``R = (W + ridge (1 - l)^2)^-1``, which does not know the labels, and ``t = ridge (1 - 2 l)``. Then

    z = R y + t R A x,     (I - t A R A) x = A R y,

where the eigenvalues of the second matrix lie between ``(l / (1 - l))^2`` and 1. For a small l it is small, and solved
for each relabelling, ``(l N)^3 / 3`` operations each. For l near a half its condition number is near 1, and Chebyshev's
iteration, whose number of steps follows from these bounds, solves all relabellings together by ``2 N^2`` operations a
step for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Matrix = NDArray[np.float64]
Values = NDArray[np.float64]
Estimator = Literal["biased", "unbiased"]
Weighting = Literal["pooled", "paper"]

_TOGETHER_FROM = 0.36  # share of the smaller sample: measured, where both ways of solving take about equally long
_CONVERGED = 1e-13


class Statistic(Protocol):
    """A number for each relabelling, computed in the same way for all: (N, relabellings) -> (relabellings,)."""

    def __call__(self, y: Matrix, /) -> Values: ...


def centred(k: Matrix) -> Matrix:
    """A kernel matrix minus the means of its rows and columns; `k` is overwritten."""
    k -= k.mean(axis=0)
    k -= k.mean(axis=1)[:, None]
    return k


class SquaredMMD:
    """The squared maximum mean discrepancy of relabelled rows, from a centred kernel matrix.

    "biased" is the V-statistic ``|mu_P - mu_Q|^2``; "unbiased" leaves the pairs of a row with itself out:

        sum_{i != j in P} k_ij / (n (n - 1)) + sum_{i != j in Q} k_ij / (m (m - 1)) - 2 sum_{i in P, j in Q} k_ij / (nm)

    and not changed by centring k. For n = m it is the V-statistic times a constant minus a constant, so the p-values
    agree (unless groups of different sizes are relabelled).
    """

    def __init__(self, k: Matrix, estimator: Estimator = "biased") -> None:
        self.k, self.estimator = k, estimator
        self.diagonal = k.diagonal().copy()

    def __call__(self, y: Matrix) -> Values:
        n, m = _sizes(y)
        within = _column_products(self.k @ y, y)  # sum of k over pairs of P, and over pairs of Q; minus that between
        if self.estimator == "biased":
            return within * (len(y) / (n * m)) ** 2
        if min(n.min(), m.min()) < 2:
            raise ValueError(
                "`estimator='unbiased'` needs 2 rows of each sample in every relabelling, but a group of one row may "
                "be all of a sample. Use estimator='biased'."
            )
        trace = self.diagonal.sum()
        itself = self.diagonal @ y + trace * n / len(y)  # pairs of a row of P with itself
        in_p, in_q = within - itself, within - (trace - itself)
        return np.asarray(in_p / (n * (n - 1)) + in_q / (m * (m - 1)) + 2 * within / (n * m))


class KernelFisher:
    """The statistic of the kernel Fisher discriminant of relabelled rows, from a centred kernel matrix.

    `k` is overwritten. There is one factorisation for each number of rows that relabellings give to the first
    sample: one, unless whole groups of different sizes are relabelled.
    """

    def __init__(self, k: Matrix, ridge: float, weighting: Weighting = "pooled") -> None:
        k /= len(k)
        self.w, self.ridge, self.weighting = k, ridge, weighting
        self._norm = float(np.abs(k).sum(axis=0).max())
        self._kept: dict[tuple[str, float], Matrix] = {}

    def __call__(self, y: Matrix) -> Values:
        n, _ = _sizes(y)
        t = np.empty(y.shape[1])
        for size in np.unique(n):
            same = n == size
            t[same] = self._of_one_size(y if same.all() else y[:, same], int(size))
        return t

    def _of_one_size(self, y: Matrix, n: int) -> Values:
        c = n / len(y)
        z = self._solved(y, c)
        return _column_products(self.w @ y, z) / (self.ridge * c * (1 - c) * _column_products(y, z))

    def _solved(self, y: Matrix, c: float) -> Matrix:
        """``(W + ridge E)^-1 y``, column by column."""
        if self.weighting == "pooled" or c == 0.5:
            z, _ = lapack.dpotrs(self._once(self._factorised, c * (1 - c)), y, lower=1)
            return np.asarray(z)
        least = min(c, 1 - c)
        small = (y > 0) if c < 0.5 else (y < 0)  # A
        r, t = self._once(self._inverted, (1 - least) ** 2), self.ridge * (1 - 2 * least)
        start = r @ y
        solve = _solved_together if least > _TOGETHER_FROM else _solved_each
        x = solve(r, np.where(small, start, 0.0), small, t, (least / (1 - least)) ** 2)
        return np.asarray(start + t * (r @ x))

    def _once(self, make: Callable[[float], Matrix], noise: float) -> Matrix:
        """What `make` makes for this noise; the last one is kept for further relabellings of the same sizes."""
        key = (make.__name__, noise)
        if key not in self._kept:
            self._kept.clear()
            self._kept[key] = make(noise)
        return self._kept[key]

    def _inverted(self, noise: float) -> Matrix:
        """``(W + ridge noise)^-1``."""
        lower, _ = lapack.dpotri(self._factorised(noise), lower=1, overwrite_c=1)
        return np.asarray(np.tril(lower) + np.tril(lower, -1).T)

    def _factorised(self, noise: float) -> Matrix:
        """Lower Cholesky factor of ``W + ridge noise``."""
        smallest = 8 * np.finfo(np.float64).eps * self._norm / noise
        if self.ridge <= smallest:
            raise ValueError(
                f"`ridge` must be larger than the rounding of the kernel matrix (about {smallest:.1e}), got "
                f"{self.ridge!r}. Use a larger ridge, or bring the columns to a common scale."
            )
        shifted = self.w.copy(order="F")
        shifted.flat[:: len(shifted) + 1] += self.ridge * noise
        factor, info = lapack.dpotrf(shifted, lower=1, overwrite_a=1)
        if info:
            raise ValueError(
                "`kernel` must be positive semidefinite, but its matrix has a negative eigenvalue that `ridge` does not"
                f" lift above zero, got {self.ridge!r}. Use a larger ridge, or a kernel such as Gaussian()."
            )
        return np.asarray(factor)


def _solved_each(r: Matrix, right: Matrix, small: NDArray[np.bool_], t: float, lowest: float) -> Matrix:
    """``(I - t A R A) x = right`` for each column by itself: a system of the size of the smaller sample."""
    x = np.zeros_like(right)
    for column, rows in enumerate(np.flatnonzero(of) for of in small.T):
        system = -t * r[rows[:, None], rows]
        system.flat[:: len(rows) + 1] += 1
        _, x[rows, column], _ = lapack.dposv(system, right[rows, column], overwrite_a=1)
    return x


def _solved_together(r: Matrix, right: Matrix, small: NDArray[np.bool_], t: float, lowest: float) -> Matrix:
    """The same by Chebyshev's iteration: eigenvalues lie between `lowest` and 1 (Saad 2003, Algorithm 12.1)."""
    middle, half, root = (1 + lowest) / 2, (1 - lowest) / 2, math.sqrt(lowest)
    steps = math.ceil(math.log(_CONVERGED / 2) / math.log((1 - root) / (1 + root)))
    x, residual, rho = np.zeros_like(right), right.copy(), half / middle
    step, weight = residual / middle, t * small  # t A
    for _ in range(steps):
        x += step
        image = r @ step
        image *= weight
        image -= step
        residual += image
        following = 1 / (2 * middle / half - rho)
        step *= following * rho
        step += (2 * following / half) * residual
        rho = following
    return x


def _sizes(y: Matrix) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the first and of the second sample in each relabelling."""
    n = np.count_nonzero(y > 0, axis=0)
    return n, len(y) - n


def _column_products(a: Matrix, b: Matrix) -> Values:
    return np.asarray(np.einsum("ij,ij->j", a, b))
