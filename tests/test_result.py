"""Results: printable, frozen, and complete enough to repeat the run."""

import json
import math
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from tellapart import (
    Fisher,
    FromEstimator,
    Mean,
    Normal,
    Nystrom,
    Permutation,
    Saddlepoint,
    Select,
    permutation_pvalue,
    snr,
    witness_test,
)
from tellapart.kernels import BandwidthGrid, Gaussian, Laplace, Linear, Matern, Polynomial
from tellapart.result import WitnessTestResult


def samples(n=40, m=30, shift=0.5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)), rng.normal(size=(m, 2)) + shift


X, Y = samples()


def first_column(z):
    return -z[:, 0]


def linear(a, b):
    return a @ b.T


PLAIN = {
    "select": Select(),
    "paper": Select.paper(),
    "select mixed": Select([Gaussian(1.0), Linear() + 0.5 * Laplace((1.0, 2.0))], ridges=[0.1, np.inf], folds=3),
    "select grid": Select(BandwidthGrid(Matern(nu=2.5), count=3, scaled=False), ridges=np.array([0.1, 1])),
    "select folds": Select(
        [Linear()], folds=[(range(0, 35, 2), range(1, 35, 2)), (range(1, 35, 2), np.arange(0, 35, 2))]
    ),
    "fisher": Fisher(),
    "few centres": Nystrom(Gaussian(0.5), [1e-2, 1.0], 20),
    "fisher without ridge": Fisher(Gaussian("median") * Linear(), ridge=np.inf, covariance="printed"),
    "mean": Mean(Laplace(np.float32(2))),
}
FOREIGN = {  # hold an object of the user's, so they cannot be rebuilt from text
    "model": FromEstimator(LogisticRegression()),
    "function": first_column,
    "kernel function": Fisher(linear),
    "kernel function in a grid": Select([Linear(), linear]),
}
NULLS = {
    "permutation": Permutation(99),
    "early stopping": Permutation(99, stop_after=5),
    "paper": Permutation(99, count="paper"),
    "student": Normal(),
    "normal": Normal(student=False),
    "saddlepoint": Saddlepoint(),
}
each_learner = pytest.mark.parametrize("learner", (PLAIN | FOREIGN).values(), ids=(PLAIN | FOREIGN).keys())
each_null = pytest.mark.parametrize("null", NULLS.values(), ids=NULLS.keys())


def read_back(result):
    return WitnessTestResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))


def assert_same_outcome(result, other):
    assert tuple(other) == tuple(result)
    assert other.to_dict() == result.to_dict()


@each_learner
@each_null
def test_round_trip_and_repetition(learner, null):
    result = witness_test(X, Y, learner=learner, null=null, rng=3)
    back = read_back(result)
    assert_same_outcome(result, back)
    assert str(back) == str(result)
    assert_same_outcome(result, witness_test(X, Y, **result.settings()))


@pytest.mark.parametrize("learner", PLAIN.values(), ids=PLAIN.keys())
def test_a_result_that_was_read_back_repeats_the_witness_test(learner):
    result = witness_test(X, Y, learner=learner, rng=3)
    assert_same_outcome(result, witness_test(X, Y, **read_back(result).settings()))


