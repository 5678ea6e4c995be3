"""Experiments: what may still change, or go. Nothing here is used unless you import it."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart.joint import tell_apart
from tellapart.joint_result import TellApartResult
from tellapart.samples import as_frame, as_samples
from tellapart.tables.reading import Column, columns_of

Ids = NDArray[np.intp]


def given(x: Any, y: Any, column: str | int, *, bins: int = 10, **settings: Any) -> TellApartResult:
    """Do the samples differ in more than one column? What is left if that column had not changed.

    The rows are divided by the value of `column` - levels as they are, amounts into so many bins with about equally
    many of the pooled rows, what is missing by itself - and the other columns are compared within these strata, which
    may be filled differently.

    Parameters
    ----------
    x, y : data frames, or arrays of shape (n, d) and (m, d)
    column : str or int
        Name of the column, or its place in arrays.
    bins : int
        Bins of a column of amounts. More bins take off more of what the column explains, and leave less to compare.
    **settings
        As in :func:`tellapart.tell_apart`, but for `strata`, `pairs` and `blocks`.

    Returns
    -------
    TellApartResult
        Of the other columns.

    Notes
    -----
    The p-value is exact for the null hypothesis that, *given the bin of the column*, the other columns have the same
    distribution in both samples: the bins are fixed by the pooled values of the column, and given those the rows of one
    bin are exchangeable in all other columns. Within a bin the column may still be distributed differently, and other
    columns that depend on it then are, too: that is a difference given the bin, though not given the exact value. A bin
    with rows of one sample only says nothing. Nothing here is causal: another column may have changed because this one
    did, or the other way round.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age = np.concatenate([rng.normal(40, 10, 200), rng.normal(50, 10, 200)])
    >>> rows = np.column_stack([age, age / 10 + rng.normal(size=400)])     # the second column follows the first
    >>> tell_apart(rows[:200, 1], rows[200:, 1], rng=0).pvalue <= 0.05
    True
    >>> given(rows[:200], rows[200:], 0, bins=20, rng=0).pvalue > 0.05
    True
    """
    refused = [name for name in ("strata", "pairs", "blocks") if settings.get(name) is not None]
    if refused:
        raise ValueError(f"`given` makes strata of its own, which cannot go with `{refused[0]}`. Leave it out.")
    bins = checks.whole("bins", bins, 2)
    frames = [as_frame(data, name) for data, name in ((x, "x"), (y, "y"))]
    if all(isinstance(frame, nw.DataFrame) for frame in frames):
        rest, values = _of_frames(frames, column)
    else:
        rest, values = _of_arrays(x, y, column)
    strata = strata_of(values[0], values[1], bins)
    result = tell_apart(*rest, strata=strata, **settings)
    if not isinstance(result, TellApartResult):
        raise TypeError("`given` compares two samples.")
    return result


def _of_frames(frames: Any, column: str | int) -> tuple[list[Any], list[Column]]:
    """The frames without the column, and the column."""
    values = []
    for frame, name in zip(frames, ("x", "y"), strict=True):
        if column not in frame.columns:
            raise ValueError(f"`column` must be a column of `{name}`, got {column!r}; there are {frame.columns[:5]}.")
        if len(frame.columns) < 2:
            raise ValueError(f"`{name}` must have another column beside {column!r}.")
        values.append(columns_of(frame.select(column), name)[str(column)].kept())
    if values[0].kind != values[1].kind:
        values = [v.to("text") for v in values]
    return [frame.drop(column).to_native() for frame in frames], values


def _of_arrays(x: Any, y: Any, column: str | int) -> tuple[list[Any], list[Column]]:
    samples = as_samples(x, y)
    d = samples.x.shape[1]
    if d < 2 or not isinstance(column, int) or not -d <= column < d:
        raise ValueError(
            f"`column` must be the place of one of at least two columns of arrays, got {column!r} and {d}."
        )
    both = (samples.x, samples.y)
    values = [Column.of(str(column), "numbers", rows[:, column].astype(np.float64)) for rows in both]
    return [np.delete(rows, column, axis=1) for rows in both], values


def strata_of(first: Column, second: Column, bins: int) -> tuple[Ids, Ids]:
    """The stratum of every row: its level, or its bin among the pooled values, or that the value is missing.

    >>> a, b = (Column.of("a", "numbers", v) for v in ([1.0, 2.0, np.nan], [3.0, 4.0]))
    >>> [s.tolist() for s in strata_of(a, b, 2)]
    [[0, 0, -1], [1, 1]]
    """
    if first.kind == "text":
        levels = sorted({v for c in (first, second) for v in c.texts if v is not None})
        number = {level: i for i, level in enumerate(levels)}
        codes = [np.array([-1 if v is None else number[v] for v in c.texts], dtype=np.intp) for c in (first, second)]
        return codes[0], codes[1]
    pooled = np.concatenate([first.values, second.values])
    known = pooled[~np.isnan(pooled)]
    inner = np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1]) if len(known) else np.zeros(0)
    found = [np.where(np.isnan(c.values), -1, np.searchsorted(np.unique(inner), c.values)) for c in (first, second)]
    return found[0], found[1]
