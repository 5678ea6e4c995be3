"""Bundles of rows: which relabellings they allow, and that the observed labels are as likely as any of them."""

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

import oracles
from tellapart.inference import bundles
from tellapart.inference.bundles import bundled
from tellapart.inference.exchange import Exchange


@pytest.fixture
def small_bundles(monkeypatch):
    """Two units in a bundle, however few there are."""
    monkeypatch.setattr(bundles, "MOST_BUNDLES", 4)
    monkeypatch.setattr(bundles, "bundle_size", lambda units, fewest: 2)


def division(exchange):
    """Which rows are together, which of these may be exchanged, and the label of the others: all but the labels."""
    together = defaultdict(list)
    for row, unit in enumerate(exchange.unit_of_row):
        together[unit].append(row)
    alone = np.bincount(exchange.stratum)[exchange.stratum] == 1
    rows = {unit: tuple(found) for unit, found in together.items()}
    free = frozenset((rows[u], int(exchange.stratum[u])) for u in rows if not alone[u])
    strata = defaultdict(set)
    for members, stratum in free:
        strata[stratum].add(members)
    kept = frozenset((rows[u], int(exchange.sample[u])) for u in rows if alone[u])
    return frozenset(map(frozenset, strata.values())), kept


def labels_of(exchange):
    return tuple(exchange.sample[exchange.unit_of_row])


def conditionally(labellings, draws, made):
    """Counts of labellings for each division, when labellings are drawn uniformly and then divided."""
    rng, counts = np.random.default_rng(0), defaultdict(Counter)
    for _ in range(draws):
        labels = np.array(labellings[rng.integers(len(labellings))])
        exchange, order = made(labels)
        found = bundled(exchange, rng)
        placed = Exchange(
            found.words, found.unit_of_row[order], found.stratum, found.sample, found.weights, found.paired
        )
        counts[division(placed)][labels_of(placed)] += 1
    return counts


def of_labels(labels):
    """An exchange of rows whose labels are given, and where each row stands among those of its sample."""
    order = np.argsort(np.argsort(labels, kind="stable"))
    return Exchange.of(int((labels == 0).sum()), int((labels == 1).sum())), order


def test_given_the_division_every_labelling_of_bundles_is_as_likely_as_any_other(small_bundles):
    """All labellings of 5 against 2 rows: two bundles of the first sample, one of the second, one row left over.

    Given the division three labellings are possible; each is the observed one a third of the time.
    """
    labellings = [tuple(int(i in chosen) for i in range(7)) for chosen in combinations(range(7), 2)]
    draws = 9000
    counts = conditionally(labellings, draws, of_labels)
    assert len(counts) == 7 * 15  # the row that is left over, and three pairs of the others
    in_order = np.zeros(3)
    for seen in counts.values():
        assert len(seen) == 3
        total = sum(seen.values())
        low, high = oracles.binomial_bounds(total, 1 / 3, error=1e-5)
        assert low <= min(seen.values()) <= max(seen.values()) <= high
        in_order += [seen[labels] for labels in sorted(seen)]
    low, high = oracles.binomial_bounds(draws, 1 / 3)
    assert low <= in_order.min() <= in_order.max() <= high


def test_pairs_are_flipped_in_bundles(small_bundles):
    """Seven pairs in four bundles: every flip of bundles is equally likely, and a bundle flips as a whole."""
    rng = np.random.default_rng(1)
    found = bundled(Exchange.of(7, 7, pairs=True), rng)
    assert found.paired
    bundle = found.stratum[found.unit_of_row]
    assert (bundle[:7] == bundle[7:]).all()
    assert sorted(np.bincount(bundle[:7])) == [1, 2, 2, 2]
    draws = 4000
    labels = found.labellings(draws, rng).labelling.labels(found.unit_of_row, slice(1, None))
    assert (labels[:7] == 1 - labels[7:]).all()
    first = [np.flatnonzero(bundle == b)[0] for b in range(4)]
    assert (labels[:7] == labels[np.array(first)[bundle[:7]]]).all()
    low, high = oracles.binomial_bounds(draws, 1 / 16, error=1e-5)
    flips = Counter(map(tuple, labels[first].T))
    assert len(flips) == 16
    assert low <= min(flips.values()) <= max(flips.values()) <= high


def test_relabellings_of_bundles_keep_counts_and_leave_what_is_left_over(monkeypatch):
    monkeypatch.setattr(bundles, "MOST_BUNDLES", 40)
    monkeypatch.setattr(bundles, "FEWEST_BUNDLES", 5)
    strata = (np.arange(133) % 2, np.arange(90) % 2)
    rng = np.random.default_rng(2)
    found = bundled(Exchange.of(133, 90, strata=strata), rng)
    assert len(found.sample) < 40
    relabellings = found.labellings(19, rng)
    labels = relabellings.labelling.labels(found.unit_of_row, slice(None))
    assert (labels[:, 0] == np.repeat([0, 1], [133, 90])).all()
    assert ((labels == 0).sum(axis=0) == 133).all()
    row_stratum = np.concatenate(strata)
    assert all((labels[row_stratum == s].sum(axis=0) == 45).all() for s in (0, 1))
    kept = (labels == labels[:, :1]).all(axis=1)
    assert 0 < kept.sum() < 40  # fewer than a bundle in each sample of each stratum
    np.testing.assert_allclose(relabellings.contrast().sum(axis=0), 0, atol=1e-12)


def test_entries_of_units_are_the_contrasts_of_their_rows_but_for_weights():
    rng = np.random.default_rng(3)
    weights = (rng.uniform(1, 2, 30), rng.uniform(1, 2, 20))
    groups = (np.arange(30) // 3, 100 + np.arange(20) // 4)
    relabellings = Exchange.of(30, 20, groups=groups, weights=weights).labellings(9, rng)
    entries = relabellings.entries(np.arange(len(relabellings.labelling.labels(np.arange(15), slice(None)))))
    rows = entries[relabellings.unit_of_row] * np.sqrt(relabellings.weights)[:, None]
    np.testing.assert_allclose(rows, relabellings.contrast(), rtol=1e-12)


def test_few_units_stay_as_they_are():
    exchange = Exchange.of(30, 20)
    assert bundled(exchange, np.random.default_rng(0)) is exchange


def test_bundles_of_groups_are_whole_groups(monkeypatch):
    monkeypatch.setattr(bundles, "MOST_BUNDLES", 10)
    monkeypatch.setattr(bundles, "FEWEST_BUNDLES", 2)
    groups = (np.arange(60) // 2, 100 + np.arange(40) // 2)
    found = bundled(Exchange.of(60, 40, groups=groups), np.random.default_rng(0))
    assert len(found.sample) == 10
    assert (found.unit_of_row[0::2] == found.unit_of_row[1::2]).all()
