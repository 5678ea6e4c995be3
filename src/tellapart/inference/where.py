"""Which columns differ: a p-value for each, by the relabellings of the test itself, and one that allows for all.

**One column.** Within a column every value becomes its rank among the pooled rows, and the ranks become polynomials
``f_1, ..., f_5``, orthonormal on the pooled rows: location, spread, skewness and finer changes (:class:`RankMap`). For
the contrasts y of B + 1 labellings, the observed one first,

    T_q = sum_{k <= q} (f_k' y - mean over the labellings)^2,    q = 1, 2, 3, 5,

each put on the scale of normal scores by its own B + 1 values (:func:`skewed_scores`). A column of the table that is
encoded as several speaks through its loudest statistic: the T_q of each encoded column, and their sums. That maximum is
put on the same scale once more, so that a column with many statistics is not louder by their number.

**Level.** The p-value of one column is the rank of its score among the B + 1. The scores are a function of the values
of this column and of the set of labellings in which all labellings are treated alike. So if the relabellings leave the
distribution of *this column* unchanged - its rows are exchangeable, whatever the other columns do - the ranks are
exchangeable and ``P(p <= a) <= a`` at any number of rows. Subtracting the mean over the labellings changes nothing
about that; within strata that are mixed differently in the two samples it takes off what the mixture brings.

**All columns.** Step-down maxima (:func:`stepdown_pvalues`): the chance that any column without a difference gets
``p <= a`` is at most a, whichever other columns differ, if the columns without a difference are alike *together*: their
joint distribution is the same in both samples. If each of them is alike but what they have to do with each other
differs, the p-values of the single columns stay exact; the maximum is then ranked among maxima with the dependence of
the pooled rows, which for samples of equal size is right to first order, and Holm's correction of the single p-values
is valid always.

References
----------
Neyman (1937). "Smooth test" for goodness of fit. Skand. Aktuarietidskr. 20.
Westfall, Young (1993). Resampling-based multiple testing. Wiley.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray, chunks
from tellapart.inference.columns import DEGREES, UP_TO, RankMap
from tellapart.inference.combination import skewed_scores
from tellapart.inference.exchange import Exchange, Relabellings
from tellapart.inference.pvalue import permutation_pvalue, stepdown_pvalues

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]

MOST_ROWS = 20_000
_DIGITS = 6  # of scores: what differs less is rounding, and counts as a tie
_DEPENDENT = 1e-6  # share of a polynomial that the ones of lower degree leave, below which it says nothing new


@dataclass(frozen=True, eq=False)
class Part:
    """The rows that take part, in an order that only their values decide, and how they may be relabelled."""

    rows: Matrix  # (N, encoded columns)
    source: Ids  # (encoded columns,): the column of the table that each is made from
    exchange: Exchange
    place: Ids  # (N,): where each row stands among the pooled rows as they came

    @property
    def is_x(self) -> NDArray[np.bool_]:
        """Which rows are of the first sample."""
        return np.asarray(self.exchange.sample[self.exchange.unit_of_row] == 0)

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of both samples."""
        first = int(self.is_x.sum())
        return first, len(self.rows) - first


def part_of(
    samples: Sequence[FloatArray], source: Sequence[int], exchange: Exchange, order: Ids, rng: np.random.Generator,
    most: int = MOST_ROWS,
) -> Part:  # fmt: skip
    """All rows, or a random part of each sample where there are more than `most`; whole groups and pairs stay whole.

    Which rows take part has nothing to do with their values, so what is exchangeable stays so. `order` is that of
    :func:`order_of_values`.
    """
    ordered = renumbered(exchange.shuffled(order))
    kept = _some_rows(ordered, most, rng)
    place = order[kept]
    n = len(samples[0])
    rows = np.empty((len(kept), samples[0].shape[1]))
    rows[place < n] = samples[0][place[place < n]]
    rows[place >= n] = samples[1][place[place >= n] - n]
    return Part(rows, np.asarray(source, dtype=np.intp), ordered.of_rows(kept), place)


def order_of_values(samples: Sequence[FloatArray], exchange: Exchange) -> Ids:
    """The pooled rows in the order of a random combination of their columns: the same however the rows came."""
    direction = np.random.default_rng(0).normal(size=samples[0].shape[1])
    with np.errstate(over="ignore"):
        key = np.concatenate([np.concatenate([(s[c] * direction).sum(axis=1) for c in chunks(len(s), s.shape[1])])
                              for s in samples])  # fmt: skip
    return np.asarray(np.lexsort((exchange.weights, exchange.sample[exchange.unit_of_row], key)))


def renumbered(exchange: Exchange) -> Exchange:
    """The same units and strata, numbered in the order in which their rows stand."""
    unit, first = _by_appearance(exchange.unit_of_row)
    stratum, _ = _by_appearance(exchange.stratum[first])
    return replace(exchange, unit_of_row=unit, sample=exchange.sample[first], stratum=stratum)


