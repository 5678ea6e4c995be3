"""A kernel from a grid whose MMD has the highest signal-to-noise ratio: the J criterion of optimised MMD tests.

The squared MMD is the difference in means of its own witness, ``MMD^2 = mean_P h - mean_Q h`` with ``h = mu_P - mu_Q``,
and its variance under the alternative comes from the noise of h: ``sigma^2 = 2 (var_P h / c + var_Q h / (1 - c))``,
which for n = m is the ``4 (var_P h + var_Q h)`` of Liu et al. Hence

    J = MMD^2 / sigma = SNR(h) / sqrt(2)

for every kernel (the paper's appendix on the witness objective and the kernel objective): the best kernel of an MMD
test and the best mean witness are one choice. Both sides hold for the V-statistic, where h is learned from all rows,
and for the U-statistic, where the value of h at a row is learned without that row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._progress import progress
from tellapart.kernels import Kernel, kernel_matrix
from tellapart.moments import WitnessMoments
from tellapart.pairs import Pairs
from tellapart.samples import Samples
from tellapart.witness.fisher import is_flat, mean_coefficients, refuse_too_many
from tellapart.witness.select import Select, Selection, best_of, candidates

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class OptimisedKernel:
    """Kernel learner: the kernel of a grid with the highest J criterion, or signal-to-noise ratio, of its MMD.

    ``mmd_test(x, y, kernel=OptimisedKernel())`` is the paper's ``opt-mmd-boot``, and
    ``witness_test(x, y, learner=Mean(OptimisedKernel()))`` its ``opt-mmd-witness``.

    Parameters
    ----------
    kernels : BandwidthGrid, sequence of kernels, or None
        Candidates, as in :class:`tellapart.Select`.
    criterion : {"J", "snr"}
        "J" is computed once on all training rows, from the unbiased MMD. "snr" is the signal-to-noise ratio of the mean
        witness on rows that it did not learn from, averaged over `folds`: the choice that
        ``Select(kernels, ridges=[inf], folds)`` makes.
    variance_ridge : float
        For "J": added to the variance, so that a kernel without noise on few rows does not win by that alone. Liu et
        al. use 1e-8. The scale is that of the squared values of the kernel.
    folds : int
        For "snr".

    Notes
    -----
    ``J = MMD^2 / sqrt(sigma^2 + variance_ridge)``, and without `variance_ridge` it is ``SNR / sqrt(2)`` of the MMD's
    own witness. Time O(N^2) for each kernel and N training rows, at most 12,000 of them. Which kernel it was: the
    `kernel` of the result of ``mmd_test``, ``result.witness.function.kernel`` of that of ``witness_test``, and the
    whole grid with its scores from ``search(train, rng)``.

    References
    ----------
    Sutherland et al. (2017). Generative models and model criticism via optimized MMD. ICLR. arXiv:1611.04488.
    Liu et al. (2020). Learning deep kernels for non-parametric two-sample tests. ICML. arXiv:2002.09116.

    Examples
    --------
    >>> from tellapart.datasets import blobs
    >>> from tellapart.kernels import Gaussian
    >>> from tellapart.samples import as_samples
    >>> train = as_samples(*blobs(200, theta=np.pi / 4, rng=0))
    >>> learner = OptimisedKernel([Gaussian(0.01), Gaussian(0.2), Gaussian(5.0)])
    >>> learner.learn_kernel(train, np.random.default_rng(0))
    Gaussian(bandwidth=0.2)
    """

    kernels: Any = None
    criterion: Literal["J", "snr"] = "J"
    variance_ridge: float = 1e-8
    folds: int = 2

    def __post_init__(self) -> None:
        checks.one_of("criterion", self.criterion, ("J", "snr"))
        checks.not_negative("variance_ridge", self.variance_ridge)

    def learn_kernel(self, train: Samples, rng: np.random.Generator) -> Kernel:
        """The best kernel of the grid on these training rows."""
        return self.search(train, rng).kernel

    def search(self, train: Samples, rng: np.random.Generator) -> Selection:
        """The whole grid with its scores: J, or cross-validated signal-to-noise ratios."""
        if self.criterion == "snr":
            return Select(self.kernels, ridges=(math.inf,), folds=self.folds).search(train, rng)
        refuse_too_many(train)
        rows = train.pooled
        kernels, pairs = candidates(self.kernels, rows, rng, train.shares), Pairs(rows, rows)
        scores = [self._j(kernel, pairs, train.n) for kernel in progress(kernels, "choosing the kernel")]
        return best_of(
            kernels, (math.inf,), np.array(scores)[:, None, None], varied=bool((rows != rows[0]).any())
        )  # one ridge, one fold

    def _j(self, kernel: Kernel, pairs: Pairs, n: int) -> float:
        k = kernel_matrix(kernel, pairs)
        return math.nan if is_flat(k) else j_criterion(k, n, self.variance_ridge)


def j_criterion(
    k: Matrix, n: int, variance_ridge: float = 0.0, estimator: Literal["biased", "unbiased"] = "unbiased"
) -> float:
    """``MMD^2 / sqrt(sigma^2 + variance_ridge)`` from the kernel matrix of rows of which the first `n` are of P.

    >>> k = np.array([[1.0, 0.8, 0.1, 0.2], [0.8, 1.0, 0.3, 0.1], [0.1, 0.3, 1.0, 0.7], [0.2, 0.1, 0.7, 1.0]])
    >>> round(j_criterion(k, 2), 3), round(j_criterion(k, 2, variance_ridge=0.1), 3)
    (16.263, 3.549)
    """
    h = own_values(k, n, estimator)
    w, c = WitnessMoments.of(h[:n], h[n:]), n / len(h)
    sigma = math.hypot(w.sd_x * math.sqrt(2 / c), w.sd_y * math.sqrt(2 / (1 - c)), math.sqrt(variance_ridge))
    if sigma > 0:
        return w.difference / sigma
    return math.copysign(math.inf, w.difference) if w.difference else 0.0


def own_values(k: Matrix, n: int, estimator: Literal["biased", "unbiased"] = "unbiased") -> NDArray[np.float64]:
    """The mean witness on the rows that it was learned from; "unbiased" leaves each row out of its own witness.

    The difference in means of these values is the V-statistic, or the U-statistic, of the squared MMD.
    """
    m = len(k) - n
    if estimator == "biased":
        return np.asarray(k @ mean_coefficients(n, m))
    if min(n, m) < 2:
        raise ValueError(f"`kernel`: the J criterion needs at least 2 training rows of each sample, got {n} and {m}.")
    own, itself = np.repeat([[1.0, 0.0], [0.0, 1.0]], [n, m], axis=0), k.diagonal()[:, None]  # (N, 2), (N, 1)
    means = (k @ own - own * itself) / (np.array([n, m]) - own)  # to the other rows of P, and of Q
    return np.asarray(means[:, 0] - means[:, 1])
