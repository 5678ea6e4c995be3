"""Columns of a data frame, whatever library it is of -> arrays of seven kinds.

A kind is what two files can agree on although their libraries and storage types differ: 32-bit and 64-bit integers, and
floats, are all numbers (pandas turns integers into floats as soon as one is missing); strings, categories and enums are
all text.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tellapart.samples import FrameOrSeries, column_values, distinct_names, refuse_empty

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


@dataclass(frozen=True, eq=False)
class Column:
    """One column of one sample: floats with NaN where missing (times in seconds), or for text str and None."""

    name: str
    kind: Kind
    values: NDArray[Any]

    @property
    def missing(self) -> NDArray[np.bool_]:
        if self.kind == "text":
            return np.array([v is None for v in self.values.tolist()], dtype=bool)
        return np.asarray(np.isnan(self.values))

    def to(self, kind: Kind) -> Column:
        """The same values as another kind; what cannot be read that way is missing.

        >>> Column("a", "text", np.array(["1.5", "two"], dtype=object)).to("numbers").values
        array([1.5, nan])
        """
        if kind == self.kind:
            return self
        if self.kind == "nothing":
            return replace(self, kind=kind, values=np.full(len(self.values), None) if kind == "text" else self.values)
        if kind == "text":
            return replace(self, kind=kind, values=_objects([None if v != v else text_of(v) for v in self.values]))
        if self.kind == "text":
            read = {level: _parsed(level, kind) for level in set(self.values.tolist())}
            return replace(self, kind=kind, values=np.array([read[v] for v in self.values], dtype=np.float64))
        both_numbers = {self.kind, kind} == {"numbers", "booleans"}
        return replace(self, kind=kind, values=self.values if both_numbers else np.full(len(self.values), np.nan))

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
    dtype = series.dtype
    if series.null_count() == len(series):
        return Column(label, "nothing", np.full(len(series), np.nan))
    if dtype == nw.Boolean:
        return Column(label, "booleans", _floats(series))
    if dtype.is_numeric():
        return Column(label, "numbers", np.asarray(column_values(series, name, label), dtype=np.float64))
    if dtype in (nw.Datetime, nw.Date):
        return Column(label, "dates", _floats(series.dt.timestamp("us")) / _SECOND)
    if dtype == nw.Duration:
        return Column(label, "durations", _floats(series.dt.total_microseconds()) / _SECOND)
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Time):
        return _read_objects(series, name, label)
    raise _refusal(series, name, label)


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
    found = [None if absent else convert(v) for v, absent in zip(values, missing, strict=True)]
    return Column(label, kind or "text", _objects(found) if kind == "text" else np.array(found, dtype=np.float64))


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


def _floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _objects(values: list[Any]) -> NDArray[Any]:
    filled = np.empty(len(values), dtype=object)
    filled[:] = values
    return filled


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


def _parsed(text: str | None, kind: Kind) -> float:
    """NaN for what cannot be read."""
    if text is None:
        return np.nan
    if kind in ("numbers", "booleans"):
        return float(text) if _NUMBER.fullmatch(text) else np.nan
    readers: dict[Kind, tuple[re.Pattern[str], Callable[[str], Any]]] = {
        "dates": (_DATE, dt.datetime.fromisoformat),
        "times of day": (re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?"), dt.time.fromisoformat),
    }
    if kind not in readers:
        return np.nan
    pattern, reader = readers[kind]
    try:
        return _seconds(reader(text)) if pattern.fullmatch(text) else np.nan
    except ValueError:  # the 30th of February
        return np.nan
