"""Moments add, and the signal-to-noise ratio is what its formula says at any scale."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tellapart import snr
from tellapart.moments import Moments, Standardised, WitnessMoments, column_snr


@given(
    n=st.integers(1, 80),
    width=st.sampled_from([None, 1, 3]),
    cuts=st.lists(st.integers(1, 79)),
    offset=st.sampled_from([0.0, -5.0, 1e6]),
    seed=st.integers(0, 2**32),
)
def test_moments_of_chunks_add_up_to_those_of_the_whole(n, width, cuts, offset, seed):
    features = offset + np.random.default_rng(seed).normal(size=n if width is None else (n, width))
    chunks = np.split(features, sorted({cut for cut in cuts if cut < n}))
    total, whole = reduce(add, map(Moments.of, chunks)), Moments.of(features)
    assert total.n == whole.n == n
    assert_allclose(total.mean, whole.mean, rtol=1e-14, atol=1e-14)
    assert_allclose(total.scatter, whole.scatter, rtol=1e-8, atol=1e-8)
    assert total.scatter.shape == (() if width is None else (width, width))


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_scatter_loses_no_digits_to_an_offset(offset):
    values = np.random.default_rng(0).integers(100, size=(1000, 2)).astype(float)
    total = reduce(add, map(Moments.of, np.array_split(values + offset, 50)))
    assert_allclose(total.scatter, 999 * np.cov(values.T), rtol=1e-6)
    assert_allclose(total.variance.diagonal(), values.var(axis=0), rtol=1e-6)


def test_moments_of_one_value():
    assert (Moments.of([3.0]) + Moments.of([3.0])).variance == Moments.of([3.0]).variance == 0


def formula(x, y):
    c = len(x) / (len(x) + len(y))
    return (x.mean() - y.mean()) / np.sqrt(x.var() / c + y.var() / (1 - c))


def drawn(seed, n, m):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + 0.3, 2 * rng.normal(size=m)


@given(n=st.integers(2, 30), m=st.integers(2, 30), seed=st.integers(0, 2**32))
def test_snr_is_its_formula(n, m, seed):
    x, y = drawn(seed, n, m)
    assert snr(x, y) == pytest.approx(formula(x, y), rel=1e-10)
    assert snr(x, y) == pytest.approx(-snr(y, x), rel=1e-10)
    assert WitnessMoments.of(x, y).tau == pytest.approx(np.sqrt(n + m) * formula(x, y), rel=1e-10)


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e-3, 1e150, 1e300])
def test_snr_does_not_care_about_the_scale(factor):
    x, y = drawn(0, 20, 30)
    assert snr(factor * x, factor * y) == pytest.approx(formula(x, y), rel=1e-12)
    assert snr(-factor * x, -factor * y) == pytest.approx(-formula(x, y), rel=1e-12)


@pytest.mark.parametrize("constant", [1e3, -1e6])
def test_snr_does_not_care_about_a_shift(constant):
    x, y = drawn(0, 20, 30)
    assert snr(x + constant, y + constant) == pytest.approx(formula(x, y), rel=1e-8)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([2.0, 2.0], [2.0, 2.0, 2.0], 0.0),
        ([2.0, 2.0], [1.0], np.inf),
        ([1.0], [2.0, 2.0], -np.inf),
        ([0.1 + 0.2] * 3, [0.3] * 4, 0.0),  # equal up to rounding
        ([1.0, 3.0], [0.0, 0.0], np.sqrt(2.0)),
    ],
)
def test_snr_without_noise(x, y, expected):
    assert snr(x, y) == pytest.approx(expected)
    assert column_snr(np.array([*x, *y])[:, None], len(x)) == pytest.approx(expected)


def test_column_snr_is_snr_column_by_column():
    h = np.random.default_rng(0).normal(size=(50, 4)) * [1.0, 1e-200, 1e150, 0.0]
    assert_allclose(column_snr(h, 20), [snr(column[:20], column[20:]) for column in h.T], rtol=1e-10)


@given(n=st.integers(2, 500), m=st.integers(2, 500))
def test_snr_at_other_sizes_keeps_means_and_variances(n, m):
    w = WitnessMoments.of(*drawn(0, 20, 30))
    noise = np.sqrt(w.sd_x**2 * (n + m) / n + w.sd_y**2 * (n + m) / m)
    assert w.snr_at(n, m) == pytest.approx(w.difference / noise)


@given(seed=st.integers(0, 2**32), scale=st.sampled_from([1e-200, 1.0, 1e150]), constant=st.sampled_from([0.0, 3.0]))
def test_standardised_values_are_a_shift_and_a_multiple(seed, scale, constant):
    x, y = ((h + constant) * scale for h in drawn(seed, 5, 9))
    z = Standardised.of(x, y)
    assert z.pooled.mean() == pytest.approx(0, abs=1e-12)
    assert np.abs(z.pooled).max() == pytest.approx(1)
    assert_allclose(np.diff(z.pooled) * z.scale, np.diff(np.concatenate([x, y])), rtol=1e-9, atol=1e-9 * z.scale)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e200])
def test_constant_values_become_exact_zeros(value):
    z = Standardised.of(np.full(7, value), np.full(11, value))
    assert z.constant
    assert not z.pooled.any()


@pytest.mark.parametrize(
    ("h", "message"),
    [
        ([], r"`h_x` must be a vector of witness values, got shape \(0,\)"),
        ([[1.0], [2.0]], r"`h_x` must be a vector .* shape \(2, 1\)"),
        ([1.0, [2.0]], "`h_x` must be a vector of witness values, got a ragged list"),
        ([1.0, np.nan, np.inf], "`h_x` must be finite, got 2 NaN or infinite witness values of 3"),
    ],
)
def test_snr_refuses(h, message):
    with pytest.raises(TypeError, match="`h_x` must hold real numbers, one for each row, got dtype"):
        snr(["a"], [1.0])
    with pytest.raises(TypeError, match="`h_y` must hold real numbers"):
        snr([1.0], [1.0j])
    with pytest.raises(ValueError, match=message):
        snr(h, [1.0, 2.0])
    with pytest.raises(ValueError, match=message.replace("h_x", "h_y")):
        snr([1.0, 2.0], h)
