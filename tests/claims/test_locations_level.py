"""Claim: ME and SCF keep the level by permutations, down to few rows; their chi-square null does not.

Rejections lie within exact binomial bounds (each side 1e-4). The search for features is made short here: how long it
looks has nothing to do with the level, because the rows that judge have no part in it.
"""

import numpy as np
import pytest

import oracles
from tellapart import ChiSquared, Permutation, mean_embedding_test, smooth_cf_test
from tellapart.inference.hotelling import Hotelling
from tellapart.witness import locations

DRAWS = 400
TESTS = {"ME": (mean_embedding_test, "locations"), "SCF": (smooth_cf_test, "frequencies")}
KINDS = {
    "normal": lambda rng, n: rng.normal(size=(n, 2)),
    "no mean": lambda rng, n: rng.standard_cauchy(size=(n, 2)),
    "ties": lambda rng, n: rng.integers(3, size=(n, 2)).astype(float),
    "many columns": lambda rng, n: rng.standard_t(3, size=(n, 30)),
}


@pytest.fixture(autouse=True)
def short_search(monkeypatch):
    for name, value in (("_SIZES", 2), ("_DRAWS", 1), ("_STEPS", 3)):
        monkeypatch.setattr(locations, name, value)


def rejections(test, draw, n, m, draws=DRAWS, **options):
    rng = np.random.default_rng([n, m])
    return sum(test(draw(rng, n), draw(rng, m), rng=rng, **options).pvalue <= 0.05 + 1e-12 for _ in range(draws))


@pytest.mark.parametrize(("test", "points"), TESTS.values(), ids=TESTS)
@pytest.mark.parametrize(
    ("kind", "n", "m"),
    [("normal", 8, 12), ("normal", 30, 30), ("no mean", 8, 12), ("ties", 8, 12), ("many columns", 30, 30)],
)
def test_permutations_are_exact(test, points, kind, n, m):
    found = rejections(test, KINDS[kind], n, m, null=Permutation(19), **{points: 2})
    low, high = oracles.binomial_bounds(DRAWS, 0.05)
    assert found <= high
    assert found >= low or kind == "ties" or n + m < 25


def chi_square_rejections(n, features, draws=4000):
    """Normal features of n + n rows that judge, all at once where nothing has to be learned."""
    rng, null = np.random.default_rng([n, features]), ChiSquared()
    labels = np.repeat([[0.5], [-0.5]], n, axis=0)
    values = (rng.normal(size=(2 * n, features)) for _ in range(draws))
    return sum(null.judge(float(Hotelling(phi, 1e-5)(labels)[0]), features).pvalue <= 0.05 for phi in values)


@pytest.mark.parametrize(("n", "least", "most"), [(10, 0.165, 0.21), (20, 0.085, 0.115), (500, 0.04, 0.06)])
def test_chi_square_rejects_too_often_on_few_rows(n, least, most):
    """Documented: 5 normal features, 10 + 10 rows and 20 + 20 rows that judge; on many rows it holds."""
    assert least < chi_square_rejections(n, 5) / 4000 < most


@pytest.mark.parametrize(("n", "least"), [(20, 0.4), (40, 0.15)])
def test_chi_square_rejects_too_often_in_whole_tests(n, least):
    """SCF with its 5 frequencies: 10 features, half of n + n rows judges."""
    found = rejections(smooth_cf_test, KINDS["normal"], n, n, draws=300, null=ChiSquared())
    assert found / 300 > least > oracles.binomial_bounds(300, 0.05)[1] / 300
