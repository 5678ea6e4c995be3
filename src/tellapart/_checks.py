"""Checks of single arguments: each message names the argument, says what is wanted and what came."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    """A real number that is no boolean, no NaN, and no integer too large for a float.

    >>> is_number(1), is_number(np.float32(0.5)), is_number(True), is_number(math.nan), is_number(10**400)
    (True, True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:
        return False


def positive(name: str, value: Any, hint: str = "") -> float:
    """A positive finite number."""
    if not (is_number(value) and 0 < value < math.inf):
        raise ValueError(f"`{name}` must be positive and finite, got {value!r}.{hint}")
    return float(value)


def not_negative(name: str, value: Any) -> float:
    """A finite number that is at least 0."""
    if not (is_number(value) and 0 <= value < math.inf):
        raise ValueError(f"`{name}` must be finite and at least 0, got {value!r}.")
    return float(value)


def positives(name: str, values: Any) -> list[float]:
    """A non-empty sequence of positive finite numbers."""
    if isinstance(values, str) or not isinstance(values, Iterable) or not (listed := list(values)):
        raise ValueError(f"`{name}` must be a non-empty sequence of positive numbers, got {values!r}.")
    return [positive(name, value) for value in listed]


def share(name: str, value: Any, usual: float) -> float:
    """A number strictly between 0 and 1."""
    if not (is_number(value) and 0 < value < 1):
        raise ValueError(f"`{name}` must lie strictly between 0 and 1, got {value!r}. The usual choice is {usual}.")
    return float(value)


def within(name: str, value: Any, least: float, most: float) -> float:
    """A number between two others, both included."""
    if not (is_number(value) and least <= value <= most):
        raise ValueError(f"`{name}` must lie between {least:g} and {most:g}, got {value!r}.")
    return float(value)


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if not (is_number(value) and value == int(value if math.isfinite(value) else 0) and value >= least):
        raise ValueError(f"`{name}` must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def sizes(n: Any, m: Any) -> tuple[int, int]:
    """How many rows each of two samples has: `m` is `n` if it is not given.

    >>> sizes(3, None), sizes(3, 2)
    ((3, 3), (3, 2))
    """
    return whole("n", n), whole("m", n if m is None else m)


def one_of(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """One of a few values; scalars of NumPy count as Python's, which a parameter grid makes of them."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not any(plain is c or (type(plain) is type(c) and plain == c) for c in choices):
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return plain
