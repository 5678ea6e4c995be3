"""Statistics of single columns, of all columns, and of single and all pairs of columns, from the ranks of each column.

Within each column a value becomes its share u of smaller values among the pooled rows (half of the ties), and u becomes
shifted Legendre polynomials of degree 1 to 5: location, scale, skewness and finer changes of that column, whatever
its units and tails. For the standardised polynomials ``f_jk`` of column j and contrasts y:

    single columns    sum_{k <= q} (f_jk' y)^2 for each column j and q = 1, 2, 3, 5: a smooth test of one column
    all columns       the same summed over j: every column a little
    single pairs      |(f_j1 f_l1)' y| for each pair of columns: one rank correlation that no single column shows
    pairs of columns  the same summed over pairs: many of them change a little

Ranks of the pooled rows do not know the labels, so nothing here does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tellapart._arrays import FloatArray, chunks
from tellapart.pairs import Shares

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

DEGREES = 5
UP_TO = (1, 2, 3, 5)  # degrees that are summed


@dataclass(frozen=True, eq=False)
class RankMap:
    """Ranks of each column among reference rows, as functions that can be evaluated on any rows."""

    ordered: Matrix  # (reference rows, d), each column sorted
    mean: Values  # (d * DEGREES,) of the polynomials on the reference rows
    spread: Values
    weight: Values | float = 1.0  # of a column where columns meet: the root of its share in its source

    @classmethod
    def of(cls, reference: FloatArray, shares: Shares = None) -> RankMap:
        """From reference rows that were chosen without looking at labels."""
        d = reference.shape[1]
        raw = cls(np.sort(np.asarray(reference, dtype=np.float64), axis=0), np.zeros(d * DEGREES), np.ones(d * DEGREES))
        f = raw.polynomials(reference)
        spread = f.std(axis=0)
        weight = 1.0 if shares is None else np.sqrt(shares)
        return cls(raw.ordered, f.mean(axis=0), np.where(spread > 1e-9, spread, np.inf), weight)

    def shares(self, rows: FloatArray) -> Matrix:
        """Share of smaller reference values, in each column: (rows, d), strictly between 0 and 1."""
        n = len(self.ordered)
        u = np.empty(rows.shape)
        for j, column in enumerate(self.ordered.T):
            u[:, j] = np.searchsorted(column, rows[:, j], "left") + np.searchsorted(column, rows[:, j], "right")
        return np.clip(u / (2 * n), 0.5 / n, 1 - 0.5 / n)

    def normal_scores(self, rows: FloatArray) -> Matrix:
        """Weighted normal quantiles of the shares: (rows, d)."""
        return np.asarray(ndtri(self.shares(rows)) * self.weight)

    def polynomials(self, rows: FloatArray) -> Matrix:
        """Standardised Legendre polynomials of the shares, by degree and then by column: (rows, DEGREES * d)."""
        t = 2 * self.shares(rows) - 1
        p = [np.ones_like(t), t]
        for k in range(1, DEGREES):
            p.append(((2 * k + 1) * t * p[k] - k * p[k - 1]) / (k + 1))
        return np.asarray((np.concatenate(p[1:], axis=1) - self.mean) / self.spread)

    def linear(self, polynomials: Matrix) -> Matrix:
        """The weighted polynomials of degree 1 among all, of which pairs of columns are made: (rows, d)."""
        return np.asarray(polynomials[:, : self.ordered.shape[1]] * self.weight)


@dataclass(frozen=True, eq=False)
class RankTable:
    """A rank map as a table for many rows: all that is made of a value's rank is looked up.

    The reference has few different values in a column that is discrete, and never more than it has rows; a row's value
    is one of them or lies between two of them.
    """

    levels: tuple[Values, ...]  # of each column, the different values of the reference
    table: Matrix  # (d * entries, DEGREES + 1): polynomials, then the normal score
    first: NDArray[np.intp]  # where each column begins in the table
    weight: Values | float  # of a column where columns meet, already in the normal scores

    @classmethod
    def of(cls, ranks: RankMap) -> RankTable:
        """From what the map says of all values between, at and beyond those of the reference."""
        levels = tuple(np.unique(column) for column in ranks.ordered.T)
        d, entries = len(levels), 2 * max(map(len, levels)) + 1
        values = np.full((entries, d), np.inf)
        for j, level in enumerate(levels):
            values[: 2 * len(level) + 1, j] = _between_and_at(level)
        said = np.concatenate([ranks.polynomials(values), ranks.normal_scores(values)], axis=1)
        table = said.reshape(entries, DEGREES + 1, d).transpose(2, 0, 1).reshape(d * entries, DEGREES + 1)
        return cls(levels, table, entries * np.arange(d), ranks.weight)

    def looked_up(self, rows: FloatArray) -> NDArray[np.float64]:
        """What :class:`RankMap` says of the rows: (rows, d, DEGREES + 1)."""
        entry = np.empty(rows.shape, dtype=np.intp)
        for j, level in enumerate(self.levels):
            column = np.ascontiguousarray(rows[:, j])
            place = np.searchsorted(level, column)
            entry[:, j] = 2 * place + (level[np.minimum(place, len(level) - 1)] == column)
        return self.table.take(entry + self.first, axis=0)


def _between_and_at(level: Values) -> Values:
    """A value below the first level, the first, one between it and the second, and so on to one beyond the last.

    >>> _between_and_at(np.array([1.0, 2.0])).tolist()
    [-inf, 1.0, 1.5, 2.0, inf]
    """
    values = np.empty(2 * len(level) + 1)
    values[1::2] = level
    values[0::2] = [-np.inf, *(level[:-1] / 2 + level[1:] / 2), np.inf]
    return values


def column_rows(projected: Matrix, d: int) -> tuple[Matrix, Matrix]:
    """Rows of single columns (len(UP_TO) * d, columns) and of all columns (len(UP_TO), columns) from ``f' y``."""
    squares = (projected * projected).reshape(DEGREES, d, -1)
    summed = np.cumsum(squares, axis=0)[[q - 1 for q in UP_TO]]  # (degrees, d, columns)
    return summed.reshape(len(UP_TO) * d, -1), summed.sum(axis=1)


def pair_features(first_degree: Matrix) -> Matrix:
    """Products of the first polynomials of two columns: (rows, d (d - 1) / 2)."""
    i, j = np.triu_indices(first_degree.shape[1], 1)
    return np.asarray(first_degree[:, i] * first_degree[:, j])


def pair_kernel(a: Matrix, b: Matrix) -> Matrix:
    """``sum_{j < l} a_j a_l b_j b_l`` for all rows of two tables: the kernel of :func:`pair_features`.

    >>> f = np.random.default_rng(0).normal(size=(4, 3))
    >>> bool(np.allclose(pair_kernel(f, f), pair_features(f) @ pair_features(f).T))
    True
    """
    return np.asarray(((a @ b.T) ** 2 - (a * a) @ (b * b).T) / 2)


def quadratic_form(kernel: Callable[[slice], Matrix], y: Matrix) -> Values:
    """``y' K y`` for each column of `y`, from blocks of rows of K that are never stored together."""
    total = np.zeros(y.shape[1])
    for part in chunks(len(y), len(y), budget=2**22):
        total += np.einsum("ij,ij->j", y[part], kernel(part) @ y)
    return total