@pytest.mark.parametrize("learner", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_objects_must_be_passed_again(learner):
    back = read_back(witness_test(X, Y, learner=learner, rng=3))
    with pytest.raises(ValueError, match=r"`learner` of this result was .* cannot be rebuilt .* pass it yourself"):
        back.settings()


RNGS = {
    "none": lambda: None,
    "int": lambda: 7,
    "numpy int": lambda: np.int64(7),
    "large int": lambda: 2**200,
    "list": lambda: [1, 2, 3],
    "sequence": lambda: np.random.SeedSequence(5),
    "spawned sequence": lambda: np.random.SeedSequence(5).spawn(2)[1],
    "bit generator": lambda: np.random.PCG64(5),
    "generator": lambda: np.random.default_rng(5),
    "spawned generator": lambda: np.random.default_rng(5).spawn(1)[0],
    "Mersenne twister": lambda: np.random.Generator(np.random.MT19937(5)),
    "Philox": lambda: np.random.Generator(np.random.Philox(5)),
}


@pytest.mark.parametrize("rng", RNGS.values(), ids=RNGS.keys())
@pytest.mark.parametrize(
    "train_share",
    [0.3, ([5, 0, 2], np.arange(4)), (np.arange(40) < 20, np.arange(30) % 2 == 0)],
    ids=["share", "indices", "masks"],
)
def test_every_rng_and_split_can_be_repeated(rng, train_share):
    result = witness_test(X, Y, learner=Fisher(), null=Permutation(19), train_share=train_share, rng=rng())
    assert_same_outcome(result, witness_test(X, Y, **result.settings()))
    assert_same_outcome(result, witness_test(X, Y, **read_back(result).settings()))


def test_a_generator_in_use_is_recorded_as_it_was():
    rng = np.random.default_rng(5)
    rng.integers(10, dtype=np.int32)  # leaves half of a 64-bit word for the next call
    first, second = (witness_test(X, Y, learner=Fisher(), rng=rng) for _ in range(2))
    assert first.to_dict() != second.to_dict()
    for result in (first, second):
        assert_same_outcome(result, witness_test(X, Y, **read_back(result).settings()))


@pytest.mark.parametrize("rng", ["seed", 1.5, -1, np.random])
def test_bad_rng(rng):
    with pytest.raises((TypeError, ValueError), match=r"`rng` must be a seed, a numpy\.random\.Generator or None, got"):
        witness_test(X, Y, rng=rng)


@each_learner
def test_same_rng_same_bytes(learner):
    first, again = (json.dumps(witness_test(X, Y, learner=learner, rng=11).to_dict()) for _ in range(2))
    assert again == first


@pytest.mark.parametrize("learner", [Select(), Fisher()], ids=["select", "fisher"])
def test_threads_change_nothing_but_rounding(learner):
    x, y = samples(300, 200)
    with threadpool_limits(1):
        one = witness_test(x, y, learner=learner, rng=0)
    with threadpool_limits(2):
        two = witness_test(x, y, learner=learner, rng=0)
    assert two.pvalue == one.pvalue
    assert two.statistic == pytest.approx(one.statistic, rel=1e-9)


def test_it_unpacks_into_statistic_and_pvalue():
    result = witness_test(X, Y, learner=Fisher(), rng=0)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)


@each_null
def test_attributes_agree_with_each_other(null):
    result = witness_test(X, Y, learner=Fisher(), null=null, train_share=0.25, rng=0)
    h_x, h_y = result.values
    assert_allclose(result.witness(X[np.setdiff1d(np.arange(40), result.train_rows[0])]), h_x, rtol=1e-10)
    assert (len(h_x), len(h_y)) == (result.moments.n, result.moments.m) == (30, 22)
    assert (result.rows.n_train, result.rows.m_train, result.rows.columns) == (10, 8, 2)
    assert result.snr == pytest.approx(snr(h_x, h_y))
    assert result.tau == pytest.approx(math.sqrt(52) * result.snr)
    learned = result.witness(np.concatenate([X[result.train_rows[0]], Y[result.train_rows[1]]]))
    assert result.training_range == pytest.approx((learned.min(), learned.max()))
    expected = result.tau if isinstance(null, Normal) else h_x.mean() - h_y.mean()
    assert result.statistic == pytest.approx(expected)


def test_the_null_distribution_reproduces_the_pvalue():
    result = witness_test(X, Y, learner=Fisher(), rng=0)
    assert len(result.null_distribution) == 999
    assert permutation_pvalue(result.statistic, result.null_distribution) == result.pvalue


def test_what_early_stopping_drew_reproduces_the_pvalue():
    result = witness_test(X, X[:30], learner=Fisher(), null=Permutation(999, stop_after=10), rng=0)
    reached = np.count_nonzero(result.null_distribution >= result.statistic)
    assert (reached, result.pvalue) == (10, 10 / len(result.null_distribution))


@pytest.mark.parametrize("name", ["pvalue", "statistic", "moments", "witness", "other"])
def test_results_are_frozen(name):
    result = witness_test(X, Y, learner=Fisher(), rng=0)
    with pytest.raises(FrozenInstanceError):
        setattr(result, name, 0)


def test_what_to_dict_returns_belongs_to_the_caller():
    result = witness_test(X, Y, learner=Fisher(), rng=0)
    expected = json.dumps(result.to_dict())
    result.to_dict()["rng"].clear()
    result.to_dict()["notes"].append("mine")
    assert json.dumps(result.to_dict()) == expected


