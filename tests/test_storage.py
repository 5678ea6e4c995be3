"""Saved files: same content, same bytes; whatever is damaged, foreign or newer is refused in one line."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from tellapart import storage
from tellapart.storage import DamagedFile, Stored

CONTENT = Stored({"a": [1, "two", None]}, {"m": np.arange(6.0).reshape(2, 3), "i": np.array([3], dtype=np.uint16)})
HEAD = {"kind": "thing", "version": 1, "description": {}}


@pytest.fixture
def path(tmp_path):
    storage.save(tmp_path / "thing.tap", "thing", 1, CONTENT)
    return tmp_path / "thing.tap"


def made(path, entries, compression=zipfile.ZIP_STORED):
    """A zip with these entries."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), **options)
    return buffer.getvalue()


def refusal(path, kind="thing", version=1):
    with pytest.raises(DamagedFile) as told:
        storage.load(path, kind, version)
    message = str(told.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_what_is_saved_is_read_back_and_the_bytes_are_the_same(path, tmp_path):
    found = storage.load(path, "thing", 1)
    assert found.description == CONTENT.description
    assert {k: (v.dtype, v.tolist()) for k, v in found.arrays.items()} == {
        k: (v.dtype, v.tolist()) for k, v in CONTENT.arrays.items()
    }
    storage.save(tmp_path / "again.tap", "thing", 1, CONTENT)
    assert (tmp_path / "again.tap").read_bytes() == path.read_bytes()
    assert storage.is_ours(path.read_bytes()[:64])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.tap", "thing.tap"]


def test_other_kinds_and_newer_forms(path):
    assert refusal(path, kind="other") == "is a saved thing, no saved other"
    storage.save(path, "thing", 2, CONTENT)
    assert refusal(path).startswith("is of form 2, newer than 1")


def test_foreign_files(tmp_path):
    (tmp_path / "text").write_text("a,b\n1,2\n")
    assert refusal(tmp_path / "text") == "is no file that tellapart has saved"
    (tmp_path / "empty").write_bytes(b"")
    assert refusal(tmp_path / "empty") == "is no file that tellapart has saved"
    np.savez(tmp_path / "other.npz", a=[1.0])
    assert refusal(tmp_path / "other.npz") == "is no file that tellapart has saved"
    assert refusal(tmp_path / "absent") == "no such file or directory"
    assert refusal(tmp_path) == "is a directory"


def test_every_cut_and_every_changed_byte_is_refused_or_harmless(path):
    whole = path.read_bytes()
    for size in range(0, len(whole), 29):
        path.write_bytes(whole[:size])
        refusal(path)
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            found = storage.load(path, "thing", 1)
        except DamagedFile:
            continue
        assert found.description == CONTENT.description  # a byte that nothing depends on, such as a date
        assert {k: v.tolist() for k, v in found.arrays.items()} == {k: v.tolist() for k, v in CONTENT.arrays.items()}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([("tellapart.json", "{}")], "damaged"),
        ([("tellapart.json", "[" * 100_000)], "damaged"),
        ([("tellapart.json", json.dumps({**HEAD, "version": "1"}))], "is of form 1"),
        ([("tellapart.json", '{"kind": "thing", "version": 1, "description": {"a": NaN}}')], "NaN is no number"),
        ([("tellapart.json", json.dumps(HEAD)), ("a.npy", npy(np.array([np.nan])))], "not finite"),
        ([("tellapart.json", json.dumps(HEAD)), ("a.npy", npy(np.array([{}], dtype=object)))], "an array of object"),
        ([("tellapart.json", json.dumps(HEAD)), ("a.npy", pickle.dumps({}))], "damaged"),
        ([("tellapart.json", json.dumps(HEAD)), ("a.npy", npy(np.ones(3))[:-8])], "has 16 bytes"),
        ([("tellapart.json", json.dumps(HEAD)), ("a.npy", npy(np.ones(3)).replace(b"(3,)", b"(9,)"))], "has 24 bytes"),
    ],
    ids=range(9),
)
def test_made_up_files(tmp_path, entries, said):
    assert said in refusal(made(tmp_path / "made.tap", entries))


def test_bombs_are_not_unpacked(tmp_path):
    entries = [("tellapart.json", json.dumps(HEAD)), ("a.npy", npy(np.zeros(10**6)))]
    packed = made(tmp_path / "bomb.tap", entries, zipfile.ZIP_DEFLATED)
    assert packed.stat().st_size < 20_000
    assert "compressed" in refusal(packed)


def test_objects_are_not_saved_and_what_stood_there_stays(path, tmp_path):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="must hold numbers, got object"):
        storage.save(path, "thing", 1, Stored({}, {"a": np.array([{}], dtype=object)}))
    assert path.read_bytes() == before
    with pytest.raises(OSError, match="cannot be written"):
        storage.save(tmp_path / "absent" / "thing.tap", "thing", 1, CONTENT)
