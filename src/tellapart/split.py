"""Who learns, who judges: disjoint training and test rows of each sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks as checks
from tellapart._arrays import IndexArray
from tellapart.samples import Samples

# A share of the rows, or the training rows of `x` and of `y` (indices or boolean masks).
TrainShare: TypeAlias = float | tuple[ArrayLike, ArrayLike]

_FEWEST = 2  # rows of one sample on either side: a variance needs two


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test samples, and where their rows stood in the samples that were split."""

    train: Samples
    test: Samples
    train_rows: tuple[IndexArray, IndexArray]
    test_rows: tuple[IndexArray, IndexArray]


def split_samples(samples: Samples, train_share: TrainShare, rng: np.random.Generator) -> Split:
    """Split each sample at random, `train_share` of its rows (rounded up) for training.

    The split looks at nothing but the number of rows, so the test rows stay independent of whatever is
    learned from the training rows.
    """
    rows_x, rows_y = _training_rows(samples, train_share, rng)
    rest_x = np.setdiff1d(np.arange(samples.n), rows_x)
    rest_y = np.setdiff1d(np.arange(samples.m), rows_y)
    return Split(samples.take(rows_x, rows_y), samples.take(rest_x, rest_y), (rows_x, rows_y), (rest_x, rest_y))


def no_split(samples: Samples) -> Split:
    """Nothing to learn: every row judges."""
    nobody, rows_x, rows_y = np.empty(0, dtype=np.intp), np.arange(samples.n), np.arange(samples.m)
    for name, size in (("x", samples.n), ("y", samples.m)):
        if size < _FEWEST:
            raise ValueError(f"`{name}` must have at least {_FEWEST} rows, got {size}.")
    return Split(samples.take(nobody, nobody), samples, (nobody, nobody), (rows_x, rows_y))


def _training_rows(samples: Samples, share: TrainShare, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
    if isinstance(share, tuple | list):
        if len(share) != 2:
            raise ValueError(f"`train_share` must be one share or two arrays of training rows, got {len(share)} items.")
        return _checked_rows(share[0], samples.n, "x"), _checked_rows(share[1], samples.m, "y")
    checked = checks.share("train_share", share, usual=0.5)
    return _drawn_rows(samples.n, checked, rng, "x"), _drawn_rows(samples.m, checked, rng, "y")


def _drawn_rows(size: int, share: float, rng: np.random.Generator, name: str) -> IndexArray:
    if size < 2 * _FEWEST:
        raise ValueError(
            f"`{name}` must have at least {2 * _FEWEST} rows, {_FEWEST} to learn from and {_FEWEST} to judge, "
            f"got {size}."
        )
    return rng.permutation(size)[: training_size(size, share)]


def training_size(size: int, share: float) -> int:
    """ceil(share * size), but at least 2 rows on either side.

    >>> training_size(100, 0.5), training_size(100, 0.001), training_size(5, 0.9)
    (50, 2, 3)
    """
    wanted = math.ceil(share * size - 1e-9)  # 0.1 * 30 is 3, not the 4 that binary fractions make of it
    return min(max(wanted, _FEWEST), size - _FEWEST)


def _checked_rows(rows: ArrayLike, size: int, name: str) -> IndexArray:
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (size,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ValueError(
            f"`train_share`: training rows of `{name}` must be indices or a mask of length {size}, "
            f"got {given.dtype} of shape {given.shape}."
        )
    chosen = np.unique(given)
    if len(chosen) < len(given) or (len(chosen) and (chosen[0] < 0 or chosen[-1] >= size)):
        raise ValueError(f"`train_share`: training rows of `{name}` must be distinct and within 0..{size - 1}.")
    if not _FEWEST <= len(chosen) <= size - _FEWEST:
        raise ValueError(
            f"`train_share`: `{name}` must keep at least {_FEWEST} rows on either side, "
            f"got {len(chosen)} training rows of {size}."
        )
    return given.astype(np.intp)
