"""The one pass in folds against explicit refits, row by row."""

from dataclasses import replace

import numpy as np
import pytest

from tellapart import _threads
from tellapart.inference import bundles, folds
from tellapart.inference.bundles import bundled
from tellapart.inference.columns import RankMap, pair_features
from tellapart.inference.exchange import Exchange
from tellapart.inference.folds import FOLDS, Distances, InFolds
from tellapart.inference.leave_one_out import DegreesOfFreedom, Ridges
from tellapart.inference.sums import PooledRows, Solved
from tellapart.inference.whole_sample import FAMILIES
from tellapart.kernels import Gaussian, Laplace
from tellapart.pairs import Pairs

N, M, COLUMNS = 70, 50, 8
WEIGHTS = {"weights": (np.linspace(0.5, 2.0, N), np.linspace(1.0, 3.0, M))}
STRUCTURES = {"rows": {}, "groups": {"groups": (np.arange(N) // 2, 99 + np.arange(M) // 2)}, "weights": WEIGHTS}


@pytest.fixture(autouse=True)
def double_precision(monkeypatch):
    monkeypatch.setattr(folds, "_SINGLE_ERROR", 0.0)


def prepared(structure, ridges=DegreesOfFreedom((2.0, 8.0)), chunk=1000, families=tuple(FAMILIES)):
    rng = np.random.default_rng(5)
    z = rng.normal(size=(N + M, 3))
    z[:N, 0] += 0.8
    exchange = Exchange.of(N, M, **structure)
    rows = PooledRows((z[:N], z[N:]))
    kernels = [Gaussian(1.5), Laplace(2.0)]
    ensemble = InFolds.of(rows, z[::2], kernels, ridges, families, exchange, rng, rank=20, chunk=chunk)
    return ensemble, exchange.labellings(COLUMNS - 1, np.random.default_rng(6))


def features(ensemble, index):
    """Of all rows, around their weighted mean."""
    z = ensemble.rows.take(np.arange(len(ensemble.rows)))
    phi = ensemble.kernels[index].features(Distances.of(z, ensemble.landmarks))
    return phi - np.average(phi, axis=0, weights=ensemble.exchange.weights)


def refitted(phi, y, weights, fold, ridge):
    """Witness values of every row, by least squares on the rows of the other folds."""
    root, values = np.sqrt(weights), np.empty(len(phi))
    for f in range(FOLDS):
        learn = fold != f
        penalty = np.sqrt(ridge * weights[learn].sum() / weights.sum()) * np.eye(phi.shape[1])
        table = np.vstack([phi[learn] * root[learn, None], penalty])
        coefficients = np.linalg.lstsq(table, np.concatenate([y[learn], np.zeros(len(penalty))]), rcond=None)[0]
        values[~learn] = phi[~learn] @ coefficients
    return values


def solved(ensemble, relabellings, index):
    tally = ensemble.passed(relabellings)
    return Solved.of([tally["kernel", index, f] for f in range(FOLDS)], ensemble.ridges, N + M), tally


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("ridges", [DegreesOfFreedom((2.0, 8.0)), Ridges((0.3, 1e-4))], ids=["freedom", "ridges"])
def test_what_folds_say_is_what_explicit_refits_say(structure, ridges):
    ensemble, relabellings = prepared(structure, ridges)
    y, weights = relabellings.contrast(), ensemble.exchange.weights
    for index in range(2):
        found, tally = solved(ensemble, relabellings, index)
        phi = features(ensemble, index)
        for ridge in found.ridges:
            h = np.stack([refitted(phi, y[:, b], weights, ensemble.fold, ridge) for b in range(COLUMNS)], axis=1)
            e = y * h * np.sqrt(weights)[:, None]  # what every row says for its own label
            mean = e.mean(axis=0)
            square = (weights[:, None] * h**2).mean(axis=0) * (y**2).mean(axis=0)
            np.testing.assert_allclose(
                found.judged(ridge, tally["square"], N + M), mean / np.sqrt(square - mean**2), rtol=1e-9
            )


def test_the_evidence_of_a_row_is_the_witness_learned_without_its_fold():
    ensemble, relabellings = prepared({})
    hearing = ensemble.heard(relabellings, tuple(FAMILIES), None)
    loudest = hearing.rows[hearing.loudest("left out")[0]]
    index = [k.kernel for k in ensemble.kernels].index(loudest.kernel)
    found, _ = solved(ensemble, relabellings, index)
    ridge = found.ridges[found.freedoms.index(loudest.freedom)]
    y = relabellings.contrast()[:, 0]
    expected = refitted(features(ensemble, index), y, np.ones(N + M), ensemble.fold, ridge)
    np.testing.assert_allclose(ensemble.evidence(hearing, relabellings), expected, rtol=1e-9, atol=1e-12)


def test_chunks_merge_to_the_same_answer():
    """Sums of many small chunks are the sums of few large ones."""
    whole, relabellings = prepared(WEIGHTS)
    pieces, _ = prepared(WEIGHTS, chunk=7)
    heard = [e.heard(relabellings, tuple(FAMILIES), None) for e in (whole, pieces)]
    np.testing.assert_allclose(heard[0].together, heard[1].together, rtol=1e-7)
    assert heard[0].pvalue == heard[1].pvalue


def test_groups_stay_in_one_fold():
    ensemble, _ = prepared(STRUCTURES["groups"])
    units = ensemble.exchange.unit_of_row
    assert all(len(set(ensemble.fold[units == u])) == 1 for u in np.unique(units))


def test_every_labelling_is_treated_alike():
    """Take each labelling as the observed one in turn: p <= a for at most a share a of them."""
    ensemble, relabellings = prepared({})
    pvalues = []
    for b in range(COLUMNS):
        order = np.r_[b, np.delete(np.arange(COLUMNS), b)]
        turned = replace(relabellings.labelling, table=relabellings.labelling.table[:, order])
        pvalues.append(ensemble.heard(replace(relabellings, labelling=turned), tuple(FAMILIES), None).pvalue)
    for level in np.unique(pvalues):
        assert np.mean(np.array(pvalues) <= level + 1e-12) <= level + 1e-12
    assert sorted(pvalues) == pytest.approx(np.arange(1, COLUMNS + 1) / COLUMNS)


def test_families_that_were_not_asked_for_are_not_computed():
    ensemble, relabellings = prepared({}, families=("linear",))
    assert ensemble.kernels == ()
    hearing = ensemble.heard(relabellings, ("linear",), None)
    assert set(hearing.family_pvalues) == {"linear"}
    assert ensemble.evidence(hearing, relabellings) is None


def bundled_ensemble(monkeypatch, structure, d=3, **options):
    """Rows in bundles of about five, in small pieces, and an oracle's view of them."""
    monkeypatch.setattr(bundles, "MOST_BUNDLES", 24)
    monkeypatch.setattr(bundles, "FEWEST_BUNDLES", 4)
    rng = np.random.default_rng(7)
    z = np.round(rng.normal(size=(N + M, d)), 1)  # with ties
    exchange = bundled(Exchange.of(N, M, **structure), rng)
    rows = PooledRows((z[:N], z[N:]))
    kernels = [Gaussian(1.5), Laplace(2.0)]
    ridges = DegreesOfFreedom((2.0, 8.0))
    ensemble = InFolds.of(rows, z[::2], kernels, ridges, tuple(FAMILIES), exchange, rng, rank=20, chunk=17)
    return ensemble, exchange.labellings(COLUMNS - 1, rng), z


@pytest.mark.parametrize("structure", [*STRUCTURES.values(), {"pairs": True}], ids=[*STRUCTURES, "pairs"])
def test_sums_over_bundles_are_products_with_the_labels_of_every_row(structure, monkeypatch):
    """The slow way: every feature of every row times its explicit contrast."""
    if "pairs" in structure:
        monkeypatch.setitem(globals(), "M", N)
    ensemble, relabellings, z = bundled_ensemble(monkeypatch, structure)
    assert len(ensemble.exchange.sample) < len(z) / 2
    y, weights = relabellings.contrast(), ensemble.exchange.weights
    scaled = y * np.sqrt(weights)[:, None]
    tally = ensemble.passed(relabellings)
    np.testing.assert_allclose(tally["square"], (y**2).sum(axis=0), rtol=1e-12)
    distances, ranks = Distances.of(z, ensemble.landmarks), RankMap.of(z[::2])
    for index, kernel in enumerate(ensemble.kernels):
        phi = kernel.features(distances)
        for f in range(FOLDS):
            mine = ensemble.fold == f
            one = np.column_stack([np.ones(mine.sum()), phi[mine]])
            np.testing.assert_allclose(tally["kernel", index, f].contrast, one.T @ scaled[mine], atol=1e-10)
            np.testing.assert_allclose(
                tally["kernel", index, f].scatter, one.T @ (one * weights[mine, None]), atol=1e-10
            )
        np.testing.assert_allclose(tally["leverage", index], ((phi**2) @ kernel.leverages).T @ scaled, atol=1e-10)
    polynomials = ranks.polynomials(z)
    by_degree = ensemble.columns._by_degree(tally["columns"])
    np.testing.assert_allclose(by_degree, polynomials.T @ scaled, atol=1e-10)
    np.testing.assert_allclose(tally["scores"].contrast[1:], ranks.normal_scores(z).T @ scaled, atol=1e-10)
    np.testing.assert_allclose(tally["pairs"], pair_features(polynomials[:, :3]).T @ scaled, atol=1e-10)
    np.testing.assert_allclose(
        tally["energy"], ensemble.columns.energy.features(distances.double).T @ scaled, atol=1e-10
    )


def test_single_precision_says_nearly_the_same(monkeypatch):
    double, relabellings = prepared({})
    monkeypatch.setattr(folds, "_SINGLE_ERROR", 0.01)
    single, _ = prepared({})
    assert [k.single for k in double.kernels] == [False, False]
    assert [k.single for k in single.kernels] == [True, True]
    heard = [e.heard(relabellings, tuple(FAMILIES), None) for e in (double, single)]
    np.testing.assert_allclose(heard[0].together, heard[1].together, rtol=1e-3)
    assert heard[0].pvalue == heard[1].pvalue


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_single_precision_is_left_alone_where_numbers_would_leave_its_range(unit, monkeypatch):
    monkeypatch.setattr(folds, "_SINGLE_ERROR", 0.01)
    z = np.random.default_rng(0).normal(size=(60, 9)) * unit
    found = folds.KernelSums.of(Gaussian(3.0 * unit), z[:20], z, DegreesOfFreedom((2.0,)))
    assert not found.single


def test_rows_far_away_are_numbers_in_single_precision(monkeypatch):
    monkeypatch.setattr(folds, "_SINGLE_ERROR", 0.01)
    z = np.random.default_rng(0).normal(size=(60, 9))
    found = folds.KernelSums.of(Gaussian(3.0), z[:20], z, DegreesOfFreedom((2.0,)))
    assert found.single
    far = np.vstack([z[:2], np.full((1, 9), 1e100), np.full((1, 9), -1e100)])
    near, exact = (found.mapped.features(p) for p in (Pairs(far, z[:20], single=True), Pairs(far, z[:20])))
    np.testing.assert_allclose(near, exact, atol=1e-4)


def test_one_thread_and_many_say_the_same(monkeypatch):
    ensemble, relabellings, _ = bundled_ensemble(monkeypatch, {})
    together = []
    for cores in (1, 4):
        monkeypatch.setattr(_threads, "available_cores", lambda cores=cores: cores)
        together.append(ensemble.heard(relabellings, tuple(FAMILIES), None).together)
    np.testing.assert_array_equal(*together)


def test_the_best_witness_separates_the_samples():
    ensemble, relabellings = prepared({})
    witness = ensemble.best_witness(relabellings)
    h = witness.values(ensemble.rows.take(np.arange(N + M)))
    assert h[:N].mean() > h[N:].mean() + 0.5 * h.std()
