"""What is wrong with a file is said in one line, with exit status 2, by the command itself."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tellapart import delimited
from tellapart.cli import main

GOOD = "u,v\n" + "".join(f"{i},{i % 7}\n" for i in range(50))


def grouped(values):
    return "u,g\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))


HOLES = grouped(["p1", "", "p2", "p2"])
FILES = {
    "good.csv": GOOD,
    "empty.csv": "",
    "head.csv": "u,v\n",
    "one.csv": "u,v\n1,2\n",
    "latin.csv": "u,v\nä,2\n".encode("latin1"),
    "mixed.csv": "u,v\n1,2\n3;4\n",
    "late.csv": "u,v\n" + "1,2\n" * 200 + "3;4\n",
    "twice.csv": "u,v,u\n1,2,3\n",
    "holes.csv": HOLES,
    "numbered.csv": grouped([1, "", 2, 2]),
    "negative.csv": grouped([1, -1, 2, 2]),
    "infinite.csv": "u,v\n1,2\n3,inf\n",
    "large.csv": "u,v\n" + "".join(f"{i},{10**17 + i}\n" for i in range(9)),
    "wide.csv": "\n".join([",".join(f"c{j}" for j in range(10_000)), *[",".join("1" * 10_000)] * 3]),
}


@pytest.fixture(autouse=True)
def in_place(tmp_path, monkeypatch):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *arguments):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("tellapart: ").rstrip()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere.csv"], "nowhere.csv: no such file"),
        (["empty.csv"], "empty.csv: is empty"),
        (["head.csv"], "head.csv: has a header and no rows"),
        (["one.csv"], "one.csv must have at least 2 rows, got 1."),
        (["latin.csv"], "latin.csv: line 2 is no UTF-8 text"),
        (["mixed.csv"], "mixed.csv: row 3 has 1 fields divided by commas (it is divided by semicolons)"),
        (["late.csv"], "late.csv: a row has 1 fields ('3;4') where the first has 2"),
        (["twice.csv"], "twice.csv: line 1 has the column 'u' twice"),
        (["wide.csv"], "wide.csv: has 10000 columns, more than the 2000 that can be compared"),
        (["infinite.csv"], "infinite.csv must be finite, got 0 NaN and 1 infinite"),
        (["large.csv"], "large.csv must hold integers below 2**53, which floats represent exactly, got"),
        (["."], ".: is a directory; name a file in it"),
        (["/dev/null"], "/dev/null: is empty"),
        (["good.csv", "--groups", "g"], "good.csv: has no column 'g' (--groups); it has u, v"),
        (["good.csv", "--by", "u"], "--by divides one file, got 2"),
        (["good.csv", "--sql", "duckdb:selec"], "--sql: Parser Error: syntax error"),
        (["good.csv", "--sql", "sqlite:select 1"], "--sql: must be duckdb:QUERY"),
        (["good.csv", "--config", "head.csv"], "head.csv: cannot be read: "),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_one_line(capsys, arguments, expected):
    assert said(capsys, "good.csv", *arguments).startswith(expected)


def test_a_number_too_large_names_its_column(capsys):
    assert "in column 'v'. Subtract a common offset" in said(capsys, "good.csv", "large.csv")


@pytest.mark.parametrize("option", ["groups", "strata", "weights"])
@pytest.mark.parametrize("file", ["holes.csv", "numbered.csv"])
def test_what_says_how_must_be_complete(capsys, option, file):
    assert said(capsys, file, file, f"--{option}", "g") == f"--{option} must have no missing entries for {file} (1)."


def test_weights_must_be_positive(capsys):
    told = said(capsys, "negative.csv", "negative.csv", "--weights", "g")
    assert told.startswith("--weights must be positive and finite numbers")


@pytest.mark.parametrize(("value", "kind"), [({"a": 1}, "struct<a: int64>"), ([1], "list<")])
def test_nested_columns(capsys, value, kind):
    pa.parquet.write_table(pa.table({"u": [value] * 9, "v": np.arange(9)}), "nested.parquet")
    assert said(capsys, "nested.parquet", "nested.parquet").startswith(f"nested.parquet: column 'u' is nested ({kind}")


def test_an_endless_line_takes_no_memory(capsys, in_place, monkeypatch):
    """Two gigabytes without a line end, of which no disk holds a byte."""
    monkeypatch.setattr(delimited, "LONGEST_LINE", 2**20)
    with open("endless.csv", "wb") as file:
        file.write(b"u,v\n" + b"1" * 5000)
        file.seek(2**31)
        file.write(b"1\n")
    tracemalloc.start()
    told = said(capsys, "good.csv", "endless.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told == "endless.csv: line 2 is longer than 1 MB, so this is no table of rows"
    assert peak < 2**25


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("good.csv", GOOD.replace("\n", "\r\n")),
        ("good.csv", "\ufeff" + GOOD),
        ("good.csv", GOOD.replace(",", ";")),
        ("good.csv", GOOD.replace(",", "\t")),
        ("good.csv", GOOD),
    ],
    ids=["line ends of Windows", "byte order mark", "semicolons", "tabs", "the same"],
)
def test_equal_files_have_p_1_and_that_is_said(capsys, in_place, first, second):
    (in_place / "second.csv").write_bytes(second.encode())
    assert main([first, "second.csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No difference found: p = 1, above the level 0.05.")
    assert "note              the samples hold the same rows in the same order" in out


def test_files_of_missing_values_only_are_alike(capsys, in_place):
    (in_place / "gone.csv").write_text("u,v\n" + ",\n" * 9)
    assert main(["gone.csv", "gone.csv", "--format", "json"]) == 0
    assert "without values" in capsys.readouterr().out
