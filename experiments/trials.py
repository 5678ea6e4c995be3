"""Doing the trials: in processes, in chunks, each kept as soon as it is done.

Every finished chunk is one line of a file, so a run can be stopped or killed at any time and goes on where it was.
Every trial has its own seed, made of the experiment's name, the point and the number of the trial: results depend
neither on the number of processes nor on interruptions, and the trials of a quick run are the first of a full one.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tellapart
from experiments.experiment import Experiment, Line, Pair
from tellapart import _progress

HERE = Path(__file__).parent


class Task(NamedTuple):
    """A chunk of trials."""

    experiment: str
    line: str
    x: float
    start: int

    @property
    def cell(self) -> tuple[str, str, float]:
        return self[:3]


Values = dict[Task, list]  # what each trial of a chunk said: a p-value, several p-values, or seconds
Seconds = dict[Task, float]  # CPU seconds that a chunk took


def tasks_of(experiments: Iterable[Experiment], quick: bool) -> list[Task]:
    """First chunks of every cell first: a run that is stopped has something to say about all of them."""
    tasks = [
        Task(e.name, line.name, float(x), start)
        for e in experiments
        for line in e.lines
        for x in e.points(line, quick)
        for start in range(0, e.trials(line, quick), e.chunk)
    ]
    return sorted(tasks, key=lambda task: (task.start, -task.x))


@dataclass(frozen=True)
class Declared:
    """The experiments of a module, found by name in every process."""

    module: str

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        return import_module(self.module).EXPERIMENTS

    def find(self, task: Task) -> tuple[Experiment, Line]:
        experiment = next(e for e in self.experiments if e.name == task.experiment)
        return experiment, next(line for line in experiment.lines if line.name == task.line)

    def key(self, task: Task) -> str:
        """Changes when a line is declared differently, or the code that it runs."""
        experiment, line = self.find(task)
        described = re.sub(r" at 0x[0-9a-f]+", "", f"{line.test!r}{experiment.draw!r}{experiment.chunk}")
        return hashlib.sha256(f"{described}{source_hash()}".encode()).hexdigest()[:12]

    def run(self, task: Task) -> tuple[Task, list, float]:
        """The values of a chunk and the CPU seconds that they took."""
        experiment, line = self.find(task)
        start = time.process_time()
        if experiment.measure == "seconds":  # once before the clock starts: what is imported or made only once
            said(experiment, line, min(experiment.xs), 0)
        trials = range(task.start, task.start + experiment.chunk)
        if line.together:
            values = said_together(experiment, line, task.x, trials)
        else:
            values = [said(experiment, line, task.x, trial) for trial in trials]
        return task, values, time.process_time() - start


def said(experiment: Experiment, line: Line, x: float, trial: int) -> float | list[float]:
    """One trial. Lines of one experiment see the same draws; what they do with them is seeded by their name."""
    samples, rng = drawn(experiment, line, x, trial)
    more = {"fresh": experiment.fresh} if line.fresh else {}
    start = time.process_time()
    pvalues = line.test(*samples, x, rng, **more)
    return time.process_time() - start if experiment.measure == "seconds" else np.asarray(pvalues, float).tolist()


def said_together(experiment: Experiment, line: Line, x: float, trials: Iterable[int]) -> list[list[float]]:
    """Trials whose draws and seeds are those of single ones, but which are trained side by side."""
    draws, rngs = zip(*(drawn(experiment, line, x, trial) for trial in trials), strict=True)
    return [np.asarray(found, float).tolist() for found in line.test(draws, x, rngs, fresh=experiment.fresh)]


def drawn(experiment: Experiment, line: Line, x: float, trial: int) -> tuple[Pair, np.random.Generator]:
    """The samples of a trial, and its randomness."""
    place = [*words(experiment.name), *words(repr(float(x)))]
    samples = experiment.draw(x, np.random.default_rng([trial, *place]))
    return samples, np.random.default_rng([trial, *place, *words(line.name)])


def words(text: str) -> list[int]:
    """Seed material from a name."""
    return np.frombuffer(hashlib.sha256(text.encode()).digest()[:8], dtype=np.uint32).tolist()


@cache
def source_hash() -> str:
    files = [*sorted(Path(tellapart.__file__).parent.rglob("*.py")), HERE / "methods.py", HERE / "problems.py"]
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()


@dataclass
class Kept:
    """The file of finished chunks."""

    path: Path
    declared: Declared

    def read(self) -> tuple[Values, Seconds]:
        """Values and seconds of chunks that the same declaration and the same code have done before."""
        values, seconds = {}, {}
        for text in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                *place, key, found, took = json.loads(text)
                task = Task(*place)
                if self.declared.key(task) == key:
                    values[task], seconds[task] = found, took
            except (ValueError, TypeError, StopIteration):  # cut short by a kill, or of an experiment that is no more
                continue
        return values, seconds

    def add(self, task: Task, values: list, seconds: float) -> None:
        """One more line, on a line of its own also after a run that was killed while it wrote."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            file.seek(max(file.tell() - 1, 0))
            torn = file.read(1) not in (b"", b"\n")
            line = json.dumps([*task, self.declared.key(task), values, round(seconds, 6)])
            file.write(f"{chr(10) * torn}{line}\n".encode())


