"""Relabellings of rows, groups, strata and pairs: uniform over the right set, and the tests built on them are exact."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import oracles
from tellapart import tell_apart
from tellapart.inference.exchange import Exchange
from tellapart.inference.whole_sample import heard
from tellapart.kernels import BandwidthGrid


def signs(exchange, draws, seed=0):
    return exchange.relabellings(draws, np.random.default_rng(seed)).T[1:] > 0


def test_rows_are_relabelled_as_by_shuffling():
    y = Exchange.of(3, 5).relabellings(50, np.random.default_rng(0))
    np.testing.assert_allclose(y[:, 0], np.repeat([5 / 8, -3 / 8], [3, 5]))
    np.testing.assert_allclose(y.sum(axis=0), 0, atol=1e-12)
    assert ((y > 0).sum(axis=0) == 3).all()


@pytest.mark.parametrize(
    ("exchange", "possible"),
    [
        (Exchange.of(2, 2), 6),
        (Exchange.of(3, 3, pairs=True), 8),
        (Exchange.of(3, 3, strata=(["a", "a", "b"], ["a", "b", "b"])), 9),
        (Exchange.of(4, 3, groups=([1, 1, 2, 2], [3, 3, 4])), 6),
        (Exchange.of(3, 3, groups=([1, 1, 2], [3, 4, 4]), strata=([0, 0, 1], [0, 1, 1])), 4),
    ],
    ids=["rows", "pairs", "strata", "groups", "groups in strata"],
)
def test_every_allowed_relabelling_is_as_likely_as_any_other(exchange, possible):
    draws = 6000
    counts = Counter(map(tuple, signs(exchange, draws)))
    assert len(counts) == possible
    low, high = oracles.binomial_bounds(draws, 1 / possible)
    assert low <= min(counts.values()) <= max(counts.values()) <= high


def test_groups_stay_together_and_pairs_are_swapped():
    groups = ([7, 7, 8], [9, 9, 9, 5])
    for row in signs(Exchange.of(3, 4, groups=groups), 40):
        assert row[0] == row[1]
        assert row[3] == row[4] == row[5]
    for row in signs(Exchange.of(4, 4, pairs=True), 40):
        assert (row[:4] != row[4:]).all()


def test_relabelled_strata_keep_their_counts():
    strata = (list("aabbb"), list("abb"))
    pooled = np.array(strata[0] + strata[1])
    for row in signs(Exchange.of(5, 3, strata=strata), 40):
        assert Counter(pooled[row]) == Counter("aabbb")


def rejection_rate(draw, trials, **options):
    rng = np.random.default_rng(1)
    few = {"kernels": BandwidthGrid(count=3), "freedoms": (1, 4), "n_permutations": 39}
    rejected = 0
    for _ in range(trials):
        x, y, extra = draw(rng)
        rejected += tell_apart(x, y, rng=rng, **few, **extra, **options).pvalue <= 0.05
    return rejected / trials


def patients(rng, visits=5, each=8):
    """Visits of a patient resemble each other; patients are exchangeable."""
    centres = rng.normal(size=(2, each, 2))
    x, y = (np.repeat(c, visits, axis=0) + 0.2 * rng.normal(size=(each * visits, 2)) for c in centres)
    ids = np.repeat(np.arange(each), visits)
    return x, y, {"groups": (ids, ids + each)}


def hospitals(rng, n=40):
    """Hospitals differ, and the samples hold them in different proportions."""
    where = [rng.random(n) < share for share in (0.3, 0.7)]
    x, y = (rng.normal(size=(n, 2)) + 2.0 * w[:, None] for w in where)
    return x, y, {"strata": tuple(where)}


def before_and_after(rng, n=25):
    person = 3 * rng.normal(size=(n, 2))
    return person + rng.normal(size=(n, 2)), person + rng.normal(size=(n, 2)), {"pairs": True}


@pytest.mark.parametrize("draw", [patients, hospitals, before_and_after])
def test_level_for_rows_that_are_not_exchangeable(draw):
    trials = 600
    assert rejection_rate(draw, trials) <= oracles.binomial_bounds(trials, 0.05)[1] / trials


@pytest.mark.parametrize("draw", [patients, hospitals])
def test_without_being_told_the_test_would_alarm(draw):
    """The reason for the option: plain relabelling of rows rejects far more often than it says."""
    assert rejection_rate(lambda rng: (*draw(rng)[:2], {}), 60) > 0.3


def test_pairs_find_what_the_spread_between_persons_hides():
    def drawn(rng):
        x, y, extra = before_and_after(rng)
        return x + 1.0, y, extra

    assert rejection_rate(drawn, 30) > rejection_rate(lambda rng: (*drawn(rng)[:2], {}), 30) + 0.3


def test_the_joint_pvalue_is_exact_for_groups_by_enumeration():
    """All relabellings of four groups, each taken as the observed one in turn."""
    z = np.random.default_rng(2).normal(size=(9, 2))
    unit = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3])
    assigned = sorted(set(permutations([1.0, 1.0, 0.0, 0.0])))
    assert len(assigned) == math.comb(4, 2)
    y = np.array([np.array(a)[unit] for a in assigned]).T
    y -= y.mean(axis=0)
    kernels = BandwidthGrid(count=3).kernels(z, np.random.default_rng(0))
    pvalues = [heard(z, kernels, (1, 2), np.roll(y, -b, axis=1)).pvalue for b in range(6)]
    for level in np.unique(pvalues):
        assert np.mean(np.array(pvalues) <= level + 1e-12) <= level + 1e-12


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pairs": True}, ValueError, "a row i of `y` for every row i of `x`"),
        ({"groups": ([1, 2, 3], [3, 4])}, ValueError, "a group with rows in both"),
        ({"groups": ([1, 1, 2], [3, 4]), "strata": ([0, 1, 1], [0, 1])}, ValueError, "lie in one stratum each"),
        ({"groups": [1, 2, 3]}, TypeError, "`groups` must be a pair of arrays"),
        ({"strata": ([1, 2], [1, 2])}, ValueError, "each of the 3 rows of `x`"),
        ({"strata": ([1, 2, np.nan], [1, 2])}, ValueError, "no missing entries"),
        ({"pairs": True, "groups": ([1, 2, 3], [4, 5])}, ValueError, "cannot go with"),
    ],
)
def test_bad_structure_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        tell_apart([1.0, 2.0, 3.0], [4.0, 5.0], **options)
