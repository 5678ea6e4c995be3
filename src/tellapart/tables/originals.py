"""The columns of the table behind encoded ones: their values in the words of the table, for a person."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import to_numpy
from tellapart.samples import FrameOrSeries, Table, as_frame
from tellapart.tables import Encoded, ReadTable
from tellapart.tables.encoders import Encoder, Levels, Texts
from tellapart.tables.reading import Column, columns_of, text_of

Ids = NDArray[np.intp]
Sort = Literal["numbers", "booleans", "dates", "durations", "times of day", "categories", "free text"]

LONGEST = 80  # characters of a value
MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Original:
    """One compared column of the table: some of its values in each sample, and how it was encoded."""

    name: str
    sort: Sort
    columns: tuple[Column, ...]
    encoder: Encoder | None = None

    @property
    def is_ordered(self) -> bool:
        """Whether its values are amounts."""
        return self.sort not in ("categories", "free text")

    def formatted(self, value: float, span: float = np.inf) -> str:
        """A value of an ordered column for a person; `span` tells how fine it has to be."""
        if self.sort == "dates":
            moment = dt.datetime.fromtimestamp(round(value), dt.UTC)
            return moment.strftime("%Y-%m-%d" if span > 3 * 86400 else "%Y-%m-%d %H:%M")
        if self.sort == "times of day":
            return f"{int(value) // 3600:02d}:{int(value) % 3600 // 60:02d}"
        if self.sort == "durations":
            return str(dt.timedelta(seconds=round(value))) if abs(value) >= 10 else f"{value:.3g} s"
        if self.sort == "booleans":
            return "true" if value else "false"
        return short(value)


def short(value: float) -> str:
    """A number in few characters.

    >>> short(0.1 + 0.2), short(12345.6), short(1e20), short(-0.0)
    ('0.3', '12346', '1e+20', '0')
    """
    if 1000 <= abs(value) < 1e9:
        return f"{value:.0f}"
    return f"{value + 0.0:.4g}"


def names_of(table: Encoded) -> tuple[str, ...]:
    """The columns of the table, each once, in their order."""
    if table.sources is None:
        return tuple(f"column {j}" for j in range(table.samples[0].shape[1]))
    return tuple(dict.fromkeys(table.sources))


def source_numbers(table: Encoded) -> list[int]:
    """Which column of the table each encoded column is made from."""
    if table.sources is None:
        return list(range(table.samples[0].shape[1]))
    number = {name: i for i, name in enumerate(names_of(table))}
    return [number[name] for name in table.sources]


def original_columns(given: Sequence[Any], table: Encoded, rows: Sequence[Ids]) -> tuple[Original, ...]:
    """Every compared column, with the values of some rows of each sample."""
    names = names_of(table)
    if table.encoding is None:
        flags = _booleans(given, names)
        values = [np.asarray(s[r], dtype=np.float64) for s, r in zip(table.samples, rows, strict=True)]
        found = []
        for j, (name, flag) in enumerate(zip(names, flags, strict=True)):
            columns = tuple(Column.of(name, "numbers", v[:, j]) for v in values)
            found.append(Original(name, "booleans" if flag else "numbers", columns))
        return tuple(found)
    read = [_read(data, r, names) for data, r in zip(given, rows, strict=True)]
    return tuple(
        Original(e.source, _sort(e), tuple(found[e.source].to(e.kind).kept() for found in read), e)
        for e in table.encoding.encoders
    )


def _read(data: Any, rows: Ids, names: Sequence[str]) -> dict[str, Column]:
    """Some rows of the compared columns."""
    if isinstance(data, ReadTable):
        found: dict[str, Column] = data
    else:
        frame = _frame(data)
        found = columns_of(frame, "z")
        if isinstance(frame, nw.Series):
            found = dict(zip(names, found.values(), strict=True))
    return {name: found[name].taken(rows) for name in names}


def _frame(data: Any) -> FrameOrSeries:
    frame = as_frame(data, "z")
    if frame is None:
        raise TypeError(f"`z` must be a data frame, got {type(data)}.")
    return frame


def _sort(encoder: Encoder) -> Sort:
    if isinstance(encoder, Texts):
        return "free text"
    if isinstance(encoder, Levels) or encoder.kind == "text" or encoder.kind == "nothing":
        return "categories"
    kind: Sort = encoder.kind
    return kind


def _booleans(given: Sequence[Any], names: Sequence[str]) -> list[bool]:
    """Which columns hold truth values in all samples."""
    flags = [True] * len(names)
    for data in given:
        frame = as_frame(data, "z")
        if isinstance(frame, nw.DataFrame):
            schema = {str(name): dtype for name, dtype in frame.schema.items()}
            mine = [schema.get(name) == nw.Boolean for name in names]
        elif frame is not None:
            mine = [frame.dtype == nw.Boolean] * len(names)
        else:
            mine = [_numbers(data).dtype == np.bool_] * len(names)
        flags = [a and b for a, b in zip(flags, mine, strict=True)]
    return flags


def row_texts(data: Any, rows: Ids, names: Sequence[str]) -> list[dict[str, str]]:
    """The values of some rows as they came in, as text of at most 80 characters."""
    if isinstance(data, ReadTable):
        read = _read(data, rows, names)
        return [{name: _text(_dated(read[name], i)) for name in names} for i in range(len(rows))]
    frame = as_frame(data, "z")
    if frame is None:
        values = np.atleast_2d(_numbers(data).T).T[rows]
        return [{name: _text(v) for name, v in zip(names, row, strict=True)} for row in values.tolist()]
    listed = [frame] if isinstance(frame, nw.Series) else list(frame.iter_columns())
    columns = (
        dict(zip(names, listed, strict=True)) if isinstance(frame, nw.Series) else {str(c.name): c for c in listed}
    )
    return [{name: _text(columns[name][int(i) : int(i) + 1].to_list()[0]) for name in names} for i in rows]


def _numbers(data: Any) -> NDArray[Any]:
    """The values of a sample that is no data frame."""
    return data.values if isinstance(data, Table) else to_numpy(data)


def _dated(column: Column, i: int) -> Any:
    """One value of a column that has been read: dates are seconds there."""
    if column.kind == "text":
        return column.texts[i]
    value = column.values.tolist()[i]
    if column.kind != "dates" or value != value:
        return value
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value)


def _text(value: Any) -> str:
    """One value.

    >>> _text(93.0), _text(None), _text(float("nan")), len(_text("a" * 100)), _text(0.1 + 0.2)
    ('93', 'missing', 'missing', 80, '0.3')
    """
    if value is None or value != value:
        return MISSING
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.10g}"
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time(0) else value.isoformat(" ", "seconds")
    text = text_of(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
