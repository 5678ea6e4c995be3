"""A small example that ships with the library."""

from __future__ import annotations

from importlib import resources

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


def machine_readings() -> tuple[dict[str, Rows], dict[str, Rows]]:
    """Two small files of sensor readings, last month's and this month's, column by column.

    Made up for the first example. Every column by itself has kept its distribution; what changed is that heat no
    longer follows load. Tests that look at one column at a time cannot see it.

    Examples
    --------
    >>> last, this = machine_readings()
    >>> sorted(last)
    ['current_a', 'speed_rpm', 'temperature_c', 'vibration_mm_s']
    """
    return _shipped("readings_last_month.csv"), _shipped("readings_this_month.csv")


def example_file(name: str) -> str:
    """The path of a file that ships with the library."""
    return str(resources.files("tellapart") / "_data" / name)


def _shipped(name: str) -> dict[str, Rows]:
    with open(example_file(name), encoding="utf-8") as lines:
        names = next(lines).strip().split(",")
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    return dict(zip(names, table.T, strict=True))
