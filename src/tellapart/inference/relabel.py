"""Sums of witness values over random relabellings of the rows.

Two ways, both exact:

- *Independent permutations*, by shuffling: B N random numbers.
- *Rotations of randomly ordered rows*, for many rows. Put the rows in a random order once; then the N cyclic
  rotations of the labels along that order form a group of relabellings, and a p-value over a group (or over elements
  drawn from it without replacement, the identity added) is exact for the same reason as over all permutations
  (Hemerik and Goeman 2018, Theorem 2): under the null hypothesis the data are exchangeable, hence distributed like
  each of their images under the group. The sums of all N rotations are one circular cross-correlation, that is
  three Fourier transforms: a million rows take a tenth of a second instead of the 24 s that a thousand shuffles take.

References
----------
Hemerik, Goeman (2018). Exact testing with random permutations. doi:10.1007/s11749-017-0571-1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from tellapart._progress import progress

Values = NDArray[np.float64]

_ROTATE_FROM = 10_000  # rows; below, a thousand shuffles take less than a fifth of a second
_BATCH = 2**18  # shuffled numbers held at a time


def relabelled_differences(
    h: Values, n: int, draws: int, rng: np.random.Generator, may_stop: bool = False
) -> Iterator[Values]:
    """Differences in means of `n` relabelled rows and the others, in batches: `draws` of them in all.

    `h` holds the pooled witness values, with mean zero. Small batches if the caller may stop early.
    """
    m = len(h) - n
    if len(h) >= _ROTATE_FROM and draws < len(h):
        sums = _rotated_sums(h, n, draws, rng)
    else:
        sums = _shuffled_sums(h, n, draws, rng, _BATCH // 32 if may_stop else _BATCH)
    total = float(h.sum())
    for batch in sums:
        yield batch * (1 / n + 1 / m) - total / m


def _shuffled_sums(h: Values, n: int, draws: int, rng: np.random.Generator, batch: int) -> Iterator[Values]:
    """Sums over `n` rows drawn without replacement, independently `draws` times."""
    fewer = min(n, len(h) - n)
    size = max(1, batch // len(h))
    for start in progress(range(0, draws, size), "permutations"):
        shuffled = rng.permuted(np.broadcast_to(h, (min(size, draws - start), len(h))), axis=1)
        sums = shuffled[:, :fewer].sum(axis=1)
        yield sums if fewer == n else h.sum() - sums


def _rotated_sums(h: Values, n: int, draws: int, rng: np.random.Generator) -> Iterator[Values]:
    """Sums under `draws` different rotations (never the identity) of the labels of randomly ordered rows."""
    place = rng.permutation(len(h))
    ordered, labels = np.empty_like(h), np.zeros_like(h)
    ordered[place] = h
    labels[place[:n]] = 1.0
    # sums[s] = sum_i labels[i] ordered[i + s], all s at once
    sums = fft.irfft(fft.rfft(ordered) * np.conj(fft.rfft(labels)), len(h))
    yield sums[1 + rng.choice(len(h) - 1, draws, replace=False, shuffle=True)]
