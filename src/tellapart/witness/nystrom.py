"""The Fisher witness on any number of rows: few centres in place of all, and moments that add.

For centres C, drawn without looking at labels, let ``k(C, C) = L L'`` and ``phi(z) = L^-1 k(C, z)``. The inner products
of these features are the best approximation to the kernel from the centres, and the Fisher witness of the features is

    h(z) = phi(z)' w,    w = (Sigma_P / c + Sigma_Q / (1 - c) + ridge I)^-1 (mu_P - mu_Q).

It needs number, mean and scatter of phi on each sample. These add (:mod:`tellapart.moments`), so every row is seen
once, in chunks: O(N M^2) operations for N rows and M centres, and memory for M^2 numbers and a chunk. The features of
all training rows as centres span what the training rows span, so the witness is then that of
:class:`tellapart.Fisher`.

The appendix of the paper solves the same problem for the coefficients, ``(R R' / N + ridge k(C, C)) a = k(C, Z)
delta`` with ``R = k(C, Z) S``, by preconditioned conjugate gradients, each step of which passes over all rows.
``benchmarks/nystrom.py`` compares the two.

Several ridges: with the moments of each fold, those of the others are a sum, and the signal-to-noise ratio of w on the
fold left out is a function of ``w' mu`` and ``w' Sigma w`` alone. So the whole cross-validation is exact and looks at
no row twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._arrays import FloatArray, chunks
from tellapart._progress import progress
from tellapart.kernels import Kernel, kernel_matrix
from tellapart.landmarks import FeatureMap, pivots
from tellapart.moments import Moments, WitnessMoments
from tellapart.pairs import Pairs
from tellapart.samples import Samples
from tellapart.witness.base import Estimator, KernelWitness, kernel_for
from tellapart.witness.fisher import Covariance, checked_ridge, refuse_flat
from tellapart.witness.select import SelectedWitness, bearable, best_of, listed, make_folds
from tellapart.witness.shifted import solve_shifted

TwoMoments = tuple[Moments, Moments]  # of the features on either sample

_CHUNK = 2**22  # numbers in a block of the kernel matrix
_PILOT = 10  # rows for each centre, among which centres are looked for
_LEAST_PILOT = 2000


@dataclass
class Nystrom(Estimator):
    """Fisher witness from a few centres: for any number of training rows, in one pass over them.

    Parameters
    ----------
    kernel : Kernel, callable or KernelLearner, optional
        As in :class:`Fisher`.
    ridge : float or sequence of float
        Regularisation. Of several, the one whose witness has the highest signal-to-noise ratio on the folds left out.
    centres : int
        At most so many; all training rows if there are no more, which is :class:`Fisher` exactly.
    covariance : {"corrected", "printed"}
        As in :class:`Fisher`.
    folds : int
        Where there are several ridges to choose from.
    random_state : int, optional
        Seed when used as a scikit-learn estimator; :func:`tellapart.witness_test` passes its own `rng`.

    Notes
    -----
    ``h = phi' (Sigma_P / c + Sigma_Q / (1 - c) + ridge I)^-1 (mu_P - mu_Q)``, up to a positive factor, for the Nystrom
    features phi of centres that are found among a random part of the pooled rows by randomly pivoted Cholesky
    decomposition. Time O(N M^2), memory O(M^2) for M centres.

    References
    ----------
    Rudi, Carratino, Rosasco (2017). FALKON: an optimal large scale kernel method. NeurIPS.
    Chen, Epperly, Tropp, Webber (2025). Randomly pivoted Cholesky. doi:10.1002/cpa.22234.

    Examples
    --------
    >>> from tellapart.datasets import blobs
    >>> from tellapart.kernels import Gaussian
    >>> from tellapart.samples import as_samples
    >>> witness = Nystrom(Gaussian(0.2), centres=100).learn(as_samples(*blobs(5000, rng=0)), np.random.default_rng(0))
    >>> witness.centres.shape
    (100, 2)
    """

    kernel: Any = None
    ridge: float | Sequence[float] = 1e-2
    centres: int = 300
    covariance: Covariance = "corrected"
    folds: int = 5
    random_state: Any = None

    def learn(self, train: Samples, rng: np.random.Generator) -> KernelWitness:
        """The witness of the training samples; it knows its grid if there are several ridges."""
        several = isinstance(self.ridge, Iterable) and not isinstance(self.ridge, str)
        ridges = tuple(checked_ridge(r) for r in (listed("ridge", self.ridge) if several else [self.ridge]))
        checks.one_of("covariance", self.covariance, ("corrected", "printed"))
        kernel = kernel_for(self.kernel, train, rng)
        mapped = FeatureMap.exact(kernel, self._chosen(kernel, train.pooled, rng))
        if several:
            return self._selected(mapped, train, ridges, rng)
        moments = moments_of(mapped, train.x), moments_of(mapped, train.y)
        w = directions(*moments, ridges, self.covariance)[0]
        return KernelWitness(kernel, mapped.landmarks, mapped.whitening @ w)

    def _chosen(self, kernel: Kernel, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The centres, chosen from the pooled rows without their labels."""
        count = checks.whole("centres", self.centres, least=2)
        if count < len(rows):
            few = max(_LEAST_PILOT, _PILOT * count)
            pilot = rows if len(rows) <= few else rows[np.sort(rng.choice(len(rows), few, replace=False))]
            chosen = pilot[pivots(kernel, pilot, count, rng)]
        else:
            chosen = rows
        refuse_flat(kernel, kernel_matrix(kernel, Pairs(chosen, chosen)), rows)
        return chosen

    def _selected(
        self, mapped: FeatureMap, train: Samples, ridges: tuple[float, ...], rng: np.random.Generator
    ) -> SelectedWitness:
        """The witness of the best ridge."""
        parts = [judged for _, judged in make_folds(self.folds, train, rng)]
        of_folds = [_moments_of_part(mapped, train, part) for part in parts]
        scores = [
            fold_scores(together(of_folds[:f] + of_folds[f + 1 :]), fold, ridges, self.covariance)
            for f, fold in enumerate(of_folds)
        ]
        varied = bool((train.pooled != train.pooled[0]).any())
        selection = best_of([mapped.kernel], ridges, np.stack(scores, axis=1)[None], varied)
        w = directions(*together(of_folds), [selection.ridge], self.covariance)[0]
        return SelectedWitness(mapped.kernel, mapped.landmarks, mapped.whitening @ w, selection)


