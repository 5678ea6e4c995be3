"""The test without a split in one pass over any number of rows: K folds in place of single rows left out.

Few features of each kernel (:mod:`tellapart.landmarks`, from a random part of the rows) turn everything into
sums over rows. For fold f and labelling b the pass adds up the scatter ``S_f`` of the features, which does not know
labels, and their contrast ``d_fb``. The witness of labelling b learned without fold f, judged on fold f, then needs
no row:

    w_fb = (S_{-f} + ridge)^-1 d_{-f,b}            S_{-f}, d_{-f,b}: sums over all other folds
    mean and mean square of e                      sum_f w_fb' d_fb,   sum_f w_fb' S_f w_fb  (times that of the labels)

The Fisher discriminants, mean discrepancies, pooled potentials, linear discriminants and column statistics are
functions of the same sums, and leverages are those of the random part. Folds, landmarks, scales and leverages are
chosen without labels, so every labelling is treated alike and the p-value is exact. The sums add: chunks, files and
machines merge with +.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray
from tellapart._progress import progress
from tellapart._threads import side_by_side
from tellapart.inference.columns import RankMap, column_rows, pair_features
from tellapart.inference.exchange import Exchange, Relabellings
from tellapart.inference.leave_one_out import RidgeGrid, quadratic_rows, signal_to_noise
from tellapart.inference.voices import (
    LINEAR_FREEDOMS,
    MOST_COLUMNS_PAIRED,
    Row,
    column_row_names,
    kernel_row_names,
    linear_row_names,
)
from tellapart.inference.whole_sample import OF_KERNELS, Hearing, concluded
from tellapart.kernels import Energy, Kernel
from tellapart.landmarks import FeatureMap, captured_words, pivots
from tellapart.pairs import Pairs, column_spreads

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]

FOLDS = 5
_RANK = 1e-12


@dataclass(frozen=True, eq=False)
class PooledRows:
    """Rows of all samples, one after the other or in another order, without a copy of them all."""

    parts: tuple[FloatArray, ...]
    order: Ids | None = None  # which row stands where

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def take(self, rows: Ids) -> Matrix:
        """Some rows, in float64."""
        rows = rows if self.order is None else self.order[rows]
        taken = np.empty((len(rows), self.parts[0].shape[1]))
        start = 0
        for part in self.parts:
            mine = (rows >= start) & (rows < start + len(part))
            taken[mine] = part[rows[mine] - start]
            start += len(part)
        return taken


class Tally(dict[Any, Any]):
    """Sums by name: adding a name that is there already adds up, so tallies of chunks, files and machines merge."""

    def add(self, name: Any, value: Any) -> None:
        self[name] = self[name] + value if name in self else value

    def __add__(self, other: Tally) -> Tally:
        merged = Tally(self)
        for name, value in other.items():
            merged.add(name, value)
        return merged


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows of one fold: weight, features, their scatter, and their contrasts; ``+`` merges them."""

    weight: float
    total: Values  # (r,)
    scatter: Matrix  # (r, r)
    contrast: Matrix  # (r, columns)
    labels: Values  # (columns,): sum of the entries themselves, which is zero over all folds

    @classmethod
    def of(cls, features: Matrix, root: Values, y: Matrix) -> Sums:
        """Of some rows; `root` are the square roots of their weights."""
        scaled = features * root[:, None]
        return cls(float(root @ root), root @ scaled, scaled.T @ scaled, scaled.T @ y, root @ y)

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.weight + other.weight,
            self.total + other.total,
            self.scatter + other.scatter,
            self.contrast + other.contrast,
            self.labels + other.labels,
        )

    def centred(self, mean: Values) -> tuple[Matrix, Matrix]:
        """Scatter and contrasts around a mean."""
        cross = np.outer(self.total, mean)
        scatter = self.scatter - cross - cross.T + self.weight * np.outer(mean, mean)
        return scatter, self.contrast - np.outer(mean, self.labels)


