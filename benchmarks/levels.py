"""Simulates the level of every path of the test without a split: ``python -m benchmarks.levels``.

    --trials 5000 --processes 16 --paths groups,pairs --kinds ties --keep

Each cell draws samples without a difference and counts rejections. "Kept" means that rejections at 0.01 and at 0.05 are
believable for an exact test, and that P(p <= a) exceeds a nowhere by more than chance allows (each with error 1e-4; the
last by Massart's inequality). Writes benchmarks/results/levels.json and levels.md; with `--keep`, cells of other paths
and kinds that stand there already stay.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

# Before NumPy is loaded, here and in the worker processes: one thread each.
os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

from benchmarks.machine import machine
from tests.null_paths import KINDS, PATHS, Skipped, pvalues
from tests.oracles import binomial_bounds

RESULTS = Path(__file__).parent / "results"
LEVELS = (0.01, 0.05)
ERROR = 1e-4
CHUNK = 100
Cell = tuple[str, str]


def run(cell: Cell, start: int, stop: int, seed: int) -> tuple[Cell, list[float], str | None]:
    """P-values of some trials of a cell, and why there are none."""
    try:
        return cell, pvalues(*cell, range(start, stop), seed).tolist(), None
    except Skipped as reason:
        return cell, [], f"skipped, {reason}"
    except Exception as error:  # one that fails must not stop the others
        return cell, [], f"FAILED, {type(error).__name__}: {error}"


def simulate(cells: list[Cell], options: argparse.Namespace) -> tuple[dict[Cell, list[float]], dict[Cell, str]]:
    """All p-values, and for cells that have none the reason."""
    found, reasons, shown = defaultdict(list), {}, time.monotonic()
    starts = range(0, options.trials, CHUNK)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, mp_context=context) as pool:
        pending = [
            pool.submit(run, cell, s, min(s + CHUNK, options.trials), options.seed) for s in starts for cell in cells
        ]
        for done, future in enumerate(as_completed(pending), 1):
            cell, values, reason = future.result()
            found[cell] += values
            if reason and cell not in reasons:
                reasons[cell] = reason
                print(f"{cell[0]} on {cell[1]}: {reason}", flush=True)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"{done} of {len(pending)} chunks", file=sys.stderr, flush=True)
    return found, reasons


def row(cell: Cell, p: np.ndarray) -> dict:
    """What the p-values of a cell say."""
    counts = {f"{level:g}": int((p <= level + 1e-12).sum()) for level in LEVELS}
    most = {f"{level:g}": binomial_bounds(len(p), level, ERROR)[1] for level in LEVELS}
    excess, allowed = largest_excess(p), math.sqrt(math.log(1 / ERROR) / (2 * len(p)))
    kept = all(counts[level] <= most[level] for level in counts) and excess <= allowed
    return {
        "path": cell[0],
        "data": cell[1],
        "trials": len(p),
        "rejections": counts,
        "at_most": most,
        "excess": excess,
        "excess_allowed": allowed,
        "kept": kept,
    }


def largest_excess(p: np.ndarray) -> float:
    """The largest P(p <= a) - a.

    >>> round(largest_excess(np.array([0.25, 0.5, 0.6, 1.0])), 6)
    0.15
    """
    ordered = np.sort(p)
    return float(max(0.0, np.max(np.searchsorted(ordered, ordered + 1e-12, "right") / len(p) - ordered)))


def markdown(rows: list[dict]) -> str:
    """One line for each path and kind of data."""
    lines = [
        "| path | data | trials | rejections at 0.01 (at most) | at 0.05 (at most) | largest P(p <= a) - a | level |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        at = [
            f"{r['rejections'][level] / r['trials']:.4f} ({r['at_most'][level] / r['trials']:.4f})"
            for level in r["rejections"]
        ]
        verdict = "kept" if r["kept"] else "**EXCEEDED**"
        lines.append(
            f"| {r['path']} | {r['data']} | {r['trials']} | {at[0]} | {at[1]} | "
            f"{r['excess']:.4f} ({r['excess_allowed']:.4f}) | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def known(path: Path) -> dict:
    """What earlier runs wrote."""
    return json.loads(path.read_text()) if path.exists() else {"commands": [], "rows": []}


def in_order(rows: list[dict]) -> list[dict]:
    """By path and kind of data, as they are declared."""
    return sorted(rows, key=lambda r: (list(PATHS).index(r["path"]), list(KINDS).index(r["data"])))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--paths", default=",".join(PATHS), help="names, separated by commas")
    parser.add_argument("--kinds", default=",".join(KINDS), help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep what other runs found for other cells")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    for given, known in ((options.paths, PATHS), (options.kinds, KINDS)):
        if unknown := set(given.split(",")) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return options


def main() -> None:
    options = arguments()
    cells = [(path, kind) for path in options.paths.split(",") for kind in options.kinds.split(",")]
    start = time.monotonic()
    found, reasons = simulate(cells, options)
    before = known(options.out / "levels.json") if options.keep else {"commands": [], "rows": []}
    rows = [row(cell, np.array(found[cell])) for cell in cells if found[cell] and cell not in reasons]
    rows = in_order(rows + [r for r in before["rows"] if (r["path"], r["data"]) not in cells])
    written = {
        "commands": [*before["commands"], "python -m benchmarks.levels " + " ".join(sys.argv[1:])],
        "seeds": f"trial t of a cell is drawn from default_rng([{options.seed}, index of path, index of data, t])",
        "error_of_each_bound": ERROR,
        "minutes": (time.monotonic() - start) / 60,
        "machine": machine(),
        "without_figures": [{"path": p, "data": k, "reason": reason} for (p, k), reason in reasons.items()],
        "rows": rows,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "levels.json").write_text(json.dumps(written, indent=1) + "\n")
    (options.out / "levels.md").write_text(markdown(rows))
    print(markdown(rows))
    exceeded = sum(not r["kept"] for r in rows)
    print(
        f"{len(rows) - exceeded} of {len(rows)} kept, {len(reasons)} without figures, {written['minutes']:.1f} minutes"
    )


if __name__ == "__main__":
    main()
