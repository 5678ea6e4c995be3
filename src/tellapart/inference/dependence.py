"""Pairs of columns that differ in what the columns have to do with each other, which no single column shows.

In each sample of a labelling every value becomes its rank u *within that sample*, and u becomes Legendre polynomials
``f_1, ..., f_D`` of degree at most 4, standardised within that sample. The correlations of two columns a and b,

    R_jk(x) = mean over the rows of x of f_j(a) f_k(b),

are one way to write down their copula: R_11 is the rank correlation, R_22 says whether both are extreme together, and
an angle between two uniform directions shows in R_11, R_13, R_22, ... although both rank correlations are 0. Judged is

    T_q = sum_{j, k <= q} (R_jk(x) - R_jk(y))^2,    q = 1, ..., D,

summed over the encoded columns of both sources, on the scale of normal scores; the loudest q speaks, and step-down
maxima correct for all pairs, as in :mod:`tellapart.inference.where`.

**Why ranks within each sample of each labelling.** Ranks of the pooled rows bend a column that has shifted differently
in the two samples, and a bent column has another correlation with every column that it depends on: each shift would
show up in pairs, although the dependence is the same. Ranks within the samples do not know where a column lies.

**Level.** The ranks are taken anew in every labelling, so every labelling is treated alike, and the p-value is exact
for "the two columns together have the same distribution in both samples". The corrected ones keep the family-wise error
strongly if the columns of all pairs without a difference are alike together.

**If single columns differ**, the two columns do not have the same distribution together, and the labellings do not say
what chance does to their dependence: rows of two clouds that are apart in both columns are correlated when mixed. Then
the same is done once more with *own margins*: the rows are first replaced by their ranks within their own sample, which
leaves the observed statistics as they are and gives the relabelled ones the margins that the samples have in common.
The larger of the two p-values is reported. It is still exact as above; and for "the dependence is the same, the single
columns may differ" it is valid for large samples, as tests for equal copulas are (Remillard and Scaillet 2009).

References
----------
Remillard, Scaillet (2009). Testing for equality between two copulas. doi:10.1016/j.jmva.2008.05.004.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart._threads import side_by_side
from tellapart.inference.combination import skewed_scores
from tellapart.inference.exchange import Relabellings
from tellapart.inference.where import Findings, Part, comparable

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]
Single = NDArray[np.float32]
Ids = NDArray[np.intp]
Marks = NDArray[np.bool_]

MOST_DEGREES = 4
_WORK = (
    1.2e10  # ranks and products of columns over rows and labellings: ten seconds, and as much again with own margins
)
_CHUNK = 2**19  # numbers of a block of labellings: it stays in the processor's cache
_SCORED = 2**22  # numbers that are scored at a time
_NO_SPREAD = 1e-6
_NOTHING = 1e-30


@dataclass(frozen=True, eq=False)
class Plan:
    """Which polynomials of which encoded columns are paired: chosen without labels."""

    columns: Ids  # (E,): encoded columns that take part
    features: Ids  # (Q, 2): place among `columns`, and degree
    source: Ids  # (Q,): place among `sources`
    sources: Ids  # (S,): columns of the table that take part

    @property
    def degrees(self) -> int:
        return int(self.features[:, 1].max(initial=1))

    @property
    def pairs(self) -> tuple[Ids, Ids]:
        """Places among `sources` of the first and second column of every pair."""
        return np.triu_indices(len(self.sources), 1)

    @classmethod
    def of(cls, part: Part, draws: int, work: float = _WORK) -> Plan:
        """As many degrees, and then as many columns, as the work allows."""
        distinct = np.array([len(np.unique(column)) for column in part.rows.T])
        varying = np.unique(part.source[distinct > 1])
        limit = work / (len(part.rows) * max(1, draws))
        for degrees in range(MOST_DEGREES, 0, -1):
            plan = cls._with(part.source, distinct, varying, degrees)
            if plan.work <= limit:
                return plan
        order = _most_dependent(part, varying)
        while plan.work > limit and len(plan.sources) > 2:
            order = order[: max(2, int(0.9 * len(order)))]
            plan = cls._with(part.source, distinct, np.sort(order), 1)
        return plan

    @classmethod
    def _with(cls, source: Ids, distinct: Ids, sources: Ids, degrees: int) -> Plan:
        columns = np.flatnonzero(np.isin(source, sources) & (distinct > 1))
        features = [(j, k) for k in range(1, degrees + 1) for j, c in enumerate(columns) if distinct[c] > k]
        listed = np.array(features, dtype=np.intp).reshape(-1, 2)
        return cls(columns, listed, np.searchsorted(sources, source[columns[listed[:, 0]]]), sources)

    @property
    def work(self) -> float:
        """For each row and labelling: ranks, polynomials and their products."""
        return 6.0 * len(self.columns) + 4.0 * len(self.features) + len(self.features) ** 2 / 50


def _most_dependent(part: Part, sources: Ids) -> Ids:
    """Sources by how much their ranks depend on those of others among the pooled rows, in location or spread."""
    from tellapart.inference.columns import RankMap

    t = 2 * RankMap.of(part.rows).shares(part.rows) - 1
    strength = np.zeros(int(sources.max()) + 1)
    for f in (t, t * t):
        f = f - f.mean(axis=0)
        f /= np.where(f.std(axis=0) > 0, f.std(axis=0), np.inf)
        for j in range(f.shape[1]):
            r = np.abs(f[:, j] @ f) / len(f)
            r[part.source == part.source[j]] = 0.0
            strength[part.source[j]] = max(strength[part.source[j]], float(np.sort(r)[-3:].sum()))
    return np.asarray(sources[np.argsort(-strength[sources], kind="stable")])


@dataclass(frozen=True, eq=False)
class Ranked:
    """Where the rows stand in each column: sorted, and where their ties begin and end."""

    order: Ids  # (E * N,): rows in the order of each column
    start: Ids  # (E * N,): places among E times N + 1 before which what is smaller than each row stands
    end: Ids  # (E * N,): the same for what is not larger
    weights: Values  # (N,)
    both: Single | Matrix  # (E * N,): weight of all rows up to the start and up to the end, added
    columns: int

    @classmethod
    def of(cls, rows: Matrix, weights: Values) -> Ranked:
        n, e = rows.shape
        columns = np.ascontiguousarray(rows.T)
        order = np.argsort(columns, axis=1, kind="stable")
        start, end, both = np.empty_like(order), np.empty_like(order), np.empty((e, n))
        for j, column in enumerate(columns):
            ordered = column[order[j]]
            below = np.concatenate([[0.0], np.cumsum(weights[order[j]])])
            start[j], end[j] = np.searchsorted(ordered, column, "left"), np.searchsorted(ordered, column, "right")
            both[j] = below[start[j]] + below[end[j]]
        first = np.arange(e)[:, None] * (n + 1)
        kind: type = np.float32 if (weights == 1).all() else np.float64  # counts are whole: exact in single precision
        flat = ((start + first).ravel(), (end + first).ravel())
        return cls(order.ravel(), *flat, weights, np.asarray(both.ravel(), dtype=kind), e)

    def own_ranks(self, is_x: Marks) -> Single:
        """Middle ranks of all rows within their own samples, from -1 to 1, for labellings (c, N): (c, E, N)."""
        c, n = is_x.shape
        kind = self.both.dtype
        carried = is_x.astype(kind) * self.weights.astype(kind)
        below = np.zeros((c, self.columns, n + 1), dtype=kind)  # weight of x before each place
        np.cumsum(carried.take(self.order, axis=1).reshape(c, -1, n), axis=2, out=below[:, :, 1:])
        flat = below.reshape(c, -1)
        in_x = flat.take(self.start, axis=1)
        in_x += flat.take(self.end, axis=1)
        in_y = self.both - in_x
        total_x = carried.sum(axis=1, keepdims=True)
        in_x /= np.maximum(total_x, _NOTHING)
        in_y /= np.maximum(kind.type(self.weights.sum()) - total_x, _NOTHING)
        shape = (c, self.columns, n)
        own = np.where(is_x[:, None, :], in_x.reshape(shape), in_y.reshape(shape))
        return np.asarray(own - kind.type(1), dtype=np.float32)


def judged_pairs(part: Part, plan: Plan, relabellings: Relabellings, own_margins: bool = False) -> Findings:
    """Every pair of the plan's sources."""
    values = pair_values(part, plan, relabellings, own_margins)  # (degrees, pairs, labellings)
    scores = np.empty(values.shape[1:])
    step = max(1, _SCORED // values[:, 0].size)
    for start in range(0, len(scores), step):
        some = values[:, start : start + step].astype(np.float64)
        each = skewed_scores(some.reshape(-1, some.shape[2])).reshape(some.shape)
        scores[start : start + step] = comparable(each.max(axis=0))
    return Findings(scores)


def pair_values(part: Part, plan: Plan, relabellings: Relabellings, own_margins: bool = False) -> Single:
    """``T_q`` of the formula above: (degrees, pairs, labellings)."""
    weights = part.exchange.weights
    units = np.arange(len(relabellings.unit_of_row))
    is_x = np.ascontiguousarray(relabellings.labelling.labels(relabellings.unit_of_row[units], slice(None)).T) == 0
    ranked = Ranked.of(part.rows[:, plan.columns], weights)
    if own_margins:
        ranked = Ranked.of(ranked.own_ranks(is_x[:1])[0].T, weights)
    step = max(1, _CHUNK // (len(plan.features) * len(weights)))
    blocks = [is_x[start : start + step] for start in range(0, len(is_x), step)]
    found = side_by_side(lambda block: _sums(ranked, plan, block), blocks, "pairs of columns")
    return np.concatenate(found, axis=2)


def _sums(ranked: Ranked, plan: Plan, is_x: Marks) -> Single:
    """``T_q`` for a block of labellings."""
    difference = correlation_differences(ranked, plan.features, is_x)
    difference *= difference  # (c, Q, Q)
    i, j = plan.pairs
    found = np.empty((plan.degrees, len(i), len(is_x)), dtype=np.float32)
    for q in range(1, plan.degrees + 1):
        member = (plan.source[:, None] == np.arange(len(plan.sources))) & (plan.features[:, 1] <= q)[:, None]
        chosen = member.astype(np.float32)
        found[q - 1] = (chosen.T @ difference @ chosen)[:, i, j].T
    return found


def correlation_differences(ranked: Ranked, features: Ids, is_x: Marks) -> Single:
    """``R(x) - R(y)`` of all polynomials with each other, for labellings (c, N): (c, Q, Q)."""
    f = _polynomials(ranked.own_ranks(is_x), features)
    labels = is_x[:, None, :]
    share_x, share_y = _shares(is_x, ranked.weights), _shares(~is_x, ranked.weights)  # (c, N), each adds up to 1
    shares = np.stack([share_x, share_y], axis=2)
    mean = f @ shares  # (c, Q, 2)
    f -= np.where(labels, mean[:, :, :1], mean[:, :, 1:])
    spread = np.sqrt((f * f) @ shares)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > _NO_SPREAD)
    f *= np.where(labels, scale[:, :, :1], scale[:, :, 1:])
    return np.asarray((f * (share_x - share_y)[:, None, :]) @ f.transpose(0, 2, 1))


def _shares(member: Marks, weights: Values) -> Single:
    carried = member * weights
    return np.asarray(carried / np.maximum(carried.sum(axis=1, keepdims=True), 1e-300), dtype=np.float32)


def _polynomials(t: Single, features: Ids) -> Single:
    """Legendre polynomials of the wanted columns and degrees: (c, Q, N)."""
    f = np.empty((len(t), len(features), t.shape[2]), dtype=np.float32)
    for k, of in enumerate(_LEGENDRE, start=1):
        wanted = np.flatnonzero(features[:, 1] == k)
        if len(wanted):
            f[:, wanted[0] : wanted[-1] + 1] = of(t[:, features[wanted, 0]])
    return f


_LEGENDRE: tuple[Callable[[Single], Single], ...] = (
    lambda t: t,
    lambda t: t * t,  # constants do not matter, nor does scale: all are standardised
    lambda t: t * (t * t - np.float32(0.6)),
    lambda t: t * t * (t * t - np.float32(6 / 7)),
)
