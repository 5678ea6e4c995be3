"""CPU seconds of the methods of other papers that need no torch; writes `benchmarks/results/classic.json`.

``python -m benchmarks.classic``, measured as in `benchmarks/speed.py`: the least of several repetitions on one thread.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.machine import machine
from benchmarks.speed import AUTHORS, RESULTS, SEED, cpu_seconds, row
from tellapart import (
    ChiSquared,
    FromEstimator,
    Mean,
    OptimisedKernel,
    Permutation,
    kfda_test,
    mean_embedding_test,
    mmd_test,
    smooth_cf_test,
    witness_test,
)
from tellapart.datasets import blobs
from tellapart.kernels import Gaussian
from tellapart.witness.select import PAPER_KERNELS

Call = Callable[[], object]


def samples(n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Blobs, and beside them columns of noise."""
    rng = np.random.default_rng(SEED)
    x, y = blobs(n, theta=np.pi / 4, rng=SEED)
    return tuple(np.concatenate([z, rng.normal(size=(n, columns - 2))], axis=1) for z in (x, y))


def features(n: int, columns: int) -> list[dict]:
    """ME and SCF with five locations or frequencies, and half of the rows to learn them."""
    x, y = samples(n, columns)
    nulls = {"999 permutations": Permutation(999), "chi-square null": ChiSquared()}
    return [
        row(f"{test.__name__}, {words}, n = m = {n}, {columns} columns",
            cpu_seconds(lambda test=test, null=null: test(x, y, null=null, rng=SEED), 5), 1.0, None, None)
        for test in (mean_embedding_test, smooth_cf_test)
        for words, null in nulls.items()
    ]  # fmt: skip


def boot(n: int) -> list[dict]:
    """The permutation tests of the paper: with a fixed kernel, and with one of ten learned from half of the rows."""
    x, y = blobs(n, theta=np.pi / 4, rng=SEED)
    options = {"null": Permutation(200), "rng": SEED}
    fixed, learned = Gaussian(0.2), OptimisedKernel(PAPER_KERNELS)
    calls: dict[str, tuple[Call, float | None]] = {
        "mmd-boot": (lambda: mmd_test(x, y, kernel=fixed, **options), 0.00564),
        "kfda-boot": (lambda: kfda_test(x, y, kernel=fixed, **options), 0.11607),
        "opt-mmd-boot, 10 kernels": (lambda: mmd_test(x, y, kernel=learned, **options), None),
        "opt-mmd-witness, 10 kernels": (lambda: witness_test(x, y, learner=Mean(learned), **options), None),
    }
    return [
        row(f"{name}, 200 permutations, n = m = {n}", cpu_seconds(call, 40 if n < 500 else 5),
            0.005 if n == 100 else 1.0, None, authors if n == 100 else None)
        for name, (call, authors) in calls.items()
    ]  # fmt: skip


def classifiers(n: int) -> list[dict]:
    x, y = blobs(n, theta=np.pi / 4, rng=SEED)
    models = (LogisticRegression(), HistGradientBoostingClassifier(max_iter=50))
    return [
        row(f"C2ST-{'S' if output == 'class' else 'L'} with {type(model).__name__}, 999 permutations, n = m = {n}",
            cpu_seconds(lambda model=model, output=output: witness_test(
                x, y, learner=FromEstimator(model, output=output), rng=SEED), 3), 1.0, None, None)
        for model in models
        for output in ("class", "logit")
    ]  # fmt: skip


def main() -> None:
    if "OPENBLAS_CORETYPE" in os.environ:
        sys.exit("OPENBLAS_CORETYPE is set, which can halve the speed of matrix products: unset it.")
    with threadpool_limits(1):
        figures = [*boot(100), *boot(1000), *features(1000, 2), *features(1000, 50), *classifiers(1000)]
    written = {
        "command": "python -m benchmarks.classic",
        "unit": "CPU seconds, least of several repetitions",
        "seed": SEED,
        "authors": AUTHORS,
        "machine": machine(),
        "figures": figures,
    }
    (RESULTS / "classic.json").write_text(json.dumps(written, indent=1) + "\n")
    for f in figures:
        print(f"{f['cpu_seconds'] * 1e3:9.1f} ms  goal {f['goal'] * 1e3:6.0f}  {f['what']}")


if __name__ == "__main__":
    main()
