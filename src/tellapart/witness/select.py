"""Model selection: the kernel and ridge whose Fisher witness has the highest cross-validated signal-to-noise ratio.

Everything happens on the training half, so the test half is as fresh for the chosen witness as for any other. For
each kernel the distances, and for each kernel and fold one reduction of the matrix, serve the whole row of ridges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._progress import progress
from tellapart.kernels import BandwidthGrid, Gaussian, Kernel, as_kernel, kernel_matrix
from tellapart.moments import column_snr
from tellapart.pairs import Pairs, Shares
from tellapart.samples import Samples
from tellapart.witness.base import Estimator, KernelWitness
from tellapart.witness.fisher import (
    Covariance,
    TwoClasses,
    checked_ridge,
    fisher_coefficients,
    is_flat,
    refuse_too_many,
)
from tellapart.witness.shifted import RidgeTooSmall

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
PAPER_RIDGES = tuple(float(r) for r in np.logspace(-4, 3, 5))
PAPER_KERNELS = tuple(Gaussian(float(s)) for s in np.logspace(-3, 1, 10))


@dataclass(frozen=True, eq=False)
class Selection:
    """The whole grid: what was tried, how each pair of kernel and ridge scored, which one was chosen."""

    kernels: tuple[Kernel, ...]
    ridges: tuple[float, ...]
    scores: NDArray[np.float64]  # (kernels, ridges): mean SNR over folds; -inf where a witness could not be computed
    fold_scores: NDArray[np.float64]  # (kernels, ridges, folds)
    chosen: tuple[int, int]

    @property
    def kernel(self) -> Kernel:
        return self.kernels[self.chosen[0]]

    @property
    def ridge(self) -> float:
        return self.ridges[self.chosen[1]]

    @property
    def snr(self) -> float:
        """Cross-validated SNR of the chosen pair: optimistic, because it is the best of many."""
        return float(self.scores[self.chosen])


@dataclass(frozen=True, eq=False)
class SelectedWitness(KernelWitness):
    """A kernel witness that knows the grid that it was chosen from."""

    selection: Selection


@dataclass
class Select(Estimator):
    """Fisher witness with kernel and ridge chosen by cross-validated signal-to-noise ratio.

    Parameters
    ----------
    kernels : BandwidthGrid, sequence of kernels, or None
        Candidates. None is ``BandwidthGrid()``: ten Gaussians whose bandwidths span the distances among the pooled
        training rows, after every column is divided by its spread.
    ridges : sequence of float
        Candidates; ``inf`` stands for the mean (MMD) witness. The default is the paper's grid.
    folds : int or iterable of (train, validation) index pairs
        Number of stratified folds of the training rows, or the folds themselves.
    covariance : {"corrected", "printed"}
        See :class:`Fisher`.
    random_state : int, optional
        Seed of the folds when used as a scikit-learn estimator; :func:`tellapart.witness_test` passes its own `rng`.

    Notes
    -----
    Ties go to the first candidate. A kernel that is constant on the training rows, or a ridge below the rounding of
    its matrix, scores -inf; only if nothing is left is that an error.
    """

    kernels: Any = None
    ridges: Sequence[float] = PAPER_RIDGES
    folds: Any = 2
    covariance: Covariance = "corrected"
    random_state: Any = None

    @classmethod
    def paper(cls) -> Select:
        """The paper's: 10 Gaussian bandwidths from 1e-3 to 10, 5 ridges from 1e-4 to 1e3, 2 folds, its formula."""
        return cls(kernels=PAPER_KERNELS, ridges=PAPER_RIDGES, folds=2, covariance="printed")

    def learn(self, train: Samples, rng: np.random.Generator) -> SelectedWitness:
        """Score the grid on the training samples, then refit its best pair on all of them."""
        selection = self.search(train, rng)
        rows = train.pooled
        k = kernel_matrix(selection.kernel, Pairs(rows, rows))
        classes = TwoClasses(train.n, len(rows), self.covariance)
        return SelectedWitness(selection.kernel, rows, fisher_coefficients(k, classes, [selection.ridge])[0], selection)

    def search(self, train: Samples, rng: np.random.Generator) -> Selection:
        """Score the grid on the training samples."""
        refuse_too_many(train)
        ridges = tuple(checked_ridge(r) for r in listed("ridges", self.ridges))
        rows = train.pooled
        kernels = candidates(self.kernels, rows, rng, train.shares)
        folds = [_FoldGrid(rows, train.n, ridges, fold, self.covariance) for fold in make_folds(self.folds, train, rng)]
        scores = [
            np.stack([fold.scores(kernel) for fold in folds], axis=1)
            for kernel in progress(kernels, "choosing the kernel")
        ]
        return best_of(kernels, ridges, np.array(scores), varied=bool((rows != rows[0]).any()))

    def _learn_in_order(self, train: Samples, order: NDArray[np.intp], rng: np.random.Generator) -> SelectedWitness:
        if isinstance(self.folds, int | np.integer):
            return self.learn(train, rng)
        place = np.empty_like(order)  # the user's folds number the rows as the user passed them
        place[order] = np.arange(len(order))
        labels = np.repeat([1, 0], [train.n, train.m])[place]
        moved = [(place[a], place[b]) for a, b in _given_folds(self.folds, train.pooled[place], labels)]
        return replace(self, folds=moved).learn(train, rng)


