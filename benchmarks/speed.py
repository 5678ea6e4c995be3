"""Measures speed in CPU seconds on one thread and writes benchmarks/results/speed.json: ``make bench``.

Each figure is the least of several repetitions, because other work on a machine can only add. Next to it stand the
floor (the fewest operations the method needs, over the rates of this machine measured in the same run), the goal, and
the figure of the paper's own code, measured on the same type of machine. What an optimisation bought is measured as a
ratio of both ways in the same run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.machine import machine
from tellapart import Permutation, Saddlepoint, Select, witness_test
from tellapart.classical import kfda_test, mmd_test
from tellapart.datasets import blobs
from tellapart.inference import relabel
from tellapart.kernels import Gaussian
from tellapart.witness import shifted
from tellapart.witness.fisher import TwoClasses
from tellapart.witness.select import PAPER_KERNELS, PAPER_RIDGES

RESULTS = Path(__file__).parent / "results"
SEED = 0
AUTHORS = "code published with the paper, CPU seconds on one thread of the same type of machine"


def cpu_seconds(call: Callable[[], object], repetitions: int) -> float:
    """The least CPU time of several calls, after one to warm up."""
    call()
    seconds = []
    for _ in range(repetitions):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def rates() -> dict[str, float]:
    """What this machine can do: float64 matrix product, exponentials, and passes over memory."""
    rng = np.random.default_rng(SEED)
    a, v = rng.normal(size=(1500, 1500)), rng.normal(size=10**6)
    out = np.empty_like(v)
    return {
        "dgemm_flop_per_s": 2 * 1500**3 / cpu_seconds(lambda: a @ a, 5),
        "exp_per_s": len(v) / cpu_seconds(lambda: np.exp(v, out=out), 20),
        "add_bytes_per_s": 24 * len(v) / cpu_seconds(lambda: np.add(v, out, out=out), 20),
    }


def grid_floor(n: int, rate: dict[str, float]) -> float:
    """10 kernels x 2 folds: one tridiagonalisation each, kernels by exponentials, one refit, test values."""
    train, fold = n, n // 2  # pooled rows: half of 2 n learns, half of those in a fold
    flop = 20 * 4 / 3 * fold**3 + train**3 / 3
    exponentials = 10 * 2 * 2 * fold**2 + 2 * train**2
    return flop / rate["dgemm_flop_per_s"] + exponentials / rate["exp_per_s"]


def whole_test(n: int, rate: dict[str, float], repetitions: int, authors: float | None, goal: float) -> dict:
    x, y = blobs(n, theta=np.pi / 4, rng=SEED)
    learner = Select.paper()
    seconds = cpu_seconds(lambda: witness_test(x, y, learner=learner, null=Permutation(200), rng=SEED), repetitions)
    return row(
        f"whole test, paper's grid (10 kernels x 5 ridges x 2 folds, refit, 200 permutations), n = m = {n}",
        seconds, goal, grid_floor(n, rate), authors,
    )  # fmt: skip


def classical(
    n: int, draws: int, rate: dict[str, float], goal: float, authors: tuple[float | None, float | None]
) -> list:
    """Whole-sample tests: one kernel matrix and one product; and a Cholesky decomposition and two triangular solves."""
    x, y = blobs(n, theta=np.pi / 4, rng=SEED)
    options = {"kernel": Gaussian(0.2), "null": Permutation(draws), "rng": SEED}
    rows, repetitions = 2 * n, 40 if n < 500 else 3
    mmd = rows**2 / rate["exp_per_s"] + 2 * rows**2 * draws / rate["dgemm_flop_per_s"]
    kfda = mmd + (rows**3 / 3 + 2 * rows**2 * draws) / rate["dgemm_flop_per_s"]
    return [
        row(f"{test.__name__}, {draws} permutations, n = m = {n}",
            cpu_seconds(lambda test=test: test(x, y, **options), repetitions), goal, floor, theirs)
        for test, floor, theirs in zip((mmd_test, kfda_test), (mmd, kfda), authors, strict=True)
    ]  # fmt: skip


def million_values(rate: dict[str, float]) -> list[dict]:
    rng = np.random.default_rng(SEED)
    h_x, h_y = rng.normal(size=500_000), rng.normal(size=500_000)
    transforms = 3 * 5 * 10**6 * np.log2(10**6)
    permutations = cpu_seconds(lambda: Permutation(1000).judge(h_x, h_y, np.random.default_rng(1)), 5)
    saddlepoint = cpu_seconds(lambda: Saddlepoint().judge(h_x, h_y, rng), 5)
    return [
        row("1,000 permutations of 1,000,000 witness values", permutations, 1.0,
            transforms / rate["dgemm_flop_per_s"] + 10 * 8e6 / rate["add_bytes_per_s"], None),
        row("saddlepoint p-value of 1,000,000 witness values", saddlepoint, 0.1, 3 * 1e6 / rate["exp_per_s"], None),
    ]  # fmt: skip


def import_time() -> dict:
    """What importing the two main tests adds to NumPy and the parts of SciPy they use, in fresh interpreters."""
    parts = "import numpy, scipy.fft, scipy.linalg, scipy.spatial.distance, scipy.special"
    ours, theirs = (
        min(interpreter_seconds(code) for _ in range(5))
        for code in (f"{parts}; from tellapart import tell_apart, witness_test", parts)
    )
    return row("from tellapart import tell_apart, witness_test; beyond NumPy and SciPy", ours - theirs, 0.5, None, None)


def interpreter_seconds(code: str) -> float:
    """CPU time of a fresh interpreter that runs `code`."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def row(name: str, seconds: float, goal: float, floor: float | None, authors: float | None) -> dict:
    found = {"what": name, "cpu_seconds": seconds, "goal": goal}
    found |= {"floor": floor, "over_floor": seconds / floor} if floor else {}
    return found | ({"authors": authors, "authors_over_ours": authors / seconds} if authors else {})


