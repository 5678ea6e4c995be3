"""Certified lower bounds on total variation: coverage by enumeration and simulation, the bound against brute force."""

import numpy as np
import pytest
from scipy.stats import binom, norm

import oracles
from tellapart.inference.certificate import (
    Certificate,
    Counted,
    _box,
    _distribution,
    _zubkov_serov,
    certify,
    curve_of,
)
from tellapart.inference.prequential import Prequential
from tellapart.samples import Samples


class Direction:
    """Difference of the two means as a direction."""

    def learn(self, train, rng):
        d = train.x.mean(axis=0) - train.y.mean(axis=0)
        return lambda rows: rows @ d


def bounds_of_all_outcomes(n, m, levels):
    """Bounds at each level for each pair of counts: (levels, n + 1, m + 1)."""
    bounds = np.empty((len(levels), n + 1, m + 1))
    for i in range(n + 1):
        for j in range(m + 1):
            certificate = Certificate.of([Counted(i, n, j, m)])
            bounds[:, i, j] = [certificate.bound(level) for level in levels]
    return bounds


@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 5), (10, 10), (4, 20), (20, 3)])
def test_coverage_by_enumeration(n, m):
    """Over a fine grid of the two probabilities the bound never exceeds the truth more often than it says."""
    levels = (0.8, 0.95, 0.99)
    bounds = bounds_of_all_outcomes(n, m, levels)
    shares = np.linspace(0, 1, 41)
    of_x, of_y = (binom.pmf(np.arange(k + 1), k, shares[:, None]) for k in (n, m))
    for bound, level in zip(bounds, levels, strict=True):
        for p, weights_x in zip(shares, of_x, strict=True):
            for q, weights_y in zip(shares, of_y, strict=True):
                wrong = weights_x @ (bound > abs(p - q) + 1e-12) @ weights_y
                assert wrong <= 1 - level + 1e-9


def brute_force(c, delta, points=1500):
    """The supremum over the box on a fine set of points, every outcome listed."""

    def score(i, j):
        p, q = (i + 1) / (c.n + 2), (j + 1) / (c.m + 2)
        return i / c.n - j / c.m - 1.645 * np.sqrt(p * (1 - p) / c.n + q * (1 - q) / c.m)

    i, j = np.meshgrid(np.arange(c.n + 1), np.arange(c.m + 1), indexing="ij")
    loud = score(i, j) >= score(c.inside_x, c.inside_y) - 1e-12
    (p_low, p_high), (q_low, q_high) = _box(c.inside_x, c.n), _box(c.inside_y, c.m)
    q = np.linspace(q_low, q_high, points)
    p = np.minimum(q + delta, p_high)
    q, p = q[p >= p_low], p[p >= p_low]
    of_x, of_y = (binom.pmf(np.arange(k + 1), k, share[:, None]) for k, share in ((c.n, p), (c.m, q)))
    return 1e-6 + np.einsum("ki,ij,kj->k", of_x, loud, of_y).max(initial=0)


@pytest.mark.parametrize(
    "counted",
    [Counted(8, 10, 1, 10), Counted(30, 50, 12, 40), Counted(9, 10, 20, 60), Counted(50, 70, 4, 12)],
)
def test_the_pvalue_is_the_supremum_rounded_up(counted):
    certificate = Certificate.of([counted])
    step = curve_of(counted).step
    for delta in (0.0, 0.05, 0.2, 0.4, 0.6):
        found = certificate.exceeds(delta)
        assert brute_force(counted, delta) <= found + 1e-12
        assert found <= brute_force(counted, delta + 3 * step) + 1e-9


def test_many_rows_are_bounded_from_the_safe_side():
    """Bins of outcomes and bounded probabilities: compared with the sum over all outcomes."""
    n, m, p, q = 5000, 4000, 0.52, 0.47
    counted = Counted(int(n * 0.55), n, int(m * 0.45), m)
    i = np.arange(n + 1)
    difference, error = 0.10, np.sqrt(0.25 / n + 0.25 / m)
    # The sets T >= t and difference >= t - error are the same to the width of an outcome where p is near 1/2.
    exact = binom.pmf(i, n, p) @ binom.cdf(np.floor(m * (i / n - difference)), m, q)
    found = Certificate.of([counted]).exceeds(p - q)
    assert exact <= found <= exact + 0.1 * norm.pdf((difference - (p - q)) / error) + 2e-6


def test_probabilities_of_the_binomial_and_their_bounds():
    p = np.array([0.0, 1e-4, 0.1, 0.5, 0.97, 1.0])
    for n in (1, 7, 300):
        k = np.arange(-1, n + 1)
        exact = binom.cdf(k, n, p[:, None])
        np.testing.assert_allclose(_distribution(k, n, p, below=True), exact, atol=1e-12)
        inner = np.arange(n)
        low, high = (_zubkov_serov(inner + s, n, p[:, None]) for s in (0, 1))
        assert (low <= exact[:, 1:-1] + 1e-12).all()
        assert (exact[:, 1:-1] <= high + 1e-12).all()


@pytest.mark.parametrize("blocks", [[Counted(40, 60, 20, 50)], [Counted(8, 10, 3, 10), Counted(60, 90, 11, 30)]])
def test_bound_and_pvalue_are_one_and_the_same(blocks):
    certificate = Certificate.of(blocks)
    deltas = np.linspace(0.001, 0.95, 60)
    pvalues = np.array([certificate.exceeds(d) for d in deltas])
    assert (np.diff(pvalues) >= 0).all()
    levels = np.linspace(0.05, 0.999, 40)
    bounds = np.array([certificate.bound(level) for level in levels])
    assert (np.diff(bounds) <= 0).all()
    for level, bound in zip(levels, bounds, strict=True):
        np.testing.assert_array_equal(pvalues <= 1 - level, bound >= deltas)


