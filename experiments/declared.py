"""The experiments of "A Witness Two-Sample Test", declared: what is drawn, what is tested, what it is compared with.

A new method is one `Line`: in `BENCHMARK` it stands in the benchmark figures, in their type-I figures and in the figure
of costs. What is trained by gradients for long has lines of its own in `TRAINED` and `COST`: in the benchmark figures
each of 100 trainings is judged on 100 test sets, in the quick ones each of 10, after fewer epochs and on 20 sets where
the name says so; in the figure of costs a test is what a user would run.

The authors' code differs from the paper's text in ways that matter for the numbers (see docs/paper.md); lines that are
compared with it use its settings, lines "as printed" those of the paper:

- its solver reaches the corrected formula at four times its ridge (and the printed one at twice its ridge);
- its Gaussian kernel is exp(-d^2 / (2 sigma^2)), as ours; the text has exp(-d^2 / sigma^2);
- its split-ratio figures use the normal null, its benchmark figures 200 permutations with count / B.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.power.real import HIGGS
from experiments.experiment import DEAR, Experiment, Line, Trials, across
from experiments.methods import (
    by_blocks,
    by_default,
    by_frequencies,
    by_half,
    by_kfda,
    by_locations,
    by_mmd,
    by_rest_mmd,
    by_share,
    by_share_mmd,
    kernels_on_fresh_draws,
    mean_witnesses_on_fresh_draws,
    witness_on_fresh_draws,
)
from experiments.problems import (
    blobs_at,
    blobs_of_size,
    higgs_at,
    higgs_fresh,
    higgs_rows,
    liu_at,
    liu_fresh,
    liu_rows,
)
from tellapart import Fisher, FromEstimator, Mean, Normal, OptimisedKernel, Permutation, Prequential, Select
from tellapart.deep import DeepFeatureKernel, DeepKernel, Network, OptimisedGaussian, Training
from tellapart.kernels import Gaussian
from tellapart.witness.select import PAPER_KERNELS, PAPER_RIDGES

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SHARE_AXIS = "share of the rows that learns"
CODE_RIDGE = 4.0  # the corrected formula at four times the ridge of the authors' code is the same witness

THEOREM = Normal(student=False)
EXACT = Permutation(199)
SIGMA = Gaussian(0.2)
FISHER = Fisher(SIGMA, 1e-2 * CODE_RIDGE)
SELECT = Select(PAPER_KERNELS, tuple(CODE_RIDGE * r for r in PAPER_RIDGES))
SELECT_MEAN = Select(PAPER_KERNELS, (np.inf,))
BY_J = OptimisedKernel(PAPER_KERNELS)


def fisher(ridge: float) -> Fisher:
    """With a ridge of the authors' code."""
    return Fisher(SIGMA, ridge * CODE_RIDGE)


def kfda_boot(ridge: float) -> partial:
    return partial(by_kfda, SIGMA, ridge * CODE_RIDGE, EXACT)


# What stands in every figure beside the paper's methods: no row is split off.
TELL_APART = Line("tell_apart", by_default, trials=DEAR)


def blocks(learner) -> Line:
    return Line("tell_apart, prequential", partial(by_blocks, learner, Prequential()), trials=DEAR, most_rows=8000)


WHOLE = (
    Line("mmd-boot", partial(by_mmd, SIGMA, EXACT), "mmd-boot (whole sample)"),
    Line("kfda-boot", kfda_boot(1e-2), "kfda-boot (whole sample)"),
    TELL_APART,
    blocks(FISHER),
)

# What is chosen from a grid, and what is trained by gradients, in the benchmark figures. None looks at the axis.
CHOSEN = (
    Line("kfda-witness", partial(by_half, SELECT, EXACT), "kfda-witness(perm200)", most_rows=12_000),
    Line("kfda-witness, normal", partial(by_half, SELECT, THEOREM), "asymptotic p, same witness", most_rows=12_000),
    Line("kfda-witness, default grid", partial(by_half, Select(), EXACT), most_rows=12_000),
    Line("opt-mmd-witness, by SNR", partial(by_half, SELECT_MEAN, EXACT)),
    Line("opt-mmd-witness, by J", partial(by_half, Mean(BY_J), EXACT), "opt-mmd-witness", most_rows=12_000),
    Line("opt-mmd-boot", partial(by_mmd, BY_J, EXACT), "opt-mmd-boot", most_rows=12_000),
    Line("mmd-boot", partial(by_mmd, None, EXACT), "mmd-boot (whole sample)", most_rows=8000),
    Line("kfda-boot", partial(by_kfda, None, 1e-2, EXACT), "kfda-boot (whole sample)", most_rows=4000),
    TELL_APART,
    blocks(Select()),
)