@dataclass
class Clock:
    """How long the chunks that are left will take: CPU seconds of the same cells, at the speed of this run."""

    processes: int
    seconds: dict[tuple, list[float]] = field(default_factory=lambda: defaultdict(list))
    started: float = field(default_factory=time.monotonic)
    worked: float = 0.0  # CPU seconds since then
    shown: float = field(default_factory=time.monotonic)

    def learn(self, task: Task, seconds: float) -> None:
        self.seconds[task.cell].append(seconds)

    def left(self, tasks: Iterable[Task]) -> float:
        means = {cell: float(np.mean(seen)) for cell, seen in self.seconds.items()}
        usual = float(np.mean(list(means.values()))) if means else 1.0
        speed = self.worked / (time.monotonic() - self.started) if self.worked else self.processes
        return sum(means.get(task.cell, usual) for task in tasks) / speed

    def say(self, done: int, total: int, left: Iterable[Task]) -> None:
        """A bar: on a terminal all the time, elsewhere once in ten seconds."""
        terminal, now = sys.stderr.isatty(), time.monotonic()
        if done < total and now - self.shown < (0.2 if terminal else 10):
            return
        self.shown = now
        bar, minutes = "#" * (30 * done // total), self.left(left) / 60
        end = "\r" if terminal and done < total else "\n"
        sys.stderr.write(f"[{bar:<30}] {done} of {total} chunks, about {minutes:.1f} min left   {end}")
        sys.stderr.flush()


def compute(declared: Declared, tasks: list[Task], kept: Kept, processes: int) -> tuple[Values, Seconds]:
    """All values of the tasks, and what they cost: those that are kept, and the others by doing them.

    Where seconds are what is measured, they are taken one by one.
    """
    values, seconds = kept.read()
    missing = [task for task in tasks if task not in values]
    timed = [task for task in missing if declared.find(task)[0].measure == "seconds"]
    for batch, at_once in (([t for t in missing if t not in set(timed)], processes), (timed, 1)):
        if batch:
            clock = Clock(at_once)
            for task, took in seconds.items():
                clock.learn(task, took)

            def keep(task: Task, found: list, took: float) -> None:
                kept.add(task, found, took)
                values[task], seconds[task] = found, took

            in_processes(declared, batch, keep, clock)
    return values, seconds


def in_processes(
    declared: Declared, tasks: list[Task], done_with: Callable[[Task, list, float], None], clock: Clock
) -> None:
    """Two chunks wait for each process, so that an interruption loses no more than what is being done."""
    context = multiprocessing.get_context("spawn")
    waiting, queue, left = set(), iter(tasks), dict.fromkeys(tasks)
    with ProcessPoolExecutor(clock.processes, mp_context=context, initializer=in_process) as pool:
        try:
            while left:
                waiting |= {
                    pool.submit(declared.run, task) for task in islice(queue, 2 * clock.processes - len(waiting))
                }
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    task, found, seconds = future.result()
                    done_with(task, found, seconds)
                    clock.learn(task, seconds)
                    clock.worked += seconds
                    del left[task]
                clock.say(len(tasks) - len(left), len(tasks), left)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def in_process() -> None:
    """Ctrl-C and the bar are for the process that collects; if that one is gone, however it went, this one goes too."""
    _progress._PATIENCE = math.inf
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