@dataclass(frozen=True, eq=False)
class KernelSums:
    """What one kernel needs of the rows: features, and leverages of a random part of the rows."""

    kernel: Kernel
    mapped: FeatureMap  # along the principal axes of the random part
    centre: Values  # (r,): mean of the features on the random part
    leverages: Matrix  # (r, ridges): shrinkage / eigenvalue, squares of the features times this are leverages
    freedoms: tuple[float, ...]

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
        return cls(kernel, mapped.rotated(axes[:, keep]), centre @ axes[:, keep], leverages, tuple(freedoms))

    def features(self, pairs: Pairs) -> Matrix:
        """Centred features along the principal axes: (rows, r)."""
        phi = self.mapped.features(pairs)
        phi -= self.centre
        return phi


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """What the families of columns need of the rows: ranks, scales and energy features of a random part of the rows."""

    ranks: RankMap
    spreads: Values
    energy: FeatureMap

    @classmethod
    def of(cls, landmarks: Matrix, pilot: Matrix) -> ColumnSums:
        """From landmarks and a random part of the rows."""
        return cls(RankMap.of(pilot), column_spreads(pilot), FeatureMap.of(Energy.at(pilot), landmarks))

    def tallied(self, z: Matrix, root: Values, y: Matrix, pairs: Pairs) -> Tally:
        """Sums over some rows."""
        scaled_y = y * root[:, None]
        polynomials = self.ranks.polynomials(z)
        tally = Tally(columns=polynomials.T @ scaled_y, energy=self.energy.features(pairs).T @ scaled_y)
        tally["linear"] = Sums.of(z / self.spreads, root, y)
        tally["scores"] = Sums.of(self.ranks.normal_scores(z), root, y)
        if 1 < z.shape[1] <= MOST_COLUMNS_PAIRED:
            tally["pairs"] = pair_features(polynomials[:, : z.shape[1]]).T @ scaled_y
        return tally

    def spoken(self, tally: Tally, rows: int) -> list[tuple[tuple[Row, ...], Matrix]]:
        """Rows of statistics from the sums over all rows."""
        d = len(self.spreads)
        energy = Row("linear", self.energy.kernel, detail="energy distance")
        spoken = [
            linear_rows(tally["linear"], "columns", rows),
            linear_rows(tally["scores"], "columns' normal scores", rows),
            ((energy,), (tally["energy"] ** 2).sum(axis=0)[None]),
            (column_row_names(d), np.concatenate(column_rows(tally["columns"], d))),
        ]
        if "pairs" in tally:
            pairs = Row("pairs of columns", detail="all pairs")
            spoken.append(((pairs,), (tally["pairs"] ** 2).sum(axis=0)[None]))
        return spoken


@dataclass(frozen=True, eq=False)
class InFolds:
    """Everything that was chosen without labels, and the rows to pass over."""

    rows: PooledRows
    exchange: Exchange
    ridges: RidgeGrid
    fold: NDArray[np.uint8]  # (N,)
    landmarks: Matrix
    kernels: tuple[KernelSums, ...]
    columns: ColumnSums | None
    chunk: int  # rows that are looked at together
    words: str

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
        of_columns = ColumnSums.of(landmarks, pilot) if set(families) - set(OF_KERNELS) else None
        together = exchange.together
        fold = (rng.permutation(int(together.max()) + 1) % FOLDS).astype(np.uint8)[together]
        captured = captured_words(len(landmarks), [k.mapped.captured(pilot[:200]) for k in of_kernels] or [1.0])
        words = f"{FOLDS} folds in one pass, {captured}"
        return cls(rows, exchange, ridges, fold, landmarks, tuple(of_kernels), of_columns, chunk, words)

    def heard(self, relabellings: Relabellings, families: Collection[str], stop_after: int | None) -> Hearing | None:
        """The verdict of the given families. One pass serves all relabellings, so there is no stopping early."""
        if not self.kernels and self.columns is None:
            return None
        tally = self.passed(relabellings)
        spoken = side_by_side(lambda i: self._spoken(i, tally), range(len(self.kernels)), "statistics of the kernels")
        if self.columns is not None:
            spoken += self.columns.spoken(tally, len(self.rows))
        rows = tuple(row for names, _ in spoken for row in names)
        return concluded(rows, np.concatenate([values for _, values in spoken]), families)

    def passed(self, relabellings: Relabellings) -> Tally:
        """Sums over all rows, fold by fold and chunk by chunk."""
        tally = Tally()
        for fold, part in progress(self._chunks(), "one pass over the rows"):
            tally += self._tallied(fold, part, relabellings.contrast(part))
        return tally

    def _chunks(self) -> list[tuple[int, Ids]]:
        members = [np.flatnonzero(self.fold == f) for f in range(FOLDS)]
        return [(f, m[i : i + self.chunk]) for f, m in enumerate(members) for i in range(0, len(m), self.chunk)]

    def _tallied(self, fold: int, part: Ids, y: Matrix) -> Tally:
        z, root = self.rows.take(part), np.sqrt(self.exchange.weights[part])
        pairs = Pairs(z, self.landmarks)
        tally = Tally(square=np.einsum("ij,ij->j", y, y))
        if self.columns is not None:
            tally += self.columns.tallied(z, root, y, pairs)

        def of_kernel(kernel: KernelSums) -> tuple[Sums, Matrix]:
            phi = kernel.features(pairs)
            return Sums.of(phi, root, y), ((phi * phi) @ kernel.leverages * root[:, None]).T @ y

        for i, (sums, leverages) in enumerate(side_by_side(of_kernel, self.kernels, "kernels of a chunk")):
            tally.add(("kernel", i, fold), sums)
            tally.add(("leverage", i), leverages)
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

    def _solved(self, index: int, tally: Tally) -> Solved:
        found = (tally.get(("kernel", index, f)) for f in range(FOLDS))
        return Solved.of([sums for sums in found if sums is not None], self.ridges, len(self.rows))

    def evidence(self, hearing: Hearing, relabellings: Relabellings) -> Values | None:
        """Witness value of every row, learned without its fold: a second pass, for the loudest witness only."""
        if not self.kernels or "left out" not in hearing.family_pvalues:
            return None
        loudest = hearing.rows[hearing.loudest("left out")[0]]
        index = next(i for i, k in enumerate(self.kernels) if k.kernel == loudest.kernel)
        kernel, observed = self.kernels[index], slice(0, 1)
        folds: dict[int, Sums] = {}
        for fold, part in progress(self._chunks(), "learning the loudest witness"):
            phi = kernel.features(Pairs(self.rows.take(part), self.landmarks))
            sums = Sums.of(phi, np.sqrt(self.exchange.weights[part]), relabellings.contrast(part, observed))
            folds[fold] = folds[fold] + sums if fold in folds else sums
        solved = Solved.of(list(folds.values()), self.ridges, len(self.rows))
        ridge = solved.ridges[solved.freedoms.index(loudest.freedom)] if loudest.freedom in solved.freedoms else 1.0
        witness = dict(zip(folds, solved.witnesses(ridge), strict=True))
        values = np.empty(len(self.rows))
        for fold, part in progress(self._chunks(), "evaluating the loudest witness"):
            phi = kernel.features(Pairs(self.rows.take(part), self.landmarks)) - solved.mean
            values[part] = phi @ witness[fold][:, 0]
        return values


