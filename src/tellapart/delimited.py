"""Delimited text (CSV, TSV) -> columns: the delimiter is found out, and what is wrong is said with its line.

pyarrow reads where it is installed: numbers, dates, booleans, text, missing entries. Without it NumPy reads tables of
numbers only. Text is UTF-8 with decimal points.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
LONGEST_LINE = 2**24  # bytes; longer ones are no rows of a table
INSTALL = "pip install 'tellapart[files]'"

_LOOKED_AT = 50  # lines, from which the delimiter is found
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_COLUMN = re.compile(r"In CSV column #(\d+): CSV conversion error to (\w+)")
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)(?:: (.*))?", re.DOTALL)


@dataclass(frozen=True)
class Layout:
    """How a file is laid out: its delimiter, the names of its columns, and lines to skip: those up to the header."""

    delimiter: str
    names: tuple[str, ...]
    skipped: int


def read_delimited(stream: BinaryIO, headed: bool | None = None) -> tuple[dict[str, Any], bool]:
    r"""Columns by name, and whether the names are the file's own; `headed` is found out if None.

    Examples
    --------
    >>> columns, named = read_delimited(io.BytesIO(b"height;weight\n1.8;80\n1.7;70\n"))
    >>> list(columns), [float(value) for value in np.asarray(columns["weight"])], named
    (['height', 'weight'], [80.0, 70.0], True)
    """
    layout = layout_of(stream, headed)
    repeated = sorted({name for name in layout.names if layout.names.count(name) > 1})
    if repeated:
        raise ValueError(f"line 1 has the column {repeated[0]!r} twice; rename or remove one")
    stream.seek(0)
    by = _by_pyarrow if find_spec("pyarrow") else _by_numpy
    return by(stream, layout), layout.skipped > 0


def layout_of(stream: BinaryIO, headed: bool | None = None) -> Layout:
    r"""The layout, from the first lines.

    >>> layout_of(io.BytesIO(b"1.5|2\n3|4\n")).skipped, layout_of(io.BytesIO(b"a b\n3\n")).names
    (0, ('a b',))
    """
    numbered = list(_first_lines(stream))
    if not numbered:
        raise ValueError("is empty")
    lines = [text for _, text in numbered]
    delimiter = _delimiter_of(lines)
    first = next(csv.reader(lines, delimiter=delimiter))
    if headed is None:
        headed = not _look_like_data(first)
    if headed and len(lines) == 1:
        raise ValueError("has a header and no rows")
    names = [field.strip() for field in first] if headed else map(str, range(len(first)))
    return Layout(delimiter, tuple(names), numbered[0][0] if headed else 0)


def _first_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Some non-empty lines as text, with their numbers."""
    found = number = 0
    while found < _LOOKED_AT and (line := stream.readline(LONGEST_LINE + 1)):
        number += 1
        if len(line) > LONGEST_LINE:
            raise ValueError(f"line {number} is longer than {LONGEST_LINE // 2**20} MB, so this is no table of rows")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"line {number} is no UTF-8 text ({error.reason}); {_RECODE}") from error
        if text.strip():
            found += 1
            yield number, text


_RECODE = "convert the file, for example with iconv -f latin1 -t utf-8"


def _delimiter_of(lines: Sequence[str]) -> str:
    """The delimiter that divides all lines into equally many fields, and into most."""
    counts = {d: [len(fields) for fields in csv.reader(lines, delimiter=d)] for d in DELIMITERS}
    even = [d for d, found in counts.items() if len(set(found)) == 1]
    if even and (len(even) == len(counts) or max(counts[d][0] for d in even) > 1):
        return max(even, key=lambda d: counts[d][0])
    likely = max(counts, key=lambda d: (counts[d][0], max(counts[d])))
    first, odd = counts[likely][0], next(i for i, c in enumerate(counts[likely]) if c != counts[likely][0])
    other = max(DELIMITERS, key=lambda d: counts[d][odd] if odd < len(counts[d]) else 0)
    mixed = f" (it is divided by {DELIMITERS[other]})" if other != likely else ""
    raise ValueError(
        f"row {odd + 1} has {counts[likely][odd]} fields divided by {DELIMITERS[likely]}{mixed}, "
        f"the first row has {first}; write all rows alike, and text with delimiters in quotes"
    )


def _look_like_data(first: Sequence[str]) -> bool:
    """Whether a first line holds numbers rather than names: columns may be called 0, 1, 2, but hardly 0.5 or 7, 7."""
    try:
        numbers = [float(field) for field in first]
    except ValueError:
        return False
    return len(set(first)) < len(first) or not all(x.is_integer() and x >= 0 for x in numbers)


def _by_pyarrow(stream: BinaryIO, layout: Layout) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types: dict[str, Any] = {}
    while True:
        stream.seek(0)
        try:
            table = arrow_csv.read_csv(
                stream,
                arrow_csv.ReadOptions(block_size=LONGEST_LINE, column_names=layout.names, skip_rows=layout.skipped),
                arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
                arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True),
            )
            break
        except pa.ArrowInvalid as error:  # types are inferred from the first block: later rows may widen them
            types |= _widened(str(error), layout, types, pa)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, column in columns.items():
        _refuse_strange_text(name, column, pa)
    if not table.num_rows:
        raise ValueError("has a header and no rows")
    return columns


def _widened(message: str, layout: Layout, types: dict[str, Any], pa: Any) -> dict[str, Any]:
    """The next wider type of the column that could not be converted, or a clear error."""
    if found := _COLUMN.search(message):
        name = layout.names[int(found[1])]
        if types.get(name) != pa.string():
            return {name: pa.string() if name in types or found[2] not in ("int64", "null") else pa.float64()}
    if found := _RAGGED.search(message):
        line = f" ({found[3].strip()[:60]!r})" if found[3] else ""
        raise ValueError(
            f"a row has {found[2]} fields{line} where the first has {found[1]}, divided by "
            f"{DELIMITERS[layout.delimiter]}"
        )
    if "straddling" in message:
        raise ValueError(
            f"a line is longer than {LONGEST_LINE // 2**20} MB, or a quote is never closed, so this is no table of rows"
        )
    raise ValueError(f"cannot be read as delimited text: {message}")


def _refuse_strange_text(name: str, column: Any, pa: Any) -> None:
    """Columns that came out as bytes or as text with decimal commas."""
    if pa.types.is_binary(column.type):
        raise ValueError(f"column {name!r} is no UTF-8 text; {_RECODE}")
    if pa.types.is_string(column.type):
        some = [value for value in column.slice(0, 100).to_pylist() if value]
        if some and all(_DECIMAL_COMMA.fullmatch(value) for value in some):
            raise ValueError(f"column {name!r} has decimal commas ({some[0]!r}); write decimal points")


def _by_numpy(stream: BinaryIO, layout: Layout) -> dict[str, Any]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig")
    try:
        rows = islice(text, layout.skipped, None)
        values = np.loadtxt(rows, delimiter=layout.delimiter, ndmin=2, quotechar='"', comments=None)
    except UnicodeDecodeError as error:
        raise ValueError(f"is no UTF-8 text ({error.reason}); {_RECODE}") from error
    except ValueError as error:
        raise ValueError(f"is no table of numbers ({error}); to read more than numbers, {INSTALL}") from error
    finally:
        text.detach()
    return dict(zip(layout.names, values.T, strict=True))