def test_it_makes_no_difference_which_sample_is_called_the_first():
    here, there = (Certificate.of([c]) for c in (Counted(45, 60, 30, 200), Counted(170, 200, 15, 60)))
    assert here.bound(0.95) == pytest.approx(there.bound(0.95))


def test_nearly_as_good_as_the_normal_approximation():
    for n, factor in ((50, 1.12), (500, 1.06), (50_000, 1.05)):
        x, y = int(0.6 * n), int(0.4 * n)
        claimed = norm.isf(0.05) * np.sqrt(2 * 0.24 / n)
        assert 0.2 - factor * claimed < Certificate.of([Counted(x, n, y, n)]).bound(0.95) < 0.2


NULLS = {
    "equal": (0.0, 20, 20),
    "equal, 10 to 1": (0.0, 100, 10),
    "shift": (0.5, 60, 60),
    "far, unequal": (3.0, 15, 80),
    "large": (0.2, 1000, 700),
}


@pytest.mark.parametrize("null", NULLS)
def test_coverage_of_blocks_for_two_normals(null):
    """TV of two normals at distance s is 2 Phi(s / 2) - 1."""
    shift, n, m = NULLS[null]
    truth, trials, rng = 2 * norm.cdf(shift / 2) - 1, 250, np.random.default_rng(1)
    wrong = rejected = 0
    for _ in range(trials):
        samples = Samples(rng.normal(size=(n, 2)) + np.array([shift, 0.0]), rng.normal(size=(m, 2)))
        certificate = certify(samples, Direction(), rng)
        wrong += certificate.bound(0.9) > truth
        rejected += certificate.exceeds(truth) <= 0.05
    assert wrong <= oracles.binomial_bounds(trials, 0.1)[1]
    assert rejected <= oracles.binomial_bounds(trials, 0.05)[1]


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.95, 0.02), (0.02, 0.0), (1.0, 0.6)])
@pytest.mark.parametrize(("n", "m"), [(10, 10), (300, 30), (1000, 800)])
def test_coverage_for_two_coins(p, q, n, m):
    trials, rng = 150, np.random.default_rng(2)
    drawn = zip(rng.binomial(n, p, trials), rng.binomial(m, q, trials), strict=True)
    wrong = sum(Certificate.of([Counted(int(x), n, int(y), m)]).bound(0.9) > p - q for x, y in drawn)
    assert wrong <= oracles.binomial_bounds(trials, 0.1)[1]


def test_more_rows_certify_more_and_never_more_than_the_truth_by_far():
    rng, found = np.random.default_rng(3), []
    for n in (50, 500, 5000, 50_000):
        samples = Samples(rng.normal(size=(n, 1)) + 1, rng.normal(size=(n, 1)))
        found.append(certify(samples, Direction(), rng).bound(0.95))
    assert found == sorted(found)
    assert 0.36 < found[-1] < 2 * norm.cdf(0.5) - 1 == pytest.approx(0.3829, abs=1e-4)


def test_a_trifle_is_seen_and_called_a_trifle():
    n, rng = 200_000, np.random.default_rng(4)
    samples = Samples(rng.normal(size=(n, 1)) + 0.03, rng.normal(size=(n, 1)))
    certificate = certify(samples, Direction(), rng)
    assert certificate.exceeds(0.0) < 1e-4
    assert certificate.exceeds(0.02) > 0.9


def test_the_blocks_are_marked_by_thresholds_of_the_rows_they_were_learned_from():
    rng = np.random.default_rng(5)
    samples = Samples(rng.normal(size=(40, 2)) + 1, rng.normal(size=(60, 2)))
    blocks = list(Prequential(blocks=4).learned(samples, Direction(), rng))
    counted = []
    for b in blocks:
        middle = (b.learned_x.mean() + b.learned_y.mean()) / 2
        counted.append(Counted.of(b.h_x > middle, b.h_y > middle))
    by_hand = Certificate.of(counted, [b.weight for b in blocks])
    assert Certificate.of_blocks(blocks).bound(0.9) == by_hand.bound(0.9) > 0


def test_what_says_nothing_certifies_nothing():
    for counted in (Counted(0, 9, 0, 12), Counted(9, 9, 12, 12), Counted(3, 9, 9, 12), Counted(0, 1, 0, 1)):
        certificate = Certificate.of([counted])
        assert certificate.bound(0.95) == 0.0
        assert certificate.exceeds(0.0) > 0.2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.exceeds(1.0), ValueError, "`delta` must be at least 0 and less than 1, got 1.0"),
        (lambda c: c.exceeds(-0.1), ValueError, "`delta`"),
        (lambda c: c.bound(1), ValueError, "`confidence_level` must lie strictly between 0 and 1"),
        (lambda c: Certificate.of([]), ValueError, "at least one block"),
        (lambda c: Certificate.of([Counted(1, 2, 1, 2)], [1.0, 2.0]), ValueError, "`weights` must be a positive"),
        (lambda c: Counted.of(np.ones(3), np.ones(3, dtype=bool)), ValueError, "`marks_x` must be a vector"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(Certificate.of([Counted(5, 6, 1, 6)]))