@dataclass(frozen=True, eq=False)
class Solved:
    """One kernel's sums, centred: the principal axes of all rows, and the parts of the folds."""

    mean: Values
    values: Values
    projected: Matrix  # contrasts along the principal axes: (r, columns)
    freedoms: list[float]
    shrinkages: list[Values]
    scatters: list[Matrix]
    contrasts: list[Matrix]
    shares: list[float]  # of each fold in the weight

    @classmethod
    def of(cls, folds: Sequence[Sums], ridges: RidgeGrid, rows: int) -> Solved:
        """From the sums of the folds."""
        weight = sum(f.weight for f in folds)
        mean = np.sum([f.total for f in folds], axis=0) / weight
        centred = [f.centred(mean) for f in folds]
        scatters, contrasts = [s for s, _ in centred], [c for _, c in centred]
        w, axes = np.linalg.eigh(np.sum(scatters, axis=0))
        keep = w > _RANK * max(w[-1], 0.0)
        projected = axes[:, keep].T @ np.sum(contrasts, axis=0) / np.sqrt(w[keep])[:, None]
        freedoms, shrinkages = ridges.grid(w[keep], rows)
        return cls(
            mean, w[keep], projected, freedoms, shrinkages, scatters, contrasts, [f.weight / weight for f in folds]
        )

    @property
    def ridges(self) -> list[float]:
        return [float(self.values[-1] * (1 - s[-1]) / s[-1]) for s in self.shrinkages]

    @property
    def contrast(self) -> Matrix:
        return np.asarray(np.sum(self.contrasts, axis=0))

    def witnesses(self, ridge: float) -> list[Matrix]:
        """Coefficients learned without each fold, for every labelling: (r, columns) each."""
        whole, contrast = np.sum(self.scatters, axis=0), self.contrast
        return [
            np.linalg.solve(whole - s + ridge * (1 - share) * np.eye(len(s)), contrast - c)
            for s, c, share in zip(self.scatters, self.contrasts, self.shares, strict=True)
        ]

    def judged(self, ridge: float, square: Values, rows: int) -> Values:
        """Signal-to-noise ratio on the folds that did not learn: (columns,)."""
        parts = list(zip(self.witnesses(ridge), self.scatters, self.contrasts, strict=True))
        signal = np.sum([np.einsum("ij,ij->j", w, c) for w, _, c in parts], axis=0)
        noise = np.sum([np.einsum("ij,ij->j", w, s @ w) for w, s, _ in parts], axis=0)
        return signal_to_noise(signal / rows, noise * square / rows**2)


def linear_rows(sums: Sums, name: str, rows: int) -> tuple[tuple[Row, ...], Matrix]:
    """Ridge discriminants of features, and their plain mean difference, from their sums."""
    solved = Solved.of([sums], LINEAR_FREEDOMS, rows)
    rank = len(solved.values)
    freedoms, shrinkages = [*solved.freedoms, float(rank)], [*solved.shrinkages, np.ones(rank)]
    return linear_row_names(name, freedoms), quadratic_rows(solved.values, shrinkages, solved.projected)
