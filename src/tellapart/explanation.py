"""Where two samples differ: columns, pairs of columns, sub-groups and rows, gathered from one comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._threads import one_blas_thread
from tellapart.inference.dependence import MOST_DEGREES, Plan, judged_pairs
from tellapart.inference.exchange import Exchange, Relabellings
from tellapart.inference.regions import LEAST_ROWS, regions_of
from tellapart.inference.stage_one import Learns
from tellapart.inference.where import Findings, Part, judged_columns, order_of_values, part_of
from tellapart.portraits import change_of, evidence_of, pair_change_of, pair_portrait_of, portrait_of
from tellapart.report.where import to_where_text
from tellapart.rules import rule_words
from tellapart.samples import Samples
from tellapart.tables import Encoded
from tellapart.tables.originals import Original, names_of, original_columns, row_texts, source_numbers

Values = NDArray[np.float64]
Ids = NDArray[np.intp]

_SCHEMA = "where 1"  # of to_dict; raised when its meaning changes
_MOST_PAIRS = 20
_MOST_PORTRAITS = 60
_MOST_TELLING = 10  # rows of each sample
_MOST_MAPPED = 300
_MOST_COUNTED = 100_000  # rows of each sample that find and count sub-groups


@dataclass(frozen=True)
class ColumnFinding:
    """One column of the table: whether it differs by itself, and how."""

    name: str
    kind: str
    pvalue: float  # allowing for all columns
    alone: float
    score: float
    differs: bool
    change: str
    portrait: dict[str, Any] | None


@dataclass(frozen=True)
class PairFinding:
    """Two columns: whether they have something else to do with each other."""

    names: tuple[str, str]
    pvalue: float  # allowing for all pairs
    alone: float
    score: float
    differs: bool
    change: str
    portrait: dict[str, Any]


@dataclass(frozen=True)
class TellingRow:
    """A row that looks like its own sample and not like the other."""

    row: int
    evidence: float
    values: dict[str, str]


@dataclass(frozen=True)
class Subgroup:
    """A region that one half of the rows found, counted on the other half."""

    rule: tuple[str, ...]
    share_x: float
    share_y: float
    count_x: int
    count_y: int
    n: int
    m: int
    pvalue: float  # allowing for all regions
    low: float  # of the share in y minus the share in x
    high: float
    differs: bool


@dataclass(frozen=True)
class Explanation:
    """Where two samples differ, as :meth:`tellapart.joint_result.TellApartResult.explain` returns it.

    Attributes
    ----------
    level : float
        At which columns, pairs and sub-groups are marked as different.
    draws : int
        Relabellings behind the p-values of columns and pairs.
    rows_used : (int, int)
        Rows of x and of y that took part: a random part where there are very many.
    columns : tuple of ColumnFinding
        Every compared column, the most telling first.
    pairs : tuple of PairFinding
        At most 20 pairs of columns, the most telling first; `pairs_tried` says out of how many.
    rows : pair of tuples of TellingRow
        At most 10 rows of each sample that look most like their own sample and least like the other.
    subgroups : tuple of Subgroup
        Regions of the table, the most telling first.
    evidence, map : dict or None
        Histogram of the left-out witness values; rows of both samples in two columns, with those values.
    notes : tuple of str
        What was assumed and what was left out.
    """

    level: float
    draws: int
    rows_used: tuple[int, int]
    columns: tuple[ColumnFinding, ...]
    pairs: tuple[PairFinding, ...]
    pairs_tried: int
    rows: tuple[tuple[TellingRow, ...], tuple[TellingRow, ...]]
    subgroups: tuple[Subgroup, ...]
    evidence: dict[str, Any] | None
    map: dict[str, Any] | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything in JSON types. Same explanation, same dict."""
        found = _plain(asdict(self))
        found["rows"] = dict(zip(("x", "y"), found["rows"], strict=True))
        return {"schema": _SCHEMA, **found}

    def __str__(self) -> str:
        return to_where_text(self.to_dict())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


@dataclass(frozen=True, eq=False)
class Subject:
    """Two samples as they came and as numbers, how their rows may be relabelled, and a seed."""

    given: tuple[Any, Any]
    table: Encoded
    exchange: Exchange
    learner: Learns
    seed: int

    def explained(self, level: float, n_permutations: int, evidence: tuple[Values, Values] | None) -> Explanation:
        """Everything that can be said, at a level and from so many relabellings."""
        level = checks.share("level", level, usual=0.05)
        draws = checks.whole("n_permutations", n_permutations)
        if 1 / (draws + 1) > level * (1 + 1e-9):
            raise ValueError(
                f"`n_permutations` must be at least {math.ceil(1 / level - 1e-9) - 1} for a p-value of {level:g}, "
                f"got {draws}."
            )
        with one_blas_thread():
            return Explaining.of(self, level, draws, evidence).explanation()


