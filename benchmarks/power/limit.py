"""What it must cost to look for several kinds of difference at once: ``python -m benchmarks.power.limit``.

Let each of K kinds of difference be found with probability b by the best test that looks for it alone, at level 0.05,
and let the K likelihood ratios be alike and independent if there is no difference. No test of all rows can find every
kind more often than the one that rejects for large *mean* likelihood ratio: by the lemma of Neyman and Pearson it has
the largest mean power over the K kinds, and as they are alike its power is that mean for each of them. So its loss,
b minus its power, is the least that any test can lose on the kind where it loses most.

Two forms of a kind: a shift in a known direction (a normal variable, one-sided), and one in an unknown direction of
five (chi-square with 5 degrees of freedom). Beside it, how alike the peers of the league are: the share of null draws
on which one rejects if another does, and on which any of them does. Reads the stored trials of the league, writes
benchmarks/results/limit.json and limit.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

from benchmarks.machine import machine
from benchmarks.power import cache
from benchmarks.power.peers import OURS, PEERS
from benchmarks.power.problems import PROBLEMS

RESULTS = Path(__file__).parents[1] / "results"
LEVEL, DRAWS, SEED = 0.05, 1_000_000, 0
KINDS = (1, 2, 3, 4, 7)
ALONE = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
DIRECTIONS = 5

Values = np.ndarray
Draw = Callable[[tuple[int, ...], bool], Values]  # shape, whether there is a difference -> what is observed


def known_direction(alone: float, rng: np.random.Generator) -> tuple[Draw, Callable[[Values], Values]]:
    """Draws of a normal variable, and the likelihood ratio of the shift that is found with probability `alone`."""
    shift = norm.ppf(1 - LEVEL) + norm.ppf(alone)
    return (
        lambda shape, differs: rng.normal(shift if differs else 0.0, size=shape),
        lambda z: np.exp(shift * z - shift**2 / 2),
    )


def unknown_direction(alone: float, rng: np.random.Generator) -> tuple[Draw, Callable[[Values], Values]]:
    """The same for the squared length of a normal vector."""
    threshold = chi2.ppf(1 - LEVEL, DIRECTIONS)
    size = brentq(lambda s: ncx2.sf(threshold, DIRECTIONS, s) - alone, 1e-3, 100.0)
    grid = np.linspace(1e-3, 200.0, 50_000)
    logs = ncx2.logpdf(grid, DIRECTIONS, size) - chi2.logpdf(grid, DIRECTIONS)

    def draw(shape: tuple[int, ...], differs: bool) -> Values:
        return rng.noncentral_chisquare(DIRECTIONS, size, shape) if differs else rng.chisquare(DIRECTIONS, shape)

    return draw, lambda q: np.exp(np.interp(q, grid, logs))


def best_for_all(kind: Callable, alone: float, kinds: int) -> float:
    """Power of the test by the mean likelihood ratio, on each of the kinds."""
    draw, ratio = kind(alone, np.random.default_rng([SEED, kinds, round(100 * alone)]))
    silent = sum(ratio(draw((DRAWS,), False)) for _ in range(kinds - 1))
    without, with_one = silent + ratio(draw((DRAWS,), False)), silent + ratio(draw((DRAWS,), True))
    return float(np.mean(with_one > np.quantile(without, 1 - LEVEL)))


def rejections_without_a_difference(tests: list[str]) -> Values:
    """Which tests reject on which null draws of the league: (draws, tests)."""
    lines = cache.read(cache.STORED, tests)
    rows = []
    for problem in (p.name for p in PROBLEMS if p.null):
        cells = [lines[problem, test] for test in tests]
        trials = sorted(set.intersection(*(set(c) for c in cells)))
        rows += [[cell[trial]["p"] <= LEVEL for cell in cells] for trial in trials]
    return np.array(rows)


def overlaps(tests: list[str]) -> dict:
    """How often each rejects if another one does, and how often any of the peers does."""
    found = rejections_without_a_difference(tests)
    peers = [t for t in tests if t in PEERS]
    return {
        "null_draws": len(found),
        "any_peer": float(found[:, [tests.index(t) for t in peers]].any(axis=1).mean()),
        "rejects_if": {
            a: {b: float(found[found[:, i], j].mean()) for j, b in enumerate(tests)} for i, a in enumerate(tests)
        },
    }


def table(powers: dict[str, dict[str, list[float]]]) -> str:
    """Markdown: a row for each power alone, a column for each number of kinds."""
    head = "| found alone | " + " | ".join(f"{k} kinds" for k in KINDS[1:]) + " |"
    lines = [head, "|---" * len(KINDS) + "|"]
    for alone in ALONE:
        ways = [powers[way][f"{alone:g}"] for way in powers]
        cells = (f"{min(w[i] for w in ways):.2f} to {max(w[i] for w in ways):.2f}" for i in range(1, len(KINDS)))
        lines.append(f"| {alone:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    ways = {"known direction": known_direction, f"one of {DIRECTIONS} directions": unknown_direction}
    powers = {
        name: {f"{alone:g}": [round(best_for_all(kind, alone, k), 4) for k in KINDS] for alone in ALONE}
        for name, kind in ways.items()
    }
    written = {
        "command": "python -m benchmarks.power.limit",
        "level": LEVEL,
        "draws": DRAWS,
        "seed": SEED,
        "machine": machine(),
        "kinds": KINDS,
        "power_on_each_kind": powers,
        "overlaps": overlaps([OURS, *PEERS]),
    }
    (RESULTS / "limit.json").write_text(json.dumps(written, indent=1) + "\n")
    (RESULTS / "limit.md").write_text(table(powers))
    sys.stdout.write(table(powers))
    alike = written["overlaps"]
    print(f"any peer rejects on {alike['any_peer']:.3f} of {alike['null_draws']} null draws")


if __name__ == "__main__":
    main()
