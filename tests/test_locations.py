"""ME and SCF as a user calls them: gradients, exact by enumeration, complete results, clear errors."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from tellapart import ChiSquared, Normal, Permutation, mean_embedding_test, smooth_cf_test
from tellapart.datasets import blobs
from tellapart.inference.hotelling import Hotelling
from tellapart.inference.pvalue import reaches
from tellapart.kernels import Gaussian
from tellapart.locations import LocationsTestResult
from tellapart.samples import as_samples
from tellapart.witness.locations import Bumps, Waves, log_statistic, optimised_frequencies, optimised_locations

X, Y = blobs(80, 60, theta=np.pi / 4, rng=0)
TESTS = {"ME": mean_embedding_test, "SCF": smooth_cf_test}
every_test = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)


def centred_labels(chosen):
    chosen = np.asarray(chosen, dtype=float)
    return chosen - chosen.mean(axis=0)


def hotelling_by_the_formula(phi, first, ridge):
    """Means, covariance within samples over N - 2, one linear system: for one labelling."""
    p, q = phi[first], phi[~first]
    scatter = sum(np.outer(row - part.mean(axis=0), row - part.mean(axis=0)) for part in (p, q) for row in part)
    d, total = p.mean(axis=0) - q.mean(axis=0), len(phi)
    inner = scatter / (total - 2) + ridge * np.eye(len(d))
    return len(p) * len(q) / total * d @ np.linalg.solve(inner, d)


@pytest.mark.parametrize("ridge", [1e-10, 1e-2, 10.0])
@pytest.mark.parametrize(("n", "m"), [(12, 12), (7, 20)])
def test_all_relabellings_at_once_are_the_formula_one_by_one(n, m, ridge):
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(n + m, 3)) + 5
    first = rng.permuted(np.repeat([[True], [False]], [n, m], axis=0).repeat(20, axis=1), axis=0)
    wanted = [hotelling_by_the_formula(phi, column, ridge) for column in first.T]
    np.testing.assert_allclose(Hotelling(phi, ridge)(centred_labels(first)), wanted, rtol=1e-8)


def test_without_a_ridge_it_is_the_multivariate_t_test_of_one_feature():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 1)), rng.normal(size=(14, 1)) + 1
    labels = centred_labels(np.repeat([[1], [0]], [9, 14], axis=0))
    (t2,) = Hotelling(np.concatenate([x, y]), 1e-14)(labels)
    assert t2 == pytest.approx(ttest_ind(x[:, 0], y[:, 0]).statistic ** 2, rel=1e-9)


@pytest.mark.parametrize("kind", ["normal", "ties"])
@pytest.mark.parametrize(("n", "m"), [(4, 4), (3, 5)])
def test_exact_by_enumeration(n, m, kind):
    """Each relabelling in turn is the observed one: p <= level in at most that share of them, ties included."""
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(n + m, 2)) if kind == "normal" else rng.integers(2, size=(n + m, 2)).astype(float)
    chosen = np.array([np.isin(np.arange(n + m), rows) for rows in combinations(range(n + m), n)]).T
    t = Hotelling(phi, 1e-5)(centred_labels(chosen))
    pvalues = np.array([reaches(t, observed).mean() for observed in t])
    for level in np.unique(pvalues):
        assert np.mean(pvalues <= level) <= level + 1e-12


@pytest.mark.parametrize("family", [Bumps, Waves])
@pytest.mark.parametrize(("n", "m"), [(30, 30), (12, 40)])
@pytest.mark.parametrize("ridge", [1e-5, 0.1])
def test_gradients_are_those_of_finite_differences(family, n, m, ridge):
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(size=(n, 3)), 1.3 * rng.normal(size=(m, 3))])
    features, points, log_width = family(rows, n), rng.normal(size=(4, 3)), 0.3

    def value(points, log_width):
        return log_statistic(features(points, log_width)[0], n, ridge)[0]

    phi, chain = features(points, log_width)
    by_points, by_width = chain(log_statistic(phi, n, ridge)[1])
    step = 1e-5
    for index in np.ndindex(points.shape):
        moved = np.zeros_like(points)
        moved[index] = step
        slope = (value(points + moved, log_width) - value(points - moved, log_width)) / (2 * step)
        assert by_points[index] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    slope = (value(points, log_width + step) - value(points, log_width - step)) / (2 * step)
    assert by_width == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("family", "learn"), [(Bumps, optimised_locations), (Waves, optimised_frequencies)])
def test_what_is_learned_beats_where_the_search_may_start_and_is_what_the_test_uses(family, learn):
    """The climb and the test have formulas of their own: on the same rows they must agree."""
    train, rng = as_samples(X, Y), np.random.default_rng(0)
    found = learn(train, 3, 1e-5, rng)
    labels = centred_labels(np.repeat([[1], [0]], [train.n, train.m], axis=0))
    (reached,) = Hotelling(found(train.pooled), 1e-5)(labels)
    assert np.log(reached) == pytest.approx(log_statistic(found(train.pooled), train.n, 1e-5)[0], rel=1e-9)
    from_start = [
        log_statistic(family(train.pooled, train.n)(*start)[0], train.n, 1e-5)[0]
        for start in family(train.pooled, train.n).starts(3, 0.3, rng)
    ]
    assert np.log(reached) > max(from_start)


def test_features_are_kernel_values_and_waves():
    rows = np.random.default_rng(0).normal(size=(5, 2))
    locations = mean_embedding_test(X, Y, locations=3, rng=0).features
    np.testing.assert_allclose(locations(rows), Gaussian(locations.width)(rows, np.array(locations.locations)))
    waves = smooth_cf_test(X, Y, frequencies=2, rng=0).features
    u = rows - np.array(waves.centre)
    smooth = [np.exp(-sum((v / w) ** 2 for v, w in zip(row, waves.width, strict=True)) / 2) for row in u]
    wanted = [[s * np.sin(row @ f) for f in np.array(waves.frequencies)] for s, row in zip(smooth, u, strict=True)]
    np.testing.assert_allclose(waves(rows)[:, :2], wanted)


@every_test
def test_units_do_not_matter(test):
    scale, offset = np.array([1e-6, 1e6]), np.array([3e-6, 1e7])
    plain, moved = test(X, Y, rng=0), test(X * scale + offset, Y * scale + offset, rng=0)
    assert moved.statistic == pytest.approx(plain.statistic, rel=1e-3)
    np.testing.assert_allclose(np.array(moved.features.width), np.array(plain.features.width) * scale, rtol=1e-3)


@every_test
def test_frames_are_matched_by_name_and_nothing_is_changed(test):
    frames = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y[:, ::-1], columns=["b", "a"])
    x, y = X.copy(), Y.copy()
    x.flags.writeable = y.flags.writeable = False
    assert test(*frames, rng=0).pvalue == test(x, y, rng=0).pvalue


def test_a_repeated_pattern_is_found_by_frequencies():
    found = dict.fromkeys(TESTS, 0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = blobs(200, theta=np.pi / 4, rng=rng)
        for name, test in TESTS.items():
            found[name] += test(x, y, null=Permutation(99), rng=rng).pvalue <= 0.05
    assert found["SCF"] >= 17 > found["ME"]  # 0.99 and 0.24 to 0.46 of 100 draws


def test_a_spot_is_found_where_it_is():
    rng = np.random.default_rng(0)
    x, y = rng.random((400, 2)) * [1, 100], rng.random((400, 2)) * [1, 100]
    y[:80] = [0.8, 20.0] + [0.05, 5.0] * rng.normal(size=(80, 2))
    result = mean_embedding_test(x, y, locations=1, rng=0)
    assert result.pvalue == 0.001
    np.testing.assert_allclose(result.features.locations[0] / np.array([1, 100]), [0.8, 0.2], atol=0.08)


@every_test
@pytest.mark.parametrize("null", [Permutation(99), Permutation(999, stop_after=10), ChiSquared()], ids=repr)
@pytest.mark.parametrize("share", [0.3, (np.arange(40), np.arange(30))], ids=["share", "rows"])
def test_a_result_is_complete(test, null, share):
    result = test(X, Y, null=null, train_share=share, rng=7)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = LocationsTestResult.from_dict(json.loads(text))
    assert back.features == result.features
    assert str(back) == str(result)
    assert json.dumps(test(X, Y, **back.settings()).to_dict()) == text
    with pytest.raises(ValueError, match="with schema 'locations 1', got 'classical 2'"):
        LocationsTestResult.from_dict({"schema": "classical 2"})


def test_the_text_says_what_was_learned():
    text = str(mean_embedding_test(X, Y, locations=2, train_share=0.4, rng=3))
    for words in ("32 + 24 rows learned the locations, 48 + 36 of 2 columns judged them", "locations    (", "width"):
        assert words in text
    text = str(smooth_cf_test(X, Y, frequencies=2, null=ChiSquared(), rng=3))
    for words in ("chi-square distribution with 4 degrees", "rows learned the frequencies", "frequencies  ("):
        assert words in text


@every_test
@pytest.mark.parametrize("null", [Permutation(99), ChiSquared()], ids=repr)
def test_identical_rows_have_p_1(test, null):
    result = test(np.full((9, 2), 0.3), np.full((8, 2), 0.3), **dict.fromkeys(["null"], null), rng=0, **few(test, 1))
    assert tuple(result) == (0.0, 1.0)
    assert "identical" in str(result)


def few(test, count):
    return {"locations" if test is mean_embedding_test else "frequencies": count}


@every_test
def test_columns_without_spread_and_single_columns(test):
    assert 0 < test(np.c_[X, np.ones(80)], np.c_[Y, np.ones(60)], rng=0).pvalue <= 1
    assert 0 < test(X[:, 0], Y[:, 0], **few(test, 2), rng=0).pvalue <= 1
    assert 0 < test(X > 0.5, Y > 0.5, **few(test, 2), rng=0).pvalue <= 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mean_embedding_test(X[:6], Y[:6]), ValueError, "`locations` must be at most 3, because only 6 rows"),
        (lambda: smooth_cf_test(X[:9], Y[:7]), ValueError, "`frequencies` must be at most 2, with two features each"),
        (lambda: smooth_cf_test(X, Y, frequencies=0), ValueError, "`frequencies` must be a whole number of at least 1"),
        (lambda: mean_embedding_test(X, Y, ridge=0), ValueError, "`ridge` must be positive and finite, got 0"),
        (lambda: mean_embedding_test(X, Y, ridge=1e-20), ValueError, "`ridge` must be at least 1e-12"),
        (lambda: mean_embedding_test(X, Y, null=Normal()), TypeError, r"`null` must be Permutation\(...\) or ChiSq"),
        (lambda: mean_embedding_test(X, Y, train_share=1.0), ValueError, "`train_share` must lie strictly between"),
        (lambda: mean_embedding_test(X, Y[:, :1]), ValueError, "same number of columns"),
        (lambda: smooth_cf_test(X, Y[:3]), ValueError, "`y` must have at least 4 rows"),
    ],
)
def test_bad_choices_are_refused_with_a_way_out(call, error, message):
    with pytest.raises(error, match=message):
        call()
