"""Intervals for the difference in means of a witness: coverage by simulation, with binomial bounds."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

import oracles
from tellapart.inference.confidence import betting_interval, bootstrap_interval, lower_mean_bound, welch_interval
from tellapart.moments import WitnessMoments

TRIALS, LEVEL = 600, 0.9


def coverage(interval, draw, truth, seed):
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(TRIALS):
        low, high = interval(*draw(rng), rng)
        hits += low <= truth <= high
    return hits


def normal_pair(rng):
    return rng.normal(0.5, 1, 30), rng.normal(0, 2, 50)


def test_welch_interval_is_the_one_of_scipy():
    h_x, h_y = normal_pair(np.random.default_rng(0))
    wanted = ttest_ind(h_x, h_y, equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose(welch_interval(WitnessMoments.of(h_x, h_y), 0.9), (wanted.low, wanted.high))


def test_welch_and_bootstrap_cover():
    low, high = oracles.binomial_bounds(TRIALS, LEVEL)
    welch = coverage(lambda x, y, _: welch_interval(WitnessMoments.of(x, y), LEVEL), normal_pair, 0.5, 1)
    assert low <= welch <= high
    bootstrap = coverage(lambda x, y, rng: bootstrap_interval(x, y, LEVEL, 300, rng), normal_pair, 0.5, 2)
    # The percentile bootstrap has variances over n: at 30 and 50 rows about 2 % short, as documented.
    assert low - 0.03 * TRIALS <= bootstrap <= high


@pytest.mark.parametrize("shape", [(0.1, 0.1), (0.5, 5.0), (2.0, 2.0)])
def test_betting_covers_at_least_as_often_as_it_says(shape):
    def draw(rng):
        return rng.beta(*shape, size=40), rng.beta(*reversed(shape), size=60)

    a, b = shape
    truth = a / (a + b) - b / (a + b)
    hits = coverage(lambda x, y, _: betting_interval(x, y, (0.0, 1.0), LEVEL), draw, truth, 3)
    assert hits >= oracles.binomial_bounds(TRIALS, LEVEL)[0]


def test_betting_narrows_with_more_rows_and_scales_with_the_bounds():
    rng = np.random.default_rng(4)
    widths = []
    for size in (100, 1000, 10_000):
        low, high = betting_interval(rng.beta(2, 2, size), rng.beta(2, 3, size), (0.0, 1.0), 0.95)
        widths.append(high - low)
    assert widths[0] > 2.5 * widths[1] > 6 * widths[2]
    h_x, h_y = rng.random(50), rng.random(50)
    here, there = betting_interval(h_x, h_y, (0, 1), 0.9), betting_interval(7 * h_x - 2, 7 * h_y - 2, (-2, 5), 0.9)
    np.testing.assert_allclose(there, 7 * np.array(here), atol=1e-6)


def test_the_bound_for_a_mean_is_monotone_and_inside_the_range():
    values = np.random.default_rng(5).random(200)
    bounds = [lower_mean_bound(values, error) for error in (1e-6, 1e-3, 0.05, 0.5)]
    assert bounds == sorted(bounds)
    assert 0 <= bounds[0] < bounds[-1] < values.mean()
    assert lower_mean_bound(np.ones(5), 0.05) < 1


def test_degenerate_samples_have_an_interval():
    assert welch_interval(WitnessMoments.of(np.ones(3), np.zeros(3)), 0.95) == (1.0, 1.0)
    low, high = betting_interval(np.ones(3), np.zeros(3), (0.0, 1.0), 0.95)
    assert low < 1 <= high + 1e-9
