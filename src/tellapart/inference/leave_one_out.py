"""Statistics in which every row learns and every row judges, for many relabellings at once.

Kernel ridge regression of the centred labels with a free intercept is the Fisher discriminant of the pooled covariance,
and the pooled covariance does not know the labels. So with the eigenvectors U and eigenvalues w of the centred kernel
matrix, the shrinkage ``s = w / (w + ridge)`` and labels ``y`` that sum to zero:

    F = U diag(s) U' y                             fitted witness values
    H_ii = sum_k U_ik^2 s_k + 1/N                  leverage, the same for every relabelling
    F_{-i} = (F_i - H_ii y_i) / (1 - H_ii)         the witness learned from all rows but i, at row i: exact
    F_{-B} = y_B - (I - H_BB)^-1 (y_B - F_B)       the same for rows that must be left out together

The last lines are the usual identities for linear smoothers; `tests/inference/test_leave_one_out.py` compares them with
explicit refits. For a matrix Y of relabellings everything is one matrix product for each ridge.

Weights v (mean 1) make it weighted ridge regression: the features are centred by their weighted mean and multiplied by
``sqrt(v)``, as the labels are (:class:`tellapart.inference.exchange.Relabellings`), and 1/N becomes ``v_i / N``. The
values are then ``sqrt(v)`` times those of the witness.

Any statistic that is computed in the same way for every relabelling has an exact permutation p-value, whatever it
chooses, standardises or maximises on the way. Nothing here is therefore allowed to know which column of Y was observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]

_RANK = 1e-12  # eigenvalues below this share of the largest are rounding
_BISECTIONS = 45  # of twelve decades
_CACHED = 2**16  # numbers of a block of columns: it stays in the processor's cache while it is worked on
_NO_NOISE = 1e-12
_CERTAIN = 1e-9  # a row with a leverage this near to 1 decides alone about itself; without it there is no value


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvectors (N, r) and positive eigenvalues (r,) of a centred kernel matrix, and the share of the intercept.

    ``base`` is ``sqrt(v / N)`` for weights v of mean 1: the direction of the intercept.
    """

    vectors: Matrix
    values: Values
    base: Values  # (N,)

    @classmethod
    def of(cls, k: Matrix, weights: Values | None = None) -> Spectrum:
        """Centre a kernel matrix and decompose it; `k` is overwritten."""
        root = _root(len(k), weights)
        k -= (weights @ k / len(k)) if weights is not None else k.mean(axis=0)
        k -= ((k @ weights / len(k)) if weights is not None else k.mean(axis=1))[:, None]
        if weights is not None:
            k *= root[:, None]
            k *= root
        values, vectors = np.linalg.eigh(k)  # as SciPy's "evd", but other threads go on meanwhile
        keep = values > _RANK * max(values[-1], 0.0)
        return cls(vectors[:, keep], values[keep], root / np.sqrt(len(k)))

    @classmethod
    def of_features(cls, features: Matrix, weights: Values | None = None) -> Spectrum:
        """The same for the kernel ``features features'`` of few features; `features` is overwritten."""
        root = _root(len(features), weights)
        features -= features.mean(axis=0) if weights is None else weights @ features / len(features)
        if weights is not None:
            features *= root[:, None]
        values, rotation = np.linalg.eigh(features.T @ features)
        keep = values > _RANK * max(values[-1], 0.0)
        return cls(features @ (rotation[:, keep] / np.sqrt(values[keep])), values[keep], root / np.sqrt(len(features)))

    def shrinkage(self, ridge: float) -> Values:
        """``w / (w + ridge)``."""
        return self.values / (self.values + ridge)

    def leverage(self, s: Values) -> Values:
        """``H_ii``: how much row i decides about itself."""
        return np.asarray(self.leverages([s])[0])

    def leverages(self, shrinkages: Sequence[Values]) -> Matrix:
        """The same for each ridge: (ridges, N)."""
        return np.asarray(np.stack(shrinkages) @ (self.vectors**2).T + self.base**2)


def _root(n: int, weights: Values | None) -> Values:
    return np.ones(n) if weights is None else np.sqrt(weights)


def ridges_for(w: Values, freedoms: Sequence[float]) -> Values:
    """The ridges at which ``sum w / (w + ridge)``, the effective degrees of freedom, has these values.

    >>> ridges_for(np.array([1.0, 1.0]), [1.0]).round(6).tolist()
    [1.0]
    """
    wanted = np.asarray(freedoms, dtype=np.float64)
    if (wanted <= 0).any() or (wanted >= len(w)).any():
        raise ValueError(f"`freedoms` must lie between 0 and the rank {len(w)}, got {list(freedoms)}.")
    high = np.log(w.sum() / wanted)  # sum w / (w + ridge) <= sum w / ridge
    low = high + np.log(1e-12)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        too_many = (w / (w + np.exp(middle)[:, None])).sum(axis=1) > wanted
        low, high = np.where(too_many, middle, low), np.where(too_many, high, middle)
    return np.asarray(np.exp((low + high) / 2))


@dataclass(frozen=True)
class DegreesOfFreedom:
    """Ridges as the effective degrees of freedom of the witness: scale-free, and the same for every relabelling.

    A witness with f degrees of freedom is about as flexible as a regression on f features.

    Parameters
    ----------
    values : tuple of floats
        Those that so many rows cannot bear (more than half of the rows, or nine tenths of the rank of the kernel
        matrix) are left out; if none is left, half of the rank is taken.
    """

    values: tuple[float, ...] = (2.0, 8.0, 32.0, 128.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(checks.positives("values", self.values)))

    def grid(self, w: Values, rows: int) -> tuple[list[float], list[Values]]:
        """Degrees of freedom and shrinkages for these eigenvalues."""
        usable = [f for f in self.values if f <= min(rows / 2, 0.9 * len(w))]
        usable = usable or [0.5 * len(w)] * (len(w) > 0)  # a kernel of few distinct rows still tells them apart
        return usable, [w / (w + ridge) for ridge in ridges_for(w, usable)]


