"""The test that splits nothing: samples -> ensemble of statistics -> relabellings -> result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._arrays import FloatArray
from tellapart._randomness import as_generator
from tellapart._threads import one_blas_thread
from tellapart._version import __version__
from tellapart.explanation import Subject
from tellapart.inference.bundles import bundled
from tellapart.inference.certificate import Certificate, certify
from tellapart.inference.ensemble import MOST_IN_MEMORY, prepared
from tellapart.inference.exchange import Exchange, PerSample
from tellapart.inference.large_certificate import certify_many
from tellapart.inference.leave_one_out import DegreesOfFreedom, RidgeGrid
from tellapart.inference.null import Permutation
from tellapart.inference.prequential import Prequential
from tellapart.inference.refit import Refit
from tellapart.inference.several import heard_several
from tellapart.inference.sums import PooledRows
from tellapart.inference.whole_sample import as_families, as_ridges
from tellapart.joint_result import Explains, Sizes, TellApartResult, area
from tellapart.kernels import BandwidthGrid, Precomputed
from tellapart.pairs import Shares
from tellapart.procedure import as_learner
from tellapart.samples import Samples, listed_samples, sample_names
from tellapart.several_result import SeveralResult
from tellapart.tables import Encoded, encoded
from tellapart.witness.select import Select

Values = NDArray[np.float64]

_JOINT_NULL = Permutation(499, stop_after=20)
_REFIT = Refit()
_MOST_LEARNING = 2000  # rows of which a certificate learns: its learner's cost grows with their third power


def tell_apart(
    x: Any,
    y: Any = None,
    *,
    kernels: Any = None,
    ridges: RidgeGrid | Sequence[float] = DegreesOfFreedom(),
    families: Sequence[str] | None = None,
    learner: Any = None,
    null: Permutation | Refit | Prequential | None = None,
    groups: PerSample | None = None,
    strata: PerSample | None = None,
    pairs: bool = False,
    blocks: int | None = None,
    weights: PerSample | None = None,
    memory: float = 2.0,
    rng: Any = None,
) -> TellApartResult | SeveralResult:
    """Test whether samples come from the same distribution, without splitting them.

    Every row learns and every row judges: for each kernel and ridge of a grid, the witness learned from all rows but
    one is evaluated at that row. Kernel, ridge and kind of statistic are chosen inside every relabelling, so the
    p-value is exact at any number of rows, and no row is spent on choosing.

    Parameters
    ----------
    x, y : array-like, data frame or tensor of shape (n, d) and (m, d)
        The samples, at least 2 rows each. Data frames are matched by column name, and columns that are no numbers, or
        have missing values, are encoded on the pooled rows (:mod:`tellapart.tables`). Several samples: a list of them
        as `x`, and no `y`; or a dict, whose keys name them in what is said of their tables. With a precomputed
        kernel: any sequences.
    kernels : BandwidthGrid, kernel, or sequence of them, optional
        Default: five Gaussian and five Laplace kernels whose bandwidths span the distances among the pooled rows, after
        every column is divided by its spread (its interquartile range), so that neither units nor outliers matter.
        `tellapart.kernels.Precomputed` takes a kernel matrix of strings, graphs or anything, `Features` a function.
    ridges : DegreesOfFreedom, or sequence of float
        Ridges as effective degrees of freedom of the witness, or numbers that are added to the pooled covariance.
    families : sequence of str, optional
        Kinds of statistics that take part: "left out", "kernel", "linear", "potential", "single columns", "all
        columns", "single pairs", "pairs of columns". Default: all; with kernels of your own those that are made of
        kernels.
    learner : Fisher, Select, FromEstimator, ..., optional
        Any learner in place of the kernels: it is refitted for every relabelling (`null=Refit(19)`), or learns from
        past blocks of rows and is judged on the next (`null=Prequential()`), which is cheaper. Both are exact.
    null : Permutation, Refit or Prequential, optional
        Default: ``Permutation(499, stop_after=20)``: at most 499 relabellings, fewer where it is soon clear that the
        labels do not matter; the p-value stays exact.
    groups : pair of arrays, optional
        A group for each row of `x` and of `y` (patients, days). Whole groups are relabelled, so rows of one group may
        depend on each other; each group lies in one sample. How many rows a group has is part of what is compared: if
        it differs by design, pass the number as `strata`.
    strata : pair of arrays, optional
        A stratum for each row of `x` and of `y` (hospitals, batches). Labels are exchanged within strata only, so
        strata may differ, and may be mixed differently in the two samples.
    pairs : bool
        Row i of `x` and row i of `y` belong together (before and after): labels are exchanged within pairs.
    blocks : int, optional
        Rows are in the order of time: blocks of so many neighbouring rows are relabelled as a whole. Choose them longer
        than the memory of the series.
    weights : pair of arrays, optional
        A positive weight for each row of `x` and of `y` (survey or Monte-Carlo weights). A weight belongs to its row
        and is relabelled with it: the null hypothesis is that rows with their weights are exchangeable.
    memory : float
        Gigabytes that the computation may use beside the rows themselves. Few rows need little; many are summed up
        in one pass over chunks, with as many features as fit.
    rng : int, numpy.random.Generator, or None
        Seed or source of randomness. The same seed gives the same result.

    Returns
    -------
    TellApartResult
        With `pvalue`, `families` (what spoke, and how loud), `evidence` of every row, `auc`, and certified bounds for
        the total variation between the distributions; prints as a verdict. For several samples a `SeveralResult`.

    Notes
    -----
    Level: the argument stands in :mod:`tellapart.inference.whole_sample`; the null hypothesis is that the relabellings
    leave the distribution of the data unchanged. Without `groups`, `strata`, `pairs` or `blocks` that means independent
    rows, not rows of the same patient or neighbours in time.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.datasets import blobs
    >>> x, y = blobs(100, theta=np.pi / 4, rng=0)     # at this size the split test finds it half of the time
    >>> tell_apart(x, y, rng=0).pvalue
    0.002
    """
    generator, record = as_generator(rng)
    parts = _as_parts(x, y, kernels)
    exchange = Exchange.among([len(part) for part in parts.rows], groups, strata, pairs, blocks, weights)
    used = {"kernels": kernels, "ridges": ridges, "families": families, "learner": learner, "null": null}
    used |= {"pairs": pairs, "blocks": blocks, "memory": memory}
    order = generator.permutation(len(exchange.unit_of_row))
    given = (x, y) if y is not None else tuple(listed_samples(x))
    made = Made(given, parts, exchange, used, record, generator, order)
    with one_blas_thread():
        if len(parts.rows) > 2:
            return made.several()
        return made.by_kernels() if learner is None else made.by_learner()


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows of every sample, and the names of the columns; rows of precomputed kernels are only numbers."""

    rows: tuple[FloatArray, ...]
    columns: tuple[str, ...] | None
    numbered: bool
    notes: tuple[str, ...] = ()
    schema_differences: tuple[str, ...] = ()
    table: Encoded | None = None  # None for rows of precomputed kernels

    @property
    def constant(self) -> bool:
        """Whether all rows are the same."""
        return all(bool((part == self.rows[0][0]).all()) for part in self.rows)

    @property
    def samples(self) -> Samples:
        return Samples(self.rows[0], self.rows[1], self.columns, self.shares)

    @property
    def shares(self) -> Shares:
        """What each column counts in distances, where several are one column of the table."""
        return None if self.table is None else self.table.shares


