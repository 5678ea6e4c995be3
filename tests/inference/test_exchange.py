"""Relabellings of rows, groups, strata and pairs: uniform over the right set, and the tests built on them are exact."""

import math
from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import oracles
from tellapart import Permutation, tell_apart
from tellapart.inference.exchange import Exchange, Relabellings, Rotated, Stored
from tellapart.inference.in_memory import InMemory
from tellapart.inference.leave_one_out import DegreesOfFreedom
from tellapart.inference.whole_sample import FAMILIES
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


def test_blocks_are_neighbours_that_stay_together():
    for row in signs(Exchange.of(6, 7, blocks=3), 40):
        assert len(set(row[:3])) == len(set(row[3:6])) == len(set(row[6:9])) == len(set(row[9:12])) == 1


def test_weights_travel_with_their_rows():
    weights = ([1.0, 2.0, 3.0], [4.0, 5.0])
    exchange = Exchange.of(3, 2, weights=weights)
    v = np.concatenate(weights) / 3
    y = exchange.relabellings(30, np.random.default_rng(0))
    np.testing.assert_allclose(np.sqrt(v) @ y, 0, atol=1e-12)
    for column in y.T:
        t, first = column / np.sqrt(v), column > 0
        np.testing.assert_allclose(t[first], v[~first].sum() / v.sum())
        np.testing.assert_allclose(t[~first], -v[first].sum() / v.sum())


@pytest.mark.parametrize("strata", [np.zeros(40, dtype=int), np.arange(40) % 3], ids=["one stratum", "three strata"])
def test_rotations_keep_the_counts_of_every_stratum_and_are_uniform(strata):
    """Every unit is labelled with the first sample as often as the first sample is large, also given another unit."""
    observed = (np.arange(40) >= 15).astype(np.uint8)
    rng = np.random.default_rng(3)
    tables = [Rotated.drawn(observed, strata, 8, rng).labels(np.arange(40), slice(None)) for _ in range(800)]
    assert all((table[:, 0] == observed).all() for table in tables)
    for s in np.unique(strata):
        mine = strata == s
        assert all((table[mine].sum(axis=0) == observed[mine].sum()).all() for table in tables)
        ones = np.concatenate([table[mine][:, 1:] for table in tables], axis=1).mean(axis=1)
        np.testing.assert_allclose(ones, observed[mine].mean(), atol=0.04)


def test_large_samples_are_relabelled_by_rotations_that_are_never_stored(monkeypatch):
    from tellapart.inference import exchange as module

    monkeypatch.setattr(module, "_ROTATE_FROM", 20)
    groups = (np.arange(40) // 2, 20 + np.arange(30) // 2)
    relabellings = Exchange.of(40, 30, groups=groups).labellings(9, np.random.default_rng(0))
    assert isinstance(relabellings.labelling, Rotated)
    whole = relabellings.contrast()
    np.testing.assert_allclose(whole.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(whole[0::2], whole[1::2])
    rows = np.array([3, 60, 7])
    np.testing.assert_allclose(relabellings.contrast(rows, slice(2, 5)), whole[rows, 2:5])


def test_contrasts_between_two_of_several_samples_leave_the_others_out():
    relabellings = Exchange.among((3, 4, 5)).labellings(20, np.random.default_rng(0))
    y = replace(relabellings, between=(0, 2)).contrast()
    assert ((y > 0).sum(axis=0) == 3).all()
    assert ((y < 0).sum(axis=0) == 5).all()
    np.testing.assert_allclose(y.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(y[:, 0], np.repeat([5 / 8, 0, -3 / 8], [3, 4, 5]))


def test_within_blocks_of_samples_labels_stay_in_their_block():
    exchange = Exchange.among((3, 4, 5)).within([0, 1, 0])
    labels = exchange.labellings(30, np.random.default_rng(0)).labelling.labels(np.arange(12), slice(None))
    assert (labels[3:7] == 1).all()
    assert (np.delete(labels, slice(3, 7), axis=0) != 1).all()


def rejection_rate(draw, trials, **options):
    rng = np.random.default_rng(1)
    few = {"kernels": BandwidthGrid(count=3), "ridges": DegreesOfFreedom((1.0, 4.0)), "null": Permutation(39)}
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
    assigned = np.array(sorted(set(permutations([0, 0, 1, 1]))), dtype=np.uint8)
    assert len(assigned) == math.comb(4, 2)
    rng = np.random.default_rng(0)
    kernels, few = BandwidthGrid(count=3).kernels(z, rng), DegreesOfFreedom((1.0, 2.0))
    exchange = Exchange.of(5, 4, groups=(unit[:5], unit[5:]))
    ensemble = InMemory.of(z, kernels, few, FAMILIES, exchange, rng)
    turned = (Stored(np.roll(assigned.T, -b, axis=1)) for b in range(6))
    pvalues = [ensemble.heard(Relabellings(t, unit, np.ones(9)), FAMILIES, None).pvalue for t in turned]
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
        ({"blocks": 2}, ValueError, "at least two blocks in each sample of 2 rows, got 2"),
        ({"blocks": 0}, ValueError, "`blocks` must be a whole number"),
        ({"blocks": 1, "groups": ([1, 2, 3], [4, 5])}, ValueError, "cannot go with `groups`"),
        ({"weights": ([1, 2, 3], [0, 5])}, ValueError, "`weights` must be positive"),
        ({"weights": ([1, 2, 3], [1])}, ValueError, "each of the 2 rows of `y`"),
    ],
)
def test_bad_structure_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        tell_apart([1.0, 2.0, 3.0], [4.0, 5.0], **options)
