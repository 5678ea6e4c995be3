"""How the time of `tell_apart` grows with the number of rows: ``python -m benchmarks.growth [--peers-until 2000]``.

Wall seconds, CPU seconds and peak memory of the default settings on all cores, each size in a fresh process, beside
MMDAgg (as in the league, 199 + 199 simulated statistics) and alibi-detect's MMDDrift (199 permutations) where it is
installed (see benchmarks/power/requirements-peers.txt) on the same rows in the same run. The samples differ, so that no
test stops early. Writes benchmarks/results/growth.json and growth.png.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.pop("OPENBLAS_CORETYPE", None)

import numpy as np

from benchmarks.machine import machine

RESULTS = Path(__file__).parent / "results"
SIZES = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 200_000, 1_000_000)
GOALS = {100: 0.1, 500: 0.5, 2000: 6.0, 50_000: 60.0}  # wall seconds on two cores
MEMORY_GOAL = {50_000: 4.0}  # GB
COLUMNS, SEED, DRAWS = 20, 0, 199
Sample = np.ndarray


def samples(n: int) -> tuple[Sample, Sample]:
    """Normal columns; in the second sample the first column is shifted as much as is easily found."""
    rng = np.random.default_rng([SEED, n])
    x, y = rng.normal(size=(n, COLUMNS)), rng.normal(size=(n, COLUMNS))
    y[:, 0] += 8 / np.sqrt(n)
    return x, y


def ours(x: Sample, y: Sample) -> float:
    from tellapart import tell_apart

    return tell_apart(x, y, rng=SEED).pvalue


def mmdagg(x: Sample, y: Sample) -> float:
    from benchmarks.power import peers

    peers.SIMULATED = DRAWS
    return peers.mmdagg(x, y, np.random.default_rng(SEED))


def alibi_detect(x: Sample, y: Sample) -> float:
    import warnings

    warnings.filterwarnings("ignore")
    from alibi_detect.cd import MMDDrift

    return float(MMDDrift(x, backend="pytorch", n_permutations=DRAWS, device="cpu").predict(y)["data"]["p_val"])


TESTS: dict[str, Callable[[Sample, Sample], float]] = {
    "tell_apart": ours,
    "mmdagg": mmdagg,
    "alibi-detect MMD": alibi_detect,
}


def measure(test: str, n: int) -> dict:
    """In this process: the first call on a tiny sample loads what is needed, then the least of some calls."""
    x, y = samples(n)
    TESTS[test](x[:20], y[:20])
    seconds, cpu, repetitions = [], [], 5 if n <= 500 else 2 if n <= 2000 else 1
    for _ in range(repetitions):
        start, worked = time.perf_counter(), time.process_time()
        p = TESTS[test](x, y)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - worked)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"test": test, "n": n, "seconds": min(seconds), "cpu_seconds": min(cpu), "peak_gb": round(peak, 3), "p": p}


def in_a_process(test: str, n: int) -> dict:
    """A fresh process for each measurement: its peak memory is that of this one."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", "--one", test, str(n)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"test": test, "n": n, "failed": done.stderr.strip().splitlines()[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def with_goals(row: dict) -> dict:
    if row["test"] != "tell_apart" or row["n"] not in GOALS:
        return row
    goal, most = GOALS[row["n"]], MEMORY_GOAL.get(row["n"])
    kept = row["seconds"] <= goal and (most is None or row["peak_gb"] <= most)
    return row | {"goal_seconds": goal, **({} if most is None else {"goal_gb": most}), "goal_kept": kept}


def draw(rows: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    styles = {
        "tell_apart": ("o", "-", "#1b6ca8", (-16, 8)),
        "mmdagg": ("s", "--", "#b3541e", (0, -16)),
        "alibi-detect MMD": ("^", ":", "#555", (0, 8)),
    }
    for test, (marker, line, colour, beside) in styles.items():
        points = [(r["n"], r["seconds"]) for r in rows if r["test"] == test and "seconds" in r]
        if points:
            n, seconds = zip(*points, strict=True)
            axes.loglog(n, seconds, marker=marker, linestyle=line, color=colour)
            axes.annotate(
                test, (n[-1], seconds[-1]), xytext=beside, textcoords="offset points", color=colour, ha="center"
            )
    axes.loglog(list(GOALS), list(GOALS.values()), "x", color="#1b6ca8", alpha=0.5, label="goal of tell_apart")
    axes.legend(handles=axes.lines[-1:], frameon=False, loc="upper left")
    axes.set(xlabel=f"rows of each sample ({COLUMNS} columns)", ylabel="wall seconds")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=2, metavar=("TEST", "N"), help="one measurement, as a line of JSON")
    parser.add_argument("--peers-until", type=int, default=2000, help="rows up to which the peers run")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    rows = []
    for n in map(int, options.sizes.split(",")):
        for test in TESTS:
            if test == "tell_apart" or n <= options.peers_until:
                rows.append(with_goals(in_a_process(test, n)))
                print(rows[-1], flush=True)
    written = {
        "command": "python -m benchmarks.growth " + " ".join(sys.argv[1:]),
        "unit": "wall and CPU seconds, least of several repetitions; gigabytes of the whole process",
        "seed": SEED,
        "columns": COLUMNS,
        "machine": machine(),
        "rows": rows,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "growth.json").write_text(json.dumps(written, indent=1) + "\n")
    draw(rows, options.out / "growth.png")


if __name__ == "__main__":
    main()
