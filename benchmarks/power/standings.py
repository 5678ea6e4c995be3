"""From p-values to a table: rejection rates, and what our test's standing is among its peers, row by row.

Tests are compared on the trials that both have run, which are the same draws. Ours is *at least* the best peer if its
rate is not lower by more than two standard errors of the paired difference, and *ahead* if it is higher by more than
two. The best peer of a row is picked by its rate on the same draws, which favours the peers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import binom

from benchmarks.power.cache import Lines
from benchmarks.power.peers import OURS, PEERS, SPLITS, TESTS
from benchmarks.power.problems import Problem

LEVEL = 0.05
NO_ROOM = 0.95  # a best peer above this leaves no room to be ahead


@dataclass(frozen=True)
class Gap:
    """Ours minus another test on the same draws, in rejections per draw."""

    other: str
    difference: float
    error: float

    @property
    def word(self) -> str:
        if self.difference > 2 * self.error:
            return "ahead"
        return "level" if self.difference >= -2 * self.error else "behind"


@dataclass(frozen=True)
class Row:
    """A problem and the p-values and CPU seconds of each test, trial by trial."""

    problem: Problem
    pvalues: dict[str, dict[int, float]]
    seconds: dict[str, float]

    def rate(self, test: str) -> float:
        return float(np.mean([p <= LEVEL for p in self.pvalues[test].values()]))

    def error(self, test: str) -> float:
        rate = self.rate(test)
        return float(np.sqrt(rate * (1 - rate) / len(self.pvalues[test])))

    def gap(self, other: str) -> Gap | None:
        """Ours against one other test, where both have run."""
        ours, theirs = self.pvalues.get(OURS, {}), self.pvalues.get(other, {})
        both = sorted(ours.keys() & theirs.keys())
        if len(both) < 2:
            return None
        d = np.array([float(ours[t] <= LEVEL) - float(theirs[t] <= LEVEL) for t in both])
        return Gap(other, float(d.mean()), float(d.std() / np.sqrt(len(d))))

    @cached_property
    def best_peer(self) -> Gap | None:
        gaps = [g for g in map(self.gap, PEERS) if g]
        return min(gaps, key=lambda g: g.difference, default=None)

    @cached_property
    def split_gaps(self) -> list[Gap]:
        return [g for g in map(self.gap, SPLITS) if g]

    @property
    def verdict(self) -> str:
        if self.problem.null:
            wrong = [t for t in self.pvalues if self.too_often(t)]
            return "rejects too often: " + ", ".join(wrong) if wrong else "level held"
        if self.best_peer is None:
            return ""
        g = self.best_peer
        return f"{g.word} ({g.difference:+.2f} ± {g.error:.2f}, {g.other})"

    def too_often(self, test: str) -> bool:
        """Whether so many rejections have a chance below 0.001 at the level."""
        p = self.pvalues[test].values()
        return bool(binom.sf(sum(v <= LEVEL for v in p) - 1, len(p), LEVEL) < 0.001)

    def to_dict(self) -> dict:
        p = self.problem
        known = {"problem": p.name, "group": p.group, "aside": p.aside, "null": p.null, "published": p.published}
        return known | {"verdict": self.verdict, "tests": {t: self.cell(t) for t in self.pvalues}}

    def cell(self, test: str) -> dict:
        values = np.array(list(self.pvalues[test].values()))
        cell = {"rate": self.rate(test), "standard_error": self.error(test), "trials": len(values)}
        cell |= {"at_0.01": float(np.mean(values <= 0.01)), "median_p": float(np.median(values))}
        gap = None if test == OURS else self.gap(test)
        paired = {"ours_minus_this": gap.difference, "its_standard_error": gap.error} if gap else {}
        return cell | {"cpu_seconds": self.seconds.get(test)} | paired


def rows(problems: Iterable[Problem], lines: Lines, trials: int) -> list[Row]:
    """One row per problem with any result, choosing first, then aside, then those without a difference."""
    found = []
    for problem in problems:
        cells = {t: {i: line for i, line in lines.get((problem.name, t), {}).items() if i < trials} for t in TESTS}
        pvalues = {t: {i: line["p"] for i, line in c.items()} for t, c in cells.items() if c}
        on_cpu = {t: [line["cpu"] for line in c.values() if line["on"] != "GPU"] for t, c in cells.items()}
        seconds = {t: float(np.mean(cpu)) for t, cpu in on_cpu.items() if cpu}
        if pvalues:
            found.append(Row(problem, pvalues, seconds))
    return sorted(found, key=lambda r: (r.problem.null, r.problem.aside))


def summary(found: list[Row]) -> dict[str, dict]:
    """How often ours is at least the best peer, ahead of it, and not below the split tests, part by part."""
    parts = {
        "choosing": [r for r in found if not r.problem.aside and not r.problem.null],
        "aside": [r for r in found if r.problem.aside],
    }
    return {name: standing(part) for name, part in parts.items()}


def standing(part: list[Row]) -> dict:
    judged = [r for r in part if r.best_peer]
    split = [g for r in part for g in r.split_gaps]
    return {
        "rows": len(judged),
        "at_least_the_best_peer": sum(r.best_peer.word != "behind" for r in judged),
        "ahead_of_the_best_peer": sum(r.best_peer.word == "ahead" for r in judged),
        "no_room_to_be_ahead": sum(r.best_peer.word == "level" and r.rate(r.best_peer.other) > NO_ROOM for r in judged),
        "behind": [r.problem.name for r in judged if r.best_peer.word == "behind"],
        "below_a_split_test": [r.problem.name for r in part if any(g.word == "behind" for g in r.split_gaps)],
        "compared_with_a_split_test": len(split),
        "mean_power": {t: mean_rate(part, t) for t in TESTS},
    }


def mean_rate(part: list[Row], test: str) -> float | None:
    rates = [r.rate(test) for r in part if test in r.pvalues]
    return float(np.mean(rates)) if rates and len(rates) == len(part) else None


def sentence(name: str, s: dict) -> str:
    """One line of the summary."""
    behind = f" ({'; '.join(s['behind'])})" if s["behind"] else ""
    below = f"below on {'; '.join(s['below_a_split_test'])}" if s["below_a_split_test"] else "never below"
    return (
        f"{name}: at least the best peer on {s['at_least_the_best_peer']} of {s['rows']} rows{behind}, "
        f"ahead of it on {s['ahead_of_the_best_peer']} (no room on {s['no_room_to_be_ahead']} more); "
        f"{below} the paper's split test."
    )


def markdown(found: list[Row]) -> str:
    """One table; the highest rate of a row in bold, and the two best published powers."""
    present = [t for t in TESTS if any(t in r.pvalues for r in found)]
    head = ["problem", *present, "published", "ours against the best peer"]
    body = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    body += ["| " + " | ".join(markdown_cells(r, present)) + " |" for r in found]
    counts = sorted({len(p) for r in found for p in r.pvalues.values()})
    trials = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "no"
    notes = [
        f"Rejection rates at level {LEVEL:g}, {trials} trials a cell, all tests on the same draws; `*` marks problems",
        "kept aside while anything was chosen. Published powers are those of their authors and from other draws.",
        "`hotelling` sees shifts of means only and is no peer here.",
        "",
        *(f"- {sentence(name, s)}" for name, s in summary(found).items()),
    ]
    return "\n".join([*body, "", *notes]) + "\n"


def short(found: list[Row]) -> str:
    """What the README shows: ours, the best peer and the paper's split test, and the best published power."""
    head = "| problem | `tell_apart` | best peer | the paper's split | published | ours against the best peer |"
    shown = [r for r in found if not r.problem.null and r.best_peer]
    return "\n".join([head, "|---" * 6 + "|", *map(short_line, shown)]) + "\n"


