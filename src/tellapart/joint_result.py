"""What the test without a split returns: frozen, printable, and complete enough to repeat the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import from_record
from tellapart._spec import rebuilt, refuse_specs, to_spec
from tellapart.explanation import Explanation
from tellapart.inference.certificate import Certificate
from tellapart.inference.planning import relabellings_for, shift_of, snr_found
from tellapart.inference.whole_sample import Hearing
from tellapart.report.fragment import to_fragment
from tellapart.report.text import USUAL_LEVEL, joint_rows, to_joint_text, verdict_sentence

if TYPE_CHECKING:
    from tellapart.report.plots import Picture

Values = NDArray[np.float64]
Explains = Callable[[float, int, "tuple[Values, Values] | None"], Explanation]

_SCHEMA = "joint 2"  # of to_dict; raised when its meaning changes


@dataclass(frozen=True)
class Loudest:
    """The loudest statistic of a family: what it is made of, how loud it was, and the family's own p-value."""

    kernel: Any
    freedom: float | None
    column: str | None
    detail: str
    score: float
    pvalue: float  # of the family by itself; the joint one pays for the choice between families


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
        What the families say together, and its exact p-value. The result unpacks into this pair.
    families : dict
        For each family of statistics its loudest member (:class:`Loudest`).
    auc : float
        Chance that a row of `x` has a larger left-out witness value than a row of `y`. No row judges a witness that
        it helped to learn, but the kernel and ridge are the loudest of many, so it is a little optimistic.
    evidence : pair of arrays, or None in a result that was read back
        For each row of `x` and of `y` the value of the witness learned from all other rows: positive speaks for `x`.
    notes, schema_differences : tuple of str
        What there is to know beside the figures; what differs between the tables themselves.
    draws : int
        Relabellings that were looked at: fewer than `null` allows if the test stopped early.
    """

    statistic: float
    pvalue: float
    auc: float
    sizes: Sizes
    draws: int
    exchanged: str  # what was relabelled: rows, whole groups, rows within strata, pairs
    computed: str  # how: exact kernel matrices, features, folds, refits
    settings_used: dict[str, Any]
    rng: dict[str, Any]
    version: str
    families: dict[str, Loudest] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    schema_differences: tuple[str, ...] = ()
    certified: float | None = None  # the bound at 95 % of a result that was read back
    evidence: tuple[Values, Values] | None = field(default=None, repr=False)
    certificate_of: Callable[[], Certificate] | None = field(default=None, repr=False)
    explanation_of: Explains | None = field(default=None, repr=False)

    @classmethod
    def families_of(cls, hearing: Hearing, columns: tuple[str, ...] | None) -> dict[str, Loudest]:
        """The loudest statistic of each family."""
        return {name: _loudest(hearing, name, columns) for name in hearing.family_pvalues}

    @cached_property
    def certificate(self) -> Certificate | None:
        """Bounds for the total variation between the distributions; computed when it is first asked for.

        A part of the rows learns where the samples differ, the others are counted there. None where rows are not
        independent (groups, strata, pairs, blocks, weights), as nothing could be certified then.
        """
        return None if self.certificate_of is None else self.certificate_of()

    def total_variation(self, confidence_level: float = 0.95) -> float:
        """A lower bound for the total variation between the distributions that holds with this confidence.

        The total variation is the largest difference between the probabilities of a set of rows under the two
        distributions: 0 where they are equal, 1 where they have nothing in common. Needs independent rows.
        """
        return self._certificate().bound(checks.share("confidence_level", confidence_level, usual=0.95))

    def exceeds(self, delta: float) -> float:
        """P-value of the null hypothesis that the total variation is at most `delta`, by the certified bound.

        With very many rows any trifle is significant; this asks for a difference that matters. Never by permutation,
        which would test the wrong hypothesis.
        """
        return self._certificate().exceeds(delta)

    def _certificate(self) -> Certificate:
        if self.certificate is None:
            raise ValueError(
                "`total_variation` and `exceeds` need independent rows with values, at least 4 in each sample: not "
                "groups, strata, pairs, blocks or weights, not a precomputed kernel, and not a result read back."
            )
        return self.certificate

    def detectable(self, level: float = 0.05, power: float = 0.9) -> float:
        """The shift of one column, in its standard deviations, that the best test finds with this power at these sizes.

        Of independent rows, and by a test that knows where to look: what is smaller is not excluded, whatever the test.
        """
        n, m = self.sizes.n, self.sizes.m
        return shift_of(snr_found(n, m, power, level), n, m)

    def missed(self, level: float = 0.05, power: float = 0.9) -> dict[str, float] | None:
        """What could have been missed, as plain data; None where rows depend on each other and no formula holds."""
        return {"shift": self.detectable(level, power), "power": power} if self.exchanged == "rows" else None

    def explain(self, level: float = 0.05, n_permutations: int = 999) -> Explanation:
        """Where the samples differ: columns, pairs of columns, sub-groups and single rows. Computed when asked for.

        Parameters
        ----------
        level : float
            At which a column, pair or sub-group is marked as different. Among columns the chance that any is marked
            wrongly is at most this, and the same holds among pairs and among sub-groups.
        n_permutations : int
            Relabellings for columns and pairs, drawn as the test drew its own: groups, strata, pairs, blocks and
            weights are respected.

        Returns
        -------
        Explanation
            It prints, and its ``to_dict()`` is plain data. What it guarantees stands in ``docs/where.md``.

        Examples
        --------
        >>> import numpy as np
        >>> from tellapart import tell_apart
        >>> rng = np.random.default_rng(0)
        >>> x, y = rng.normal(size=(100, 3)), rng.normal(size=(100, 3)) + [0, 0, 1]
        >>> where = tell_apart(x, y, rng=0).explain()
        >>> [(column.name, column.pvalue) for column in where.columns if column.differs]
        [('column 2', 0.001)]
        """
        if self.explanation_of is None:
            raise ValueError(
                "`explain` needs the rows and their columns, which neither a result that was read back has nor one of "
                "precomputed kernels. Run tell_apart(x, y, **result.settings()) on the samples first."
            )
        return self.explanation_of(level, n_permutations, self.evidence)

    def plot(self, level: float = 0.05) -> Picture:
        """Where the samples differ, as a Matplotlib figure: witness, columns, the most telling ones, and a map of rows.

        Notebooks show it, ``savefig`` writes it to a file. Needs ``pip install 'tellapart[plot]'``.
        """
        from tellapart.report.plots import explained

        said = verdict_sentence(self.pvalue, checks.share("level", level, usual=0.05))
        return explained(said, self._where(level))

    def to_html(self, level: float = 0.05, names: tuple[str, str] = ("x", "y")) -> str:
        """The report: one page that needs nothing else, as ``tellapart --report`` writes it.

        Parameters
        ----------
        level : float
            At which the verdict is spoken, and columns, pairs and sub-groups are marked.
        names : pair of str
            What the samples are called at the top of the page.
        """
        from tellapart.report.html import to_html

        sizes = (self.sizes.n, self.sizes.m)
        outcome = {
            "differ": self.pvalue <= checks.share("level", level, usual=0.05),
            "level": level,
            "effect_at_least": None,
            "samples": [{"source": name, "rows": rows} for name, rows in zip(names, sizes, strict=True)],
            "detectable": self.missed(level),
            "result": self.to_dict(),
        }
        return to_html(outcome, None if self.explanation_of is None else self._where(level))

    def _where(self, level: float) -> dict[str, Any]:
        return self.explain(level, max(999, relabellings_for(level))).to_dict()

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __str__(self) -> str:
        return self.summary()

    def summary(self, level: float = 0.05) -> str:
        """The verdict at `level` in words, and how it came about."""
        return to_joint_text(self.to_dict(), checks.share("level", level, usual=0.05))

    def _repr_html_(self) -> str:
        """In notebooks: the verdict at the usual level, and how it came about."""
        return to_fragment(verdict_sentence(self.pvalue, USUAL_LEVEL), joint_rows(self.to_dict()))

    def settings(self) -> dict[str, Any]:
        """Arguments that repeat the run: ``tell_apart(x, y, **result.settings())`` on the same rows.

        Groups, strata and weights are part of the data: pass them again.
        """
        refuse_specs(self.settings_used)
        return {**self.settings_used, "rng": from_record(self.rng)}

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays, in JSON types. Same result, same dict."""
        return {
            "schema": _SCHEMA,
            **{name: getattr(self, name) for name in _PLAIN},
            "families": {name: to_spec(loudest) for name, loudest in self.families.items()},
            "sizes": asdict(self.sizes),
            "settings": {name: to_spec(value) for name, value in self.settings_used.items()},
            "rng": deepcopy(self.rng),
            "notes": list(self.notes),
            "schema_differences": list(self.schema_differences),
            "certified": self.certified if self.certificate is None else self.total_variation(),
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
        return cls(
            families=families,
            sizes=Sizes(**d["sizes"]),
            settings_used={name: rebuilt(value) for name, value in d["settings"].items()},
            rng=deepcopy(d["rng"]),
            notes=tuple(d["notes"]),
            schema_differences=tuple(d.get("schema_differences", ())),
            certified=d["certified"],
            **{name: d[name] for name in _PLAIN},
        )


_PLAIN = ("statistic", "pvalue", "auc", "draws", "exchanged", "computed", "version")


def _loudest(hearing: Hearing, family: str, columns: tuple[str, ...] | None) -> Loudest:
    index, score = hearing.loudest(family)
    row = hearing.rows[index]
    named = [str(i) if columns is None else columns[i] for i in (row.column, row.partner) if i is not None]
    column, detail = (named[0] if len(named) == 1 else None), row.detail
    if len(named) == 2:
        detail = f"product of the ranks of {named[0]} and {named[1]}"
    return Loudest(row.kernel, row.freedom, column, detail, score, hearing.family_pvalues[family])


def area(h_x: Values, h_y: Values) -> float:
    """P(h_x > h_y) + P(h_x = h_y) / 2 over all pairs.

    >>> area(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    0.875
    """
    ordered = np.sort(h_y)
    below, reached = np.searchsorted(ordered, h_x, side="left"), np.searchsorted(ordered, h_x, side="right")
    return float((below + reached).mean() / (2 * len(h_y)))
