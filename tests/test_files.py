"""Files: every kind gives the same table, and what cannot be read is said in one line that starts with the file."""

import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal

from tellapart import files
from tellapart.delimited import LONGEST_LINE
from tellapart.files import FileError, query, read, split_by
from tellapart.samples import as_samples

ROWS = np.array([[1.5, 2.0], [3.0, -4.25], [5.0, 6e-3]])
COLUMNS = {"u": ROWS[:, 0], "v": ROWS[:, 1]}
CSV = b"u,v\n1.5,2\n3,-4.25\n5,6e-3\n"
TABLE = pa.table(COLUMNS)


def written_by(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


KINDS = {
    "csv": CSV,
    "semicolons": CSV.replace(b",", b";"),
    "tabs": CSV.replace(b",", b"\t"),
    "byte order mark": b"\xef\xbb\xbf" + CSV,
    "blank lines": b"\n\n" + CSV.replace(b"\n3", b"\n\n3"),
    "windows": CSV.replace(b"\n", b"\r\n"),
    "quoted": CSV.replace(b"u,v", b'"u","v"').replace(b"1.5", b'"1.5"'),
    "gz": gzip.compress(CSV),
    "parquet": written_by(lambda f: pa.parquet.write_table(TABLE, f)),
    "parquet gz": gzip.compress(written_by(lambda f: pa.parquet.write_table(TABLE, f))),
    "feather": written_by(lambda f: pa.feather.write_feather(TABLE, f)),
    "arrow stream": stream(TABLE),
    "json lines": b"".join(json.dumps({"u": u, "v": v}).encode() + b"\n" for u, v in ROWS.tolist()),
    "npz of columns": written_by(lambda f: np.savez(f, **COLUMNS)),
    "npy of records": written_by(
        lambda f: np.save(f, np.array([*map(tuple, ROWS)], dtype=[("u", float), ("v", float)]))
    ),
}
UNNAMED = {
    "npy": written_by(lambda f: np.save(f, ROWS)),
    "npz": written_by(lambda f: np.savez_compressed(f, X=ROWS)),
    "csv without header": CSV.partition(b"\n")[2],
}


@pytest.fixture
def put(tmp_path):
    def write(data, name="some.file"):
        (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize("data", KINDS.values(), ids=KINDS)
def test_what_a_file_is_its_first_bytes_say(put, data):
    sheet = read(put(data))
    samples = as_samples(sheet.frame(), TABLE)
    assert samples.columns == ("u", "v")
    assert_array_equal(samples.x, ROWS)


@pytest.mark.parametrize("data", UNNAMED.values(), ids=UNNAMED)
def test_columns_without_names_are_matched_by_their_place(put, data):
    sheet = read(put(data))
    assert list(sheet.columns) == ["0", "1"]
    assert_array_equal(as_samples(sheet.only(["1", "0"]).frame(), ROWS).x, ROWS[:, ::-1])


def test_zst(put):
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as sink:
        sink.write(CSV)
    assert_array_equal(as_samples(read(put(packed.getvalue().to_pybytes())).frame(), TABLE).x, ROWS)


def test_standard_input_and_other_streams(put, monkeypatch):
    monkeypatch.setattr(files, "sys", SimpleNamespace(stdin=SimpleNamespace(buffer=io.BytesIO(gzip.compress(CSV)))))
    assert read("-").source == "standard input"


def test_one_array_of_an_archive(put):
    path = put(written_by(lambda f: np.savez(f, X=ROWS, other=ROWS[:2])), "a.npz")
    assert_array_equal(read(f"{path}:X").frame(), ROWS)
    with pytest.raises(FileError, match=r"several arrays: X \(3, 2\), other \(2, 2\); name one, as in file.npz:X"):
        read(path)
    with pytest.raises(FileError, match=r"a\.npz:Y: has no array 'Y'; it has X, other"):
        read(f"{path}:Y")


def test_an_archive_that_is_a_table_in_pieces(put):
    pieces = {"X": ROWS, "label": np.arange(3), "names": np.array(["u", "v"]), "note": np.arange(7)}
    sheet = read(put(written_by(lambda f: np.savez(f, **pieces)), "a.npz"))
    assert list(sheet.columns) == ["u", "v", "label"]
    assert_array_equal(sheet.columns["v"], ROWS[:, 1])
    assert sheet.remarks == ("X of shape (3, 2) is 2 columns, label is another; left out: note",)
    del pieces["names"]
    assert list(read(put(written_by(lambda f: np.savez(f, **pieces)), "b.npz")).columns) == ["X 0", "X 1", "label"]
    clash = {"X": ROWS, "v": np.arange(3), "names": np.array(["u", "v"])}
    with pytest.raises(FileError, match="several arrays"):
        read(put(written_by(lambda f: np.savez(f, **clash)), "c.npz"))


def test_types_are_inferred_from_all_rows(put):
    first = "n,m,t\n" + "1,,2024-01-01\n" * (LONGEST_LINE // 15 + 100)
    sheet = read(put(first + "1.5,word,never\n"))
    assert [str(c.type) for c in sheet.columns.values()] == ["double", "string", "string"]
    assert sheet.columns["m"].null_count == sheet.n - 1


@pytest.mark.parametrize("rows", [60, LONGEST_LINE // 50])
def test_line_ends_in_quotes(put, rows):
    """Also where a block of the file ends within the quotes."""
    sheet = read(put("u,v\n" + "".join(f'{i},"line one\nline {i % 3}, {"x" * 60}"\n' for i in range(rows))))
    assert sheet.n == rows
    assert len(set(sheet.columns["v"].to_pylist())) == 3


def test_text_dates_and_missing_entries_stay_what_they_are(put):
    sheet = read(put('name,day,seen,"a,b"\n"Smith, J",2024-02-29,true,\n,2024-03-01,false,NA\n'))
    assert list(sheet.columns) == ["name", "day", "seen", "a,b"]
    assert [str(c.type) for c in sheet.columns.values()] == ["string", "date32[day]", "bool", "null"]
    assert sheet.columns["name"].to_pylist() == ["Smith, J", None]


@pytest.mark.parametrize(
    ("first", "headed"),
    [("0,1", True), ("2019,2020", True), ("0.5,1", False), ("7,7", False), ("-1,2", False), ("a,1", True)],
)
def test_names_and_data_in_the_first_line(put, first, headed):
    path = put(f"{first}\n5,6\n7,8\n")
    assert (read(path).named, read(path).n) == (headed, 2 + (not headed))
    assert not read(path, headed=False).named


TROUBLE = {
    "empty": (b"", "is empty"),
    "white": (b" \n\n", "is empty"),
    "only a header": (b"u,v\n", "has a header and no rows"),
    "latin 1": ("höhe,v\n1,2\n".encode("latin1"), "line 1 is no UTF-8 text .*iconv"),
    "latin 1 later": (b"u,v\n" + b"1,2\n" * 60 + b"\xe4,3\n", "column 'u' is no UTF-8 text"),
    "utf 16": (CSV.decode().encode("utf-16"), "is UTF-16; convert it"),
    "binary": (b"ab\0cd" * 9, "is none of the kinds that can be read: CSV, Parquet"),
    "mixed delimiters": (b"u,v\n1,2\n3;4\n", r"row 3 has 1 fields divided by commas \(it is divided by semicolons\)"),
    "ragged": (b"u,v\n1,2\n3,4,5\n", "row 3 has 3 fields divided by commas, the first row has 2"),
    "ragged later": (b"u,v\n" + b"1,2\n" * 60 + b"3,4,5\n", r"a row has 3 fields \('3,4,5'\) where the first has 2"),
    "decimal commas": (b"u;v\n1,5;2\n3,5;4\n", r"column 'u' has decimal commas \('1,5'\)"),
    "a column twice": (b"u,v,u\n1,2,3\n", "line 1 has the column 'u' twice"),
    "an overlong line": (b"u,v\n" + b"1" * (LONGEST_LINE + 9), "line 2 is longer than 16 MB"),
    "an overlong line later": (
        b"u\n" + b"1\n" * 60 + b"1" * (2 * LONGEST_LINE + 9) + b"\n2\n",
        "a line is longer than",
    ),
    "json array": (b'[{"u": 1}]', "is a JSON array; write one object on each line"),
    "broken json": (b'{"u": 1}\n{"u": \n', "JSON parse error"),
    "broken parquet": (KINDS["parquet"][:-9], "Parquet"),
    "broken gz": (KINDS["gz"][:-12], "end-of-stream"),
    "broken zip": (UNNAMED["npz"][:-30], "zip"),
    "pickle": (written_by(lambda f: np.save(f, np.array([{}, []], dtype=object), allow_pickle=True)), "allow_pickle"),
    "three dimensions": (written_by(lambda f: np.save(f, np.zeros((2, 3, 4)))), r"array of shape \(2, 3, 4\)"),
    "no rows": (written_by(lambda f: pa.parquet.write_table(TABLE.slice(0, 0), f)), "has columns and no rows"),
    "parquet twice": (
        written_by(lambda f: pa.parquet.write_table(pa.table([[1], [2]], names=["u", "u"]), f)),
        "has the column 'u' twice",
    ),
}


@pytest.mark.parametrize(("data", "said"), TROUBLE.values(), ids=TROUBLE)
def test_trouble_is_one_line_that_starts_with_the_file(put, data, said):
    path = put(data)
    with pytest.raises(FileError, match=said) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileError, match=r"nothing\.csv: no such file"):
        read(str(tmp_path / "nothing.csv"))
    with pytest.raises(FileError, match="is a directory; name a file in it"):
        read(str(tmp_path))


def test_nested_columns_are_refused_where_they_are_compared(put):
    nested = pa.table({"u": [1, 2], "v": [[1], [2, 3]]})
    sheet = read(put(written_by(lambda f: pa.parquet.write_table(nested, f))))
    with pytest.raises(FileError, match=r"column 'v' is nested \(list<.*--drop v"):
        sheet.frame()
    assert sheet.without(["v"]).frame().column_names == ["u"]
    with pytest.raises(FileError, match="no column is left to compare"):
        sheet.without(["u", "v"])


@pytest.fixture
def without_pyarrow(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"] + ["pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("without_pyarrow")
@pytest.mark.parametrize("kind", ["csv", "semicolons", "byte order mark", "blank lines", "windows", "quoted", "gz"])
def test_numbers_are_read_without_pyarrow(put, kind):
    sheet = read(put(KINDS[kind]))
    samples = as_samples(sheet.frame(), pl.DataFrame(COLUMNS).select("v", "u"))
    assert samples.columns == ("u", "v")
    assert_array_equal(samples.x, ROWS)
    assert_array_equal(samples.y, ROWS)


@pytest.mark.usefixtures("without_pyarrow")
def test_more_than_numbers_names_what_to_install(put):
    with pytest.raises(FileError, match=r"needs pyarrow to read Parquet: pip install 'tellapart\[files\]'"):
        read(put(KINDS["parquet"]))
    with pytest.raises(FileError, match=r"no table of numbers .*'x'.*pip install 'tellapart\[files\]'"):
        read(put(b"u,v\n1,x\n"))
    with pytest.raises(FileError, match="is no UTF-8 text"):
        read(put(TROUBLE["latin 1 later"][0]))


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_one_file_is_divided_by_a_column(missing):
    site, u = ["b", "a", "b"], np.arange(3.0)
    sheet = files.Sheet("s", {"site": pa.chunked_array([site]), "u": pa.chunked_array([u])})
    parts = split_by(sheet, "site")
    assert [(part.source, np.asarray(part.columns["u"]).tolist()) for part in parts] == [
        ("site=a", [1.0]),
        ("site=b", [0.0, 2.0]),
    ]
    numbers = files.Sheet("s", {"site": np.array([1.0, 0.0, missing], dtype=object), "u": u})
    for broken, said in (
        (numbers, "has missing values"),
        (replaced(sheet, ["a"] * 3), "2 to 20 values for --by, got 1"),
    ):
        with pytest.raises(FileError, match=said):
            split_by(broken, "site")
    with pytest.raises(FileError, match=r"has no column 'place' \(--by\); it has site, u"):
        split_by(sheet, "place")


def replaced(sheet, site):
    return files.Sheet("s", {**sheet.columns, "site": pa.chunked_array([site])})


def test_the_same_rows(put):
    sheet, turned = read(put(CSV)), read(put(b"v,u\n2,1.5\n-4.25,3\n6e-3,5\n", "b"))
    assert sheet.same_rows(turned)
    assert not sheet.same_rows(read(put(CSV.replace(b"5,6", b"5,7"), "c")))
    assert not sheet.same_rows(sheet.only(["u"]))
    assert read(put(UNNAMED["npy"], "d")).same_rows(read(put(UNNAMED["npz"], "e")))


def test_queries():
    with pytest.raises(FileError, match="--sql: must be duckdb:QUERY, got 'select 1'"):
        query("select 1")
    assert query("duckdb:select 1 as u, 'a' as v union all select 2, 'b'").n == 2
    for text, said in (
        ("selec 1", ".*Parser Error"),
        ("select * from 'nowhere.parquet'", "IO Error: No files found"),
        ("select * from range(0)", "has columns and no rows"),
        ("-- nothing", "the statement gives no rows"),
    ):
        with pytest.raises(FileError, match=f"--sql: {said}") as caught:
            query(f"duckdb:{text}")
        assert "\n" not in str(caught.value)


def test_a_query_reads_files(put):
    path = put(KINDS["parquet"], "a.parquet")
    assert_array_equal(as_samples(query(f"duckdb:from '{path}'").frame(), TABLE).x, ROWS)


def test_a_missing_package_is_one_line(monkeypatch, put):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ValueError, match=r"needs duckdb to read a query: pip install 'tellapart\[sql\]'"):
        query("duckdb:select 1")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    workbook = written_by(lambda f: zipped(f, "[Content_Types].xml"))
    with pytest.raises(FileError, match=r"needs openpyxl to read Excel: pip install 'tellapart\[excel\]'"):
        read(put(workbook))


def zipped(file, name):
    import zipfile

    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "")


def test_excel(tmp_path):
    book = openpyxl.Workbook()
    for row in (["u", "v"], *ROWS.tolist()):
        book.active.append(row)
    path = Path(tmp_path / "a.xlsx")
    book.save(path)
    assert_array_equal(as_samples(read(str(path)).frame(), TABLE).x, ROWS)
