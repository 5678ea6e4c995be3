"""Every row learns and every row judges: the identities against explicit refits, and the exactness of what follows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from tellapart.inference.exchange import Exchange
from tellapart.inference.leave_one_out import (
    DegreesOfFreedom,
    LeftOut,
    Ridges,
    Spectrum,
    leave_one_out_rows,
    left_out_values,
    potential_rows,
    quadratic_rows,
    ridges_for,
)
from tellapart.kernels import Gaussian, Laplace, Linear


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
    ridge = ridges_for(spectrum.values, [min(freedom, 0.8 * len(spectrum.values))])[0]
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
    assert spectrum.shrinkage(ridges_for(spectrum.values, [freedom])[0]).sum() == pytest.approx(freedom)


def test_the_fitted_statistic_orders_relabellings_as_the_within_class_one_does():
    """Total scatter instead of within-class scatter: the same permutation p-values, one is monotone in the other."""
    z = data(10, 14, seed=3)
    n, total = 10, 24
    spectrum = Spectrum.of(Linear()(z, z))
    y = Exchange.of(n, 14).relabellings(60, np.random.default_rng(1))
    ridge = 1e-6
    ours = quadratic_rows(spectrum.values, [spectrum.shrinkage(ridge)], spectrum.vectors.T @ y)[0]
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
    spectrum = Spectrum.of(k.copy())
    found = quadratic_rows(spectrum.values, [], spectrum.vectors.T @ y)[0]
    for value, column in zip(found, y.T, strict=True):
        x_rows, y_rows = column > 0, column < 0
        blocks = [k[np.ix_(a, b)].mean() for a, b in ((x_rows, x_rows), (y_rows, y_rows), (x_rows, y_rows))]
        mmd = blocks[0] + blocks[1] - 2 * blocks[2]
        assert value == pytest.approx(mmd * (6 * 9 / 15) ** 2, rel=1e-9)


def test_potentials_are_two_sided_and_blind_to_the_sign():
    y = Exchange.of(4, 5).relabellings(7, np.random.default_rng(3))
    f = np.random.default_rng(4).normal(size=(2, 9))
    np.testing.assert_allclose(potential_rows(f, y), potential_rows(-f, y))


@pytest.mark.parametrize("together", [[0, 0, 1, 1, 1, 2, 3, 3, 4], [0, 1, 2, 3, 4, 0, 1, 2, 3]])
def test_rows_left_out_together_are_explicit_refits_without_all_of_them(together):
    z = data(5, 4, seed=11)
    k, left_out = Laplace(1.5)(z, z), LeftOut.of(np.array(together))
    spectrum, ridge = Spectrum.of(k.copy()), 0.3
    y = Exchange.of(5, 4).relabellings(2, np.random.default_rng(0))
    found = left_out_values(spectrum, spectrum.shrinkage(ridge), y, left_out=left_out)
    for column, labels in zip(found.T, y.T, strict=True):
        wanted = oracles.left_out_by_refits(k, labels, ridge, together)
        np.testing.assert_allclose(column, wanted, rtol=1e-6, atol=1e-7)


def test_weighted_rows_are_left_out_of_a_weighted_regression():
    """A row of weight 2 counts as two rows that are left out together."""
    z = data(4, 4, seed=12)
    weights = np.array([1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0]) / 1.25
    repeated = np.repeat(np.arange(8), [1, 2, 1, 1, 2, 1, 1, 1])
    k, ridge = Gaussian(1.0)(z, z), 0.4
    twice = Spectrum.of(k[np.ix_(repeated, repeated)])
    once = Spectrum.of(k.copy(), weights)
    exchange = Exchange.of(4, 4, weights=(weights[:4], weights[4:]))
    y = exchange.relabellings(3, np.random.default_rng(0))
    y_twice = (y / np.sqrt(weights)[:, None])[repeated]
    found = left_out_values(once, once.shrinkage(ridge / 1.25), y) / np.sqrt(weights)[:, None]
    wanted = left_out_values(twice, twice.shrinkage(ridge), y_twice, left_out=LeftOut.of(repeated))
    np.testing.assert_allclose(found[repeated], wanted, rtol=1e-6, atol=1e-8)


def test_ridges_by_freedom_or_by_size():
    spectrum = Spectrum.of(Gaussian(1.0)(data(20, 20), data(20, 20)))
    freedoms, shrinkages = DegreesOfFreedom((1, 4, 1000)).grid(spectrum.values, 40)
    assert freedoms == [1.0, 4.0]
    np.testing.assert_allclose([s.sum() for s in shrinkages], freedoms)
    freedoms, shrinkages = Ridges((0.1, 10.0)).grid(spectrum.values, 40)
    np.testing.assert_allclose(shrinkages[0], spectrum.values / (spectrum.values + 4.0))
    assert freedoms[0] > freedoms[1]
