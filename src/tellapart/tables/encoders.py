"""How one column becomes numbers: fitted on the pooled rows, then applied to each row by itself.

Every encoder is a function of one value, and what it has learned depends on the pooled values only as a multiset: not
on their order, not on the samples that they are from. Ties between levels are broken by their text, signs are bits of a
hash, and random projections have a fixed seed. What is missing gets a column of its own that says so, and is filled
with what is in the middle of the pooled rows, or zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tellapart.tables.reading import Column, Kind

Matrix = NDArray[np.float64]

_LONGEST = 30  # characters of a level that are shown
_SIGNS = 4
_TEXTS_LEARNED = 5000  # distinct texts of which the directions of a free text are learned
_HASHED = 4096


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

    def of(self, column: Column) -> Matrix:
        """Numbers of shape (rows, names)."""
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

    def of(self, column: Column) -> Matrix:
        absent = np.isnan(column.values)
        filled = (np.where(absent, self.fill, column.values) - self.origin) / self.unit
        circles = [cycle.of(column.values) for cycle in self.cycles]
        return np.column_stack([*[filled] * self.varies, *circles, *[absent] * self.marked]).astype(float)


@dataclass(frozen=True)
class Constant:
    """A column that is the same in all rows, where there is no other: zeros."""

    source: str
    kind: Kind = "nothing"
    words: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.source,)

    def of(self, column: Column) -> Matrix:
        return np.zeros((len(column.values), 1))


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

    def of(self, column: Column) -> Matrix:
        return _by_level(column.values, self._of_level, len(self.names))

    def _of_level(self, level: str | None) -> list[float]:
        row = [float(level == mine) for mine in self.own]
        if self.rest:
            row.append(float(level is not None and level not in self.own))
        if self.counts:
            row.append(0.0 if level is None else math.log1p(self.counts.get(level, 0)))
            row += [0.0] * _SIGNS if level is None else signs(level)
        return row + [float(level is None)] * self.marked


@dataclass(frozen=True, eq=False)
class Texts:
    """Free text: how long it is, and directions of its hashed runs of characters."""

    source: str
    directions: Matrix  # (_HASHED, directions)
    marked: bool
    words: str = "free text"
    kind: Kind = "text"

    @classmethod
    def learned(cls, source: str, counts: Mapping[str, int], marked: bool, width: int = 8) -> Texts:
        """The principal directions of at most 5,000 distinct texts, drawn by a hash of the text itself."""
        from sklearn.decomposition import TruncatedSVD

        texts = sorted(sorted(counts), key=lambda text: blake2b(text.encode("utf-8", "replace")).digest())
        texts = texts[:_TEXTS_LEARNED]
        weights = np.sqrt([counts[text] for text in texts])
        hashed = cls._hashed(texts).multiply(weights[:, None]).tocsr()
        width = min(width, len(texts) - 1)
        return cls(source, TruncatedSVD(width, random_state=0).fit(hashed).components_.T, marked)

    @property
    def names(self) -> tuple[str, ...]:
        said = ["length", *(f"direction {i}" for i in range(1, self.directions.shape[1] + 1))]
        return (*(f"{self.source}: {words}" for words in said), *[_missing_name(self.source)] * self.marked)

    def of(self, column: Column) -> Matrix:
        texts = sorted({text for text in column.values if text is not None})
        width = len(self.names) - 1 - self.marked
        placed = self._hashed(texts) @ self.directions if texts else np.empty((0, width))
        rows = {text: [math.log1p(len(text)), *row] for text, row in zip(texts, placed.tolist(), strict=True)}
        nothing = [0.0] * (1 + width)

        def of_text(text: str | None) -> list[float]:
            return (nothing if text is None else rows[text]) + [float(text is None)] * self.marked

        return _by_level(column.values, of_text, len(self.names))

    @staticmethod
    def _hashed(texts: Sequence[str]) -> Any:
        from sklearn.feature_extraction.text import HashingVectorizer

        runs = HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=_HASHED, alternate_sign=False)
        return runs.transform([text.encode("utf-8", "replace").decode() for text in texts])


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


def _by_level(values: NDArray[Any], of_level: Any, width: int) -> Matrix:
    """A row of numbers for each value, computed once for each distinct value."""
    number = {level: i for i, level in enumerate(dict.fromkeys(values.tolist()))}
    table = np.array([of_level(level) for level in number], dtype=np.float64).reshape(len(number), width)
    return np.asarray(table[np.fromiter(map(number.__getitem__, values.tolist()), dtype=np.intp, count=len(values))])


def _missing_name(source: str) -> str:
    return f"{source} is missing"
