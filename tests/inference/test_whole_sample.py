"""One exact p-value out of many statistics: the rules of joining, looking and choosing."""

import numpy as np
import pytest

import oracles
from tellapart.inference.combination import joined, pvalue_of_first, rank_pvalues, skewed_scores, standard_scores
from tellapart.inference.exchange import Exchange
from tellapart.inference.in_memory import InMemory
from tellapart.inference.leave_one_out import DegreesOfFreedom
from tellapart.inference.whole_sample import FAMILIES, FIRST_LOOK, concluded, looks, said_by
from tellapart.kernels import BandwidthGrid, Gaussian, Laplace

FEW = DegreesOfFreedom((1.0, 4.0))


def data(n, m, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n, d)), rng.normal(0.5, 1.5, size=(m, d))])


def prepared(z, exchange, count=3, families=tuple(FAMILIES)):
    rng = np.random.default_rng(0)
    return InMemory.of(z, BandwidthGrid(Laplace(), count=count).kernels(z, rng), FEW, families, exchange, rng)


def test_scores_are_comparable_between_rows():
    rng = np.random.default_rng(5)
    rows = np.stack([rng.normal(5, 3, 4000), rng.gamma(2.0, 7.0, 4000), np.full(4000, 0.3)])
    z = standard_scores(rows)
    np.testing.assert_allclose(z[:2].std(axis=1), 1.0, rtol=2e-3)  # each is scored by the others
    assert not z[2].any()
    for row in skewed_scores(rows[:2]):
        assert np.quantile(row, [0.5, 0.95, 0.995]) == pytest.approx([0.0, 1.645, 2.576], abs=0.15)
    assert not skewed_scores(rows[2:]).any()


def test_skewed_scores_keep_the_order_of_each_row_far_into_the_tail():
    row = np.append(np.random.default_rng(1).gamma(1.0, size=500), [50.0, 500.0])[None]
    assert (np.argsort(skewed_scores(row)[0], kind="stable") == np.argsort(row[0], kind="stable"))[-50:].all()


def test_ranks_count_ties_against_the_observed_value():
    assert rank_pvalues(np.array([1.0, 1.0 + 1e-13, 0.0])).tolist() == [2 / 3, 2 / 3, 1.0]
    assert pvalue_of_first(np.array([0.9, 0.9, 0.5, 0.2])) == 0.5


def test_joined_families_are_louder_where_one_is_very_loud_or_all_are():
    rng = np.random.default_rng(2)
    families = rng.normal(size=(3, 400))
    families[:, 0] = [6.0, 0.0, 0.0]
    families[:, 1] = [2.0, 2.0, 2.0]
    families[:, 2] = 0.0
    loud = joined(families, [1.0, 1.0, 1.0])
    assert loud[0] > np.quantile(loud, 0.99)
    assert loud[1] > np.quantile(loud, 0.95)
    assert joined(families, [0.01, 1.0, 1.0])[0] < loud[0]


@pytest.mark.parametrize(
    ("n", "m", "structure"),
    [
        (4, 5, {}),
        (4, 4, {"pairs": True}),
        (6, 6, {"groups": ([0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 4, 5])}),
        (5, 4, {"weights": ([1.0, 2.0, 3.0, 1.0, 1.0], [1.0, 4.0, 1.0, 2.0])}),
    ],
    ids=["rows", "pairs", "groups", "weights"],
)
def test_the_joint_pvalue_is_exact_by_enumeration(n, m, structure):
    """Take each of the B + 1 relabellings as the observed one in turn: p <= a for at most a share a of them."""
    z = data(n, m, seed=6)
    exchange = Exchange.of(n, m, **structure)
    ensemble = prepared(z, exchange)
    y = exchange.relabellings(59, np.random.default_rng(6))
    rows = tuple(row for voice in ensemble.voices for row in voice.rows)
    values = said_by(ensemble.voices, y)
    pvalues = [concluded(rows, values[:, np.r_[b, np.delete(np.arange(60), b)]]).pvalue for b in range(60)]
    for level in np.unique(pvalues):
        assert np.mean(np.array(pvalues) <= level + 1e-12) <= level + 1e-12


