"""Independent pieces of linear algebra side by side: one piece a thread, one BLAS thread a piece.

The pieces are many and small. BLAS gains little from a second thread on a small matrix, and its threads wait for each
other while spinning, which on a busy machine made a test of half a second take twenty.
"""

from __future__ import annotations

import operator
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, reduce
from typing import Any, TypeVar

from tellapart._progress import progress

A = TypeVar("A")
B = TypeVar("B")

MOST_THREADS = 8


def one_blas_thread() -> Any:
    """A context in which NumPy's linear algebra keeps to one thread."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    """Looking for the libraries takes three milliseconds, a fifth of a small test; they are loaded by now."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def side_by_side(function: Callable[[A], B], items: Sequence[A], label: str) -> list[B]:
    """``[function(item) for item in items]`` on several threads, with progress; results in the order of the items."""
    threads = min(MOST_THREADS, available_cores(), len(items))
    with one_blas_thread():
        if threads <= 1:
            return [function(item) for item in progress(items, label)]
        with ThreadPoolExecutor(threads) as pool:
            started = [pool.submit(function, item) for item in items]
            return [future.result() for future in progress(started, label)]


def added_up(function: Callable[[A], B], items: Sequence[A], label: str) -> B:
    """``function(items[0]) + function(items[1]) + ...`` on several threads, with progress, by ``+=``.

    Always added in the order of the items, so the result does not depend on the threads; no more than MOST_THREADS + 2
    of the terms exist at a time.
    """
    return reduce(operator.iadd, in_turn(function, items, label))


def in_turn(function: Callable[[A], B], items: Sequence[A], label: str) -> Iterator[B]:
    """``function(item)`` for each item in its turn, while several threads are at work on the next ones."""
    threads = min(MOST_THREADS, available_cores(), len(items))
    with one_blas_thread():
        if threads <= 1:
            yield from map(function, progress(items, label))
            return
        with ThreadPoolExecutor(threads) as pool:
            started = deque(pool.submit(function, item) for item in items[: threads + 1])
            for coming in progress(range(threads + 1, threads + 1 + len(items)), label):
                found = started.popleft().result()
                if coming < len(items):
                    started.append(pool.submit(function, items[coming]))
                yield found


def available_cores() -> int:
    """Cores that this process may use, and no more than OMP_NUM_THREADS allows."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(allowed))) if allowed.isdigit() else cores