GRADIENTS = "trained by gradients"
TRAININGS = Trials(100, 10)
DEVICE = os.environ.get("TELLAPART_DEVICE", "cpu")  # of kernels in the full size: "cuda" where there is a GPU
FULL, QUICK = Training(epochs=1000, batch=500, device=DEVICE), Training(epochs=100, batch=500)
START = "Theirs begins with random widths and keeps its last state, ours begins with the best by J and keeps its best."
CLASSIFIERS = "Another network, trained until its loss no longer falls; in theirs it may stay where it began."
LOCATIONS = "Two searches of theirs, which differ widely; ours begins with the best of many starting points."
FREQUENCIES = "The search of the authors' code fails and returns the frequencies that it began with."


def both_sizes(name: str, test: Callable[[Training, int], partial], **more) -> tuple[Line, Line]:
    """With all epochs and 100 test sets a training; in a quick run with fewer epochs, as its name says, and 20."""
    full = Line(name, test(FULL, 100), trials=TRAININGS, size="full", panel=GRADIENTS, reason=START, **more)
    return full, replace(
        full,
        name=f"{name}, {QUICK.epochs} epochs",
        test=test(QUICK, 20),
        size="quick",
        reason=f"{START} {QUICK.epochs} epochs here, {FULL.epochs:,} there.",
    )


def judged_kernels(name: str, learner: Callable[..., Any], method=kernels_on_fresh_draws, **more) -> tuple[Line, ...]:
    """Kernels learned side by side."""
    return both_sizes(
        name,
        lambda training, sets: partial(method, learner(training=training), EXACT, sets),
        fresh=True,
        together=True,
        **more,
    )


def judged_witness(name: str, learner: Any, authors: str | None = None, reason: str = "") -> Line:
    """A witness that is trained in the same way in both sizes, because it ends its training itself."""
    test = partial(witness_on_fresh_draws, learner, EXACT, 100)
    return Line(name, test, authors, trials=TRAININGS, fresh=True, panel=GRADIENTS, reason=reason)


def optimised_gaussian(training: Training) -> OptimisedGaussian:
    return OptimisedGaussian(training=replace(training, learning_rate=0.02))


CLASSIFIER = make_pipeline(StandardScaler(), MLPClassifier((50, 50, 50), learning_rate_init=3e-3, max_iter=2000))
C2ST_S, C2ST_L = (FromEstimator(CLASSIFIER, output=output) for output in ("class", "logit"))

TRAINED = (
    Line("ME", partial(by_locations, EXACT), "ME", panel=GRADIENTS, reason=LOCATIONS),
    Line("SCF", partial(by_frequencies, EXACT), "SCF", panel=GRADIENTS, reason=FREQUENCIES),
    judged_witness("C2ST-S", C2ST_S, "C2ST-S", CLASSIFIERS),
    judged_witness("C2ST-L", C2ST_L, "C2ST-L", CLASSIFIERS),
    *judged_kernels("MMD-O, Gaussian", optimised_gaussian, authors="MMD-O"),
    *judged_kernels("MMD-O, of features", DeepFeatureKernel),
    *judged_kernels("MMD-D", DeepKernel, authors="MMD-D"),
    *judged_kernels("MMD-D-witness", DeepKernel, mean_witnesses_on_fresh_draws, authors="MMD-D-witness"),
    judged_witness("network", Network()),
)
BENCHMARK = (*CHOSEN, *TRAINED)
# With more rows a training takes longer: there are fewer in a quick run.
BENCHMARK_ON_HIGGS = tuple(replace(line, trials=Trials(100, 5)) if line.fresh else line for line in BENCHMARK)


def among(lines: tuple[Line, ...], *names: str) -> tuple[Line, ...]:
    return tuple(line for line in lines if line.name in names)


def same_rows(_: float) -> float:
    return 200


def twice(x: float) -> float:
    return 2 * x


