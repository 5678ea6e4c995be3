"""P-values as counts."""

import math

import numpy as np
import pytest

from tellapart import permutation_pvalue
from tellapart.inference.pvalue import SMALLEST, paper_pvalue, reaches, stopped_pvalue, tail_pvalue


@pytest.mark.parametrize(
    ("statistic", "drawn", "pvalue"),
    [
        (2.0, [1.0, 1.0, 1.0], 1 / 4),
        (1.0, [1.0, 1.0, 1.0], 1.0),
        (1.0, [0.0, 1.0, 2.0], 3 / 4),
        (-1.0, [0.0], 1.0),
        (0.3, [0.1 + 0.2], 1.0),
        (1e-300, [2e-300, 0.0], 2 / 3),
        (math.inf, [0.0, math.inf], 2 / 3),
    ],
)
def test_counts_with_the_observed_value_and_ties_speak_for_the_null(statistic, drawn, pvalue):
    assert permutation_pvalue(statistic, drawn) == pytest.approx(pvalue)


def test_rank_of_exchangeable_values_is_uniform_exactly():
    """Over all B + 1 cyclic choices of the observed value, p takes each of 1/(B+1), ..., 1 once."""
    values = np.random.default_rng(0).normal(size=20)
    pvalues = [permutation_pvalue(values[i], np.delete(values, i)) for i in range(20)]
    np.testing.assert_allclose(np.sort(pvalues), np.arange(1, 21) / 20)


@pytest.mark.parametrize(
    ("drawn", "message"),
    [([], "at least one value"), ([[1.0]], "must be a vector"), ([1.0, math.nan], "must not contain NaN")],
)
def test_bad_null_distributions_are_refused(drawn, message):
    with pytest.raises(ValueError, match=message):
        permutation_pvalue(0.0, drawn)


def test_what_is_no_number_is_refused_by_name():
    with pytest.raises(TypeError, match="`statistic` must be a real number, got 'a'"):
        permutation_pvalue("a", [1.0])
    with pytest.raises(TypeError, match="`null_distribution` must hold real numbers"):
        permutation_pvalue(0.0, ["a"])


def test_stopping_early_uses_only_what_was_drawn():
    reached = np.array([True, True, False, True, False, True])
    assert stopped_pvalue(reached, 3) == (3 / 4, 4)
    assert stopped_pvalue(reached[:4], 3) == stopped_pvalue(reached, 3)
    assert stopped_pvalue(np.zeros(9, dtype=bool), 3) == (1 / 10, 9)


def test_besag_clifford_keeps_the_level_exactly():
    """P(p <= a) <= a for every attainable a, by integrating over the unknown tail probability, which is uniform."""
    stop_after, most = 3, 12
    tails = (np.arange(200_000) + 0.5) / 200_000  # P(a draw reaches the observed value): uniform under the null
    rng = np.random.default_rng(1)
    reached = rng.random((len(tails), most)) < tails[:, None]
    pvalues = np.array([stopped_pvalue(row, stop_after)[0] for row in reached])
    for level in np.unique(pvalues):
        share = np.mean(pvalues <= level + 1e-12)
        assert share <= level + 4 * np.sqrt(level * (1 - level) / len(tails))


def test_no_pvalue_is_zero_but_the_papers():
    assert tail_pvalue(-1e6) == SMALLEST > 0
    assert tail_pvalue(0.5) == 1.0
    assert paper_pvalue(reaches(np.array([0.0, 1.0]), 2.0)) == 0.0
