"""Which rows may be relabelled: all of them, whole groups, rows within strata, or the two rows of a pair.

A permutation test is exact for the null hypothesis that its relabellings leave the distribution of the data unchanged:

- *rows*: all rows are exchangeable: independent draws from one distribution;
- *groups* (patients, visits, days): groups are exchangeable, whatever the rows of one group have to do with each other;
- *strata* (hospitals, batches): rows are exchangeable within each stratum, and strata may differ as they like;
- *pairs* (before and after): the two rows of a pair are exchangeable; a pair is a stratum of two;
- *blocks* of rows in time order: blocks are exchangeable; a block is a group of neighbours, and a last block that is
  shorter is exchanged with its like only;
- *weights* belong to their rows: the rows are exchangeable together with their weights.

Groups may lie within strata; then whole groups are relabelled within each stratum. Relabellings are drawn uniformly
from those that the null hypothesis allows. Where their table would be large (more than 20,000 units) they are
rotations of the units in random order instead: random elements of a group of relabellings, which is as exact (the
observed labelling is one random element of the group away from itself), and a label then follows from a unit's place
without being stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks as checks
from tellapart.samples import sample_names

Matrix = NDArray[np.float64]
Values = NDArray[np.float64]
Ids = NDArray[np.intp]
Labels = NDArray[np.uint8]
PerSample = Sequence[ArrayLike]
Rows = slice | Ids

_ROTATE_FROM = 20_000  # units
EVERYTHING = slice(None)


class Labelling(Protocol):
    """The sample of every unit in B + 1 labellings, the observed one first."""

    @property
    def columns(self) -> int: ...

    def labels(self, units: Ids, columns: slice) -> Labels:
        """Samples of the given units in the given labellings: (units, columns)."""
        ...


@dataclass(frozen=True, eq=False)
class Stored:
    """Labellings that are listed, one in each column."""

    table: Labels  # (units, draws + 1)

    @property
    def columns(self) -> int:
        return int(self.table.shape[1])

    def labels(self, units: Ids, columns: slice) -> Labels:
        return self.table[:, columns][units]

    @classmethod
    def drawn(cls, observed: Labels, stratum: Ids, draws: int, rng: np.random.Generator) -> Stored:
        """Labels dealt out at random within each stratum."""
        by_stratum = np.argsort(stratum, kind="stable")
        table = np.empty((draws + 1, len(observed)), dtype=np.uint8)
        table[0] = observed
        step = max(1, 2**22 // len(observed))
        for start in range(1, draws + 1, step):
            keys = rng.random((min(step, draws + 1 - start), len(observed)))
            # sorted by stratum, and at random within: the integer part of what is sorted is the stratum
            order = np.argsort(keys + stratum, axis=1)
            dealt = np.broadcast_to(observed[by_stratum], keys.shape)
            np.put_along_axis(table[start : start + len(keys)], order, dealt, axis=1)
        return cls(np.ascontiguousarray(table.T))


@dataclass(frozen=True, eq=False)
class Rotated:
    """Labellings by rotation: each unit takes the label of the one that stands some places further in random order."""

    ordered: Labels  # observed labels, stratum by stratum, in random order
    place: Ids  # (units,): where each unit stands in its stratum
    start: Ids  # (units,): where its stratum begins
    size: Ids  # (units,): units of its stratum
    stratum: Ids  # (units,)
    shift: Ids  # (strata, draws + 1)

    @property
    def columns(self) -> int:
        return int(self.shift.shape[1])

    def labels(self, units: Ids, columns: slice) -> Labels:
        turned = self.place[units, None] + self.shift[self.stratum[units], columns]
        turned %= self.size[units, None]
        turned += self.start[units, None]
        return np.asarray(self.ordered[turned])

    @classmethod
    def drawn(cls, observed: Labels, stratum: Ids, draws: int, rng: np.random.Generator) -> Rotated:
        """Random rotations, independent in each stratum."""
        order = np.lexsort((rng.random(len(observed)), stratum))
        sizes = np.bincount(stratum)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        place = np.empty(len(observed), dtype=np.intp)
        place[order] = np.arange(len(observed)) - starts[stratum[order]]
        shift = rng.integers(sizes[:, None], size=(len(sizes), draws + 1))
        if len(sizes) == 1 and draws < sizes[0]:  # no rotation twice, and none that is the identity
            shift[0, 1:] = 1 + rng.choice(int(sizes[0]) - 1, draws, replace=False)
        shift[:, 0] = 0
        return cls(observed[order], place, starts[stratum], sizes[stratum].astype(np.intp), stratum, shift)


@dataclass(frozen=True, eq=False)
class Relabellings:
    """Labellings of the pooled rows as contrasts between two samples.

    For weights w (1 unless given) and two samples of total weight W_1 and W_2 in a labelling, a row's entry is
    ``sqrt(w) W_2 / (W_1 + W_2)`` if it is labelled with the first, ``-sqrt(w) W_1 / (W_1 + W_2)`` if with the second,
    and 0 otherwise: entries times ``sqrt(w)`` add up to zero. For two unweighted samples they are the centred labels.
    """

    labelling: Labelling
    unit_of_row: Ids  # (N,)
    weights: Values  # (N,), mean 1
    between: tuple[int, int] = (0, 1)

    @property
    def columns(self) -> int:
        return self.labelling.columns

    def contrast(self, rows: Rows = EVERYTHING, columns: slice = EVERYTHING) -> Matrix:
        """Entries of some rows in some labellings: (rows, columns)."""
        labels = self.labelling.labels(self.unit_of_row[rows], columns)
        total = self._totals(columns)
        first, second = total[1] / total.sum(axis=0), -total[0] / total.sum(axis=0)
        y = np.where(labels == self.between[0], first, np.where(labels == self.between[1], second, 0.0))
        return y if self.unweighted else np.asarray(y * np.sqrt(self.weights[rows, None]))

    def entries(self, units: Ids) -> Matrix:
        """Entries of some units in all labellings, without the weights of their rows: (units, columns)."""
        labels = self.labelling.labels(units, EVERYTHING)
        first, second = self._shares
        return np.where(labels == self.between[0], first, np.where(labels == self.between[1], second, 0.0))

    @property
    def unweighted(self) -> bool:
        return bool((self.weights == 1).all())

    @cached_property
    def _shares(self) -> tuple[Values, Values]:
        """Entries of a row of either sample in all labellings, but for its weight."""
        total = self._totals(EVERYTHING)
        return total[1] / total.sum(axis=0), -total[0] / total.sum(axis=0)

    def _totals(self, columns: slice) -> Matrix:
        """Total weight of the two samples in each labelling: (2, columns)."""
        carried = np.bincount(self.unit_of_row, weights=self.weights)
        if (carried == carried[0]).all():  # as many of each label in every labelling
            first = self.labelling.labels(np.arange(len(carried)), slice(0, 1))
            counts = [carried[0] * float((first == s).sum()) for s in self.between]
            return np.repeat(np.array(counts)[:, None], len(range(self.columns)[columns]), axis=1)
        totals = np.zeros((2, len(range(self.columns)[columns])))
        for start in range(0, len(carried), 2**15):
            units = np.arange(start, min(start + 2**15, len(carried)))
            labels = self.labelling.labels(units, columns)
            totals += np.stack([carried[units] @ (labels == s) for s in self.between])
        return totals


@dataclass(frozen=True, eq=False)
class Exchange:
    """The units whose labels are exchanged, and the stratum within which each stays.

    ``unit_of_row`` numbers the unit of every pooled row, sample by sample; ``sample`` says of which sample each unit
    is.
    """

    words: str
    unit_of_row: Ids  # (N,)
    stratum: Ids  # (units,)
    sample: Labels  # (units,)
    weights: Values  # (N,), mean 1
    paired: bool = False

    @classmethod
    def of(cls, n: int, m: int, *structure: Any, **named: Any) -> Exchange:
        """Two samples of n and m rows; the structure as in :meth:`among`."""
        return cls.among((n, m), *structure, **named)

    @classmethod
    def among(
        cls,
        sizes: Sequence[int],
        groups: PerSample | None = None,
        strata: PerSample | None = None,
        pairs: bool = False,
        blocks: int | None = None,
        weights: PerSample | None = None,
    ) -> Exchange:
        """Units and strata from what the user passes: one array for each sample, or a number."""
        words = _words(pairs, groups is not None, blocks, strata is not None)
        if pairs:
            strata = _pair_numbers(sizes, groups is not None or strata is not None or blocks is not None)
        if blocks is not None:
            groups = _block_numbers(sizes, blocks, groups is not None)
        rows = sum(sizes)
        sample = np.repeat(np.arange(len(sizes), dtype=np.uint8), sizes)
        unit = np.arange(rows) if groups is None else _numbered(groups, sizes, "groups")
        row_stratum = np.zeros(rows, dtype=np.intp) if strata is None else _numbered(strata, sizes, "strata")
        if blocks is not None:
            row_stratum = _of_equal_length(row_stratum, unit)
        first, stratum = _one_of_each(unit, sample, row_stratum)
        weight = np.ones(rows) if weights is None else _checked_weights(weights, sizes)
        return cls(words + " with their weights" * (weights is not None), unit, stratum, first, weight, pairs)

    def shuffled(self, order: Ids) -> Exchange:
        """The same for rows that stand in another order."""
        return replace(self, unit_of_row=self.unit_of_row[order], weights=self.weights[order])

    def of_rows(self, rows: Ids) -> Exchange:
        """The same for some of the pooled rows, of whose groups no row may be missing."""
        kept, unit = np.unique(self.unit_of_row[rows], return_inverse=True)
        if np.isin(self.unit_of_row, kept).sum() > len(rows):
            raise ValueError("`groups` must learn or judge as a whole, got a group with rows in both parts.")
        unit = np.asarray(unit, dtype=np.intp).reshape(-1)
        return replace(self, unit_of_row=unit, stratum=self.stratum[kept], sample=self.sample[kept],
                       weights=self.weights[rows])  # fmt: skip

    @property
    def together(self) -> Ids:
        """Rows that must be left out together, because their labels depend on each other: groups, or pairs."""
        return self.stratum[self.unit_of_row] if self.paired else self.unit_of_row

    def relabellings(self, draws: int, rng: np.random.Generator) -> Matrix:
        """Contrasts of two samples, one labelling a column, the observed one first: (N, draws + 1)."""
        return self.labellings(draws, rng).contrast()

    def labellings(self, draws: int, rng: np.random.Generator) -> Relabellings:
        """The observed labelling and `draws` random ones that the null hypothesis allows."""
        drawn = Rotated.drawn if len(self.sample) > _ROTATE_FROM else Stored.drawn
        return Relabellings(drawn(self.sample, self.stratum, draws, rng), self.unit_of_row, self.weights)

    def within(self, block_of_sample: Sequence[int]) -> Exchange:
        """The same, but labels are exchanged only among samples that are in the same block."""
        blocks = np.asarray(block_of_sample, dtype=np.intp)[self.sample]
        _, stratum = np.unique(self.stratum * len(block_of_sample) + blocks, return_inverse=True)
        return replace(self, stratum=np.asarray(stratum, dtype=np.intp).reshape(-1))


def _words(pairs: bool, grouped: bool, blocks: int | None, stratified: bool) -> str:
    if pairs:
        return "pairs"
    kind = "whole groups" if grouped else f"blocks of {blocks} rows" if blocks is not None else "rows"
    return kind + (" within strata" if stratified else "")


def _pair_numbers(sizes: Sequence[int], others: bool) -> list[Ids]:
    if others:
        raise ValueError("`pairs` are strata of two rows and cannot go with `groups`, `blocks` or `strata`.")
    if len(set(sizes)) > 1:
        raise ValueError(
            "`pairs` needs a row i of `y` for every row i of `x`, got " + " and ".join(map(str, sizes)) + " rows."
        )
    return [np.arange(size) for size in sizes]


def _of_equal_length(stratum: Ids, unit: Ids) -> Ids:
    """Strata in which all units have equally many rows: a short last block is not exchangeable with a whole one."""
    length = np.bincount(unit)[unit]
    _, refined = np.unique(stratum * (int(length.max()) + 1) + length, return_inverse=True)
    return np.asarray(refined, dtype=np.intp).reshape(-1)


def _block_numbers(sizes: Sequence[int], length: int, grouped: bool) -> list[Ids]:
    if grouped:
        raise ValueError("`blocks` are groups of neighbouring rows and cannot go with `groups`: pass one of them.")
    length = checks.whole("blocks", length)
    if min(sizes) < 2 * length:
        raise ValueError(f"`blocks` must leave at least two blocks in each sample of {min(sizes)} rows, got {length}.")
    ends = np.cumsum([0, *(-(-size // length) for size in sizes)])
    return [np.arange(size) // length + end for size, end in zip(sizes, ends, strict=False)]


def _per_sample(given: Any, sizes: Sequence[int], name: str) -> list[NDArray[Any]]:
    """One array for each sample, each with an entry for each of its rows."""
    wanted = "a pair of arrays, one for the rows of `x` and one for those of `y`"
    if len(sizes) > 2:
        wanted = f"a sequence of {len(sizes)} arrays, one for the rows of each sample"
    if not isinstance(given, tuple | list) or len(given) != len(sizes):
        raise TypeError(f"`{name}` must be {wanted}.")
    found = [np.asarray(ids) for ids in given]
    for ids, size, sample in zip(found, sizes, sample_names(sizes), strict=True):
        if ids.shape != (size,):
            raise ValueError(f"`{name}` must have an entry for each of the {size} rows of `{sample}`, got {ids.shape}.")
        if any(i is None or i != i for i in ids.tolist()):
            raise ValueError(f"`{name}` must have no missing entries for `{sample}`.")
    return found


def _numbered(per_sample: Any, sizes: Sequence[int], name: str) -> Ids:
    """Ids of any kind -> 0, 1, 2, ... for the pooled rows."""
    _, numbers = np.unique(np.concatenate(_per_sample(per_sample, sizes, name)), return_inverse=True)
    return np.asarray(numbers, dtype=np.intp).reshape(-1)


def _checked_weights(weights: Any, sizes: Sequence[int]) -> Values:
    """Positive weights, scaled to mean 1."""
    found = np.concatenate(_per_sample(weights, sizes, "weights"))
    if found.dtype.kind not in "iuf" or not (np.isfinite(found).all() and (found > 0).all()):
        raise ValueError("`weights` must be positive and finite numbers. Leave out the rows that weigh nothing.")
    return np.asarray(found / found.mean(), dtype=np.float64)


def _one_of_each(unit: Ids, sample: Labels, row_stratum: Ids) -> tuple[Labels, Ids]:
    """The sample and the stratum of every unit, which all of its rows must share."""
    representative = np.unique(unit, return_index=True)[1]
    first, stratum = sample[representative], row_stratum[representative]
    if (first[unit] != sample).any():
        raise ValueError(
            "`groups` must lie in one sample each, got a group with rows in both. If every group has rows in both, "
            "pass them as `strata`: labels are then exchanged within each."
        )
    if (stratum[unit] != row_stratum).any():
        raise ValueError("`groups` must lie in one stratum each, got a group with rows in several.")
    return first, stratum
