"""What an experiment is: a problem drawn again and again, and methods that are tried on every draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]
Draw = Callable[[float, np.random.Generator], Pair]
# where on the axis, the rows that have learned, randomness -> a pair that shares no row with them
Fresh = Callable[[float, np.ndarray, np.random.Generator], Pair]
# x, y, where on the axis, randomness -> a p-value, or one for each of several test sets after a single training
Test = Callable[..., "float | np.ndarray"]


@dataclass(frozen=True)
class Trials:
    """Trials a point: for the paper, and for a first look."""

    full: int
    quick: int

    def of(self, quick: bool) -> int:
        return self.quick if quick else self.full


CHEAP, DEAR = Trials(1000, 100), Trials(400, 20)


@dataclass(frozen=True)
class Line:
    """One method.

    A method that uses all rows whatever stands on the axis is run at one of `xs` and drawn `across` the figure. From
    `most_rows` rows on, both samples together, a method is too slow to be run. The test of a method that is trained for
    long and then judged on many test sets takes the experiment's `fresh` as a keyword; one that trains `together` is
    given the draws of a whole chunk at once. `size` tells lines apart that are trained for less long in a quick run:
    their names say it. Lines of one `panel` are drawn together. `authors` is its name in `authors_code.json`, and
    `reason` says why it departs from them, if it does.
    """

    name: str
    test: Test
    authors: str | None = None
    trials: Trials = CHEAP
    xs: tuple[float, ...] | None = None
    across: bool = False
    most_rows: float = np.inf
    fresh: bool = False
    together: bool = False
    size: Literal["quick", "full"] | None = None  # both if None
    panel: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Experiment:
    """A figure: rejection rates, or seconds, of every line over `xs`."""

    name: str
    title: str
    x_label: str
    xs: tuple[float, ...]
    draw: Draw
    lines: tuple[Line, ...]
    rows: Callable[[float], float]  # of both samples together at a place on the axis
    under_null: bool = False
    measure: Literal["rate", "seconds"] = "rate"
    quick_xs: tuple[float, ...] | None = None
    most: Trials = Trials(1000, 100)  # trials of any line
    chunk: int = 10  # trials that are done and kept together
    fresh: Fresh | None = None  # test sets for what has been trained
    needs: str | None = None  # a file of real rows
    beside: tuple[str, ...] = ()  # experiments of the authors, if not the one of the same name

    def points(self, line: Line, quick: bool) -> list[float]:
        """Where a line is run: nowhere, if it is of the other size."""
        if line.size not in (None, "quick" if quick else "full"):
            return []
        xs = self.quick_xs if quick and self.quick_xs else self.xs
        return [x for x in line.xs or xs if self.rows(x) <= line.most_rows]

    def trials(self, line: Line, quick: bool) -> int:
        """How often it is run there."""
        return min(line.trials.of(quick), self.most.of(quick))


def across(lines: tuple[Line, ...], at: float) -> tuple[Line, ...]:
    """Methods that do not depend on what stands on the axis."""
    return tuple(replace(line, xs=(at,), across=True) for line in lines)