@dataclass(frozen=True, eq=False)
class Made:
    """One call of :func:`tell_apart`, its samples checked.

    Rows are computed with in random `order`: rounding treats rows at different places differently, and a place must not
    tell which sample a row is from.
    """

    given: tuple[Any, ...]  # the samples as they came
    parts: Parts
    exchange: Exchange
    used: dict[str, Any]
    record: dict[str, Any]
    rng: np.random.Generator
    order: NDArray[np.intp]

    def by_kernels(self) -> TellApartResult:
        """The default: an ensemble of statistics, heard for relabellings."""
        families = as_families(self.used["families"], self.used["kernels"] is not None)
        null = self._permutation()
        ensemble = self._ensemble(families, null)
        relabellings = self.shuffled.labellings(int(null.n_permutations), self.rng)
        hearing = None if self.parts.constant else ensemble.heard(relabellings, families, null.stop_after)
        if hearing is None:
            note = "nothing tells any two rows apart, so nothing tells the samples apart"
            return self._result(0.0, 1.0, draws=0, computed=ensemble.words, notes=(note, *self.parts.notes))
        return self._result(
            hearing.statistic,
            hearing.pvalue,
            families=TellApartResult.families_of(hearing, self.parts.columns),
            evidence=self._in_place(ensemble.evidence(hearing, relabellings)),
            draws=hearing.draws,
            computed=ensemble.words,
        )

    def by_learner(self) -> TellApartResult:
        """Any learner: refitted for every relabelling, or prequential."""
        learner, null = as_learner(self.used["learner"]), _REFIT if self.used["null"] is None else self.used["null"]
        if self.used["kernels"] is not None or self.used["families"] is not None:
            raise ValueError("`learner` takes the place of `kernels` and `families`: pass one or the other.")
        if not (self.exchange.weights == 1).all():
            raise ValueError("`weights` cannot go with `learner`, which would not see them. Leave one of them out.")
        if isinstance(null, Refit):
            rows, units = np.concatenate(self.parts.rows), self.exchange.unit_of_row
            labels = self.exchange.relabellings(int(null.n_permutations), self.rng)
            strata = self.exchange.stratum[units]
            refitted = null.judge(rows, labels, learner, self.rng, unit=units, stratum=strata, shares=self.parts.shares)
            return self._result(
                refitted.statistic,
                refitted.pvalue,
                evidence=refitted.evidence,
                draws=len(refitted.drawn),
                computed=refitted.how,
            )
        if not isinstance(null, Prequential):
            raise TypeError(f"`null` must be Refit(...) or Prequential(...) with a `learner`, got {null!r}.")
        if self.exchange.words != "rows":
            raise ValueError(
                "`null=Prequential()` needs independent rows. Use null=Refit() with groups, strata or pairs."
            )
        judged = null.judge(self.parts.samples, learner, self.rng)
        evidence = np.concatenate([judged.evidence_x, judged.evidence_y])
        statistic = -float(np.log(judged.pvalue))
        return self._result(statistic, judged.pvalue, evidence=evidence, draws=0, computed=judged.how)

    def several(self) -> SeveralResult:
        """Several samples: the overall p-value, and the pairs by closed testing."""
        if self.used["learner"] is not None:
            raise ValueError("`learner` compares two samples. Leave it out for several, or pass two.")
        families = as_families(self.used["families"], self.used["kernels"] is not None)
        null = self._permutation()
        ensemble = self._ensemble(families, null)
        heard = heard_several(ensemble, self.shuffled, families, int(null.n_permutations), self.rng)
        return SeveralResult(
            heard.pvalue,
            heard.pairs,
            tuple(len(part) for part in self.parts.rows),
            self.parts.rows[0].shape[1],
            int(null.n_permutations),
            self.exchange.words,
            ensemble.words,
            self.used,
            self.record,
            __version__,
            self.parts.notes,
            self.parts.schema_differences,
        )

    def _permutation(self) -> Permutation:
        null = _JOINT_NULL if self.used["null"] is None else self.used["null"]
        if not isinstance(null, Permutation) or null.count != "exact":
            raise TypeError(f"`null` must be Permutation(...), Refit(...) or Prequential(...), got {null!r}.")
        return null

    def _ensemble(self, families: Sequence[str], null: Permutation) -> Any:
        ridges, memory = as_ridges(self.used["ridges"]), checks.positive("memory", self.used["memory"])
        draws = int(null.n_permutations)
        kernels = self.used["kernels"]
        rows = PooledRows(self.parts.rows, self.order, self.parts.shares)
        return prepared(rows, kernels, ridges, families, self.shuffled, draws, 1e9 * memory, self.rng)

    @cached_property
    def shuffled(self) -> Exchange:
        """The exchange of rows in random order, in bundles where they are very many."""
        return bundled(self.exchange.shuffled(self.order), self.rng)

    def _in_place(self, values: Values | None) -> Values | None:
        """Values of the rows in the order in which the rows came."""
        if values is None:
            return None
        placed = np.empty_like(values)
        placed[self.order] = values
        return placed

    def _result(
        self, statistic: float, pvalue: float, *, evidence: Values | None = None, **known: Any
    ) -> TellApartResult:
        rows = self.parts.rows
        n, m = len(rows[0]), len(rows[1])
        split = None if evidence is None else (evidence[:n], evidence[n:])
        judged = None if split is None else tuple(e[~np.isnan(e)] for e in split)
        seed = int(self.rng.integers(2**63))
        return TellApartResult(
            statistic,
            pvalue,
            auc=0.5 if judged is None else area(*judged),
            sizes=Sizes(n, m, rows[0].shape[1]),
            exchanged=self.exchange.words,
            settings_used=self.used,
            rng=self.record,
            version=__version__,
            evidence=split,
            certificate_of=self._certificate(seed),
            explanation_of=self._explanation(seed),
            schema_differences=self.parts.schema_differences,
            **{"notes": self.parts.notes, **known},
        )

    def _explanation(self, seed: int) -> Explains | None:
        """How to say where the samples differ; it is computed when asked for."""
        if self.parts.table is None:
            return None
        return Subject((self.given[0], self.given[1]), self.parts.table, self.exchange, Fewer(), seed).explained

    def _certificate(self, seed: int) -> partial[Certificate] | None:
        """How to certify the effect, where rows are independent; it is computed when asked for."""
        if self.exchange.words != "rows" or self.parts.numbered or min(map(len, self.parts.rows)) < 4:
            return None
        return partial(_certified, self.parts.samples, 1e9 * self.used["memory"], seed)


