"""Regions: counted on rows that did not choose them, with intervals that hold their level."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import oracles
from tellapart.inference import regions
from tellapart.inference.regions import Bounds, best_cut
from tellapart.samples import Samples


class ByColumn:
    """A witness that learns nothing: the value of a column."""

    def __init__(self, column):
        self.column = column

    def learn(self, train, rng):
        return lambda rows: rows[:, self.column]


class ByMeans:
    """The difference of the means, as a direction."""

    def learn(self, train, rng):
        direction = train.x.mean(axis=0) - train.y.mean(axis=0)
        return lambda rows: rows @ direction


@pytest.mark.parametrize(("p", "q"), [(0.02, 0.02), (0.3, 0.5), (0.9, 0.1), (1.0, 0.97)])
def test_the_interval_covers_by_enumeration(p, q):
    """All outcomes of 12 and 9 rows: no more than the error lies outside."""
    n, m, outside = 12, 9, 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            low, high = regions.interval(i, n, j, m, 0.9)
            if not low <= q - p <= high:
                outside += binom.pmf(i, n, p) * binom.pmf(j, m, q)
    assert outside <= 0.1


def test_the_interval_is_not_much_wider_than_the_normal_one():
    low, high = regions.interval(120, 400, 200, 400, 0.95)
    usual = 1.96 * math.sqrt(0.3 * 0.7 / 400 + 0.5 * 0.5 / 400)
    assert 2 * usual < high - low < 2.2 * usual
    assert low < 0.2 < high
    assert regions.interval(5, 50, 9, 40, 0.95) == tuple(-v for v in regions.interval(9, 40, 5, 50, 0.95)[::-1])


def test_leaves_divide_the_rows_and_have_short_numbers():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(18, 90, 500), rng.normal(size=500)]).astype(float)
    rules = regions.leaves_of(rows, (rows[:, 0] > 41) + 0.5 * (rows[:, 1] > 0.2))
    fresh = np.column_stack([rng.integers(10, 99, 800), rng.normal(size=800)]).astype(float)
    assert np.sum([regions.inside(rule, fresh) for rule in rules], axis=0).tolist() == [1] * 800
    assert 41.5 in {v for rule in rules for b in rule for v in (b.low, b.high)} or 41.0 in {
        v for rule in rules for b in rule for v in (b.low, b.high)
    }
    assert min(regions.inside(rule, rows).sum() for rule in rules) >= 25
    assert max(map(len, rules)) <= 3


def test_rules_are_simplified():
    inf = math.inf
    assert regions.simplified((Bounds(0, 1, inf), Bounds(0, 3, inf), Bounds(1, -inf, 2), Bounds(0, -inf, 9))) == (
        Bounds(0, 3, 9),
        Bounds(1, -inf, 2),
    )


def test_family_wise_error_among_regions(monkeypatch):
    """The witness learns from the labels of its half; the other half knows nothing of it."""
    monkeypatch.setattr(regions, "interval", lambda *_: (-1.0, 1.0))  # not asked for here, and slow
    wrong = 0
    for trial in range(300):
        rng = np.random.default_rng([8, trial])
        samples = Samples(rng.normal(size=(60, 3)), rng.normal(size=(50, 3)))
        found = regions.regions_of(samples, ByMeans(), 0.05, rng)
        wrong += any(region.pvalue <= 0.05 for region in found)
    assert wrong <= oracles.binomial_bounds(300, 0.05)[1]


def test_a_planted_corner_is_found_and_counted():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(800, 3)), rng.uniform(size=(800, 3))
    moved = (y[:, 0] > 0.7) & (y[:, 1] > 0.6)
    y[moved, 2] += 1
    best = regions.regions_of(Samples(x, y), ByColumn(2), 0.05, rng)[0]
    assert best.pvalue < 1e-4
    assert [b.column for b in best.rule] == [2]
    assert best.low > 0.05
    assert (best.n, best.m) == (400, 400)


def test_a_constant_witness_cuts_nothing():
    rng = np.random.default_rng(0)
    samples = Samples(np.ones((40, 1)), np.ones((40, 1)))
    assert regions.regions_of(samples, ByColumn(0), 0.05, rng) == []


@pytest.mark.parametrize("seed", range(5))
def test_the_best_cut_is_the_best_of_all_cuts(seed):
    rng = np.random.default_rng(seed)
    rows, values = np.column_stack([rng.normal(size=40), rng.integers(4, size=40)]), rng.normal(size=40)

    def left_over(column, threshold):
        below = rows[:, column] <= threshold
        sides = values[below], values[~below]
        return sum(len(s) * np.var(s) for s in sides) if min(map(len, sides)) >= 5 else np.inf

    every = {(j, t): left_over(j, t) for j in (0, 1) for t in rows[:, j]}
    assert left_over(*best_cut(rows, values, least=5)) == pytest.approx(min(every.values()), rel=1e-12)


def test_nothing_is_cut_where_nothing_is_gained():
    rows = np.arange(40.0)[:, None]
    assert best_cut(rows, np.ones(40), least=5) is None
    assert best_cut(np.ones((40, 2)), np.arange(40.0), least=5) is None
    assert best_cut(rows, rows[:, 0], least=21) is None
