"""The statistics of the classical tests, compared with explicit features, double loops and plain solves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from tellapart.inference import classical_statistics
from tellapart.inference.classical_statistics import KernelFisher, SquaredMMD, centred
from tellapart.inference.exchange import Exchange
from tellapart.inference.pvalue import reaches
from tellapart.kernels import Gaussian

SIZES = [(6, 6), (4, 9), (9, 4), (20, 25), (3, 30)]  # alike, both ways round, and very different
DRAWS = 6


def problem(n, m, columns=4, seed=0, draws=DRAWS):
    rng = np.random.default_rng([n, m, seed])
    phi = rng.normal(size=(n + m, columns)) + 2.0
    return phi, Exchange.of(n, m).relabellings(draws, rng)


def mmd_by_loops(k, first, unbiased):
    """Mean of k within P, plus within Q, minus twice between: one pair at a time."""
    p, q = np.flatnonzero(first), np.flatnonzero(~first)

    def within(rows):
        kept = [k[i, j] for i in rows for j in rows if i != j or not unbiased]
        return sum(kept) / len(kept)

    return within(p) + within(q) - 2 * sum(k[i, j] for i in p for j in q) / (len(p) * len(q))


def fisher_by_features(phi, first, ridge, weighting):
    """``d' (Sigma + ridge)^-1 d`` with explicit features, and the witness that attains it."""
    p, q, c = phi[first], phi[~first], first.mean()
    d = p.mean(axis=0) - q.mean(axis=0)
    weights = (1 / c, 1 / (1 - c)) if weighting == "paper" else (1 / (1 - c), 1 / c)
    sigma = sum(w * np.cov(z.T, bias=True) for w, z in zip(weights, (p, q), strict=True)) + ridge * np.eye(len(d))
    witness = oracles.solve(sigma, d).astype(float)
    return d @ witness, witness, d, sigma


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_squared_mmd_is_the_double_loop(n, m, estimator):
    phi, y = problem(n, m)
    k = Gaussian(1.0)(phi, phi)
    expected = [mmd_by_loops(k, column > 0, estimator == "unbiased") for column in y.T]
    np.testing.assert_allclose(SquaredMMD(centred(k.copy()), estimator)(y), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ridge", [1e-4, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("weighting", ["pooled", "paper"])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_kernel_fisher_is_the_primal_form(n, m, weighting, ridge):
    phi, y = problem(n, m)
    expected = [fisher_by_features(phi, column > 0, ridge, weighting)[0] for column in y.T]
    np.testing.assert_allclose(KernelFisher(centred(phi @ phi.T), ridge, weighting)(y), expected, rtol=1e-9)


@given(
    n=st.integers(2, 12),
    m=st.integers(2, 12),
    columns=st.integers(2, 20),
    exponent=st.floats(-3, 3),
    seed=st.integers(0, 2**32),
)
def test_kernel_fisher_over_random_shapes(n, m, columns, exponent, seed):
    phi, y = problem(n, m, columns, seed, draws=1)
    for weighting in ("pooled", "paper"):
        expected = [fisher_by_features(phi, column > 0, 10**exponent, weighting)[0] for column in y.T]
        np.testing.assert_allclose(KernelFisher(centred(phi @ phi.T), 10**exponent, weighting)(y), expected, rtol=1e-8)


def test_kernel_fisher_is_the_fisher_witness_judged_on_its_own_rows():
    """`ridge` is that of ``Fisher(ridge=...)``: d . h of the witness h that the paper's formula gives."""
    n, m, ridge = 7, 12, 0.03
    phi, y = problem(n, m)
    k = Gaussian(2.0)(phi, phi)
    h = np.asarray(k @ oracles.fisher_alpha(k, n, ridge), dtype=float)
    assert KernelFisher(centred(k.copy()), ridge, "paper")(y)[0] == pytest.approx(h[:n].mean() - h[n:].mean(), rel=1e-9)


@pytest.mark.parametrize("weighting", ["pooled", "paper"])
def test_no_witness_has_a_larger_signal_to_noise_ratio(weighting):
    phi, y = problem(6, 10)
    largest = KernelFisher(centred(phi @ phi.T), 0.1, weighting)(y[:, :1])[0]
    _, best, d, sigma = fisher_by_features(phi, y[:, 0] > 0, 0.1, weighting)
    rng = np.random.default_rng(1)
    for f in (best, *(best + rng.normal(size=best.shape) for _ in range(50))):
        assert (f @ d) ** 2 / (f @ sigma @ f) <= largest * (1 + 1e-9)
    assert (best @ d) ** 2 / (best @ sigma @ best) == pytest.approx(largest)


@pytest.mark.parametrize(("n", "m"), [(15, 15), (12, 20)])
def test_pooled_pvalues_are_those_of_the_total_scatter(n, m):
    """The scatter within samples follows from the total one, so the fitted values of all labels rank alike."""
    phi, y = problem(n, m, draws=400)
    k, g, ridge = centred(Gaussian(2.0)(phi, phi)), n * m / (n + m), 0.05
    w, u = np.linalg.eigh(k)
    total = (w / (w + ridge * g)) @ (u.T @ y) ** 2 / g
    t = KernelFisher(k, ridge)(y)
    np.testing.assert_array_equal(np.argsort(total), np.argsort(t))
    np.testing.assert_allclose(t, total / (1 - total), rtol=1e-9)


def test_for_equal_sizes_the_weightings_agree_and_so_do_the_estimators():
    phi, y = problem(15, 15, draws=99)
    k = centred(Gaussian(2.0)(phi, phi))
    np.testing.assert_array_equal(KernelFisher(k.copy(), 0.1, "paper")(y), KernelFisher(k.copy(), 0.1, "pooled")(y))
    np.testing.assert_array_equal(np.argsort(SquaredMMD(k, "unbiased")(y)), np.argsort(SquaredMMD(k)(y)))


def test_a_large_ridge_is_the_squared_mmd():
    phi, y = problem(9, 14, draws=50)
    k = centred(Gaussian(2.0)(phi, phi))
    for weighting in ("pooled", "paper"):
        t = KernelFisher(k.copy(), 1e12, weighting)(y)
        np.testing.assert_allclose(1e12 * t, SquaredMMD(k)(y), rtol=1e-8)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.3, 0.35, 0.45, 0.49])
