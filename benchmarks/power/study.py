"""How families of statistics are joined, and what each brings: ``python -m benchmarks.power.study [--trials 100]``.

Every trial computes all statistics of the library once, for the observed labels and B relabellings, and then joins
them in every candidate way: the candidates see the same draws and the same relabellings. Each is a function of B + 1
exchangeable columns, so each is exact; the study is about power only. The problems kept aside (`--part aside`) are for
after the choice. Writes benchmarks/results/combination.json or combination_aside.json and prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ.pop("OPENBLAS_CORETYPE", None)

import numpy as np
from scipy.special import log_ndtr, logsumexp

from benchmarks.machine import machine
from benchmarks.power import cache
from benchmarks.power.problems import PROBLEMS, Problem, usable
from tellapart.inference.combination import joined, pvalue_of_first, skewed_scores, standard_scores
from tellapart.inference.exchange import Exchange
from tellapart.inference.in_memory import InMemory
from tellapart.inference.leave_one_out import DegreesOfFreedom
from tellapart.inference.whole_sample import FAMILIES, as_kernels, said_by

DRAWS, LEVEL, CHUNK = 299, 0.05, 5
FIRST_TRIAL = 10_000  # other draws than those of the league
CHOSEN = "as in the library"
UNSKEWED = ("left out", "potential", "single pairs")
BY_NAME = {p.name: p for p in PROBLEMS}

Values = np.ndarray
ByFamily = dict[str, Values]  # family -> (statistics, relabellings)


def statistics(problem: Problem, trial: int) -> ByFamily:
    """All statistics of one draw by family, the observed labelling first."""
    x, y = cache.drawn(problem, trial)
    rng = np.random.default_rng([cache.crc(problem.name), trial, 1])
    order = rng.permutation(len(x) + len(y))
    exchange = Exchange.of(len(x), len(y)).shuffled(order)
    z = np.concatenate([x, y]).astype(float)[order]
    ensemble = InMemory.of(z, as_kernels(None, z, rng), DegreesOfFreedom(), tuple(FAMILIES), exchange, rng)
    values = said_by(ensemble.voices, exchange.labellings(DRAWS, rng).contrast())
    families = np.array([row.family for voice in ensemble.voices for row in voice.rows])
    return {family: values[families == family] for family in FAMILIES if family in families}


def scored(family: str, values: Values) -> Values:
    return standard_scores(values) if family in UNSKEWED else skewed_scores(values)


def loudest(values: ByFamily, score: Callable[[str, Values], Values] = scored) -> ByFamily:
    return {family: score(family, rows).max(axis=0) for family, rows in values.items()}


def summed(heard: ByFamily, weights: dict[str, float], power: float = 1.0) -> Values:
    """The library's rule, with other weights or another power."""
    return joined(np.stack(list(heard.values())), [weights[f] for f in heard], power)


def tails(heard: ByFamily) -> Values:
    """Minus the log of the tail probability of each family."""
    return -log_ndtr(-skewed_scores(np.stack(list(heard.values()))))


def softly(values: ByFamily) -> ByFamily:
    """Statistics of a family that agree help each other, where otherwise the loudest speaks."""
    return {f: logsumexp(-log_ndtr(-scored(f, v)), axis=0) for f, v in values.items()}


def candidates(values: ByFamily) -> Iterator[tuple[str, Values]]:
    """Name and joint statistic of every candidate."""
    heard = loudest(values)
    yield CHOSEN, summed(heard, FAMILIES)
    yield "all families alike", summed(heard, dict.fromkeys(FAMILIES, 1.0))
    yield "twice the weight for linear", summed(heard, FAMILIES | {"linear": 2 * FAMILIES["linear"]})
    yield "power 0.5", summed(heard, FAMILIES, 0.5)
    yield "power 0.75", summed(heard, FAMILIES, 0.75)
    yield "smallest p-value", tails(heard).max(axis=0)
    yield "Fisher's product", tails(heard).sum(axis=0)
    yield "soft maximum within families", summed(softly(values), FAMILIES)
    yield "standard scores for all", summed(loudest(values, lambda _, v: standard_scores(v)), FAMILIES)
    yield "Pearson III scores for all", summed(loudest(values, lambda _, v: skewed_scores(v)), FAMILIES)
    for family in FAMILIES:
        yield f"without {family}", summed({f: v for f, v in heard.items() if f != family}, FAMILIES)
    for family, row in heard.items():
        yield f"only {family}", row


def rejections(name: str, trials: range) -> dict[str, list[bool]]:
    """Whether each candidate rejects, trial by trial."""
    found: dict[str, list[bool]] = {}
    for trial in trials:
        for candidate, joint in candidates(statistics(BY_NAME[name], trial)):
            found.setdefault(candidate, []).append(pvalue_of_first(joint) <= LEVEL)
    return found


def chunk(task: tuple[str, range]) -> tuple[str, dict[str, list[bool]]]:
    return task[0], rejections(*task)


def simulated(problems: list[Problem], trials: int, processes: int) -> dict[str, dict[str, float]]:
    """Rejection rate of every candidate on every problem."""
    starts = range(FIRST_TRIAL, FIRST_TRIAL + trials, CHUNK)
    tasks = [(p.name, range(s, min(s + CHUNK, FIRST_TRIAL + trials))) for s in starts for p in problems]
    found: dict[str, dict[str, list[bool]]] = {}
    with ProcessPoolExecutor(processes) as pool:
        for done, (name, rejected) in enumerate(pool.map(chunk, tasks), 1):
            for candidate, flags in rejected.items():
                found.setdefault(candidate, {}).setdefault(name, []).extend(flags)
            if done % 50 == 0:
                print(f"{done} of {len(tasks)} parts", file=sys.stderr, flush=True)
    return {c: {name: float(np.mean(flags)) for name, flags in by.items()} for c, by in found.items()}


def summary(rates: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Mean power, and the most that is lost to the best candidate of a problem; a family that says nothing has none."""
    names = list(rates[CHOSEN])
    best = {name: max(r.get(name, 0.0) for r in rates.values()) for name in names}
    return {
        candidate: {
            "mean_power": float(np.mean([r.get(name, 0.0) for name in names])),
            "most_lost": max(best[name] - r.get(name, 0.0) for name in names),
        }
        for candidate, r in rates.items()
    }


def rows_of(problem: Problem) -> int:
    return max(map(len, cache.drawn(problem, 0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--part", choices=("choosing", "aside"), default="choosing")
    parser.add_argument("--most-rows", type=int, default=250, help="leave out problems with larger samples")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    options = parser.parse_args()
    wanted = [p for p in usable(PROBLEMS) if not p.null and p.aside == (options.part == "aside")]
    rates = simulated([p for p in wanted if rows_of(p) <= options.most_rows], options.trials, options.processes)
    table = summary(rates)
    written = {
        "command": "python -m benchmarks.power.study " + " ".join(sys.argv[1:]),
        "trials": options.trials,
        "level": LEVEL,
        "draws": DRAWS,
        "seeds": f"trials {FIRST_TRIAL} and up of the league's problems",
        "machine": machine(),
        "summary": table,
        "rates": rates,
    }
    name = "combination_aside.json" if options.part == "aside" else "combination.json"
    (options.out / name).write_text(json.dumps(written, indent=1) + "\n")
    for candidate in sorted(table, key=lambda c: -table[c]["mean_power"]):
        print(f"{table[candidate]['mean_power']:.3f}  {table[candidate]['most_lost']:.2f}  {candidate}")


if __name__ == "__main__":
    main()
