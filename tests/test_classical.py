"""The classical tests on all rows, as a user calls them: exact by enumeration and simulation, complete, clear."""

import json
import tracemalloc
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import oracles
from tellapart import Normal, OptimisedKernel, Permutation, Saddlepoint
from tellapart.classical import ClassicalTestResult, kfda_test, mmd_test
from tellapart.datasets import blobs
from tellapart.inference.classical_statistics import KernelFisher, SquaredMMD, centred
from tellapart.inference.pvalue import reaches
from tellapart.kernels import Gaussian, Laplace, Linear
from tellapart.witness.select import PAPER_KERNELS

X, Y = blobs(60, 45, theta=np.pi / 4, rng=0)
TESTS = {
    "mmd": mmd_test,
    "mmd unbiased": partial(mmd_test, estimator="unbiased"),
    "kfda": kfda_test,
    "kfda paper": partial(kfda_test, weighting="paper"),
}
every_test = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)


def all_labellings(n, m):
    """Centred labels of every relabelling, one a column."""
    chosen = np.array([np.isin(np.arange(n + m), rows) for rows in combinations(range(n + m), n)]).T
    return chosen - n / (n + m)


STATISTICS = {
    "mmd": SquaredMMD,
    "mmd unbiased": partial(SquaredMMD, estimator="unbiased"),
    "kfda": partial(KernelFisher, ridge=1e-2),
    "kfda paper": partial(KernelFisher, ridge=1e-2, weighting="paper"),
}


@pytest.mark.parametrize("statistic", STATISTICS.values(), ids=STATISTICS)
@pytest.mark.parametrize(("n", "m"), [(4, 4), (3, 5), (2, 6)])
@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_exact_by_enumeration(statistic, n, m, kind):
    """Each relabelling in turn is the observed one: p <= level in at most that share of them, ties included."""
    rng = np.random.default_rng([n, m])
    rows = rng.normal(size=(n + m, 2)) if kind == "normal" else rng.integers(2, size=(n + m, 2)).astype(float)
    t = statistic(centred(Gaussian(1.0)(rows, rows)))(all_labellings(n, m))
    pvalues = np.array([reaches(t, observed).mean() for observed in t])
    for level in np.unique(pvalues):
        assert np.mean(pvalues <= level) <= level + 1e-12
    distinct = {tuple(sorted(map(tuple, rows[y > 0]))) for y in all_labellings(n, m).T}
    assert len(np.unique(pvalues)) <= len(distinct)


@every_test
def test_random_relabellings_approach_all_of_them(test):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(4, 2)), rng.normal(size=(5, 2)) + 1
    result = test(x, y, kernel=Gaussian(1.0), null=Permutation(20_000), rng=0)
    rows = np.concatenate([x, y])
    options = {"kfda_test": KernelFisher, "mmd_test": SquaredMMD}
    chosen = {k: v for k, v in result.choices.items() if k not in ("kernel", "train_share")}
    t = options[result.test](centred(Gaussian(1.0)(rows, rows)), **chosen)(all_labellings(4, 5))
    exact = reaches(t, result.statistic).mean()
    assert result.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact / 20_000))


NULLS = {
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, 2)),
    "ties": lambda rng, n: rng.integers(3, size=(n, 2)).astype(float),
    "more columns than rows": lambda rng, n: rng.normal(size=(n, 60)),
}


@every_test
@pytest.mark.parametrize("rows", NULLS.values(), ids=NULLS)
@pytest.mark.parametrize(("n", "m"), [(5, 25), (14, 18)])
def test_the_level_is_kept(test, rows, n, m):
    rng = np.random.default_rng([n, m])
    draws = 1000
    p = np.array([test(rows(rng, n), rows(rng, m), null=Permutation(19), rng=rng).pvalue for _ in range(draws)])
    for level in (0.05, 0.1, 0.5):
        low, high = oracles.binomial_bounds(draws, level)
        rejections = (p <= level + 1e-12).sum()
        assert rejections <= high
        assert rejections >= low or rows is NULLS["ties"]