def candidates(kernels: Any, rows: NDArray[Any], rng: np.random.Generator, shares: Shares = None) -> list[Kernel]:
    """The kernels of a grid, with their bandwidths for these pooled rows."""
    grid = BandwidthGrid() if kernels is None else kernels
    if isinstance(grid, BandwidthGrid):
        return grid.kernels(rows, rng, shares)
    return [as_kernel(k).resolved(rows, rng, shares) for k in listed("kernels", grid)]


def listed(name: str, value: Any) -> list[Any]:
    """A non-empty sequence as a list."""
    if isinstance(value, str) or not isinstance(value, Iterable) or not (items := list(value)):
        raise ValueError(f"`{name}` must be a non-empty sequence, got {value!r}.")
    return items


class _FoldGrid:
    """One fold of the training rows, with the distances that all kernels share."""

    def __init__(
        self, rows: NDArray[Any], n: int, ridges: tuple[float, ...], fold: Fold, covariance: Covariance
    ) -> None:
        learn, judge = fold
        self.ridges = ridges
        self.inner = Pairs(rows[learn], rows[learn])
        self.outer = Pairs(rows[judge], rows[learn])
        self.classes = TwoClasses(int((learn < n).sum()), len(learn), covariance)
        self.n_judge = int((judge < n).sum())
        self.alike = bool((self.inner.a == self.inner.a[0]).all())

    def scores(self, kernel: Kernel) -> NDArray[np.float64]:
        """SNR of every ridge on the validation rows; NaN where a witness could not be computed."""
        scores = np.full(len(self.ridges), np.nan)
        k = kernel_matrix(kernel, self.inner)
        if self.alike:  # a rare event that is not in this fold: the witness is zero, not out of reach
            return np.zeros(len(self.ridges))
        if is_flat(k):
            return scores
        usable, coefficients = bearable(self.ridges, lambda some: fisher_coefficients(k, self.classes, some))
        if usable:
            scores[usable] = column_snr(kernel_matrix(kernel, self.outer) @ coefficients.T, self.n_judge)
        return scores


def bearable(
    ridges: Sequence[float], solve: Callable[[list[float]], NDArray[np.float64]]
) -> tuple[list[int], NDArray[np.float64]]:
    """Which ridges the matrix of `solve` can bear, and what it returns for these."""
    usable = list(range(len(ridges)))
    while usable:
        try:
            return usable, solve([ridges[i] for i in usable])
        except RidgeTooSmall:
            usable.remove(min(usable, key=lambda i: ridges[i]))
    return usable, np.empty((0, 0))


