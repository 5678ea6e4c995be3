"""Stage I as stage II sees it where it calls for a witness: something that learns, and the numbers that come of it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray
from tellapart.moments import as_values
from tellapart.samples import Samples


class Learns(Protocol):
    """Training samples and a generator -> a function from rows to numbers."""

    def learn(self, train: Samples, rng: np.random.Generator, /) -> Any: ...


def values_of(witness: Any, rows: FloatArray) -> NDArray[np.float64]:
    """One finite number for each row.

    >>> values_of(lambda rows: rows.sum(axis=1), np.ones((2, 3))).tolist()
    [3.0, 3.0]
    """
    values = as_values(np.asarray(witness(rows)).reshape(-1), "h")
    if len(values) != len(rows):
        raise ValueError(f"`learner` must return one number for each of {len(rows)} rows, got {len(values)}.")
    return values
