"""The test that splits nothing: four families of statistics on all rows, one exact p-value.

For every kernel and every ridge of a grid there is one row of values over the same B + 1 relabellings:

- *left out*: signal-to-noise of the witness learned from all rows but one, at that row. Loud where the difference is
  local; any kernel and ridge may be the right one.
- *fitted*: the kernel Fisher discriminant's statistic. A little louder where the difference is smooth.
- *mean*: the squared maximum mean discrepancy. Loudest on plain shifts.
- *potential*: means of functions that never saw a label, the pooled potential and the leverages, two-sided. They see
  changes of scale and covariance in many columns.

Within a family the loudest row speaks (z-scores; Pearson III tails for the quadratic rows, which are skewed). Between
families the rank p-values are joined by their harmonic mean, and its own rank among the relabellings is the p-value.

Level: labels enter through the columns of Y only, and all columns are treated alike. Under exchangeability of the rows
the observed column is as likely as any other to have any rank, so ``P(p <= level) <= level`` at any number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._progress import progress
from tellapart.inference.combination import joined, pvalue_of_first, rank_pvalues, standard_scores, tail_scores
from tellapart.inference.leave_one_out import (
    Spectrum,
    leave_one_out_rows,
    left_out_values,
    potential_rows,
    quadratic_rows,
)
from tellapart.kernels import BandwidthGrid, Gaussian, Kernel, Laplace, as_kernel, kernel_matrix
from tellapart.pairs import Pairs
from tellapart.samples import Samples

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

FREEDOMS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
MOST_ROWS = 4000  # exact kernel matrices: 128 MB each, and their decomposition takes half a minute at this size
FAMILIES = ("left out", "fitted", "mean", "potential")


@dataclass(frozen=True)
class Row:
    """One statistic: its family, kernel and effective degrees of freedom (None where there is no ridge)."""

    family: str
    kernel: Kernel
    freedom: float | None


@dataclass(frozen=True, eq=False)
class Hearing:
    """What every statistic said about the observed labels."""

    statistic: float
    pvalue: float
    family_pvalues: dict[str, float]  # rank p-value of each family by itself; the joint one pays for the choice
    rows: tuple[Row, ...]
    scores: Values  # how loud each row was, on the scale of its family
    evidence: Values  # left-out witness value of each row of data, by the loudest left-out statistic

    def loudest(self, family: str) -> tuple[Row, float]:
        """The loudest statistic of a family, and its score."""
        best = max((s, i) for i, (r, s) in enumerate(zip(self.rows, self.scores, strict=True)) if r.family == family)
        return self.rows[best[1]], float(best[0])


def as_kernels(kernels: Any, rows: Values, rng: np.random.Generator) -> list[Kernel]:
    """The kernels for these pooled rows: of every grid its members, every bandwidth rule resolved."""
    if kernels is None:
        kernels = (BandwidthGrid(Gaussian(), count=5), BandwidthGrid(Laplace(), count=5))
    elif isinstance(kernels, BandwidthGrid | Kernel) or callable(kernels):
        kernels = (kernels,)
    if isinstance(kernels, str) or not isinstance(kernels, Iterable) or not (listed := list(kernels)):
        raise ValueError(
            f"`kernels` must be a kernel, a BandwidthGrid or a non-empty sequence of them, got {kernels!r}."
        )
    found: list[Kernel] = []
    for kernel in listed:
        grid = (
            kernel.kernels(rows, rng) if isinstance(kernel, BandwidthGrid) else [as_kernel(kernel).resolved(rows, rng)]
        )
        found += grid
    return found


def checked_freedoms(freedoms: Any) -> tuple[float, ...]:
    """Positive effective degrees of freedom."""
    if isinstance(freedoms, str) or not isinstance(freedoms, Iterable) or not (listed := list(freedoms)):
        raise ValueError(f"`freedoms` must be a non-empty sequence of positive numbers, got {freedoms!r}.")
    return tuple(checks.positive("freedoms", f) for f in listed)


def whole_rows(samples: Samples) -> Values:
    """The pooled rows in float64, if there are enough to judge and few enough for exact kernel matrices."""
    for name, size in (("x", samples.n), ("y", samples.m)):
        if size < 2:
            raise ValueError(f"`{name}` must have at least 2 rows, got {size}.")
    if samples.n + samples.m > MOST_ROWS:
        raise ValueError(
            f"`x` and `y` must have at most {MOST_ROWS} rows together, got {samples.n + samples.m}. Use witness_test, "
            "which takes more, or a random part of the rows."
        )
    return samples.pooled.astype(np.float64)


def heard(rows: Values, kernels: Sequence[Kernel], freedoms: Sequence[float], y: Matrix) -> Hearing | None:
    """All statistics on the pooled `rows` for the relabellings `y`; None if no kernel tells any rows apart."""
    pairs = Pairs(rows, rows)
    named: list[Row] = []
    values: list[Matrix] = []
    evidence: list[tuple[float, Values]] = []
    for kernel in progress(list(kernels), "statistics of all rows"):
        k = kernel_matrix(kernel, pairs)
        potential = k.mean(axis=0)
        spectrum = Spectrum.of(k)
        usable = [f for f in freedoms if f <= min(len(rows) / 2, 0.9 * len(spectrum.values))]
        if not usable:
            continue
        shrinkages = [spectrum.shrinkage(spectrum.ridge_for(f)) for f in usable]
        left_out = leave_one_out_rows(spectrum, shrinkages, y)
        functions = np.stack([potential, *(spectrum.leverage(s) for s in shrinkages)])
        values += [left_out, quadratic_rows(spectrum, shrinkages, y), potential_rows(functions, y)]
        named += [Row("left out", kernel, f) for f in usable] + [Row("fitted", kernel, f) for f in usable]
        named += [Row("mean", kernel, None), Row("potential", kernel, None)]
        named += [Row("potential", kernel, f) for f in usable]
        loudest = int(np.argmax(standard_scores(left_out)[:, 0]))
        score = float(standard_scores(left_out)[loudest, 0])
        evidence.append((score, left_out_values(spectrum, shrinkages[loudest], y[:, :1])[:, 0]))
    if not named:
        return None
    return _concluded(tuple(named), np.concatenate(values), max(evidence, key=lambda e: e[0])[1])


def _concluded(rows: tuple[Row, ...], values: Matrix, evidence: Values) -> Hearing:
    families = np.array([r.family for r in rows])
    scores = np.empty_like(values)
    for family in FAMILIES:
        mine = families == family
        scored = tail_scores if family in ("fitted", "mean") else standard_scores
        scores[mine] = scored(values[mine])
    loudest = np.stack([scores[families == family].max(axis=0) for family in FAMILIES])
    alone = {family: float(rank_pvalues(row)[0]) for family, row in zip(FAMILIES, loudest, strict=True)}
    together = joined(loudest)
    return Hearing(float(together[0]), pvalue_of_first(together), alone, rows, scores[:, 0], evidence)