def make_folds(folds: Any, train: Samples, rng: np.random.Generator) -> list[Fold]:
    """Folds of the pooled training rows; in each part, rows of the first sample come first."""
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer):
        labels = np.repeat([1, 0], [train.n, train.m])
        return [(np.sort(a), np.sort(b)) for a, b in _given_folds(folds, train.pooled, labels)]
    fewest = min(train.n, train.m)
    most = max(2, fewest // 2)
    if not 2 <= folds <= most:
        raise ValueError(
            f"`folds` must be between 2 and {most}, so that every fold has 2 rows of each sample, of which the smaller "
            f"has {fewest} training rows, got {folds}."
        )
    part = np.concatenate([rng.permutation(train.n) % folds, rng.permutation(train.m) % folds])
    return [(np.flatnonzero(part != f), np.flatnonzero(part == f)) for f in range(folds)]


def _given_folds(folds: Any, rows: NDArray[Any], labels: NDArray[Any]) -> list[Fold]:
    """Folds from a scikit-learn splitter or from pairs of indices, each part with rows of both samples."""
    if not (hasattr(folds, "split") or isinstance(folds, Iterable)) or isinstance(folds, str):
        raise TypeError(f"`folds` must be a whole number, a splitter or pairs of index arrays, got {folds!r}.")
    if isinstance(folds, Iterator):
        raise TypeError("`folds` must last for more than one run, got an iterator. Pass list(folds) or a splitter.")
    pairs = folds.split(rows, labels) if hasattr(folds, "split") else folds
    found = [(_fold_rows(a, labels), _fold_rows(b, labels)) for a, b in pairs]
    if not found:
        raise ValueError("`folds` must hold at least one pair of training and validation rows, got none.")
    return found


def _fold_rows(rows: Any, labels: NDArray[Any]) -> NDArray[np.intp]:
    """Indices from indices or a mask, with at least two rows of each sample."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == labels.shape:
        given = np.flatnonzero(given)
    whole = given.ndim == 1 and given.dtype.kind in "iu"
    inside = whole and len(given) > 0 and given.min() >= 0 and given.max() < len(labels)
    if not inside or min(labels[given].sum(), (1 - labels[given]).sum()) < 2:
        raise ValueError("`folds` must be indices of training rows, with two rows of both samples in every part.")
    return given.astype(np.intp)


def _mean_over_folds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean SNR over the last axis; +inf and -inf in one row say nothing and count as 0."""
    with np.errstate(invalid="ignore"):
        mean = scores.mean(axis=-1)
    return np.where(np.isnan(mean), 0.0, mean)


def best_of(
    kernels: list[Kernel], ridges: tuple[float, ...], fold_scores: NDArray[np.float64], varied: bool
) -> Selection:
    """The grid with the pair of the highest mean score; the first of several. NaN: could not be computed."""
    # An SNR of -inf is a score too: on few rows a witness without noise may have the wrong sign. NaN is none.
    computed = ~np.isnan(fold_scores).any(axis=-1)
    if varied and not computed.any():
        raise ValueError(
            f"`kernels` must contain one that tells the training rows apart, but all {len(kernels)} are constant on "
            "them or too ill-conditioned for these ridges. Leave `kernels` out, or bring the columns to a common scale."
        )
    fold_scores = np.where(np.isnan(fold_scores), -np.inf, fold_scores)
    scores = np.where(computed, _mean_over_folds(fold_scores), -np.inf)
    usable = np.flatnonzero(computed) if computed.any() else np.zeros(1, dtype=np.intp)
    best = np.unravel_index(int(usable[np.argmax(scores.ravel()[usable])]), scores.shape)
    return Selection(tuple(kernels), ridges, scores, fold_scores, (int(best[0]), int(best[1])))
