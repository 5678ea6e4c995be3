"""The league of power: every test on the same draws of every problem, ``python -m benchmarks.power.league``.

    --trials 300 --tests tell_apart,mmdagg --problems HIGGS --part aside --processes 2 --data DIR

What has been computed is kept line by line in benchmarks/power/cache and never computed twice; stop and start at will.
`--gpu` computes the sums over kernel matrices on a GPU, where PyTorch finds one; `--until 400` begins nothing new after
so many seconds and writes no table. `--merge DIR` takes in the cache of another machine, `--report` only writes the
table from what is there, `--forget a,b` drops what is known of tests that have changed. `--store` keeps every trial in
benchmarks/results/league_trials, from where a new clone goes on. Writes league.json, league.md,
league_short.md (the table of the README) and league.png to benchmarks/results.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

# Before NumPy is loaded, here and in the worker processes: one thread each, at the speed of this machine.
os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ.pop("OPENBLAS_CORETYPE", None)

import numpy as np

from benchmarks.machine import machine, processor
from benchmarks.power import cache, standings
from benchmarks.power.peers import OURS, SPLITS, TESTS, Test
from benchmarks.power.problems import PROBLEMS, Problem, usable

RESULTS = Path(__file__).parents[1] / "results"
PARTS = {
    "all": lambda p: True,
    "aside": lambda p: p.aside,
    "choosing": lambda p: not p.aside and not p.null,
    "null": lambda p: p.null,
}
BY_NAME = {p.name: p for p in PROBLEMS}
LIBRARY = {OURS, *SPLITS}
SUMS_OVER_KERNELS = {"mmdagg", "mmd_fuse", "mmd_median", "energy"}  # what benchmarks.power.gpu can compute


@dataclass(frozen=True)
class Task:
    """Some trials of one cell."""

    problem: str
    test: str
    trials: tuple[int, ...]
    gpu: bool = False


def test_of(task: Task) -> Test:
    if not task.gpu:
        return TESTS[task.test]
    from benchmarks.power import gpu

    return gpu.TESTS[task.test]


def run(task: Task) -> tuple[Task, list[dict], str | None]:
    """The lines of a task, and the error that stopped it, if one did."""
    lines = []
    for trial in task.trials:
        x, y = cache.drawn(BY_NAME[task.problem], trial)
        rng = np.random.default_rng([cache.crc(task.problem), trial, cache.crc(task.test)])
        start = time.process_time()
        try:
            p = float(test_of(task)(x, y, rng))
        except Exception as error:  # a test that fails must not stop the others
            return task, lines, f"{type(error).__name__}: {error}"
        line = {"problem": task.problem, "trial": trial, "p": p, "cpu": round(time.process_time() - start, 5)}
        line |= {"mark": cache.mark(x, y), "on": "GPU" if task.gpu else processor()}
        line |= {"stamp": cache.stamp(task.test)} if task.test in LIBRARY else {}
        lines.append(line)
    return task, lines, None


def tasks_left(
    problems: tuple[Problem, ...], tests: list[str], trials: int, known: cache.Lines, gpu: bool
) -> list[Task]:
    """Chunks of the trials that are not known, the first trials of every cell first."""
    found = []
    for problem in problems:
        size = max(map(len, cache.drawn(problem, 0)))
        chunk = 10 if size <= 600 else 4 if size <= 1200 else 1
        for test in tests:
            missing = [t for t in range(trials) if t not in known.get((problem.name, test), {})]
            on_gpu = gpu and test in SUMS_OVER_KERNELS
            parts = [tuple(missing[i : i + chunk]) for i in range(0, len(missing), chunk)]
            found += [Task(problem.name, test, part, on_gpu) for part in parts]
    return sorted(found, key=lambda task: task.trials[0])


@dataclass
class Clock:
    """CPU seconds per trial of every cell, known or guessed from the sizes, and the time left."""

    processes: int
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    shown: float = field(default_factory=time.monotonic)

    def learn(self, known: cache.Lines) -> None:
        for key, trials in known.items():
            self.seconds[key] += [line["cpu"] for line in trials.values() if line["on"] != "GPU"]

    def cost(self, task: Task) -> float:
        seen = self.seconds.get((task.problem, task.test))
        rows = sum(map(len, cache.drawn(BY_NAME[task.problem], 0))) if not seen else 0
        return len(task.trials) * (float(np.mean(seen)) if seen else 1e-2 + 5e-7 * rows**2)

    def say(self, left: float, done: int, total: int) -> None:
        """A line on a terminal after every task, elsewhere once a minute."""
        terminal, now = sys.stderr.isatty(), time.monotonic()
        if not terminal and now - self.shown < 60:
            return
        self.shown = now
        text = f"{done} of {total} tasks, about {left / self.processes / 60:.0f} min left"
        print(f"\r{text} \x1b[K" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)


def compute(tasks: list[Task], clock: Clock, until: float) -> None:
    """Run the tasks in processes and write down each as it ends; after `until` seconds none begins."""
    ends = time.monotonic() + until
    failed: dict[tuple[str, str], str] = {}
    costs = {task: clock.cost(task) for task in tasks}
    left = sum(costs.values())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(clock.processes, mp_context=context) as pool:
        pending = [pool.submit(run, task) for task in tasks]
        try:
            for done, future in enumerate(as_completed(pending), 1):
                task, lines, error = future.result()
                cache.append(cache.CACHE, task.test, lines)
                left -= costs[task]
                clock.say(left, done, len(tasks))
                if error:
                    failed[task.problem, task.test] = error
                if time.monotonic() > ends:
                    pool.shutdown(wait=False, cancel_futures=True)
                    break
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for (problem, test), error in failed.items():
        print(f"FAILED: {test} on {problem}: {error}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--tests", default=",".join(TESTS), help="names, separated by commas")
    parser.add_argument("--problems", default="", help="only problems whose name contains this")
    parser.add_argument("--part", choices=PARTS, default="all", help="only these problems")
    parser.add_argument("--most-rows", type=int, default=10**9, help="leave out problems with larger samples")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--gpu", action="store_true", help="compute sums over kernel matrices with PyTorch")
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds after which nothing new is begun")
    parser.add_argument("--data", help="folder of the real samples (default: TELLAPART_DATA, else ../shared/data)")
    parser.add_argument("--merge", type=Path, help="take in the cache of another machine first")
    parser.add_argument("--report", action="store_true", help="compute nothing, write the table of what is known")
    parser.add_argument("--forget", default="", help="tests whose cached results are dropped first")
    parser.add_argument("--store", action="store_true", help="write all trials to benchmarks/results/league_trials")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    unknown = {t for t in (options.tests + "," + options.forget).split(",") if t} - set(TESTS)
    if unknown:
        parser.error(f"unknown tests: {', '.join(sorted(unknown))}; there are {', '.join(TESTS)}")
    return options


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the worker processes, too
    if options.data:
        os.environ["TELLAPART_DATA"] = str(Path(options.data).resolve())
    cache.forget(filter(None, options.forget.split(",")))
    cache.unpack(TESTS)
    if options.merge:
        print(f"{cache.merge(options.merge, cache.CACHE, TESTS)} lines taken in from {options.merge}")
    everything = usable(PROBLEMS)
    chosen = tuple(
        p
        for p in everything
        if PARTS[options.part](p)
        and options.problems in p.name
        and max(map(len, cache.drawn(p, 0))) <= options.most_rows
    )
    if not options.report:
        known = cache.current(cache.read(cache.CACHE, TESTS), chosen)
        clock = Clock(options.processes)
        clock.learn(known)
        left = tasks_left(chosen, options.tests.split(","), options.trials, known, options.gpu)
        compute(left, clock, options.until)
    if options.store:
        cache.store(TESTS)
    if options.until == float("inf"):
        report(everything, options)


def seen(lines: cache.Lines, key: str, test: str | None = None) -> list[str]:
    cells = (trials for (_, t), trials in lines.items() if test in (None, t))
    return sorted({line[key] for trials in cells for line in trials.values() if key in line})


def report(problems: tuple[Problem, ...], options: argparse.Namespace) -> None:
    """Everything that is known, not only what this command asked for."""
    lines = cache.current(cache.read(cache.CACHE, TESTS), problems)
    stamps, machines = seen(lines, "stamp", OURS), seen(lines, "on")
    if len(stamps) > 1:
        print(f"trials of {len(stamps)} versions of {OURS} are known: {', '.join(stamps)}; see --forget")
    rows = standings.rows(problems, lines, options.trials)
    written = {
        "command": "python -m benchmarks.power.league " + " ".join(sys.argv[1:]),
        "level": standings.LEVEL,
        "trials": options.trials,
        "seeds": "trial t of a problem is drawn from default_rng([crc32(name), t]), test by test the same",
        "source": stamps,
        "machine": machine(),
        "processors": machines,
        "summary": standings.summary(rows),
        "rows": [row.to_dict() for row in rows],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "league.json").write_text(json.dumps(written, indent=1) + "\n")
    (options.out / "league.md").write_text(standings.markdown(rows))
    (options.out / "league_short.md").write_text(standings.short(rows))
    print(standings.text(rows))
    try:
        from benchmarks.power import picture
    except ImportError:
        print("no picture: matplotlib is not installed")
    else:
        picture.draw(rows, options.out / "league.png")


if __name__ == "__main__":
    main()
