"""The rank table says of every row what the rank map says."""

import numpy as np
import pytest

from tellapart.inference.columns import DEGREES, RankMap, RankTable


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.standard_cauchy(size=(n, 4)),
        lambda rng, n: rng.integers(3, size=(n, 4)).astype(float),
        lambda rng, n: np.column_stack(
            [np.ones(n), rng.integers(2, size=n), rng.normal(size=n), np.arange(n) * 1e-300]
        ),
    ],
    ids=["heavy tails", "ties", "mixed"],
)
def test_what_is_looked_up_is_what_is_computed(draw):
    rng = np.random.default_rng(0)
    reference = draw(rng, 50)
    rows = np.concatenate([reference, draw(rng, 200), [[np.inf] * 4, [-np.inf] * 4, [0.5] * 4]])
    ranks = RankMap.of(reference)
    found = RankTable.of(ranks).looked_up(rows)
    polynomials = found[:, :, :DEGREES].transpose(0, 2, 1).reshape(len(rows), -1)
    np.testing.assert_array_equal(polynomials, ranks.polynomials(rows))
    np.testing.assert_array_equal(found[:, :, DEGREES], ranks.normal_scores(rows))


def test_neighbouring_floats_are_told_apart():
    below = np.nextafter(1.0, 0.0)
    reference = np.array([[below], [1.0], [1.0], [2.0]])
    ranks = RankMap.of(reference)
    rows = np.array([[below], [1.0], [np.nextafter(below, 0)], [np.nextafter(1.0, 2)]])
    np.testing.assert_array_equal(RankTable.of(ranks).looked_up(rows)[:, 0, DEGREES], ranks.normal_scores(rows)[:, 0])
