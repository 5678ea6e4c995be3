"""Tails without permutations, against the enumeration of every relabelling."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import oracles
from tellapart.inference.enumeration import lattice_step, log_binomial, log_exact_tail
from tellapart.inference.saddlepoint import approximates_well, log_saddlepoint_tail
from tellapart.moments import Standardised

SHAPES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed": lambda rng, size: rng.exponential(size=size),
    "heavy": lambda rng, size: rng.standard_t(3, size=size),
    "two humps": lambda rng, size: rng.normal(size=size) + 6 * (rng.random(size) < 0.3),
}


def standard(h):
    return Standardised.of(np.asarray(h, dtype=float), np.empty(0)).x


@given(
    n=st.integers(1, 6),
    m=st.integers(1, 6),
    seed=st.integers(0, 10_000),
    values=st.sampled_from(["continuous", "ties", "binary"]),
)
@settings(max_examples=80, deadline=None)
def test_the_exact_tail_is_the_enumeration(n, m, seed, values):
    rng = np.random.default_rng(seed)
    h = {
        "continuous": rng.normal(size=n + m),
        "ties": rng.integers(4, size=n + m).astype(float),
        "binary": rng.integers(2, size=n + m).astype(float),
    }[values]
    if np.ptp(h) == 0:
        return
    z = standard(h)
    found = math.exp(log_exact_tail(z, n, float(z[:n].sum())))
    assert found == pytest.approx(oracles.permutation_tail(h[:n], h[n:]), rel=1e-9)


def test_the_exact_tail_gives_up_where_there_are_too_many_states():
    h = np.random.default_rng(0).normal(size=80)
    assert log_exact_tail(standard(h), 40, 1.0) is None
    assert log_exact_tail(np.random.default_rng(0).normal(size=5000), 2500, 1.0) is None


def test_two_values_are_the_hypergeometric_distribution_at_any_size():
    h = np.repeat([1.0, -1.0], [300_000, 700_000])
    z = standard(h)
    drawn_high = 150_700
    threshold = drawn_high * z.max() + (500_000 - drawn_high) * z.min()
    wanted = hypergeom.logsf(drawn_high - 1, 1_000_000, 300_000, 500_000)
    assert log_exact_tail(z, 500_000, threshold) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "size"), [(18, 36), (12, 38)])
def test_relative_error_is_small_where_the_approximation_is_used(shape, n, size):
    """Against exact tails: within 15 % for two separated humps, which are nearly a lattice, within 5 % elsewhere."""
    rng = np.random.default_rng(size)
    z = standard(SHAPES[shape](rng, size))
    while not approximates_well(z, n):
        z = standard(SHAPES[shape](rng, size))
    sums = np.array([rng.permutation(z)[:n].sum() for _ in range(4000)])
    for tail in (0.1, 0.01, 0.002):
        threshold = float(np.quantile(sums, 1 - tail))
        exact = log_exact_tail(z, n, threshold, most_states=2**21)
        assert exact is not None
        assert log_saddlepoint_tail(z, n, threshold) == pytest.approx(exact, abs=0.15 if shape == "two humps" else 0.05)


def test_design_figures_at_twenty_rows():
    """Near the 5 % and the 0.1 % point of the enumerated distribution of 10 of 20 normal values."""
    z = standard(np.random.default_rng(7).normal(size=20))
    rng = np.random.default_rng(8)
    sums = np.array([rng.permutation(z)[:10].sum() for _ in range(20_000)])
    for tail, tolerance in ((0.05, 0.02), (0.001, 0.05)):
        threshold = float(np.quantile(sums, 1 - tail))
        exact = math.exp(log_exact_tail(z, 10, threshold))
        assert math.exp(log_saddlepoint_tail(z, 10, threshold)) == pytest.approx(exact, rel=tolerance)


@pytest.mark.parametrize("position", [-3.0, -0.11, -0.1, -0.05, 0.0, 1e-9, 0.05, 0.0999, 0.1001, 2.0])
def test_the_tail_is_smooth_and_falls_through_the_centre(position):
    z = standard(np.random.default_rng(3).exponential(size=200))
    n = 80
    sd = math.sqrt(n * 120 / (200 * 199) * float(z @ z))
    here, next_ = (math.exp(log_saddlepoint_tail(z, n, (position + step) * sd)) for step in (0.0, 0.01))
    density = math.exp(-(position**2) / 2) / math.sqrt(2 * math.pi)
    assert 0 < here - next_ == pytest.approx(0.01 * density, rel=0.25)


def test_the_far_tail_of_a_lattice_agrees_with_the_exact_one():
    """30 of 60 values on five levels, with the continuity correction."""
    z = standard(np.repeat(np.arange(5.0), 12))
    total = np.sort(z)[30:].sum()
    for share in (0.1, 0.3, 0.5, 0.7):
        sums = np.linspace(-total, total, 73)  # all attainable sums
        threshold = float(sums[np.searchsorted(sums, share * total - 1e-9)])
        exact = log_exact_tail(z, 30, threshold)
        assert log_saddlepoint_tail(z, 30, threshold) == pytest.approx(exact, rel=0.02, abs=0.02)


def test_an_outlier_that_makes_all_the_variance_is_not_approximated():
    z = standard(np.concatenate([np.random.default_rng(0).normal(size=99), [1e4]]))
    assert not approximates_well(z, 50)
    assert approximates_well(standard(np.random.default_rng(0).normal(size=99)), 50)


def test_complete_separation_has_the_probability_of_one_relabelling():
    z = standard(np.concatenate([np.linspace(2, 3, 60), np.linspace(0, 1, 40)]))
    assert log_saddlepoint_tail(z, 60, float(z[:60].sum())) == pytest.approx(-float(log_binomial(100, 60)))
    assert log_saddlepoint_tail(z, 60, float(np.sort(z)[:60].sum())) == 0.0


@pytest.mark.parametrize(
    ("values", "step"),
    [([0.0, 1.0, 3.0], 1.0), ([0.0, 0.5, 0.75], 0.25), ([0.0, 1.0, math.sqrt(2)], 0.0), ([0.0, 1 / 3, 1.0], 1 / 3)],
)
def test_the_step_of_a_lattice(values, step):
    assert lattice_step(np.array(values)) == pytest.approx(step, abs=1e-9)
