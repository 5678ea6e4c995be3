"""A small declaration for the tests of the runner: cheap problems, a method that takes its time, one of every kind."""

import os
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

from experiments.experiment import Experiment, Line, Trials


def shifted(shift, x, rng):
    return rng.normal(size=(int(x), 1)), rng.normal(size=(int(x), 1)) + shift


def t_test(x, y, at, rng):
    return stats.ttest_ind(x, y).pvalue.item()


def slowly(x, y, at, rng):
    """Leaves word of the process that it ran in."""
    if "PIDS" in os.environ:
        (Path(os.environ["PIDS"]) / str(os.getpid())).touch()
    time.sleep(0.02)
    return rng.random()


def three_sets(x, y, at, rng):
    return np.array([rng.random() ** 4 for _ in range(3)])


def twice(x):
    return 2 * x


FEW = Trials(30, 10)
EXPERIMENTS = (
    Experiment(
        "small_power",
        "A shift",
        "rows",
        (10, 20),
        partial(shifted, 1.0),
        (
            Line("t", t_test, "kfda-witness", FEW),
            Line("slow", slowly, trials=FEW),
            Line("sets", three_sets, "MMD-D", FEW),
            Line("few rows", t_test, trials=FEW, most_rows=20),
            Line("all rows", t_test, trials=FEW, xs=(10,), across=True),
        ),
        rows=twice,
        beside=("liu_power",),
    ),
    Experiment(
        "small_null", "No shift", "rows", (10,), partial(shifted, 0.0), (Line("t", t_test, trials=FEW),), twice, True
    ),
    Experiment(
        "small_cost",
        "Seconds",
        "rows",
        (10, 100),
        partial(shifted, 0.0),
        (Line("t", t_test, trials=Trials(3, 1)),),
        rows=twice,
        measure="seconds",
        chunk=1,
    ),
    Experiment("absent", "Nothing", "rows", (10,), partial(shifted, 0.0), (), twice, needs="no_such_file.npz"),
)
