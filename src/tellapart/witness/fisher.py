"""The Fisher witness (kernel Fisher discriminant analysis): ``(Sigma + ridge)^-1 (mu_P - mu_Q)``, exactly.

With pooled training rows z_1..z_N, the first n from P, ``c = n / N``, kernel matrix K, the witness is
``h = sum_i alpha_i k(z_i, .)`` and the paper's formula (Kuebler et al. 2022, Eq. 10) reads

    (K N_c K / N + ridge K) alpha = K delta,    delta = (1/n, ..., 1/n, -1/m, ..., -1/m).

Solving that as it stands squares the condition number of K. Write ``N_c = S S`` with ``S = W P``: P subtracts the mean
within each class, W holds the class weights. With ``alpha = (delta + S g) / ridge`` the left side times ridge is

    K S S K delta / N + ridge K delta + K S (S K S / N + ridge I) g,

and it equals ``ridge K delta`` as soon as

    (S K S / N + ridge I) g = -S K delta / N.

So one symmetric positive definite system with the condition number of K is enough, and since its matrix does not
depend on the ridge, one reduction serves a whole grid of them. We return ``ridge alpha = delta + S g``: the positive
factor changes no test, and as the ridge grows the witness becomes the mean witness without a division by infinity.

The weights: the noise of a difference in means is ``Sigma_P / c + Sigma_Q / (1 - c)``. The paper prints
``N_c = blockdiag(P_n / c, P_m / (1 - c))``, but the empirical covariance of P is already a sum over n = cN rows, so
this estimates ``Sigma_P + Sigma_Q``. The correct weights are ``1 / c^2`` and ``1 / (1 - c)^2``. For n = m the two
differ by a factor of the ridge only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._arrays import FloatArray
from tellapart.kernels import kernel_matrix
from tellapart.pairs import Pairs
from tellapart.samples import Samples
from tellapart.witness.base import Estimator, KernelWitness, kernel_for
from tellapart.witness.shifted import solve_shifted

Covariance = Literal["corrected", "printed"]
Matrix = NDArray[np.float64]

# The exact solution holds a few N x N matrices: 12,000 rows are 1.2 GB each.
MOST_ROWS = 12_000


@dataclass
class Fisher(Estimator):
    """Fisher witness of a kernel: maximises the regularised signal-to-noise ratio, in closed form.

    Parameters
    ----------
    kernel : Kernel, callable or KernelLearner, optional
        ``Gaussian()`` with the scaled median bandwidth if not given. One that learns, such as
        :class:`tellapart.OptimisedKernel`, does so on the training rows, before the witness.
    ridge : float
        Regularisation, the lambda of the formula. ``inf`` gives the mean witness.
    covariance : {"corrected", "printed"}
        The weights of the two covariances: those of the signal-to-noise ratio, or those printed in the paper.

    Notes
    -----
    ``h = (Sigma_P / c + Sigma_Q / (1 - c) + ridge I)^-1 (mu_P - mu_Q)``, up to a positive factor. Time O(N^3),
    memory O(N^2) in the number N of training rows; at most 12,000 of them.

    References
    ----------
    Kuebler, Jitkrittum, Schoelkopf, Muandet (2022). A witness two-sample test. AISTATS. arXiv:2102.05573.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.samples import as_samples
    >>> witness = Fisher(ridge=0.1).learn(as_samples([0.0, 0.1, 0.2], [1.0, 1.1]), np.random.default_rng(0))
    >>> bool(witness(np.array([[0.1]])) > witness(np.array([[1.0]])))
    True
    """

    kernel: Any = None
    ridge: float = 1e-2
    covariance: Covariance = "corrected"

    def learn(self, train: Samples, rng: np.random.Generator) -> KernelWitness:
        """The Fisher witness of the training samples."""
        ridge = checked_ridge(self.ridge)
        kernel, k = training_matrix(self.kernel, train, rng)
        classes = TwoClasses(train.n, len(k), self.covariance)
        return KernelWitness(kernel, train.pooled, fisher_coefficients(k, classes, [ridge])[0])


@dataclass
class Mean(Estimator):
    """Mean (MMD) witness of a kernel: ``mean_i k(x_i, .) - mean_j k(y_j, .)``.

    Parameters
    ----------
    kernel : Kernel, callable or KernelLearner, optional
        As in :class:`Fisher`. ``Mean(OptimisedKernel())`` is the paper's ``opt-mmd-witness``.
    """

    kernel: Any = None

    def learn(self, train: Samples, rng: np.random.Generator) -> KernelWitness:
        """The mean witness of the training samples."""
        return KernelWitness(kernel_for(self.kernel, train, rng), train.pooled, mean_coefficients(train.n, train.m))


def mean_coefficients(n: int, m: int) -> NDArray[np.float64]:
    """``delta``: 1/n on the first n rows, -1/m on the others."""
    return np.repeat([1 / n, -1 / m], [n, m])


class TwoClasses:
    """What the solution needs to know of the labels: `n` rows of P, then the others of Q.

    P subtracts class means: ``P = I - indicators means'`` with two columns each, so applying it to a matrix is two thin
    products. One object serves all kernels of a grid.
    """

    def __init__(self, n: int, total: int, covariance: Covariance = "corrected") -> None:
        checks.one_of("covariance", covariance, ("corrected", "printed"))
        m, c = total - n, n / total
        per_class = [1 / c, 1 / (1 - c)] if covariance == "corrected" else [c**-0.5, (1 - c) ** -0.5]
        self.delta = mean_coefficients(n, m)
        self.indicators = np.repeat([[1.0, 0.0], [0.0, 1.0]], [n, m], axis=0)  # (N, 2)
        self.means = self.indicators / [n, m]  # (N, 2)
        self.weights = np.repeat(per_class, [n, m])  # W, per row

    def system(self, k: Matrix) -> tuple[Matrix, NDArray[np.float64]]:
        """``S K S / N`` and ``-S K delta / N``."""
        total = len(k)
        k_means = self.means.T @ k  # (2, N)
        # P K P = K - U H - (U H)' with U the indicators and H = M'K - (M'K M) U' / 2
        h = k_means - (0.5 * (k_means @ self.means)) @ self.indicators.T
        between = self.indicators @ h
        s_k_s = k - between
        s_k_s -= between.T
        s_k_s *= self.weights / total
        s_k_s *= self.weights[:, None]
        k_delta = k_means[0] - k_means[1]
        target = (k_delta - self.indicators @ (self.means.T @ k_delta)) * (self.weights / -total)
        return s_k_s, np.asarray(target)

    def rounding(self, k: Matrix) -> float:
        """Error of ``S K S / N``: S cancels what all kernel values have in common, but not the rounding of it."""
        largest = max(float(k.max()), -float(k.min()))
        return float(np.finfo(np.float64).eps * largest * self.weights.max() ** 2)

    def spread(self, g: Matrix) -> Matrix:
        """``S g`` for each row of `g`: (R, N)."""
        weighted: Matrix = g * self.weights
        weighted -= (weighted @ self.means) @ self.indicators.T
        return weighted


def fisher_coefficients(k: Matrix, classes: TwoClasses, ridges: Sequence[float]) -> Matrix:
    """``ridge alpha`` for every ridge, one row each: (R, N), from the kernel matrix of the training rows."""
    finite = [r for r in ridges if math.isfinite(r)]
    coefficients = np.empty((len(ridges), len(k)))
    coefficients[:] = classes.delta
    if finite:
        solved = solve_shifted(*classes.system(k), finite, rounding=classes.rounding(k))
        coefficients[np.isfinite(ridges)] += classes.spread(solved)
    return coefficients


def training_matrix(kernel: Any, train: Samples, rng: np.random.Generator) -> tuple[Any, Matrix]:
    """The resolved kernel and its matrix on the pooled training rows."""
    refuse_too_many(train)
    rows = train.pooled
    resolved = kernel_for(kernel, train, rng)
    k = kernel_matrix(resolved, Pairs(rows, rows))
    refuse_flat(resolved, k, rows)
    return resolved, k


def refuse_flat(kernel: Any, k: Matrix, rows: FloatArray) -> None:
    """Say so if a kernel does not tell rows apart that differ."""
    if is_flat(k) and (rows != rows[0]).any():
        raise ValueError(
            f"`kernel` must tell the training rows apart, but all values of {kernel!r} agree to 10 digits. "
            "Use a smaller bandwidth, bandwidth='scaled-median', or bring the columns to scale 1 and offset 0."
        )


def is_flat(k: Matrix) -> bool:
    """Whether a kernel matrix is constant up to the rounding of what it was computed from."""
    low, high = float(k.min()), float(k.max())
    return high - low <= 1e-10 * max(abs(low), abs(high))


def refuse_too_many(train: Samples) -> None:
    """Say so before memory runs out, not after."""
    if train.n + train.m > MOST_ROWS:
        raise ValueError(
            f"`learner` needs the kernel matrix of all training rows, at most {MOST_ROWS}, got {train.n + train.m}. "
            f"Pass a `train_share` that is {(train.n + train.m) / MOST_ROWS:.3g} times smaller: the others judge. "
            "Or pass Nystrom(), whose cost is linear."
        )


def checked_ridge(ridge: Any) -> float:
    """A positive number, or infinity."""
    if not (checks.is_number(ridge) and ridge > 0):
        raise ValueError(f"`ridge` must be a positive number (or inf for the mean witness), got {ridge!r}.")
    return float(ridge)
