"""Claim: what is learned with torch, and features learned on pooled rows without labels, keep the level.

Simulated rejections lie within exact binomial bounds. Kernels are trained side by side, a few dozen of them, and each
judges several fresh pairs of samples: given the kernel, each of these tests is exact, so all together are binomial.
"""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

import oracles
from tellapart import Fisher, Mean, Permutation, Refit, mmd_test, tell_apart, witness_test
from tellapart.datasets import liu_blobs
from tellapart.deep import DeepFeatureKernel, DeepKernel, Network, OptimisedGaussian, Training
from tellapart.kernels import Gaussian
from tellapart.samples import as_samples

NULL = Permutation(19)
KERNELS, PAIRS = 40, 15


def assert_exact(rejections, trials, level=0.05, two_sided=True):
    low, high = oracles.binomial_bounds(trials, level)
    assert rejections <= high, f"{rejections} of {trials} at level {level}, at most {high} are believable"
    assert not two_sided or rejections >= low, f"{rejections} of {trials} at level {level}, at least {low}"


def null_pair(rng):
    """Two samples of 18 rows of Liu's blobs, equally distributed."""
    return liu_blobs(2, null=True, rng=rng)


@pytest.mark.parametrize(
    "learner",
    [
        DeepKernel(training=Training(epochs=60, learning_rate=5e-3)),
        DeepFeatureKernel(training=Training(epochs=60, learning_rate=5e-3)),
        OptimisedGaussian(training=Training(epochs=60, learning_rate=0.02)),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_learned_kernels_keep_the_level_on_rows_that_they_were_not_learned_from(learner):
    rng = np.random.default_rng(0)
    trains = [as_samples(*null_pair(rng)) for _ in range(KERNELS)]
    by_permutations = by_witness = 0
    for train, kernel in zip(trains, learner.learn_kernels(trains, rng), strict=True):
        witness = Mean(kernel).learn(train, rng)
        for _ in range(PAIRS):
            x, y = null_pair(rng)
            by_permutations += mmd_test(x, y, kernel=kernel, null=NULL, rng=rng).pvalue <= 0.05
            by_witness += witness_test(x, y, learner=witness, null=NULL, rng=rng).pvalue <= 0.05
    assert_exact(by_permutations, KERNELS * PAIRS)
    assert_exact(by_witness, KERNELS * PAIRS)


def test_the_same_kernels_on_the_rows_that_they_were_learned_from_do_not():
    """What the split is for: this test can fail."""
    rng = np.random.default_rng(0)
    trains = [as_samples(*null_pair(rng)) for _ in range(KERNELS)]
    learner = DeepKernel(training=Training(epochs=60, learning_rate=5e-3))
    rejections = sum(
        mmd_test(train.x, train.y, kernel=kernel, null=NULL, rng=rng).pvalue <= 0.05
        for train, kernel in zip(trains, learner.learn_kernels(trains, rng), strict=True)
    )
    assert rejections > oracles.binomial_bounds(KERNELS, 0.05)[1]


@pytest.mark.parametrize("objective", ["squared error", "snr"])
def test_networks_keep_the_level(objective):
    rng = np.random.default_rng(1)
    network = Network(objective=objective, training=Training(epochs=5, learning_rate=0.01))
    trials = 400
    rejections = sum(witness_test(*null_pair(rng), learner=network, null=NULL, rng=rng).pvalue <= 0.05
                     for _ in range(trials))  # fmt: skip
    assert_exact(rejections, trials)


def test_networks_that_are_refitted_keep_the_level():
    rng = np.random.default_rng(2)
    network = Network(last_layer="trained", training=Training(epochs=2, learning_rate=0.01))
    trials = 60
    rejections = sum(
        tell_apart(*null_pair(rng), learner=network, null=Refit(4, folds=2), rng=rng).pvalue <= 0.2
        for _ in range(trials)
    )
    assert_exact(rejections, trials, level=0.2)


def principal_components(pooled, rng):
    return PCA(2).fit(pooled[rng.permutation(len(pooled))]).transform


def distances_to_centres(pooled, rng):
    means = KMeans(3, n_init=1, random_state=0).fit(pooled[rng.permutation(len(pooled))])
    return means.transform


@pytest.mark.parametrize("learned", [principal_components, distances_to_centres])
def test_features_learned_on_pooled_rows_without_labels_keep_the_level(learned):
    """Semi-supervised: all rows, those that judge included, and others without a sample, make the features."""
    rng = np.random.default_rng(3)
    trials, split, whole = 500, 0, 0
    for _ in range(trials):
        x, y, further = (rng.standard_t(3, size=(rows, 5)) for rows in (14, 10, 30))
        features = learned(np.concatenate([x, y, further]), rng)
        phi_x, phi_y = features(x), features(y)
        learner = Fisher(Gaussian(1.0), 0.1)
        split += witness_test(phi_x, phi_y, learner=learner, null=NULL, rng=rng).pvalue <= 0.05
        whole += mmd_test(phi_x, phi_y, kernel=Gaussian(1.0), null=NULL, rng=rng).pvalue <= 0.05
    assert_exact(split, trials)
    assert_exact(whole, trials)


def test_features_learned_with_the_labels_of_rows_that_judge_do_not():
    """The same with a look at the labels rejects far too often: that the features saw no labels is what matters."""
    rng = np.random.default_rng(4)
    trials, rejections = 200, 0
    for _ in range(trials):
        x, y = rng.normal(size=(14, 5)), rng.normal(size=(10, 5))
        direction = x.mean(axis=0) - y.mean(axis=0)
        rejections += mmd_test(x @ direction, y @ direction, kernel=Gaussian(1.0), null=NULL, rng=rng).pvalue <= 0.05
    assert rejections > 2 * oracles.binomial_bounds(trials, 0.05)[1]