def short_line(row: Row) -> str:
    gap, published = row.best_peer, row.problem.published
    power, method = max(((v, k) for k, v in published.items()), default=(None, ""))
    cells = [
        row.problem.name + (" *" if row.problem.aside else ""),
        f"{row.rate(OURS):.2f}",
        f"{row.rate(gap.other):.2f} {gap.other}",
        f"{row.rate('paper_split'):.2f}" if "paper_split" in row.pvalues else "",
        "" if power is None else f"{power:.2f} {method}",
        f"{gap.difference:+.2f} ± {gap.error:.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def markdown_cells(row: Row, present: list[str]) -> list[str]:
    rates = {t: row.rate(t) for t in row.pvalues}
    top = max((v for t, v in rates.items()), default=0.0)
    shown = {t: f"**{v:.2f}**" if v == top and not row.problem.null else f"{v:.2f}" for t, v in rates.items()}
    published = ", ".join(f"{method} {power:.2f}" for method, power in row.problem.published.items())
    name = row.problem.name + (" *" if row.problem.aside else "")
    return [name, *(shown.get(t, "") for t in present), published, row.verdict]


def text(found: list[Row]) -> str:
    """What a terminal shows: the summary, and what the tests cost."""
    lines = [sentence(name, s) for name, s in summary(found).items()]
    for test in TESTS:
        cost = {r.problem.name: r.seconds[test] for r in found if test in r.seconds}
        if cost:
            dear = sorted(cost, key=cost.__getitem__)[-3:]
            most = ", ".join(f"{name}: {cost[name]:.2f}" for name in reversed(dear))
            minutes = sum(cost.values()) * 300 / 60
            lines.append(f"{test:14s} {minutes:7.1f} core minutes for 300 trials of {len(cost)} rows; s/trial: {most}")
    return "\n".join(lines)
