"""Which way for how many rows: everything in memory, or one pass in folds, within a budget of memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tellapart._threads import MOST_THREADS
from tellapart.inference.exchange import Exchange, Relabellings
from tellapart.inference.folds import FOLDS, InFolds
from tellapart.inference.in_memory import EXACT_ROWS, PILOT_ROWS, RANK, InMemory
from tellapart.inference.leave_one_out import RidgeGrid
from tellapart.inference.sums import PooledRows
from tellapart.inference.voices import number_of_pairs
from tellapart.inference.whole_sample import Hearing, as_kernels
from tellapart.kernels import Kernel

Values = NDArray[np.float64]

MOST_IN_MEMORY = 10_000  # rows: beyond, blocks of all distances cost more than folds do
_LEAST_RANK = 40
# Rows beyond which each scale is tried with one kernel, not with two. Fewer features would save as much time, but
# differences inside many modes were lost with 140 in place of 320.
_VERY_MANY = 400_000
_PIECE, _LEAST_PIECE = 4096, 64  # rows
_NUMBER = 8  # bytes
_OVERHEAD = 1.5  # temporary copies


class Ensemble(Protocol):
    """Everything that was prepared without labels, ready to be heard for any labellings."""

    @property
    def words(self) -> str: ...

    def heard(
        self, relabellings: Relabellings, families: Collection[str], stop_after: int | None
    ) -> Hearing | None: ...

    def evidence(self, hearing: Hearing, relabellings: Relabellings) -> Values | None: ...


def prepared(
    rows: PooledRows,
    kernels: Any,
    ridges: RidgeGrid,
    families: Collection[str],
    exchange: Exchange,
    draws: int,
    memory: float,
    rng: np.random.Generator,
) -> Ensemble:
    """The ensemble for the rows of all samples, within about `memory` bytes beside the rows themselves."""
    pilot = rows.take(np.arange(len(rows)) if len(rows) <= PILOT_ROWS else _some(len(rows), rng))
    tried = as_kernels(kernels, pilot, rng, rows.shares)
    if kernels is None and len(rows) > _VERY_MANY:
        tried = every_scale_once(tried)
    if len(rows) <= MOST_IN_MEMORY and _bytes_in_memory(len(rows), len(tried), draws) <= memory:
        return InMemory.of(rows.take(np.arange(len(rows))), tried, ridges, families, exchange, rng, rows.shares)
    rank, chunk = affordable(len(tried), draws + 1, pilot.shape[1], memory)
    return InFolds.of(rows, pilot, tried, ridges, families, exchange, rng, rank, chunk)


def every_scale_once(kernels: list[Kernel]) -> list[Kernel]:
    """Of two grids of the same length, kernels of the one and of the other in turn, from the narrowest to the widest.

    >>> every_scale_once(["g1", "g2", "g3", "l1", "l2", "l3"])
    ['g1', 'l2', 'g3']
    """
    half = len(kernels) // 2
    return [kernels[i + half * (i % 2)] for i in range(half)]


def _some(size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.sort(rng.choice(size, PILOT_ROWS, replace=False))


def _bytes_in_memory(rows: int, kernels: int, draws: int) -> float:
    rank = rows if rows <= EXACT_ROWS else min(RANK, rows)
    return _OVERHEAD * _NUMBER * rows * ((kernels + 3) * rank + draws)


def affordable(kernels: int, columns: int, d: int, memory: float) -> tuple[int, int]:
    """Features for each kernel, and rows of a piece, that keep one pass within the budget on any number of cores.

    The answer must not depend on the cores of a machine, so the budget is that of the most threads there can be.
    """
    rank = RANK
    pairs = number_of_pairs(d, columns)
    while rank >= _LEAST_RANK:
        of_kernels, of_columns = kernels * rank * (rank + columns), (7 * d + pairs) * columns
        sums = _NUMBER * ((FOLDS + MOST_THREADS + 2) * of_kernels + (MOST_THREADS + 3) * of_columns)
        a_row = _NUMBER * MOST_THREADS * (9 * rank + 3 * columns + 16 * d)
        piece = int((0.8 * memory - sums) / a_row)
        if piece >= _LEAST_PIECE:
            return rank, min(piece, _PIECE)
        rank //= 2
    raise ValueError(
        f"`memory` must hold the sums of {kernels} kernels for {columns} relabellings, got {memory / 1e9:.3g} GB. "
        "Allow more, or pass fewer kernels or permutations."
    )
