"""NumPy arrays out of a pickle that is not trusted.

A pickle is a program: it names functions and has them called. Here four names are known, those that a pickled array is
made of, and each stands for a small class of this module that keeps what it is told and does nothing. No function that
the file names is imported or called, NumPy's own included (some of NumPy's run code, and a pickle could set the byte
order of the one float64 that everybody shares). When the file has been read to its end, the kept pieces become arrays.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_NUMBERS = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")


class RefusedPickle(ValueError):
    """A pickle that holds anything but lists of arrays of numbers."""


def load_arrays(path: Path) -> list[NDArray[Any]]:
    """The arrays of a pickled list or tuple of arrays; of anything else an error, and nothing of it is run."""
    with path.open("rb") as file:
        try:
            return _finished(_ArraysOnly(file).load())
        except Exception as error:  # a stream that was made to confuse may raise anything
            raise RefusedPickle(
                f"`path` must be a pickle of a list of NumPy arrays of numbers, got {path.name}: {error} Nothing that "
                "it names was called. If you trust it, convert it elsewhere, for example to .npz."
            ) from error


def _finished(found: Any) -> list[NDArray[Any]]:
    if not isinstance(found, list | tuple) or not found:
        raise RefusedPickle(f"it holds {_worded(found)}.")
    strangers = [element for element in found if not isinstance(element, _Array)]
    if strangers:
        raise RefusedPickle(f"its list holds {_worded(strangers[0])}.")
    return [element.finished() for element in found]


def _worded(found: Any) -> str:
    return "a single array" if isinstance(found, _Array) else f"an object of type {type(found).__name__}"


class _StandIn:
    """Has no attributes that the stream could set."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        raise RefusedPickle("it sets the state of what has none.")


class _Type(_StandIn):
    """Stands for ``numpy.dtype``."""

    __slots__ = ("_name", "_order")

    def __init__(self, name: Any, *_: Any) -> None:
        if name not in _NUMBERS:
            raise RefusedPickle(f"it holds an array of type {name!r}.")
        self._name, self._order = str(name), "="

    def __setstate__(self, state: Any) -> None:
        if state[1] not in ("<", ">", "|", "="):
            raise RefusedPickle(f"it holds an array of byte order {state[1]!r}.")
        self._order = str(state[1])

    def finished(self) -> np.dtype[Any]:
        return np.dtype(self._order + self._name)


class _Array(_StandIn):
    """Stands for an array, ``numpy.core.multiarray._reconstruct``: made empty, then told its contents."""

    __slots__ = ("_parts",)

    def __init__(self, *_: Any) -> None:
        self._parts: tuple[Any, ...] = ()

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, columns_first, data = state
        written = data.encode("latin1") if isinstance(data, str) else data  # by Python 2
        self._parts = written, kind, shape, "F" if columns_first else "C"

    def finished(self) -> NDArray[Any]:
        data, kind, shape, order = self._parts
        if not (isinstance(data, bytes | bytearray) and isinstance(kind, _Type)):
            raise RefusedPickle("it holds an array whose contents are no bytes.")
        return np.frombuffer(data, kind.finished()).reshape(shape, order=order)


class _Buffer(_Array):
    """Stands for ``numpy.core.numeric._frombuffer``, an array as protocol 5 writes it."""

    __slots__ = ()

    def __init__(self, *parts: Any) -> None:
        self._parts = parts


class _Name(_StandIn):
    """Stands for ``numpy.ndarray``, which a pickle only mentions."""

    __slots__ = ()


class _Bytes(_StandIn):
    """Stands for ``_codecs.encode``: in the old protocols Python 3 writes bytes as text."""

    __slots__ = ()

    def __new__(cls, text: Any, encoding: Any) -> Any:
        if not isinstance(text, str) or encoding != "latin1":
            raise RefusedPickle(f"it encodes text as {encoding!r}.")
        return text.encode("latin1")


_KNOWN: dict[tuple[str, str], type[_StandIn]] = {
    ("numpy", "dtype"): _Type,
    ("numpy", "ndarray"): _Name,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.numeric", "_frombuffer"): _Buffer,
    ("numpy._core.numeric", "_frombuffer"): _Buffer,
    ("_codecs", "encode"): _Bytes,
}


class _ArraysOnly(pickle.Unpickler):
    """Reads a stream in which a few names are known, each by its stand-in."""

    def __init__(self, file: BinaryIO) -> None:
        # latin1: how Python 3 reads the bytes that Python 2 wrote
        super().__init__(file, encoding="latin1")

    def find_class(self, module: str, name: str) -> type[_StandIn]:
        if (module, name) not in _KNOWN:
            raise RefusedPickle(f"it asks for {module}.{name}.")
        return _KNOWN[module, name]