def one_reduction_against_one_solve_per_ridge(total: int) -> dict:
    """Five ridges of every second kernel of the paper's grid: what sharing one reduction buys."""
    z = np.concatenate(blobs(total // 2, theta=np.pi / 4, rng=SEED))
    systems = [TwoClasses(total // 2, total).system(k(z, z)) for k in PAPER_KERNELS[::2]]
    repetitions = 20 if total < 300 else 3

    def each() -> None:
        for a, b in systems:
            for ridge in PAPER_RIDGES:
                shifted.solve_shifted(a.copy(), b, [ridge])

    def shared() -> None:
        for a, b in systems:
            shifted.solve_shifted(a.copy(), b, PAPER_RIDGES)

    slow, fast = cpu_seconds(each, repetitions), cpu_seconds(shared, repetitions)
    return {"training_rows": total, "cholesky_each": slow, "shared": fast, "ratio": slow / fast}


def rotations_against_shuffles(total: int, few: int = 20) -> dict:
    """A thousand relabellings both ways; the shuffles are measured on a few and scaled up."""
    h, n = np.random.default_rng(SEED).normal(size=total), total // 2
    slow = cpu_seconds(lambda: list(relabel._shuffled_sums(h, n, few, np.random.default_rng(1), 2**18)), 3)
    fast = cpu_seconds(lambda: list(relabel._rotated_sums(h, n, 1000, np.random.default_rng(1))), 3)
    slow *= 1000 / few
    return {"rows": total, "draws": 1000, "shuffles": slow, "rotations": fast, "ratio": slow / fast}


def main() -> None:
    if "OPENBLAS_CORETYPE" in os.environ:
        sys.exit(
            "OPENBLAS_CORETYPE is set, which can halve the speed of matrix products: unset it, or use `make bench`."
        )
    with threadpool_limits(1):
        rate = rates()
        figures = [
            whole_test(100, rate, 40, authors=0.490, goal=0.008),
            whole_test(1000, rate, 5, authors=None, goal=0.5),
            *million_values(rate),
            *classical(100, 200, rate, 0.005, (0.00564, 0.11607)),
            *classical(1000, 999, rate, 2.0, (None, None)),
            import_time(),
        ]
        ratios = {
            "one reduction for five ridges, against one Cholesky each": [
                one_reduction_against_one_solve_per_ridge(total) for total in (50, 200, 500, 1500)
            ],
            "1,000 rotations, against 1,000 shuffles": [
                rotations_against_shuffles(total) for total in (10_000, 100_000)
            ],
        }
    RESULTS.mkdir(exist_ok=True)
    written = {
        "command": "make bench",
        "unit": "CPU seconds, least of several repetitions",
        "seed": SEED,
        "authors": AUTHORS,
        "machine": machine(),
        "rates": rate,
        "figures": figures,
        "ratios": ratios,
    }
    (RESULTS / "speed.json").write_text(json.dumps(written, indent=1) + "\n")
    for f in figures:
        ms = {key: f[key] * 1e3 for key in ("cpu_seconds", "goal", "floor") if key in f}
        print(f"{ms['cpu_seconds']:9.1f} ms  goal {ms['goal']:6.0f}  floor {ms.get('floor', 0):7.2f}  {f['what']}")
    for name, rows in ratios.items():
        print(name + ": " + ", ".join(f"{next(iter(r.values()))}: {r['ratio']:.1f}" for r in rows))


if __name__ == "__main__":
    main()
