"""Runs the declared experiments: ``python -m experiments.run [--trials 1000] [--processes 2] [--only NAME ...]``.

Trials are done in chunks by separate processes. Every finished chunk is one line of a file under experiments/cache, so
that a run can be stopped at any time and goes on where it was. Every trial has its own seed, made of the experiment's
name, the point and the number of the trial: results depend neither on the number of processes nor on interruptions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import numpy as np

import tellapart
from benchmarks.machine import machine
from experiments.declared import EXPERIMENTS, LEVEL, Experiment, Line
from experiments.figures import draw_blobs, draw_experiment

HERE = Path(__file__).parent
CACHE, RESULTS = HERE / "cache", HERE / "results"
CHUNK = 50

Task = tuple[str, str, float, int]  # experiment, line, x, first trial


def main() -> None:
    options = arguments()
    chosen = [e for e in EXPERIMENTS if not options.only or e.name in options.only]
    RESULTS.mkdir(exist_ok=True)
    if options.draw:
        draw(chosen)
        return
    tasks = [
        (e.name, line.name, x, start)
        for e in chosen
        for line in e.lines
        for x in line.xs or e.xs
        for start in range(0, options.trials, CHUNK)
    ]
    CACHE.mkdir(exist_ok=True)
    done = read_cache()
    run([t for t in tasks if t not in done], done, options.processes)
    for experiment in chosen:
        summary = summarised(experiment, done, options.trials)
        (RESULTS / f"{experiment.name}.json").write_text(json.dumps(summary, indent=1) + "\n")
        report(summary)
    draw(chosen)


def draw(chosen: list[Experiment]) -> None:
    """Pictures from the JSON files."""
    for experiment in chosen:
        summary = json.loads((RESULTS / f"{experiment.name}.json").read_text())
        draw_experiment(summary, RESULTS / experiment.name)
    draw_blobs(RESULTS / "blobs_draws")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1000, help="trials a point, a multiple of 50 (default 1000)")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--only", nargs="*", choices=[e.name for e in EXPERIMENTS], default=[])
    parser.add_argument("--draw", action="store_true", help="only draw the pictures again from the JSON files")
    options = parser.parse_args()
    if options.trials < CHUNK or options.trials % CHUNK:
        parser.error(f"--trials must be a positive multiple of {CHUNK}, got {options.trials}")
    return options


def run(tasks: list[Task], done: dict[Task, list[float]], processes: int) -> None:
    """Do the tasks, longest first as far as x tells, and keep each as soon as it is done."""
    if not tasks:
        return
    start = time.monotonic()
    with ProcessPoolExecutor(processes) as pool, (CACHE / "pvalues.jsonl").open("a") as kept:
        waiting = {pool.submit(trials, *task): task for task in sorted(tasks, key=lambda t: -t[2])}
        for finished, future in enumerate(as_completed(waiting), 1):
            task = waiting[future]
            done[task] = future.result()
            kept.write(json.dumps([*task, cache_key(task), done[task]]) + "\n")
            kept.flush()
            show_progress(finished, len(tasks), time.monotonic() - start)


def show_progress(finished: int, total: int, seconds: float) -> None:
    if finished < total and not sys.stderr.isatty() and finished % 100:
        return
    bar = "#" * (30 * finished // total)
    left = seconds / finished * (total - finished)
    end = "\r" if sys.stderr.isatty() and finished < total else "\n"
    sys.stderr.write(f"[{bar:<30}] {finished}/{total} chunks, about {left / 60:.1f} min left   {end}")
    sys.stderr.flush()


def trials(experiment: str, line: str, x: float, start: int) -> list[float]:
    """p-values of `CHUNK` trials."""
    found, tested = find(experiment, line)
    pvalues = []
    for trial in range(start, start + CHUNK):
        # Lines of one experiment see the same draws; what they do with them is seeded by their name.
        draws = np.random.default_rng([trial, *words(experiment), *words(repr(float(x)))])
        sample = found.draw(x, draws)
        test_rng = np.random.default_rng([trial, *words(experiment), *words(repr(float(x))), *words(line)])
        pvalues.append(float(tested.test(*sample, x, test_rng)))
    return pvalues


def words(text: str) -> list[int]:
    """Seed material from a name."""
    return np.frombuffer(hashlib.sha256(text.encode()).digest()[:8], dtype=np.uint32).tolist()


def find(experiment: str, line: str) -> tuple[Experiment, Line]:
    found = next(e for e in EXPERIMENTS if e.name == experiment)
    return found, next(li for li in found.lines if li.name == line)


def cache_key(task: Task) -> str:
    """Changes when the line is declared differently or the library's code changes."""
    _, line = find(task[0], task[1])
    described = f"{line.test!r}".split(" at 0x")[0] + repr(getattr(line.test, "args", ""))
    return hashlib.sha256(f"{described}{source_hash()}".encode()).hexdigest()[:12]


