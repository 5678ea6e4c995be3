"""What speaks in the test without a split: sources of statistics, each a row of values over the relabellings.

A voice is prepared once from the pooled rows, without labels. Then ``values(y)`` gives its statistics for any contrasts
``y``, one row for each entry of ``rows``; every column of `y` is treated alike. The families:

- *left out*: signal-to-noise of the witness learned from all rows but one, at that row. Loud where the difference is
  local; any kernel and ridge may be the right one.
- *kernel*: the kernel Fisher discriminant's statistic, and the squared maximum mean discrepancy. A little louder
  where the difference is smooth.
- *linear*: discriminants of the columns and of their normal scores, and the energy distance. Loudest on plain shifts.
- *potential*: means of functions that never saw a label, the pooled potential and the leverages, two-sided. They see
  changes of scale and covariance in many columns.
- *single columns*, *all columns*, *single pairs*, *pairs of columns*: ranks within columns, see
  :mod:`tellapart.inference.columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import chunks
from tellapart.inference.columns import (
    UP_TO,
    RankMap,
    column_rows,
    pair_kernel,
    quadratic_form,
)
from tellapart.inference.leave_one_out import (
    DegreesOfFreedom,
    LeftOut,
    RidgeGrid,
    Spectrum,
    leave_one_out_rows,
    potential_rows,
    quadratic_rows,
    without_rounding,
)
from tellapart.kernels import Energy, Kernel, kernel_matrix
from tellapart.pairs import Pairs, Shares, column_spreads

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

LINEAR_FREEDOMS = DegreesOfFreedom((1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0))
_MOST_COLUMNS_PAIRED = 100  # explicit products of two columns; beyond, only their sum by a kernel matrix
_MOST_PAIRED = 13_000_000  # pairs times labellings in one pass, where each thread has sums of its own


@dataclass(frozen=True)
class Row:
    """One statistic: its family, and what it is made of: a kernel and degrees of freedom, or columns."""

    family: str
    kernel: Kernel | None = None
    freedom: float | None = None
    column: int | None = None
    detail: str = ""
    partner: int | None = None  # the other column of a pair


class Voice(Protocol):
    """A source of statistics."""

    @property
    def rows(self) -> tuple[Row, ...]: ...

    def values(self, y: Matrix) -> Matrix:
        """One row of statistics for each of `rows`: (rows, columns of y)."""
        ...


@dataclass(frozen=True, eq=False)
class KernelVoice:
    """Everything that one kernel says, for a grid of ridges."""

    kernel: Kernel
    spectrum: Spectrum
    potentials: Matrix  # (1 + ridges, N): mean of the kernel at every row, and leverages; around their means
    freedoms: tuple[float, ...]
    shrinkages: tuple[Values, ...]
    leverages: Matrix  # (ridges, N)
    left_out: LeftOut

    @classmethod
    def of(
        cls, kernel: Kernel, spectrum: Spectrum, potential: Values, ridges: RidgeGrid, left_out: LeftOut
    ) -> KernelVoice | None:
        """None where the kernel tells no rows apart."""
        freedoms, shrinkages = ridges.grid(spectrum.values, len(potential))
        if not freedoms:
            return None
        root = spectrum.base * np.sqrt(len(potential))
        leverages = spectrum.leverages(shrinkages)
        functions = without_rounding(np.concatenate([potential[None], leverages]), root**2)
        return cls(kernel, spectrum, functions * root, tuple(freedoms), tuple(shrinkages), leverages, left_out)

    @property
    def rows(self) -> tuple[Row, ...]:
        return kernel_row_names(self.kernel, self.freedoms)

    def values(self, y: Matrix) -> Matrix:
        projected = self.spectrum.vectors.T @ y
        left = leave_one_out_rows(self.spectrum, self.shrinkages, y, self.left_out, self.leverages, projected)
        quadratic = quadratic_rows(self.spectrum.values, self.shrinkages, projected)
        return np.concatenate([left, quadratic, potential_rows(self.potentials, y)])


def kernel_row_names(
    kernel: Kernel, freedoms: Sequence[float], of_potentials: Sequence[float] | None = None
) -> tuple[Row, ...]:
    """What one kernel says, in order: left out, kernel (Fisher discriminants, then the mean), potential."""
    return (
        *(Row("left out", kernel, f) for f in freedoms),
        *(Row("kernel", kernel, f, detail="Fisher discriminant") for f in freedoms),
        Row("kernel", kernel, detail="mean discrepancy"),
        Row("potential", kernel),
        *(Row("potential", kernel, f) for f in (freedoms if of_potentials is None else of_potentials)),
    )


def linear_row_names(name: str, freedoms: Sequence[float]) -> tuple[Row, ...]:
    """Discriminants of features, then their means."""
    discriminants = (Row("linear", None, f, detail=f"discriminant of the {name}") for f in freedoms)
    return (*discriminants, Row("linear", detail=f"means of the {name}"))


@dataclass(frozen=True, eq=False)
class LinearVoice:
    """Ridge discriminants of features, and their plain mean difference."""

    spectrum: Spectrum
    freedoms: tuple[float, ...]
    shrinkages: tuple[Values, ...]
    name: str

    @classmethod
    def of(cls, features: Matrix, weights: Values | None, name: str) -> LinearVoice | None:
        """None where all features are constant."""
        spectrum = Spectrum.of_features(features, weights)
        rank = len(spectrum.values)
        if rank == 0:
            return None
        usable, shrinkages = LINEAR_FREEDOMS.grid(spectrum.values, len(features))
        if rank < len(features) / 3:
            usable, shrinkages = [*usable, float(rank)], [*shrinkages, np.ones(rank)]  # Hotelling's statistic
        return cls(spectrum, tuple(usable), tuple(shrinkages), name)

    @property
    def rows(self) -> tuple[Row, ...]:
        return linear_row_names(self.name, self.freedoms)

    def values(self, y: Matrix) -> Matrix:
        return quadratic_rows(self.spectrum.values, self.shrinkages, self.spectrum.vectors.T @ y)


@dataclass(frozen=True, eq=False)
class FormVoice:
    """``y' K y`` of one kernel matrix that is computed in blocks and never stored."""

    row: Row
    kernel: Any  # (rows a, rows b) -> matrix
    table: Matrix  # (N, q)
    root_weights: Values | None

    @property
    def rows(self) -> tuple[Row, ...]:
        return (self.row,)

    def values(self, y: Matrix) -> Matrix:
        scaled = y if self.root_weights is None else y * self.root_weights[:, None]
        return quadratic_form(lambda part: self.kernel(self.table[part], self.table), scaled)[None]


