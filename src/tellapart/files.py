"""Files -> tables: what a file is, its first bytes say. Every message says what is wrong and where.

NumPy reads NPY, NPZ and delimited text with numbers; text with more than numbers, Parquet, Arrow and JSON lines need
pyarrow, Excel needs openpyxl, a query needs DuckDB. Pickles are never loaded.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import IndexArray
from tellapart.delimited import INSTALL, read_delimited
from tellapart.samples import Table

_HEAD = 2**12  # bytes that tell what a file is
_TROUBLE = (ValueError, TypeError, KeyError, NotImplementedError, OSError, EOFError, zlib.error, zipfile.BadZipFile)
_INSTALL_EXCEL = "pip install 'tellapart[excel]'"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class FileError(ValueError):
    """A file that cannot be compared; the message starts with its name."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table as it was read: columns by name, pyarrow's or NumPy's. Without names of its own they are numbered."""

    source: str
    columns: dict[str, Any]
    named: bool = True
    remarks: tuple[str, ...] = ()  # what there is to know about how it was read

    @property
    def n(self) -> int:
        return len(next(iter(self.columns.values())))

    def column(self, name: str, use: str) -> NDArray[Any]:
        """One column as an array, or an error that says what it was wanted for."""
        if name not in self.columns:
            raise FileError(f"{self.source}: has no column {name!r} ({use}); it has {_listed(self.columns)}")
        return np.asarray(self.columns[name])

    def only(self, names: Sequence[str]) -> Sheet:
        """The named columns."""
        for name in names:
            self.column(name, "--columns")
        return replace(self, columns={name: self.columns[name] for name in names})

    def without(self, names: Sequence[str]) -> Sheet:
        """All columns but the named ones."""
        kept = {name: column for name, column in self.columns.items() if name not in names}
        if not kept:
            raise FileError(f"{self.source}: no column is left to compare")
        return replace(self, columns=kept)

    def rows(self, chosen: IndexArray, source: str) -> Sheet:
        """The chosen rows."""
        return replace(self, source=source, columns={name: c.take(chosen) for name, c in self.columns.items()})

    def same_rows(self, other: Sheet) -> bool:
        """Whether both hold the same rows in the same order."""
        if self.n != other.n or set(self.columns) != set(other.columns):
            return False
        return all(_equal(column, other.columns[name]) for name, column in self.columns.items())

    def frame(self) -> Any:
        """What the tests take: a pyarrow table, or numbers with the names of their columns."""
        if all(isinstance(column, np.ndarray) for column in self.columns.values()):
            values = np.column_stack(list(self.columns.values()))
            return Table(values, tuple(self.columns)) if self.named else values
        import pyarrow as pa

        for name, column in self.columns.items():
            if pa.types.is_nested(column.type):
                raise FileError(
                    f"{self.source}: column {name!r} is nested ({column.type}); flatten it, or leave it out with "
                    f"--drop {name}"
                )
        return pa.table(self.columns)


def read(path: str, headed: bool | None = None) -> Sheet:
    """The table in a file; ``-`` is standard input, ``file.npz:name`` one array of an archive.

    Parameters
    ----------
    path : str
    headed : bool, optional
        Whether the first line of delimited text holds names. Default: it does, unless it holds data.

    Raises
    ------
    FileError
        With one line that starts with the file and says what is wrong.

    Examples
    --------
    >>> from tellapart.datasets import example_file
    >>> sheet = read(example_file("readings_last_month.csv"))
    >>> sheet.n, list(sheet.columns)
    (200, ['speed_rpm', 'current_a', 'temperature_c', 'vibration_mm_s'])
    """
    source = "standard input" if path == "-" else path
    file, member = _member_of(path)
    try:
        with _opened(file) as stream:
            return replace(_sheet(stream, member, headed), source=source)
    except FileNotFoundError as error:
        raise FileError(f"{source}: no such file") from error
    except _TROUBLE as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileError(f"{source}: {' '.join(said.split())}") from error


