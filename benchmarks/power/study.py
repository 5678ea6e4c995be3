"""Which combination of the whole-sample statistics: ``python -m benchmarks.power.study [--trials 200]``.

Every trial computes the rows of all families once and then joins them in every candidate way, so the candidates see the
same draws and the same relabellings. Each candidate is a function of B + 1 exchangeable columns, so each is exact; the
study is about power only. Writes benchmarks/results/combination.json and prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.machine import machine
from benchmarks.power.problems import PROBLEMS
from tellapart.inference.combination import rank_pvalues, standard_scores, tail_scores
from tellapart.inference.exchange import Exchange
from tellapart.inference.leave_one_out import (
    Spectrum,
    leave_one_out_rows,
    potential_rows,
    quadratic_rows,
)
from tellapart.kernels import BandwidthGrid, Gaussian, Laplace
from tellapart.pairs import Pairs

FREEDOMS = (1, 2, 4, 8, 16, 32, 64, 128)
SHAPES = {"gaussian": (Gaussian(),), "gaussian + laplace": (Gaussian(), Laplace())}
DRAWS, LEVEL, CHUNK = 299, 0.05, 10


def family_rows(z: np.ndarray, y: np.ndarray, shapes: tuple, rng: np.random.Generator) -> dict[str, np.ndarray]:
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ("left out", "fitted", "mean", "potential")}
    pairs = Pairs(z, z)
    for shape in shapes:
        for kernel in BandwidthGrid(shape, count=10 // len(shapes)).kernels(z, rng):
            k = kernel.of(pairs)
            potential = k.mean(axis=0)
            spectrum = Spectrum.of(k)
            usable = [f for f in FREEDOMS if f <= min(len(z) / 2, 0.9 * len(spectrum.values))]
            s = [spectrum.shrinkage(spectrum.ridge_for(f)) for f in usable]
            quadratic = quadratic_rows(spectrum, s, y)
            rows["left out"].append(leave_one_out_rows(spectrum, s, y))
            rows["fitted"].append(quadratic[:-1])
            rows["mean"].append(quadratic[-1:])
            functions = np.stack([potential, *(spectrum.leverage(v) for v in s)])
            rows["potential"].append(potential_rows(functions, y))
    return {name: np.concatenate(parts) for name, parts in rows.items()}


def soft(scores: np.ndarray) -> np.ndarray:
    """Log of the mean of exp: rows that agree help each other."""
    top = scores.max(axis=0)
    return top + np.log(np.exp(scores - top).mean(axis=0))


WITHIN = {"max": lambda scores: scores.max(axis=0), "soft": soft}
BETWEEN = {
    "min": lambda p: -p.min(axis=0),
    "fisher": lambda p: -np.log(p).sum(axis=0),
    "harmonic": lambda p: (1 / p).sum(axis=0),
    "cauchy": lambda p: np.tan((0.5 - np.minimum(p, 0.999)) * np.pi).sum(axis=0),
}
SETS = {
    "LFMP": ("left out", "fitted", "mean", "potential"),
    "LFM": ("left out", "fitted", "mean"),
    "LMP": ("left out", "mean", "potential"),
    "LFP": ("left out", "fitted", "potential"),
}


def one_trial(problem: int, trial: int) -> dict[str, float]:
    """The p-value of every candidate on one draw."""
    rng = np.random.default_rng([problem, trial])
    x, y = PROBLEMS[problem].draw(rng)
    z, labels = np.concatenate([x, y]), Exchange.of(len(x), len(y)).relabellings(DRAWS, rng)
    found: dict[str, float] = {}
    for shape, within in product(SHAPES, WITHIN):
        rows = family_rows(z, labels, SHAPES[shape], np.random.default_rng(0)) if within == "max" else rows  # noqa: F821
        p = {}
        for name, values in rows.items():
            scores = tail_scores(values) if name in ("fitted", "mean") else standard_scores(values)
            p[name] = np.maximum(rank_pvalues(WITHIN[within](scores)), 1e-12)
            found[f"{shape} | {within} | {name}"] = float(p[name][0])
        for (between, join), chosen in product(BETWEEN.items(), SETS):
            joint = join(np.stack([p[name] for name in SETS[chosen]]))
            found[f"{shape} | {within} | {between} of {chosen}"] = float(rank_pvalues(joint)[0])
    return found


def chunk(task: tuple[int, int]) -> tuple[int, list[dict[str, float]]]:
    problem, start = task
    return problem, [one_trial(problem, trial) for trial in range(start, start + CHUNK)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--aside", action="store_true", help="only the problems kept aside")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    options = parser.parse_args()
    chosen = [i for i, p in enumerate(PROBLEMS) if p.aside == options.aside]
    tasks = [(i, start) for start in range(0, options.trials, CHUNK) for i in chosen]
    pvalues: dict[int, list[dict[str, float]]] = {i: [] for i in chosen}
    with ProcessPoolExecutor(options.processes) as pool:
        for done, (problem, found) in enumerate(pool.map(chunk, tasks), 1):
            pvalues[problem] += found
            if done % 50 == 0:
                print(f"{done} of {len(tasks)} chunks", flush=True)
    candidates = list(pvalues[chosen[0]][0])
    rates = {
        c: {PROBLEMS[i].name: float(np.mean([t[c] <= LEVEL for t in pvalues[i]])) for i in chosen} for c in candidates
    }
    name = "combination_aside.json" if options.aside else "combination.json"
    written = {
        "command": f"python -m benchmarks.power.study{' --aside' * options.aside} --trials {options.trials}",
        "trials": options.trials,
        "level": LEVEL,
        "draws": DRAWS,
        "machine": machine(),
        "rates": rates,
    }
    (options.out / name).write_text(json.dumps(written, indent=1) + "\n")
    report(rates, [PROBLEMS[i].name for i in chosen if not PROBLEMS[i].null])


def report(rates: dict[str, dict[str, float]], problems: list[str]) -> None:
    """Candidates by mean power, and by the most that they lose to the best candidate of any problem."""
    best = {p: max(r[p] for r in rates.values()) for p in problems}
    ranked = sorted(rates, key=lambda c: -np.mean([rates[c][p] for p in problems]))
    print("mean  worst loss  rates per problem:", "; ".join(problems))
    for c in ranked:
        loss = max(best[p] - rates[c][p] for p in problems)
        shown = " ".join(f"{rates[c][p]:.2f}" for p in problems)
        print(f"{np.mean([rates[c][p] for p in problems]):.3f} {loss:.2f}  {shown}  {c}")


if __name__ == "__main__":
    main()
