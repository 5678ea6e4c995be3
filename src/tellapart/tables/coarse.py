"""Columns made coarse: each value becomes the number of a class, by classes that other rows have fixed.

Of numbers and times, classes are neighbouring quantiles; a value that many rows share has a class of its own, and
beyond the rows that were seen classes widen by steps of two. Of categories each common level is a class, and all others
are divided into a few by a hash of their text, whether they were seen before or not. Of free text its length and the
directions of :class:`tellapart.tables.encoders.Texts` are made coarse as numbers. What is missing is a class, too.

A class stands for one value (the mean of the values that made it, or the level), so coarse columns are columns again.
Classes are a function of the rows that made them and of nothing else: rows that are exchangeable given those stay so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart.tables.choice import encoder_for
from tellapart.tables.encoders import LeftOut, Texts
from tellapart.tables.reading import Coded, Column, Kind

Values = NDArray[np.float64]
Codes = NDArray[np.uint16]

FEWEST = 5  # rows of a level that is kept by name
_MOST_LEVELS = 250
_BUCKETS = 16  # for all other levels, where there are any
_BEYOND = 24  # classes on either side of the values that were seen


@dataclass(frozen=True, eq=False)
class Classes:
    """Numbers and times: classes between `edges`, each of which stands for one of `values`."""

    source: str
    name: str
    kind: Kind
    edges: Values  # (classes - 1,), rising
    values: Values  # (classes,)

    @classmethod
    def of(cls, source: str, name: str, kind: Kind, known: Values, most: int) -> Classes:
        """From values without missing ones; about `most` classes of about as many rows each."""
        distinct, counts = np.unique(known, return_counts=True)
        inner = (distinct[1:] / 2 + distinct[:-1] / 2)[_cuts(counts, most)]
        below, above = _beyond(distinct)
        edges = np.unique(np.concatenate([below, inner, above]))
        padded = np.concatenate([edges[:1], edges, edges[-1:]])
        values = (padded[1:] + padded[:-1]) / 2
        member = np.searchsorted(edges, distinct, "right")
        rows = np.bincount(member, counts, len(values))
        total = np.bincount(member, counts * distinct, len(values))
        return cls(source, name, kind, edges, np.where(rows > 0, total / np.maximum(rows, 1), values))

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (len(self.values) + 1,)

    def codes(self, column: Column) -> Codes:
        """(rows, 1)."""
        places = np.searchsorted(self.edges, column.values, "right")
        return np.where(column.missing, len(self.values), places).astype(np.uint16)[:, None]

    def columns(self, codes: Codes) -> list[Column]:
        return [Column.of(self.name, self.kind, np.append(self.values, np.nan)[codes[:, 0]])]


@dataclass(frozen=True)
class Categories:
    """Text: the common `levels` by name, all others in a few `buckets` by a hash of their text."""

    source: str
    levels: tuple[str, ...]
    buckets: int
    kind: Kind = "text"

    @classmethod
    def of(cls, source: str, counts: Counter[str]) -> Categories:
        """The levels that enough rows have."""
        ordered = sorted(counts, key=lambda level: (-counts[level], level))
        kept = tuple(level for level in ordered[:_MOST_LEVELS] if counts[level] >= FEWEST)
        return cls(source, kept, _BUCKETS if len(kept) < len(counts) else 1)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (len(self.levels) + self.buckets + 1,)

    def codes(self, column: Column) -> Codes:
        """(rows, 1)."""
        place: dict[str | None, int] = {level: i for i, level in enumerate(self.levels)}
        place[None] = len(self.levels) + self.buckets
        codes, levels = column.coded
        for level in levels:
            if level not in place:
                place[level] = len(self.levels) + _bucket(level, self.buckets)
        return np.array([place[level] for level in (*levels, None)], dtype=np.uint16)[codes][:, None]

    def columns(self, codes: Codes) -> list[Column]:
        others = [f"(other levels {i + 1})" for i in range(self.buckets)] if self.buckets > 1 else ["(other levels)"]
        levels = (*self.levels, *others)
        coded = Coded(np.where(codes[:, 0] < len(levels), codes[:, 0], -1).astype(np.int32), levels)
        return [Column(self.source, "text", len(codes), lambda: coded)]


@dataclass(frozen=True, eq=False)
class TextClasses:
    """Free text: classes of its length and of its directions."""

    encoder: Texts
    parts: tuple[Classes, ...]
    kind: Kind = "text"

    @classmethod
    def of(cls, encoder: Texts, column: Column, most: int) -> TextClasses:
        """From texts of which `encoder` has learned."""
        encoder = replace(encoder, marked=False)
        placed = encoder.of(column)(slice(None))[~column.missing]
        made = (Classes.of(encoder.source, name, "numbers", placed[:, j], most) for j, name in enumerate(encoder.names))
        return cls(encoder, tuple(made))

    @property
    def source(self) -> str:
        return self.encoder.source

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for part in self.parts for size in part.sizes)

    def codes(self, column: Column) -> Codes:
        """(rows, parts)."""
        placed = np.where(column.missing[:, None], np.nan, self.encoder.of(column)(slice(None)))
        parts = (p.codes(Column.of(p.name, "numbers", placed[:, j])) for j, p in enumerate(self.parts))
        return np.concatenate(list(parts), axis=1)

    def columns(self, codes: Codes) -> list[Column]:
        return [c for j, part in enumerate(self.parts) for c in part.columns(codes[:, j : j + 1])]


Coarse = Classes | Categories | TextClasses


def coarse_for(column: Column, most: int) -> Coarse | LeftOut:
    """Classes for a column, fixed by these values of it.

    >>> ages = Column.of("age", "numbers", [31.0, 40.0, 40.0, 55.0, np.nan])
    >>> made = coarse_for(ages, 256)
    >>> made.columns(made.codes(Column.of("age", "numbers", [30.9, 41.0, np.nan])))[0].values
    array([31., 40., nan])
    """
    if column.kind != "text":
        return _of_numbers(column, most)
    chosen = encoder_for([column])
    counts = Counter(column.coded.counts())
    if isinstance(chosen, LeftOut):
        return Categories.of(column.name, counts) if chosen.why == "constant" else chosen
    if isinstance(chosen, Texts):
        return TextClasses.of(chosen, column, most)
    return Categories.of(column.name, counts) if chosen.kind == "text" else _of_numbers(column.to(chosen.kind), most)


def _of_numbers(column: Column, most: int) -> Coarse | LeftOut:
    known = column.values[~column.missing].astype(np.float64)
    if not len(known):
        return LeftOut(column.name, "without values")
    return Classes.of(column.name, column.name, column.kind, known, most)


def coarse_columns(coarse: Sequence[Coarse], codes: Codes) -> dict[str, Column]:
    """The columns that the codes of all columns stand for, by name."""
    ends = np.cumsum([0, *(len(c.names) for c in coarse)])
    found = (column for c, a in zip(coarse, ends, strict=False) for column in c.columns(codes[:, a : a + len(c.names)]))
    return {column.name: column for column in found}


def _cuts(counts: NDArray[Any], most: int) -> NDArray[np.intp]:
    """After which of the distinct values a class ends: by quantiles, and around each value that fills a class."""
    if len(counts) <= most:
        return np.arange(len(counts) - 1)
    share = np.cumsum(counts) / counts.sum()
    by_share = np.flatnonzero(np.floor(share[:-1] * most) > np.floor(np.append(0, share[:-2]) * most))
    full = np.flatnonzero(counts >= counts.sum() / most)
    cuts = np.unique(np.concatenate([by_share, full, full - 1]))
    return cuts[(cuts >= 0) & (cuts < len(counts) - 1)]


def _beyond(distinct: Values) -> tuple[Values, Values]:
    """Edges below and above all values, wider and wider."""
    low, high = distinct[0], distinct[-1]
    unit = (high - low) / 16 if high > low else max(abs(high), 1.0) * 1e-3
    first = [(distinct[1] - low) / 2, (high - distinct[-2]) / 2] if high > low else [unit / 2, unit / 2]
    steps = unit * (2.0 ** np.arange(_BEYOND) - 1)
    return (low - first[0] - steps)[::-1], high + first[1] + steps


def _bucket(level: str, buckets: int) -> int:
    return blake2b(level.encode("utf-8", "replace"), digest_size=1).digest()[0] % buckets
