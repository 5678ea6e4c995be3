"""Draws without a difference, and every path of the test without a split that has to keep the level on them.

Shared by `tests/claims/test_joint_level.py` and `benchmarks/levels.py`. A new path is one function and one line in
`PATHS`: ``path(kind, rng) -> p-value``. A path that cannot run on a kind of data, or not yet, raises `Skipped`.

Two kinds hold the same rows in every draw, in random order. All rows of the one are equally far apart, the other is a
balanced design, so that many statistics are constant, and what is left of them is rounding. Rounding may depend on the
place of a row in the table, and a test that listens to it rejects nearly always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import numpy as np

from tellapart import Permutation, tell_apart
from tellapart.inference import bundles as bundles_module
from tellapart.inference import ensemble, exchange, in_memory
from tellapart.inference.exchange import Exchange
from tellapart.inference.whole_sample import FAMILIES
from tellapart.kernels import BandwidthGrid
from tellapart.samples import Samples

Rows = np.ndarray
FEW = {"kernels": BandwidthGrid(count=3), "families": tuple(FAMILIES), "null": Permutation(99)}


class Skipped(Exception):
    """The path does not exist, or not for this kind of data."""


@dataclass(frozen=True)
class Kind:
    """Rows without a difference: how many of each sample, and how they are drawn all together."""

    n: int
    m: int
    draw: Callable[[np.random.Generator, int], Rows]

    def pooled(self, rng: np.random.Generator) -> Rows:
        return np.asarray(self.draw(rng, self.n + self.m), dtype=float)

    def samples(self, rng: np.random.Generator) -> tuple[Rows, Rows]:
        z = self.pooled(rng)
        return z[: self.n], z[self.n :]


def shuffled(rows: Rows) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, total: rng.permutation(rows)[:total]


DESIGN = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 5, axis=0)
KINDS = {
    "heavy tails": Kind(12, 12, lambda rng, total: rng.standard_cauchy(size=(total, 2))),
    "ties": Kind(12, 12, lambda rng, total: rng.integers(4, size=(total, 2))),
    "binary columns": Kind(14, 10, lambda rng, total: rng.integers(2, size=(total, 3))),
    "40 columns": Kind(10, 10, lambda rng, total: rng.standard_t(3, size=(total, 40))),
    "10 : 1": Kind(40, 4, lambda rng, total: rng.normal(size=(total, 2))),
    "one binary column": Kind(10, 8, lambda rng, total: rng.integers(2, size=(total, 1))),
    "equidistant rows": Kind(10, 10, shuffled(np.eye(20))),
    "balanced design": Kind(10, 10, shuffled(DESIGN)),
}


def repeating(rows: Rows, first: Rows, rng: np.random.Generator) -> Rows:
    """Each row repeats the first one of its unit with probability 1/2, so that rows of a unit resemble each other."""
    return np.where(rng.random((len(rows), 1)) < 0.5, rows[first], rows)


def plain(kind: Kind, rng: np.random.Generator, **options: Any) -> float:
    return tell_apart(*kind.samples(rng), rng=rng, **{**FEW, **options}).pvalue


def defaults(kind: Kind, rng: np.random.Generator) -> float:
    return tell_apart(*kind.samples(rng), rng=rng).pvalue


@contextmanager
def changed(module: Any, **values: Any) -> Iterator[None]:
    """Constants of a module, for a while."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def low_rank(kind: Kind, rng: np.random.Generator) -> float:
    """Eight features from landmarks among a part of the rows."""

    def few(z: Rows, kernels: Any, weights: Any, ridges: Any, left_out: Any, rank: int, rng: Any) -> Any:
        return found(z, kernels, weights, ridges, left_out, min(rank, 8), rng)

    found = in_memory.few_features
    with changed(in_memory, EXACT_ROWS=0, PILOT_ROWS=12, few_features=few):
        return plain(kind, rng)


def one_pass(kind: Kind, rng: np.random.Generator) -> float:
    """Five folds, with landmarks and scales from a part of the rows, a few rows at a time."""

    def short(*sizes: Any) -> tuple[int, int]:
        return 8, 7

    with changed(ensemble, MOST_IN_MEMORY=0, PILOT_ROWS=12, affordable=short):
        return plain(kind, rng)


def in_bundles(kind: Kind, rng: np.random.Generator) -> float:
    """The same with rows relabelled in bundles of two or three, as for very many rows."""
    with changed(bundles_module, MOST_BUNDLES=8, FEWEST_BUNDLES=2):
        return one_pass(kind, rng)


def rotated(kind: Kind, rng: np.random.Generator) -> float:
    """Relabellings by rotation, as for many rows."""
    with changed(exchange, _ROTATE_FROM=0):
        return plain(kind, rng, null=Permutation(kind.n + kind.m - 1))


