"""Samples with a known answer have the moments that they promise."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from tellapart import Fisher, witness_test
from tellapart.datasets import blobs, liu_blobs, machine_readings
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


@pytest.mark.parametrize(
    "draw",
    [lambda rng: blobs(20, 10, theta=1.0, rng=rng), lambda rng: liu_blobs(3, rng=rng)],
    ids=["blobs", "liu_blobs"],
)
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


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: blobs(0), "`n` must be a whole number of at least 1, got 0"),
        (lambda: blobs(2.5), "`n` must be a whole number of at least 1, got 2.5"),
        (lambda: blobs(5, -1), "`m` must be a whole number of at least 1, got -1"),
        (lambda: liu_blobs(0), "`n_per_mode` must be a whole number of at least 1, got 0"),
        (lambda: liu_blobs(5, variant="paper"), "`variant` must be one of 'published', 'nominal', got 'paper'"),
        (lambda: blobs(5, theta=np.nan), "`theta` must be .*got nan"),
    ],
)
def test_bad_arguments(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


@pytest.mark.parametrize(
    ("draw", "differ"),
    [
        (lambda: blobs(400, theta=np.pi / 4, rng=0), True),
        (lambda: liu_blobs(50, rng=0), True),
        (lambda: blobs(400, rng=0), False),
        (lambda: liu_blobs(50, null=True, rng=0), False),
    ],
    ids=["blobs", "liu_blobs", "blobs null", "liu_blobs null"],
)
def test_the_answer_is_known(draw, differ):
    pvalue = witness_test(*draw(), learner=Fisher(Gaussian(0.3), ridge=1e-3), rng=0).pvalue
    assert pvalue <= 0.01 if differ else pvalue > 0.05