def test_dicts_of_another_schema_are_refused():
    with pytest.raises(ValueError, match="`d` must be the dict of a result with schema 1, got 0"):
        WitnessTestResult.from_dict({"schema": 0})
    with pytest.raises(ValueError, match="`d` must be the dict of a result with schema 1, got 'a str'"):
        WitnessTestResult.from_dict(json.dumps({"schema": 1}))


# printing


@each_learner
def test_the_text_says_what_was_found_and_how(learner):
    result = witness_test(X, Y, learner=learner, rng=5)
    text = str(result)
    verdict = "The samples differ" if result.pvalue <= 0.05 else "No difference found"
    assert text.startswith(f"{verdict}: p = {result.pvalue:.3g}, ")
    assert "the level 0.05." in text.splitlines()[0]
    rows = result.rows
    assert f"{result.moments.n} + {result.moments.m}" in text
    assert not rows.n_train or f"{rows.n_train} + {rows.m_train} rows learned" in text
    assert "999 random relabellings" in text
    assert "rng=5" in text
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize(
    ("level", "verdict"),
    [
        (0.9, "The samples differ: p = 0.5, below the level 0.9."),
        (0.1, "No difference found: p = 0.5, above"),
        (0.5, "at"),
    ],
)
def test_summary_at_another_level(level, verdict):
    result = WitnessTestResult.from_dict(witness_test(X, Y, learner=Fisher(), rng=0).to_dict() | {"pvalue": 0.5})
    assert verdict in result.summary(level).splitlines()[0]


@pytest.mark.parametrize("level", [0, 1, 2, -0.05, math.nan, "0.05"])
def test_summary_refuses_levels_that_are_none(level):
    result = witness_test(X, Y, learner=Fisher(), rng=0)
    with pytest.raises(ValueError, match="`level` must lie strictly between 0 and 1"):
        result.summary(level)


def test_results_stay_short_at_the_prompt():
    result = witness_test(X, Y, rng=0)
    assert len(repr(result)) < 2000
    assert f"pvalue={result.pvalue}" in repr(result)


# degenerate data


def without_noise(z):
    return 1.0 * (z[:, 0] > 50)


@each_null
def test_a_witness_without_noise(null):
    result = witness_test(np.full(4, 100.0), np.zeros(5), learner=without_noise, null=null, rng=0)
    assert (result.snr, result.tau, result.moments.difference) == (math.inf, math.inf, 1.0)
    assert 0 <= result.pvalue <= 0.05
    assert result.confidence_interval() == (1.0, 1.0)
    assert result.power_at() == 1.0
    assert_same_outcome(result, read_back(result))
    assert "The samples differ" in str(read_back(result))


@each_null
@pytest.mark.parametrize("rounding", [0.0, 1e-17])
def test_a_constant_witness(null, rounding):
    result = witness_test(X, Y, learner=lambda z: 0.1 + rounding * np.arange(len(z)), null=null, rng=0)
    assert (result.pvalue, result.statistic, result.snr) == (1.0, 0.0, 0.0)
    assert result.notes == ("the witness is constant on the test rows, up to rounding, and tells nothing apart",)
    assert result.notes[0] in str(result)
    assert_same_outcome(result, read_back(result))


KERNEL_LEARNERS = {"select": Select(), "fisher": Fisher(), "mean": Mean(), "linear": Fisher(Linear())}
each_kernel_learner = pytest.mark.parametrize("learner", KERNEL_LEARNERS.values(), ids=KERNEL_LEARNERS.keys())


@each_kernel_learner
@pytest.mark.parametrize(("n", "m"), [(20, 15), (49, 5), (4, 40)])
def test_identical_rows(learner, n, m):
    result = witness_test(np.full((n, 2), 0.3), np.full((m, 2), 0.3), learner=learner, rng=0)
    assert result.pvalue == 1
    assert result.notes == ("all rows of both samples are identical, so nothing tells them apart",)
    assert str(result).startswith("No difference found: p = 1")


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(), 0.5 * Linear() + Gaussian()], ids=repr)
def test_an_offset_that_costs_all_digits_of_a_kernel_is_said(kernel):
    """Linear kernel values of rows around 1e8 differ in their last digit only."""
    far = X + 1e8, Y + 1e8
    blind = witness_test(*far, learner=Mean(kernel), rng=0)
    assert blind.pvalue == 1
    assert "constant on the test rows, up to rounding" in blind.notes[0]
    with pytest.raises(ValueError, match=r"`ridge` must be larger than the rounding.*scale 1 and offset 0|10 digits"):
        witness_test(*far, learner=Fisher(kernel), rng=0)


