"""Progress on anything longer than two seconds: one line on standard error, on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
_PATIENCE = 2.0  # seconds of silence


def progress(items: Sequence[T], label: str | Callable[[], str]) -> Iterator[T]:
    """The items, and after two seconds a line that says how many are done and how long the others will take.

    A `label` that changes on the way, such as the loss of a training, is a function.
    """
    shown = sys.stderr is not None and sys.stderr.isatty()
    start, said = time.monotonic(), False
    try:
        for done, item in enumerate(items):
            passed = time.monotonic() - start
            if shown and done and passed > _PATIENCE:
                left = passed / done * (len(items) - done)
                said_of = label() if callable(label) else label
                sys.stderr.write(f"\r{said_of}: {done} of {len(items)}, about {left:.0f} s left \x1b[K")
                sys.stderr.flush()
                said = True
            yield item
    finally:
        if said:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
