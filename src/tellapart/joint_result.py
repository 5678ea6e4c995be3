"""What the test without a split returns: frozen, printable, and complete enough to repeat the run."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import from_record
from tellapart._spec import NotPlain, from_spec, is_spec, rebuilt, to_spec
from tellapart.inference.whole_sample import Hearing
from tellapart.report.text import to_joint_text
from tellapart.samples import Samples

Values = NDArray[np.float64]

_SCHEMA = "joint 1"  # of to_dict; raised when its meaning changes


@dataclass(frozen=True)
class Loudest:
    """The loudest statistic of a family: its kernel, its effective degrees of freedom, and how loud it was."""

    kernel: Any
    freedom: float | None
    score: float
    pvalue: float  # of the family by itself; the joint p-value pays for the choice between families


@dataclass(frozen=True)
class Sizes:
    """Rows of the samples, and columns."""

    n: int
    m: int
    columns: int


@dataclass(frozen=True, eq=False)
class TellApartResult:
    """The outcome of :func:`tellapart.tell_apart`.

    Attributes
    ----------
    statistic, pvalue : float
        Sum of the inverse rank p-values of the families, and its exact p-value. The result unpacks into this pair.
    families : dict
        For each family of statistics its loudest member (:class:`Loudest`).
    auc : float
        Chance that a row of `x` has a larger left-out witness value than a row of `y`. No row judges a witness that
        it helped to learn, but the kernel and ridge are the loudest of many, so it is a little optimistic.
    evidence : pair of arrays, or None in a result that was read back
        For each row of `x` and of `y` the value of the witness learned from all other rows: positive speaks for `x`.
    """

    statistic: float
    pvalue: float
    families: dict[str, Loudest]
    auc: float
    sizes: Sizes
    kernels: Any
    freedoms: tuple[float, ...]
    n_permutations: int
    exchanged: str  # what was relabelled: rows, whole groups, rows within strata, pairs
    rng: dict[str, Any]
    version: str
    notes: tuple[str, ...] = ()
    evidence: tuple[Values, Values] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, hearing: Hearing | None, samples: Samples, **choices: Any) -> TellApartResult:
        """One result out of what was heard; where nothing could be heard, p = 1."""
        sizes = Sizes(samples.n, samples.m, samples.x.shape[1])
        if hearing is None:
            note = "no kernel tells any two rows apart, so nothing tells the samples apart"
            return cls(0.0, 1.0, {}, 0.5, sizes, notes=(note,), evidence=None, **choices)
        families = {}
        for family, pvalue in hearing.family_pvalues.items():
            row, score = hearing.loudest(family)
            families[family] = Loudest(row.kernel, row.freedom, score, pvalue)
        evidence = hearing.evidence[: samples.n], hearing.evidence[samples.n :]
        return cls(hearing.statistic, hearing.pvalue, families, area(*evidence), sizes, evidence=evidence, **choices)

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __str__(self) -> str:
        return self.summary()

    def summary(self, level: float = 0.05) -> str:
        """The verdict at `level` in words, and how it came about."""
        return to_joint_text(self.to_dict(), checks.share("level", level, usual=0.05))

    def settings(self) -> dict[str, Any]:
        """Arguments that repeat the run: ``tell_apart(x, y, **result.settings())`` on the same rows.

        Groups and strata are part of the data: pass them again.
        """
        if is_spec(self.kernels):
            raise NotPlain(f"`kernels` were {self.kernels}, which cannot be rebuilt from data: pass them yourself.")
        return {
            "kernels": self.kernels,
            "freedoms": self.freedoms,
            "n_permutations": self.n_permutations,
            "pairs": self.exchanged == "pairs",
            "rng": from_record(self.rng),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays, in JSON types. Same result, same dict."""
        return {
            "schema": _SCHEMA,
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "families": {name: to_spec(loudest) for name, loudest in self.families.items()},
            "auc": self.auc,
            "sizes": asdict(self.sizes),
            "kernels": to_spec(self.kernels),
            "freedoms": to_spec(self.freedoms),
            "n_permutations": self.n_permutations,
            "exchanged": self.exchanged,
            "rng": deepcopy(self.rng),
            "version": self.version,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> TellApartResult:
        """A result from :meth:`to_dict`, without the evidence of the rows."""
        if d.get("schema") != _SCHEMA:
            raise ValueError(f"`d` must be the dict of a result with schema {_SCHEMA!r}, got {d.get('schema')!r}.")
        families = {
            name: Loudest(**{k: rebuilt(v) for k, v in loudest.items() if k != "class"})
            for name, loudest in d["families"].items()
        }
        plain = {k: d[k] for k in ("statistic", "pvalue", "auc", "n_permutations", "exchanged", "version")}
        return cls(
            families=families,
            sizes=Sizes(**d["sizes"]),
            kernels=rebuilt(d["kernels"]),
            freedoms=from_spec(d["freedoms"]),
            rng=deepcopy(d["rng"]),
            notes=tuple(d["notes"]),
            **plain,
        )


def area(h_x: Values, h_y: Values) -> float:
    """P(h_x > h_y) + P(h_x = h_y) / 2 over all pairs.

    >>> area(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    0.875
    """
    ordered = np.sort(h_y)
    below, reached = np.searchsorted(ordered, h_x, side="left"), np.searchsorted(ordered, h_x, side="right")
    return float((below + reached).mean() / (2 * len(h_y)))
