"""Pairs of columns: the chunked statistics against loops, exactness, and that shifts of single columns are no pairs."""

import os
from pathlib import Path

import numpy as np
import pytest

import oracles
from tellapart.datasets import higgs
from tellapart.inference import dependence, where
from tellapart.inference.exchange import Exchange

RNG = np.random.default_rng(0)
HIGGS = Path(os.environ.get("TELLAPART_DATA", "../shared/data")) / "higgs_uci_27k.npz"


def prepared(x, y, draws=99, rng=0, exchange=None, source=None, work=1e9):
    rng = np.random.default_rng(rng)
    exchange = exchange or Exchange.of(len(x), len(y))
    source = range(x.shape[1]) if source is None else source
    order = where.order_of_values((x, y), exchange)
    part = where.part_of((x, y), source, exchange, order, rng)
    return part, dependence.Plan.of(part, draws, work), part.exchange.labellings(draws, rng)


def judged(x, y, own_margins=False, **settings):
    part, plan, labellings = prepared(x, y, **settings)
    found = dependence.judged_pairs(part, plan, labellings, own_margins)
    return dict(
        zip(zip(*(plan.sources[side].tolist() for side in plan.pairs), strict=True), found.pvalues, strict=True)
    )


def weighted_ranks(values, weights):
    """Weight of smaller values and half of that of equal ones, from -1 to 1."""
    return np.array([weights @ (values < v) + weights @ (values <= v) for v in values]) / weights.sum() - 1


def sums_by_loops(part, plan, labels):
    """``T_q`` of one labelling: ranks, polynomials and correlations of one pair after the other."""
    w = part.exchange.weights
    correlations = []
    for mine in (labels == 0, labels == 1):
        f = []
        for j, k in plan.features:
            t = weighted_ranks(part.rows[mine, plan.columns[j]], w[mine])
            p = np.polynomial.legendre.Legendre.basis(k)(t)
            p = p - np.average(p, weights=w[mine])
            f.append(p / np.sqrt(np.average(p * p, weights=w[mine])))
        correlations.append([[np.average(a * b, weights=w[mine]) for b in f] for a in f])
    squares = np.subtract(*correlations) ** 2
    found = np.zeros((plan.degrees, len(plan.pairs[0])))
    for q in range(1, plan.degrees + 1):
        for p, (a, b) in enumerate(zip(*plan.pairs, strict=True)):
            for i, (_, k) in enumerate(plan.features):
                for j, (_, m) in enumerate(plan.features):
                    if plan.source[i] == a and plan.source[j] == b and k <= q and m <= q:
                        found[q - 1, p] += squares[i, j]
    return found


