"""What the classical tests return: frozen, printable, and complete enough to repeat the run."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import from_record
from tellapart._spec import from_spec, rebuilt, refuse_specs, to_spec
from tellapart._version import __version__
from tellapart.inference.null import Verdict
from tellapart.report.fragment import to_fragment
from tellapart.report.text import USUAL_LEVEL, classical_rows, to_classical_text, verdict_sentence
from tellapart.split import Split

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class RelabelledResult:
    """What the results of the classical tests have in common.

    Attributes
    ----------
    statistic, pvalue : float
        `statistic_name` says which statistic it is. The result unpacks into this pair.
    test : str
        The name of the function that this is the result of.
    choices : dict
        Its arguments as they were passed.
    n, m : int
        Rows that judged.
    n_train, m_train : int
        Rows that learned: 0 where nothing was learned.
    null_distribution : array, or None in a result that was read back
        The statistic of the relabellings that were drawn.
    """

    test: str
    statistic: float
    pvalue: float
    statistic_name: str
    how: str
    choices: dict[str, Any]
    null: Any
    n: int
    m: int
    n_train: int
    m_train: int
    columns: int
    rng: dict[str, Any]
    version: str
    notes: tuple[str, ...] = ()
    null_distribution: Values | None = field(default=None, repr=False)

    _schema: ClassVar[str]  # of to_dict; raised when its meaning changes
    _plain: ClassVar[tuple[str, ...]] = (
        "test", "pvalue", "statistic_name", "how", "n", "m", "n_train", "m_train", "columns", "version",
    )  # fmt: skip
    _specs: ClassVar[tuple[str, ...]] = ("choices", "null")

    @classmethod
    def of(cls, verdict: Verdict, split: Split, **about: Any) -> Self:
        """One result out of what the stages left."""
        rows = np.concatenate([split.test.pooled, split.train.pooled])
        same = (rows == rows[0]).all()
        return cls(
            statistic=verdict.statistic,
            pvalue=verdict.pvalue,
            statistic_name=verdict.statistic_name,
            how=verdict.how,
            n=split.test.n,
            m=split.test.m,
            n_train=split.train.n,
            m_train=split.train.m,
            columns=rows.shape[1],
            version=__version__,
            notes=("all rows of both samples are identical, so nothing tells them apart",) if same else (),
            null_distribution=verdict.null_distribution,
            **about,
        )

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __str__(self) -> str:
        return self.summary()

    def summary(self, level: float = 0.05) -> str:
        """The verdict at `level` in words, and how it came about."""
        return to_classical_text(self.to_dict(), checks.share("level", level, usual=0.05))

    def _repr_html_(self) -> str:
        """In notebooks: the verdict at the usual level, and how it came about."""
        return to_fragment(verdict_sentence(self.pvalue, USUAL_LEVEL), classical_rows(self.to_dict()))

    def settings(self) -> dict[str, Any]:
        """Arguments that repeat the run: the same test with ``(x, y, **result.settings())`` on the same rows."""
        refuse_specs({**self.choices, "null": self.null})
        return {**self.choices, "null": self.null, "rng": from_record(self.rng)}

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays, in JSON types. Same result, same dict."""
        plain = {name: getattr(self, name) for name in self._plain}
        specs = {name: to_spec(getattr(self, name)) for name in ("statistic", *self._specs)}
        return {"schema": self._schema, **plain, **specs, "rng": deepcopy(self.rng), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> Self:
        """A result from :meth:`to_dict`, without the null distribution."""
        if d.get("schema") != cls._schema:
            raise ValueError(f"`d` must be the dict of a result with schema {cls._schema!r}, got {d.get('schema')!r}.")
        return cls(
            **{name: d[name] for name in cls._plain},
            **{name: rebuilt(d[name]) for name in cls._specs if name != "choices"},
            statistic=from_spec(d["statistic"]),
            choices={name: rebuilt(choice) for name, choice in d["choices"].items()},
            rng=deepcopy(d["rng"]),
            notes=tuple(d["notes"]),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassicalTestResult(RelabelledResult):
    """The outcome of :func:`mmd_test` or :func:`kfda_test`.

    Attributes
    ----------
    kernel : Kernel
        As it was learned, or with the bandwidth that the pooled rows gave it where it was a rule.
    exchanged : str
        What was relabelled: rows, whole groups, rows within strata, pairs.
    """

    kernel: Any
    exchanged: str

    _schema: ClassVar[str] = "classical 2"
    _plain: ClassVar[tuple[str, ...]] = (*RelabelledResult._plain, "exchanged")
    _specs: ClassVar[tuple[str, ...]] = (*RelabelledResult._specs, "kernel")

    def settings(self) -> dict[str, Any]:
        """Arguments that repeat the run: ``mmd_test(x, y, **result.settings())`` on the same rows.

        Groups and strata are part of the data: pass them again.
        """
        return {**super().settings(), "pairs": self.exchanged == "pairs"}
