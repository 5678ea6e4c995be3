"""Every row learns and every row judges: the identities against explicit refits, and the exactness of what follows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from tellapart.inference.combination import (
    joined,
    pvalue_of_first,
    rank_pvalues,
    standard_scores,
    tail_scores,
)
from tellapart.inference.exchange import Exchange
from tellapart.inference.leave_one_out import (
    Spectrum,
    leave_one_out_rows,
    left_out_values,
    potential_rows,
    quadratic_rows,
)
from tellapart.inference.whole_sample import FAMILIES, heard
from tellapart.kernels import BandwidthGrid, Gaussian, Laplace, Linear


def data(n, m, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n, d)), rng.normal(0.5, 1.5, size=(m, d))])


@given(n=st.integers(2, 8), m=st.integers(2, 8), freedom=st.floats(0.3, 3.0), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_left_out_values_are_explicit_refits(n, m, freedom, seed):
    z = data(n, m, seed=seed)
    k = Gaussian(0.8)(z, z)
    spectrum = Spectrum.of(k.copy())
    y = Exchange.of(n, m).relabellings(1, np.random.default_rng(seed))
    ridge = spectrum.ridge_for(min(freedom, 0.8 * len(spectrum.values)))
    found = left_out_values(spectrum, spectrum.shrinkage(ridge), y)
    for column, labels in zip(found.T, y.T, strict=True):
        np.testing.assert_allclose(column, oracles.left_out_by_refits(k, labels, ridge), rtol=1e-8, atol=1e-9)


def test_duplicate_rows_and_tiny_ridges_stay_finite():
    z = np.repeat(data(5, 5), 3, axis=0)
    spectrum = Spectrum.of(Gaussian(0.5)(z, z))
    y = Exchange.of(15, 15).relabellings(20, np.random.default_rng(0))
    rows = leave_one_out_rows(spectrum, [spectrum.shrinkage(r) for r in (1e-14, 1e-6, 1.0)], y)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("freedom", [0.5, 1.0, 4.0, 9.5])
def test_the_ridge_has_the_wanted_degrees_of_freedom(freedom):
    spectrum = Spectrum.of(Laplace(1.0)(data(12, 9), data(12, 9)))
    assert spectrum.shrinkage(spectrum.ridge_for(freedom)).sum() == pytest.approx(freedom)


def test_the_fitted_statistic_orders_relabellings_as_the_within_class_one_does():
    """Total scatter instead of within-class scatter: the same permutation p-values, one is monotone in the other."""
    z = data(10, 14, seed=3)
    n, total = 10, 24
    spectrum = Spectrum.of(Linear()(z, z))
    y = Exchange.of(n, 14).relabellings(60, np.random.default_rng(1))
    ridge = 1e-6
    ours = quadratic_rows(spectrum, [spectrum.shrinkage(ridge)], y)[0]
    hotelling = []
    for column in y.T:
        x_rows, y_rows = z[column > 0], z[column < 0]
        pooled = n * np.cov(x_rows.T, bias=True) + 14 * np.cov(y_rows.T, bias=True)
        step = x_rows.mean(axis=0) - y_rows.mean(axis=0)
        hotelling.append(step @ np.linalg.solve(pooled, step))
    assert (np.argsort(ours) == np.argsort(hotelling)).all()
    assert len(z) == total


def test_the_mean_statistic_is_the_squared_mmd():
    z = data(6, 9, seed=4)
    k = Gaussian(0.7)(z, z)
    y = Exchange.of(6, 9).relabellings(3, np.random.default_rng(2))
    found = quadratic_rows(Spectrum.of(k.copy()), [], y)[0]
    for value, column in zip(found, y.T, strict=True):
        x_rows, y_rows = column > 0, column < 0
        blocks = [k[np.ix_(a, b)].mean() for a, b in ((x_rows, x_rows), (y_rows, y_rows), (x_rows, y_rows))]
        mmd = blocks[0] + blocks[1] - 2 * blocks[2]
        assert value == pytest.approx(mmd * (6 * 9 / 15) ** 2, rel=1e-9)


def test_potentials_are_two_sided_and_blind_to_the_sign():
    y = Exchange.of(4, 5).relabellings(7, np.random.default_rng(3))
    f = np.random.default_rng(4).normal(size=(2, 9))
    np.testing.assert_allclose(potential_rows(f, y), potential_rows(-f, y))


def test_scores_are_comparable_between_rows():
    rng = np.random.default_rng(5)
    rows = np.stack([rng.normal(5, 3, 4000), rng.gamma(2.0, 7.0, 4000), np.full(4000, 0.3)])
    z = standard_scores(rows)
    np.testing.assert_allclose(z[:2].std(axis=1), 1.0)
    assert not z[2].any()
    tails = tail_scores(rows[:2])
    for row in tails:  # minus log of a uniform variable: exponential
        assert np.quantile(row, 0.95) == pytest.approx(-np.log(0.05), rel=0.1)


def test_ranks_count_ties_against_the_observed_value():
    assert rank_pvalues(np.array([1.0, 1.0 + 1e-13, 0.0])).tolist() == [2 / 3, 2 / 3, 1.0]
    assert pvalue_of_first(np.array([0.9, 0.9, 0.5, 0.2])) == 0.5


def test_the_joint_pvalue_is_exact_by_enumeration():
    """Take each of the B + 1 relabellings as the observed one in turn: p <= a for at most a share a of them."""
    z = data(4, 5, seed=6)
    y = Exchange.of(4, 5).relabellings(59, np.random.default_rng(6))
    kernels, pvalues = BandwidthGrid(count=3).kernels(z, np.random.default_rng(0)), []
    for b in range(60):
        order = np.r_[b, np.delete(np.arange(60), b)]
        pvalues.append(heard(z, kernels, (1, 2), y[:, order]).pvalue)
    for level in np.unique(pvalues):
        assert np.mean(np.array(pvalues) <= level + 1e-12) <= level + 1e-12


@pytest.mark.parametrize("draw", ["heavy tails", "ties", "more columns than rows", "10 : 1"])
def test_level(draw):
    rng = np.random.default_rng(7)

    def pair():
        if draw == "heavy tails":
            return rng.standard_cauchy(size=(9, 2)), rng.standard_cauchy(size=(12, 2))
        if draw == "ties":
            return rng.integers(2, size=(10, 3)), rng.integers(2, size=(10, 3))
        if draw == "10 : 1":
            return rng.normal(size=(40, 1)), rng.normal(size=(4, 1))
        return rng.normal(size=(6, 30)), rng.normal(size=(8, 30))

    trials, rejected = 1500, 0
    for _ in range(trials):
        x, y = pair()
        z = np.concatenate([x, y]).astype(float)
        found = heard(
            z, BandwidthGrid(count=3).kernels(z, rng), (1, 2, 4), Exchange.of(len(x), len(y)).relabellings(39, rng)
        )
        rejected += found is not None and found.pvalue <= 0.05
    assert rejected <= oracles.binomial_bounds(trials, 0.05)[1]


def test_joining_adds_inverse_ranks():
    families = np.array([[5.0, 1.0, 2.0, 3.0], [1.0, 9.0, 2.0, 3.0]])
    np.testing.assert_allclose(joined(families), [4 + 1, 1 + 4, 4 / 3 + 4 / 3, 2 + 2])


def test_what_was_heard_can_be_looked_at():
    z = data(30, 30, seed=8)
    kernels = BandwidthGrid(count=4).kernels(z, np.random.default_rng(0))
    found = heard(z, kernels, (1, 4, 16), Exchange.of(30, 30).relabellings(99, np.random.default_rng(9)))
    assert set(found.family_pvalues) == set(FAMILIES)
    row, score = found.loudest("left out")
    assert row.kernel in kernels
    assert score == max(s for r, s in zip(found.rows, found.scores, strict=True) if r.family == "left out")
    assert found.evidence[:30].mean() > found.evidence[30:].mean()


def test_identical_rows_say_nothing():
    z = np.full((8, 2), 0.3)
    assert heard(z, [Gaussian(1.0)], (1,), Exchange.of(4, 4).relabellings(19, np.random.default_rng(0))) is None
