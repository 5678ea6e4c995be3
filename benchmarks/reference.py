"""Power of a saved reference beside that of the raw rows.

``python -m benchmarks.reference [trials]`` writes `benchmarks/results/reference.json`: rejections at level 0.05 on the
same draws, of 300 rows of the reference against 80 later ones, and what the files weigh and cost.

- *raw rows*: `tell_apart` with all rows of both.
- *saved, share 0.25* and *0.5*: `Reference.fit` (that share of the rows fixes the classes), then `test`.
- *saved, 16 classes*: the same, coarser.
- *split witness*: `witness_test`, one half of each sample learns. A file that held a witness' features in place of
  classes could do no better: it would learn from one half of the sample what it judges on the other.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine
from benchmarks.power import draws
from benchmarks.power.problems import rotated
from tellapart import Permutation, Reference, tell_apart, witness_test

RESULTS = Path(__file__).parent / "results"
SEED, LEVEL, N, M = 20261120, 0.05, 300, 80
NULL = Permutation(99, stop_after=10)

PROBLEMS: dict[str, draws.Draw] = {
    "nothing, d = 5": draws.shifted(N, 5, 0.0),
    "blobs": rotated(N),
    "mean + 0.25, d = 5": draws.shifted(N, 5, 0.25),
    "scale x 1.25, d = 5": draws.scaled(N, 5, 1.25),
    "correlation 0.3, d = 5": draws.correlated(N, 5, 0.3),
    "perturbed uniform 0.6, d = 1": draws.perturbed_uniform(N, 1, 0.6),
    "counts x 1.25, d = 5": draws.counts(N, 5, 1.25),
}


def saved(share: float, classes: int) -> Callable[..., float]:
    def pvalue(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
        reference = Reference.fit(x, train_share=share, classes=classes, rng=rng)
        return reference.test(y, null=NULL, rng=rng).pvalue

    return pvalue


ARMS: dict[str, Callable[..., float]] = {
    "raw rows": lambda x, y, rng: tell_apart(x, y, null=NULL, rng=rng).pvalue,
    "saved, share 0.25": saved(0.25, 256),
    "saved, share 0.5": saved(0.5, 256),
    "saved, 16 classes": saved(0.25, 16),
    "split witness": lambda x, y, rng: witness_test(x, y, rng=rng).pvalue,
}


def powers(trials: int) -> dict[str, dict[str, float]]:
    """Shares of rejections, the same draws for all."""
    found = {}
    for i, (name, draw) in enumerate(PROBLEMS.items()):
        rejected = dict.fromkeys(ARMS, 0)
        for trial in range(trials):
            x, y = draws.cut(draw, M)(np.random.default_rng([SEED, i, trial]))
            for arm, pvalue in ARMS.items():
                rejected[arm] += pvalue(x, y, np.random.default_rng([SEED, i, trial, 1])) <= LEVEL
        found[name] = {arm: count / trials for arm, count in rejected.items()}
        print(f"{name}: {found[name]}", flush=True)
    return found


def costs() -> dict[str, Any]:
    """CPU seconds and bytes of a reference of 100,000 rows and 30 columns, against 5,000 rows."""
    rng = np.random.default_rng(SEED)
    x, y = rng.normal(size=(100_000, 30)), rng.normal(size=(5_000, 30))
    timed: dict[str, Any] = {}

    def measured(name: str, call: Callable[[], Any]) -> Any:
        start = time.process_time()
        value = call()
        timed[name] = round(time.process_time() - start, 2)
        return value

    reference = measured("fit", lambda: Reference.fit(x, rng=0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.tap"
        measured("save", lambda: reference.save(path))
        timed["bytes"] = path.stat().st_size
        reference = measured("load", lambda: Reference.load(path))
    measured("test", lambda: reference.test(y, rng=0))
    measured("raw rows", lambda: tell_apart(x, y, rng=0))
    return timed


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    measured = {"level": LEVEL, "n": N, "m": M, "trials": number, "seed": SEED, "power": powers(number)}
    text = json.dumps({"machine": machine(), **measured, "cost": costs()}, indent=1)
    (RESULTS / "reference.json").write_text(text + "\n")
