"""Files are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress


def refuse_unwritable(path: str, use: str, samples: Iterable[str] = ()) -> None:
    """Say now what would go wrong later, when everything is computed.

    Parameters
    ----------
    path : str
    use : str
        What the file is for, for the message.
    samples : iterable of str
        Files that are read and must stay.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        trouble = "is a directory; give the name of a file"
    elif os.path.lexists(target) and not os.path.isfile(target):
        trouble = "is no ordinary file"
    elif not os.path.isdir(folder):
        trouble = "there is no such directory"
    elif not os.access(target if os.path.exists(target) else folder, os.W_OK):
        trouble = "permission denied"
    elif any(os.path.exists(file) and os.path.samefile(file, target) for file in samples if os.path.exists(target)):
        trouble = "is one of the samples"
    else:
        return
    raise ValueError(f"{use} {path or repr(path)}: {trouble}")


def write_whole(path: str, content: bytes | memoryview) -> None:
    """Write a file; what stood there before is replaced when all is written."""
    target = os.path.realpath(path)
    unfinished = f"{target}.{os.getpid()}.unfinished"
    try:
        with open(unfinished, "xb") as file:
            file.write(content)
        os.replace(unfinished, target)
    except OSError as error:
        raise OSError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            os.remove(unfinished)
