"""The kernel chosen by J: the paper's identities, its agreement with the mean witness, and what it refuses."""

import math
from itertools import product

import numpy as np
import pytest

import oracles
from tellapart import Fisher, Mean, OptimisedKernel, Select, snr, witness_test
from tellapart.datasets import blobs
from tellapart.inference.classical_statistics import SquaredMMD, centred
from tellapart.kernels import FromFunction, Gaussian, Laplace, Linear, Polynomial
from tellapart.samples import Samples, as_samples
from tellapart.witness.base import KernelLearner
from tellapart.witness.optimised import j_criterion, own_values

KERNELS = [Gaussian(0.1), Gaussian(0.5), Gaussian(3.0), Laplace(1.0)]


def training(n=40, m=40, seed=0):
    return as_samples(*blobs(n, m, theta=np.pi / 4, rng=seed))


def j_by_enumeration(x, y, kernel):
    """J of two populations that are these rows, from Liu et al.'s definition over all pairs (x, y): no witness."""
    pairs = list(product(range(len(x)), range(len(y))))
    kx, ky, kxy = kernel(x, x), kernel(y, y), kernel(x, y)
    h = np.array([[kx[a, c] + ky[b, d] - kxy[a, d] - kxy[c, b] for c, d in pairs] for a, b in pairs])
    mmd2 = h.mean()
    product_of_two = np.mean([h[i, j] * h[i, k] for i in range(len(h)) for j in range(len(h)) for k in range(len(h))])
    return mmd2 / math.sqrt(4 * (product_of_two - mmd2**2))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_j_is_the_signal_to_noise_ratio_of_the_mmd_witness_over_the_root_of_two(kernel):
    """The paper's Equation for J: populations of five rows each, on which the witness is learned and evaluated."""
    train = training(5, 5)
    witness = Mean(kernel).learn(train, np.random.default_rng(0))
    ratio = snr(witness(train.x), witness(train.y)) / math.sqrt(2)
    assert j_by_enumeration(train.x, train.y, kernel) == pytest.approx(ratio, rel=1e-9)
    assert j_criterion(kernel(train.pooled, train.pooled), 5, estimator="biased") == pytest.approx(ratio, rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(6, 6), (4, 9)])
@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_the_identity_holds_for_both_statistics_and_any_sizes(n, m, estimator):
    rows = training(n, m).pooled
    k = Gaussian(0.5)(rows, rows)
    h = own_values(k, n, estimator)
    assert j_criterion(k, n, estimator=estimator) == pytest.approx(snr(h[:n], h[n:]) / math.sqrt(2), rel=1e-12)
    observed = np.repeat([m / (n + m), -n / (n + m)], [n, m])[:, None]
    (mmd2,) = SquaredMMD(centred(k.copy()), estimator)(observed)
    assert h[:n].mean() - h[n:].mean() == pytest.approx(mmd2, rel=1e-9)


def test_a_row_is_left_out_of_its_own_value():
    rows, n = training(4, 3).pooled, 4
    k = Gaussian(0.5)(rows, rows)
    for i, value in enumerate(own_values(k, n)):
        p, q = ([j for j in part if j != i] for part in (range(n), range(n, 7)))
        assert value == pytest.approx(k[i, p].mean() - k[i, q].mean(), rel=1e-12)


def test_the_variance_ridge_lies_under_the_root():
    rows, n = training().pooled, 40
    k = Gaussian(0.2)(rows, rows)
    h = own_values(k, n)
    difference, sigma2 = h[:n].mean() - h[n:].mean(), 4 * (h[:n].var() + h[n:].var())
    assert j_criterion(k, n, 0.3) == pytest.approx(difference / math.sqrt(sigma2 + 0.3), rel=1e-12)


@pytest.mark.parametrize("criterion", ["J", "snr"])
def test_the_best_of_the_grid_is_chosen(criterion):
    train = training(150, 120)
    learner = OptimisedKernel(KERNELS, criterion=criterion, variance_ridge=0.0)
    found = learner.search(train, np.random.default_rng(0))
    assert found.kernel == learner.learn_kernel(train, np.random.default_rng(0)) == KERNELS[np.argmax(found.scores)]
    if criterion == "J":
        wanted = [j_criterion(k(train.pooled, train.pooled), train.n) for k in KERNELS]
        np.testing.assert_allclose(found.scores[:, 0], wanted, rtol=1e-9)


def test_opt_mmd_witness_is_select_with_an_infinite_ridge():
    train = training(60, 50)
    selected = Select(KERNELS, ridges=[math.inf]).learn(train, np.random.default_rng(3))
    witness = Mean(OptimisedKernel(KERNELS, criterion="snr")).learn(train, np.random.default_rng(3))
    assert witness.kernel == selected.kernel
    np.testing.assert_allclose(witness(train.pooled), selected(train.pooled), rtol=1e-12)