def test_every_column_of_relabellings_is_treated_alike():
    """Statistics of a column do not depend on which other columns are computed with it, nor on their order."""
    z = data(12, 9, seed=3)
    exchange = Exchange.of(12, 9)
    ensemble = prepared(z, exchange)
    y = exchange.relabellings(40, np.random.default_rng(1))
    order = np.random.default_rng(2).permutation(41)
    whole = said_by(ensemble.voices, y)
    np.testing.assert_allclose(said_by(ensemble.voices, y[:, order]), whole[:, order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(said_by(ensemble.voices, y[:, 5:6]), whole[:, 5:6], rtol=1e-9, atol=1e-12)


def test_looking_early_costs_no_level():
    """The p-value of the look at which the test stops is below a no more often than a."""
    rng = np.random.default_rng(4)
    draws, stop_after, trials = 399, 20, 20_000
    scores = rng.normal(size=(trials, draws + 1))
    final = np.full(trials, np.nan)
    for look in looks(draws, stop_after):
        p = (scores[:, : look + 1] >= scores[:, :1]).mean(axis=1)
        stops = np.isnan(final) & ((p * (look + 1) > stop_after) | (look == draws))
        final[stops] = p[stops]
    for level in (0.01, 0.05, 0.1, 0.2, 0.3):
        assert (final <= level).sum() <= oracles.binomial_bounds(trials, level)[1]
    assert (final <= 0.05).sum() >= oracles.binomial_bounds(trials, 0.05)[0]


def test_the_test_stops_early_only_where_nothing_is_to_be_seen():
    z = np.random.default_rng(1).normal(size=(40, 2))
    exchange = Exchange.of(20, 20)
    ensemble = prepared(z, exchange)
    relabellings = exchange.labellings(499, np.random.default_rng(1))
    heard = ensemble.heard(relabellings, tuple(FAMILIES), 20)
    assert heard.draws == FIRST_LOOK
    assert heard.pvalue > 0.2
    assert ensemble.heard(relabellings, tuple(FAMILIES), None).draws == 499
    shifted = prepared(z + np.repeat([[2.0], [0.0]], 20, axis=0), exchange)
    assert shifted.heard(relabellings, tuple(FAMILIES), 20).draws == 499


def test_what_was_heard_can_be_looked_at():
    z = data(30, 30, seed=8)
    exchange = Exchange.of(30, 30)
    ensemble = prepared(z, exchange)
    relabellings = exchange.labellings(99, np.random.default_rng(9))
    found = ensemble.heard(relabellings, tuple(FAMILIES), None)
    assert set(found.family_pvalues) == set(FAMILIES) - {"single pairs"}  # of two columns, all pairs are one
    index, score = found.loudest("left out")
    assert found.rows[index].family == "left out"
    assert score == max(s for r, s in zip(found.rows, found.scores, strict=True) if r.family == "left out")
    evidence = ensemble.evidence(found, relabellings)
    assert evidence[:30].mean() > evidence[30:].mean()


def test_identical_rows_say_nothing_of_kernels():
    z = np.full((8, 2), 0.3)
    exchange = Exchange.of(4, 4)
    ensemble = InMemory.of(z, [Gaussian(1.0)], FEW, ("left out",), exchange, np.random.default_rng(0))
    assert ensemble.heard(exchange.labellings(19, np.random.default_rng(0)), ("left out",), None) is None


def test_few_features_say_nearly_what_whole_matrices_say(monkeypatch):
    from tellapart.inference import in_memory

    z, few = data(120, 110, seed=9), DegreesOfFreedom((2.0, 8.0))
    exchange = Exchange.of(120, 110)
    y = exchange.relabellings(20, np.random.default_rng(1))
    kernels = [Gaussian(3.0)]

    def voice():
        made = InMemory.of(z, kernels, few, ("left out",), exchange, np.random.default_rng(0))
        return made.words, made.voices[0].values(y)

    words, exact = voice()
    monkeypatch.setattr(in_memory, "EXACT_ROWS", 0)
    words_few, approximate = voice()
    assert "exact" in words
    assert "100%" in words_few
    np.testing.assert_allclose(approximate, exact, rtol=1e-4, atol=1e-6)
