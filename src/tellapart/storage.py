"""A file of ours: a description in JSON and plain arrays in an uncompressed zip. Nothing in it is ever executed.

The first entry is ``tellapart.json``: what the file is, the version of its form, and the description; the others are
NPY arrays of numbers. Entries are stored, not compressed, and have no date: the same content gives the same bytes. A
file can hold no more than its size, so a small one cannot burst the memory. Before an array is made, its type, shape
and length are compared with the bytes that are there; the checksums of the zip catch damage. No pickles.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tellapart._writing import write_whole

_HEAD = "tellapart.json"
_DATE = (1980, 1, 1, 0, 0, 0)
_LONGEST_HEAD = 2**27
_NUMBERS = "biuf"
_TROUBLE = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, EOFError,
    NotImplementedError, RuntimeError, zipfile.BadZipFile,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Stored:
    """What a file holds: a description of JSON types, and arrays by name."""

    description: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class DamagedFile(ValueError):
    """A file that is none of ours, is of a newer form, or is damaged; the message starts with its name."""


def is_ours(head: bytes) -> bool:
    """Whether a file that starts with these bytes is one of ours.

    >>> is_ours(b"PAR1"), is_ours(b"")
    (False, False)
    """
    return head[:4] == b"PK\x03\x04" and head[30 : 30 + len(_HEAD)] == _HEAD.encode()


def save(path: str | os.PathLike[str], kind: str, version: int, stored: Stored) -> None:
    """Write a file of some kind; what stood there before is replaced only when all is written."""
    described = {"kind": kind, "version": version, "description": stored.description}
    head = json.dumps(described, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry(_HEAD), head)
        for name in sorted(stored.arrays):
            archive.writestr(_entry(f"{name}.npy"), _npy(stored.arrays[name]))
    write_whole(os.fspath(path), buffer.getbuffer())


def load(path: str | os.PathLike[str], kind: str, version: int) -> Stored:
    """Read a file of some kind, in this version of its form.

    Raises
    ------
    DamagedFile
        With one line that starts with the name of the file and says what is wrong.
    """
    with checked(path):
        return _read(path, kind, version)


@contextmanager
def checked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever is wrong with the content of a file is said in one line that starts with its name."""
    name = os.fspath(path)
    try:
        yield
    except OSError as error:
        raise DamagedFile(f"{name}: {(error.strerror or str(error)).lower()}") from error
    except DamagedFile as error:
        raise DamagedFile(f"{name}: {error}") from error
    except _TROUBLE as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise DamagedFile(f"{name}: is damaged ({said})") from error


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.create_system, info.external_attr = 3, 0o644 << 16
    return info


def _npy(array: NDArray[Any]) -> bytes:
    if array.dtype.kind not in _NUMBERS:
        raise TypeError(f"`arrays` must hold numbers, got {array.dtype}.")
    buffer = io.BytesIO()
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(buffer, little, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _read(path: str | os.PathLike[str], kind: str, version: int) -> Stored:
    with open(path, "rb") as file:
        if not is_ours(file.read(64)):
            raise DamagedFile("is no file that tellapart has saved")
        size = file.seek(0, os.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _refuse_bombs(entries, size)
            head = json.loads(archive.read(_HEAD), parse_constant=_refuse_constant)
            _refuse_other_kinds(head, kind, version)
            arrays = {e.filename.removesuffix(".npy"): _array(archive.read(e)) for e in entries if e.filename != _HEAD}
    return Stored(dict(head["description"]), arrays)


def _refuse_bombs(entries: list[zipfile.ZipInfo], size: int) -> None:
    if len({e.filename for e in entries}) < len(entries) or entries[0].filename != _HEAD:
        raise ValueError("its entries are not those that were saved")
    if any(e.compress_type != zipfile.ZIP_STORED or e.flag_bits & 1 for e in entries):
        raise ValueError("its entries are compressed, which none that was saved is")
    if sum(e.file_size for e in entries) > size or entries[0].file_size > _LONGEST_HEAD:
        raise ValueError("its entries claim more than the file holds")


def _refuse_other_kinds(head: Any, kind: str, version: int) -> None:
    found, form = head["kind"], head["version"]
    if found != kind:
        raise DamagedFile(f"is a saved {found}, no saved {kind}")
    if not isinstance(form, int) or form > version:
        raise DamagedFile(f"is of form {form}, newer than {version}, which this version of tellapart reads: update it")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _array(data: bytes) -> NDArray[Any]:
    """One NPY array, checked before it is made."""
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array is of another form")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    rest = len(data) - stream.tell()
    if dtype.kind not in _NUMBERS or fortran or math.prod(shape) * dtype.itemsize != rest:
        raise ValueError(f"an array of {dtype} and shape {shape} has {rest} bytes")
    array = np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape).astype(dtype.newbyteorder("="))
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("an array holds values that are not finite")
    return array
