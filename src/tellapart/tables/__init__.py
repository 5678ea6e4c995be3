"""Columns of mixed type -> numbers, without looking at which sample a row is from.

The encoding is learned from the pooled rows of all samples and then applied to each row by itself,

    encoded row i = e(row i),    e a function of the multiset of all rows,

so exchanging rows between the samples exchanges the encoded rows and changes nothing else. If rows are exchangeable, so
are encoded rows, and every p-value that is exact for arrays is exact for tables. What differs between the *files*,
columns that only one has or another type, is no property of rows: it is reported, and the common columns are compared.

Why neither scikit-learn's ColumnTransformer nor skrub's TableVectorizer does this. Both prepare rows for a model with a
target, and leave to the model what a test has to decide: numbers keep their NaN (skrub's also become float32), so fills
and marks would be ours all the same, and so would the schema, identifiers and the words for a person. The argument
above needs an encoding that is symmetric in the rows to the last bit, which neither promises. And skrub makes pandas a
dependency, where narwhals reads every frame as it is. Runs of characters and their principal directions are ours, too
(:mod:`tellapart.tables.runs`), because importing scikit-learn takes as long as comparing two small files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray, chunks
from tellapart.samples import (
    FrameOrSeries,
    Samples,
    Table,
    as_frame,
    as_many_samples,
    as_samples,
    distinct_names,
    is_numeric,
    raw_numbers,
    refuse_lost_digits,
    refuse_missing,
    sample_names,
)
from tellapart.tables.choice import IDENTIFIER, encoder_for
from tellapart.tables.encoders import Constant, Encoder, LeftOut, shortened
from tellapart.tables.reading import Column, columns_of
from tellapart.tables.schema import SchemaDifference, compared_columns, other_orders

__all__ = ["Encoded", "Encoding", "ReadTable", "SchemaDifference", "encoded"]

_MOST_NAMED = 5
_TOGETHER = 2**18  # numbers that are made at a time


@dataclass(frozen=True, eq=False)
class Encoding:
    """What was learned from the pooled rows: an encoder for each column that is compared.

    Values stay in single precision where all numbers came so, and there are no times.
    """

    encoders: tuple[Encoder, ...]
    single: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for encoder in self.encoders for name in encoder.names)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(encoder.source for encoder in self.encoders for _ in encoder.names)

    def rows(self, data: Any, name: str = "z") -> FloatArray:
        """Further rows of a data frame, matched by name.

        A value of another type than was learned counts as missing.
        """
        frame = as_frame(data, name)
        if frame is None:
            raise TypeError(f"`{name}` must be a data frame with the columns that were compared, got {type(data)}.")
        found = columns_of(frame, name)
        if isinstance(frame, nw.Series) and len(self.encoders) == 1:
            found = dict(zip(self.sources[:1], found.values(), strict=True))
        absent = [e.source for e in self.encoders if e.source not in found]
        if absent:
            raise ValueError(f"`{name}` must have the columns that were compared, got none called {absent[:5]}.")
        return self.matrix([found[e.source] for e in self.encoders], name)

    def matrix(self, columns: Sequence[Column], name: str) -> FloatArray:
        """One column after the other into one table, checked."""
        values = np.empty((columns[0].rows, len(self.columns)), dtype=np.float32 if self.single else np.float64)
        ends = np.cumsum([len(e.names) for e in self.encoders])
        for encoder, column, end in zip(self.encoders, columns, ends, strict=True):
            rows_of, place = encoder.of(column.to(encoder.kind)), slice(end - len(encoder.names), end)
            for rows in chunks(len(values), len(encoder.names), _TOGETHER):
                values[rows, place] = rows_of(rows)
        refuse_missing(Table(values, self.columns), name)
        return values


@dataclass(frozen=True, eq=False)
class Encoded:
    """Samples as numbers, and what was done to make them so.

    Attributes
    ----------
    samples : tuple of arrays
        One for each sample, with the same columns.
    columns, sources : tuple of str, or None
        The name of each encoded column, and the column of the table that it is made from. None for arrays.
    schema : tuple of SchemaDifference
        What differs between the tables themselves.
    notes : tuple of str
        What was encoded and what was left out, in lines for a person.
    encoding : Encoding, or None
        To encode further rows; None where the values were taken as they are.
    """

    samples: tuple[FloatArray, ...]
    columns: tuple[str, ...] | None
    sources: tuple[str, ...] | None
    schema: tuple[SchemaDifference, ...] = ()
    notes: tuple[str, ...] = ()
    encoding: Encoding | None = None

    @property
    def shares(self) -> NDArray[np.float64] | None:
        """What part of its source each column is: 1/K of one that was encoded as K; None where all are their own.

        >>> import pandas as pd
        >>> x, y = pd.DataFrame({"n": [1, 2, 4], "k": ["a", "b", "c"]}), pd.DataFrame({"n": [3], "k": ["b"]})
        >>> encoded(x, y).shares.round(2)
        array([1.  , 0.33, 0.33, 0.33])
        """
        columns_of_source = Counter(self.sources or ())
        if max(columns_of_source.values(), default=1) == 1:
            return None
        return np.array([1 / columns_of_source[source] for source in self.sources or ()])

    @property
    def two(self) -> Samples:
        """The first two samples, for the tests of two."""
        return Samples(self.samples[0], self.samples[1], self.columns, self.shares)


class ReadTable(dict[str, Column]):
    """One sample as columns that have been read already, by name."""


def encoded(*samples: Any, names: Sequence[str] | None = None) -> Encoded:
    """Samples of any accepted kind as numbers; data frames of any types of columns are encoded on their pooled rows.

    Frames of complete numbers, and everything that is no frame, are taken as they are: then the message about bad
    input is that of :mod:`tellapart.samples`.

    Parameters
    ----------
    *samples : data frames, series, arrays, lists or tensors
        Two or more. Data frames are matched by column name.
    names : sequence of str, optional
        What schema differences and notes call the samples. Default: x and y, or sample 0, sample 1, ...

    Examples
    --------
    >>> import pandas as pd
    >>> x = pd.DataFrame({"age": [31, None, 40], "sex": ["f", "m", "f"], "plan": ["a", "b", "c"]})
    >>> y = pd.DataFrame({"age": [55, 62], "sex": ["m", "m"]})
    >>> table = encoded(x, y)
    >>> table.columns
    ('age', 'age is missing', 'sex = f')
    >>> table.samples[0][1]
    array([47.5,  1. ,  0. ])
    >>> table.schema[0].text
    "column 'plan' is only in x, and was not compared"
    """
    names = sample_names(samples) if names is None else names
    if all(isinstance(data, ReadTable) for data in samples):
        return _fitted(*compared_columns(samples, names), names)
    frames = [as_frame(data, name) for data, name in zip(samples, names, strict=True)]
    known = [f for f in frames if f is not None]
    if len(known) < len(frames):
        return _as_they_are(samples)
    if all(_is_plain(frame) for frame in known) and len({_types(frame) for frame in known}) == 1:
        listed = [distinct_names(f, n) for f, n in zip(known, names, strict=True) if isinstance(f, nw.DataFrame)]
        return _as_they_are(samples, other_orders(listed, names))
    return _fitted(*compared_columns(_tables(known, names), names), names)


def _as_they_are(given: Sequence[Any], schema: tuple[SchemaDifference, ...] = ()) -> Encoded:
    """The strict way, for arrays and for numbers."""
    if len(given) == 2:
        two = as_samples(*given)
        return Encoded((two.x, two.y), two.columns, two.columns, schema)
    many = as_many_samples(given)
    return Encoded(many.rows, many.columns, many.columns, schema)


def _tables(frames: Sequence[FrameOrSeries], names: Sequence[str]) -> list[dict[str, Column]]:
    """The columns of every sample; series are one column, whatever their names are."""
    tables = [columns_of(frame, name) for frame, name in zip(frames, names, strict=True)]
    if not all(isinstance(frame, nw.Series) for frame in frames):
        return tables
    label = next(iter(tables[0]))
    return [{label: replace(next(iter(table.values())), name=label)} for table in tables]


def _is_plain(frame: FrameOrSeries) -> bool:
    """Whether all is numbers and nothing is missing."""
    columns = _series_of(frame)
    return all(is_numeric(c.dtype) for c in columns) and not any(
        c.null_count() or (c.dtype.is_float() and np.isnan(raw_numbers(c)).any()) for c in columns
    )


def _types(frame: FrameOrSeries) -> frozenset[tuple[str, bool]]:
    """The names of the columns, and whether they are booleans; a series needs no name."""
    named = isinstance(frame, nw.DataFrame)
    return frozenset((str(c.name) if named else "", c.dtype == nw.Boolean) for c in _series_of(frame))


def _series_of(frame: FrameOrSeries) -> list[nw.Series[Any]]:
    return [frame] if isinstance(frame, nw.Series) else list(frame.iter_columns())


def _fitted(
    compared: Sequence[Sequence[Column]], schema: tuple[SchemaDifference, ...], names: Sequence[str]
) -> Encoded:
    chosen = [encoder_for(columns) for columns in compared]
    left_out = [c for c in chosen if isinstance(c, LeftOut)]
    used = [(c, columns) for c, columns in zip(chosen, compared, strict=True) if not isinstance(c, LeftOut)]
    amounts = [c.single for e, columns in used if e.kind not in ("text", "booleans") for c in columns]
    encoding = Encoding(tuple(encoder for encoder, _ in used), single=bool(amounts) and all(amounts))
    if not used:
        return _nothing_to_compare(compared, left_out, schema, names)
    samples = tuple(encoding.matrix([c[i] for _, c in used], name) for i, name in enumerate(names))
    for other in samples[1:]:
        refuse_lost_digits(Table(samples[0], encoding.columns), Table(other, encoding.columns))
    notes = (*_encoded_words(encoding), *_left_out_words(left_out), *_apart_in_time(used, names))
    return Encoded(samples, encoding.columns, encoding.sources, schema, notes, encoding)


def _nothing_to_compare(
    compared: Sequence[Sequence[Column]],
    left_out: Sequence[LeftOut],
    schema: tuple[SchemaDifference, ...],
    names: Sequence[str],
) -> Encoded:
    """Tables in which nothing varies are alike; tables without a common column cannot be compared."""
    constant = [c for c in left_out if c.why != IDENTIFIER]
    if not constant:
        said = [*_left_out_words(left_out), *(d.text for d in schema)]
        samples = " and ".join(f"`{name}`" for name in names)
        raise ValueError(f"{samples} must have a column that can be compared, but {'; '.join(said)}.")
    rows = tuple(np.zeros((c.rows, 1)) for c in compared[0])
    label = (constant[0].source,)
    return Encoded(rows, label, label, schema, _left_out_words(left_out), Encoding((Constant(*label),)))


def _encoded_words(encoding: Encoding) -> tuple[str, ...]:
    """One line on all columns whose values were not taken as they are."""
    done = [e for e in encoding.encoders if e.words]
    if not done:
        return ()
    by_words: dict[str, list[str]] = {}
    for encoder in done:
        by_words.setdefault(encoder.words, []).append(encoder.source)
    number = sum(len(e.names) for e in done)
    said = "; ".join(f"{_listed(sources)} as {words}" for words, sources in by_words.items())
    return (f"{len(done)} column{'s' * (len(done) > 1)} encoded as {number}: {said}",)


def _left_out_words(left_out: Sequence[LeftOut]) -> tuple[str, ...]:
    by_why: dict[str, list[str]] = {}
    for column in left_out:
        by_why.setdefault(column.why, []).append(column.source)
    said = "; ".join(f"{_listed(sources)} ({why})" for why, sources in by_why.items())
    return (f"left out: {said}",) if said else ()


def _apart_in_time(used: Sequence[tuple[Encoder, Sequence[Column]]], names: Sequence[str]) -> tuple[str, ...]:
    """Samples of two periods differ in their dates by design; this changes no figure, it only explains them."""
    apart = []
    for encoder, columns in used:
        known = [c.to("dates") for c in columns if encoder.kind == "dates"]
        spans = sorted(_span(c) for c in known if not c.missing.all())
        if any(earlier[1] < later[0] for earlier, later in pairwise(spans)):
            apart.append(encoder.source)
    alone = f"which alone tells {' and '.join(names)} apart: drop them to compare the rest"
    return (f"dates of {_listed(apart)} do not overlap, {alone}",) if apart else ()


def _span(column: Column) -> tuple[float, float]:
    values = column.values
    return float(np.nanmin(values)), float(np.nanmax(values))


def _listed(names: Sequence[str]) -> str:
    """The first names.

    >>> _listed("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    said = ", ".join(f"'{shortened(name)}'" for name in names[:_MOST_NAMED])
    return said + (f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else "")