@cache
def source_hash() -> str:
    files = sorted(Path(tellapart.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()


def read_cache() -> dict[Task, list[float]]:
    """Chunks done before, by the same declaration. A line cut short by a kill is left out."""
    done: dict[Task, list[float]] = {}
    path = CACHE / "pvalues.jsonl"
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            *task, key, pvalues = json.loads(text)
            if cache_key(tuple(task)) == key:
                done[tuple(task)] = pvalues
        except (ValueError, StopIteration):
            continue
    return done


def summarised(experiment: Experiment, done: dict[Task, list[float]], n_trials: int) -> dict:
    authors = json.loads((HERE / "authors_code.json").read_text())
    lines = []
    for line in experiment.lines:
        points = []
        for x in line.xs or experiment.xs:
            pvalues = [p for s in range(0, n_trials, CHUNK) for p in done[(experiment.name, line.name, x, s)]]
            points.append(point(x, np.array(pvalues), line, experiment.name, authors["rows"]))
        lines.append({"line": line.name, "authors_method": line.authors, "points": points})
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "x_label": experiment.x_label,
        "under_null": experiment.under_null,
        "level": LEVEL,
        "trials": n_trials,
        "command": "make paper",
        "seeds": "numpy.random.default_rng([trial, sha256 words of experiment, x and line])",
        "authors_source": authors["source"],
        "machine": machine(),
        "lines": lines,
    }


def point(x: float, pvalues: np.ndarray, line: Line, experiment: str, authors: list[dict]) -> dict:
    rejections, n = int((pvalues <= LEVEL).sum()), len(pvalues)
    row = {"x": x, "rejections": rejections, "trials": n, "rate": rejections / n, "se": se(rejections, n)}
    theirs = [
        r
        for r in authors
        if r["method"] == line.authors
        and r["x"] == x
        and (r["experiment"] == experiment or (experiment == "ridge" and r["experiment"] == "split_fixed"))
    ]
    if theirs:
        r = theirs[0]
        pooled = (rejections + r["rejections"]) / (n + r["trials"])
        error = np.sqrt(max(pooled * (1 - pooled), 1e-9) * (1 / n + 1 / r["trials"]))
        row["authors"] = {"rate": r["rejections"] / r["trials"], "trials": r["trials"]}
        row["standard_errors_apart"] = round(float((row["rate"] - row["authors"]["rate"]) / error), 2)
        if x in line.reasons:
            row["reason"] = line.reasons[x]
    return row


def se(rejections: int, n: int) -> float:
    rate = rejections / n
    return float(np.sqrt(rate * (1 - rate) / n))


def report(summary: dict) -> None:
    print(f"\n{summary['title']} ({summary['trials']} trials)")
    for line in summary["lines"]:
        shown = "  ".join(f"{p['x']:g}: {p['rate']:.3f}" for p in line["points"])
        print(f"  {line['line']:<30} {shown}")
        for p in line["points"]:
            if "authors" in p:
                apart = p["standard_errors_apart"]
                mark = f"  <-- {p.get('reason', 'NO REASON GIVEN')}" if abs(apart) > 3 else ""
                print(
                    f"      at {p['x']:g}: authors' code {p['authors']['rate']:.3f}, {apart:+.1f} standard errors{mark}"
                )


if __name__ == "__main__":
    main()
