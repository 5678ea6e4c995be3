"""What comes in: two samples, checked once.

Arrays, lists, data frames and tensors become two float tables with the same columns. Every message about bad
input is written here, so that nothing further down the arrow has to look again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tellapart import _arrow
from tellapart._arrays import FloatArray, IndexArray, chunks, to_numpy

FrameOrSeries = nw.DataFrame[Any] | nw.Series[Any]

# A column whose span is fewer than this many steps of its floating-point grid holds rounding, not data.
_FEWEST_STEPS = 100.0
_LARGEST = 1e120  # its square, summed over many columns, is still a float
_WIDE_INTEGERS = (nw.Int128, nw.UInt128)  # NumPy has none

_TO_NUMBERS = "Turn them into numbers first, for example with astype(float)."
# What a NumPy array may hold instead of real numbers, by `dtype.kind`, and the way out.
_OTHER_KINDS = {
    **dict.fromkeys("UST", ("strings", _TO_NUMBERS)),
    "M": ("dates", _TO_NUMBERS),
    "m": ("time differences", _TO_NUMBERS),
    "c": ("complex numbers", "Pass their real and imaginary parts as columns of their own."),
    "V": ("records", "Turn them into columns, for example with numpy.lib.recfunctions.structured_to_unstructured."),
}


@dataclass(frozen=True, eq=False)
class Samples:
    """Two checked samples: `x` of shape (n, d) and `y` of shape (m, d), with the names of their columns.

    `shares` says what part of its source each column is, where several columns are made of one: see
    :func:`tellapart.pairs.column_spreads`.
    """

    x: FloatArray
    y: FloatArray
    columns: tuple[str, ...] | None = None
    shares: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        return len(self.x)

    @property
    def m(self) -> int:
        return len(self.y)

    @property
    def pooled(self) -> FloatArray:
        """All rows, first those of `x`, then those of `y`: (n + m, d)."""
        return np.concatenate([self.x, self.y])

    def take(self, rows_x: IndexArray, rows_y: IndexArray) -> Samples:
        """The given rows of each sample."""
        return Samples(self.x[rows_x], self.y[rows_y], self.columns, self.shares)


@dataclass(frozen=True, eq=False)
class Table:
    """One sample on its way in: float values (n, d), and the column names if it had any."""

    values: FloatArray
    columns: tuple[str, ...] | None

    def name_of(self, j: int) -> str:
        return f"'{self.columns[j]}'" if self.columns else str(j)


def as_samples(x: Any, y: Any) -> Samples:
    """Two samples of any accepted kind -> :class:`Samples`.

    Parameters
    ----------
    x, y : array-like, data frame or tensor
        One row per observation; one dimension means one column. Data frames are matched by column name.

    Examples
    --------
    >>> as_samples([1, 2, 3], [4.0, 5.0]).x.shape
    (3, 1)
    >>> as_samples([[1, 2]], [[1, 2, 3]])
    Traceback (most recent call last):
        ...
    ValueError: `x` and `y` must have the same number of columns, got 2 and 3.
    """
    tx, ty = as_table(x, "x"), as_table(y, "y")
    ty = _same_columns(tx, ty)
    refuse_lost_digits(tx, ty)
    dtype = np.result_type(tx.values, ty.values)
    return Samples(tx.values.astype(dtype, copy=False), ty.values.astype(dtype, copy=False), tx.columns or ty.columns)


@dataclass(frozen=True, eq=False)
class ManySamples:
    """Several checked samples with the same columns."""

    rows: tuple[FloatArray, ...]
    columns: tuple[str, ...] | None


def as_many_samples(samples: Any) -> ManySamples:
    """Several samples, each of any accepted kind.

    Examples
    --------
    >>> [len(rows) for rows in as_many_samples([[1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0]]).rows]
    [2, 3, 2]
    """
    samples = listed_samples(samples)
    found = []
    for i, sample in enumerate(samples[1:], start=1):
        try:
            found.append(as_samples(samples[0], sample))
        except (TypeError, ValueError) as error:
            raise type(error)(f"Sample 0 is `x` and sample {i} is `y` here: {error}") from error
    dtype = np.result_type(*(two.y for two in found), found[0].x)
    rows = (found[0].x, *(two.y for two in found))
    return ManySamples(tuple(r.astype(dtype, copy=False) for r in rows), found[0].columns)


def listed_samples(samples: Any) -> list[Any]:
    """At least two samples out of a list, a tuple, or the values of a dict."""
    if isinstance(samples, dict):
        samples = list(samples.values())
    if not isinstance(samples, list | tuple) or len(samples) < 2:
        raise TypeError(
            f"`y` must be the second sample, or `x` a list of at least two samples, got {type(samples).__name__}"
            f"{f' of {len(samples)}' if hasattr(samples, '__len__') else ''} and no `y`."
        )
    return list(samples)


def sample_names(samples: Any, y: Any = None) -> tuple[str, ...]:
    """What schema differences and notes call the samples: by the keys of a dict, or by their places.

    >>> sample_names([1.0], [2.0]), sample_names({"May": [1.0], "June": [2.0]}), sample_names([[1.0]] * 3)[2]
    (('x', 'y'), ('May', 'June'), 'sample 2')
    """
    if y is None and isinstance(samples, dict):
        return tuple(str(name) for name in samples)
    return ("x", "y") if y is not None or len(samples) == 2 else tuple(f"sample {i}" for i in range(len(samples)))


def as_rows(z: Any, n_columns: int, columns: tuple[str, ...] | None, name: str = "z") -> FloatArray:
    """Further rows for a witness that was learned on `n_columns` columns, matched by name where there are names."""
    table = as_table(z, name)
    if columns and table.columns:
        return _reordered(table, columns, name).values
    if table.values.shape[1] != n_columns:
        raise ValueError(
            f"`{name}` must have the {n_columns} columns that the witness was learned on, got {table.values.shape[1]}."
        )
    return table.values


def as_table(data: Any, name: str) -> Table:
    """One sample -> a finite float table, or an error that says what is wrong with it."""
    values, columns = _unwrapped(data, name)
    if values.ndim == 0:
        raise TypeError(
            f"`{name}` must hold one row per observation, as an array, list, data frame or tensor, "
            f"got {type(data).__name__}."
            + (" Columns in a dict become a table with pandas.DataFrame(...)." if isinstance(data, dict) else "")
        )
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(
            f"`{name}` must have one row per observation (1 or 2 dimensions), got {values.ndim} dimensions of shape "
            f"{values.shape}. Flatten each observation first, for example {name}.reshape(len({name}), -1)."
        )
    refuse_empty(values.shape, name)
    table = Table(_as_floats(values, name), columns)
    refuse_missing(table, name)
    return table


def _unwrapped(data: Any, name: str) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """The values as a NumPy array of whatever type, and the column names of a data frame."""
    if isinstance(data, Table):
        return np.asarray(data.values), data.columns
    native = as_frame(data, name)
    if isinstance(native, nw.Series):
        return column_values(native, name, str(native.name or 0)), None
    if native is not None:
        return _frame_values(native, name)
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise TypeError(f"`{name}` must be dense, got a sparse {type(data).__name__}. Call .toarray() first.")
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise ValueError(
            f"`{name}` must have no missing values, got a masked array with {int(np.ma.getmaskarray(data).sum())} "
            "masked entries. Drop these rows or fill them first."
        )
    try:
        return to_numpy(data), None
    except ValueError as error:
        raise ValueError(f"`{name}` must have rows of equal length, got a ragged {type(data).__name__}.") from error
    except (RuntimeError, TypeError, NotImplementedError) as error:  # what tensors raise that hold no plain numbers
        raise TypeError(f"`{name}` must be convertible to a NumPy array, got {type(data).__name__}: {error}") from error


def as_frame(data: Any, name: str) -> FrameOrSeries | None:
    """A data frame or series in narwhals' clothes; None for anything else."""
    if type(data).__name__ == "RecordBatch":  # of pyarrow, of which narwhals knows the tables only
        data = nw.from_arrow(data, backend="pyarrow")
    try:
        native = nw.from_native(data, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"`{name}` must have distinct column names. {error}".replace("\n", " ")) from error
    if isinstance(native, nw.LazyFrame):
        if native.implementation.is_duckdb():  # a relation: what DuckDB users have in place of a frame
            return native.collect()
        raise TypeError(f"`{name}` must be in memory, got a lazy frame. Call .collect() first.")
    return native if isinstance(native, nw.DataFrame | nw.Series) else None


