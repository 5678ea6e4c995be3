"""Power and sample size: the formula, its inverse, and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tellapart import Fisher, Mean, Normal, power, sample_size, witness_test
from tellapart.datasets import blobs
from tellapart.kernels import Gaussian, Linear


def test_power_is_the_papers_formula():
    assert power(0.2, 60, 90, level=0.01) == pytest.approx(norm.sf(norm.ppf(0.99) - math.sqrt(150) * 0.2))
    assert power(0.0, 60) == pytest.approx(0.05)


@given(
    st.floats(0.01, 2.0),
    st.floats(0.1, 0.99),
    st.floats(0.001, 0.2),
    st.floats(0.1, 10.0),
    st.sampled_from([None, 0.5]),
)
@settings(max_examples=80, deadline=None)
def test_sample_size_is_the_smallest_with_that_power(snr, wanted, level, ratio, train_share):
    n, m = sample_size(snr, power=wanted, level=level, ratio=ratio, train_share=train_share)
    least = 4 if train_share else 2
    assert m == max(least, math.ceil(ratio * n - 1e-9))
    assert power(snr, n, m, level=level, train_share=train_share) >= wanted
    if n > least:
        fewer = max(least, math.ceil(ratio * (n - 1) - 1e-9))
        assert power(snr, n - 1, fewer, level=level, train_share=train_share) < wanted


def test_closed_form_power_agrees_with_simulation():
    """A witness with known moments: values normal with means 0.3 and 0 and standard deviations 1 and 2."""
    n, m, trials = 60, 120, 3000
    c = n / (n + m)
    snr = 0.3 / math.sqrt(1 / c + 4 / (1 - c))
    rng = np.random.default_rng(0)
    rejected = sum(
        Normal().judge(rng.normal(0.3, 1, n), rng.normal(0, 2, m), rng).pvalue <= 0.05 for _ in range(trials)
    )
    wanted = power(snr, n, m)
    assert abs(rejected / trials - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / trials) + 0.01


def test_a_pilot_predicts_the_power_of_the_same_test():
    """Shift of a normal mean, linear witness: pilot of 200 rows, power of tests with 100."""
    rng = np.random.default_rng(1)
    learner, trials = Fisher(Linear(), 1e-3), 300
    x, y = rng.normal(0.35, 1, size=(2000, 1)), rng.normal(size=(2000, 1))
    predicted = power((x, y), 100, learner=learner, train_share=0.2, rng=0)
    rejected = 0
    for _ in range(trials):
        x, y = rng.normal(0.35, 1, size=(100, 1)), rng.normal(size=(100, 1))
        rejected += witness_test(x, y, learner=learner, null=Normal(), train_share=0.2, rng=rng).pvalue <= 0.05
    # The pilot's SNR rests on 1,600 + 1,600 test rows; that alone moves the predicted power by about 0.05.
    assert abs(predicted - rejected / trials) < 0.15


def test_a_result_is_a_pilot():
    x, y = blobs(300, theta=np.pi / 4, rng=0)
    result = witness_test(x, y, learner=Fisher(Gaussian(0.2), 1e-2), rng=0)
    assert power(result, 300) == pytest.approx(result.power_at(0.05))
    assert power(result, 150, train_share=0.0) == pytest.approx(result.power_at(0.05))
    n, m = sample_size(result, power=0.9)
    assert power(result, n, m) >= 0.9 > power(result, n - 2, m - 2)


def test_moments_know_how_the_snr_changes_with_the_ratio_of_sizes():
    rng = np.random.default_rng(2)
    x, y = rng.normal(1.0, 1.0, size=(4000, 1)), rng.normal(0.0, 3.0, size=(4000, 1))
    result = witness_test(x, y, learner=Mean(Linear()), rng=0)
    # At 10:1 it is better to have many rows of the noisy sample; a bare SNR cannot know that.
    assert power(result, 20, 200, train_share=0.0) > power(result, 200, 20, train_share=0.0) + 0.1


def test_the_same_seed_gives_the_same_plan():
    x, y = blobs(60, theta=np.pi / 4, rng=0)
    learner = Fisher(Gaussian(0.2), 1e-2)
    assert power((x, y), 100, learner=learner, rng=3) == power((x, y), 100, learner=learner, rng=3)


def test_a_list_of_two_samples_is_a_pilot_too():
    x, y = blobs(30, theta=np.pi / 4, rng=0)
    assert power([x, y], 50, learner=Mean(Linear()), rng=0) == power((x, y), 50, learner=Mean(Linear()), rng=0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: power(0.2, 1), ValueError, "`n` must be a whole number of at least 2, got 1"),
        (lambda: power(0.2, 10, 2.5), ValueError, "`m` must be a whole number"),
        (lambda: power(0.2, 10, level=0), ValueError, "`level` must lie strictly between 0 and 1"),
        (lambda: power("strong", 10), TypeError, r"`effect` must be a signal-to-noise ratio.* pair \(x, y\)"),
        (lambda: power(math.nan, 10), TypeError, "`effect` must be a signal-to-noise ratio"),
        (lambda: power(np.zeros((500, 2)), 10), TypeError, r"`effect` must be a signal-to-noise ratio.{,100}$"),
        (lambda: power(0.2, 10**400), ValueError, "`n` must be a whole number"),
        (lambda: sample_size(1e-200), ValueError, "`effect` must be found with at most 1e.15 rows, got .* 1e-200"),
        (lambda: sample_size(0.2, power=1.0), ValueError, "`power` must lie strictly between 0 and 1"),
        (lambda: sample_size(0.2, ratio=-1), ValueError, "`ratio` must be positive"),
        (lambda: sample_size(0.0), ValueError, "`effect` must be positive"),
        (lambda: sample_size(-0.1), ValueError, "`effect` must be positive"),
        (lambda: power(0.2, 10, train_share=1.5), ValueError, "`train_share` must lie strictly between"),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