def query(text: str) -> Sheet:
    """The table that a query gives: ``duckdb:select ...``."""
    engine, _, sql = text.partition(":")
    if engine != "duckdb" or not sql.strip():
        raise FileError(f"--sql: must be duckdb:QUERY, got {text!r}")
    duckdb = _needed("duckdb", "a query", "pip install 'tellapart[sql]'")
    try:
        found = duckdb.sql(sql)
        if found is None:
            raise ValueError("the statement gives no rows; end with a select")
        return _arrow_sheet(found.to_arrow_table())
    except (duckdb.Error, ValueError) as error:
        raise FileError(f"--sql: {' '.join(str(error).split())}") from error


def split_by(sheet: Sheet, name: str, most: int = 20) -> list[Sheet]:
    """One sample for each value of a column, in the order of the values, without that column."""
    column = sheet.columns[name] if name in sheet.columns else sheet.column(name, "--by")
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.tolist()
    if any(value is None or value != value for value in values):
        raise FileError(f"{sheet.source}: column {name!r} has missing values, so --by cannot tell their sample")
    found = sorted(set(values))
    if not 2 <= len(found) <= most:
        raise FileError(f"{sheet.source}: column {name!r} must have 2 to {most} values for --by, got {len(found)}")
    rest, array = sheet.without([name]), np.array(values, dtype=object)
    return [rest.rows(np.flatnonzero(array == value), f"{name}={value}") for value in found]


def _member_of(path: str) -> tuple[str, str | None]:
    """``archive.npz:name`` -> the archive and the name of an array in it."""
    file, colon, member = path.rpartition(":")
    return (file, member) if colon and file.endswith(".npz") and not os.path.exists(path) else (path, None)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """The uncompressed bytes, as a stream that can be read twice."""
    if path == "-":
        yield _uncompressed(io.BytesIO(sys.stdin.buffer.read()))
        return
    if os.path.isdir(path):
        raise ValueError("is a directory; name a file in it")
    with open(path, "rb") as file:
        seekable = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        yield _uncompressed(file if seekable else io.BytesIO(file.read()))


def _uncompressed(stream: BinaryIO) -> BinaryIO:
    magic = stream.read(4)
    stream.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream))
    if magic == b"\x28\xb5\x2f\xfd":
        return io.BytesIO(_unzstd(stream))
    return stream


def _unzstd(stream: BinaryIO) -> bytes:
    """By the standard library (Python 3.14) or pyarrow."""
    if find_spec("compression.zstd") if sys.version_info >= (3, 14) else False:
        return cast(bytes, import_module("compression.zstd").decompress(stream.read()))
    pa = _needed("pyarrow", "a zst file")
    return cast(bytes, pa.CompressedInputStream(stream, "zstd").read())


def _sheet(stream: BinaryIO, member: str | None, headed: bool | None) -> Sheet:
    head = stream.read(_HEAD)
    stream.seek(0)
    if not head.strip():
        raise ValueError("is empty")
    if head.startswith(b"PAR1"):
        return _arrow_sheet(_needed("pyarrow.parquet", "Parquet").ParquetFile(stream).read())
    if head.startswith(b"ARROW1"):
        return _arrow_sheet(_needed("pyarrow.ipc", "Arrow files").open_file(stream).read_all())
    if head.startswith(b"\xff\xff\xff\xff"):
        return _arrow_sheet(_needed("pyarrow.ipc", "Arrow streams").open_stream(stream).read_all())
    if head.startswith(b"\x93NUMPY"):
        return _array_sheet(np.load(stream, allow_pickle=False))
    if head.startswith(b"PK"):
        return _zipped(stream, member)
    if head.startswith(_UTF16):
        raise ValueError("is UTF-16; convert it, for example with iconv -f utf-16 -t utf-8")
    if b"\0" in head:
        raise ValueError("is none of the kinds that can be read: CSV, Parquet, Arrow, NPY, NPZ, JSON lines, Excel")
    if head.lstrip().startswith(b"{"):
        return _arrow_sheet(_needed("pyarrow.json", "JSON lines").read_json(stream))
    if head.lstrip().startswith(b"["):
        raise ValueError("is a JSON array; write one object on each line (JSON lines)")
    return Sheet("", *read_delimited(stream, headed))


