"""Runs of two to four characters within the words of texts, hashed, and the directions in which texts differ most.

scikit-learn has both, for a vocabulary of any language as well; but importing it takes as long as the comparison of two
small files, and a million comments would pass through Python one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Matrix = NDArray[np.float64]

BUCKETS = 4096
_LENGTHS = (2, 3, 4)
_FACTOR, _MIXER = np.uint64(0x100000001B3), np.uint64(0x9E3779B97F4A7C15)  # Fowler-Noll-Vo; the golden ratio
_TOP_BITS = np.uint64(64 - 12)  # of 64, those that number the buckets
_SPACE = ord(" ")
_TOGETHER = 5_000  # texts that are looked at together


def placed(texts: Sequence[str], directions: Matrix) -> Matrix:
    """Each text along the directions: (texts, directions)."""
    parts = [np.asarray(hashed(some) @ directions) for some in _batches(texts)]
    return np.concatenate(parts) if parts else np.empty((0, directions.shape[1]))


def hashed(texts: Sequence[str]) -> csr_array:
    """How often each text has the runs of each bucket, as rows of length 1: (texts, BUCKETS).

    >>> rows = hashed(["the export is slow", "The export  is slow", "button"])
    >>> (rows @ rows.T).toarray().round(1)[0].tolist()
    [1.0, 1.0, 0.0]
    """
    characters, text = _characters(texts)
    found = [_runs(characters, text, length) for length in _LENGTHS]
    buckets, owners = (np.concatenate(part) for part in zip(*found, strict=True))
    counts = csr_array((np.ones(len(buckets)), (owners, buckets)), shape=(len(texts), BUCKETS))
    lengths = np.sqrt((counts * counts).sum(axis=1))
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def principal(rows: csr_array, width: int) -> Matrix:
    """The first right singular vectors, by a block power iteration from a fixed start: (columns, width)."""
    q = np.random.default_rng(0).normal(size=(rows.shape[1], width + 10))
    for _ in range(6):
        q = np.linalg.qr(rows.T @ (rows @ q))[0]
    inside = np.linalg.svd(rows @ q, full_matrices=False)[2]
    return np.asarray(q @ inside[:width].T)


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + _TOGETHER] for start in range(0, len(texts), _TOGETHER))


def _characters(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Characters of all texts in lower case, single spaces around their words; and the text that each is from."""
    spaced = [f" {' '.join(text.lower().split())} " for text in texts]
    points = np.frombuffer("".join(spaced).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return points.astype(np.uint64), np.repeat(np.arange(len(texts)), [len(text) for text in spaced])


def _runs(
    characters: NDArray[np.uint64], text: NDArray[np.intp], length: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The bucket and the text of every run of so many characters that leaves no word."""
    starts = max(len(characters) - length + 1, 0)
    number, inside = np.zeros(starts, dtype=np.uint64), np.ones(starts, dtype=bool)
    for offset in range(length):
        here = characters[offset : offset + starts]
        number = number * _FACTOR + here
        if 0 < offset < length - 1:
            inside &= here != _SPACE
    inside &= text[:starts] == text[length - 1 : length - 1 + starts]
    if length == 2:
        inside &= (characters[:starts] != _SPACE) | (characters[1 : 1 + starts] != _SPACE)
    buckets = (number[inside] * _MIXER) >> _TOP_BITS
    return buckets.astype(np.intp), text[:starts][inside]
