"""The certificate of very many rows: one part learns a witness in one pass, all others are counted in another.

The argument is that of :mod:`tellapart.inference.certificate` for one block: witness and threshold are fixed before a
judging row is looked at. A hundred thousand rows learn nearly all that few features can express, so the others judge,
up to half a million of each sample; they are counted piece by piece, and no row is held twice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray
from tellapart._threads import in_turn
from tellapart.inference.certificate import Certificate, Counted, threshold_of
from tellapart.inference.ensemble import affordable
from tellapart.inference.exchange import Exchange
from tellapart.inference.folds import InFolds, LandmarkWitness
from tellapart.inference.in_memory import PILOT_ROWS
from tellapart.inference.leave_one_out import DegreesOfFreedom
from tellapart.inference.sums import PooledRows
from tellapart.inference.whole_sample import as_kernels
from tellapart.samples import Samples

Ids = NDArray[np.intp]
Values = NDArray[np.float64]

_LEARNING = 100_000  # rows of both samples
_FEWEST = 5000  # of each, where a third of it is as many
_COUNTED = 500_000  # of each: the bound is then within two thousandths of what all others could certify
_PIECE = 4096


def certify_many(samples: Samples, memory: float, rng: np.random.Generator) -> Certificate:
    """The certificate of `samples`, whose rows are independent."""
    places = [rng.permutation(size) for size in (samples.n, samples.m)]
    learning = [place[: _learning(len(place), samples.n + samples.m)] for place in places]
    train = samples.take(*learning)
    witness = learned(train, memory, rng)
    if witness is None:  # nothing tells any two rows apart
        return Certificate.of([Counted(0, samples.n, 0, samples.m)])
    threshold = threshold_of(*(witness.values(rows) for rows in (train.x, train.y)))
    inside, sizes = [], []
    for rows, place, some in zip((samples.x, samples.y), places, learning, strict=True):
        judging = place[len(some) : len(some) + _COUNTED]
        inside.append(counted(witness, threshold, rows, judging))
        sizes.append(len(judging))
    return Certificate.of([Counted(inside[0], sizes[0], inside[1], sizes[1])])


def _learning(size: int, whole: int) -> int:
    """Rows of one sample that learn."""
    return max(1, round(size * min(1 / 3, _LEARNING / whole)), min(size // 3, _FEWEST))


def learned(train: Samples, memory: float, rng: np.random.Generator) -> LandmarkWitness | None:
    """The witness whose kernel and ridge are the loudest in folds, learned from all of these rows."""
    size = train.n + train.m
    order = rng.permutation(size)
    rows, exchange = PooledRows((train.x, train.y), order, train.shares), Exchange.of(train.n, train.m).shuffled(order)
    pilot = rows.take(rng.choice(size, min(size, PILOT_ROWS), replace=False))
    kernels, ridges = as_kernels(None, pilot, rng, train.shares), DegreesOfFreedom()
    rank, piece = affordable(len(kernels), 1, pilot.shape[1], memory)
    made = InFolds.of(rows, pilot, kernels, ridges, ("left out",), exchange, rng, rank, piece)
    return made.best_witness(exchange.labellings(0, rng))


def counted(witness: LandmarkWitness, threshold: float, rows: FloatArray, judging: Ids) -> int:
    """How many of the judging rows lie where the witness exceeds the threshold."""

    def inside(part: Ids) -> int:
        return int((witness.values(rows[part]) > threshold).sum())

    pieces = [judging[i : i + _PIECE] for i in range(0, len(judging), _PIECE)]
    return sum(in_turn(inside, pieces, "counting the rows that judge"))
