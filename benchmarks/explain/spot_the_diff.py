"""alibi-detect's SpotTheDiffDrift on the same problems, to be run where it is installed.

``python -m benchmarks.explain.spot_the_diff TRIALS``, with PYTHONPATH=src and the packages of
benchmarks/power/requirements-peers.txt and torch==2.13.0. Writes benchmarks/results/explain_spot_the_diff.json, which
``python -m benchmarks.explain`` puts into its table. Its drift test has one p-value for all columns; what differs is
read off the learned difference: here the k columns with the largest weights, with k known, where it alarms.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.explain.problems import PROBLEMS, Drawn
from benchmarks.machine import machine

LEVEL, SEED = 0.05, 20260
WRITTEN = Path(__file__).parents[1] / "results" / "explain_spot_the_diff.json"


def spotted(drawn: Drawn, k: int, seed: int) -> tuple[float, list[str]]:
    import torch
    from alibi_detect.cd import SpotTheDiffDrift

    from tellapart.tables import encoded

    torch.manual_seed(seed)
    table = encoded(drawn.x, drawn.y)
    x, y = (rows.astype(np.float32) for rows in table.samples[:2])
    detector = SpotTheDiffDrift(x, backend="pytorch", p_val=LEVEL, n_diffs=1, epochs=40, verbose=0, device="cpu")
    found = detector.predict(y)["data"]
    weights = np.abs(np.asarray(found["diffs"])).max(axis=0)
    best = {s: max(w for w, o in zip(weights, table.sources, strict=True) if o == s) for s in table.sources}
    return float(found["p_val"]), sorted(best, key=lambda s: -best[s])[:k]


def main(trials: int) -> None:
    figures = {}
    for number, problem in enumerate(PROBLEMS):
        begun, named = time.process_time(), []
        for trial in range(trials):
            drawn = problem.draw(np.random.default_rng([SEED, number, trial]))
            p, best = spotted(drawn, max(1, len(problem.involved)), trial)
            named.append(best if p <= LEVEL else [])
        figures[problem.name] = {"trials": trials, "named": named,
                                 "cpu_seconds": round((time.process_time() - begun) / trials, 2)}  # fmt: skip
        print(problem.name, figures[problem.name], flush=True)
        WRITTEN.write_text(json.dumps({"machine": machine(), "seed": SEED, "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