INSTRUCTIVE = (
    Experiment(
        "split_fixed",
        "Blobs, n = m = 100, fixed kernel and ridge",
        SHARE_AXIS,
        SHARES,
        partial(blobs_at, np.pi / 4),
        (
            Line("kfda-witness", partial(by_share, FISHER, THEOREM), "kfda-witness"),
            Line("kfda-witness, permutations", partial(by_share, FISHER, EXACT), "kfda-witness perm200"),
            Line("mmd-witness", partial(by_share, Mean(SIGMA), THEOREM), "mmd-witness"),
            Line("mmd-witness, permutations", partial(by_share, Mean(SIGMA), EXACT), "mmd-witness perm200"),
            Line("opt-mmd-boot, one kernel", partial(by_rest_mmd, SIGMA, EXACT), "opt-mmd-boot"),
            *across(WHOLE, 0.5),
        ),
        rows=same_rows,
    ),
    Experiment(
        "split_selected",
        "Blobs, n = m = 100, kernel and ridge selected",
        SHARE_AXIS,
        SHARES,
        partial(blobs_at, np.pi / 4),
        (
            Line("kfda-witness", partial(by_share, SELECT, THEOREM), "kfda-witness"),
            Line("kfda-witness, grid as printed", partial(by_share, Select.paper(), THEOREM)),
            Line("kfda-witness, default grid", partial(by_share, Select(), EXACT)),
            Line("opt-mmd-witness, by SNR", partial(by_share, SELECT_MEAN, THEOREM)),
            Line("opt-mmd-witness, by J", partial(by_share, Mean(BY_J), THEOREM), "opt-mmd-witness"),
            Line("opt-mmd-boot", partial(by_share_mmd, BY_J, EXACT), "opt-mmd-boot"),
            *across((TELL_APART, blocks(Select())), 0.5),
        ),
        rows=same_rows,
    ),
    Experiment(
        "power_n",
        "Blobs, half of the rows learns, kernel and ridge selected",
        "rows of each sample",
        (50, 100, 200, 300, 400),
        blobs_of_size,
        (
            Line("kfda-witness", partial(by_half, SELECT, THEOREM), "kfda-witness"),
            Line("kfda-witness, default grid", partial(by_half, Select(), EXACT)),
            Line("opt-mmd-witness, by SNR", partial(by_half, SELECT_MEAN, THEOREM)),
            Line("opt-mmd-witness, by J", partial(by_half, Mean(BY_J), THEOREM), "opt-mmd-witness"),
            Line("opt-mmd-boot", partial(by_mmd, BY_J, EXACT), "opt-mmd-boot"),
            *among(BENCHMARK, "mmd-boot", "kfda-boot", "tell_apart", "tell_apart, prequential"),
        ),
        rows=twice,
    ),
)

APPENDIX = (
    Experiment(
        "ridge",
        "Blobs, n = m = 100, effect of the ridge",
        SHARE_AXIS,
        SHARES,
        partial(blobs_at, np.pi / 4),
        (
            Line("kfda-witness, ridge 1e3", partial(by_share, fisher(1e3), THEOREM), "kfda-witness lam=1000"),
            Line("kfda-witness, ridge 1e-2", partial(by_share, FISHER, THEOREM), "kfda-witness"),
            Line("kfda-witness, ridge 1e-4", partial(by_share, fisher(1e-4), THEOREM), "kfda-witness lam=0.0001"),
            Line("mmd-witness", partial(by_share, Mean(SIGMA), THEOREM), "mmd-witness"),
            *across(
                (
                    Line("kfda-boot, ridge 1e3", kfda_boot(1e3), "kfda-boot (whole sample) lam=1000"),
                    Line("kfda-boot, ridge 1e-2", kfda_boot(1e-2), "kfda-boot (whole sample)"),
                    Line("kfda-boot, ridge 1e-4", kfda_boot(1e-4), "kfda-boot (whole sample) lam=0.0001"),
                    TELL_APART,
                    blocks(FISHER),
                ),
                0.5,
            ),
        ),
        rows=same_rows,
        beside=("split_fixed",),
    ),
    Experiment(
        "split_printed",
        "Blobs, n = m = 100, what the paper prints",
        SHARE_AXIS,
        SHARES,
        partial(blobs_at, np.pi / 4),
        (
            Line("kfda-witness, the code's settings", partial(by_share, FISHER, THEOREM), "kfda-witness"),
            Line("kfda-witness, ridge as printed", partial(by_share, Fisher(SIGMA, 1e-2, "printed"), THEOREM)),
            Line(
                "kfda-witness, kernel as printed",
                partial(by_share, Fisher(Gaussian(0.2 / np.sqrt(2)), 1e-2 * CODE_RIDGE), THEOREM),
                "kfda-witness text-kernel exp(-d2/s2)",
            ),
            Line("mmd-witness, the code's kernel", partial(by_share, Mean(SIGMA), THEOREM), "mmd-witness"),
            Line(
                "mmd-witness, kernel as printed",
                partial(by_share, Mean(Gaussian(0.2 / np.sqrt(2))), THEOREM),
                "mmd-witness text-kernel exp(-d2/s2)",
            ),
            *across((TELL_APART, blocks(FISHER)), 0.5),
        ),
        rows=same_rows,
        beside=("split_fixed",),
    ),
    Experiment(
        "type_one",
        "Blobs without a difference, n = m = 100",
        SHARE_AXIS,
        SHARES,
        partial(blobs_at, 0.0),
        (
            Line("kfda-witness", partial(by_share, FISHER, THEOREM), "kfda-witness"),
            Line("kfda-witness, Student's t", partial(by_share, FISHER, Normal())),
            Line("kfda-witness, permutations", partial(by_share, FISHER, EXACT)),
            Line("kfda-witness, default grid", partial(by_share, Select(), EXACT)),
            Line("mmd-witness", partial(by_share, Mean(SIGMA), THEOREM), "mmd-witness"),
            Line("opt-mmd-boot, one kernel", partial(by_rest_mmd, SIGMA, EXACT), "opt-mmd-boot"),
            *across(WHOLE, 0.5),
        ),
        rows=same_rows,
        under_null=True,
    ),
)

