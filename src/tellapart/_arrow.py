"""Columns of pyarrow -> NumPy, without a Python object for each row.

pyarrow's own conversion imports pandas where it is installed, which takes longer than two small files to compare; so
numbers come by DLPack here. The only file that has heard of pyarrow's arrays, beside those that read files.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray


def available() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def numbers(column: Any) -> NDArray[Any]:
    """Numbers, booleans (as 0 and 1) and decimals, NaN where missing; float32 stays float32.

    >>> import pyarrow as pa
    >>> numbers(pa.chunked_array([[1, 2], [3]])), numbers(pa.chunked_array([[True, None]]))
    (array([1, 2, 3]), array([ 1., nan]))
    """
    return _joined([_numbers(chunk) for chunk in _chunks(column)])


def seconds(column: Any) -> NDArray[np.float64]:
    """Dates since 1970, times of day since midnight, and durations: to the microsecond, NaN where missing.

    >>> import datetime as dt, pyarrow as pa
    >>> seconds(pa.chunked_array([[dt.date(1970, 1, 2), None]]))
    array([86400.,    nan])
    """
    import pyarrow as pa

    if pa.types.is_time(column.type):
        unit = pa.time64("us")
    elif pa.types.is_duration(column.type):
        unit = pa.duration("us")
    else:
        unit = pa.timestamp("us", getattr(column.type, "tz", None))
    return numbers(column.cast(unit, safe=False).cast(pa.int64())) / 1e6


def is_text(column: Any) -> bool:
    """Whether these are texts, or categories that are texts or numbers."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    known = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    numbered = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return any(of(kind) for of in (known if kind == column.type else known + numbered))


def coded(column: Any) -> tuple[NDArray[np.int32], list[Any]]:
    """For each row the number of its value, -1 where missing; and the values, of which some may be in no row.

    >>> import pyarrow as pa
    >>> codes, values = coded(pa.chunked_array([["b", None], ["a", "b"]]))
    >>> codes.tolist(), values
    ([0, -1, 1, 0], ['b', 'a'])
    """
    import pyarrow as pa

    column = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = _chunks(column.unify_dictionaries())
    values = chunks[0].dictionary.to_pylist() if chunks else []
    codes = [_filled(chunk.indices, -1, np.int32) for chunk in chunks]
    if None in values:  # a dictionary may hold a missing value, too
        renumbered = np.array([-1 if v is None else i for i, v in enumerate(values)] + [-1], dtype=np.int32)
        codes = [renumbered[part] for part in codes]
    return _joined(codes).astype(np.int32, copy=False), values


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if hasattr(column, "chunks") else [column]


def _numbers(chunk: Any) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_boolean(chunk.type):
        chunk = chunk.cast(pa.int8())
    elif pa.types.is_float16(chunk.type):
        chunk = chunk.cast(pa.float32())
    elif pa.types.is_decimal(chunk.type):
        chunk = chunk.cast(pa.float64())
    return _filled(chunk, np.nan, np.float32 if pa.types.is_float32(chunk.type) else np.float64)


def _filled(chunk: Any, missing: float, dtype: type[np.number[Any]]) -> NDArray[Any]:
    """The values, with one for those that are missing; pyarrow's own `fill_null` imports pandas, too."""
    import pyarrow as pa

    if not chunk.null_count:
        return _exported(chunk)
    filled = np.full(len(chunk), missing, dtype=dtype)
    filled[_exported(chunk.is_valid().cast(pa.int8())).astype(bool)] = _exported(chunk.drop_null())
    return filled


def _exported(chunk: Any) -> NDArray[Any]:
    """The memory of a column without missing values, as it is."""
    return np.from_dlpack(chunk) if len(chunk) else np.empty(0)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)
