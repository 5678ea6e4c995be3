"""Measures the witness from few centres and writes benchmarks/results/nystrom.json: ``python -m benchmarks.nystrom``.

CPU seconds on one thread to learn it from n + n rows of the paper's Blobs, and its signal-to-noise ratio on 10,000 +
10,000 fresh rows, beside the exact witness where that is possible. Then the paper's way to the same witness, for the
same centres: conjugate gradients, each step a pass over all rows, with Falkon's preconditioner (the covariance of M
random rows in place of that of all). The features are ours, in which k(C, C) is the identity, so the two differ in how
one system is solved: by its matrix, from one pass, or by products with it, one pass each.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.machine import machine
from tellapart import Fisher, Nystrom, snr
from tellapart._arrays import chunks
from tellapart.datasets import blobs
from tellapart.kernels import Gaussian, kernel_matrix
from tellapart.landmarks import FeatureMap
from tellapart.moments import Moments
from tellapart.pairs import Pairs
from tellapart.samples import Samples, as_samples
from tellapart.witness.nystrom import directions, moments_of

RESULTS = Path(__file__).parent / "results"
KERNEL, RIDGES = Gaussian(0.2), (1e-2, 1e-5)
ROWS, CENTRES = (1000, 3000, 10_000, 50_000, 200_000), (100, 300, 1000)
MOST_EXACT, MOST_ITERATED = 3000, 50_000  # rows of each sample
STEPS = 20
CLOSE = 0.01  # of the signal-to-noise ratio of the direct solution
SEED = 0


class Passes:
    """Products with ``Sigma_P / c + Sigma_Q / (1 - c)`` of the features, one pass over the rows each."""

    def __init__(self, mapped: FeatureMap, train: Samples) -> None:
        self.mapped, self.train, n, m = mapped, train, train.n, train.m
        self.weights = (n + m) / n, (n + m) / m
        self.means = [self.pulled(z, np.full(len(z), 1 / len(z))) for z in (train.x, train.y)]

    def blocks(self, rows: np.ndarray):
        for part in chunks(len(rows), len(self.mapped.landmarks), 2**22):
            yield part, kernel_matrix(KERNEL, Pairs(rows[part], self.mapped.landmarks))

    def pulled(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        return self.mapped.whitening.T @ sum(k.T @ values[part] for part, k in self.blocks(rows))

    def __call__(self, v: np.ndarray) -> np.ndarray:
        u, found = self.mapped.whitening @ v, np.zeros_like(v)
        for rows, mean, weight in zip((self.train.x, self.train.y), self.means, self.weights, strict=True):
            product = sum(k.T @ (k @ u) for _, k in self.blocks(rows)) / len(rows)
            found += weight * (self.mapped.whitening.T @ product - mean * (mean @ v))
        return found


def preconditioner(mapped: FeatureMap, train: Samples, ridge: float, rng: np.random.Generator):
    """The system of as many random rows as there are centres, of both samples alike."""
    few = [z[rng.choice(len(z), max(2, len(mapped.landmarks) // 2), replace=False)] for z in (train.x, train.y)]
    p, q = (Moments.of(mapped.features(Pairs(z, mapped.landmarks))) for z in few)
    factor = cho_factor(2 * p.variance + 2 * q.variance + ridge * np.eye(len(p.mean)))
    return lambda v: cho_solve(factor, v)


def conjugate_gradients(system, precondition, b: np.ndarray, steps: int):
    """The solution after each step."""
    x, r = np.zeros_like(b), b.copy()
    z = p = precondition(r)
    for _ in range(steps):
        a_p = system(p)
        step = (r @ z) / (p @ a_p)
        x, r, before = x + step * p, r - step * a_p, r @ z
        yield x
        z = precondition(r)
        p = z + (r @ z) / before * p


class Judge:
    """The signal-to-noise ratio of a direction, on features of the fresh rows that are computed once."""

    def __init__(self, mapped: FeatureMap, fresh: Samples) -> None:
        self.phi = [mapped.features(Pairs(z, mapped.landmarks)) for z in (fresh.x, fresh.y)]

    def __call__(self, w: np.ndarray) -> float:
        return snr(*(phi @ w for phi in self.phi))


def direct(train: Samples, centres: int) -> tuple[dict, FeatureMap, dict]:
    """Seconds of every part, and the direction for each ridge."""
    clock = [time.process_time()]
    chosen = Nystrom(KERNEL, centres=centres)._chosen(KERNEL, train.pooled, np.random.default_rng(SEED))
    mapped = FeatureMap.exact(KERNEL, chosen)
    clock.append(time.process_time())
    moments = moments_of(mapped, train.x), moments_of(mapped, train.y)
    clock.append(time.process_time())
    w = {ridge: directions(*moments, [ridge], "corrected")[0] for ridge in RIDGES}
    clock.append(time.process_time())
    parts = dict(zip(("centres", "moments", "solve"), np.diff(clock).tolist(), strict=True))
    parts["solve"] /= len(RIDGES)
    return {"seconds": sum(parts.values()), "of these": parts}, mapped, w


def iterated(train: Samples, mapped: FeatureMap, w: np.ndarray, ridge: float, judge: Judge) -> dict:
    """How many steps, and seconds, conjugate gradients take to the direct solution."""
    wanted, start = judge(w), time.process_time()
    passes = Passes(mapped, train)
    delta = passes.means[0] - passes.means[1]
    precondition = preconditioner(mapped, train, ridge, np.random.default_rng(SEED))
    before = time.process_time() - start
    found: dict = {"ridge": ridge, "seconds before": before, "snr by step": []}
    spent, aside = time.process_time(), 0.0
    for step, v in enumerate(conjugate_gradients(lambda u: passes(u) + ridge * u, precondition, delta, STEPS), start=1):
        paused = time.process_time()
        ratio, error = judge(v), float(np.linalg.norm(ridge * v - w) / np.linalg.norm(w))
        found["snr by step"].append(ratio)
        seconds = before + paused - spent - aside
        if abs(ratio - wanted) <= CLOSE * wanted:
            found.setdefault("within 1 % of the ratio", {"steps": step, "seconds": seconds})
        aside += time.process_time() - paused
        if error <= 1e-6:
            return found | {"to six digits": {"steps": step, "seconds": seconds}}
    return found


def measured(n: int, fresh: Samples) -> dict:
    train = as_samples(*blobs(n, theta=np.pi / 4, rng=[SEED, n]))
    row: dict = {"n": n, "centres": {}}
    if n <= MOST_EXACT:
        start = time.process_time()
        exact = {str(ridge): Fisher(KERNEL, ridge).learn(train, np.random.default_rng(SEED)) for ridge in RIDGES}
        row["exact"] = {"seconds": (time.process_time() - start) / len(RIDGES)}
        row["exact"]["snr"] = {ridge: snr(h(fresh.x), h(fresh.y)) for ridge, h in exact.items()}
    for centres in CENTRES:
        found, mapped, w = direct(train, centres)
        judge = Judge(mapped, fresh)
        found["snr"] = {str(ridge): judge(v) for ridge, v in w.items()}
        if n <= MOST_ITERATED:
            found["conjugate gradients"] = [iterated(train, mapped, w[ridge], ridge, judge) for ridge in RIDGES]
        row["centres"][str(centres)] = found
        print(n, centres, json.dumps(found)[:400], flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    options = parser.parse_args()
    if "OPENBLAS_CORETYPE" in os.environ:
        sys.exit("OPENBLAS_CORETYPE is set, which can halve the speed of matrix products: unset it.")
    fresh = as_samples(*blobs(10_000, theta=np.pi / 4, rng=[SEED, 1]))
    written = {
        "command": " ".join(["python -m benchmarks.nystrom", *sys.argv[1:]]),
        "unit": "CPU seconds on one thread; signal-to-noise ratios on 10,000 + 10,000 fresh rows",
        "problem": f"the paper's Blobs, n rows of each sample, {KERNEL!r}, by ridge",
        "machine": machine(),
        "rows": [measured(n, fresh) for n in options.rows],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "nystrom.json").write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
