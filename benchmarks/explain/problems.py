"""Pairs of samples that differ in a known place: which columns, which pairs of columns, which rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

Rng = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """Two tables, and the rows of y that were moved where only some were."""

    x: pd.DataFrame
    y: pd.DataFrame
    moved: np.ndarray | None = None


@dataclass(frozen=True)
class Problem:
    """What differs by construction."""

    name: str
    draw: Callable[[Rng], Drawn]
    columns: frozenset[str] = frozenset()  # whose own distribution differs
    pairs: frozenset[frozenset[str]] = field(default=frozenset())  # whose dependence differs
    loose: bool = False  # whether the pairs are only some of those that differ

    @property
    def involved(self) -> frozenset[str]:
        """Columns that have to do with the difference."""
        return self.columns.union(*self.pairs) if self.pairs else self.columns


def frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"c{j}" for j in range(values.shape[1])])


def normal(rng: Rng, n: int, d: int, r: float = 0.0) -> np.ndarray:
    return np.sqrt(1 - r) * rng.normal(size=(n, d)) + np.sqrt(r) * rng.normal(size=(n, 1))


def changed(n: int, d: int, change: Callable[[np.ndarray], None], r: float = 0.0) -> Callable[[Rng], Drawn]:
    """Normal columns, of which `change` alters some in y."""

    def draw(rng: Rng) -> Drawn:
        x, y = normal(rng, n, d, r), normal(rng, n, d, r)
        change(y)
        return Drawn(frame(x), frame(y))

    return draw


def shift(y: np.ndarray) -> None:
    y[:, 3] += 0.5


def scale(y: np.ndarray) -> None:
    y[:, 3] *= 1.6


def three(y: np.ndarray) -> None:
    y[:, 5] += 0.5
    y[:, 17] *= 1.6
    y[:, 30] = np.sign(y[:, 30]) * np.abs(y[:, 30]) ** 0.5  # two humps


def half_shifted(y: np.ndarray) -> None:
    y[:, :5] += 2.0


def nothing(y: np.ndarray) -> None:
    pass


def levels(changes: bool, n: int = 200) -> Callable[[Rng], Drawn]:
    """Five columns of four levels and five of numbers; the shares of one column change."""

    def table(rng: Rng, shares: list[float]) -> pd.DataFrame:
        named = {f"l{j}": rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1]) for j in range(4)}
        named["l4"] = rng.choice(list("abcd"), n, p=shares)
        return pd.DataFrame(named | {f"c{j}": rng.normal(size=n) for j in range(5)})

    usual = [0.4, 0.3, 0.2, 0.1]
    return lambda rng: Drawn(table(rng, usual), table(rng, [0.25, 0.3, 0.2, 0.25] if changes else usual))


def paired(first: Callable[[Rng, int], np.ndarray], second: Callable[[Rng, int], np.ndarray], n: int, d: int = 10):
    """Independent columns beside two that depend on each other otherwise in y; each looks the same by itself."""

    def draw(rng: Rng) -> Drawn:
        tables = [np.column_stack([make(rng, n), rng.normal(size=(n, d - 2))]) for make in (first, second)]
        return Drawn(*(frame(t) for t in tables))

    return draw


def correlation(r: float) -> Callable[[Rng, int], np.ndarray]:
    def make(rng: Rng, n: int) -> np.ndarray:
        a = rng.normal(size=n)
        return np.column_stack([a, r * a + np.sqrt(1 - r * r) * rng.normal(size=n)])

    return make


def board(parity: int) -> Callable[[Rng, int], np.ndarray]:
    """Uniform on the squares of a 4 x 4 board whose numbers add up to even, or odd: neither column shows it."""

    def make(rng: Rng, n: int) -> np.ndarray:
        i, j = rng.integers(0, 4, n), rng.integers(0, 2, n)
        k = 2 * j + (i + parity) % 2
        return np.column_stack([i + rng.uniform(size=n), k + rng.uniform(size=n)]) / 4

    return make


def angles(spread: float) -> Callable[[Rng, int], np.ndarray]:
    """Two uniform directions whose difference is concentrated, or not: as HIGGS has them."""

    def make(rng: Rng, n: int) -> np.ndarray:
        a = rng.uniform(-np.pi, np.pi, n)
        b = a + rng.normal(scale=spread, size=n) if spread else rng.uniform(-np.pi, np.pi, n)
        return np.column_stack([a, (b + np.pi) % (2 * np.pi) - np.pi])

    return make


def corner(rng: Rng, n: int = 1000) -> Drawn:
    """The rows in a corner of two columns, a tenth of all, have a third column shifted."""
    x, y = normal(rng, n, 8), normal(rng, n, 8)
    moved = (y[:, 0] > 0.478) & (y[:, 1] > 0.478)  # 0.316 squared
    y[moved, 2] += 2.0
    return Drawn(frame(x), frame(y), moved)


def pair(a: str, b: str) -> frozenset[frozenset[str]]:
    return frozenset({frozenset({a, b})})


C3, C01 = frozenset({"c3"}), pair("c0", "c1")
PROBLEMS = (
    Problem("1 of 20 columns shifted by 0.5, n = 200", changed(200, 20, shift), C3),
    Problem("1 of 20 columns x 1.6, n = 200", changed(200, 20, scale), C3),
    Problem("1 of 20 correlated columns shifted by 0.5, n = 200", changed(200, 20, shift, 0.5), C3),
    Problem("1 of 10 columns: shares of levels, n = 200", levels(True), frozenset({"l4"})),
    Problem("3 of 50 columns, n = 200", changed(200, 50, three), frozenset({"c5", "c17", "c30"})),
    Problem("sign of a correlation of 0.3, n = 200", paired(correlation(0.3), correlation(-0.3), 200), pairs=C01),
    Problem("a board of 4 x 4, n = 300", paired(board(0), board(1), 300), pairs=C01),
    Problem("difference of two angles, n = 300", paired(angles(0), angles(1.2), 300), pairs=C01),
    Problem("a corner of two columns, a tenth of the rows, n = 1000", corner, frozenset({"c2"}),
            pair("c0", "c2") | pair("c1", "c2"), loose=True),
    Problem("null: 20 columns, n = 200", changed(200, 20, nothing)),
    Problem("null: 20 correlated columns, n = 200", changed(200, 20, nothing, 0.5)),
    Problem("null: levels, n = 200", levels(False)),
    Problem("5 of 10 correlated columns shifted by 2, n = 200", changed(200, 10, half_shifted, 0.5),
            frozenset(f"c{j}" for j in range(5))),
)  # fmt: skip
