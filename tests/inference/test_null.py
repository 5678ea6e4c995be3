"""The three nulls: agreement with enumeration and with each other, degenerate witnesses, arguments."""

import math

import numpy as np
import pytest
from scipy.stats import norm, ttest_ind

import oracles
from tellapart import Normal, Permutation, Saddlepoint, permutation_pvalue
from tellapart.inference import relabel
from tellapart.inference.relabel import relabelled_differences

ALL = [Normal(), Normal(student=False), Permutation(199), Permutation(199, stop_after=10), Saddlepoint()]


def judged(null, h_x, h_y, seed=0):
    return null.judge(np.asarray(h_x, dtype=float), np.asarray(h_y, dtype=float), np.random.default_rng(seed))


def values(n, m, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=n) + shift, rng.exponential(size=m)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (3, 9), (8, 4), (2, 10)])
def test_saddlepoint_is_the_enumeration_on_few_rows(n, m):
    h_x, h_y = values(n, m, 0.4, seed=n)
    verdict = judged(Saddlepoint(), h_x, h_y)
    assert verdict.pvalue == pytest.approx(oracles.permutation_tail(h_x, h_y), rel=1e-9)
    assert verdict.how == "all relabellings of the test rows"


@pytest.mark.parametrize(("n", "m"), [(6, 5), (4, 8), (60, 40), (15_000, 5_000), (3_000, 9_000)])
def test_permutations_tend_to_what_saddlepoint_says(n, m):
    """Also where the relabellings are rotations, above 10,000 rows."""
    h_x, h_y = values(n, m, 1.2 / math.sqrt(min(n, m)), seed=m)
    exact = judged(Saddlepoint(), h_x, h_y).pvalue
    draws = 9999
    drawn = judged(Permutation(draws), h_x, h_y).pvalue
    assert abs(drawn - exact) < 4 * math.sqrt(exact * (1 - exact) / draws) + 0.02 * exact + 1 / draws


def test_normal_is_the_theorem_and_students_t_is_welchs_test():
    h_x, h_y = values(30, 50, 0.3)
    tau = math.sqrt(80) * oracles.snr_by_loops(h_x, h_y)
    theorem = judged(Normal(student=False), h_x, h_y)
    assert theorem.statistic == pytest.approx(tau)
    assert theorem.pvalue == pytest.approx(norm.sf(tau))
    welch = ttest_ind(h_x, h_y, equal_var=False, alternative="greater")
    assert judged(Normal(), h_x, h_y).pvalue == pytest.approx(welch.pvalue)


def test_all_nulls_agree_on_many_rows():
    h_x, h_y = values(4000, 4000, 0.03)
    pvalues = [judged(null, h_x, h_y).pvalue for null in (Normal(), Normal(student=False), Saddlepoint())]
    assert np.ptp(pvalues) < 0.03 * pvalues[0]


def test_the_null_distribution_gives_the_pvalue_again():
    h_x, h_y = values(20, 30, 0.5)
    verdict = judged(Permutation(499), h_x, h_y)
    assert len(verdict.null_distribution) == 499
    assert permutation_pvalue(verdict.statistic, verdict.null_distribution) == verdict.pvalue
    assert verdict.statistic == pytest.approx(h_x.mean() - h_y.mean())


@pytest.mark.parametrize("size", [60, 12_000])
def test_relabellings_have_the_moments_of_the_permutation_distribution(size):
    rng = np.random.default_rng(1)
    h = rng.exponential(size=size)
    h -= h.mean()
    n, draws = size // 3, 3000
    drawn = np.concatenate(list(relabelled_differences(h, n, draws, rng)))
    variance = (h @ h) / (size - 1) * size / (n * (size - n))
    assert len(drawn) == draws
    assert abs(drawn.mean()) < 4 * math.sqrt(variance / draws)
    assert drawn.var() == pytest.approx(variance, rel=4 * math.sqrt(2 / draws))


def test_rotated_sums_are_sums_over_rotated_labels(monkeypatch):
    """The Fourier transforms against the definition, on a few rows: every sum belongs to one rotation, none twice."""
    h = np.array([5.0, -1.0, 2.0, -3.0, 7.0, -10.0])
    sums = np.concatenate(list(relabel._rotated_sums(h, 2, 5, np.random.default_rng(3))))
    place = np.random.default_rng(3).permutation(6)
    ordered = np.empty(6)
    ordered[place] = h
    labelled = np.sort(place[:2])
    by_hand = [sum(ordered[(labelled + s) % 6]) for s in range(1, 6)]
    np.testing.assert_allclose(np.sort(sums), np.sort(by_hand), atol=1e-12)


def test_rotations_are_exact_by_enumeration():
    """Over all orders of a few rows as data, p <= a happens at most a of the time, for every a."""
    rng = np.random.default_rng(4)
    pvalues = []
    for _ in range(4000):
        h = rng.permutation([0.0, 1.0, 1.5, 4.0, -2.0, 0.3, 2.2, -1.0])
        h -= h.mean()
        sums = next(relabel._rotated_sums(h, 3, 7, rng))
        pvalues.append(permutation_pvalue(h[:3].sum(), sums))
    for level in np.unique(pvalues):
        _, high = oracles.binomial_bounds(4000, level)
        assert np.sum(np.array(pvalues) <= level + 1e-12) <= high


