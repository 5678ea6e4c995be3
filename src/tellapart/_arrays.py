"""Arrays of other libraries: the only file that has heard of torch.

Everything right of :mod:`tellapart.samples` computes on NumPy arrays. What a user brings is turned into
one here, without importing a library that the user has not imported already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IndexArray = NDArray[np.intp]


def is_torch(x: object) -> bool:
    """Whether `x` is a torch tensor, told without importing torch."""
    return type(x).__module__.split(".")[0] == "torch" and hasattr(x, "detach")


def to_numpy(x: Any) -> NDArray[Any]:
    """The values of `x` as a NumPy array: no copy where none is needed.

    Tensors leave their graph and their device; everything else goes through ``numpy.asarray``, so anything
    with ``__array__`` or ``__array_interface__`` works.
    """
    if is_torch(x):
        tensor = x.detach().cpu()
        return np.asarray(tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor)
    return np.asarray(x)


def chunks(n_rows: int, width: int, budget: int = 2**24) -> Iterator[slice]:
    """Slices of rows such that `width` numbers for each row stay within `budget` numbers.

    >>> list(chunks(5, width=10, budget=20))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, budget // max(1, width))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