@dataclass(frozen=True, eq=False)
class ColumnVoice:
    """Single columns and all columns, from the polynomials of their ranks."""

    features: Matrix  # (N, DEGREES * d)
    d: int

    @property
    def rows(self) -> tuple[Row, ...]:
        return column_row_names(self.d)

    def values(self, y: Matrix) -> Matrix:
        return np.concatenate(column_rows(self.features.T @ y, self.d))


def column_row_names(d: int) -> tuple[Row, ...]:
    """Rows of single columns, degree by degree, then of all columns."""
    single = (Row("single columns", column=j, detail=f"degrees up to {q}") for q in UP_TO for j in range(d))
    return (*single, *(Row("all columns", detail=f"degrees up to {q}") for q in UP_TO))


def column_voices(z: Matrix, weights: Values | None, shares: Shares = None) -> list[Voice]:
    """Everything that is said of columns: by single ones, all, pairs, linear discriminants, and the energy distance."""
    d = z.shape[1]
    ranks = RankMap.of(z, shares)
    root = None if weights is None else np.sqrt(weights)
    polynomials = ranks.polynomials(z)
    first = ranks.linear(polynomials)
    if weights is not None and root is not None:
        polynomials = (polynomials - weights @ polynomials / len(z)) * root[:, None]
    spreads = column_spreads(z, shares)
    linear = [
        LinearVoice.of(z / spreads, weights, "columns"),
        LinearVoice.of(ranks.normal_scores(z), weights, "columns' normal scores"),
    ]
    energy = Energy.at(z, shares)
    voices: list[Voice] = [v for v in linear if v is not None]
    voices.append(FormVoice(Row("linear", energy, detail="energy distance"), energy, z, root))
    voices.append(ColumnVoice(polynomials, d))
    if d > 1:
        centred = first if weights is None else first - weights @ first / len(z)
        few = d <= _MOST_COLUMNS_PAIRED
        voices.append(PairVoice(centred, root) if few else FormVoice(_ALL_PAIRS, pair_kernel, centred, root))
    return voices


def number_of_pairs(d: int, labellings: int) -> int:
    """Pairs of columns that one pass over many rows compares: all of them, or none where they are too many.

    >>> number_of_pairs(1, 500), number_of_pairs(30, 500), number_of_pairs(101, 500), number_of_pairs(60, 10_000)
    (0, 435, 0, 0)
    """
    pairs = d * (d - 1) // 2
    return pairs if d <= _MOST_COLUMNS_PAIRED and pairs * labellings <= _MOST_PAIRED else 0


_ALL_PAIRS = Row("pairs of columns", detail="all pairs")
_ROUNDING = 1e-9


def pair_row_names(d: int) -> tuple[Row, ...]:
    """All pairs of columns together, then each by itself if there are several."""
    if d == 2:
        return (_ALL_PAIRS,)
    return (_ALL_PAIRS, *(Row("single pairs", column=i, partner=j) for i, j in combinations(range(d), 2)))


def pair_statistics(projected: Matrix, size: float) -> Matrix:
    """The rows of :func:`pair_row_names` from the products of all pairs, seen through labellings of norm `size`.

    The product of two columns that complement each other is constant, and what is left of it is rounding.
    """
    loudest = np.abs(projected).max(axis=1, keepdims=True, initial=0.0)
    projected = np.where(loudest > _ROUNDING * size, projected, 0.0)
    together = np.einsum("ij,ij->j", projected, projected)[None]
    return together if len(projected) == 1 else np.concatenate([together, np.abs(projected)])


@dataclass(frozen=True, eq=False)
class PairVoice:
    """Squares of the products of two columns: each, and their sum."""

    first_degree: Matrix  # (N, d)
    root_weights: Values | None

    @property
    def rows(self) -> tuple[Row, ...]:
        return pair_row_names(self.first_degree.shape[1])

    def values(self, y: Matrix) -> Matrix:
        scaled = y if self.root_weights is None else y * self.root_weights[:, None]
        i, j = np.triu_indices(self.first_degree.shape[1], 1)
        columns = np.ascontiguousarray(self.first_degree.T)
        parts = chunks(len(i), len(y), budget=2**21)
        projected = np.concatenate([(columns[i[part]] * columns[j[part]]) @ scaled for part in parts])
        return pair_statistics(projected, float(np.linalg.norm(scaled[:, 0])))


def exact_voice(
    kernel: Kernel, pairs: Pairs, weights: Values | None, ridges: RidgeGrid, left_out: LeftOut
) -> KernelVoice | None:
    """What a kernel says, from its whole matrix."""
    k = kernel_matrix(kernel, pairs)
    potential = k.mean(axis=0) if weights is None else weights @ k / len(k)
    return KernelVoice.of(kernel, Spectrum.of(k, weights), potential, ridges, left_out)