@pytest.mark.parametrize("learner", [Mean(OptimisedKernel(KERNELS)), Fisher(OptimisedKernel(KERNELS), 0.1)], ids=repr)
def test_a_witness_of_a_learned_kernel(learner):
    x, y = blobs(150, theta=np.pi / 4, rng=0)
    result = witness_test(x, y, learner=learner, rng=0)
    train = Samples(x[result.train_rows[0]], y[result.train_rows[1]])
    kernel = learner.kernel.learn_kernel(train, np.random.default_rng(0))
    fixed = type(learner)(kernel, **({"ridge": 0.1} if isinstance(learner, Fisher) else {}))
    wanted = witness_test(x, y, learner=fixed, train_share=result.train_rows, rng=0)
    assert (result.pvalue <= 0.05, result.statistic) == (True, pytest.approx(wanted.statistic, rel=1e-12))
    assert witness_test(x, y, **type(result).from_dict(result.to_dict()).settings()).pvalue == result.pvalue


@pytest.mark.parametrize(("n", "m"), [(20, 20), (9, 30)])
@pytest.mark.parametrize("ridge", [1e-2, 10.0])
def test_the_nonparametrically_optimised_kernel_is_kfda(n, m, ridge):
    """The paper's appendix: the mean witness of k(x, (Sigma + ridge)^-1 x') is the Fisher witness of k."""
    train = training(n, m)
    polynomial = Polynomial(degree=2)

    def features(rows):
        """The six monomials whose products are (1 + x x')^2."""
        a, b = rows.T
        root = math.sqrt(2)
        return np.stack([np.ones(len(rows)), root * a, root * b, a * a, b * b, root * a * b], axis=1)

    np.testing.assert_allclose(features(train.x) @ features(train.y).T, polynomial(train.x, train.y), rtol=1e-12)
    c = n / (n + m)
    sigma = np.cov(features(train.x).T, ddof=0) / c + np.cov(features(train.y).T, ddof=0) / (1 - c)
    inverse = np.linalg.inv(sigma + ridge * np.eye(6))
    optimised = FromFunction(lambda a, b: features(a) @ inverse @ features(b).T)
    rng = np.random.default_rng(0)
    mean, kfda = Mean(optimised).learn(train, rng), Fisher(polynomial, ridge).learn(train, rng)
    np.testing.assert_allclose(mean(train.pooled), kfda(train.pooled) / ridge, rtol=1e-7, atol=1e-9)
    primal = oracles.fisher_primal(features(train.x), features(train.y), ridge)
    np.testing.assert_allclose(mean(train.pooled), features(train.pooled) @ primal, rtol=1e-7, atol=1e-9)

    delta = features(train.x).mean(axis=0) - features(train.y).mean(axis=0)

    def regularised_j(a):
        direction = a @ a @ delta
        return delta @ direction / math.sqrt(direction @ (sigma + ridge * np.eye(6)) @ direction)

    eigenvalues, vectors = np.linalg.eigh(inverse)
    best = regularised_j(vectors * np.sqrt(eigenvalues) @ vectors.T)
    for seed in range(50):
        b = np.random.default_rng(seed).normal(size=(6, 6))
        assert regularised_j(b @ b.T) < best  # over all bounded positive operators A


def test_identical_rows_and_kernels_that_are_flat():
    same = as_samples(np.ones((5, 2)), np.ones((4, 2)))
    assert OptimisedKernel(KERNELS).learn_kernel(same, np.random.default_rng(0)) == KERNELS[0]
    flat = [Gaussian(1e9), Gaussian(0.5), Gaussian(1e8)]
    assert OptimisedKernel(flat).learn_kernel(training(), np.random.default_rng(0)) == flat[1]
    with pytest.raises(ValueError, match="`kernels` must contain one that tells the training rows apart"):
        OptimisedKernel(flat[::2]).learn_kernel(training(), np.random.default_rng(0))


def test_what_learns_a_kernel():
    assert isinstance(OptimisedKernel(), KernelLearner)
    assert not isinstance(Gaussian(), KernelLearner)
    with pytest.raises(TypeError, match="`kernel` must be a kernel such as"):
        witness_test(*blobs(20, rng=0), learner=Mean(OptimisedKernel), rng=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: OptimisedKernel(criterion="power"), "`criterion` must be one of 'J', 'snr', got 'power'"),
        (lambda: OptimisedKernel(variance_ridge=-1), "`variance_ridge` must be finite and at least 0, got -1"),
        (
            lambda: OptimisedKernel([]).learn_kernel(training(), None),
            r"`kernels` must be a non-empty sequence, got \[\]",
        ),
        (
            lambda: OptimisedKernel([Linear()]).learn_kernel(as_samples([0.0, 1.0], [2.0]), None),
            "at least 2 training rows of each sample, got 2 and 1",
        ),
    ],
)
def test_bad_choices_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
