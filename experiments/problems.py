"""What is drawn: both kinds of Blobs, and HIGGS where its file is there."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.power.real import HIGGS, folder, some
from experiments.experiment import Pair
from tellapart.datasets import blobs, higgs, liu_blobs


def blobs_at(theta: float, _: float, rng: np.random.Generator) -> Pair:
    """The paper's Blobs, 100 rows of each sample."""
    return blobs(100, theta=theta, rng=rng)


def blobs_of_size(x: float, rng: np.random.Generator) -> Pair:
    return blobs(int(x), theta=np.pi / 4, rng=rng)


def liu_at(null: bool, x: float, rng: np.random.Generator) -> Pair:
    """X rows of each mode to learn from and as many to judge."""
    return liu_blobs(2 * int(x), null=null, rng=rng)


def liu_fresh(null: bool, x: float, _: np.ndarray, rng: np.random.Generator) -> Pair:
    """X rows of each mode to judge."""
    return liu_blobs(int(x), null=null, rng=rng)


def liu_rows(x: float) -> float:
    return 2 * 9 * 2 * x


@cache
def jet_phis() -> Pair:
    """Background and signal, only rows that nobody has rounded."""
    background, signal = higgs(folder() / HIGGS)
    return background.astype(float), signal.astype(float)


def higgs_at(null: bool, x: float, rng: np.random.Generator) -> Pair:
    """X rows of each sample to learn from and as many to judge, no row twice; under the null all are background."""
    background, signal = jet_phis()
    size = 2 * int(x)
    if null:
        rows = some(background, 2 * size, rng)
        return rows[:size], rows[size:]
    return some(background, size, rng), some(signal, size, rng)


def higgs_fresh(null: bool, x: float, learned: np.ndarray, rng: np.random.Generator) -> Pair:
    """X rows of each sample to judge, none of them among those that have learned."""
    background, signal = (without(rows, learned) for rows in jet_phis())
    if null:
        rows = some(background, 2 * int(x), rng)
        return rows[: int(x)], rows[int(x) :]
    return some(background, int(x), rng), some(signal, int(x), rng)


def without(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The rows that are not among the others."""
    whole = np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))
    as_one = [np.ascontiguousarray(z, dtype=rows.dtype).view(whole).ravel() for z in (rows, others)]
    return rows[~np.isin(*as_one)]


def higgs_rows(x: float) -> float:
    return 2 * 2 * x