@pytest.mark.parametrize(
    ("test", "published"),
    [
        (mmd_test, 248 / 400),
        (partial(kfda_test, ridge=4e-2), 293 / 300),
        (partial(kfda_test, ridge=4e-4), 238 / 300),
        (partial(kfda_test, ridge=4e3), 182 / 300),
    ],
    ids=["mmd", "kfda", "kfda 1e-4", "kfda 1e3"],
)
def test_power_is_that_of_the_authors_code(test, published):
    """mmd-boot and kfda-boot on Blobs, n = m = 100 (experiments/authors_code.json); their ridge is ours over four."""
    rng, draws = np.random.default_rng(0), 200
    found = sum(
        test(*blobs(100, theta=np.pi / 4, rng=rng), kernel=Gaussian(0.2), null=Permutation(199), rng=rng).pvalue <= 0.05
        for _ in range(draws)
    )
    pooled = (found + 300 * published) / (draws + 300)
    assert abs(found / draws - published) <= 3 * np.sqrt(pooled * (1 - pooled) * (1 / draws + 1 / 300))


@every_test
def test_groups_strata_and_pairs_are_exchanged(test):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 1
    few = {"kernel": Gaussian(1.0), "rng": 0}
    assert test(x, y, **few).exchanged == "rows"
    paired = test(x, y, pairs=True, **few)
    assert "pairs" in str(paired)
    assert test(x, y, **paired.settings()).pvalue == paired.pvalue
    groups = np.repeat(np.arange(5), 4), np.repeat(np.arange(5, 10), 4)
    assert test(x, y, groups=groups, **few).pvalue >= 1 / 252  # 10 over 5
    assert test(x, y, strata=(np.arange(20) % 2, np.arange(20) % 2), **few).pvalue <= 0.05


GRID = OptimisedKernel([Gaussian(s) for s in (0.05, 0.2, 1.0)])


def test_a_learned_kernel_is_judged_on_other_rows():
    result = mmd_test(X, Y, kernel=GRID, train_share=0.4, rng=0)
    assert (result.n_train, result.m_train, result.n, result.m) == (24, 18, 36, 27)
    assert result.kernel in GRID.kernels
    assert "24 + 18 rows learned the kernel, 36 + 27 of 2 columns judged it" in str(result)
    learned, judge_x, judge_y = (np.arange(30), np.arange(20)), np.arange(30, 60), np.arange(20, 45)
    result = mmd_test(X, Y, kernel=GRID, train_share=learned, rng=0)
    fixed = mmd_test(X[judge_x], Y[judge_y], kernel=result.kernel, rng=0)
    assert result.statistic == pytest.approx(fixed.statistic, rel=1e-12)


@pytest.mark.parametrize("share", [None, 0.3, (np.arange(20), np.arange(9, 19))], ids=["half", "share", "rows"])
@pytest.mark.parametrize("kernel", [GRID, OptimisedKernel(criterion="snr", folds=3)], ids=["J", "snr"])
def test_a_result_with_a_learned_kernel_is_complete(kernel, share):
    result = mmd_test(X, Y, kernel=kernel, train_share=share, null=Permutation(99), rng=5)
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = ClassicalTestResult.from_dict(json.loads(text))
    assert back.kernel == result.kernel
    assert str(back) == str(result)
    assert json.dumps(mmd_test(X, Y, **back.settings()).to_dict()) == text


@pytest.mark.parametrize(("n", "m"), [(6, 7), (20, 14)])
@pytest.mark.parametrize("rows", NULLS.values(), ids=NULLS)
def test_the_level_is_kept_by_a_learned_kernel(rows, n, m):
    rng, draws = np.random.default_rng([n, m]), 1000
    test = partial(mmd_test, kernel=OptimisedKernel(), null=Permutation(19))
    p = np.array([test(rows(rng, n), rows(rng, m), rng=rng).pvalue for _ in range(draws)])
    for level in (0.05, 0.1, 0.5):
        assert (p <= level + 1e-12).sum() <= oracles.binomial_bounds(draws, level)[1]


def test_rows_that_belong_together_learn_or_judge_as_a_whole():
    """Few units are relabelled, and the statistic is that of the swapped samples: ties make it conservative."""
    rng, draws, rejected = np.random.default_rng(0), 600, {"groups": 0, "pairs": 0}
    for _ in range(draws):
        x, y = (np.repeat(rng.normal(size=(8, 2)), 3, axis=0) for _ in range(2))
        groups = np.repeat(np.arange(8), 3), np.repeat(np.arange(8, 16), 3)
        result = mmd_test(x, y, kernel=GRID, groups=groups, null=Permutation(19), rng=rng)
        assert result.n_train % 3 == result.m_train % 3 == 0
        rejected["groups"] += result.pvalue <= 0.05
        offset = 5 * rng.normal(size=(16, 1))
        x, y = (offset + rng.normal(size=(16, 1)) for _ in range(2))
        rejected["pairs"] += mmd_test(x, y, kernel=GRID, pairs=True, null=Permutation(19), rng=rng).pvalue <= 0.05
    assert max(rejected.values()) <= oracles.binomial_bounds(draws, 0.05)[1], rejected


