"""One table in every form that HIGGS comes in reads the same, and a pickle that wants to run something does not."""

import builtins
import gzip
import io
import os
import pickle
import pickletools
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tellapart.datasets import HIGGS_COLUMNS, higgs, labelled
from tellapart.datasets.pickled import RefusedPickle, load_arrays

N = 60
TABLE = np.random.default_rng(0).normal(size=(N, 28)).astype(np.float32)
SIGNAL = np.random.default_rng(1).random(N) < 0.5
PHIS = [7, 11, 15, 19]


def csv_text(header=""):
    """As UCI writes it: label first, 18 digits."""
    lines = (",".join(f"{v:.18e}" for v in (s, *row)) for s, row in zip(SIGNAL, TABLE.astype(float), strict=True))
    return header + "\n".join(lines) + "\n"


def write_csv(folder, name="HIGGS.csv"):
    path = folder / name
    path.write_text(csv_text())
    return path


def write_gzip(folder):
    path = folder / "HIGGS.csv.gz"
    path.write_bytes(gzip.compress(csv_text().encode()))
    return path


def write_header(folder):
    """Columns in another order, found by their names."""
    path = folder / "named.csv"
    table = np.column_stack([TABLE[:, ::-1].astype(float), SIGNAL])
    rows = "\n".join(",".join(map(repr, row)) for row in table.tolist())
    path.write_text(",".join([*HIGGS_COLUMNS[::-1], "label"]) + "\n" + rows + "\n")
    return path


