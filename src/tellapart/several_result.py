"""What the test of several samples returns."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

from tellapart import _checks as checks
from tellapart._randomness import from_record
from tellapart._spec import rebuilt, refuse_specs, to_spec
from tellapart.inference.several import Pair, PairHeard
from tellapart.report.fragment import to_fragment
from tellapart.report.text import USUAL_LEVEL, several_rows, to_several_text, verdict_sentence

_SCHEMA = "several 1"


@dataclass(frozen=True, eq=False)
class SeveralResult:
    """The outcome of :func:`tellapart.tell_apart` for several samples.

    Attributes
    ----------
    pvalue : float
        That all samples have the same distribution: exact.
    pairs : dict
        For each pair of samples ``(i, j)`` the p-value that allows for all pairs (`pvalue`: the chance to declare any
        equal pair different is at most the level, whichever others differ), the pair's own (`own_pvalue`), and the
        family of statistics that was loudest.
    """

    pvalue: float
    pairs: dict[Pair, PairHeard]
    sizes: tuple[int, ...]
    columns: int
    draws: int
    exchanged: str
    computed: str
    settings_used: dict[str, Any]
    rng: dict[str, Any]
    version: str
    notes: tuple[str, ...] = ()
    schema_differences: tuple[str, ...] = ()

    @property
    def statistic(self) -> float:
        """The smallest p-value of a pair."""
        return min(pair.pvalue for pair in self.pairs.values())

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __str__(self) -> str:
        return self.summary()

    def summary(self, level: float = 0.05) -> str:
        """The verdict at `level` in words, and the table of pairs."""
        return to_several_text(self.to_dict(), checks.share("level", level, usual=0.05))

    def _repr_html_(self) -> str:
        """In notebooks: the verdict at the usual level, and how it came about."""
        return to_fragment(verdict_sentence(self.pvalue, USUAL_LEVEL), several_rows(self.to_dict(), USUAL_LEVEL))

    def settings(self) -> dict[str, Any]:
        """Arguments that repeat the run on the same samples; groups, strata and weights are to be passed again."""
        refuse_specs(self.settings_used)
        return {**self.settings_used, "rng": from_record(self.rng)}

    def to_dict(self) -> dict[str, Any]:
        """Everything, in JSON types. Same result, same dict."""
        return {
            "schema": _SCHEMA,
            **{name: getattr(self, name) for name in _PLAIN},
            "sizes": list(self.sizes),
            "pairs": [{"between": list(pair), **asdict(heard)} for pair, heard in self.pairs.items()],
            "settings": {name: to_spec(value) for name, value in self.settings_used.items()},
            "rng": deepcopy(self.rng),
            "notes": list(self.notes),
            "schema_differences": list(self.schema_differences),
        }

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> SeveralResult:
        """A result from :meth:`to_dict`."""
        if d.get("schema") != _SCHEMA:
            raise ValueError(f"`d` must be the dict of a result with schema {_SCHEMA!r}, got {d.get('schema')!r}.")
        pairs = {
            (int(p["between"][0]), int(p["between"][1])): PairHeard(p["pvalue"], p["own_pvalue"], p["family"])
            for p in d["pairs"]
        }
        return cls(
            pairs=pairs,
            sizes=tuple(d["sizes"]),
            settings_used={name: rebuilt(value) for name, value in d["settings"].items()},
            rng=deepcopy(d["rng"]),
            notes=tuple(d.get("notes", ())),
            schema_differences=tuple(d.get("schema_differences", ())),
            **{name: d[name] for name in _PLAIN},
        )


_PLAIN = ("pvalue", "columns", "draws", "exchanged", "computed", "version")
