"""Claims about power: closed form against simulation, published numbers, consistency."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import oracles
from tellapart import Fisher, Mean, Normal, Permutation, Saddlepoint, Select, power, witness_test
from tellapart.datasets import blobs
from tellapart.kernels import Gaussian, Linear


def rejections(draw, trials, seed=0, level=0.05, **options):
    rng = np.random.default_rng(seed)
    return sum(witness_test(*draw(rng), rng=rng, **options).pvalue <= level for _ in range(trials))


@pytest.mark.parametrize("null", [Normal(), Saddlepoint(), Permutation(199)], ids=repr)
def test_power_of_a_known_witness_is_the_closed_form(null):
    """P = N(0.4, 1), Q = N(0, 1), h(z) = z: SNR = 0.4 / sqrt(1/c + 1/(1-c))."""
    n, m, trials = 70, 50, 1000
    c = n / (n + m)
    wanted = power(0.4 / math.sqrt(1 / c + 1 / (1 - c)), n, m)
    found = rejections(
        lambda rng: (rng.normal(0.4, 1, n), rng.normal(0, 1, m)), trials, learner=lambda z: z[:, 0], null=null
    )
    assert abs(found / trials - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / trials) + 0.01


def test_one_side_has_more_power_than_two():
    """The same witness values judged by both tails, each at half of the level, as a test that knows no direction."""
    n, trials, rng = 60, 1000, np.random.default_rng(0)
    draws = ((rng.normal(0.4, 1, n), rng.normal(0, 1, n)) for _ in range(trials))
    one = np.array([witness_test(x, y, learner=lambda z: z[:, 0], null=Normal()).pvalue for x, y in draws])
    two = 2 * np.minimum(one, 1 - one)
    strength = math.sqrt(2 * n) * 0.2
    for pvalues, quantile in ((one, 1.645), (two, 1.96)):
        wanted = norm.cdf(strength - quantile)
        assert abs((pvalues <= 0.05).mean() - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / trials) + 0.01
    assert (one <= 0.05).mean() > (two <= 0.05).mean() + 0.08


@pytest.mark.parametrize(
    ("learner", "published", "trials"),
    [
        (Fisher(Gaussian(0.2), 4e-2), 328 / 400, 400),
        (Mean(Gaussian(0.2)), 205 / 400, 400),
    ],
    ids=["kfda-witness", "mmd-witness"],
)
def test_power_of_the_papers_test_on_its_blobs(learner, published, trials):
    """Figure 2, left, at a 50/50 split: rates of the authors' code over 400 trials, whose ridge 1e-2 is 4e-2 here."""
    found = rejections(
        lambda rng: blobs(100, theta=np.pi / 4, rng=rng), trials, learner=learner, null=Normal(student=False)
    )
    pooled = (found / trials + published) / 2
    assert abs(found / trials - published) < 3.5 * math.sqrt(pooled * (1 - pooled) * 2 / trials)


def test_selection_finds_blobs_of_200_rows():
    """Figure 2, right: the authors' code 0.97 of 100 trials at n = m = 200, our default grid no less."""
    found = rejections(lambda rng: blobs(200, theta=np.pi / 4, rng=rng), 60, learner=Select(), null=Permutation(99))
    assert found >= oracles.binomial_bounds(60, 0.95)[0]


def test_the_test_is_consistent():
    """Power rises to one with the number of rows, for a difference that only the covariance shows."""
    rates = []
    for n in (40, 160, 640):

        def draw(rng, n=n):
            x, y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
            y[:, 1] = 0.6 * y[:, 0] + 0.8 * y[:, 1]
            return x, y

        rates.append(rejections(draw, 30, learner=Select(), null=Permutation(99)) / 30)
    assert rates[0] < rates[1] <= rates[2] == 1.0


def test_sides_matter_little():
    """Swapping the samples gives tests of the same power."""
    there = rejections(lambda rng: blobs(100, 60, theta=np.pi / 4, rng=rng), 200, learner=Fisher(Gaussian(0.2), 0.04))
    back = rejections(
        lambda rng: blobs(100, 60, theta=np.pi / 4, rng=rng)[::-1], 200, learner=Fisher(Gaussian(0.2), 0.04)
    )
    assert abs(there - back) < 4 * math.sqrt(200 * 0.5)


def test_units_of_the_columns_do_not_matter():
    x, y = blobs(100, theta=np.pi / 4, rng=3)
    here = witness_test(x, y, rng=0)
    there = witness_test(x * [1e-6, 1e9] + [5.0, -3e9], y * [1e-6, 1e9] + [5.0, -3e9], rng=0)
    assert there.snr == pytest.approx(here.snr, rel=1e-4)
    assert there.pvalue == pytest.approx(here.pvalue, abs=0.005)


def test_a_linear_witness_sees_the_mean_and_nothing_else():
    def shifted(rng):
        return rng.normal(0.8, 1, size=(80, 3)), rng.normal(size=(80, 3))

    def scaled(rng):
        return rng.normal(0, 3, size=(80, 3)), rng.normal(size=(80, 3))

    learner = Fisher(Linear(), 1e-3)
    assert rejections(shifted, 50, learner=learner, null=Normal()) == 50
    assert rejections(scaled, 300, learner=learner, null=Normal()) <= oracles.binomial_bounds(300, 0.06)[1]
