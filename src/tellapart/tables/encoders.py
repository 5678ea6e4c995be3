"""How one column becomes numbers: fitted on the pooled rows, then applied to each row by itself.

Every encoder is a function of one value, and what it has learned depends on the pooled values only as a multiset: not
on their order, not on the samples that they are from. Ties between levels are broken by their text, signs are bits of a
hash, and random projections have a fixed seed. What is missing gets a column of its own that says so, and is filled
with what is in the middle of the pooled rows, or zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array

from tellapart.tables.reading import Column, Kind
from tellapart.tables.runs import hashed, placed, principal

Matrix = NDArray[np.float64]
Rows = Callable[[slice], Matrix]

_LONGEST = 30  # characters of a level that are shown
_SIGNS = 4
_TEXTS_LEARNED = 5000  # distinct texts of which the directions of a free text are learned


class Encoder(Protocol):
    """What the values of one column are turned into."""

    @property
    def source(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def words(self) -> str:
        """What was done to the column, empty where its values are taken as they are."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Of the encoded columns."""
        ...

    def of(self, column: Column) -> Rows:
        """The function that gives some rows of a column as numbers of shape (rows, names)."""
        ...


@dataclass(frozen=True)
class Cycle:
    """A period of a time in seconds: the day, the week, the year."""

    name: str
    period: float

    def of(self, seconds: Matrix) -> Matrix:
        """Where in the cycle: (rows, 2) on the unit circle; its centre where the time is missing."""
        turn = 2 * np.pi * np.mod(seconds, self.period) / self.period
        return np.asarray(np.nan_to_num(np.column_stack([np.sin(turn), np.cos(turn)])))


DAY, WEEK, YEAR = Cycle("day", 86400.0), Cycle("week", 7 * 86400.0), Cycle("year", 365.2425 * 86400.0)


@dataclass(frozen=True)
class Amounts:
    """Numbers, booleans and times: ``(value - origin) / unit``, the cycles of times, and a mark where it is missing."""

    source: str
    kind: Kind
    words: str
    fill: float
    origin: float = 0.0
    unit: float = 1.0
    varies: bool = True
    marked: bool = False
    cycles: tuple[Cycle, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        circles = (f"{self.source}: {f} of the {c.name}" for c in self.cycles for f in ("sine", "cosine"))
        return (*[self.source] * self.varies, *circles, *[_missing_name(self.source)] * self.marked)

    def of(self, column: Column) -> Rows:
        values = column.values
        return lambda rows: self._encoded(values[rows])

    def _encoded(self, values: NDArray[Any]) -> Matrix:
        absent = np.isnan(values)
        filled = (np.where(absent, self.fill, values) - self.origin) / self.unit
        circles = [cycle.of(values) for cycle in self.cycles]
        return np.column_stack([*[filled] * self.varies, *circles, *[absent] * self.marked])


@dataclass(frozen=True)
class Constant:
    """A column that is the same in all rows, where there is no other: zeros."""

    source: str
    kind: Kind = "nothing"
    words: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.source,)

    def of(self, column: Column) -> Rows:
        return lambda rows: np.zeros((len(range(column.rows)[rows]), 1))


@dataclass(frozen=True, eq=False)
class Levels:
    """Categories: a column of zeros and ones for each of the commonest, and what is said of all others together.

    Of many levels the rest is not lost: one column says how common a level is among the pooled rows, and `_SIGNS`
    columns of signs are bits of a hash of the level, so that any change of their shares moves some of them.
    """

    source: str
    own: tuple[str, ...]  # levels with a column
    rest: str  # name of the column for all others, or empty
    counts: Mapping[str, int]  # pooled rows of each level; empty where there are few
    marked: bool
    words: str = "categories"
    kind: Kind = "text"

    @property
    def names(self) -> tuple[str, ...]:
        own = [f"{self.source} = {shortened(level)}" for level in self.own]
        many = ["how common", *(f"sign {i}" for i in range(1, _SIGNS + 1))] if self.counts else []
        said = [f"{self.source}: {words}" for words in ([self.rest] if self.rest else []) + many]
        return (*own, *said, *[_missing_name(self.source)] * self.marked)

    def of(self, column: Column) -> Rows:
        codes, levels = column.coded
        rows = [self._of_level(level) for level in (*levels, None)]
        return _by_level(codes, np.array(rows, dtype=np.float64).reshape(len(rows), -1), self.marked)

    def _of_level(self, level: str | None) -> list[float]:
        row = [float(level == mine) for mine in self.own]
        if self.rest:
            row.append(float(level is not None and level not in self.own))
        if self.counts:
            row.append(0.0 if level is None else math.log1p(self.counts.get(level, 0)))
            row += [0.0] * _SIGNS if level is None else signs(level)
        return row


@dataclass(frozen=True, eq=False)
class Texts:
    """Free text: how long it is, and directions of its hashed runs of characters."""

    source: str
    directions: Matrix  # (BUCKETS, directions)
    marked: bool
    words: str = "free text"
    kind: Kind = "text"

    @classmethod
    def learned(cls, source: str, counts: Mapping[str, int], marked: bool, width: int = 8) -> Texts:
        """The principal directions of at most 5,000 distinct texts, drawn by a hash of the text itself."""
        texts = sorted(sorted(counts), key=lambda text: blake2b(text.encode("utf-8", "replace")).digest())
        texts = texts[:_TEXTS_LEARNED]
        weights = np.sqrt([counts[text] for text in texts])
        rows = diags_array(weights) @ hashed(texts)
        return cls(source, principal(rows, min(width, len(texts) - 1)), marked)

    @property
    def names(self) -> tuple[str, ...]:
        said = ["length", *(f"direction {i}" for i in range(1, self.directions.shape[1] + 1))]
        return (*(f"{self.source}: {words}" for words in said), *[_missing_name(self.source)] * self.marked)

    def of(self, column: Column) -> Rows:
        codes, levels = column.coded
        known = np.column_stack([np.log1p([len(text) for text in levels]), placed(levels, self.directions)])
        return _by_level(codes, np.vstack([known, np.zeros(known.shape[1])]), self.marked)


@dataclass(frozen=True)
class LeftOut:
    """A column that is not compared, and why."""

    source: str
    why: str


def signs(level: str) -> list[float]:
    """Bits of a hash of the text as -1 and 1: the same in every run.

    >>> signs("France") == signs("France"), set(signs("France")) <= {-1.0, 1.0}
    (True, True)
    """
    bits = blake2b(level.encode("utf-8", "replace"), digest_size=1).digest()[0]
    return [1.0 if bits >> i & 1 else -1.0 for i in range(_SIGNS)]


def shortened(text: str) -> str:
    """One short line.

    >>> shortened("a very long answer to a question that nobody asked")
    'a very long answer to a que...'
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def _by_level(codes: NDArray[np.int32], table: Matrix, marked: bool) -> Rows:
    """For each row its text's row of a table, of which the last is for missing texts; and a mark for these."""
    if marked:
        mark = np.zeros((len(table), 1))
        mark[-1] = 1.0
        table = np.hstack([table, mark])
    return lambda rows: np.asarray(table[codes[rows]])


def _missing_name(source: str) -> str:
    return f"{source} is missing"
