"""The test without a split in one pass over any number of rows: K folds in place of single rows left out.

Few features of each kernel (:mod:`tellapart.landmarks`, from a random part of the rows) turn everything into
sums over rows. For fold f and labelling b the pass adds up the scatter ``S_f`` of the features, which does not know
labels, and their contrast ``d_fb``. The witness of labelling b learned without fold f, judged on fold f, then needs
no row:

    w_fb = (S_{-f} + ridge)^-1 d_{-f,b}            S_{-f}, d_{-f,b}: sums over all other folds
    mean and mean square of e                      sum_f w_fb' d_fb,   sum_f w_fb' S_f w_fb  (times that of the labels)

The Fisher discriminants, mean discrepancies, pooled potentials, linear discriminants and column statistics are
functions of the same sums, and leverages are those of the random part. Folds, landmarks, scales and leverages are
chosen without labels, so every labelling is treated alike and the p-value is exact. The sums add: pieces, files and
machines merge with +.

Radial kernels are computed in single precision where the random part shows that this changes their features by less
than one per cent. Features are then slightly other functions of the rows, and labels meet them in double precision.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray
from tellapart._threads import added_up, in_turn, side_by_side
from tellapart.inference.columns import DEGREES, RankMap, RankTable, column_rows
from tellapart.inference.exchange import Exchange, Relabellings
from tellapart.inference.leave_one_out import RidgeGrid, quadratic_rows
from tellapart.inference.sums import Piece, PooledRows, Solved, Sums, Tally, with_one
from tellapart.inference.voices import (
    LINEAR_FREEDOMS,
    Row,
    column_row_names,
    kernel_row_names,
    linear_row_names,
    number_of_pairs,
    pair_row_names,
    pair_statistics,
)
from tellapart.inference.whole_sample import OF_KERNELS, Hearing, concluded
from tellapart.kernels import Energy, Kernel, Radial, kernel_matrix
from tellapart.landmarks import FeatureMap, captured_words, pivots
from tellapart.pairs import Pairs, Shares, column_spreads

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]

FOLDS = 5
_RANK = 1e-12
_SINGLE_ERROR = 0.01  # standard deviations of a feature: a ten-thousandth of its variance
_LARGEST = 1e6  # bandwidths in single precision lie between this and its inverse


@dataclass(frozen=True, eq=False)
class Distances:
    """Some rows against the landmarks, in single and in double precision; computed when asked for."""

    single: Pairs
    double: Pairs

    @classmethod
    def of(cls, z: Matrix, landmarks: Matrix) -> Distances:
        return cls(Pairs(z, landmarks, single=True), Pairs(z, landmarks))


@dataclass(frozen=True, eq=False)
class KernelSums:
    """What one kernel needs of the rows: features, and leverages of a random part of the rows."""

    kernel: Kernel
    mapped: FeatureMap  # along the principal axes of the random part
    centre: Values  # (r,): mean of the features on the random part
    leverages: Matrix  # (r, ridges): shrinkage / eigenvalue, squares of the features times this are leverages
    freedoms: tuple[float, ...]
    single: bool = False

    @classmethod
    def of(cls, kernel: Kernel, landmarks: Matrix, pilot: Matrix, ridges: RidgeGrid) -> KernelSums | None:
        """From landmarks and a random part of the rows; None where the kernel tells no rows apart."""
        mapped = FeatureMap.of(kernel, landmarks)
        phi = mapped.features(Pairs(pilot, landmarks))
        centre = phi.mean(axis=0)
        phi -= centre
        w, axes = np.linalg.eigh(phi.T @ phi)
        keep = w > _RANK * max(w[-1], 0.0)
        freedoms, shrinkages = ridges.grid(w[keep], len(pilot))
        if not freedoms:
            return None
        leverages = np.stack([s / w[keep] for s in shrinkages], axis=1)
        double = cls(kernel, mapped.rotated(axes[:, keep]), centre @ axes[:, keep], leverages, tuple(freedoms))
        single = replace(double, single=True)
        return single if _nearly_the_same(single, double, Distances.of(pilot, landmarks)) else double

    def features(self, distances: Distances) -> NDArray[Any]:
        """Centred features along the principal axes: (rows, r)."""
        phi = self.mapped.features(distances.single if self.single else distances.double)
        phi -= self.centre.astype(phi.dtype)
        return phi

    def tallied(self, piece: Piece, distances: Distances) -> tuple[Sums, Matrix]:
        """Sums over some rows, and contrasts of their leverages."""
        phi = self.features(distances)
        leverages = (phi * phi) @ self.leverages.astype(phi.dtype)
        return Sums.of(with_one(phi), piece), piece.contrast(piece.weighted(leverages))


def _nearly_the_same(single: KernelSums, double: KernelSums, distances: Distances) -> bool:
    """Whether single precision leaves every feature what it is, up to a hundredth of its standard deviation."""
    sizes = np.ravel(getattr(double.kernel, "bandwidth", 0.0))
    if not isinstance(double.kernel, Radial) or sizes.min() < 1 / _LARGEST or sizes.max() > _LARGEST:
        return False
    exact = double.features(distances)
    error = single.features(distances) - exact
    return bool(((error**2).mean(axis=0) <= _SINGLE_ERROR**2 * exact.var(axis=0)).all())


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """What the families of columns need of the rows: ranks, scales and energy features of a random part of the rows."""

    ranks: RankTable
    middle: Values
    spreads: Values
    energy: FeatureMap

    @classmethod
    def of(cls, landmarks: Matrix, pilot: Matrix, shares: Shares = None) -> ColumnSums:
        """From landmarks and a random part of the rows."""
        energy = FeatureMap.of(Energy.at(pilot, shares), landmarks)
        ranks = RankTable.of(RankMap.of(pilot, shares))
        return cls(ranks, np.median(pilot, axis=0), column_spreads(pilot, shares), energy)

    def tallied(self, piece: Piece, distances: Distances) -> Tally:
        """Sums over some rows."""
        looked_up = self.ranks.looked_up(piece.z)  # (rows, d, DEGREES + 1)
        tally = Tally(linear=Sums.of(with_one((piece.z - self.middle) / self.spreads), piece))
        tally["scores"] = Sums.of(with_one(looked_up[:, :, DEGREES]), piece)
        tally["columns"] = piece.contrast(piece.weighted(looked_up.reshape(len(piece.z), -1)))
        tally["energy"] = piece.contrast(piece.weighted(self.energy.features(distances.double)))
        if number_of_pairs(len(self.spreads), piece.entries.shape[1]):
            tally["pairs"] = piece.contrast_of_pairs(np.ascontiguousarray(looked_up[:, :, 0] * self.ranks.weight))
        return tally

    def spoken(self, tally: Tally, rows: int) -> list[tuple[tuple[Row, ...], Matrix]]:
        """Rows of statistics from the sums over all rows."""
        d = len(self.spreads)
        energy = Row("linear", self.energy.kernel, detail="energy distance")
        spoken = [
            linear_rows(tally["linear"], "columns", rows),
            linear_rows(tally["scores"], "columns' normal scores", rows),
            ((energy,), (tally["energy"] ** 2).sum(axis=0)[None]),
            (column_row_names(d), np.concatenate(column_rows(self._by_degree(tally["columns"]), d))),
        ]
        if "pairs" in tally:
            of_pairs = pair_statistics(tally["pairs"], float(np.sqrt(tally["square"][0])))
            spoken.append((pair_row_names(len(self.spreads)), of_pairs))
        return spoken

    def _by_degree(self, looked_up: Matrix) -> Matrix:
        """Contrasts of polynomials by column -> by degree and then by column."""
        d = len(self.spreads)
        return looked_up.reshape(d, DEGREES + 1, -1)[:, :DEGREES].transpose(1, 0, 2).reshape(DEGREES * d, -1)


@dataclass(frozen=True, eq=False)
class InFolds:
    """Everything that was chosen without labels, and the rows to pass over."""

    rows: PooledRows
    exchange: Exchange
    ridges: RidgeGrid
    fold: NDArray[np.uint8]  # (N,)
    order: Ids  # rows fold by fold, those of a unit together, units in random order
    landmarks: Matrix
    kernels: tuple[KernelSums, ...]
    columns: ColumnSums | None
    chunk: int  # rows that are looked at together
    words: str

    @cached_property
    def unweighted(self) -> bool:
        return bool((self.exchange.weights == 1).all())

    @classmethod
    def of(
        cls,
        rows: PooledRows,
        pilot: Matrix,
        kernels: Sequence[Kernel],
        ridges: RidgeGrid,
        families: Collection[str],
        exchange: Exchange,
        rng: np.random.Generator,
        rank: int,
        chunk: int,
    ) -> InFolds:
        """Choose landmarks, scales and folds from a random part of the rows."""
        landmarks = pilot[pivots(kernels[len(kernels) // 8], pilot, rank, rng)]
        found = side_by_side(lambda k: KernelSums.of(k, landmarks, pilot, ridges), kernels, "features of the kernels")
        of_kernels = [k for k in found if k is not None] if set(families) & set(OF_KERNELS) else []
        of_columns = ColumnSums.of(landmarks, pilot, rows.shares) if set(families) - set(OF_KERNELS) else None
        # whatever is relabelled together stays in one fold, and a place does not tell which sample a row is from
        fold = (rng.permutation(int(exchange.together.max()) + 1) % FOLDS).astype(np.uint8)[exchange.together]
        place = rng.permutation(len(exchange.sample))[exchange.unit_of_row]
        order = np.argsort(place + len(exchange.sample) * fold.astype(np.intp), kind="stable")
        captured = captured_words(len(landmarks), [k.mapped.captured(pilot[:200]) for k in of_kernels] or [1.0])
        words = f"{FOLDS} folds in one pass, {captured}"
        return cls(rows, exchange, ridges, fold, order, landmarks, tuple(of_kernels), of_columns, chunk, words)

    def heard(self, relabellings: Relabellings, families: Collection[str], stop_after: int | None) -> Hearing | None:
        """The verdict of the given families. One pass serves all relabellings, so there is no stopping early."""
        if not self.kernels and self.columns is None:
            return None
        tally = self.passed(relabellings)
        spoken = side_by_side(lambda i: self._spoken(i, tally), range(len(self.kernels)), "statistics of the kernels")
        if self.columns is not None:
            spoken += self.columns.spoken(tally, len(self.rows))
        rows = tuple(row for names, _ in spoken for row in names)
        hearing = concluded(rows, np.concatenate([values for _, values in spoken]), families)
        return replace(hearing, learned=self._loudest(hearing, tally))

    def passed(self, relabellings: Relabellings) -> Tally:
        """Sums over all rows, piece by piece."""
        return added_up(
            lambda part: self._tallied(self._piece(part, relabellings)), self._parts(), "one pass over the rows"
        )

    def _parts(self) -> list[Ids]:
        """Rows of one fold that are looked at together, unit by unit."""
        ends = np.cumsum(np.bincount(self.fold, minlength=FOLDS))
        cuts = [range(end - size, end, self.chunk) for end, size in zip(ends, np.diff(ends, prepend=0), strict=True)]
        starts = [start for part in cuts for start in part]
        return [self.order[a:b] for a, b in pairwise([*starts, len(self.rows)])]

    def _piece(self, part: Ids, relabellings: Relabellings) -> Piece:
        unit = self.exchange.unit_of_row[part]
        starts = np.flatnonzero(np.diff(unit, prepend=-1))
        weights = None if self.unweighted else self.exchange.weights[part]
        return Piece(int(self.fold[part[0]]), self.rows.take(part), weights, starts, relabellings.entries(unit[starts]))

    def _tallied(self, piece: Piece) -> Tally:
        distances = Distances.of(piece.z, self.landmarks)
        weights = np.ones(len(piece.z)) if piece.weights is None else piece.weights
        tally = Tally(square=piece.by_unit(weights[:, None])[:, 0] @ piece.entries**2)
        if self.columns is not None:
            tally += self.columns.tallied(piece, distances)
        for i, kernel in enumerate(self.kernels):
            tally["kernel", i, piece.fold], tally["leverage", i] = kernel.tallied(piece, distances)
        return tally

    def _spoken(self, index: int, tally: Tally) -> tuple[tuple[Row, ...], Matrix]:
        """Everything that one kernel says."""
        kernel, n = self.kernels[index], len(self.rows)
        solved = self._solved(index, tally)
        left = [solved.judged(ridge, tally["square"], n) for ridge in solved.ridges]
        quadratic = quadratic_rows(solved.values, solved.shrinkages, solved.projected)
        pooled = np.abs(kernel.centre @ solved.contrast)
        names = kernel_row_names(kernel.kernel, solved.freedoms, kernel.freedoms)
        return names, np.concatenate([left, quadratic, pooled[None], np.abs(tally["leverage", index])])

    def _solved(self, index: int, tally: Tally, first: bool = False) -> Solved:
        """Of one kernel, for all labellings or for the first alone."""
        found = (tally.get(("kernel", index, f)) for f in range(FOLDS))
        sums = [s.of_first() if first else s for s in found if s is not None]
        return Solved.of(sums, self.ridges, len(self.rows))

    def _loudest(self, hearing: Hearing, tally: Tally) -> dict[int, LandmarkWitness] | None:
        """The loudest left-out witness of the observed labelling, learned without each fold."""
        if not self.kernels or "left out" not in hearing.family_pvalues:
            return None
        loudest = hearing.rows[hearing.loudest("left out")[0]]
        index = next(i for i, k in enumerate(self.kernels) if k.kernel == loudest.kernel)
        solved = self._solved(index, tally, first=True)
        ridge = solved.ridges[solved.freedoms.index(loudest.freedom)] if loudest.freedom in solved.freedoms else 1.0
        folds = [f for f in range(FOLDS) if ("kernel", index, f) in tally]
        return {f: self._witness(index, solved, w) for f, w in zip(folds, solved.witnesses(ridge), strict=True)}

    def best_witness(self, relabellings: Relabellings) -> LandmarkWitness | None:
        """Of the first labelling, the kernel and ridge that were loudest on folds left out, learned from all rows."""
        tally, rows = self.passed(relabellings), len(self.rows)
        solved = [self._solved(index, tally, first=True) for index in range(len(self.kernels))]
        square = tally["square"][:1]
        loud = [(s.judged(r, square, rows)[0], i, r) for i, s in enumerate(solved) for r in s.ridges]
        if not loud:
            return None
        _, index, ridge = max(loud)
        return self._witness(index, solved[index], solved[index].whole_witness(ridge))

    def _witness(self, index: int, solved: Solved, coefficients: Matrix) -> LandmarkWitness:
        """From coefficients of the features around their mean."""
        kernel, w = self.kernels[index], coefficients[:, 0]
        offset = float((kernel.centre + solved.mean) @ w)
        return LandmarkWitness(kernel.kernel, self.landmarks, kernel.mapped.whitening @ w, offset)

    def evidence(self, hearing: Hearing, relabellings: Relabellings) -> Values | None:
        """Witness value of every row, learned without its fold: a second pass, for the loudest witness only."""
        if hearing.learned is None:
            return None
        values, parts = np.empty(len(self.rows)), self._parts()

        def said(part: Ids) -> Values:
            witness: LandmarkWitness = hearing.learned[int(self.fold[part[0]])]
            return witness.values(self.rows.take(part))

        for part, found in zip(parts, in_turn(said, parts, "evaluating the loudest witness"), strict=True):
            values[part] = found
        return values


@dataclass(frozen=True, eq=False)
class LandmarkWitness:
    """``sum_i coefficients_i k(landmark_i, z) - offset``."""

    kernel: Kernel
    landmarks: Matrix
    coefficients: Values
    offset: float

    def values(self, z: FloatArray) -> Values:
        """One for each row."""
        k = kernel_matrix(self.kernel, Pairs(z, self.landmarks))
        return np.asarray(k @ self.coefficients - self.offset)


def linear_rows(sums: Sums, name: str, rows: int) -> tuple[tuple[Row, ...], Matrix]:
    """Ridge discriminants of features, and their plain mean difference, from their sums."""
    solved = Solved.of([sums], LINEAR_FREEDOMS, rows)
    rank = len(solved.values)
    freedoms, shrinkages = [*solved.freedoms, float(rank)], [*solved.shrinkages, np.ones(rank)]
    return linear_row_names(name, freedoms), quadratic_rows(solved.values, shrinkages, solved.projected)
