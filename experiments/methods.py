"""How a method is run on a draw: each function takes the samples, the place on the axis and randomness."""

from __future__ import annotations

import numpy as np

from experiments.experiment import Fresh
from tellapart import kfda_test, mmd_test, tell_apart, witness_test
from tellapart.samples import as_samples
from tellapart.split import training_size


def by_share(learner, null, x, y, share, rng):
    """A witness test in which the share on the axis learns."""
    return witness_test(x, y, learner=learner, null=null, train_share=share, rng=rng).pvalue


def by_half(learner, null, x, y, _, rng):
    """A witness test in which half of the rows learns."""
    return witness_test(x, y, learner=learner, null=null, train_share=0.5, rng=rng).pvalue


def by_mmd(kernel, null, x, y, _, rng):
    """mmd-boot: all rows, permuted."""
    return mmd_test(x, y, kernel=kernel, null=null, rng=rng).pvalue


def by_rest_mmd(kernel, null, x, y, share, rng):
    """opt-mmd-boot with one kernel to choose from: the rows that would choose it are left out."""
    rest_x, rest_y = (z[training_size(len(z), share) :] for z in (x, y))
    return mmd_test(rest_x, rest_y, kernel=kernel, null=null, rng=rng).pvalue


def by_kfda(kernel, ridge, null, x, y, _, rng):
    """kfda-boot: all rows, permuted."""
    return kfda_test(x, y, kernel=kernel, ridge=ridge, weighting="paper", null=null, rng=rng).pvalue


def by_default(x, y, _, rng):
    """All rows learn and all judge."""
    return tell_apart(x, y, rng=rng).pvalue


def by_blocks(learner, null, x, y, _, rng):
    """Past rows learn, the next ones judge."""
    return tell_apart(x, y, learner=learner, null=null, rng=rng).pvalue


def witness_on_fresh_draws(learner, null, sets: int, x, y, at, rng, *, fresh: Fresh):
    """Learn a witness once on half of the rows and judge it on `sets` fresh draws."""
    train = first_half(x, y)
    witness = learner.learn(train, rng)
    pairs = (fresh(at, train.pooled, rng) for _ in range(sets))
    return np.array([witness_test(*pair, learner=witness, null=null, rng=rng).pvalue for pair in pairs])


def kernel_on_fresh_draws(learner, null, sets: int, x, y, at, rng, *, fresh: Fresh):
    """Learn a kernel once on half of the rows and test with it on `sets` fresh draws."""
    train = first_half(x, y)
    kernel = learner.learn_kernel(train, rng)
    pairs = (fresh(at, train.pooled, rng) for _ in range(sets))
    return np.array([mmd_test(*pair, kernel=kernel, null=null, rng=rng).pvalue for pair in pairs])


def first_half(x, y):
    return as_samples(x[: len(x) // 2], y[: len(y) // 2])
