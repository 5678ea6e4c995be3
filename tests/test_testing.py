"""Assertions on samples: they hold and fail as often as they say, and tell why."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from tellapart import Prequential, Select, tell_apart
from tellapart.inference.null import Permutation
from tellapart.testing import assert_different, assert_same_distribution

RNG = np.random.default_rng(0)
X, SAME, OTHER = RNG.normal(size=(60, 2)), RNG.normal(size=(60, 2)), RNG.normal([1.5, 0], size=(60, 2))


def test_what_holds_tells_what_it_could_have_seen():
    checked = assert_same_distribution(X, SAME)
    n = 60
    assert checked.detectable == pytest.approx((stats.norm.isf(0.001) + stats.norm.isf(0.1)) * np.sqrt(2 / n))
    told = str(checked)
    assert told.startswith("No difference found: p = ")
    assert "With 60 + 60 rows even a test that knows where to look" in told
    assert f"{checked.detectable:.2g} of its standard deviations to find it 90% of the time at level 0.001" in told
    assert tuple(checked) == (checked.result.statistic, checked.result.pvalue)


def test_what_is_called_detectable_is_found_nine_times_in_ten_by_who_knows_where_to_look():
    rng, draws, n, m = np.random.default_rng(1), 4000, 50, 80
    shift = assert_same_distribution(rng.normal(size=n), rng.normal(size=m), level=0.01).detectable
    x, y = rng.normal(shift, size=(draws, n)), rng.normal(size=(draws, m))
    z = (x.mean(axis=1) - y.mean(axis=1)) / np.sqrt(1 / n + 1 / m)
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], draws, 0.9)
    assert low <= (z > stats.norm.isf(0.01)).sum() <= high


def test_what_fails_tells_what_was_loudest():
    with pytest.raises(AssertionError, match=r"The samples differ: p = 0\.0002, below the level 0\.001\.\n") as caught:
        assert_same_distribution(X, OTHER)
    assert "single columns" in str(caught.value)
    with pytest.raises(AssertionError, match="No difference found: p = ") as caught:
        assert_different(X, SAME)
    assert "smaller differences are not excluded" in str(caught.value)
    assert assert_different(X, OTHER).result.pvalue == 1 / 5000


def test_a_tolerance_accepts_what_is_small():
    x, y = RNG.normal(size=120), RNG.normal(1.5, size=120)
    assert 2 * stats.norm.cdf(0.75) - 1 < 0.6  # the total variation
    with pytest.raises(AssertionError, match=r"More than 0\.05 of the probability lies elsewhere: p = "):
        assert_same_distribution(x, y, tolerance=0.05, level=0.01)
    held = assert_same_distribution(x, y, tolerance=0.6, level=0.01)
    assert held.result.pvalue <= 0.01
    assert "Up to 0.6 of the probability may lie elsewhere." in str(held)


def test_the_same_outcome_every_time():
    first, again = assert_same_distribution(X, SAME), assert_same_distribution(X, SAME)
    assert first.result.to_dict() == again.result.to_dict()
    settings = {"null": Permutation(99), "pairs": True}
    expected = tell_apart(X, SAME, rng=5, **settings)
    assert assert_same_distribution(X, SAME, rng=5, **settings).result.to_dict() == expected.to_dict()
    assert assert_different(X, OTHER, learner=Select(), null=Prequential(), level=0.01)


def test_equal_distributions_fail_no_more_often_than_the_level_says():
    rng, draws, level = np.random.default_rng(2), 150, 0.2
    failed = 0
    for _ in range(draws):
        try:
            assert_same_distribution(
                rng.normal(size=12), rng.normal(size=10), level=level, rng=rng, families=("kernel",)
            )
        except AssertionError:
            failed += 1
    assert stats.binom.ppf(1e-4, draws, level) <= failed <= stats.binom.ppf(1 - 1e-4, draws, level)


@pytest.mark.parametrize("check", [assert_same_distribution, assert_different])
def test_arguments_that_are_none(check):
    with pytest.raises(ValueError, match="`level` must lie strictly between 0 and 1, got 0"):
        check(X, SAME, level=0)
    with pytest.raises(TypeError, match="`y` must be the second sample, got None"):
        check([X, SAME], None)
    with pytest.raises(ValueError, match="`tolerance` must lie between 0 and 1, got 2"):
        assert_same_distribution(X, SAME, tolerance=2)


def test_pytest_shows_the_line_of_the_user(tmp_path):
    (tmp_path / "test_sampler.py").write_text(
        "import numpy as np\n"
        "from tellapart.testing import assert_same_distribution\n\n"
        "def test_sampler():\n"
        "    rng = np.random.default_rng(0)\n"
        "    assert_same_distribution(rng.normal(size=50), rng.normal(2, size=50))\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sampler.py"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    assert "1 failed" in shown
    assert "E       AssertionError: The samples differ: p = 0.0002" in shown
    assert "__tracebackhide__" not in shown
