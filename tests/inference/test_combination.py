"""Scores of values among the other values of their row."""

import numpy as np
import pytest
from scipy.stats import skew

from tellapart.inference.combination import skewed_scores, standard_scores


def one_by_one(row):
    """Standard scores and skewnesses, each from a row without the value."""
    rests = [np.delete(row, i) for i in range(len(row))]
    return [(v - r.mean()) / r.std() for v, r in zip(row, rests, strict=True)], [skew(r) for r in rests]


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_each_value_is_scored_by_the_others(scale):
    rows = np.random.default_rng(0).gamma(1.0, size=(3, 60))
    rows[0, 7] = 20.0  # would be its own yardstick
    rows[2] = -rows[2]
    z = standard_scores(scale * rows)
    expected = [one_by_one(row) for row in rows]
    np.testing.assert_allclose(z, np.clip([e[0] for e in expected], -40, 40), rtol=1e-9)
    shape = 4 / np.array([e[1] for e in expected]) ** 2
    wanted = 3 * np.sqrt(shape) * (np.cbrt(np.maximum(1 + z / np.sqrt(shape), 0)) - 1 + 1 / (9 * shape))
    np.testing.assert_allclose(skewed_scores(scale * rows)[:2], wanted[:2], rtol=1e-7)
    np.testing.assert_array_equal(skewed_scores(scale * rows)[2], z[2])  # skewed to the left: no end of the tail


def test_a_value_alone_among_equals_is_loud_and_constant_rows_are_silent():
    rows = np.array([[0.0, 0.0, 0.0, 1e-200], [0.0, 0.0, 0.0, 1.0], [0.3, 0.3, 0.3, 0.3 + 1e-16]])
    for scores in (standard_scores(rows), skewed_scores(rows)):
        np.testing.assert_array_equal(scores[:2, 3], 40.0)
        assert (np.abs(scores[:2, :3]) < 1).all()
        np.testing.assert_array_equal(scores[2], 0.0)


def test_relabelling_the_values_relabels_the_scores():
    rows, order = np.random.default_rng(1).gamma(2.0, size=(4, 50)), np.random.default_rng(2).permutation(50)
    np.testing.assert_allclose(skewed_scores(rows[:, order]), skewed_scores(rows)[:, order], rtol=1e-9)