@each_null
def test_identical_rows_under_every_null(null):
    assert witness_test(np.full(49, 0.3), np.full(5, 0.3), learner=Mean(), null=null, rng=0).pvalue == 1


@each_kernel_learner
@pytest.mark.parametrize(("n", "m"), [(20, 10), (52, 4), (12, 46)])
def test_a_witness_of_nothing_but_rounding(learner, n, m):
    """Training and test rows of both samples are half zeros and half ones: nothing there to be learned or found."""
    x, y = np.tile([0.0, 1.0], n), np.tile([0.0, 1.0], m)
    result = witness_test(x, y, learner=learner, train_share=(np.arange(n), np.arange(m)), rng=0)
    assert result.pvalue >= 0.4


# the witness


def test_the_witness_takes_whatever_the_test_takes():
    result = witness_test(
        pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(Y, schema=["a", "b"]), learner=Fisher(), rng=0
    )
    expected = result.witness(X)
    for rows in (
        X.tolist(),
        X.astype(np.float64, order="F"),
        pd.DataFrame(X, columns=["a", "b"])[["b", "a"]],
        pl.DataFrame(X, schema=["a", "b"]).select("b", "a"),
    ):
        assert_allclose(result.witness(rows), expected, rtol=1e-10, atol=1e-15)
    assert result.witness([[0.0, 1.0]]).shape == (1,)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[:, :1], "`z` must have the 2 columns that the witness was learned on, got 1"),
        ([0.0, 1.0], "`z` must have the 2 columns .*, got 1"),
        (pd.DataFrame(X, columns=["a", "c"]), r"`z` .*missing \['b'\]; unexpected \['c'\]"),
        (pd.DataFrame({"a": [1.0]}), r"`z` .*missing \['b'\]"),
        (pd.DataFrame(np.ones((2, 3)), columns=["a", "b", "b"]), "`z` must have distinct column names"),
        ([[0.0, math.nan]], "`z` must be finite, got 1 NaN"),
        (np.empty((0, 2)), "`z` must have at least one row"),
    ],
    ids=["too few", "one dimension", "other names", "missing name", "repeated name", "NaN", "no rows"],
)
def test_the_witness_refuses_other_columns(rows, message):
    result = witness_test(
        pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y, columns=["a", "b"]), learner=Fisher(), rng=0
    )
    with pytest.raises(ValueError, match=message):
        result.witness(rows)


# intervals and power

METHODS = ["welch", "bootstrap", "betting"]


def interval(result, method, level=0.95, **options):
    return result.confidence_interval(level, method, **({"rng": 0} if method == "bootstrap" else {}), **options)


@pytest.mark.parametrize("method", METHODS)
def test_intervals_are_nested_and_hold_the_difference(method):
    result = witness_test(*samples(400, 300), learner=Fisher(), rng=0)
    intervals = [interval(result, method, level) for level in (0.5, 0.8, 0.95, 0.999)]
    for inner, outer in pairwise(intervals):
        assert outer.low < inner.low <= inner.high < outer.high
    low, high = intervals[0]
    assert low <= result.moments.difference <= high


def test_the_welch_interval_is_that_of_scipy():
    result = witness_test(X, Y, learner=Fisher(), rng=0)
    expected = stats.ttest_ind(*result.values, equal_var=False).confidence_interval(0.9)
    assert result.confidence_interval(0.9) == pytest.approx(tuple(expected))
    assert read_back(result).confidence_interval(0.9) == pytest.approx(tuple(expected))


def test_the_bootstrap_interval_is_near_welch_and_repeatable():
    result = witness_test(*samples(400, 300), learner=Fisher(), rng=0)
    first, again = (result.confidence_interval(method="bootstrap", rng=1) for _ in range(2))
    assert first == again
    welch = result.confidence_interval()
    assert_allclose(first, welch, atol=0.1 * (welch.high - welch.low))


