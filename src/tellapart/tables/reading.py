"""Columns of a data frame, whatever library it is of -> arrays of seven kinds.

A kind is what two files can agree on although their libraries and storage types differ: 32-bit and 64-bit integers, and
floats, are all numbers (pandas turns integers into floats as soon as one is missing); strings, categories and enums are
all text.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tellapart import _arrow
from tellapart.samples import FrameOrSeries, column_values, distinct_names, raw_numbers, refuse_empty

Kind = Literal["numbers", "booleans", "text", "dates", "durations", "times of day", "nothing"]

_SECOND = 1e6  # microseconds
# Kinds of Python values in columns of objects, in the order in which they are tried: True is an int, a datetime a date.
_PYTHON: tuple[tuple[Any, Kind], ...] = (
    (str, "text"),
    ((bool, np.bool_), "booleans"),
    ((int, float, Decimal, np.integer, np.floating), "numbers"),
    (dt.date, "dates"),
    (dt.timedelta, "durations"),
    (dt.time, "times of day"),
)
_NUMBER = re.compile(r"[+-]?(?!0\d)(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")  # not 01234, which is a code
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


class Coded(NamedTuple):
    """Text: for each row the number of its text among `levels`, -1 where missing; some levels may be in no row."""

    codes: NDArray[np.int32]
    levels: Sequence[str]

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> Coded:
        """From Python's strings.

        >>> Coded.of(["v", "u", None, "v"])
        Coded(codes=array([ 0,  1, -1,  0], dtype=int32), levels=('v', 'u'))
        """
        number = {text: i for i, text in enumerate(dict.fromkeys(v for v in texts if v is not None))}
        codes = np.fromiter((-1 if v is None else number[v] for v in texts), dtype=np.int32, count=len(texts))
        return cls(codes, tuple(number))

    def counts(self) -> dict[str, int]:
        """How many rows have each text."""
        found = np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels)).tolist()
        return {level: count for level, count in zip(self.levels, found, strict=True) if count}

    def parsed(self, kind: Kind) -> NDArray[np.float64]:
        """Numbers or seconds, NaN for what cannot be read."""
        return np.array([*(_parsed(level, kind) for level in self.levels), np.nan])[self.codes]


@dataclass(frozen=True, eq=False)
class Column:
    """One column of one sample, read when it is asked for: of large tables one column at a time.

    Attributes
    ----------
    rows : int
    read : function
        Gives numbers with NaN where missing, times in seconds; or `Coded` text.
    single : bool
        Whether the numbers came in single precision.
    """

    name: str
    kind: Kind
    rows: int
    read: Callable[[], Any]
    single: bool = False

    @classmethod
    def of(cls, name: str, kind: Kind, values: Sequence[Any] | NDArray[Any]) -> Column:
        """From values in memory: numbers, or str and None."""
        known = Coded.of(list(values)) if kind == "text" else np.asarray(values, dtype=np.float64)
        return cls(name, kind, len(values), lambda: known)

    @property
    def values(self) -> NDArray[Any]:
        """Of any kind but text."""
        return np.asarray(self.read())

    @property
    def coded(self) -> Coded:
        """Of text."""
        found: Coded = self.read()
        return found

    @property
    def texts(self) -> list[str | None]:
        """Of text, one for each row.

        >>> Column.of("a", "text", ["v", None, "v"]).texts
        ['v', None, 'v']
        """
        levels: list[str | None] = [*self.coded.levels, None]
        return [levels[code] for code in self.coded.codes.tolist()]

    def kept(self) -> Column:
        """The same column, read once; numbers in double precision."""
        known = self.read() if self.kind == "text" else np.asarray(self.read(), dtype=np.float64)
        return replace(self, read=lambda: known)

    def taken(self, rows: NDArray[np.intp]) -> Column:
        """Some of its rows.

        >>> Column.of("a", "text", ["v", None, "u"]).taken(np.array([2, 1])).texts
        ['u', None]
        """
        known = self.read()
        some = known._replace(codes=known.codes[rows]) if isinstance(known, Coded) else known[rows]
        return replace(self, rows=len(rows), read=lambda: some).kept()

    @property
    def missing(self) -> NDArray[np.bool_]:
        return np.asarray(self.coded.codes < 0 if self.kind == "text" else np.isnan(self.values))

    def to(self, kind: Kind) -> Column:
        """The same values as another kind; what cannot be read that way is missing.

        >>> Column.of("a", "text", ["1.5", "two"]).to("numbers").values
        array([1.5, nan])
        """
        if kind == self.kind:
            return self
        if self.kind == "text":
            return replace(self, kind=kind, read=lambda: self.coded.parsed(kind))
        if kind == "text":
            return replace(self, kind=kind, read=self._as_text, single=False)
        if {self.kind, kind} == {"numbers", "booleans"}:
            return replace(self, kind=kind)
        return replace(self, kind=kind, read=lambda: np.full(self.rows, np.nan), single=False)

    def _as_text(self) -> Coded:
        """Every distinct number as a level."""
        values = self.values
        known = np.unique(values[~np.isnan(values)])
        codes = np.where(np.isnan(values), -1, np.searchsorted(known, values)).astype(np.int32)
        return Coded(codes, [text_of(number) for number in known.tolist()])

    def reads_as(self, kind: Kind) -> bool:
        """Whether no value is lost as another kind."""
        return bool((self.to(kind).missing == self.missing).all())


def columns_of(frame: FrameOrSeries, name: str) -> dict[str, Column]:
    """All columns of a data frame by name; a series is a frame of one."""
    if isinstance(frame, nw.Series):
        frame = frame.alias(str(frame.name or "0")).to_frame()
    names = distinct_names(frame, name)
    refuse_empty(frame.shape, name)
    return {label: _read(series, name, label) for label, series in zip(names, frame.iter_columns(), strict=True)}


def all_read_as(texts: Collection[str], kind: Kind) -> bool:
    """Whether all texts can be read as numbers, or as dates in the ISO form.

    >>> all_read_as(["1", "2.5e3"], "numbers"), all_read_as(["01234"], "numbers")
    (True, False)
    >>> all_read_as(["2024-02-29 12:30"], "dates"), all_read_as(["2023-02-29"], "dates")
    (True, False)
    """
    return all(not np.isnan(_parsed(text, kind)) for text in texts)


def text_of(value: Any) -> str:
    """A level as text, so that 1, 1.0 and "1" are the same level.

    >>> text_of(1.0), text_of("1"), text_of(1.5)
    ('1', '1', '1.5')
    """
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return str(value)


def _read(series: nw.Series[Any], name: str, label: str) -> Column:
    """One column as what it holds, or an error that says what cannot be compared."""
    dtype, rows = series.dtype, len(series)
    if series.null_count() == rows:
        return Column.of(label, "nothing", np.full(rows, np.nan))
    if dtype == nw.Boolean:
        return Column(label, "booleans", rows, lambda: raw_numbers(series))
    if dtype.is_numeric():
        single = dtype == nw.Float32
        return Column(label, "numbers", rows, lambda: column_values(series, name, label), single=single)
    if dtype in (nw.Datetime, nw.Date):
        return Column(label, "dates", rows, lambda: _times(series, "timestamp"))
    if dtype == nw.Duration:
        return Column(label, "durations", rows, lambda: _times(series, "duration"))
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Time):
        return _read_by_arrow(series, label) or _read_objects(series, name, label)
    raise _refusal(series, name, label)


def _times(series: nw.Series[Any], what: Literal["timestamp", "duration"]) -> NDArray[np.float64]:
    """Seconds since 1970, or of a duration."""
    if series.implementation.is_pyarrow():
        return _arrow.seconds(series.to_native())
    counted = series.dt.timestamp("us") if what == "timestamp" else series.dt.total_microseconds()
    return np.asarray(raw_numbers(counted) / _SECOND)


def _read_by_arrow(series: nw.Series[Any], label: str) -> Column | None:
    """Text and times of day without a Python object for each row; None where that cannot be."""
    if series.dtype == nw.Object or not _arrow.available():
        return None
    try:
        arrow = series.to_native() if series.implementation.is_pyarrow() else series.to_arrow()
    except (ValueError, TypeError, NotImplementedError):  # half of a surrogate pair, categories of several types
        return None
    if series.dtype == nw.Time:
        return Column(label, "times of day", len(series), lambda: _arrow.seconds(arrow))
    return Column(label, "text", len(series), lambda: _coded(*_arrow.coded(arrow))) if _arrow.is_text(arrow) else None


def _coded(codes: NDArray[np.int32], levels: list[Any]) -> Coded:
    """Categories that are no text become text: 1 and "1" are the same."""
    if all(isinstance(level, str) for level in levels):
        return Coded(codes, levels)
    of_levels = Coded.of([*map(text_of, levels), None])
    return Coded(of_levels.codes[codes], of_levels.levels)


def _read_objects(series: nw.Series[Any], name: str, label: str) -> Column:
    """A column that comes as Python objects: of one kind, or else as text."""
    values: list[Any] = series.to_list()
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    types = {type(v) for v, absent in zip(values, missing, strict=True) if not absent}
    kinds = {_python_kind(t) for t in types}
    if None in kinds:
        raise _refusal(series, name, label)
    kind = kinds.pop() if len(kinds) == 1 and series.dtype not in (nw.Categorical, nw.Enum) else "text"
    convert = text_of if kind == "text" else _seconds
    return Column.of(
        label, kind or "text", [None if absent else convert(v) for v, absent in zip(values, missing, strict=True)]
    )


def _python_kind(python: type) -> Kind | None:
    return next((kind for known, kind in _PYTHON if issubclass(python, known)), None)


def _refusal(series: nw.Series[Any], name: str, label: str) -> TypeError:
    dtype = series.dtype
    native = series.to_native()
    known = dtype not in (nw.Unknown, nw.Object)
    said = dtype if known else getattr(native, "dtype", None) or getattr(native, "type", dtype)
    return TypeError(
        f"`{name}` must have columns of numbers, booleans, text, categories, dates or times, got {said} in column "
        f"'{label}'. Encode it as numbers on the pooled rows of all samples, or drop it."
    )


def _seconds(value: Any) -> float:
    """Numbers as they are; dates since 1970, times of day since midnight and durations in seconds."""
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, dt.time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / _SECOND
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp()
    if isinstance(value, dt.date):
        return float((value - dt.date(1970, 1, 1)).days * 86400)
    return float(value)


def _parsed(text: str, kind: Kind) -> float:
    """NaN for what cannot be read."""
    if kind in ("numbers", "booleans"):
        return float(text) if _NUMBER.fullmatch(text) else np.nan
    pattern, reader = _READERS.get(kind, (_NUMBER, None))
    if reader is None or not pattern.fullmatch(text):
        return np.nan
    try:
        return _seconds(reader(text))
    except ValueError:  # the 30th of February
        return np.nan


_READERS: dict[Kind, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "dates": (_DATE, dt.datetime.fromisoformat),
    "times of day": (re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?"), dt.time.fromisoformat),
}
