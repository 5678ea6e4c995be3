"""What a test returns: frozen, printable, and complete enough to repeat the run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart import storage
from tellapart._randomness import as_generator, from_record
from tellapart._spec import NotPlain, from_spec, is_spec, rebuilt, to_spec
from tellapart._version import __version__
from tellapart.inference.confidence import (
    ConfidenceInterval,
    Method,
    betting_interval,
    bootstrap_interval,
    welch_interval,
)
from tellapart.inference.null import Null, Verdict
from tellapart.inference.planning import power_from_snr, snr_for
from tellapart.kernels import Precomputed
from tellapart.moments import Standardised, WitnessMoments
from tellapart.report.fragment import to_fragment
from tellapart.report.text import USUAL_LEVEL, to_text, verdict_sentence, witness_rows
from tellapart.samples import as_frame, as_rows
from tellapart.split import Split, TrainShare
from tellapart.tables import Encoded, Encoding
from tellapart.tables.stored import plain_encoding
from tellapart.witness.base import KernelWitness, Learner, Witness
from tellapart.witness.select import SelectedWitness, Selection

if TYPE_CHECKING:
    from tellapart.report.plots import Picture

Values = NDArray[np.float64]

_SCHEMA = 1  # of to_dict; raised when its meaning changes
WITNESS_KIND, WITNESS_VERSION = "witness", 1  # of saved files


@dataclass(frozen=True, eq=False)
class RowWitness:
    """The witness for rows as a user has them: arrays, lists, data frames with the same columns."""

    function: Witness
    n_columns: int
    columns: tuple[str, ...] | None
    encoding: Encoding | None = None

    def __call__(self, z: Any) -> Values:
        """Witness values: large where the first sample is dense, small where the second one is."""
        if self.encoding is not None and as_frame(z, "z") is not None:
            rows = self.encoding.rows(z)
        else:
            rows = as_rows(z, self.n_columns, self.columns)
        return np.asarray(self.function(rows), dtype=np.float64)

    def stored(self) -> storage.Stored:
        """JSON and arrays, where the witness is a sum of kernels that can be written down."""
        if not isinstance(self.function, KernelWitness) or isinstance(self.function.kernel, Precomputed):
            raise TypeError(
                f"`witness` must be a sum of kernels to be saved, as Select, Fisher and Mean learn it, got "
                f"{type(self.function).__name__}: models would need pickles, which run code when they are read."
            )
        spec = to_spec(self.function.kernel)
        from_spec(spec)  # or an error that says which function cannot be written down
        arrays = {"centres": np.asarray(self.function.centres), "coefficients": self.function.coefficients}
        encoding = None if self.encoding is None else plain_encoding(self.encoding, arrays)
        columns = None if self.columns is None else list(self.columns)
        return storage.Stored({"kernel": spec, "columns": columns, "encoding": encoding}, arrays)


@dataclass(frozen=True)
class Rows:
    """How many rows learned, and how many columns there were."""

    n_train: int
    m_train: int
    columns: int


@dataclass(frozen=True, eq=False)
class WitnessTestResult:
    """The outcome of :func:`tellapart.witness_test`.

    Attributes
    ----------
    statistic, pvalue : float
        As the null defines them (`statistic_name` says which statistic it is). The result unpacks into this pair.
    moments : WitnessMoments
        Sizes, means and variances of the witness on the test rows.
    rows : Rows
    notes, schema_differences : tuple of str
        What there is to know beside the figures; what differs between the tables themselves.
    selection : Selection or None
        The whole grid of :class:`tellapart.Select`.
    witness : callable
        ``result.witness(z)`` evaluates the learned witness on any rows.
    values : pair of arrays
        Witness values of the test rows of both samples.
    null_distribution : array or None
        What the null drew, in units of `statistic`.
    train_rows : pair of arrays
        Which rows of `x` and of `y` learned.

    The last four are not part of :meth:`to_dict` and are None in a result that was read back.
    """

    statistic: float
    pvalue: float
    statistic_name: str
    how: str
    moments: WitnessMoments
    rows: Rows
    training_range: tuple[float, float]
    learner: Any
    null: Any
    train_share: Any
    rng: dict[str, Any]
    version: str
    notes: tuple[str, ...] = ()
    schema_differences: tuple[str, ...] = ()
    selection: Selection | dict[str, Any] | None = field(default=None, repr=False)
    witness: RowWitness | None = field(default=None, repr=False)
    values: tuple[Values, Values] | None = field(default=None, repr=False)
    null_distribution: Values | None = field(default=None, repr=False)
    train_rows: tuple[NDArray[np.intp], NDArray[np.intp]] | None = field(default=None, repr=False)

    @property
    def snr(self) -> float:
        """Signal-to-noise ratio of the witness on the test rows."""
        return self.moments.snr

    @property
    def tau(self) -> float:
        """``sqrt(N) SNR`` on the N test rows: the paper's standardised statistic."""
        return self.moments.tau

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __str__(self) -> str:
        return self.summary()

    def summary(self, level: float = 0.05) -> str:
        """The verdict at `level` in words, and how it came about."""
        return to_text(self.to_dict(), checks.share("level", level, usual=0.05))

    def _repr_html_(self) -> str:
        """In notebooks: the verdict at the usual level, and how it came about."""
        return to_fragment(verdict_sentence(self.pvalue, USUAL_LEVEL), witness_rows(self.to_dict(), USUAL_LEVEL))

    def plot(self, level: float = 0.05) -> Picture:
        """Witness values of the test rows, and the statistic among its relabellings, as a Matplotlib figure."""
        from tellapart.report.plots import judged

        if self.values is None:
            raise ValueError("`plot` needs the witness values, which a result read back does not have.")
        said = verdict_sentence(self.pvalue, checks.share("level", level, usual=0.05))
        return judged(said, self.values, self.null_distribution, self.statistic, self.statistic_name)

    def power_at(self, level: float = 0.05, n: int | None = None, m: int | None = None) -> float:
        """Probability that the same witness is found on n and m fresh test rows (default: as many as here).

        The large-sample formula at the observed SNR: as uncertain as that SNR is, and no evidence of its own.
        """
        n = self.moments.n if n is None else checks.whole("n", n, least=2)
        m = self.moments.m if m is None else checks.whole("m", m, least=2)
        return power_from_snr(snr_for(self, n, m), n, m, level)

    def confidence_interval(
        self,
        confidence_level: float = 0.95,
        method: Method = "welch",
        *,
        bounds: tuple[float, float] | None = None,
        n_resamples: int = 2000,
        rng: Any = None,
    ) -> ConfidenceInterval:
        """Two-sided interval for ``E_P h - E_Q h``, the difference in means of the witness.

        Parameters
        ----------
        method : {"welch", "bootstrap", "betting"}
            Student's t (asymptotic); percentile bootstrap (asymptotic, follows skewness); betting: valid at every
            sample size, for the witness clipped to `bounds`.
        bounds : pair of floats, optional
            For "betting". Default: the range of the witness on the training rows, which the test rows do not know.
        """
        checks.share("confidence_level", confidence_level, usual=0.95)
        if method == "welch":
            return welch_interval(self.moments, confidence_level)
        checks.one_of("method", method, ("welch", "bootstrap", "betting"))
        if self.values is None:
            raise ValueError(f"`method={method!r}` needs the witness values, which a result read back does not have.")
        if method == "bootstrap":
            return bootstrap_interval(*self.values, confidence_level, n_resamples, as_generator(rng)[0])
        if bounds is None and not self.training_range[0] < self.training_range[1]:
            raise ValueError("`bounds` must be given: the witness was constant on the training rows, or had none.")
        return betting_interval(*self.values, bounds or self.training_range, confidence_level)

    def settings(self) -> dict[str, Any]:
        """Arguments that repeat the run: ``witness_test(x, y, **result.settings())`` on the same rows."""
        for name, value in (("learner", self.learner), ("null", self.null)):
            if is_spec(value):
                raise NotPlain(
                    f"`{name}` of this result was {value}, which cannot be rebuilt from data: pass it yourself."
                )
        return {
            "learner": self.learner,
            "null": self.null,
            "train_share": self.train_share,
            "rng": from_record(self.rng),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the witness and its values on the test rows of `x` to a file, for :class:`tellapart.SavedWitness`.

        The file holds the training rows of both samples as numbers: they are the centres of the witness.
        """
        if self.witness is None or self.values is None:
            raise ValueError("`save` needs the witness and its values, which a result read back does not have.")
        content = self.witness.stored()
        plain = {name: self.to_dict()[name] for name in ("rows", "training_range", "learner", "version")}
        arrays = {**content.arrays, "values": self.values[0]}
        described = storage.Stored({**content.description, **plain}, arrays)
        storage.save(path, WITNESS_KIND, WITNESS_VERSION, described)

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays and functions, in JSON types. Same result, same dict."""
        return {
            "schema": _SCHEMA,
            "statistic": to_spec(self.statistic),
            "pvalue": self.pvalue,
            "snr": to_spec(self.snr),
            "statistic_name": self.statistic_name,
            "how": self.how,
            "moments": to_spec(asdict(self.moments)),
            "rows": asdict(self.rows),
            "training_range": to_spec(self.training_range),
            "learner": to_spec(self.learner),
            "null": to_spec(self.null),
            "train_share": to_spec(self.train_share),
            "selection": to_spec(self.selection),
            "rng": deepcopy(self.rng),
            "version": self.version,
            "notes": list(self.notes),
            "schema_differences": list(self.schema_differences),
        }

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> WitnessTestResult:
        """A result from :meth:`to_dict`, without witness, values and null distribution."""
        schema = d.get("schema") if isinstance(d, dict) else f"a {type(d).__name__}"
        if schema != _SCHEMA:
            raise ValueError(f"`d` must be the dict of a result with schema {_SCHEMA}, got {schema!r}.")
        return cls(
            statistic=from_spec(d["statistic"]),
            pvalue=d["pvalue"],
            statistic_name=d["statistic_name"],
            how=d["how"],
            moments=WitnessMoments(**from_spec(d["moments"])),
            rows=Rows(**d["rows"]),
            training_range=from_spec(d["training_range"]),
            learner=rebuilt(d["learner"]),
            null=rebuilt(d["null"]),
            train_share=from_spec(d["train_share"]),
            selection=_rebuilt_selection(d["selection"]),
            rng=deepcopy(d["rng"]),
            version=d["version"],
            notes=tuple(d["notes"]),
            schema_differences=tuple(d.get("schema_differences", ())),
        )


def gathered(
    verdict: Verdict,
    witness: Witness,
    split: Split,
    values: tuple[Values, Values],
    choices: tuple[Learner, Null, TrainShare],
    record: dict[str, Any],
    table: Encoded,
) -> WitnessTestResult:
    """One result out of what the stages left."""
    test, train = split.test, split.train
    learned = np.asarray(witness(train.pooled)) if train.n else np.zeros(1)
    return WitnessTestResult(
        statistic=verdict.statistic,
        pvalue=verdict.pvalue,
        statistic_name=verdict.statistic_name,
        how=verdict.how,
        moments=WitnessMoments.of(*values),
        rows=Rows(train.n, train.m, test.x.shape[1]),
        training_range=(float(learned.min()), float(learned.max())),
        learner=choices[0],
        null=choices[1],
        train_share=choices[2],
        rng=record,
        version=__version__,
        notes=(*_notes(split, values), *table.notes),
        schema_differences=tuple(d.text for d in table.schema),
        selection=witness.selection if isinstance(witness, SelectedWitness) else None,
        witness=RowWitness(witness, test.x.shape[1], test.columns, table.encoding),
        values=values,
        null_distribution=verdict.null_distribution,
        train_rows=split.train_rows,
    )


def _notes(split: Split, values: tuple[Values, Values]) -> Iterator[str]:
    rows = np.concatenate([split.test.pooled, split.train.pooled])
    if (rows == rows[0]).all():
        yield "all rows of both samples are identical, so nothing tells them apart"
    elif Standardised.of(*values).constant:
        yield "the witness is constant on the test rows, up to rounding, and tells nothing apart"


def _rebuilt_selection(spec: Any) -> Any:
    if spec is None:
        return None
    try:
        plain = from_spec({k: v for k, v in spec.items() if k != "class"})
    except NotPlain:
        return spec
    return Selection(
        plain["kernels"],
        plain["ridges"],
        np.array(plain["scores"], dtype=float),
        np.array(plain["fold_scores"], dtype=float),
        plain["chosen"],
    )
