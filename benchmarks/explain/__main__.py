"""Are the places where samples differ named rightly? ``python -m benchmarks.explain [TRIALS [PROCESSES]]``.

Problems with known truth, 100 trials each (a fifth for the forest), against Kolmogorov-Smirnov with Bonferroni and the
permutation importance of a random forest; alibi-detect's SpotTheDiff as :mod:`benchmarks.explain.spot_the_diff` has
written it. Writes benchmarks/results/explain.json and explain.md.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.explain.methods import DRAWS, LEVEL, PEERS, explained
from benchmarks.explain.problems import PROBLEMS, Drawn
from benchmarks.explain.spot_the_diff import SEED, WRITTEN
from benchmarks.machine import machine

RESULTS = Path(__file__).parents[1] / "results"
_FOREST_EVERY = 5  # trials: it costs as much as everything else


def scores(named: Iterable[set[Any]], truth: frozenset[Any]) -> dict[str, float]:
    """Recall, precision, and how often anything that is not true was named."""
    named = list(named)
    right, said = sum(len(s & truth) for s in named), sum(len(s) for s in named)
    return {
        "recall": right / (len(named) * len(truth)) if truth else None,
        "precision": right / said if said else None,
        "any_wrong": float(np.mean([bool(s - truth) for s in named])),
        "trials": len(named),
    }


def region_scores(drawn: Drawn, where: dict[str, Any]) -> tuple[float, float] | None:
    """Of the rows of y in the sub-groups with more of y: the share that was moved, and the share of the moved."""
    held = np.zeros(len(drawn.y), dtype=bool)
    for group in where["subgroups"]:
        if group["differs"] and group["share_y"] > group["share_x"]:
            held |= _inside(group["rule"], drawn)
    if not held.any():
        return None
    return float(drawn.moved[held].mean()), float(held[drawn.moved].mean())


def _inside(rule: list[str], drawn: Drawn) -> np.ndarray:
    """The rows of y that the words of a rule hold for: "c0 > 1", "c0 <= 1" or "0 < c0 <= 1"."""
    held = np.ones(len(drawn.y), dtype=bool)
    for part in rule:
        words = part.split(" ")
        if len(words) == 5:
            values = drawn.y[words[2]].to_numpy()
            held &= (values > float(words[0])) & (values <= float(words[4]))
        else:
            values = drawn.y[words[0]].to_numpy()
            held &= values > float(words[2]) if words[1] == ">" else values <= float(words[2])
    return held


def measured(number: int, trials: int) -> dict[str, Any]:
    """All methods on the same draws of a problem."""
    problem = PROBLEMS[number]
    columns, pairs, groups, regions, peers = [], [], [], [], {}
    seconds: dict[str, float] = {}
    for trial in range(trials):
        drawn = problem.draw(np.random.default_rng([SEED, number, trial]))
        begun = time.process_time()
        where = explained(drawn, trial)
        seconds["tellapart"] = seconds.get("tellapart", 0.0) + time.process_time() - begun
        columns.append({c["name"] for c in where["columns"] if c["differs"]})
        pairs.append({frozenset(p["names"]) for p in where["pairs"] if p["differs"]})
        groups.append(any(g["differs"] for g in where["subgroups"]))
        if drawn.moved is not None:
            regions.append(region_scores(drawn, where))
        for name, method in PEERS.items():
            if name == "forest" and trial % _FOREST_EVERY:
                continue
            begun = time.process_time()
            found = method(drawn, max(1, len(problem.involved)), trial)
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - begun
            for label, names in (found if isinstance(found, dict) else {name: found}).items():
                peers.setdefault(label, []).append(names)
    both = [c.union(*p) if p else c for c, p in zip(columns, pairs, strict=True)]
    return {
        "problem": problem.name,
        "columns": scores(columns, problem.columns),
        "pairs": scores(pairs, problem.pairs),
        "named": {"tellapart": scores(both, problem.involved)}
        | {name: scores(sets, problem.involved) for name, sets in peers.items()},
        "sub-groups": _of_regions(groups, regions),
        "cpu_seconds": {n: round(s / (-(-trials // _FOREST_EVERY) if n == "forest" else trials), 3)
                        for n, s in seconds.items()},
    }  # fmt: skip


def _of_regions(groups: list[bool], regions: list[tuple[float, float] | None]) -> dict[str, Any]:
    found = [r for r in regions if r is not None]
    return {"any": float(np.mean(groups))} | (
        {"found": len(found) / len(regions), "precision": float(np.mean([r[0] for r in found])),
         "recall": float(np.mean([r[1] for r in found]))} if found else {}
    )  # fmt: skip


def _with_spotted(figures: list[dict[str, Any]]) -> dict[str, Any] | str:
    """SpotTheDiff, if it was run."""
    if not WRITTEN.is_file():
        return "not run"
    spotted = json.loads(WRITTEN.read_text())
    truth = {p.name: p.involved for p in PROBLEMS}
    for figure in figures:
        own = spotted["figures"].get(figure["problem"])
        if own:
            named = [set(names) for names in own["named"]]
            figure["named"]["SpotTheDiff, best k"] = scores(named, truth[figure["problem"]])
            figure["cpu_seconds"]["SpotTheDiff"] = own["cpu_seconds"]
    return {"machine": spotted["machine"], "seed": spotted["seed"]}


def to_markdown(written: dict[str, Any]) -> str:
    """Two tables: every method on the columns involved, and what only `explain` says."""
    methods = ["tellapart", "KS, Bonferroni", "forest, 2 sd", "forest, best k", "SpotTheDiff, best k"]
    lines = [
        "Recall / precision / share of trials in which anything wrong was named, of the columns involved.",
        f"`{written['command']}`, {written['trials']} trials (forest {-(-written['trials'] // _FOREST_EVERY)}), "
        f"level {LEVEL}.",
        "",
        f"| problem | {' | '.join(methods)} |",
        "|---" * (1 + len(methods)) + "|",
    ]
    for f in written["figures"]:
        cells = [_cell(f["named"].get(m)) for m in methods]
        lines.append(f"| {f['problem']} | {' | '.join(cells)} |")
    lines += ["", "What `explain` says of columns and of pairs by themselves, and of sub-groups.", ""]
    lines += ["| problem | columns | pairs | sub-groups | CPU s |", "|---|---|---|---|---|"]
    for f in written["figures"]:
        g = f["sub-groups"]
        region = f"any in {g['any']:.2f}"
        region += f"; recall {g['recall']:.2f}, precision {g['precision']:.2f}" if "recall" in g else ""
        cells = [_cell(f["columns"]), _cell(f["pairs"]), region, f"{f['cpu_seconds']['tellapart']:.2f}"]
        lines.append(f"| {f['problem']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(score: dict[str, Any] | None) -> str:
    if score is None:
        return "-"
    known = [score[name] for name in ("recall", "precision", "any_wrong")]
    return " / ".join("-" if v is None else f"{v:.2f}" for v in known)


def main(arguments: list[str]) -> None:
    trials, processes = (*map(int, arguments), *(100, os.cpu_count())[len(arguments) :])
    figures: list[dict[str, Any]] = []
    with ProcessPoolExecutor(processes) as pool:
        started = [pool.submit(measured, number, trials) for number in range(len(PROBLEMS))]
        for future in started:
            figures.append(future.result())
            write(figures, trials)
            told(figures[-1])


def told(figure: dict[str, Any]) -> None:
    named = {name: _cell(score) for name, score in figure["named"].items()}
    print(figure["problem"], named, figure["sub-groups"], figure["cpu_seconds"], flush=True)


def write(figures: list[dict[str, Any]], trials: int) -> None:
    """What is known so far: a run may be cut short."""
    written = {
        "command": f"python -m benchmarks.explain {trials}",
        "trials": trials,
        "level": LEVEL,
        "n_permutations": DRAWS,
        "seed": SEED,
        "machine": machine(),
        "spot_the_diff": _with_spotted(figures),
        "figures": figures,
    }
    (RESULTS / "explain.json").write_text(json.dumps(written, indent=1) + "\n")
    (RESULTS / "explain.md").write_text(to_markdown(written))


if __name__ == "__main__":
    main(sys.argv[1:])
