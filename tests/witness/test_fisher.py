"""The Fisher witness against the paper's formula, in dual and in primal form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from tellapart import Fisher, Mean, Select, witness_test
from tellapart.kernels import Gaussian, InverseMultiquadric, Laplace, Linear, Matern, Polynomial
from tellapart.samples import as_samples
from tellapart.witness.fisher import TwoClasses, fisher_coefficients, mean_coefficients
from tellapart.witness.select import make_folds

SHARP_KERNELS = [Gaussian(0.4), Laplace(1.0), Matern(1.0, nu=1.5), Matern(0.7, nu=0.5), InverseMultiquadric(0.5)]


def samples(n, m, d, seed):
    rng = np.random.default_rng(seed)
    return as_samples(rng.normal(size=(n, d)), rng.normal(0.3, 1.2, size=(m, d)))


def learned(learner, train):
    return learner.learn(train, np.random.default_rng(0))


def relative_error(found, wanted):
    """Up to the positive factor that no test depends on."""
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    return np.linalg.norm(found / np.linalg.norm(found) - wanted / np.linalg.norm(wanted))


@given(
    n=st.integers(2, 9),
    m=st.integers(2, 9),
    d=st.integers(1, 3),
    kernel=st.sampled_from(SHARP_KERNELS),
    ridge=st.sampled_from([1e-4, 1e-2, 1.0, 1e3]),
    covariance=st.sampled_from(["corrected", "printed"]),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=60, deadline=None)
def test_agrees_with_the_printed_formula_to_nine_digits(n, m, d, kernel, ridge, covariance, seed):
    train = samples(n, m, d, seed)
    k = kernel(train.pooled, train.pooled)
    wanted = oracles.fisher_alpha(k, n, ridge, covariance) * ridge
    found = fisher_coefficients(k, TwoClasses(n, n + m, covariance), [ridge])[0]
    fresh = np.random.default_rng(seed + 1).normal(size=(7, d))
    cross = kernel(fresh, train.pooled)
    scale = np.abs(cross @ np.abs(wanted.astype(float))).max()
    np.testing.assert_allclose(cross @ found, (cross @ wanted).astype(float), rtol=1e-9, atol=1e-10 * scale)


@pytest.mark.parametrize("covariance", ["corrected", "printed"])
@pytest.mark.parametrize(("n", "m"), [(6, 6), (4, 20), (30, 5)])
@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_agrees_with_the_primal_form(n, m, ridge, covariance):
    train = samples(n, m, 3, seed=n)
    witness = learned(Fisher(Linear(), ridge, covariance), train)
    direction = oracles.fisher_primal(train.x, train.y, ridge, covariance)
    fresh = np.random.default_rng(1).normal(size=(20, 3))
    assert relative_error(witness(fresh), fresh @ direction) < 1e-9


def test_polynomial_kernel_agrees_with_explicit_features():
    train = samples(15, 11, 1, seed=3)
    witness = learned(Fisher(Polynomial(degree=2), 0.05), train)

    def phi(z):  # (z w + 1)^2 = 1 + 2 z w + z^2 w^2
        return np.concatenate([np.ones_like(z), np.sqrt(2) * z, z**2], axis=1)

    direction = oracles.fisher_primal(phi(train.x), phi(train.y), 0.05)
    fresh = np.linspace(-2, 2, 9)[:, None]
    assert relative_error(witness(fresh), phi(fresh) @ direction) < 1e-9


def test_all_ridges_at_once_are_each_ridge_alone():
    train = samples(40, 25, 2, seed=5)
    k = Gaussian(0.5)(train.pooled, train.pooled)
    classes, ridges = TwoClasses(40, 65), [1e-5, 1e-3, 0.1, 10.0, np.inf]
    together = fisher_coefficients(k, classes, ridges)
    for row, ridge in zip(together, ridges, strict=True):
        np.testing.assert_allclose(row, fisher_coefficients(k, classes, [ridge])[0], rtol=1e-7, atol=1e-11)


def test_a_large_ridge_is_the_mean_witness():
    train = samples(30, 20, 2, seed=6)
    fresh = np.random.default_rng(2).normal(size=(50, 2))
    mean = learned(Mean(Gaussian(0.5)), train)(fresh)
    np.testing.assert_allclose(learned(Fisher(Gaussian(0.5), np.inf), train)(fresh), mean, rtol=0, atol=1e-15)
    np.testing.assert_allclose(learned(Fisher(Gaussian(0.5), 1e12), train)(fresh), mean, rtol=0, atol=1e-11)


def test_the_mean_witness_is_the_difference_of_two_averages():
    train = samples(7, 4, 2, seed=7)
    z = np.array([[0.1, -0.2]])
    kernel = Gaussian(0.8)
    by_hand = np.mean([kernel(z, row[None])[0, 0] for row in train.x]) - np.mean(
        [kernel(z, row[None])[0, 0] for row in train.y]
    )
    np.testing.assert_allclose(learned(Mean(kernel), train)(z), [by_hand], rtol=1e-14)
    assert mean_coefficients(2, 4).tolist() == [0.5, 0.5, -0.25, -0.25, -0.25, -0.25]


def test_the_corrected_covariance_is_the_one_of_the_signal_to_noise_ratio():
    """Without regularisation the corrected direction has the largest SNR on the training rows; the printed has less."""
    rng = np.random.default_rng(8)
    train = as_samples(rng.normal(size=(200, 2)) * [1.0, 3.0] + [0.5, 0.5], rng.normal(size=(20, 2)) * [3.0, 1.0])

    def training_snr(covariance):
        w = learned(Fisher(Linear(), 1e-6, covariance), train)
        return oracles.snr_by_loops(w(train.x), w(train.y))

    angles = np.linspace(0, 2 * np.pi, 721)
    best = max(oracles.snr_by_loops(train.x @ v, train.y @ v) for v in np.stack([np.cos(angles), np.sin(angles)], 1))
    assert training_snr("corrected") == pytest.approx(best, rel=1e-4)
    assert training_snr("printed") < 0.99 * best


def test_for_equal_sizes_the_two_covariances_differ_by_a_factor_of_the_ridge():
    train = samples(12, 12, 2, seed=9)
    fresh = np.random.default_rng(3).normal(size=(10, 2))
    corrected = learned(Fisher(Gaussian(0.6), 2e-2, "corrected"), train)(fresh)
    printed = learned(Fisher(Gaussian(0.6), 1e-2, "printed"), train)(fresh)
    assert relative_error(corrected, printed) < 1e-12


def test_row_order_does_not_matter():
    train = samples(20, 15, 2, seed=10)
    rng = np.random.default_rng(4)
    shuffled = as_samples(rng.permutation(train.x), rng.permutation(train.y))
    fresh = rng.normal(size=(10, 2))
    learner = Fisher(Gaussian(0.5), 1e-3)
    np.testing.assert_allclose(learned(learner, train)(fresh), learned(learner, shuffled)(fresh), rtol=1e-9)


@pytest.mark.parametrize("learner", [Fisher(Gaussian(0.5), 1e-3), Mean(Gaussian(0.5))])
def test_swapping_the_samples_flips_the_sign(learner):
    train = samples(21, 21, 2, seed=11)
    fresh = np.random.default_rng(5).normal(size=(10, 2))
    swapped = as_samples(train.y, train.x)
    np.testing.assert_allclose(learned(learner, train)(fresh), -learned(learner, swapped)(fresh), rtol=1e-7)


@pytest.mark.parametrize("factor", [1e-12, 1e-3, 1e6])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_shifting_and_scaling_the_data_with_the_bandwidth_changes_nothing(factor, shift):
    train = samples(25, 18, 2, seed=12)
    moved = as_samples((train.x + shift) * factor, (train.y + shift) * factor)
    fresh = np.random.default_rng(6).normal(size=(10, 2))
    here = learned(Fisher(Gaussian(0.5), 1e-2), train)(fresh)
    there = learned(Fisher(Gaussian(0.5 * factor), 1e-2), moved)((fresh + shift) * factor)
    np.testing.assert_allclose(there, here, rtol=1e-7, atol=1e-10 * np.abs(here).max())


def test_select_reports_the_grid_that_explicit_refits_give():
    train = samples(24, 30, 2, seed=13)
    kernels, ridges = [Gaussian(0.3), Gaussian(1.0), Laplace(1.0)], [1e-3, 0.1, np.inf]
    folds = make_folds(3, train, np.random.default_rng(0))
    selection = learned(Select(kernels, ridges, folds=folds), train).selection
    rows, is_x = train.pooled, np.arange(54) < 24
    for i, kernel in enumerate(kernels):
        for j, ridge in enumerate(ridges):
            scores = []
            for fit, judge in folds:
                part = as_samples(rows[fit][is_x[fit]], rows[fit][~is_x[fit]])
                w = learned(Fisher(kernel, ridge), part)
                scores.append(oracles.snr_by_loops(w(rows[judge][is_x[judge]]), w(rows[judge][~is_x[judge]])))
            assert selection.scores[i, j] == pytest.approx(np.mean(scores), rel=1e-8)
    assert selection.scores[selection.chosen] == selection.scores.max() == selection.snr


def test_the_selected_witness_is_the_refit_on_all_training_rows():
    train = samples(24, 30, 2, seed=14)
    witness = learned(Select.paper(), train)
    s = witness.selection
    assert s.scores.shape == (10, 5)
    assert s.fold_scores.shape == (10, 5, 2)
    refit = learned(Fisher(s.kernel, s.ridge, "printed"), train)
    np.testing.assert_allclose(witness(train.pooled), refit(train.pooled), rtol=1e-10)


def test_a_hopeless_ridge_loses_but_does_not_stop_the_grid():
    train = samples(20, 20, 1, seed=15)
    witness = learned(Select([Gaussian(5.0)], [1e-300, 1e-2, 1.0, 10.0, 100.0]), train)
    assert witness.selection.scores[0, 0] == -np.inf
    assert np.isfinite(witness.selection.scores[0, 1:]).all()


@pytest.mark.parametrize(
    ("learner", "error", "message"),
    [
        (Fisher(Gaussian(1.0), 0.0), ValueError, "`ridge` must be a positive number"),
        (Fisher(Gaussian(1.0), -1.0), ValueError, "`ridge` must be a positive number"),
        (Fisher(Gaussian(1.0), "large"), ValueError, "`ridge` must be a positive number"),
        (Fisher(Gaussian(1.0), 1e-30), ValueError, "larger than the rounding"),
        (Fisher(Gaussian(1e9), 1e-2), ValueError, "tell the training rows apart"),
        (Fisher("gaussian", 1e-2), TypeError, "`kernel` must be a kernel such as"),
        (Fisher(Gaussian(1.0), 1e-2, "pooled"), ValueError, "`covariance` must be one of"),
        (Select(kernels=[]), ValueError, "`kernels` must be a non-empty sequence"),
        (Select(ridges=[]), ValueError, "`ridges` must be a non-empty sequence"),
        (Select(ridges=[1.0, -1.0]), ValueError, "`ridge` must be a positive number"),
        (Select(folds=1), ValueError, "`folds` must be between 2 and"),
        (Select(folds=50), ValueError, "`folds` must be between 2 and"),
        (Select(folds="five"), TypeError, "`folds` must be a whole number"),
        (Select(folds=[([0, 1], [2, 3])]), ValueError, "rows of both samples in every part"),
        (Select(kernels=[Gaussian(1e9), Gaussian(1e10)]), ValueError, "`kernels` must contain one"),
    ],
    ids=lambda v: getattr(v, "__name__", None) or repr(v)[:60],
)
def test_bad_choices_are_refused_with_a_reason(learner, error, message):
    rng = np.random.default_rng(0)
    with pytest.raises(error, match=message):
        witness_test(rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), learner=learner, rng=0)


def test_too_many_rows_for_the_exact_solution_are_refused_before_memory_runs_out():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at most 12000, got 20000"):
        witness_test(rng.normal(size=20_000), rng.normal(size=20_000), rng=0)