@dataclass(frozen=True, eq=False)
class Explaining:
    """An explanation on its way: the rows that take part and what was found in them."""

    subject: Subject
    level: float
    draws: int
    left_out: tuple[Values, Values] | None
    order: Ids  # of the pooled rows, by their values
    part: Part
    shown: tuple[Original, ...]  # the columns of the table, with the values of the rows that take part
    columns: Findings
    plan: Plan
    pairs: Findings | None
    with_own_margins: Findings | None

    @classmethod
    def of(cls, subject: Subject, level: float, draws: int, left_out: tuple[Values, Values] | None) -> Explaining:
        rng = np.random.default_rng([subject.seed, 1])
        samples, sources = subject.table.samples[:2], source_numbers(subject.table)
        order = order_of_values(samples, subject.exchange)
        part = part_of(samples, sources, subject.exchange, order, rng)
        relabellings = part.exchange.labellings(draws, rng)
        columns = judged_columns(part, relabellings)
        plan = Plan.of(part, draws)
        pairs, own = _judged_pairs(part, plan, relabellings, columns, level)
        n = len(samples[0])
        rows = (part.place[part.place < n], part.place[part.place >= n] - n)
        shown = original_columns(subject.given, subject.table, rows)
        return cls(subject, level, draws, left_out, order, part, shown, columns, plan, pairs, own)

    def explanation(self) -> Explanation:
        """All parts."""
        columns, pairs = self._columns(), self._pairs()
        subgroups, why = self._subgroups()
        return Explanation(
            self.level,
            self.draws,
            self.part.sizes,
            columns,
            pairs,
            0 if self.pairs is None else len(self.pairs.scores),
            self._rows(),
            subgroups,
            evidence_of(self.left_out),
            self._map(columns, pairs),
            (*self._notes(), *why),
        )

    def _columns(self) -> tuple[ColumnFinding, ...]:
        alone, pvalues = self.columns.alone, self.columns.pvalues
        found = []
        for place, i in enumerate(self.columns.order):
            shown, p = self.shown[i], float(pvalues[i])
            portrait = portrait_of(shown) if place < _MOST_PORTRAITS else None
            told = (p, float(alone[i]), float(self.columns.scores[i, 0]), p <= self.level)
            found.append(ColumnFinding(shown.name, shown.sort, *told, change_of(shown), portrait))
        return tuple(found)

    def _pairs(self) -> tuple[PairFinding, ...]:
        if self.pairs is None:
            return ()
        alone, pvalues, scores = self.pairs.alone, self.pairs.pvalues, self.pairs.scores[:, 0]
        if self.with_own_margins is not None:
            alone = np.maximum(alone, self.with_own_margins.alone)
            pvalues = np.maximum(pvalues, self.with_own_margins.pvalues)
            scores = np.minimum(scores, self.with_own_margins.scores[:, 0])
        found = []
        for k in np.lexsort((-scores, alone, pvalues))[:_MOST_PAIRS]:
            a, b = (self.shown[self.plan.sources[side[k]]] for side in self.plan.pairs)
            p = float(pvalues[k])
            told = (p, float(alone[k]), float(scores[k]), p <= self.level)
            found.append(PairFinding((a.name, b.name), *told, pair_change_of(a, b), pair_portrait_of(a, b)))
        return tuple(found)

    def _subgroups(self) -> tuple[tuple[Subgroup, ...], tuple[str, ...]]:
        """The regions, or why there are none."""
        exchange, table = self.subject.exchange, self.subject.table
        n, m = (len(sample) for sample in table.samples[:2])
        if exchange.words != "rows":
            return (), (f"sub-groups are counted where rows are independent, not where {exchange.words} are exchanged",)
        if min(n, m) < LEAST_ROWS:
            return (), (f"sub-groups need at least {LEAST_ROWS} rows of each sample",)
        rng = np.random.default_rng([self.subject.seed, 2])
        by_value = (self.order[self.order < n], self.order[self.order >= n] - n)
        some = [
            rows if len(rows) <= _MOST_COUNTED else rows[np.sort(rng.permutation(len(rows))[:_MOST_COUNTED])]
            for rows in by_value
        ]
        samples = Samples(table.samples[0][some[0]], table.samples[1][some[1]], table.columns)
        if all(bool((rows == samples.x[0]).all()) for rows in (samples.x, samples.y)):
            return (), ("nothing tells any two rows apart",)
        regions = regions_of(samples, self.subject.learner, self.level, rng)
        found = [
            Subgroup(
                rule_words(r.rule, table),
                r.count_x / r.n, r.count_y / r.m, r.count_x, r.count_y, r.n, r.m,
                r.pvalue, r.low, r.high, r.pvalue <= self.level,
            )
            for r in regions
        ]  # fmt: skip
        note = (
            "sub-groups: one half of the rows found them, the other half was counted; Fisher's exact test, Holm's "
            f"correction; each interval holds with confidence {1 - self.level:.0%} by itself"
        )
        return tuple(found), (note,) if found else ("no part of the rows stands out as a sub-group",)

    def _rows(self) -> tuple[tuple[TellingRow, ...], tuple[TellingRow, ...]]:
        """Rows of x with the largest evidence, rows of y with the smallest."""
        if self.left_out is None:
            return (), ()
        names = names_of(self.subject.table)
        found = []
        for data, values, sign in zip(self.subject.given, self.left_out, (-1.0, 1.0), strict=True):
            order = np.argsort(np.where(np.isnan(values), np.inf, sign * values), kind="stable")
            best = order[: min(_MOST_TELLING, int(np.isfinite(values).sum()))]
            texts = row_texts(data, best, names)
            found.append(tuple(TellingRow(int(i), float(values[i]), text) for i, text in zip(best, texts, strict=True)))
        return found[0], found[1]

    def _map(self, columns: Sequence[ColumnFinding], pairs: Sequence[PairFinding]) -> dict[str, Any] | None:
        """Some rows of both samples in the loudest pair, or in the two most telling columns, of amounts."""
        ordered = {shown.name: shown for shown in self.shown if shown.is_ordered and shown.sort != "booleans"}
        candidates = [pair.names for pair in pairs if pair.differs]
        told = [c.name for c in columns if c.name in ordered]
        candidates += [(told[0], told[1])] if len(told) > 1 else []
        names = next((pair for pair in candidates if all(name in ordered for name in pair)), None)
        if names is None or self.left_out is None:
            return None
        a, b = (ordered[name] for name in names)
        mapped: dict[str, Any] = {"columns": list(names)}
        for s, sample in enumerate(("x", "y")):
            place = self.part.place[self.part.place < len(self.left_out[0])]
            if s == 1:
                place = self.part.place[self.part.place >= len(self.left_out[0])] - len(self.left_out[0])
            points = np.column_stack([a.columns[s].values, b.columns[s].values, self.left_out[s][place]])
            points = points[np.isfinite(points).all(axis=1)]
            rng = np.random.default_rng([self.subject.seed, 3])
            mapped[sample] = points[np.sort(rng.permutation(len(points))[:_MOST_MAPPED])].tolist()
        return mapped

    def _notes(self) -> list[str]:
        exchange, plan, part = self.subject.exchange, self.plan, self.part
        notes = [
            f"columns and pairs: exact for what exchanging {exchange.words} leaves unchanged, from {self.draws} "
            "relabellings; corrected for all by step-down maxima"
        ]
        total = sum(len(sample) for sample in self.subject.table.samples[:2])
        if len(part.rows) < total:
            notes.append(f"columns and pairs were judged on a random part of {len(part.rows)} of {total} rows")
        if self.with_own_margins is not None:
            notes.append("as single columns differ, pairs were judged once more with the columns' own ranks, and the "
                         "larger p-value counts; for that hypothesis it is valid for large samples")  # fmt: skip
        varying = len(np.unique(part.source[np.ptp(part.rows, axis=0) > 0]))
        if len(plan.sources) < varying:
            notes.append(f"pairs of {len(plan.sources)} of {varying} columns, those that depend most on others")
        elif self.pairs is not None and plan.degrees < MOST_DEGREES:
            notes.append(f"pairs were compared by polynomials of degree at most {plan.degrees} of their ranks")
        if not (exchange.weights == 1).all():
            notes.append("shares, medians and portraits count rows without their weights")
        if self.left_out is None:
            notes.append("this test gives no evidence of single rows")
        return notes


def _judged_pairs(
    part: Part, plan: Plan, relabellings: Relabellings, columns: Findings, level: float
) -> tuple[Findings | None, Findings | None]:
    """Pairs of columns, and once more with own margins where a column of the plan differs by itself."""
    if len(plan.sources) < 2:
        return None, None
    pairs = judged_pairs(part, plan, relabellings)
    shifted = bool((columns.pvalues[plan.sources] <= level).any())
    return pairs, judged_pairs(part, plan, relabellings, own_margins=True) if shifted else None
