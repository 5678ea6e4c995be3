"""Claim: every null keeps its level. Simulated rejections lie within exact binomial bounds (each side 1e-4).

Rows: the values of a fixed witness under the null hypothesis, down to 5 rows of a sample. Normal is asymptotic: its
Student form is claimed for values that are themselves nearly normal at any size, and for the others with many rows;
that the theorem to the letter over-rejects on few rows is claimed too, because the documents say so.
"""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import oracles
from tellapart import Fisher, FromEstimator, Normal, Permutation, Saddlepoint, Select, witness_test
from tellapart.datasets import blobs
from tellapart.kernels import Gaussian

LEVELS = (0.01, 0.05, 0.1)
DRAWS = 2000

VALUES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.exponential(size=n),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=n),
    "no mean": lambda rng, n: rng.standard_cauchy(size=n),
    "ties": lambda rng, n: rng.integers(3, size=n).astype(float),
    "rare": lambda rng, n: (rng.random(n) < 0.1) * (1 + 0.3 * rng.random(n)),
}
SIZES = [(5, 5), (5, 12), (7, 60), (40, 20), (150, 100)]
DISCRETE = ("ties", "rare")


def pvalues(null, values, n, m, draws=DRAWS, seed=0):
    rng = np.random.default_rng([seed, n, m])
    return np.array([null.judge(values(rng, n), values(rng, m), rng).pvalue for _ in range(draws)])


def assert_level(p, two_sided, levels=LEVELS):
    for level in levels:
        low, high = oracles.binomial_bounds(len(p), level)
        rejections = int((p <= level + 1e-12).sum())
        assert rejections <= high, f"{rejections} of {len(p)} at level {level}, at most {high} are believable"
        assert not two_sided or rejections >= low, f"{rejections} of {len(p)} at level {level}, at least {low}"


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_permutation(values, n, m):
    p = pvalues(Permutation(199), VALUES[values], n, m)
    assert_level(p, two_sided=values not in DISCRETE and n + m > 12)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_saddlepoint(values, n, m):
    p = pvalues(Saddlepoint(), VALUES[values], n, m)
    assert_level(p, two_sided=values not in DISCRETE and n + m > 12)


@pytest.mark.parametrize("values", ["normal", "ties", "no mean"])
def test_early_stopping(values):
    assert_level(pvalues(Permutation(999, stop_after=10), VALUES[values], 8, 13), two_sided=False)


@pytest.mark.parametrize("values", ["normal", "heavy tails", "ties"])
def test_rotations(values, monkeypatch):
    """The path of large samples, on few rows where thousands of draws are possible."""
    from tellapart.inference import relabel

    monkeypatch.setattr(relabel, "_ROTATE_FROM", 0)
    assert_level(pvalues(Permutation(19), VALUES[values], 16, 24), two_sided=False)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_students_t_on_nearly_normal_values(n, m):
    assert_level(pvalues(Normal(), VALUES["normal"], n, m), two_sided=min(n, m) > 5)


@pytest.mark.parametrize("null", [Normal(), Normal(student=False)], ids=repr)
@pytest.mark.parametrize("values", ["normal", "skewed", "ties"])
def test_normal_on_many_rows(null, values):
    assert_level(pvalues(null, VALUES[values], 600, 600), two_sided=True)


def test_the_theorem_to_the_letter_rejects_too_often_on_few_rows():
    """Documented: with 5 rows on each side the normal rejects nearly twice as often as it says."""
    p = pvalues(Normal(student=False), VALUES["normal"], 5, 5)
    assert 0.08 < np.mean(p <= 0.05) < 0.11


def test_the_papers_count_over_b_exceeds_the_level_and_ours_does_not():
    values, draws = VALUES["normal"], 4000
    paper = pvalues(Permutation(20, count="paper"), values, 20, 20, draws)
    assert np.mean(paper <= 0.05) > oracles.binomial_bounds(draws, 0.05)[1] / draws  # 2 / 21 = 0.095
    ours = pvalues(Permutation(19), values, 20, 20, draws)
    assert_level(ours, two_sided=True, levels=(0.05, 0.1))


def null_pair(kind, rng):
    if kind == "blobs":
        return blobs(40, 30, rng=rng)
    if kind == "many columns":
        return rng.standard_t(3, size=(16, 40)), rng.standard_t(3, size=(24, 40))
    if kind == "5 + 6 rows":
        return rng.normal(size=(5, 2)), rng.normal(size=(6, 2))
    if kind == "rare events":
        return rng.random((12, 1)) < 0.1, rng.random((15, 1)) < 0.1
    return rng.integers(3, size=(60, 2)), rng.integers(3, size=(8, 2))  # "counts, 60 : 8"


@pytest.mark.parametrize("kind", ["blobs", "many columns", "counts, 60 : 8", "5 + 6 rows", "rare events"])
@pytest.mark.parametrize("learner", [Select(), Fisher(Gaussian("median"), 1e-4)], ids=["select", "overfitted"])
def test_whole_tests_keep_the_level_whatever_is_learned(kind, learner):
    rng = np.random.default_rng(1)
    p = np.array(
        [
            witness_test(*null_pair(kind, rng), learner=learner, null=Permutation(99), rng=rng).pvalue
            for _ in range(DRAWS)
        ]
    )
    assert_level(p, two_sided=kind == "blobs")


@pytest.mark.parametrize("output", ["class", "logit"])
@pytest.mark.parametrize(("n", "m"), [(8, 14), (40, 40)])
def test_classifier_tests_keep_the_level(output, n, m):
    """C2ST-S and C2ST-L; the accuracy has few values, so that ties make it conservative."""
    rng, draws = np.random.default_rng([n, m]), 1000
    learner = FromEstimator(GaussianNB(), output=output)
    p = np.array(
        [
            witness_test(
                rng.normal(size=(n, 2)), rng.normal(size=(m, 2)), learner=learner, null=Permutation(19), rng=rng
            ).pvalue
            for _ in range(draws)
        ]
    )
    assert_level(p, two_sided=output == "logit" and n == 40, levels=(0.05, 0.1))


def test_pvalues_of_a_whole_test_are_uniform():
    rng = np.random.default_rng(2)
    p = np.sort(
        [witness_test(*blobs(30, rng=rng), learner=Fisher(Gaussian(0.3), 0.1), null=Saddlepoint(), rng=rng).pvalue
         for _ in range(DRAWS)]
    )  # fmt: skip
    distance = np.abs(p - (np.arange(DRAWS) + 0.5) / DRAWS).max()
    assert distance < 2.2 / np.sqrt(DRAWS)  # Kolmogorov's bound at 1e-4