@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 10.0])
def test_both_ways_of_solving_agree_at_any_share(share, ridge, monkeypatch):
    n = round(100 * share)
    phi, y = problem(n, 100 - n, draws=5)
    k = centred(Gaussian(1.0)(phi, phi))
    found = []
    for together_from in (0.0, 1.0):
        monkeypatch.setattr(classical_statistics, "_TOGETHER_FROM", together_from)
        found.append(KernelFisher(k.copy(), ridge, "paper")(y))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_groups_of_different_sizes_have_their_own_shares():
    phi, _ = problem(8, 11)
    groups = ([0, 0, 0, 1, 2, 2, 3, 3], [4, 4, 4, 4, 5, 6, 6, 7, 7, 7, 8])
    y = Exchange.of(8, 11, groups=groups).relabellings(12, np.random.default_rng(0))
    assert len(np.unique((y > 0).sum(axis=0))) > 3
    for weighting in ("pooled", "paper"):
        expected = [fisher_by_features(phi, column > 0, 0.1, weighting)[0] for column in y.T]
        np.testing.assert_allclose(KernelFisher(centred(phi @ phi.T), 0.1, weighting)(y), expected, rtol=1e-9)
    k = phi @ phi.T
    expected = [mmd_by_loops(k, column > 0, True) for column in y.T]
    np.testing.assert_allclose(SquaredMMD(centred(k.copy()), "unbiased")(y), expected, rtol=1e-9, atol=1e-12)


def test_a_group_of_one_row_leaves_no_pair():
    y = Exchange.of(3, 2, groups=([0, 0, 0], [1, 2])).relabellings(20, np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs 2 rows of each sample in every relabelling"):
        SquaredMMD(np.eye(5), "unbiased")(y)


@pytest.mark.parametrize("statistic", [SquaredMMD, lambda k: KernelFisher(k, 1e-2), lambda k: KernelFisher(k, 1e-6)])
def test_relabellings_that_change_nothing_are_ties(statistic):
    """Rows of three kinds, six times each: rounding must not tell apart what is the same."""
    kinds = np.repeat([[0.0, 1.0], [1.0, 0.3], [0.1, 0.2]], 6, axis=0)[np.random.default_rng(0).permutation(18)]
    y = Exchange.of(9, 9).relabellings(300, np.random.default_rng(1))
    t = statistic(centred(Gaussian(0.7)(kinds, kinds)))(y)
    for column in range(20):
        same = [
            b
            for b in range(301)
            if sorted(map(tuple, kinds[y[:, b] > 0])) == sorted(map(tuple, kinds[y[:, column] > 0]))
        ]
        np.testing.assert_allclose(t[same], t[column], rtol=1e-10, atol=1e-10 * t.max())
        assert reaches(t, t[column])[same].all()


def test_bad_ridges_and_kernels_are_refused():
    k = centred(Gaussian(1.0)(*[np.arange(12.0)[:, None]] * 2))
    _, y = problem(6, 6)
    with pytest.raises(ValueError, match="`ridge` must be larger than the rounding of the kernel matrix"):
        KernelFisher(k.copy(), 1e-30)(y)
    with pytest.raises(ValueError, match="`kernel` must be positive semidefinite"):
        KernelFisher(-1e3 * k, 1e-2)(y)