def test_results_do_not_depend_on_the_batch(monkeypatch):
    h_x, h_y = values(40, 60)
    whole = judged(Permutation(300), h_x, h_y)
    monkeypatch.setattr(relabel, "_BATCH", 500)
    in_parts = judged(Permutation(300), h_x, h_y)
    np.testing.assert_array_equal(whole.null_distribution, in_parts.null_distribution)


def test_stopping_early_draws_less_where_nothing_is_to_be_found():
    h_x, h_y = values(50, 50, -0.2)
    verdict = judged(Permutation(9999, stop_after=10), h_x, h_y)
    assert len(verdict.null_distribution) < 100
    assert verdict.pvalue == pytest.approx(10 / len(verdict.null_distribution))
    h_x, h_y = values(50, 50, 2.0)
    assert judged(Permutation(999, stop_after=10), h_x, h_y).pvalue == 1 / 1000


@pytest.mark.parametrize("null", ALL, ids=repr)
@pytest.mark.parametrize("constant", [0.0, 3.7, -1e-200])
def test_a_constant_witness_has_p_one(null, constant):
    assert judged(null, np.full(6, constant), np.full(4, constant)).pvalue == 1.0


@pytest.mark.parametrize("null", ALL, ids=repr)
def test_rounding_noise_is_no_witness(null):
    h = 0.1 + np.array([0, 1, 2, 1, 0, 1]) * np.finfo(float).eps / 8
    assert judged(null, h[:3], h[3:]).pvalue == 1.0


@pytest.mark.parametrize("null", ALL, ids=repr)
@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1e150])
def test_scale_and_offset_of_the_witness_do_not_matter(null, factor):
    h_x, h_y = values(12, 30, 0.3)
    there = judged(null, h_x * factor, h_y * factor).pvalue
    assert there == pytest.approx(judged(null, h_x, h_y).pvalue, rel=1e-9)


@pytest.mark.parametrize("student", [True, False])
def test_a_witness_without_noise_is_judged_by_counting(student):
    assert judged(Normal(student=student), [1.0, 1.0, 1.0], [0.0, 0.0]).pvalue == pytest.approx(1 / 10)
    assert judged(Normal(student=student), [0.0, 0.0], [1.0, 1.0]).pvalue == 1.0


@pytest.mark.parametrize(("n", "m"), [(400, 400), (300, 100), (60, 700)])
def test_far_tails_are_small_but_not_zero(n, m):
    rng = np.random.default_rng(5)
    h_x, h_y = rng.normal(3.0, 1.0, size=n), rng.normal(size=m)
    pvalue = judged(Saddlepoint(), h_x, h_y).pvalue
    assert 0 < pvalue < 1e-20
    assert judged(Normal(), 40 * h_x, h_y).pvalue > 0


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("shift", [0, 3, 30])
@pytest.mark.parametrize("shape", ["normal", "rounded", "integers", "nearly two values"])
def test_saddlepoint_is_a_probability_however_far_apart_the_samples_are(shape, shift, overlap):
    rng = np.random.default_rng(6)
    draw = {
        "normal": lambda size: rng.normal(size=size),
        "rounded": lambda size: rng.normal(size=size).round(2),
        "integers": lambda size: rng.integers(50, size=size).astype(float),
        "nearly two values": lambda size: np.sign(rng.normal(size=size)) + 1e-6 * rng.normal(size=size),
    }[shape]
    for n, m in ((40, 45), (8, 90), (90_000, 60_000)):
        h_x, h_y = draw(n) + shift, draw(m)
        if overlap:
            h_x[0] = h_y.min()
        assert 0 < judged(Saddlepoint(), h_x, h_y).pvalue <= 1
        assert 0 < judged(Saddlepoint(), h_y, h_x).pvalue <= 1


def test_swapping_the_samples_mirrors_the_pvalue():
    h_x, h_y = values(60, 90, 0.1)
    there, back = judged(Saddlepoint(), h_x, h_y).pvalue, judged(Saddlepoint(), h_y, h_x).pvalue
    assert there + back == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Permutation(0), "`n_permutations` must be a whole number of at least 1, got 0"),
        (lambda: Permutation(99.5), "`n_permutations` must be a whole number"),
        (lambda: Permutation(True), "`n_permutations` must be a whole number"),
        (lambda: Permutation(99, stop_after=0), "`stop_after` must be a whole number"),
        (lambda: Permutation(99, count="k/B"), "`count` must be one of 'exact', 'paper'"),
        (lambda: Permutation(99, stop_after=10, count="paper"), "`stop_after` has a p-value of its own"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_papers_count_is_an_option():
    h_x, h_y = values(50, 50, 5.0)
    assert judged(Permutation(200, count="paper"), h_x, h_y).pvalue == 0.0
    assert judged(Permutation(200), h_x, h_y).pvalue == 1 / 201