def _needed(module: str, what: str, install: str = INSTALL) -> Any:
    """An optional module, or the line that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ValueError(f"needs {module.partition('.')[0]} to read {what}: {install}") from error


def _arrow_sheet(table: Any) -> Sheet:
    names = [str(name) for name in table.column_names]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"has the column {repeated[0]!r} twice; rename or remove one")
    if not names or not table.num_rows:
        raise ValueError("has columns and no rows" if names else "has no columns")
    return Sheet("", dict(zip(names, table.columns, strict=True)))


def _array_sheet(values: NDArray[Any]) -> Sheet:
    """A table of 1 or 2 dimensions, whose columns are numbered; or records, whose columns have names."""
    if values.dtype.names:
        return Sheet("", {name: np.ascontiguousarray(values[name]) for name in values.dtype.names})
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(f"must hold rows and columns, got an array of shape {values.shape}")
    table = values[:, None] if values.ndim == 1 else values
    return Sheet("", {str(j): column for j, column in enumerate(table.T)}, named=False)


def _zipped(stream: BinaryIO, member: str | None) -> Sheet:
    """Excel, or an archive of arrays."""
    with zipfile.ZipFile(stream) as archive:
        inside = archive.namelist()
    stream.seek(0)
    if "[Content_Types].xml" in inside:
        return _excel_sheet(stream)
    with np.load(stream, allow_pickle=False) as arrays:
        if member is not None and member not in arrays.files:
            raise ValueError(f"has no array {member!r}; it has {_listed(arrays.files)}")
        if member is not None or len(arrays.files) == 1:
            return _array_sheet(arrays[member or arrays.files[0]])
        found = {name: arrays[name] for name in arrays.files}
    if len({values.shape for values in found.values()}) == 1 and next(iter(found.values())).ndim == 1:
        return Sheet("", found)
    if (table := _in_pieces(found)) is not None:
        return table
    shapes = [f"{name} {values.shape}" for name, values in found.items()]
    raise ValueError(f"has several arrays: {_listed(shapes)}; name one, as in file.npz:{next(iter(found))}")


def _in_pieces(found: dict[str, NDArray[Any]]) -> Sheet | None:
    """A table in pieces: one array of rows and columns, others with an entry for each row, and names of the columns."""
    tables = {name: values for name, values in found.items() if values.ndim == 2 and values.size}
    if len(tables) != 1:
        return None
    (name, values), (n, d) = next(iter(tables.items())), next(iter(tables.values())).shape
    beside = {other: v for other, v in found.items() if v.shape == (n,)}
    labels = {other: v for other, v in found.items() if v.shape == (d,) and v.dtype.kind == "U" and other not in beside}
    names = next(iter(labels.values())).tolist() if len(labels) == 1 else [f"{name} {j}" for j in range(d)]
    columns = dict(zip(names, values.T, strict=True)) | beside
    if len(columns) < d + len(beside):
        return None
    left_out = [other for other in found if other not in (name, *beside) and (other not in labels or len(labels) > 1)]
    said = f"{name} of shape {values.shape} is {d} columns" + "".join(f", {other} is another" for other in beside)
    return Sheet("", columns, remarks=(said + (f"; left out: {_listed(left_out)}" if left_out else ""),))


def _excel_sheet(stream: BinaryIO) -> Sheet:
    """The first sheet of a workbook; its first row holds the names."""
    openpyxl = _needed("openpyxl", "Excel", _INSTALL_EXCEL)
    pa = _needed("pyarrow", "Excel", _INSTALL_EXCEL)
    rows = openpyxl.load_workbook(stream, read_only=True, data_only=True).worksheets[0].iter_rows(values_only=True)
    names = [str(name) for name in next(rows, ())]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return _arrow_sheet(pa.Table.from_arrays([pa.array(column) for column in columns], names=names))


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b))
    return bool(a.equals(b))


def _listed(names: Any, most: int = 8) -> str:
    """The first few names.

    >>> _listed("abc", 2)
    'a, b and 1 more'
    """
    names = [str(name) for name in names]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