@pytest.mark.parametrize(("n", "published"), [(100, 0.19), (200, 0.62)])
def test_opt_mmd_boot_has_the_power_of_the_authors_code(n, published):
    """Half of the paper's Blobs learns one of its ten bandwidths (experiments/authors_code.json, 100 trials each)."""
    rng, draws, learner = np.random.default_rng(0), 200, OptimisedKernel(PAPER_KERNELS)
    found = sum(
        mmd_test(*blobs(n, theta=np.pi / 4, rng=rng), kernel=learner, null=Permutation(99), rng=rng).pvalue <= 0.05
        for _ in range(draws)
    )
    pooled = (found + 100 * published) / (draws + 100)
    assert abs(found / draws - published) <= 3.5 * np.sqrt(pooled * (1 - pooled) * (1 / draws + 1 / 100))


@every_test
@pytest.mark.parametrize(("n", "m"), [(5, 5), (3, 8)])
def test_identical_rows_have_p_1(test, n, m):
    result = test(np.full((n, 2), 0.3), np.full((m, 2), 0.3), rng=0)
    assert tuple(result) == (0.0, 1.0)
    assert "identical" in str(result)
    assert test(np.full((n, 2), 0.3), np.full((m, 2), 0.3), null=Permutation(99, stop_after=5), rng=0).pvalue == 1


@every_test
def test_swapping_the_samples_and_the_order_of_rows_change_nothing(test):
    order = np.random.default_rng(0).permutation(len(X))
    t = test(X, Y, kernel=Laplace(0.5), rng=0).statistic
    assert test(Y, X, kernel=Laplace(0.5), rng=0).statistic == pytest.approx(t, rel=1e-9)
    assert test(X[order], Y, kernel=Laplace(0.5), rng=0).statistic == pytest.approx(t, rel=1e-9)


def test_units_do_not_matter_and_frames_are_matched_by_name():
    frames = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y[:, ::-1], columns=["b", "a"])
    assert kfda_test(*frames, rng=0).pvalue == kfda_test(X, Y, rng=0).pvalue
    assert kfda_test(X * [1e-6, 1e6], Y * [1e-6, 1e6], rng=0).pvalue == kfda_test(X, Y, rng=0).pvalue


@every_test
@pytest.mark.parametrize(
    "null", [Permutation(99), Permutation(200, count="paper"), Permutation(999, stop_after=10)], ids=str
)
def test_a_result_is_complete(test, null):
    result = test(X, Y, null=null, rng=7)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    drawn = reaches(result.null_distribution, statistic).sum()
    if null.count == "paper":
        assert pvalue == drawn / 200
    elif drawn == null.stop_after:
        assert pvalue == drawn / len(result.null_distribution)
    else:
        assert pvalue == (1 + drawn) / (1 + null.n_permutations)
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = ClassicalTestResult.from_dict(json.loads(text))
    assert back.to_dict() == result.to_dict()
    assert str(back) == str(result)
    assert json.dumps(test(X, Y, **back.settings()).to_dict()) == text


def test_early_stopping_draws_no_more_than_it_needs():
    rng = np.random.default_rng(0)
    result = mmd_test(rng.normal(size=40), rng.normal(size=40), null=Permutation(100_000, stop_after=10), rng=0)
    assert result.pvalue == 10 / len(result.null_distribution)
    assert len(result.null_distribution) < 2000


def test_relabellings_are_made_in_batches(monkeypatch):
    from tellapart.inference import among_relabellings

    whole = kfda_test(X, Y, rng=0)
    monkeypatch.setattr(among_relabellings, "_NUMBERS", 10 * (len(X) + len(Y)))
    parts = kfda_test(X, Y, rng=0)
    np.testing.assert_allclose(parts.null_distribution, whole.null_distribution, rtol=1e-9)
    assert parts.pvalue == whole.pvalue


