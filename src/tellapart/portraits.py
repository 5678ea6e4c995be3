"""Columns and pairs of columns as shares of rows in cells, whose edges do not know the samples; and what changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart.tables.originals import LONGEST, MISSING, Original, short

Values = NDArray[np.float64]
Codes = NDArray[np.intp]

_BARS = 16
_EVIDENCE_BARS = 24
_LEVELS = 8
_FEW_VALUES = 12  # different numbers that are shown as they are
_CELLS = 8  # of a column in the portrait of a pair
_OTHER = "other levels"
_TRUE_FALSE = ("false", "true")


@dataclass(frozen=True, eq=False)
class Cells:
    """A column cut into cells: the cell of every row of x and of y, -1 where nothing is known."""

    labels: tuple[str, ...]  # of the cells, or one more: their edges
    codes: tuple[Codes, Codes]
    edged: bool  # whether the labels are edges

    @property
    def count(self) -> int:
        return len(self.labels) - self.edged

    def with_missing(self) -> Cells:
        """What is missing becomes a cell of its own, if there is any."""
        if not any((c < 0).any() for c in self.codes):
            return self
        codes = tuple(np.where(c < 0, self.count, c) for c in self.codes)
        return Cells((*self.labels, MISSING), (codes[0], codes[1]), False)

    def shares(self, sample: int) -> Values:
        """Shares of the rows of a sample in the cells."""
        codes = self.codes[sample]
        return np.bincount(codes[codes >= 0], minlength=self.count) / max(1, len(codes))

    @property
    def missing(self) -> list[float]:
        """Shares of rows of which nothing is known."""
        return [float((c < 0).mean()) if len(c) else 0.0 for c in self.codes]


def portrait_of(original: Original) -> dict[str, Any]:
    """The distributions of a column in both samples, beside each other."""
    cells = cells_of(original, bars=True)
    missing = cells.missing
    shown = cells if cells.edged else cells.with_missing()
    return {
        "kind": "histogram" if cells.edged else "levels",
        "labels": list(shown.labels),
        "x": shown.shares(0).tolist(),
        "y": shown.shares(1).tolist(),
        "missing": missing,
    }


def pair_portrait_of(first: Original, second: Original) -> dict[str, Any]:
    """Shares of rows in the cells of two columns, in both samples."""
    a, b = (cells_of(original, bars=False).with_missing() for original in (first, second))
    x, y = (_crossed(a, b, sample) for sample in (0, 1))
    return {"labels": [list(a.labels), list(b.labels)], "x": x.tolist(), "y": y.tolist()}


def _crossed(a: Cells, b: Cells, sample: int) -> Values:
    codes = a.codes[sample] * b.count + b.codes[sample]
    return np.bincount(codes, minlength=a.count * b.count).reshape(a.count, b.count) / max(1, len(codes))


def cells_of(original: Original, bars: bool) -> Cells:
    """The cells of a column: bars of equal width, or few cells with about equally many rows; levels as they are."""
    if original.sort == "categories":
        return _level_cells([c.values for c in original.columns], _LEVELS if bars else _CELLS - 1)
    x, y = amounts_of(original)
    known = np.concatenate([x[~np.isnan(x)], y[~np.isnan(y)]])
    distinct = np.unique(known)
    if original.sort == "booleans" and np.isin(distinct, [0.0, 1.0]).all():
        return Cells(_TRUE_FALSE, (_as_codes(x), _as_codes(y)), False)
    if len(distinct) <= (_FEW_VALUES if bars else _CELLS):
        span = float(np.ptp(distinct)) if len(distinct) else 0.0
        codes = tuple(np.where(np.isnan(v), -1, np.searchsorted(distinct, v)) for v in (x, y))
        return Cells(tuple(original.formatted(float(v), span) for v in distinct), (codes[0], codes[1]), False)
    edges = _bar_edges(original, known) if bars else _even_edges(known)
    codes = tuple(
        np.where(np.isnan(v), -1, np.clip(np.searchsorted(edges, v, "right") - 1, 0, len(edges) - 2)) for v in (x, y)
    )
    labels = [original.formatted(float(e), float(np.ptp(edges))) for e in edges]
    if not bars:
        labels = [f"{a} to {b}" for a, b in pairwise(labels)]
    return Cells(tuple(labels), (codes[0], codes[1]), bars)


def amounts_of(original: Original) -> tuple[Values, Values]:
    """The values of an ordered column; the number of characters of texts."""
    if original.sort == "free text":
        lengths = [[math.nan if t is None else float(len(t)) for t in c.values.tolist()] for c in original.columns]
        return np.array(lengths[0]), np.array(lengths[1])
    return original.columns[0].values, original.columns[1].values


def _as_codes(values: Values) -> Codes:
    return np.where(np.isnan(values), -1, values).astype(np.intp)


def _level_cells(values: Sequence[NDArray[Any]], most: int) -> Cells:
    """The commonest levels of the pooled rows, and one cell for all others."""
    lists = [[None if v is None or v != v else str(v) for v in some.tolist()] for some in values]
    counts = Counter(v for some in lists for v in some if v is not None)
    ordered = sorted(counts, key=lambda level: (-counts[level], level))
    shown = ordered if len(ordered) <= most + 1 else ordered[:most]
    place = {level: i for i, level in enumerate(shown)}
    labels = [level if len(level) <= LONGEST else level[: LONGEST - 3] + "..." for level in shown]
    if len(shown) < len(ordered):
        labels.append(_OTHER)
    codes = [np.array([-1 if v is None else place.get(v, len(shown)) for v in some], dtype=np.intp) for some in lists]
    return Cells(tuple(labels), (codes[0], codes[1]), False)


def _bar_edges(original: Original, known: Values) -> Values:
    """Edges at round numbers over the middle 99 % of the pooled values; the outer bars reach to the ends."""
    if original.sort == "times of day":
        return np.arange(0.0, 86401.0, 7200.0)
    low, high = (float(v) for v in np.quantile(known, [0.005, 0.995]))
    if high <= low:
        low, high = float(known.min()), float(known.max())
    if original.sort in ("dates", "durations"):
        inner = np.linspace(low, high, _BARS + 1)[1:-1]
    else:
        step = round_step((high - low) / _BARS)
        inner = step * np.arange(math.floor(low / step) + 1.0, math.ceil(high / step))
    ends, least = (float(known.min()), float(known.max())), 0.3 * float(np.median(np.diff(inner)))
    kept = inner[(inner > ends[0] + least) & (inner < ends[1] - least)]  # no slivers at the ends
    return np.concatenate([[ends[0]], kept, [ends[1]]])


def round_step(least: float) -> float:
    """The next of 1, 2, 2.5, 5, 10 times a power of ten.

    >>> round_step(0.12), round_step(3.0), round_step(70.0)
    (0.2, 5.0, 100.0)
    """
    unit = 10.0 ** math.floor(math.log10(least))
    return next(m * unit for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * unit >= least * (1 - 1e-9))


def _even_edges(known: Values) -> Values:
    """Quantiles of the pooled values, each once."""
    edges = np.unique(np.quantile(known, np.linspace(0, 1, _CELLS + 1), method="inverted_cdf"))
    return edges if len(edges) > 2 else np.array([edges[0], edges[-1], edges[-1] + 1.0])


def change_of(original: Original) -> str:
    """What changed most in a column, in one phrase."""
    bars = cells_of(original, bars=True)
    told: list[tuple[float, str]] = []
    if any(bars.missing):
        told.append((_two_shares(bars.missing, bars.codes), _percent_words(MISSING, *bars.missing)))
    if original.sort not in ("categories", "booleans"):
        told += _moments(original)
    told.append(_loudest_cell(bars, original))
    return max(told, key=lambda t: t[0])[1]


def _moments(original: Original) -> list[tuple[float, str]]:
    """Location and spread of the known values, and how far apart they are in standard errors."""
    x, y = (v[~np.isnan(v)] for v in amounts_of(original))
    if min(len(x), len(y)) < 2:
        return []
    u = _ranks(np.concatenate([x, y])) - 0.5
    error = math.sqrt(1 / len(x) + 1 / len(y))
    loud = [abs(f[: len(x)].mean() - f[len(x) :].mean()) / (f.std() * error + 1e-300) for f in (u, u * u)]
    what = "length " if original.sort == "free text" else ""
    quartiles = [np.quantile(v, [0.25, 0.5, 0.75]) for v in (x, y)]
    span = float(max(np.ptp(x), np.ptp(y)))
    (a, b, c), (d, e, f) = ([original.formatted(float(q), span) for q in some] for some in quartiles)
    middle = f"median {what}{b} in x, {e} in y"
    if b == e and original.sort == "numbers":
        middle = f"mean {short(float(x.mean()))} in x, {short(float(y.mean()))} in y"
    # location is preferred: a bar or the spread has to say clearly more
    return [(1.2 * loud[0], middle), (loud[1], f"middle half {what}{a} to {c} in x, {d} to {f} in y")]


def _loudest_cell(bars: Cells, original: Original) -> tuple[float, str]:
    """The cell whose shares are farthest apart."""
    x, y = bars.shares(0), bars.shares(1)
    if not len(x):
        return 0.0, "nothing is known"
    loud = [_two_shares((float(a), float(b)), bars.codes) for a, b in zip(x, y, strict=True)]
    k = int(np.argmax(loud)) if bars.labels != _TRUE_FALSE else 1
    said = f"{bars.labels[k]} to {bars.labels[k + 1]}" if bars.edged else bars.labels[k]
    what = "length " if original.sort == "free text" else ""
    return 0.8 * loud[k], _percent_words(what + said, float(x[k]), float(y[k]))


def _two_shares(shares: Sequence[float], codes: tuple[Codes, Codes]) -> float:
    """Difference of two shares in standard errors."""
    n, m = (max(1, len(c)) for c in codes)
    pooled = (shares[0] * n + shares[1] * m) / (n + m)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return abs(shares[0] - shares[1]) / error if error > 0 else 0.0


def _percent_words(what: str, x: float, y: float) -> str:
    """Two shares.

    >>> _percent_words("f", 0.331, 0.5)
    'f: 33% in x, 50% in y'
    """
    form = ".1%" if abs(x - y) < 0.05 else ".0%"
    return f"{what}: {x:{form}} in x, {y:{form}} in y"


def pair_change_of(first: Original, second: Original) -> str:
    """What changed most between two columns: their rank correlation, or the cell that gained or lost most."""
    a, b = (cells_of(original, bars=False).with_missing() for original in (first, second))
    x, y = _crossed(a, b, 0), _crossed(a, b, 1)
    if first.is_ordered and second.is_ordered:
        r = [rank_correlation(first.columns[s].values, second.columns[s].values) for s in (0, 1)]
        error = math.sqrt(sum(1 / max(1, len(c)) for c in a.codes))
        if abs(r[0] - r[1]) > 3 * error:
            return f"rank correlation {r[0]:.2f} in x, {r[1]:.2f} in y"
    excess = [p - np.outer(p.sum(axis=1), p.sum(axis=0)) for p in (x, y)]
    i, j = np.unravel_index(int(np.argmax(np.abs(excess[0] - excess[1]))), x.shape)
    where = f"{_cut(first.name)} {a.labels[i]} with {_cut(second.name)} {b.labels[j]}"
    return _percent_words(where, float(x[i, j]), float(y[i, j]))


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 3] + "..."


def rank_correlation(a: Values, b: Values) -> float:
    """Spearman's, of the rows where both are known; 0 where one is constant.

    >>> round(rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 9.0, 3.0])), 6)
    0.5
    """
    known = ~(np.isnan(a) | np.isnan(b))
    if known.sum() < 2:
        return 0.0
    u, v = (_ranks(w[known]) for w in (a, b))
    u, v = u - u.mean(), v - v.mean()
    size = math.sqrt(float(u @ u) * float(v @ v))
    return float(u @ v) / size if size > 0 else 0.0


def _ranks(values: Values) -> Values:
    """Share of smaller values, ties in the middle."""
    ordered = np.sort(values)
    return np.asarray(
        (np.searchsorted(ordered, values) + np.searchsorted(ordered, values, "right")) / (2 * len(values))
    )


def evidence_of(left_out: tuple[Values, Values] | None) -> dict[str, Any] | None:
    """Histogram of the left-out witness values of both samples, over the same bars."""
    if left_out is None:
        return None
    x, y = (values[np.isfinite(values)] for values in left_out)
    pooled = np.concatenate([x, y])
    if not (len(x) and len(y)) or float(np.ptp(pooled)) == 0:
        return None
    low, high = (float(v) for v in np.quantile(pooled, [0.005, 0.995]))
    inner = np.linspace(low, high, _EVIDENCE_BARS + 1)[1:-1] if high > low else np.empty(0)
    edges = np.unique(np.concatenate([[pooled.min()], inner, [pooled.max()]]))
    shares = [np.histogram(values, edges)[0] / len(values) for values in (x, y)]
    return {"edges": edges.tolist(), "x": shares[0].tolist(), "y": shares[1].tolist()}
