"""One reduction, many ridges: every route solves the same systems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.witness import shifted
from tellapart.witness.shifted import RidgeTooSmall, solve_shifted

RIDGES = (1e-6, 1e-3, 1.0, 1e3)


def problem(n, decay, seed):
    """A positive semidefinite matrix with eigenvalues 1, decay, decay^2, ... and a vector."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    a = (q * decay ** np.arange(n)) @ q.T
    return (a + a.T) / 2, rng.normal(size=n)


def backward_errors(a, b, x):
    """Residuals relative to what rounding must leave: ||b - (A + r) x|| / (||A|| ||x|| + ||b||)."""
    size = np.linalg.norm(a, 2)
    return [
        np.linalg.norm(b - a @ xi - r * xi) / ((size + r) * np.linalg.norm(xi) + np.linalg.norm(b))
        for xi, r in zip(x, RIDGES, strict=True)
    ]


@given(st.integers(1, 30), st.floats(0.3, 1.0), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_householder_agrees_with_dense_solves(n, decay, seed):
    a, b = problem(n, decay, seed)
    found = solve_shifted(a.copy(), b, RIDGES)
    for x, ridge in zip(found, RIDGES, strict=True):
        np.testing.assert_allclose(x, np.linalg.solve(a + ridge * np.eye(n), b), rtol=1e-8, atol=1e-9 / ridge * 1e-6)


@pytest.mark.parametrize("decay", [0.5, 0.9, 0.97, 1.0])
def test_householder_is_backward_stable(decay):
    a, b = problem(400, decay, 1)
    assert max(backward_errors(a, b, shifted._householder(a.copy(), b, RIDGES))) < 1e-13


@pytest.mark.parametrize("decay", [0.3, 0.5, 0.7, 0.9999, 1.0])
def test_lanczos_is_backward_stable_where_it_converges(decay):
    a, b = problem(400, decay, 1)
    found = shifted._lanczos(a.copy(), b, RIDGES)
    assert max(backward_errors(a, b, found)) < 1e-13


def test_lanczos_is_used_and_agrees_on_many_rows(monkeypatch):
    a, b = problem(900, 0.8, 2)
    used = []
    monkeypatch.setattr(shifted, "_householder", lambda *args: used.append("householder"))
    found = solve_shifted(a.copy(), b, RIDGES)
    assert not used
    for x, ridge in zip(found, RIDGES, strict=True):
        np.testing.assert_allclose(x, np.linalg.solve(a + ridge * np.eye(900), b), rtol=1e-7, atol=1e-9)


def test_lanczos_gives_up_where_householder_is_cheaper():
    a, b = problem(300, 0.95, 3)  # a broad spectrum: no small Krylov space holds the solution
    assert shifted._lanczos(a, b, RIDGES) is None


@pytest.mark.parametrize("ridges", [(1.0,), (1e-3, 1.0), RIDGES])
def test_a_zero_right_hand_side_has_the_zero_solution(ridges):
    a, _ = problem(5, 0.5, 0)
    np.testing.assert_array_equal(solve_shifted(a, np.zeros(5), ridges), np.zeros((len(ridges), 5)))


@pytest.mark.parametrize("ridges", [(1e-18,), (1e-18, 1e-3, 1e-2, 1e-1, 1.0)])
def test_a_ridge_below_rounding_is_refused(ridges):
    a, b = problem(20, 0.3, 4)
    with pytest.raises(RidgeTooSmall, match="larger than the rounding of the kernel matrix"):
        solve_shifted(a, b, ridges)