def test_memory_stays_within_a_few_kernel_matrices():
    x, y = (np.random.default_rng(i).normal(size=(300, 2)) for i in (0, 1))
    tracemalloc.start()
    kfda_test(x, y, kernel=Gaussian(1.0), null=Permutation(99), rng=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 600**2 * 8


def test_the_text_says_what_was_done():
    text = str(kfda_test(X, Y, kernel=Gaussian(0.2), ridge=0.1, weighting="paper", rng=3))
    assert text.startswith("The samples differ: p = 0.0")
    for words in (
        "999 random relabellings of rows",
        "kernel Fisher discriminant, covariance as in the signal-to-noise ratio",
        "60 + 45 of 2 columns",
        "Gaussian(bandwidth=0.2)",
        "ridge        0.1",
        "rng=3, tellapart",
    ):
        assert words in text
    assert "U-statistic" in str(mmd_test(X, Y, estimator="unbiased", rng=0))
    assert "No difference found" in mmd_test(X, Y, rng=0).summary(1e-6)


def test_a_function_as_kernel_must_be_passed_again():
    result = mmd_test(X, Y, kernel=lambda a, b: a @ b.T, rng=0)
    assert result.statistic == pytest.approx(mmd_test(X, Y, kernel=Linear(), rng=0).statistic)
    with pytest.raises(ValueError, match="pass it yourself"):
        ClassicalTestResult.from_dict(result.to_dict()).settings()
    with pytest.raises(ValueError, match="must be the dict of a result with schema"):
        ClassicalTestResult.from_dict({})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mmd_test(X, Y, estimator="linear"), ValueError, "`estimator` must be one of 'biased', 'unbiased'"),
        (lambda: kfda_test(X, Y, weighting="total"), ValueError, "`weighting` must be one of 'pooled', 'paper'"),
        (lambda: kfda_test(X, Y, ridge=0), ValueError, "`ridge` must be a positive number"),
        (lambda: kfda_test(X, Y, ridge=np.inf), ValueError, "`ridge` must be finite, got inf. .*use mmd_test"),
        (lambda: kfda_test(X, Y, ridge=1e-30), ValueError, "`ridge` must be larger than the rounding"),
        (lambda: mmd_test(X, Y, null=Normal()), TypeError, r"`null` must be Permutation\(...\)"),
        (lambda: mmd_test(X, Y, null=Saddlepoint()), TypeError, r"`null` must be Permutation\(...\)"),
        (lambda: mmd_test(X, Y, null=Permutation), TypeError, r"`null` must be Permutation\(...\)"),
        (lambda: mmd_test(X, Y, kernel="rbf"), TypeError, "`kernel` must be a kernel such as"),
        (lambda: mmd_test(X, Y, kernel=Gaussian(1e9)), ValueError, "`kernel` must tell the rows apart"),
        (lambda: kfda_test(X, Y, kernel=lambda a, b: -(a @ b.T)), ValueError, "`kernel` must be positive semidefinite"),
        (lambda: mmd_test(X, Y[:1]), ValueError, "`y` must have at least 2 rows, got 1"),
        (lambda: mmd_test(X, Y[:, :1]), ValueError, "same number of columns"),
        (lambda: mmd_test(np.zeros(9000), np.ones(9000)), ValueError, "at most 12000 rows together.* got 18000"),
        (lambda: mmd_test(X, Y, pairs=True), ValueError, "`pairs` needs a row i of `y`"),
        (lambda: mmd_test(X, Y, rng="seed"), TypeError, "`rng` must be a seed"),
        (lambda: mmd_test(X, Y, train_share=0.5), ValueError, "`train_share` needs a kernel that learns.*Leave it out"),
        (lambda: mmd_test(X, Y, kernel=GRID, train_share=2), ValueError, "`train_share` must lie strictly between"),
        (lambda: mmd_test(X, Y, kernel=OptimisedKernel), TypeError, "`kernel` must be a kernel such as"),
        (lambda: kfda_test(X, Y, kernel=GRID), TypeError, r"`kernel` must be chosen before.*learner=Fisher\(kernel\)"),
        (
            lambda: mmd_test(X, X, kernel=GRID, groups=(np.arange(60) // 20, 3 + np.arange(60) // 20)),
            ValueError,
            "`train_share` needs 4 groups or pairs in each sample, got 3",
        ),
        (
            lambda: mmd_test(
                X, X, kernel=GRID, groups=(np.arange(60) // 7, 9 + np.arange(60) // 7), train_share=(range(9), range(9))
            ),
            ValueError,
            "`groups` must learn or judge as a whole",
        ),
    ],
)
def test_bad_choices_are_refused_with_a_way_out(call, error, message):
    with pytest.raises(error, match=message):
        call()
