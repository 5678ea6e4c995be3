"""Files of labelled rows, read a part at a time: CSV, compressed CSV, parquet, .npz, and pickles of arrays only.

Each reader yields ``(labels, rows)``, so that whoever needs a few rows of either label need not read the rest.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from tellapart.datasets.pickled import load_arrays

Labels = NDArray[np.bool_]
Rows = NDArray[np.float32]
Part = tuple[Labels, Rows]

_LINES = 20_000  # of a text file, or rows of a parquet file, at a time


def parts_of(path: Path, names: Sequence[str], wanted: Sequence[str], label: str) -> Iterator[Part]:
    """Labels and the wanted columns of a file whose columns are `label` and `names`."""
    if path.name.endswith((".csv", ".csv.gz")):
        return _of_csv(path, names, wanted, label)
    if path.suffix in (".parquet", ".pq"):
        return _of_parquet(path, names, wanted, label)
    if path.suffix == ".npz":
        return _of_npz(path, names, wanted)
    if path.suffix in (".pckl", ".pkl", ".pickle"):
        return _of_pickle(path, names, wanted)
    raise ValueError(f"`path` must end in .csv, .csv.gz, .parquet, .npz or .pckl, got {path.name!r}.")


def _of_csv(path: Path, names: Sequence[str], wanted: Sequence[str], label: str) -> Iterator[Part]:
    with _whole(path), gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        first = next(file, "")
        header = not _is_number(first.split(",")[0])
        titles = [title.strip() for title in first.split(",")] if header else [label, *names]
        columns = [_place(title, titles, path) for title in (label, *wanted)]
        yield from _tables(file if header else chain([first], file), columns, path, 1 + header)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Says so where a download was cut short."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"`path` must be a whole file, got a damaged {path.name}: {error}. Fetch it again.") from error


def _tables(lines: Iterator[str] | TextIO, columns: list[int], path: Path, line: int) -> Iterator[Part]:
    while block := list(islice(lines, _LINES)):
        try:
            table = np.loadtxt(block, np.float32, delimiter=",", usecols=columns, ndmin=2)
        except ValueError as error:
            raise ValueError(
                f"`path` must hold numbers only, got from line {line} on of {path.name}: {error}"
            ) from error
        line += len(block)
        yield table[:, 0] == 1, table[:, 1:]


def _of_parquet(path: Path, names: Sequence[str], wanted: Sequence[str], label: str) -> Iterator[Part]:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("Reading parquet needs pyarrow. Install it with: pip install pyarrow") from error
    with ParquetFile(path) as file:
        titles = file.schema_arrow.names
        chosen = [titles[_place(title, titles, path)] for title in (label, *wanted)]
        for batch in file.iter_batches(_LINES, columns=chosen):
            table = np.column_stack([batch.column(title).to_numpy(zero_copy_only=False) for title in chosen])
            yield table[:, 0] == 1, table[:, 1:].astype(np.float32)


def _of_npz(path: Path, names: Sequence[str], wanted: Sequence[str]) -> Iterator[Part]:
    """Arrays `X` and `y`; where there is a third, `precision`, only rows that it marks with 1, which nobody rounded."""
    with np.load(path, allow_pickle=False) as file:
        if missing := {"X", "y"} - set(file.files):
            names_missing = ", ".join(sorted(missing))
            raise ValueError(f"`path` must hold the arrays X and y, got {path.name} without {names_missing}.")
        table, labels = file["X"], file["y"]
        if table.ndim != 2 or table.shape[1] != len(names) or labels.shape != (len(table),):
            raise ValueError(
                f"`path` must hold {len(names)} columns X and as many labels y as rows, got the shapes {table.shape} "
                f"and {labels.shape} in {path.name}."
            )
        kept = file["precision"] == 1 if "precision" in file.files else np.ones(len(table), dtype=bool)
    columns = [names.index(title) for title in wanted]
    yield labels[kept] == 1, table[kept][:, columns].astype(np.float32, copy=False)


def _of_pickle(path: Path, names: Sequence[str], wanted: Sequence[str]) -> Iterator[Part]:
    """Liu et al.'s file: a list of background and signal, whose first four columns are the jets' phis."""
    arrays = load_arrays(path)
    own = [name for name in names if name.endswith("_phi") and name.startswith("jet")]
    if absent := [title for title in wanted if title not in own]:
        raise ValueError(f"`columns` must be among {', '.join(own)} for a pickle, got {absent[0]!r}.")
    if len(arrays) != 2 or any(a.ndim != 2 or a.shape[1] < len(own) for a in arrays):
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise ValueError(f"`path` must hold two tables of at least {len(own)} columns, got the shapes {shapes}.")
    columns = [own.index(title) for title in wanted]
    for signal, table in zip((False, True), arrays, strict=True):
        yield np.full(len(table), signal), table[:, columns].astype(np.float32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _place(title: str, titles: Sequence[str], path: Path) -> int:
    if title not in titles:
        raise ValueError(f"`path` must have a column {title!r}, got {', '.join(titles)} in {path.name}.")
    return list(titles).index(title)
