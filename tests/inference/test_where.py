"""Single columns: exactness, family-wise error, and that only values matter."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import rankdata

import oracles
from tellapart.inference import where
from tellapart.inference.columns import DEGREES, UP_TO
from tellapart.inference.exchange import Exchange, Relabellings, Stored
from tellapart.inference.pvalue import fisher_pvalue, holm_pvalues, stepdown_pvalues

RNG = np.random.default_rng(0)


def judged(x, y, exchange=None, draws=99, rng=0, source=None):
    rng = np.random.default_rng(rng)
    exchange = exchange or Exchange.of(len(x), len(y))
    order = where.order_of_values((x, y), exchange)
    part = where.part_of((x, y), range(x.shape[1]) if source is None else source, exchange, order, rng)
    return where.judged_columns(part, part.exchange.labellings(draws, rng))


def test_stepdown_is_westfall_and_young_one_step_at_a_time():
    scores = RNG.normal(size=(6, 40))
    scores[:2, 0] += 3
    expected, least = np.empty(6), 0.0
    left = list(range(6))
    while left:
        loudest = max(left, key=lambda i: scores[i, 0])
        largest = [max(scores[i, b] for i in left) for b in range(40)]
        least = max(least, sum(v >= scores[loudest, 0] for v in largest) / 40)
        expected[loudest] = least
        left.remove(loudest)
    assert stepdown_pvalues(scores) == pytest.approx(expected)


@pytest.mark.parametrize("counts", [(3, 10, 8, 12), (0, 5, 5, 5), (7, 7, 7, 9), (2, 30, 9, 25)])
def test_fisher_is_scipys(counts):
    from scipy.stats import fisher_exact

    i, n, j, m = counts
    assert fisher_pvalue(*counts) == pytest.approx(fisher_exact([[i, n - i], [j, m - j]]).pvalue)


def test_holm_by_hand():
    p = np.array([0.04, 0.01, 0.3, 0.02])
    assert holm_pvalues(p) == pytest.approx([0.08, 0.04, 0.3, 0.06])


def test_the_polynomials_are_orthonormal_and_few_where_values_are_few():
    rows = np.column_stack([RNG.normal(size=60), RNG.integers(0, 2, 60), RNG.integers(0, 3, 60), np.ones(60)])
    weights = RNG.uniform(0.5, 1.5, 60)
    weights /= weights.mean()
    f = where.orthonormal(where.RankMap.of(rows).polynomials(rows), weights)
    gram = np.einsum("jcn,kcn,n->cjk", f, f, weights / 60)
    for column, rank in zip(gram, (DEGREES, 1, 2, 0), strict=True):
        assert column == pytest.approx(np.diag(np.diag(column)), abs=1e-9)
        assert np.diag(column).round(9).sum() == rank
    assert np.abs(f @ (weights / 60)).max() < 1e-12


def test_nested_sums_by_loops():
    """Of continuous columns: Legendre polynomials of the ranks, one inner product at a time."""
    rows, y = RNG.normal(size=(30, 2)), Exchange.of(12, 18).relabellings(7, np.random.default_rng(1))
    sums = where.nested_sums(rows, np.ones(30), y)
    for j in range(2):
        u = (rankdata(rows[:, j]) - 0.5) / 30
        basis = np.linalg.qr(np.vander(u, DEGREES + 1, increasing=True))[0][:, 1:] * np.sqrt(30)
        projected = basis.T @ y
        projected -= projected.mean(axis=1, keepdims=True)
        for i, q in enumerate(UP_TO):
            assert sums[i, j] == pytest.approx((projected[:q] ** 2).sum(axis=0))


def test_the_pvalue_of_a_tiny_sample_is_that_of_all_relabellings():
    """With all labellings listed the p-value does not depend on which of them came true, but through its rank."""
    rows = RNG.normal(size=(8, 1))
    chosen = [np.isin(np.arange(8), c) for c in combinations(range(8), 4)]
    pvalues = []
    for observed in chosen:
        table = np.array([observed, *(c for c in chosen if (c != observed).any())]).T
        exchange = Exchange.of(4, 4)
        labelling = Relabellings(Stored((~table).astype(np.uint8)), np.arange(8), np.ones(8))
        part = where.Part(rows, np.zeros(1, dtype=np.intp), exchange, np.arange(8))
        pvalues.append(where.judged_columns(part, labelling).alone[0])
    for level in np.unique(pvalues):
        assert np.mean(np.array(pvalues) <= level) <= level + 1e-12
    assert len(set(pvalues)) > 10


def structure(kind, n, rng):
    if kind == "groups":
        return Exchange.of(n, n, groups=(np.arange(n) // 4, 1000 + np.arange(n) // 4))
    if kind == "strata":
        return Exchange.of(n, n, strata=(np.arange(n) % 4 == 0, np.arange(n) % 4 > 0))
    if kind == "pairs":
        return Exchange.of(n, n, pairs=True)
    return Exchange.of(n, n)


def null_rows(kind, n, rng):
    """Four columns that are alike in both samples as far as the structure says, and depend on each other."""
    x, y = (rng.normal(size=(n, 4)) + rng.normal(size=(n, 1)) for _ in range(2))
    if kind == "groups":
        x, y = (z + 2 * np.repeat(rng.normal(size=(n // 4, 4)), 4, axis=0) for z in (x, y))
    if kind == "strata":
        x, y = x + 3.0 * (np.arange(n) % 4 == 0)[:, None], y + 3.0 * (np.arange(n) % 4 > 0)[:, None]
    if kind == "pairs":
        shared = 3 * rng.normal(size=(n, 4))
        x, y = x + shared, y + shared
    return x, y


@pytest.mark.parametrize("kind", ["rows", "groups", "strata", "pairs"])
def test_family_wise_error_among_columns_and_level_of_one(kind):
    trials, any_of_four, one = 250, 0, 0
    for trial in range(trials):
        rng = np.random.default_rng([3, trial])
        found = judged(*null_rows(kind, 24, rng), structure(kind, 24, rng), draws=39, rng=rng)
        any_of_four += found.pvalues.min() <= 0.05
        one += found.alone[0] <= 0.05
    for rejected in (any_of_four, one):
        assert rejected <= oracles.binomial_bounds(trials, 0.05)[1]
    assert one >= oracles.binomial_bounds(trials, 0.05)[0]  # and not by never rejecting


def test_a_column_that_differs_leaves_the_others_their_level():
    """Strong control: one column is shifted far, the other five are alike together."""
    wrong = found = 0
    for trial in range(200):
        rng = np.random.default_rng([4, trial])
        x, y = rng.normal(size=(30, 6)), rng.normal(size=(20, 6))
        y[:, 2] += 3
        p = judged(x, y, draws=39, rng=rng).pvalues
        found += p[2] <= 0.05
        wrong += np.delete(p, 2).min() <= 0.05
    assert found == 200
    assert wrong <= oracles.binomial_bounds(200, 0.05)[1]


def test_shifts_and_spreads_of_one_of_twenty_columns_are_found():
    x, y = RNG.normal(size=(150, 20)), RNG.normal(size=(150, 20))
    y[:, 3] += 0.8
    y[:, 7] *= 2
    found = judged(x, y)
    assert (found.pvalues[[3, 7]] == 0.01).all()
    assert set(found.order[:2]) == {3, 7}


def test_columns_of_one_source_speak_together():
    level = RNG.integers(0, 4, size=200)
    level[100:][RNG.random(100) < 0.5] = 2
    rows = np.column_stack([level == k for k in range(4)] + [RNG.normal(size=200)]).astype(float)
    found = judged(rows[:100], rows[100:], source=[0, 0, 0, 0, 1])
    assert found.scores.shape == (2, 100)
    assert found.pvalues[0] == 0.01
    assert found.pvalues[1] > 0.05


def test_only_the_values_matter_not_their_order():
    x, y = RNG.normal(size=(40, 3)), RNG.normal(size=(30, 3)) + 0.3
    here = judged(x, y)
    there = judged(x[RNG.permutation(40)], y[RNG.permutation(30)])
    assert (here.scores == there.scores).all()
    groups = np.arange(40) // 2, 100 + np.arange(30) // 2
    turned = np.arange(40)[::-1], np.arange(30)[::-1]
    here = judged(x, y, Exchange.of(40, 30, groups=groups))
    there = judged(x[turned[0]], y[turned[1]], Exchange.of(40, 30, groups=(groups[0][turned[0]], groups[1][turned[1]])))
    assert (here.scores == there.scores).all()


def test_constant_columns_have_pvalue_one():
    x, y = RNG.normal(size=(20, 2)), RNG.normal(size=(20, 2))
    x[:, 1] = y[:, 1] = 7.0
    found = judged(x, y)
    assert found.pvalues[1] == found.alone[1] == 1


def test_of_many_rows_a_part_takes_part_and_groups_stay_whole():
    x, y = RNG.normal(size=(900, 2)), RNG.normal(size=(100, 2))
    rng = np.random.default_rng(0)
    for exchange in (
        Exchange.of(900, 100),
        Exchange.of(900, 100, groups=(np.arange(900) // 9, -1 - np.arange(100) // 5)),
    ):
        order = where.order_of_values((x, y), exchange)
        part = where.part_of((x, y), range(2), exchange, order, rng, most=300)
        assert 270 <= sum(part.sizes) <= 300
        assert part.sizes[1] == 100  # the smaller sample is kept
        pooled = np.concatenate([x, y])
        assert (pooled[part.place] == part.rows).all()
        assert ((part.place < 900) == part.is_x).all()
    pairs = Exchange.of(100, 100, pairs=True)
    part = where.part_of((x[:100], y), range(2), pairs, where.order_of_values((x[:100], y), pairs), rng, most=60)
    assert part.sizes == (30, 30)
    assert sorted(part.place[part.is_x]) == sorted(part.place[~part.is_x] - 100)
