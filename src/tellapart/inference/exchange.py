"""Which rows may be relabelled: all of them, whole groups, rows within strata, or the two rows of a pair.

A permutation test is exact for the null hypothesis that its relabellings leave the distribution of the data unchanged:

- *rows*: all rows are exchangeable: independent draws from one distribution;
- *groups* (patients, visits, days): groups are exchangeable, whatever the rows of one group have to do with each other;
- *strata* (hospitals, batches): rows are exchangeable within each stratum, and strata may differ as they like;
- *pairs* (before and after): the two rows of a pair are exchangeable; a pair is a stratum of two.

Groups may lie within strata; then whole groups are relabelled within each stratum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]
PerSample = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False)
class Exchange:
    """The units whose labels are exchanged, and the stratum within which each stays.

    ``unit_of_row`` numbers the unit of every pooled row, first those of `x`; ``first`` says which units are of `x`.
    """

    words: str
    unit_of_row: Ids  # (N,)
    stratum: Ids  # (units,)
    first: NDArray[np.bool_]  # (units,)

    @classmethod
    def of(
        cls, n: int, m: int, groups: PerSample | None = None, strata: PerSample | None = None, pairs: bool = False
    ) -> Exchange:
        """Units and strata from what the user passes: one array for `x` and one for `y` each."""
        if pairs:
            if groups is not None or strata is not None:
                raise ValueError("`pairs` are strata of two rows and cannot go with `groups` or `strata`.")
            if n != m:
                raise ValueError(f"`pairs` needs a row i of `y` for every row i of `x`, got {n} and {m} rows.")
            strata = (np.arange(n), np.arange(n))
        is_x = np.arange(n + m) < n
        unit = np.arange(n + m) if groups is None else _numbered(groups, n, m, "groups")
        row_stratum = np.zeros(n + m, dtype=np.intp) if strata is None else _numbered(strata, n, m, "strata")
        first, stratum = _one_of_each(unit, is_x, row_stratum)
        words = "pairs" if pairs else _words(groups is not None, strata is not None)
        return cls(words, unit, stratum, first)

    def relabellings(self, draws: int, rng: np.random.Generator) -> Matrix:
        """Centred labels, one relabelling a column, the observed one first: (N, draws + 1)."""
        by_stratum = np.argsort(self.stratum, kind="stable")
        keys = rng.random((draws, len(self.stratum)))
        # Random order within each stratum: the labels of a stratum are dealt out to its own units.
        order = np.lexsort((keys, np.broadcast_to(self.stratum, keys.shape)), axis=1)
        dealt = np.empty((draws + 1, len(self.first)))
        dealt[0] = self.first
        np.put_along_axis(dealt[1:], order, np.broadcast_to(self.first[by_stratum], keys.shape).astype(float), axis=1)
        rows = dealt[:, self.unit_of_row]
        # Groups differ in size, so a relabelling may have other numbers of rows: each column is centred by itself.
        return np.ascontiguousarray((rows - rows.mean(axis=1, keepdims=True)).T)


def _words(grouped: bool, stratified: bool) -> str:
    return ("whole groups" if grouped else "rows") + (" within strata" if stratified else "")


def _numbered(per_sample: Any, n: int, m: int, name: str) -> Ids:
    """Ids of any kind -> 0, 1, 2, ... for the pooled rows."""
    if not isinstance(per_sample, tuple | list) or len(per_sample) != 2:
        raise TypeError(f"`{name}` must be a pair of arrays, one for the rows of `x` and one for those of `y`.")
    found = [np.asarray(ids) for ids in per_sample]
    for ids, size, sample in zip(found, (n, m), "xy", strict=True):
        if ids.shape != (size,):
            raise ValueError(
                f"`{name}` must have one entry for each of the {size} rows of `{sample}`, got {ids.shape}."
            )
        if any(i is None or i != i for i in ids.tolist()):
            raise ValueError(f"`{name}` must have no missing entries for `{sample}`.")
    _, numbers = np.unique(np.concatenate(found), return_inverse=True)
    return np.asarray(numbers, dtype=np.intp).reshape(-1)


def _one_of_each(unit: Ids, is_x: NDArray[np.bool_], row_stratum: Ids) -> tuple[NDArray[np.bool_], Ids]:
    """The sample and the stratum of every unit, which all of its rows must share."""
    representative = np.unique(unit, return_index=True)[1]
    first, stratum = is_x[representative], row_stratum[representative]
    if (first[unit] != is_x).any():
        raise ValueError(
            "`groups` must lie in one sample each, got a group with rows in both. If every group has rows in both, "
            "pass them as `strata`: labels are then exchanged within each."
        )
    if (stratum[unit] != row_stratum).any():
        raise ValueError("`groups` must lie in one stratum each, got a group with rows in several.")
    return first, stratum
