"""How a method is run on a draw: each function takes the samples, the place on the axis and randomness."""

from __future__ import annotations

import numpy as np

from experiments.experiment import Fresh
from tellapart import Mean, kfda_test, mean_embedding_test, mmd_test, smooth_cf_test, tell_apart, witness_test
from tellapart.samples import as_samples
from tellapart.split import training_size


def by_share(learner, null, x, y, share, rng):
    """A witness test in which the share on the axis learns."""
    return witness_test(x, y, learner=learner, null=null, train_share=share, rng=rng).pvalue


def by_half(learner, null, x, y, _, rng):
    """A witness test in which half of the rows learns."""
    return witness_test(x, y, learner=learner, null=null, train_share=0.5, rng=rng).pvalue


def by_mmd(kernel, null, x, y, _, rng):
    """mmd-boot: all rows, permuted. With a kernel learner half of them learns, and the others are permuted."""
    return mmd_test(x, y, kernel=kernel, null=null, rng=rng).pvalue


def by_share_mmd(kernel, null, x, y, share, rng):
    """opt-mmd-boot: the share on the axis chooses the kernel, the other rows are permuted."""
    return mmd_test(x, y, kernel=kernel, null=null, train_share=share, rng=rng).pvalue


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


def by_locations(null, x, y, _, rng):
    """ME: half of the rows learns where to look."""
    return mean_embedding_test(x, y, null=null, rng=rng).pvalue


def by_frequencies(null, x, y, _, rng):
    """SCF: half of the rows learns which waves to look for."""
    return smooth_cf_test(x, y, null=null, rng=rng).pvalue


def witness_on_fresh_draws(learner, null, sets: int, x, y, at, rng, *, fresh: Fresh):
    """Learn a witness once on half of the rows and judge it on `sets` fresh draws."""
    train = first_half(x, y)
    return judged_on_fresh_draws(learner.learn(train, rng), null, sets, train, at, rng, fresh)


def kernels_on_fresh_draws(learner, null, sets: int, draws, at, rngs, *, fresh: Fresh):
    """Learn kernels side by side, each on half of a draw, and test with each on `sets` fresh draws: MMD-D and MMD-O."""
    for train, kernel, rng in learned_together(learner, draws, rngs):
        pairs = (fresh(at, train.pooled, rng) for _ in range(sets))
        yield [mmd_test(*pair, kernel=kernel, null=null, rng=rng).pvalue for pair in pairs]


def mean_witnesses_on_fresh_draws(learner, null, sets: int, draws, at, rngs, *, fresh: Fresh):
    """The same with the mean witness that a kernel has on the rows that it was learned from: MMD-D-witness."""
    for train, kernel, rng in learned_together(learner, draws, rngs):
        yield judged_on_fresh_draws(Mean(kernel).learn(train, rng), null, sets, train, at, rng, fresh)


def learned_together(learner, draws, rngs):
    """Training rows, the kernel learned from them, and randomness for what follows."""
    trains = [first_half(x, y) for x, y in draws]
    return zip(trains, learner.learn_kernels(trains, rngs[0]), rngs, strict=True)


def judged_on_fresh_draws(witness, null, sets: int, train, at, rng, fresh: Fresh):
    pairs = (fresh(at, train.pooled, rng) for _ in range(sets))
    return np.array([witness_test(*pair, learner=witness, null=null, rng=rng).pvalue for pair in pairs])


def first_half(x, y):
    return as_samples(x[: len(x) // 2], y[: len(y) // 2])