def distinct_names(frame: nw.DataFrame[Any], name: str) -> tuple[str, ...]:
    """The names of the columns as text."""
    names = tuple(str(c) for c in frame.columns)
    if len(set(names)) < len(names):  # 1 and "1"
        raise ValueError(f"`{name}` must have distinct column names, got {sorted(names)}.")
    return names


def refuse_empty(shape: tuple[int, ...], name: str) -> None:
    """At least one row and one column."""
    if 0 in shape:
        raise ValueError(f"`{name}` must have at least one row and one column, got shape {shape}.")


def _frame_values(frame: nw.DataFrame[Any], name: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    """All columns of a data frame beside each other, and their names."""
    names = distinct_names(frame, name)
    if not names:
        raise ValueError(f"`{name}` must have at least one row and one column, got shape {frame.shape}.")
    columns = (column_values(c, name, label) for c, label in zip(frame.iter_columns(), names, strict=True))
    return np.column_stack(list(columns)), names


def is_numeric(dtype: nw.dtypes.DType) -> bool:
    """Whether columns of this type are taken as they are."""
    return (dtype.is_numeric() or dtype == nw.Boolean) and dtype not in _WIDE_INTEGERS


def column_values(column: nw.Series[Any], name: str, label: str) -> NDArray[Any]:
    """One data-frame column as numbers; missing entries become NaN, so that they are counted with the others."""
    dtype = column.dtype
    if not is_numeric(dtype):
        said = getattr(column.to_native(), "dtype", dtype) if dtype == nw.Unknown else dtype
        raise TypeError(
            f"`{name}` must have numeric or boolean columns only, got {said} in column '{label}'. "
            "Encode it as numbers on the pooled rows of both samples, or drop it; tell_apart and witness_test do so "
            "where all samples are data frames."
        )
    values = raw_numbers(column)
    _refuse_large_integers(values, name, f" in column '{label}'")
    return values


def raw_numbers(column: nw.Series[Any]) -> NDArray[Any]:
    """A column of numbers or booleans as it is stored, or floats with NaN where some are missing."""
    if column.implementation.is_pyarrow():
        return _arrow.numbers(column.to_native())
    if column.null_count() > 0 or column.dtype.is_decimal():
        floats = np.float32 if column.dtype == nw.Float32 else np.float64
        wanted = nw.Float32 if column.dtype == nw.Float32 else nw.Float64
        return np.asarray(column.cast(wanted).to_numpy(), dtype=floats)
    values: NDArray[Any] = column.to_numpy()
    return values


def _as_floats(values: NDArray[Any], name: str) -> FloatArray:
    """Numbers of any real type -> float64, or float32 where the data came in float32 (or float16)."""
    if values.dtype.kind not in "buif":
        kind, way_out = _OTHER_KINDS.get(values.dtype.kind, ("Python objects", _TO_NUMBERS))
        raise TypeError(f"`{name}` must hold real numbers, got {kind} (dtype {values.dtype}). {way_out}")
    _refuse_large_integers(values, name)
    target = np.float32 if values.dtype in (np.float32, np.float16) else np.float64
    return values.astype(target, copy=False)


def _refuse_large_integers(values: NDArray[Any], name: str, where: str = "") -> None:
    if values.dtype.kind not in "ui" or values.size == 0:
        return
    largest = max(int(values.max()), int(values.min()), key=abs)
    if abs(largest) > 2**53:
        raise ValueError(
            f"`{name}` must hold integers below 2**53, which floats represent exactly, got {largest}{where}. "
            "Subtract a common offset from both samples first, or drop the column if it is an identifier."
        )


def refuse_missing(table: Table, name: str) -> None:
    """Only finite values, or an error that counts the others by column."""
    if all(np.isfinite(table.values[rows]).all() for rows in chunks(len(table.values), table.values.shape[1], 2**20)):
        return
    finite = np.isfinite(table.values)
    bad_columns = np.flatnonzero(~finite.all(axis=0))
    listed = ", ".join(f"{table.name_of(j)} ({np.sum(~finite[:, j])})" for j in bad_columns[:5])
    more = f" and {len(bad_columns) - 5} more" if len(bad_columns) > 5 else ""
    n_nan = int(np.isnan(table.values).sum())
    raise ValueError(
        f"`{name}` must be finite, got {n_nan} NaN and {int((~finite).sum()) - n_nan} infinite values in "
        f"{int((~finite.all(axis=1)).sum())} of {len(finite)} rows, columns (how many): {listed}{more}. "
        "Drop or fill them in both samples in the same way, or pass data frames to tell_apart or witness_test: there, "
        "what is missing (but not infinite) is compared, too."
    )


def _same_columns(tx: Table, ty: Table) -> Table:
    """`ty` with the columns of `tx`, in their order."""
    if tx.columns and ty.columns and set(tx.columns) == set(ty.columns):
        return _reordered(ty, tx.columns, "y")
    if tx.values.shape[1] != ty.values.shape[1]:
        raise ValueError(
            f"`x` and `y` must have the same number of columns, got {tx.values.shape[1]} and {ty.values.shape[1]}."
            + _names_apart(tx.columns, ty.columns)
        )
    if tx.columns and ty.columns:
        raise ValueError(f"`x` and `y` must have the same columns.{_names_apart(tx.columns, ty.columns)}")
    return ty


def _reordered(table: Table, columns: Sequence[str], name: str) -> Table:
    own = table.columns or ()
    if set(own) != set(columns):
        raise ValueError(f"`{name}` has other columns than expected.{_names_apart(columns, own)}")
    if own == tuple(columns):
        return table
    order = [own.index(c) for c in columns]
    return Table(table.values[:, order], tuple(columns))


def _names_apart(first: Sequence[str] | None, second: Sequence[str] | None) -> str:
    if first is None or second is None:
        return ""
    missing, extra = [c for c in first if c not in second], [c for c in second if c not in first]
    said = [f"{label} {cs[:5]}" for label, cs in (("missing", missing), ("unexpected", extra)) if cs]
    return f" Columns {'; '.join(said)}. Select the common columns first." if said else ""


def refuse_lost_digits(tx: Table, ty: Table) -> None:
    """A column far from zero relative to its span has lost its digits before it came here."""
    low = np.minimum(tx.values.min(axis=0), ty.values.min(axis=0)).astype(float)
    high = np.maximum(tx.values.max(axis=0), ty.values.max(axis=0)).astype(float)
    peak = np.maximum(np.abs(low), np.abs(high))
    coarser = np.float32 if np.float32 in (tx.values.dtype, ty.values.dtype) else np.float64
    step = float(np.finfo(coarser).eps) * peak
    with np.errstate(over="ignore"):
        span = high - low
    extreme = np.flatnonzero((peak > _LARGEST) | ((span > 0) & (span < 1 / _LARGEST)))
    if extreme.size:
        j = int(extreme[0])
        raise ValueError(
            f"`x` and `y` must have squares within the range of floats, but column {tx.name_of(j)} spans {span[j]:.2g} "
            f"up to {peak[j]:.2g}. Multiply it by a constant in both samples first."
        )
    lost = np.flatnonzero((span > 0) & (span < _FEWEST_STEPS * step))
    if lost.size:
        j = int(lost[0])
        raise ValueError(
            f"`x` and `y` must keep some digits, but column {tx.name_of(j)} spans only {span[j]:.2g} around "
            f"{peak[j]:.2g}, about {max(1, round(span[j] / step[j]))} steps of {np.dtype(coarser).name}. "
            "Subtract the offset before the values are rounded to this type."
        )