@dataclass(frozen=True)
class Ridges:
    """Ridges that are added to the pooled covariance of the features."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(checks.positives("ridges", self.values)))

    def grid(self, w: Values, rows: int) -> tuple[list[float], list[Values]]:
        """Degrees of freedom and shrinkages for these eigenvalues; nothing where all features are constant."""
        shrinkages = [w / (w + ridge * rows) for ridge in self.values] if len(w) else []
        return [float(s.sum()) for s in shrinkages], shrinkages


RidgeGrid = DegreesOfFreedom | Ridges


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Which rows are left out together: single rows, and groups of at least two."""

    groups: tuple[Ids, ...] = ()

    @classmethod
    def of(cls, together: Ids) -> LeftOut:
        """From one number for each row; rows with the same number go together."""
        order = np.argsort(together, kind="stable")
        cuts = np.flatnonzero(np.diff(together[order])) + 1
        return cls(tuple(group for group in np.split(order, cuts) if len(group) > 1))


def left_out_values(
    spectrum: Spectrum, s: Values, y: Matrix, projected: Matrix | None = None, left_out: LeftOut = LeftOut()
) -> Matrix:
    """``F_{-i}(z_i)`` for every row i and every column of `y`: (N, columns)."""
    projected = spectrum.vectors.T @ y if projected is None else projected
    h = spectrum.leverage(s)[:, None]
    fitted = spectrum.vectors @ (s[:, None] * projected)
    values = fitted - h * y
    values /= np.maximum(1 - h, _CERTAIN)
    for rows in left_out.groups:
        u = spectrum.vectors[rows]
        h_bb = (u * s) @ u.T + np.outer(spectrum.base[rows], spectrum.base[rows])
        rest = np.eye(len(rows)) * (1 + _CERTAIN) - h_bb
        values[rows] = y[rows] - np.linalg.solve(rest, y[rows] - fitted[rows])
    return values


def leave_one_out_rows(
    spectrum: Spectrum,
    shrinkages: Sequence[Values],
    y: Matrix,
    left_out: LeftOut = LeftOut(),
    leverages: Matrix | None = None,
    projected: Matrix | None = None,
) -> Matrix:
    """``mean(e) / std(e)`` with ``e_i = y_i F_{-i}(z_i)``: one row for each ridge, (ridges, columns).

    Leverages and ``U' y`` may be passed where they are known.
    """
    leverages = spectrum.leverages(shrinkages) if leverages is None else leverages
    projected = spectrum.vectors.T @ y if projected is None else projected
    rows = np.empty((len(shrinkages), y.shape[1]))
    step = max(32, _CACHED // len(y))
    for start in range(0, y.shape[1], step):
        part = slice(start, start + step)
        y_part = np.ascontiguousarray(y[:, part].T)  # (columns, N): sums over rows are then over neighbours
        for row, s, h in zip(rows, shrinkages, leverages, strict=True):
            if left_out.groups:
                e = left_out_values(spectrum, s, y_part.T, projected[:, part], left_out).T * y_part
            else:
                e = _judged_rows(spectrum, s, h, y_part, projected[:, part].T)
            row[part] = signal_to_noise(e.mean(axis=1), np.einsum("ij,ij->i", e, e) / len(y))
    return rows


def _judged_rows(spectrum: Spectrum, s: Values, h: Values, y: Matrix, projected: Matrix) -> Matrix:
    """``e`` transposed, (columns, N), without temporary matrices."""
    e: Matrix = (projected * s) @ spectrum.vectors.T
    e -= y * h
    e *= y
    e *= 1 / np.maximum(1 - h, _CERTAIN)
    return e


def signal_to_noise(mean: Values, mean_square: Values) -> Values:
    """``mean / std`` from the first two moments; 0 where both are.

    Where all values are equal their variance is rounding: it counts as at least a 1e-12th of the mean square, so that
    no labelling is loud by the order in which its numbers were added.
    """
    mean_square = np.maximum(mean_square, 0.0)  # of sums that cancel, rounding may be left
    spread = np.sqrt(np.maximum(mean_square - mean**2, _NO_NOISE * mean_square))
    return np.divide(mean, spread, out=np.zeros_like(mean), where=spread > 0)


def quadratic_rows(w: Values, shrinkages: Sequence[Values], projected: Matrix) -> Matrix:
    """``sum_k s_k (U_k' y)^2`` for each ridge (KFDA), and with ``s = w`` (MMD) last: (ridges + 1, columns)."""
    return np.stack([*shrinkages, w]) @ (projected * projected)


def potential_rows(potentials: Matrix, y: Matrix) -> Matrix:
    """``|mean_x - mean_y|`` of functions of the rows that never saw a label: (functions, columns).

    Two-sided, because nothing has fixed their sign. They see changes of scale and covariance in many columns, which
    the mean of a kernel misses.
    """
    return np.abs(potentials @ y)


def without_rounding(functions: Matrix, weights: Values | None = None) -> Matrix:
    """Functions of the rows around their means, (functions, N); one that is constant up to rounding is zero."""
    mean = functions.mean(axis=1) if weights is None else functions @ weights / functions.shape[1]
    centred = functions - mean[:, None]
    varies = np.abs(centred).max(axis=1) > 1e-9 * np.abs(functions).max(axis=1)
    return np.where(varies[:, None], centred, 0.0)