def groups(kind: Kind, rng: np.random.Generator) -> float:
    """Groups of two rows that resemble each other."""
    group = np.arange(kind.n + kind.m) // 2
    z = repeating(kind.pooled(rng), 2 * group, rng)
    return tell_apart(z[: kind.n], z[kind.n :], groups=(group[: kind.n], group[kind.n :]), rng=rng, **FEW).pvalue


def pairs(kind: Kind, rng: np.random.Generator) -> float:
    z = kind.pooled(rng)
    half = len(z) // 2
    x = z[:half]
    y = np.where(rng.random((half, 1)) < 0.5, x, z[half : 2 * half])
    return tell_apart(x, y, pairs=True, rng=rng, **FEW).pvalue


def strata(kind: Kind, rng: np.random.Generator) -> float:
    """Two strata that differ, in different proportions."""
    x, y = kind.samples(rng)
    where = (np.arange(kind.n) < kind.n // 3, np.arange(kind.m) < (2 * kind.m) // 3)
    x, y = (rows + 1.0 * inside[:, None] for rows, inside in zip((x, y), where, strict=True))
    return tell_apart(x, y, strata=where, rng=rng, **FEW).pvalue


def blocks(kind: Kind, rng: np.random.Generator) -> float:
    """Blocks of rows that resemble each other; the last one of a sample may be shorter."""
    length = min(3, kind.m // 2)
    x, y = (
        repeating(rows, np.arange(len(rows)) // length * length, rng)
        for rows in kind.samples(rng)
    )  # fmt: skip
    return tell_apart(x, y, blocks=length, rng=rng, **FEW).pvalue


def short_block(kind: Kind, rng: np.random.Generator) -> float:
    """Blocks whose only short one is the last of the smaller sample: 10, 10, 10 against 10, 10, 10, 10, 10, 10, 1.

    With the mean discrepancy alone, which is loudest where the two samples have about as many rows.
    """
    places = rng.integers(kind.n + kind.m, size=91)  # exchangeable rows of the kind
    z = kind.pooled(rng)[places]
    few = {**FEW, "families": ("kernel",)}
    return tell_apart(z[:30], z[30:], blocks=10, rng=rng, **few).pvalue


def weights(kind: Kind, rng: np.random.Generator) -> float:
    """Weights that follow the rows."""
    z = kind.pooled(rng)
    w = rng.uniform(0.2, 1, size=len(z)) * np.where(z[:, 0] > np.median(z[:, 0]), 3.0, 1.0)
    return tell_apart(z[: kind.n], z[kind.n :], weights=(w[: kind.n], w[kind.n :]), rng=rng, **FEW).pvalue


class Direction:
    """Difference of the two means as a direction."""

    def learn(self, train: Samples, rng: np.random.Generator) -> Callable[[Rows], Rows]:
        d = train.x.mean(axis=0) - train.y.mean(axis=0)
        return lambda rows: rows @ d


def refit(kind: Kind, rng: np.random.Generator) -> float:
    z = kind.pooled(rng)
    labels = Exchange.of(kind.n, kind.m).relabellings(19, rng)
    return module("refit").Refit(19, folds=3).judge(z, labels, Direction(), rng).pvalue


def prequential(kind: Kind, rng: np.random.Generator) -> float:
    return module("prequential").Prequential().judge(Samples(*kind.samples(rng)), Direction(), rng).pvalue


def many_samples(kind: Kind, rng: np.random.Generator) -> float:
    """The overall p-value of three samples."""
    if signature(tell_apart).parameters["y"].default is Parameter.empty:
        raise Skipped("tell_apart takes two samples only")
    return tell_apart(three(kind, rng), rng=rng, **FEW).pvalue


def three(kind: Kind, rng: np.random.Generator) -> list[Rows]:
    x, y = kind.samples(rng)
    return [x[: kind.n // 2], x[kind.n // 2 :], y]


def module(name: str) -> Any:
    try:
        return import_module(f"tellapart.inference.{name}")
    except ImportError as error:
        raise Skipped(f"there is no inference.{name}") from error


PATHS: dict[str, Callable[[Kind, np.random.Generator], float]] = {
    "exact kernel matrices": plain,
    "low-rank features": low_rank,
    "defaults": defaults,
    "early stopping": partial(plain, null=Permutation(199, stop_after=20)),
    "rotations": rotated,
    "groups": groups,
    "pairs": pairs,
    "strata": strata,
    "blocks": blocks,
    "one short block": short_block,
    "weights": weights,
    "refit": refit,
    "prequential": prequential,
    "many samples": many_samples,
    "one pass in folds": one_pass,
    "bundles in folds": in_bundles,
}


def pvalues(path: str, kind: str, trials: range, seed: int = 0) -> Rows:
    """One p-value for each trial; trial t is the same wherever it is computed."""
    names = (list(PATHS).index(path), list(KINDS).index(kind))
    return np.array([PATHS[path](KINDS[kind], np.random.default_rng([seed, *names, t])) for t in trials])