def _by_appearance(ids: Ids) -> tuple[Ids, Ids]:
    """Ids as 0, 1, 2, ... in the order of their first entries, and the old id of each."""
    old, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(old), dtype=np.intp)
    number[order] = np.arange(len(old))
    return number[inverse.reshape(-1)], np.asarray(old[order], dtype=np.intp)


def _some_rows(exchange: Exchange, most: int, rng: np.random.Generator) -> Ids:
    """Rows of at most `most` in all, as evenly from both samples as there are rows."""
    total = len(exchange.unit_of_row)
    if total <= most:
        return np.arange(total)
    together = exchange.together
    label = exchange.sample[exchange.unit_of_row]
    sizes = [int((label == s).sum()) for s in (0, 1)]
    budget = [max(most // 2, most - sizes[1]), max(most // 2, most - sizes[0])]
    kept = np.zeros(total, dtype=bool)
    for sample in (0, 1):
        mine = np.flatnonzero(label == sample)
        ids, counts = np.unique(together[mine], return_counts=True)
        dealt = rng.permutation(len(ids))
        taken = ids[dealt[: max(2, int(np.searchsorted(np.cumsum(counts[dealt]), budget[sample], side="right")))]]
        if exchange.paired:
            return np.flatnonzero(np.isin(together, taken))
        kept[mine] = np.isin(together[mine], taken)
    return np.flatnonzero(kept)


@dataclass(frozen=True, eq=False)
class Findings:
    """Scores of several hypotheses over the labellings, the observed one first, and their p-values."""

    scores: Matrix  # (hypotheses, labellings)

    @property
    def alone(self) -> Values:
        """Of each by itself."""
        return np.array([permutation_pvalue(float(row[0]), row[1:]) for row in self.scores])

    @property
    def pvalues(self) -> Values:
        """Allowing for all of them."""
        return stepdown_pvalues(self.scores)

    @property
    def order(self) -> Ids:
        """The most telling first."""
        return np.asarray(np.argsort(-self.scores[:, 0], kind="stable"))


def judged_columns(part: Part, relabellings: Relabellings) -> Findings:
    """Every column of the table."""
    weights = part.exchange.weights
    y = relabellings.contrast()
    count = int(part.source.max()) + 1
    scores = np.empty((count, y.shape[1]))
    for sources in chunks(count, DEGREES * len(part.rows) * max(1, part.rows.shape[1] // count)):
        mine = np.flatnonzero((part.source >= sources.start) & (part.source < sources.stop))
        sums = nested_sums(part.rows[:, mine], weights, y)
        for s in range(sources.start, sources.stop):
            own = sums[:, part.source[mine] == s]
            every = own if own.shape[1] == 1 else np.concatenate([own, own.sum(axis=1, keepdims=True)], axis=1)
            each = skewed_scores(every.reshape(-1, y.shape[1]))
            scores[s] = comparable(each.max(axis=0)[None])[0]
    return Findings(scores)


def comparable(loudest: Matrix) -> Matrix:
    """Rows on the scale of normal scores, without the digits that are rounding."""
    return np.asarray(np.round(skewed_scores(loudest), _DIGITS))


def nested_sums(rows: Matrix, weights: Values, y: Matrix) -> Matrix:
    """``T_q`` of the formula above for each encoded column and labelling: (len(UP_TO), columns, labellings)."""
    f = orthonormal(RankMap.of(rows).polynomials(rows), weights)
    projected = (f * np.sqrt(weights)) @ y  # (DEGREES, columns, labellings)
    projected -= projected.mean(axis=2, keepdims=True)
    return np.asarray(np.cumsum(projected * projected, axis=0)[[q - 1 for q in UP_TO]])


def orthonormal(polynomials: Matrix, weights: Values) -> Matrix:
    """Polynomials of each column made orthonormal, degree after degree: (DEGREES, columns, N).

    Columns with few different values have few polynomials; the others become zero.
    """
    n = len(polynomials)
    f = np.ascontiguousarray(polynomials.T).reshape(DEGREES, -1, n)
    share = weights / n
    for k in range(DEGREES):
        size = np.sqrt((f[k] * f[k]) @ share)
        f[k] -= (f[k] @ share)[:, None]
        for _ in range(2):  # once more takes off what rounding has left
            for lower in f[:k]:
                f[k] -= ((f[k] * lower) @ share)[:, None] * lower
        left = np.sqrt((f[k] * f[k]) @ share)
        new = left > _DEPENDENT * np.maximum(size, 1e-300)
        f[k] *= np.where(new, 1 / np.where(new, left, 1.0), 0.0)[:, None]
    return f