def write_parquet(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "higgs.parquet"
    columns = dict(zip(HIGGS_COLUMNS, TABLE.astype(float).T, strict=True)) | {"label": SIGNAL.astype(float)}
    pq.write_table(pa.table(columns), path)
    return path


def write_npz(folder):
    """With rows that somebody rounded, which are left out."""
    path = folder / "higgs.npz"
    rounded = np.full((5, 28), 0.5, np.float32)
    np.savez(
        path,
        X=np.concatenate([rounded, TABLE]),
        y=np.concatenate([np.ones(5), SIGNAL]).astype(np.int8),
        precision=np.repeat([2, 1], [5, N]),
    )
    return path


def write_plain_npz(folder):
    np.savez(folder / "plain.npz", X=TABLE, y=SIGNAL)
    return folder / "plain.npz"


FORMS = [write_csv, write_gzip, write_header, write_parquet, write_npz, write_plain_npz]


@pytest.mark.parametrize("write", FORMS)
@pytest.mark.parametrize("lines", [7, 20_000])
def test_every_form_reads_the_same(write, lines, tmp_path, monkeypatch):
    monkeypatch.setattr(labelled, "_LINES", lines)
    path = write(tmp_path)
    for columns, places in (
        ("jet_phi", PHIS),
        ("low_level", range(21)),
        ("high_level", range(21, 28)),
        ("all", range(28)),
        (["m_bb", "jet_2_phi"], [25, 11]),
        ("lepton_pT", [0]),
    ):
        background, signal = higgs(path, columns=columns)
        assert background.dtype == signal.dtype == np.float32
        assert_array_equal(background, TABLE[~SIGNAL][:, list(places)])
        assert_array_equal(signal, TABLE[SIGNAL][:, list(places)])


@pytest.mark.parametrize("write", FORMS)
def test_at_most_so_many_rows_of_each(write, tmp_path):
    background, signal = higgs(write(tmp_path), rows=9)
    assert_array_equal(background, TABLE[~SIGNAL][:9, PHIS])
    assert_array_equal(signal, TABLE[SIGNAL][:9, PHIS])
    assert [len(z) for z in higgs(write(tmp_path), rows=1000)] == [sum(~SIGNAL), sum(SIGNAL)]


def test_no_more_is_read_than_needed(tmp_path, monkeypatch):
    """A line that cannot be read stands after those that are wanted."""
    monkeypatch.setattr(labelled, "_LINES", 20)
    path = tmp_path / "HIGGS.csv"
    path.write_text(csv_text() + "no,number\n")
    assert [len(z) for z in higgs(path, rows=5)] == [5, 5]
    with pytest.raises(ValueError, match=r"`path` must hold numbers only, got from line 61 on of HIGGS.csv"):
        higgs(path)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8"])
@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_pickle_of_liu(protocol, dtype, kind, order, tmp_path):
    path = tmp_path / "HIGGS_TST.pckl"
    samples = [np.asarray(z[:, PHIS].astype(dtype), order=order) for z in (TABLE[~SIGNAL], TABLE[SIGNAL])]
    path.write_bytes(pickle.dumps(kind(samples), protocol))
    background, signal = higgs(path)
    assert background.dtype == signal.dtype == np.float32
    assert_array_equal(background, TABLE[~SIGNAL][:, PHIS])
    assert_array_equal(signal, TABLE[SIGNAL][:, PHIS])
    assert_array_equal(higgs(path, columns="jet_3_phi", rows=4)[1], TABLE[SIGNAL][:4, 15:16])
    with pytest.raises(ValueError, match=r"`columns` must be among jet_1_phi, .* for a pickle, got 'lepton_pT'"):
        higgs(path, columns="low_level")


def test_a_pickle_of_python_2(tmp_path):
    """Its bytes are text in Python 3: a stream written by hand, as protocol 2 of NumPy 1.16 has it."""
    raw = np.arange(8, dtype="<f4").reshape(2, 4)

    def short(text):
        return b"U" + bytes([len(text)]) + text

    dtype = b"cnumpy\ndtype\n" + short(b"f4") + b"K\x00K\x01\x87R(K\x03" + short(b"<") + b"NNNJ\xff\xff\xff\xffJ"
    dtype += b"\xff\xff\xff\xffK\x00tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + short(b"b") + b"\x87R(K\x01K\x02K\x04\x86"
    )
    array += dtype + b"\x89" + short(raw.tobytes()) + b"tb"
    path = tmp_path / "old.pckl"
    path.write_bytes(b"\x80\x02](" + array + array + b"e.")
    pickletools.dis(path.read_bytes(), out=io.StringIO())  # it is a well-formed stream
    for found in load_arrays(path):
        assert_array_equal(found, raw)


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def global_call(module, name, *arguments):
    """A stream that calls a function by its name, which need not be importable here."""
    pickled = b"".join(pickle.dumps(a, 0)[:-1] for a in arguments)
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n(" + pickled + b"tR."


def stacked_call(module, name, *arguments):
    """The same through STACK_GLOBAL, where a dotted name reaches into attributes."""
    words = b"".join(b"\x8c" + bytes([len(w)]) + w.encode() for w in (module, name))
    pickled = b"".join(pickle.dumps(a, 0)[:-1] for a in arguments)
    return b"\x80\x04" + words + b"\x93(" + pickled + b"tR."


TOUCH = "touched"
CODE = f"open({TOUCH!r}, 'w').close()"
ARRAY = np.zeros((3, 4), np.float32)


def with_state(state):
    """An array, as its pickle makes it, that is told another state."""
    made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR"
    return made + pickle.dumps(state, 0)[:-1] + b"b."


MALICIOUS = {
    "os.system": pickle.dumps(Calls(os.system, f"touch {TOUCH}")),
    "builtins.eval": pickle.dumps(Calls(builtins.eval, CODE), 0),
    "builtins.exec in a list beside arrays": pickle.dumps([ARRAY, Calls(exec, CODE)]),
    "posix.system by name": global_call("posix", "system", f"touch {TOUCH}"),
    "behind numpy: runstring": global_call("numpy.testing._private.utils", "runstring", CODE, {}),
    "behind numpy: run_command": global_call("numpy.distutils.exec_command", "exec_command", f"touch {TOUCH}"),
    "behind numpy: a dotted name": stacked_call("numpy", "ctypeslib.os.system", f"touch {TOUCH}"),
    "behind numpy: os of a module": stacked_call("numpy.core.multiarray", "os.system", f"touch {TOUCH}"),
    "behind numpy: load that unpickles": global_call("numpy", "load", "inner.npy", None, True),
    "behind an admitted name: dotted": stacked_call("numpy", "ndarray.__class__", "name", (), {}),
    "in the state of an array": with_state((1, (1,), Calls(os.system, f"touch {TOUCH}"), False, b"x")),
    "as the data of an array": with_state((1, (1,), None, False, Calls(eval, CODE))),
    "as a key of a dict": pickle.dumps({1: Calls(os.system, f"touch {TOUCH}")}),
    "in an array of objects": pickle.dumps([np.array([Calls(os.system, f"touch {TOUCH}")], dtype=object)]),
    "another codec": global_call("_codecs", "encode", "abc", "idna"),
    "attributes of a stand-in": b"cnumpy\nndarray\n(dVx\nI1\nsb.",
    "attributes through slots": b"cnumpy\nndarray\n(N(dVfind_class\nI1\nstb.",
    "importlib": global_call("importlib", "import_module", "antigravity"),
    "a persistent id": b"Pos.system\n.",
    "an extension code": b"\x80\x02\x82\x01.",
}


@pytest.mark.parametrize("stream", MALICIOUS.values(), ids=MALICIOUS)
def test_a_pickle_that_wants_to_run_something_gets_an_error_and_runs_nothing(stream, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("inner.npy", np.array([Calls(eval, CODE)], dtype=object), allow_pickle=True)
    path = Path("HIGGS_TST.pckl")
    path.write_bytes(stream)
    with pytest.raises(RefusedPickle, match=r"`path` must be a pickle of a list of NumPy arrays of numbers, got HIGGS"):
        higgs(path)
    assert not Path(TOUCH).exists()


def test_these_streams_are_dangerous(tmp_path, monkeypatch):
    """Several of them run in an unpickler that admits everything: the test above could fail."""
    monkeypatch.chdir(tmp_path)
    dangerous = []
    for name in ("os.system", "builtins.eval", "builtins.exec in a list beside arrays", "posix.system by name"):
        pickle.loads(MALICIOUS[name])
        if Path(TOUCH).exists():
            dangerous.append(name)
            Path(TOUCH).unlink()
    assert len(dangerous) == 4


def test_a_pickle_cannot_change_the_types_of_numpy(tmp_path):
    """``dtype('f8')`` without a copy is the one that everybody shares; its state would be everybody's byte order."""
    stream = b"(lp0\ncnumpy\ndtype\n(Vf8\nI00\nI00\ntR(I3\nV>\nNNNI-1\nI-1\nI0\ntba."
    path = tmp_path / "order.pckl"
    path.write_bytes(stream)
    before = np.dtype("f8").str
    with pytest.raises(RefusedPickle, match="its list holds an object of type _Type"):
        load_arrays(path)
    assert np.dtype("f8").str == before
    assert struct.pack("=d", 1.0) == np.float64(1).tobytes()


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (ARRAY, "it holds a single array"),
        ({"x": 1}, "it holds an object of type dict"),
        ([], "it holds an object of type list"),
        ([ARRAY, 3], "its list holds an object of type int"),
        ([np.array(["a"])], "it holds an array of type 'U1'"),
        ([np.array([None])], "it holds an array of type 'O8'"),
    ],
)
def test_other_harmless_pickles(held, message, tmp_path):
    path = tmp_path / "other.pckl"
    path.write_bytes(pickle.dumps(held))
    with pytest.raises(RefusedPickle, match=message):
        higgs(path)


@pytest.mark.parametrize("cut", [0, 1, 50, 200])
def test_a_pickle_cut_short(cut, tmp_path):
    path = tmp_path / "short.pckl"
    path.write_bytes(pickle.dumps([ARRAY, ARRAY])[:cut])
    with pytest.raises(RefusedPickle):
        higgs(path)


def test_an_array_whose_shape_is_not_that_of_its_bytes(tmp_path):
    path = tmp_path / "shape.pckl"
    path.write_bytes(pickle.dumps([ARRAY, ARRAY], 2).replace(b"K\x03K\x04\x86", b"K\x03K\x05\x86"))
    with pytest.raises(RefusedPickle, match="cannot reshape"):
        higgs(path)


def test_tables_of_too_few_columns(tmp_path):
    path = tmp_path / "narrow.pckl"
    path.write_bytes(pickle.dumps([ARRAY[:, :3], ARRAY]))
    with pytest.raises(ValueError, match=r"`path` must hold two tables of at least 4 columns, got the shapes \(3, 3\)"):
        higgs(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": "phi"}, "`columns` must be 'jet_phi', .* got 'phi'"),
        ({"columns": []}, "`columns` must name at least one column, got none"),
        ({"rows": 0}, "`rows` must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_arguments(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        higgs(write_csv(tmp_path), **arguments)


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"`path` must be a file, got .*HIGGS.csv.gz .* is at https"):
        higgs(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match=r"`path` must end in .csv, .* got 'HIGGS.txt'"):
        higgs(write_csv(tmp_path, "HIGGS.txt"))
    (tmp_path / "a.csv").write_text("label,x1,x2\n1,2,3\n")
    with pytest.raises(ValueError, match=r"`path` must have a column 'jet_1_phi', got label, x1, x2 in a.csv"):
        higgs(tmp_path / "a.csv")
    (tmp_path / "narrow.csv").write_text("1,2,3\n")
    with pytest.raises(ValueError, match=r"`path` must hold numbers only, got from line 1 on of narrow.csv"):
        higgs(tmp_path / "narrow.csv")
    np.savez(tmp_path / "a.npz", X=TABLE)
    with pytest.raises(ValueError, match=r"`path` must hold the arrays X and y, got a.npz without y"):
        higgs(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=TABLE[:, :4], y=SIGNAL)
    with pytest.raises(ValueError, match=r"`path` must hold 28 columns X .* got the shapes \(60, 4\) and \(60,\)"):
        higgs(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", X=np.array([Calls(eval, CODE)]), y=SIGNAL)
    with pytest.raises(ValueError, match="allow_pickle"):
        higgs(tmp_path / "c.npz")


def test_a_download_that_was_cut_short(tmp_path):
    path = write_gzip(tmp_path)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"`path` must be a whole file, got a damaged HIGGS.csv.gz: .* Fetch it again"):
        higgs(path)
    path.write_bytes(b"no gzip at all")
    with pytest.raises(ValueError, match=r"`path` must be a whole file, got a damaged HIGGS.csv.gz"):
        higgs(path)


def test_an_empty_file_holds_no_rows(tmp_path):
    (tmp_path / "empty.csv").write_text(csv_text().splitlines()[0] + "\n")
    assert sorted(map(len, higgs(tmp_path / "empty.csv"))) == [0, 1]


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = write_parquet(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        higgs(path)
