"""Any learner without losing rows: permute the labels, refit, and let every row judge a witness that never saw it.

The rows are cut into K folds. For one assignment of labels, a witness is learned on all folds but one and evaluated on
that one, so every row gets a value. The same is done for B random relabellings, and the observed statistic is ranked
among them.

**Level.** Put the rows in random order, draw folds and one seed for each fold: nothing of this looks at labels. Given
all of it, the statistic is one fixed function T of the labels, whatever the learner does with the rows, their order or
its seed. Under the null hypothesis the observed labels are one uniform draw from the allowed relabellings of the
(unlabelled) rows, exchangeable with the B others. So ``T_0, T_1, ..., T_B`` are exchangeable and
``P((1 + #{T_b >= T_0}) / (1 + B) <= level) <= level`` for every B. That the folds of one relabelling share their rows,
which makes sums of fold z-scores overshoot when they are referred to a normal, does no harm here: every T_b has it.
Folds stratified by the observed labels would break the argument, so a fold may hold any number of rows of each sample.

**Statistic.** With v the values of a fold's witness on the fold, u is v minus its mean, divided by its standard
deviation, both over all rows of the fold (label-blind), because witnesses of different folds have different offsets and
scales. With labels y (1 for the first sample) and their means within folds,

    T = sum_i (y_i - mean_fold(i) y) u_i / sqrt(sum_i (y_i - mean_fold(i) y)^2),

sqrt(N) times the correlation of labels and values, the folds partialled out. In a single fold it orders relabellings as
the signal-to-noise ratio with pooled variance does. The root makes relabellings comparable that happen to spread the
samples differently over the folds, or whose groups have other numbers of rows. Where labels are exchanged within
strata, means are taken within fold and stratum, so that differences between strata are no noise.

A constant witness has u = 0. Where fewer than two rows of either sample are left to learn from there is no witness, and
u = 0 as well; both rules are the same for every relabelling.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks as checks
from tellapart._arrays import FloatArray
from tellapart._progress import progress
from tellapart.inference.pvalue import permutation_pvalue, reaches, stopped_pvalue
from tellapart.inference.stage_one import Learns, values_of
from tellapart.moments import unit_scaled
from tellapart.pairs import Shares
from tellapart.samples import Samples

Values = NDArray[np.float64]
Ids = NDArray[np.intp]
Labels = NDArray[np.bool_]

FEWEST = 2  # rows of each sample to learn from


@dataclass(frozen=True, eq=False)
class Refitted:
    """The statistic of the observed labels and of every relabelling, and what the observed labels say of each row."""

    statistic: float
    pvalue: float
    drawn: Values  # the same statistic for the relabellings, as many as were needed
    evidence: Values  # (N,) standardised value of each pooled row under the witness that did not see it
    how: str


@dataclass(frozen=True)
class Refit:
    """Permute the labels and learn again: exact for any learner.

    Parameters
    ----------
    n_permutations : int
        Relabellings; each costs `folds` fits. The smallest p-value is 1 / (n_permutations + 1), so 19 suffice for the
        level 0.05.
    folds : int
        Parts of the rows; each is judged by a witness learned on the others.
    processes : int, optional
        Processes that share the relabellings. None and 1 compute in this one. With more, learner and rows must pickle,
        and a script needs its ``if __name__ == "__main__":``. The result does not depend on the number.
    stop_after : int, optional
        Besag and Clifford's early stopping: no further refits once so many relabellings have reached the observed
        statistic. Exact too, because the relabelled statistics are exchangeable with the observed one.

    Notes
    -----
    Guarantee: exact at any number of rows, if the relabellings leave the distribution of the data unchanged; the
    argument stands at the head of this module.
    """

    n_permutations: int = 19
    folds: int = 5
    processes: int | None = None
    stop_after: int | None = None

    def __post_init__(self) -> None:
        checks.whole("n_permutations", self.n_permutations)
        checks.whole("folds", self.folds, least=2)
        if self.processes is not None:
            checks.whole("processes", self.processes)
        if self.stop_after is not None:
            checks.whole("stop_after", self.stop_after)

    def judge(
        self,
        rows: FloatArray,
        labels: ArrayLike,
        learner: Learns,
        rng: np.random.Generator,
        *,
        unit: Ids | None = None,
        stratum: Ids | None = None,
        shares: Shares = None,
    ) -> Refitted:
        """The p-value of `learner` on the pooled `rows` among relabellings.

        `labels` (N, B + 1) are positive for the first sample, the observed ones in the first column. `unit` (N,)
        numbers what is relabelled as a whole, `stratum` (N,) that within which labels are exchanged: 0, 1, 2, ...
        `shares` are those of the columns in their sources.
        """
        first = np.asarray(labels) > 0
        order = rng.permutation(len(rows))  # without it the place of a row would give its label away
        unit = np.arange(len(rows)) if unit is None else unit
        stratum = np.zeros(len(rows), dtype=np.intp) if stratum is None else stratum
        fitted = replace(CrossFit.of(rows[order], unit[order], stratum[order], self.folds, learner, rng), shares=shares)
        statistics, evidence = self._statistics(fitted, first[order])
        unshuffled = np.empty(len(rows))
        unshuffled[order] = evidence
        how = f"{len(statistics) - 1} relabellings, the learner refitted for each"
        return Refitted(float(statistics[0]), self._pvalue(statistics), statistics[1:], unshuffled, how)

    def _statistics(self, fitted: CrossFit, labels: Labels) -> tuple[Values, Values]:
        """Statistics in the order of the columns, until all are there or it is time to stop; evidence of the first."""
        columns = range(labels.shape[1])
        found: list[float] = []
        evidence = np.zeros(len(labels))
        with _evaluated(fitted, labels, int(self.processes or 1)) as results:
            for b, values in zip(progress(columns, "refitting for relabelled rows"), results, strict=True):
                evidence = values if b == 0 else evidence
                found.append(fitted.statistic(labels[:, b], values))
                if self._enough(found):
                    break
        return np.array(found), evidence

    def _enough(self, found: list[float]) -> bool:
        return self.stop_after is not None and self._reached(np.array(found)).sum() >= self.stop_after

    def _pvalue(self, statistics: Values) -> float:
        if self.stop_after is None:
            return permutation_pvalue(float(statistics[0]), statistics[1:])
        return stopped_pvalue(self._reached(statistics), int(self.stop_after))[0]

    def _reached(self, statistics: Values) -> Labels:
        return reaches(statistics[1:], float(statistics[0]))


@dataclass(frozen=True, eq=False)
class CrossFit:
    """All that the statistic is made of but the labels: rows, folds, cells of folds and strata, learner, seeds."""

    rows: FloatArray  # (N, d)
    fold: Ids  # (N,)
    cell: Ids  # (N,) fold and stratum in one number
    seeds: tuple[int, ...]  # one for each fold, the same for every relabelling
    learner: Learns
    shares: Shares = None  # of the columns in their sources

    @classmethod
    def of(
        cls, rows: FloatArray, unit: Ids, stratum: Ids, folds: int, learner: Learns, rng: np.random.Generator
    ) -> CrossFit:
        """Folds and seeds for `rows` in random order."""
        fold = blind_folds(unit, stratum, folds, rng)
        cell = np.unique(fold * (stratum.max() + 1) + stratum, return_inverse=True)[1].reshape(-1)
        seeds = tuple(int(s) for s in rng.integers(2**63, size=int(fold.max()) + 1))
        return cls(rows, fold, cell, seeds, learner)

    def values(self, first: Labels) -> Values:
        """The standardised value u of every row, if the rows of `first` are the first sample."""
        u = np.zeros(len(self.rows))
        for f, seed in enumerate(self.seeds):
            inside = self.fold == f
            train = Samples(self.rows[~inside & first], self.rows[~inside & ~first], shares=self.shares)
            if min(train.n, train.m) >= FEWEST:
                u[inside] = _standardised(self._learned(train, seed, self.rows[inside]), self.cell[inside])
        return u

    def statistic(self, first: Labels, u: Values) -> float:
        """``T`` of the formula above."""
        y = _centred(first.astype(float), self.cell)
        size = float(np.sqrt(y @ y))
        return float(y @ u) / size if size > 0 else 0.0

    def _learned(self, train: Samples, seed: int, rows: FloatArray) -> Values:
        try:
            return values_of(self.learner.learn(train, np.random.default_rng(seed)), rows)
        except Exception as error:
            error.add_note(
                f"`learner`: {type(self.learner).__name__} was refitted to {train.n} and {train.m} rows, labelled as "
                f"observed or at random. It must bear any two samples of at least {FEWEST} rows."
            )
            raise


def blind_folds(unit: Ids, stratum: Ids, folds: int, rng: np.random.Generator) -> Ids:
    """The fold of every row, drawn without labels: (N,), from the numbers of each row's unit and stratum.

    A unit (row or group) lies in one fold. If there are many strata, each lies in one fold too: of a pair whose one row
    is learned from, the other is known to have the opposite label, and what looks like it would be judged wrongly.
    Few strata are dealt out evenly over the folds instead.
    """
    whole_strata = int(stratum.max()) + 1 >= 2 * folds
    kinds, representative, part = np.unique(stratum if whole_strata else unit, return_index=True, return_inverse=True)
    size = np.bincount(part.reshape(-1))
    stratum_of_part = np.zeros(len(kinds)) if whole_strata else stratum[representative]
    # Random order; the large ones first, and to and fro over the folds, so that folds have about as many rows.
    dealt = np.lexsort((rng.random(len(kinds)), -size, stratum_of_part))
    folds = min(folds, len(kinds))
    place = np.arange(len(kinds)) % (2 * folds)
    fold_of_part = np.empty(len(kinds), dtype=np.intp)
    fold_of_part[dealt] = np.minimum(place, 2 * folds - 1 - place)
    return np.asarray(fold_of_part[part.reshape(-1)])


def _standardised(values: Values, cell: Ids) -> Values:
    """Centred within cells, divided by the standard deviation of the fold; a constant stays zero."""
    h = _centred(unit_scaled(values[:, None])[0][:, 0], cell)
    spread = float(np.sqrt(np.mean(h**2)))
    return h / spread if spread > 1e-12 else np.zeros_like(h)


def _centred(values: Values, cell: Ids) -> Values:
    counts = np.maximum(np.bincount(cell), 1)
    return np.asarray(values - (np.bincount(cell, weights=values) / counts)[cell])


@contextmanager
def _evaluated(fitted: CrossFit, labels: Labels, processes: int) -> Iterator[Iterator[Values]]:
    """Values of every relabelling in the order of the columns, computed here or by so many processes."""
    columns = list(labels.T)
    if processes == 1:
        yield map(fitted.values, columns)
        return
    # "spawn" works on every system and with threads; the job is pickled here, so that a failure is told here.
    job = _pickled(fitted)
    pool = ProcessPoolExecutor(min(processes, len(columns)), get_context("spawn"), _hold, (job,))
    try:
        yield pool.map(_values_of, columns)
    except BrokenProcessPool as error:
        raise RuntimeError(
            f"`processes`: one of {processes} worker processes ended before its work was done. Either memory ran out, "
            'or this is a script without `if __name__ == "__main__":`. Pass processes=1 to compute in this process.'
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _pickled(fitted: CrossFit) -> bytes:
    try:
        return pickle.dumps(fitted)
    except Exception as error:  # pickle raises what it likes: PicklingError, TypeError, AttributeError
        raise TypeError(
            f"`learner` must pickle to be used by several processes, but {type(fitted.learner).__name__} does not: "
            f"{error} Pass processes=1."
        ) from error


# What a worker process holds: the job as it came, then unpickled. Unpickling is part of the first task, because an
# error there reaches the caller, and an error while the process starts does not.
_held: dict[str, Any] = {}


def _hold(job: bytes) -> None:
    _held["job"] = job


def _values_of(first: Labels) -> Values:
    if "job" in _held:
        _held["fitted"] = _unpickled(_held.pop("job"))
    values: Values = _held["fitted"].values(first)
    return values


def _unpickled(job: bytes) -> CrossFit:
    try:
        fitted: CrossFit = pickle.loads(job)
    except Exception as error:
        raise TypeError(
            f"`learner` must be importable by the worker processes, but it is not: {error}. Define it in a module, not "
            "in a notebook or prompt, or pass processes=1."
        ) from error
    _one_thread()
    return fitted


def _one_thread() -> None:
    """Workers share the cores already; if each used all of them they would wait for each other."""
    with suppress(ImportError):
        import_module("threadpoolctl").threadpool_limits(1)
