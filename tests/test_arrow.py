"""Columns of pyarrow as NumPy: the same as pyarrow's own conversion, and without pandas."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from tellapart import _arrow
from tellapart.datasets import example_file

MIDNIGHT = dt.datetime(2024, 1, 1)


HALVES = np.array([1, 0, 3], dtype=np.float16)
NUMBERS = {
    pa.int8(): ([1, 0, 3], "i"),
    pa.uint16(): ([1, 0, 3], "u"),
    pa.int64(): ([1, 0, 2**40], "i"),
    pa.float16(): (HALVES, "f"),
    pa.float32(): ([1, 0.5, 3], "f"),
    pa.float64(): ([1, 0.1, 3], "f"),
    pa.bool_(): ([True, False, True], "i"),
    pa.decimal128(5, 2): ([Decimal("1.5"), Decimal(0), Decimal(3)], "f"),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_numbers(kind, missing):
    plain, stored = NUMBERS[kind]
    values = pa.array(plain, kind)
    gaps = pa.array([None, None], kind) if missing else values
    column = pa.chunked_array([values, gaps.slice(1), values.slice(1, 2)])
    found = _arrow.numbers(column)
    assert_array_equal(found.astype(float), [np.nan if v is None else float(v) for v in column.to_pylist()])
    assert (found.dtype == np.float32) is (kind in (pa.float16(), pa.float32()))
    assert found.dtype.kind == ("f" if missing else stored)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([MIDNIGHT, None], pa.timestamp("ns"), 1704067200.0),
        ([MIDNIGHT, None], pa.timestamp("s", "Asia/Tokyo"), 1704067200.0),
        ([MIDNIGHT.date(), None], pa.date32(), 1704067200.0),
        ([MIDNIGHT.date(), None], pa.date64(), 1704067200.0),
        ([dt.time(1, 0, 0, 500_000), None], pa.time64("ns"), 3600.5),
        ([dt.time(1), None], pa.time32("s"), 3600.0),
        ([dt.timedelta(milliseconds=1500), None], pa.duration("ms"), 1.5),
    ],
    ids=lambda v: str(v) if isinstance(v, pa.DataType) else "",
)
def test_times_are_seconds(values, kind, expected):
    assert_array_equal(_arrow.seconds(pa.chunked_array([pa.array(values, kind)])), [expected, np.nan])


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([["b", None], ["a", "b"]]),
        pa.chunked_array([["b", None], ["a", "b"]]).cast(pa.large_string()),
        pa.chunked_array([pa.array(["b", None]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()]),
        pa.array(["b", None, "a", "b"]),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, 1], pa.int8()), ["unused", "b", "a"])]),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, 1]), pa.array([None, "b", "a"]))]),
    ],
)
def test_texts_are_numbered(column):
    codes, levels = _arrow.coded(column)
    assert _arrow.is_text(column)
    assert codes.dtype == np.int32
    assert [None if code < 0 else levels[code] for code in codes] == column.to_pylist()


def test_two_small_files_are_compared_without_pandas_and_scikit_learn(tmp_path):
    """Both take longer to import than the comparison takes."""
    lines = [
        f"2024-01-{1 + i % 28:02d} 10:{i % 60:02d}:00,{i % 7},,a word or {i % 5} more,{i % 3 == 0}" for i in range(60)
    ]
    (tmp_path / "a.csv").write_text("\n".join(["when,n,gap,said,yes", *lines, "2024-02-01 00:00:00,,1.5,,"]))
    files = [str(tmp_path / "a.csv")] * 2, [example_file(f"readings_{month}_month.csv") for month in ("last", "this")]
    for pair in files:
        program = f"import sys; from tellapart.cli import main; main({pair!r}); print(sorted(sys.modules))"
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        loaded = said.splitlines()[-1]
        assert "'pyarrow'" in loaded
        assert not any(f"'{heavy}'" in loaded for heavy in ("pandas", "sklearn", "scipy.stats", "torch"))