def test_the_betting_interval_stays_within_what_its_bounds_allow():
    result = witness_test(X, Y, learner=first_column, rng=0)
    low, high = result.confidence_interval(method="betting", bounds=(-1, 2))
    assert -3 <= low < high <= 3
    trained = witness_test(X, Y, learner=Fisher(), rng=0)
    default = trained.confidence_interval(method="betting")
    assert default == trained.confidence_interval(method="betting", bounds=trained.training_range)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 0}, "`confidence_level` must lie strictly between 0 and 1, got 0"),
        ({"confidence_level": 95}, "`confidence_level` must lie strictly between 0 and 1, got 95"),
        ({"method": "exact"}, "`method` must be one of 'welch', 'bootstrap', 'betting', got 'exact'"),
        ({"method": "betting", "bounds": (1, 0)}, "`bounds` must be two finite numbers in increasing order"),
        ({"method": "betting", "bounds": (0, math.inf)}, "`bounds` must be two finite numbers"),
        ({"method": "betting", "bounds": 3}, "`bounds` must be two finite numbers"),
        ({"method": "bootstrap", "n_resamples": 0}, "`n_resamples` must be a whole number of at least 1, got 0"),
        ({"method": "bootstrap", "n_resamples": 1.5}, "`n_resamples` must be a whole number"),
    ],
)
def test_bad_intervals(options, message):
    result = witness_test(X, Y, learner=Fisher(), rng=0)
    with pytest.raises(ValueError, match=message):
        result.confidence_interval(**options)


@pytest.mark.parametrize("method", ["bootstrap", "betting"])
def test_intervals_that_need_the_values_say_so(method):
    back = read_back(witness_test(X, Y, learner=Fisher(), rng=0))
    with pytest.raises(ValueError, match=f"`method='{method}'` needs the witness values"):
        back.confidence_interval(method=method)


def test_a_function_learned_from_no_rows_has_no_bounds_of_its_own():
    with pytest.raises(ValueError, match="`bounds` must be given"):
        witness_test(X, Y, learner=first_column, rng=0).confidence_interval(method="betting")


@pytest.mark.parametrize("factor", [1e-200, 1e-100, 1e100, 1e150])
@pytest.mark.parametrize("method", METHODS)
def test_units_of_the_witness_do_not_matter(factor, method):
    plain, scaled = (witness_test(X, Y, learner=lambda z, f=f: f * first_column(z), rng=0) for f in (1.0, factor))
    assert scaled.pvalue == plain.pvalue
    assert scaled.snr == pytest.approx(plain.snr)
    assert scaled.power_at() == pytest.approx(plain.power_at())
    bounds = {"bounds": (-4, 4)} if method == "betting" else {}
    expected = np.multiply(interval(plain, method, **bounds), factor)
    bounds = {"bounds": (-4 * factor, 4 * factor)} if method == "betting" else {}
    assert_allclose(interval(scaled, method, **bounds), expected, rtol=1e-6)


def test_power_at_is_the_formula():
    result = witness_test(X, Y, learner=Fisher(), rng=0)
    shown = stats.norm.sf(stats.norm.isf(0.05) - math.sqrt(result.moments.n + result.moments.m) * result.snr)
    assert result.power_at() == pytest.approx(shown)
    assert read_back(result).power_at() == pytest.approx(shown)
    snr_of_80 = result.moments.snr_at(50, 30)
    assert result.power_at(0.01, 50, 30) == pytest.approx(
        stats.norm.sf(stats.norm.isf(0.01) - math.sqrt(80) * snr_of_80)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0}, "`level` must lie strictly between 0 and 1, got 0"),
        ({"n": 0}, "`n` must be a whole number of at least .*, got 0"),
        ({"m": -5}, "`m` must be a whole number of at least .*, got -5"),
    ],
)
def test_bad_power(options, message):
    with pytest.raises(ValueError, match=message):
        witness_test(X, Y, learner=Fisher(), rng=0).power_at(**options)


def test_selection_survives_as_arrays():
    result = witness_test(X, Y, learner=PLAIN["select mixed"], rng=0)
    back = read_back(result)
    assert_array_equal(back.selection.scores, result.selection.scores)
    assert_array_equal(back.selection.fold_scores, result.selection.fold_scores)
    assert (back.selection.kernel, back.selection.ridge) == (result.selection.kernel, result.selection.ridge)
    assert (back.witness, back.values, back.null_distribution, back.train_rows) == (None,) * 4