def _certified(samples: Samples, memory: float, seed: int) -> Certificate:
    rng = np.random.default_rng(seed)
    with one_blas_thread():
        if samples.n + samples.m > MOST_IN_MEMORY:
            return certify_many(samples, memory, rng)
        return certify(samples, Fewer(), rng)


@dataclass(frozen=True)
class Fewer:
    """The selected Fisher witness of at most 2,000 rows, drawn at random."""

    def learn(self, train: Samples, rng: np.random.Generator) -> Any:
        """Of a random part of each sample."""
        share = min(1.0, _MOST_LEARNING / (train.n + train.m))
        chosen = [
            rng.permutation(size)[: max(min(size, 4), round(share * size))] if share < 1 else np.arange(size)
            for size in (train.n, train.m)
        ]
        return Select().learn(train.take(*chosen), rng)


def _as_parts(x: Any, y: Any, kernels: Any) -> Parts:
    """Checked rows of all samples."""
    listed = [kernels] if isinstance(kernels, Precomputed) else kernels
    if isinstance(listed, Sequence) and any(isinstance(k, Precomputed) for k in listed):
        return _numbered_parts(x, y, listed)
    samples = listed_samples(x) if y is None else [x, y]
    names = sample_names(x, y)
    table = encoded(*samples, names=names)
    schema = tuple(d.text for d in table.schema)
    parts = Parts(table.samples, table.columns, False, table.notes, schema, table)
    for name, rows in zip(names, parts.rows, strict=True):
        if len(rows) < 2:
            raise ValueError(f"`{name}` must have at least 2 rows, got {len(rows)}.")
    return parts


def _numbered_parts(x: Any, y: Any, kernels: Sequence[Any]) -> Parts:
    """Rows as numbers of rows of a precomputed matrix."""
    sizes = [len(part) for part in (listed_samples(x) if y is None else (x, y))]
    for kernel in kernels:
        if isinstance(kernel, BandwidthGrid) or not isinstance(kernel, Precomputed):
            raise TypeError(f"`kernels`: precomputed matrices go with precomputed matrices only, got {kernel!r}.")
        if len(kernel.matrix) != sum(sizes):
            raise ValueError(
                f"`kernels`: a precomputed matrix must have {' + '.join(map(str, sizes))} rows, one for each object, "
                f"got {len(kernel.matrix)}."
            )
    ends = np.cumsum([0, *sizes])
    rows = tuple(np.arange(a, b, dtype=np.float64)[:, None] for a, b in pairwise(ends))
    return Parts(rows, None, True)