def moments_of(mapped: FeatureMap, rows: FloatArray) -> Moments:
    """Moments of the features of any number of rows, a chunk at a time."""
    parts = progress(list(chunks(len(rows), len(mapped.landmarks), _CHUNK)), "moments of the features")
    return reduce(add, (Moments.of(mapped.features(Pairs(rows[part], mapped.landmarks))) for part in parts))


def _moments_of_part(mapped: FeatureMap, train: Samples, part: NDArray[np.intp]) -> TwoMoments:
    """Moments of some of the pooled rows, by sample."""
    of_x, of_y = part[part < train.n], part[part >= train.n] - train.n
    return moments_of(mapped, train.x[of_x]), moments_of(mapped, train.y[of_y])


def together(moments: Sequence[TwoMoments]) -> TwoMoments:
    """Moments of several folds."""
    return reduce(add, (p for p, _ in moments)), reduce(add, (q for _, q in moments))


def directions(p: Moments, q: Moments, ridges: Sequence[float], covariance: Covariance) -> NDArray[np.float64]:
    """``ridge (Sigma + ridge I)^-1 (mu_P - mu_Q)``, one row for each ridge; ``inf`` gives the difference of means."""
    c = p.n / (p.n + q.n)
    weights = (1 / c, 1 / (1 - c)) if covariance == "corrected" else (1.0, 1.0)
    delta = p.mean - q.mean
    w = np.tile(delta, (len(ridges), 1))
    finite = np.array([r for r in ridges if math.isfinite(r)])
    if len(finite):
        sigma = weights[0] * p.variance + weights[1] * q.variance
        w[np.isfinite(ridges)] = finite[:, None] * solve_shifted(sigma, delta, finite.tolist())
    return w


def fold_scores(
    others: TwoMoments, fold: TwoMoments, ridges: Sequence[float], covariance: Covariance
) -> NDArray[np.float64]:
    """SNR on a fold of the witnesses of the others, for every ridge; NaN where one could not be computed."""
    scores = np.full(len(ridges), np.nan)
    usable, w = bearable(ridges, lambda some: directions(*others, some, covariance))
    scores[usable] = [_snr_of(direction, *fold) for direction in w]
    return scores


def _snr_of(w: NDArray[np.float64], p: Moments, q: Moments) -> float:
    """Signal-to-noise ratio of ``phi(z)' w`` on rows of which only the moments are known."""
    sd_p, sd_q = (math.sqrt(max(0.0, float(w @ s.variance @ w))) for s in (p, q))
    means = float(p.mean @ w), float(q.mean @ w)
    return WitnessMoments(p.n, q.n, *means, float((p.mean - q.mean) @ w), sd_p, sd_q).snr
