"""Samples with a known answer have the moments that they promise."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from tellapart import Fisher, witness_test
from tellapart.datasets import (
    blobs,
    circles,
    four_gaussians,
    gaussian_mixtures,
    liu_blobs,
    machine_readings,
    perturbed_uniform,
)
from tellapart.kernels import Gaussian

ERRORS = 5  # standard errors: one entry of a covariance is further off once in two million draws


def assert_covariance(rows, expected):
    """The covariance of normal rows, each entry within a few of its standard errors."""
    n, variances = len(rows), np.diag(expected)
    standard_errors = np.sqrt((np.outer(variances, variances) + expected**2) / n)
    assert (np.abs(np.cov(rows.T) - expected) <= ERRORS * standard_errors).all()


@pytest.mark.parametrize("theta", [0.0, np.pi / 6, np.pi / 4])
def test_blobs(theta):
    """Nine modes at distance 1; in the second sample their axes are turned by theta."""
    n = 100_000
    turn = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    within = np.diag([0.01, 0.09])
    spacing = np.eye(2) * 2 / 3  # the variance of a mode drawn from 0, 1, 2
    for rows, covariance in zip(blobs(n, theta=theta, rng=0), (within, turn @ within @ turn.T), strict=True):
        # Normal standard errors are too wide for the uniform modes, so this is on the safe side.
        assert_covariance(rows, covariance + spacing)
        assert np.abs(rows.mean(axis=0) - 1).max() <= ERRORS * np.sqrt(0.76 / n)


def test_blobs_stand_on_a_grid():
    x, _ = blobs(9000, rng=0)
    narrow = x[:, 0]  # standard deviation 0.1: the modes do not touch
    modes = np.round(narrow)
    assert set(modes) == {0, 1, 2}
    for mode in range(3):
        assert np.mean(modes == mode) == pytest.approx(1 / 3, abs=ERRORS * np.sqrt(2 / 9 / 9000))
        assert narrow[modes == mode].mean() == pytest.approx(mode, abs=ERRORS * 0.1 / np.sqrt(3000))
        assert narrow[modes == mode].std() == pytest.approx(0.1, rel=ERRORS / np.sqrt(2 * 3000))


def test_blobs_turn_by_theta():
    """Only the turn differs: undone around each mode, the long axis is upright again."""
    _, y = blobs(20_000, theta=np.pi / 8, rng=0)
    near = y[np.abs(y - 1).max(axis=1) < 0.3] - 1  # around the mode in the middle
    _, axes = np.linalg.eigh(np.cov(near.T))
    assert np.abs(axes[:, 1] @ [-np.sin(np.pi / 8), np.cos(np.pi / 8)]) > 0.98


OFF_DIAGONAL = [-0.02, -0.022, -0.024, -0.026, 0, 0.02, 0.022, 0.024, 0.026]
MODES = [np.array([i // 3, i % 3]) for i in range(9)]


def nine_modes(covariances, n):
    """`n` rows of each mode, drawn mode by mode."""
    rng = np.random.default_rng(99)
    return np.concatenate([rng.multivariate_normal(*mode, size=n) for mode in zip(MODES, covariances, strict=True)])


def assert_alike_around_each_mode(rows, expected):
    """Equal shares, means and second moments of the rows that are nearest to each mode, up to standard errors."""
    for mode in MODES:
        parts = [z[np.abs(z - mode).max(axis=1) < 0.5] - mode for z in (rows, expected)]
        n = len(expected) / 9
        assert abs(len(parts[0]) - len(parts[1])) <= ERRORS * np.sqrt(2 * n)
        for moment in (lambda u: u, lambda u: u[:, :, None] * u[:, None, :]):
            a, b = (moment(part) for part in parts)
            standard_errors = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
            assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= ERRORS * standard_errors).all()


@pytest.mark.parametrize("variant", ["published", "nominal"])
def test_liu_blobs(variant):
    n = 20_000
    nominal = [np.array([[0.03, off], [off, 0.03]]) for off in OFF_DIAGONAL]
    factors = [np.linalg.cholesky(covariance) for covariance in nominal]
    published = [factor.T @ factor for factor in factors]
    x, y = liu_blobs(n, variant=variant, rng=0)
    assert_alike_around_each_mode(x, nine_modes([0.03 * np.eye(2)] * 9, n))
    assert_alike_around_each_mode(y, nine_modes(published if variant == "published" else nominal, n))


@pytest.mark.parametrize("variant", ["published", "nominal"])
def test_liu_blobs_without_a_difference(variant):
    for rows in liu_blobs(20_000, null=True, variant=variant, rng=0):
        assert_alike_around_each_mode(rows, nine_modes([0.03 * np.eye(2)] * 9, 20_000))


def test_machine_readings_differ_in_no_column_but_together():
    last, this = machine_readings()
    assert list(last) == list(this)
    for name in last:
        assert stats.ks_2samp(last[name], this[name]).pvalue > 0.05, name
    x, y = (np.column_stack(list(month.values())) for month in (last, this))
    assert [witness_test(x, y, rng=seed).pvalue <= 0.05 for seed in range(3)] == [True] * 3


def test_machine_readings_differ_in_how_heat_follows_load():
    last, this = machine_readings()
    assert abs(stats.pearsonr(last["current_a"], last["temperature_c"]).statistic) > 0.5
    assert stats.pearsonr(this["current_a"], this["temperature_c"]).pvalue > 0.05


@pytest.mark.parametrize("balanced", [False, True])
def test_gaussian_mixtures(balanced):
    """Two clusters at 0 and 0.5; in the second sample their first two columns lean to opposite sides."""
    n, d = 100_000, 4
    x, y = gaussian_mixtures(n, d=d, correlation=0.8, balanced=balanced, rng=0)
    for rows in (x, y):  # over both clusters: variance 1 + 1/16, covariance 1/16
        assert_covariance(rows, np.eye(d) + 1 / 16)
        assert np.abs(rows.mean(axis=0) - 0.25).max() <= ERRORS * np.sqrt(1.0625 / n)
    # E z0 z1 s with s = +1 below and -1 above the midplane of columns that say where a row's cluster is
    side = [np.sign(rows[:, 2:].mean(axis=1) - 0.25) for rows in (x, y)]
    leaning = [float(np.mean((z[:, 0] - 0.25) * (z[:, 1] - 0.25) * s)) for z, s in zip((x, y), side, strict=True)]
    assert abs(leaning[0]) <= 0.02
    assert leaning[1] < -0.1


def test_balanced_gaussian_mixtures_have_equally_many_rows_of_each_cluster():
    x, y = gaussian_mixtures(10_000, d=400, balanced=True, rng=0)
    for rows in (x, y):
        assert_array_equal(rows.mean(axis=1) > 0.25, np.arange(10_000) >= 5_000)


@pytest.mark.parametrize("reach", [10.0, 20.0])
def test_four_gaussians(reach):
    n = 40_000
    for rows, last in zip(four_gaussians(n, sd=1.5, reach=reach, rng=0), (1.0, 1.5), strict=True):
        for corner in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
            part = rows[(np.sign(rows) == corner).all(axis=1)]
            sd = last if corner == [-1, -1] else 1.0
            assert abs(len(part) - n / 4) <= ERRORS * np.sqrt(3 / 16 * n)
            assert np.abs(part.mean(axis=0) - reach * np.array(corner)).max() <= ERRORS * sd / np.sqrt(len(part))
            assert_covariance(part, sd**2 * np.eye(2))


@pytest.mark.parametrize("waves", [1, 2, 3])
@pytest.mark.parametrize("amplitude", [0.5, None])
def test_perturbed_uniform_has_waves_of_the_height_that_it_promises(waves, amplitude):
    """Half a wave of amplitude a holds ``(1 +- a h) / (2 waves)`` of the probability, h the mean height of a bump."""
    n = 400_000
    x, y = perturbed_uniform(n, amplitude=amplitude, waves=waves, rng=1)
    a = 2.7 * np.exp(-1) / waves if amplitude is None else amplitude
    t = np.linspace(-1, 1, 100_001)[1:-1]
    half = a * np.mean(np.exp(1 - 1 / (1 - t**2)))
    for rows, height in ((x, 0.0), (y, half)):
        counts = np.histogram(rows[:, 0], bins=2 * waves, range=(0, 1))[0] * 2 * waves / n - 1
        error = ERRORS * np.sqrt(2 * waves / n)
        assert np.abs(np.abs(counts) - height).max() <= error
        assert np.abs(counts[::2] + counts[1::2]).max() <= 2 * error  # what goes up comes down


def test_perturbed_uniform_in_the_plane():
    """The sign of a product: quarters of a cell alternate like a chessboard."""
    _, y = perturbed_uniform(200_000, d=2, waves=1, rng=0)
    corners, *_ = np.histogram2d(*y.T, bins=2, range=[[0, 1], [0, 1]])
    lean = corners / 50_000 - 1
    assert np.sign(lean[0, 0]) == np.sign(lean[1, 1]) == -np.sign(lean[0, 1]) == -np.sign(lean[1, 0])
    assert np.abs(lean).min() > 0.1


def test_circles():
    n = 50_000
    for rows, radius in zip(circles(n, radius=0.5, noise=0.05, rng=0), (1.0, 0.5), strict=True):
        distance, angle = np.hypot(*rows.T), np.arctan2(*rows.T)
        assert np.mean(distance**2) == pytest.approx(radius**2 + 2 * 0.05**2, abs=ERRORS * 2 * 0.05 / np.sqrt(n))
        assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3


GENERATORS = {
    "blobs": lambda rng: blobs(20, 10, theta=1.0, rng=rng),
    "liu_blobs": lambda rng: liu_blobs(3, rng=rng),
    "gaussian_mixtures": lambda rng: gaussian_mixtures(20, 10, rng=rng),
    "four_gaussians": lambda rng: four_gaussians(20, 10, rng=rng),
    "perturbed_uniform": lambda rng: perturbed_uniform(20, 10, rng=rng),
    "circles": lambda rng: circles(20, 10, rng=rng),
}


@pytest.mark.parametrize("draw", GENERATORS.values(), ids=GENERATORS)
def test_rng(draw):
    first, again, generator, other = draw(0), draw(0), draw(np.random.default_rng(0)), draw(1)
    for sample in range(2):
        assert_array_equal(again[sample], first[sample])
        assert_array_equal(generator[sample], first[sample])
        assert not np.array_equal(other[sample], first[sample])
    assert not np.array_equal(draw(None)[0], draw(None)[0])


def test_sizes():
    assert [rows.shape for rows in blobs(7, 5)] == [(7, 2), (5, 2)]
    assert [rows.shape for rows in blobs(7)] == [(7, 2), (7, 2)]
    assert [rows.shape for rows in liu_blobs(4)] == [(36, 2), (36, 2)]
    assert [rows.shape for rows in gaussian_mixtures(7, 5, d=3)] == [(7, 3), (5, 3)]
    assert [rows.shape for rows in gaussian_mixtures(7, balanced=True)] == [(7, 10), (7, 10)]
    assert [rows.shape for rows in four_gaussians(7, 5)] == [(7, 2), (5, 2)]
    assert [rows.shape for rows in perturbed_uniform(7, 5, d=3, amplitude=1.0)] == [(7, 3), (5, 3)]
    assert [rows.shape for rows in circles(7, 5)] == [(7, 2), (5, 2)]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: blobs(0), "`n` must be a whole number of at least 1, got 0"),
        (lambda: blobs(2.5), "`n` must be a whole number of at least 1, got 2.5"),
        (lambda: blobs(5, -1), "`m` must be a whole number of at least 1, got -1"),
        (lambda: liu_blobs(0), "`n_per_mode` must be a whole number of at least 1, got 0"),
        (lambda: liu_blobs(5, variant="paper"), "`variant` must be one of 'published', 'nominal', got 'paper'"),
        (lambda: blobs(5, theta=np.nan), "`theta` must be .*got nan"),
        (lambda: gaussian_mixtures(5, d=1), "`d` must be a whole number of at least 2, got 1"),
        (lambda: gaussian_mixtures(5, correlation=1.1), "`correlation` must lie between -1 and 1, got 1.1"),
        (lambda: four_gaussians(5, sd=0), "`sd` must be positive and finite, got 0"),
        (lambda: four_gaussians(5, 0), "`m` must be a whole number of at least 1, got 0"),
        (lambda: perturbed_uniform(5, amplitude=1.5), "`amplitude` must lie between 0 and 1, got 1.5"),
        (lambda: perturbed_uniform(5, d=3), "`amplitude` must be given for d = 3"),
        (lambda: perturbed_uniform(5, waves=0), "`waves` must be a whole number of at least 1, got 0"),
        (lambda: circles(5, radius=-1.0), "`radius` must be positive and finite, got -1.0"),
    ],
)
def test_bad_arguments(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


ANSWERS = {
    "blobs": (lambda rng: blobs(400, theta=np.pi / 4, rng=rng), True),
    "liu_blobs": (lambda rng: liu_blobs(50, rng=rng), True),
    "gaussian_mixtures": (lambda rng: gaussian_mixtures(1000, d=2, correlation=0.9, rng=rng), True),
    "four_gaussians": (lambda rng: four_gaussians(1000, sd=3.0, reach=2.0, rng=rng), True),
    "perturbed_uniform": (lambda rng: perturbed_uniform(1000, amplitude=1.0, waves=1, rng=rng), True),
    "circles": (lambda rng: circles(400, radius=0.8, rng=rng), True),
    "blobs null": (lambda rng: blobs(200, rng=rng), False),
    "liu_blobs null": (lambda rng: liu_blobs(20, null=True, rng=rng), False),
    "gaussian_mixtures null": (lambda rng: gaussian_mixtures(200, d=2, correlation=0.0, rng=rng), False),
    "four_gaussians null": (lambda rng: four_gaussians(200, sd=1.0, reach=2.0, rng=rng), False),
    "perturbed_uniform null": (lambda rng: perturbed_uniform(200, amplitude=0.0, rng=rng), False),
    "circles null": (lambda rng: circles(200, radius=1.0, rng=rng), False),
}


@pytest.mark.parametrize(("draw", "differ"), ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is_known(draw, differ):
    """At level 0.01: five draws of five are found; without a difference no more of sixty than chance allows."""
    learner = Fisher(Gaussian(0.3), ridge=1e-3)
    trials = 5 if differ else 60
    found = [witness_test(*draw(seed), learner=learner, rng=seed).pvalue <= 0.01 for seed in range(trials)]
    assert all(found) if differ else sum(found) <= stats.binom.isf(1e-4, trials, 0.01)
