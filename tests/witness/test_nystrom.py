"""The Fisher witness from few centres: with all of them it is the exact one, and chunks and folds change nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from tellapart import Fisher, Mean, Nystrom, Permutation, snr, witness_test
from tellapart.datasets import blobs
from tellapart.kernels import Gaussian, Laplace, Linear
from tellapart.landmarks import FeatureMap
from tellapart.samples import as_samples
from tellapart.witness import nystrom
from tellapart.witness.select import make_folds

KERNELS = [Gaussian(0.2), Gaussian(1.0), Laplace(0.5), Linear()]
FRESH = np.random.default_rng(9).uniform(-0.5, 2.5, size=(200, 2))


def samples(n=60, m=45, seed=0):
    return as_samples(*blobs(n, m, theta=np.pi / 4, rng=seed))


def learned(learner, train, seed=0):
    return learner.learn(train, np.random.default_rng(seed))


def scaled(h):
    return (h - h.mean()) / h.std()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("covariance", ["corrected", "printed"])
@pytest.mark.parametrize("ridge", [1e-3, 1e-2, 10.0, np.inf])
def test_all_rows_as_centres_are_the_exact_witness(kernel, covariance, ridge):
    train = samples()
    exact = learned(Fisher(kernel, ridge, covariance), train)(FRESH)
    assert_allclose(learned(Nystrom(kernel, ridge, 200, covariance), train)(FRESH), exact, atol=1e-8 * np.ptp(exact))


@pytest.mark.parametrize("covariance", ["corrected", "printed"])
def test_few_centres_are_the_fisher_direction_of_their_features(covariance):
    """Features by Cholesky, covariances as double loops."""
    train = samples()
    witness = learned(Nystrom(Gaussian(0.3), 0.02, 7, covariance), train)
    c = witness.centres
    lower = np.linalg.cholesky(Gaussian(0.3)(c, c))
    phi_x, phi_y, phi = (np.linalg.solve(lower, Gaussian(0.3)(c, z)).T for z in (train.x, train.y, FRESH))
    by_loops = phi @ oracles.fisher_primal(phi_x, phi_y, 0.02, covariance)
    assert len(c) == 7
    assert_allclose(scaled(witness(FRESH)), scaled(by_loops), atol=1e-8)


def test_more_centres_come_closer_to_the_exact_witness():
    train = samples(300, 300)
    exact = scaled(learned(Fisher(Gaussian(0.2), 1e-2), train)(train.pooled))
    errors = [
        np.abs(scaled(learned(Nystrom(Gaussian(0.2), 1e-2, centres), train)(train.pooled)) - exact).max()
        for centres in (40, 160, 320)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_chunks_change_nothing(monkeypatch):
    train, learner = samples(), Nystrom(Gaussian(0.2), [1e-3, 1e-1], 30)
    at_once = learned(learner, train)(FRESH)
    monkeypatch.setattr(nystrom, "_CHUNK", 30 * 7)
    assert_allclose(learned(learner, train)(FRESH), at_once, rtol=1e-9, atol=1e-12)


def test_a_ridge_is_chosen_by_the_ratio_on_folds_left_out():
    """Against features of the rows themselves, folds learned one after the other."""
    train, ridges = samples(80, 70), [1e-4, 1e-2, 1.0, np.inf]
    learner = Nystrom(Gaussian(0.2), ridges, centres=40, folds=3)
    found = learned(learner, train).selection
    rng = np.random.default_rng(0)
    mapped = FeatureMap.exact(Gaussian(0.2), learner._chosen(Gaussian(0.2), train.pooled, rng))
    phi = mapped.features(nystrom.Pairs(train.pooled, mapped.landmarks))
    for f, (learn, judge) in enumerate(make_folds(3, train, rng)):
        for r, ridge in enumerate(ridges):
            p, q = phi[learn[learn < 80]], phi[learn[learn >= 80]]
            w = p.mean(0) - q.mean(0) if ridge == np.inf else oracles.fisher_primal(p, q, ridge)
            h_x, h_y = phi[judge[judge < 80]] @ w, phi[judge[judge >= 80]] @ w
            assert found.fold_scores[0, r, f] == pytest.approx(snr(h_x, h_y), rel=1e-8)
    assert found.ridge == ridges[int(np.argmax(found.scores[0]))]
    again = learned(Nystrom(Gaussian(0.2), found.ridge, 40), train)
    assert_allclose(again(FRESH), learned(learner, train)(FRESH), rtol=1e-9, atol=1e-12)


def test_centres_do_not_know_the_labels():
    train = samples()
    order = np.random.default_rng(3).permutation(105)
    relabelled = as_samples(train.pooled[order][:60], train.pooled[order][60:])
    given = [Nystrom(centres=20)._chosen(Gaussian(0.2), z.pooled, np.random.default_rng(1)) for z in (train, train)]
    assert np.array_equal(*given)
    assert {tuple(row) for row in learned(Nystrom(Gaussian(0.2), centres=20), relabelled).centres} <= {
        tuple(row) for row in train.pooled
    }


def test_many_rows_in_a_test():
    x, y = blobs(20_000, theta=np.pi / 4, rng=0)
    result = witness_test(x, y, learner=Nystrom(Gaussian(0.2), [1e-4, 1e-2], 100), null=Permutation(99), rng=0)
    assert result.pvalue == 0.01
    assert "the best of 2 ridges" in str(result)


def test_equal_rows_have_a_flat_witness():
    train = as_samples(np.ones((10, 2)), np.ones((8, 2)))
    for ridge in (1e-2, [1e-2, 1.0]):
        assert np.ptp(learned(Nystrom(Gaussian(1.0), ridge, folds=2), train)(FRESH)) == 0


def test_the_mean_witness_is_projected():
    """With all rows as centres it is the mean witness itself."""
    train = samples()
    assert_allclose(
        learned(Nystrom(Gaussian(0.2), np.inf), train)(FRESH), learned(Mean(Gaussian(0.2)), train)(FRESH), atol=1e-9
    )


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Nystrom(ridge=0.0), "`ridge` must be a positive number .*, got 0.0"),
        (Nystrom(ridge="small"), "`ridge` must be a positive number .*, got 'small'"),
        (Nystrom(ridge=[]), "`ridge` must be a non-empty sequence"),
        (Nystrom(centres=1), "`centres` must be a whole number of at least 2, got 1"),
        (Nystrom(covariance="pooled"), "`covariance` must be one of 'corrected', 'printed', got 'pooled'"),
        (Nystrom(ridge=[1.0, 0.1], folds=40), "`folds` must be between 2 and 22"),
        (Nystrom(Gaussian(1e9)), "`kernel` must tell the training rows apart"),
        (Nystrom(Gaussian(0.2), 1e-18), "`ridge` must be larger than the rounding"),
    ],
)
def test_bad_choices_are_named(learner, message):
    with pytest.raises(ValueError, match=message):
        learned(learner, samples())