@pytest.mark.parametrize("kind", ["rows", "ties", "weights", "groups"])
def test_the_sums_by_loops(kind):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(17, 4)), rng.normal(size=(13, 4))
    if kind == "ties":
        x, y = (np.column_stack([z[:, 0].round(), z[:, 1] > 0, z[:, 2:]]) for z in (x, y))
    named = {"weights": (rng.uniform(0.2, 3, 17), rng.uniform(0.2, 3, 13))} if kind == "weights" else {}
    if kind == "groups":
        named = {"groups": (np.arange(17) // 3, 100 + np.arange(13) // 3)}
    part, plan, labellings = prepared(x, y, 5, exchange=Exchange.of(17, 13, **named), source=[0, 1, 1, 2])
    values = dependence.pair_values(part, plan, labellings)
    labels = labellings.labelling.labels(labellings.unit_of_row, slice(None))
    for b in range(labels.shape[1]):
        assert values[:, :, b] == pytest.approx(sums_by_loops(part, plan, labels[:, b]), rel=1e-3, abs=1e-5)


def test_own_margins_leave_the_observed_statistics_as_they_are():
    part, plan, labellings = prepared(RNG.normal(size=(40, 3)), RNG.normal(size=(30, 3)) * 3 + 1, 9)
    exact = dependence.pair_values(part, plan, labellings)
    own = dependence.pair_values(part, plan, labellings, own_margins=True)
    assert own[:, :, 0] == pytest.approx(exact[:, :, 0], rel=1e-3, abs=1e-5)
    assert not np.allclose(own[:, :, 1:], exact[:, :, 1:], rtol=0.01)


def correlated(rng, n, r, d=2):
    return np.sqrt(1 - r) * rng.normal(size=(n, d)) + np.sqrt(r) * rng.normal(size=(n, 1))


def angles(rng, n, spread):
    """Two uniform directions whose difference is concentrated, or not."""
    a = rng.uniform(-np.pi, np.pi, n)
    b = a + rng.normal(scale=spread, size=n) if spread else rng.uniform(-np.pi, np.pi, n)
    return np.column_stack([a, (b + np.pi) % (2 * np.pi) - np.pi])


def board(rng, n, rows_of):
    """Uniform, but only on the squares of a board whose numbers add up to even, or odd: nothing in each column."""
    z = rng.uniform(size=(8 * n, 2))
    return z[(np.floor(3 * z).sum(axis=1) % 2) == rows_of][:n]


PLANTED = {
    "correlation": (lambda rng, n: correlated(rng, n, 0.0), lambda rng, n: correlated(rng, n, 0.4)),
    "sign": (lambda rng, n: correlated(rng, n, 0.4), lambda rng, n: correlated(rng, n, 0.4) * [1, -1]),
    "angles": (lambda rng, n: angles(rng, n, 0), lambda rng, n: angles(rng, n, 1.2)),
    "board": (lambda rng, n: board(rng, n, 0), lambda rng, n: board(rng, n, 1)),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_pairs_are_found_among_fifteen(planted):
    found = wrong = 0
    for trial in range(6):
        rng = np.random.default_rng([5, trial])
        x, y = (np.column_stack([rng.normal(size=(300, 4)), make(rng, 300)]) for make in PLANTED[planted])
        pvalues = judged(x, y, rng=rng)
        found += pvalues.pop((4, 5)) <= 0.05
        wrong += min(pvalues.values()) <= 0.05
    assert found >= 5
    assert wrong <= 2


def test_the_angles_of_two_jets_differ_as_the_angle_between_them_is_not_random():
    """HIGGS: each of the four angles is uniform in both samples."""
    if not HIGGS.is_file():
        pytest.skip("the HIGGS sample is not there; planted angles are tested above")
    background, signal = higgs(HIGGS, rows=6000)
    pvalues = judged(background.astype(float), signal.astype(float))
    assert pvalues[0, 1] == 0.01


@pytest.mark.parametrize(("n", "m"), [(30, 30), (40, 20)])
def test_family_wise_error_among_pairs(n, m):
    wrong = 0
    for trial in range(250):
        rng = np.random.default_rng([6, trial])
        pvalues = judged(correlated(rng, n, 0.4, 4), correlated(rng, m, 0.4, 4), draws=39, rng=rng)
        wrong += min(pvalues.values()) <= 0.05
    least, most = oracles.binomial_bounds(250, 0.05)
    assert least <= wrong <= most


@pytest.mark.parametrize("r", [0.0, 0.5])
def test_shifted_columns_are_no_pairs(r):
    """Same dependence, other margins: with own margins the error is kept, without them it is not."""
    exact = both = 0
    for trial in range(150):
        rng = np.random.default_rng([7, trial])
        x, y = correlated(rng, 60, r, 4), correlated(rng, 60, r, 4) + 2
        part, plan, labellings = prepared(x, y, 39, rng)
        p = dependence.judged_pairs(part, plan, labellings).pvalues
        q = dependence.judged_pairs(part, plan, labellings, own_margins=True).pvalues
        exact += p.min() <= 0.05
        both += np.maximum(p, q).min() <= 0.05
    assert both <= oracles.binomial_bounds(150, 0.05)[1]
    assert exact > oracles.binomial_bounds(150, 0.05)[1]


def test_only_a_budget_lowers_degrees_and_then_columns():
    x, y = RNG.normal(size=(30, 12)), RNG.normal(size=(30, 12))
    x[:, 1] = x[:, 0] + 0.1 * x[:, 1]
    y[:, 1] = y[:, 0] + 0.1 * y[:, 1]
    plans = [prepared(x, y, work=w)[1] for w in (1e9, 1.2e6, 4e5)]
    assert [plan.degrees for plan in plans] == [4, 2, 1]
    assert [len(plan.sources) for plan in plans] == [12, 12, 6]
    assert {0, 1} <= set(plans[2].sources)  # those that depend on others


def test_discrete_columns_have_as_many_polynomials_as_they_can():
    rows = np.column_stack([RNG.normal(size=40), RNG.integers(0, 2, 40), RNG.integers(0, 3, 40), np.ones(40)])
    _, plan, _ = prepared(rows[:20], rows[20:])
    assert [int((plan.features[:, 0] == j).sum()) for j in range(3)] == [4, 1, 2]
    assert plan.sources.tolist() == [0, 1, 2]