LIU_AXIS = "rows of each mode that learn, and that judge"
HIGGS_AXIS = "rows of each sample that learn, and that judge"

BENCHMARKS = (
    Experiment(
        "liu_power",
        "Blobs of Liu et al.",
        LIU_AXIS,
        (10, 20, 30, 50),
        partial(liu_at, False),
        BENCHMARK,
        fresh=partial(liu_fresh, False),
        rows=liu_rows,
        most=Trials(1000, 40),
        quick_xs=(10, 20, 30),
    ),
    Experiment(
        "liu_type_one",
        "Blobs of Liu et al. without a difference",
        LIU_AXIS,
        (10, 20, 30),
        partial(liu_at, True),
        BENCHMARK,
        fresh=partial(liu_fresh, True),
        rows=liu_rows,
        under_null=True,
        most=Trials(1000, 40),
        quick_xs=(10, 20),
    ),
    Experiment(
        "higgs_power",
        "HIGGS, four jet phis, background against signal",
        HIGGS_AXIS,
        (500, 1000, 2000, 3000, 5000),
        partial(higgs_at, False),
        BENCHMARK_ON_HIGGS,
        fresh=partial(higgs_fresh, False),
        rows=higgs_rows,
        most=Trials(100, 10),
        quick_xs=(500, 1000),
        chunk=5,
        needs=HIGGS,
    ),
    Experiment(
        "higgs_type_one",
        "HIGGS, four jet phis, background against background",
        HIGGS_AXIS,
        (500, 1000, 2000),
        partial(higgs_at, True),
        BENCHMARK_ON_HIGGS,
        fresh=partial(higgs_fresh, True),
        rows=higgs_rows,
        under_null=True,
        most=Trials(200, 20),
        quick_xs=(500,),
        chunk=5,
        needs=HIGGS,
    ),
)

COST = Experiment(
    "cost",
    "Blobs, one test on one core",
    "rows of each sample",
    (100, 200, 300, 400, 1000, 2000),
    blobs_of_size,
    (
        Line("mmd-witness, fixed kernel", partial(by_half, Mean(SIGMA), EXACT), "mmd-witness, fixed"),
        Line("kfda-witness, fixed kernel", partial(by_half, FISHER, EXACT), "kfda-witness, fixed"),
        *(line for line in BENCHMARK if not line.fresh),
        Line("C2ST-L", partial(by_half, C2ST_L, EXACT), panel=GRADIENTS),
        *both_sizes("MMD-O, Gaussian", lambda t, _: partial(by_mmd, optimised_gaussian(t), EXACT)),
        *both_sizes("MMD-O, of features", lambda t, _: partial(by_mmd, DeepFeatureKernel(training=t), EXACT)),
        *both_sizes("MMD-D", lambda t, _: partial(by_mmd, DeepKernel(training=t), EXACT)),
        *both_sizes("MMD-D-witness", lambda t, _: partial(by_half, Mean(DeepKernel(training=t)), EXACT)),
        Line("network", partial(by_half, Network(), EXACT), panel=GRADIENTS),
    ),
    rows=twice,
    measure="seconds",
    most=Trials(9, 3),
    quick_xs=(100, 400, 1000, 2000),
    chunk=1,
)

EXPERIMENTS = (*INSTRUCTIVE, *APPENDIX, *BENCHMARKS, COST)
