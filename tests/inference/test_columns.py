"""The rank table says of every row what the rank map says."""

import numpy as np
import pytest

from tellapart.inference.columns import DEGREES, RankMap, RankTable
from tellapart.inference.voices import PairVoice


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


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_of_columns_one_by_one_and_together(weighted):
    rng = np.random.default_rng(4)
    first, y = rng.normal(size=(30, 4)), rng.normal(size=(30, 7))
    root = rng.uniform(0.5, 2.0, 30) if weighted else None
    voice = PairVoice(first, root)
    values = voice.values(y)
    entries = y if root is None else y * root[:, None]
    expected = {
        (i, j): [abs(sum(first[r, i] * first[r, j] * entries[r, b] for r in range(30))) for b in range(7)]
        for i in range(4)
        for j in range(i + 1, 4)
    }
    names = [(row.column, row.partner) for row in voice.rows[1:]]
    np.testing.assert_allclose(values[1:], [expected[name] for name in names], rtol=1e-12)
    np.testing.assert_allclose(values[0], np.square([*expected.values()]).sum(axis=0), rtol=1e-12)


def test_columns_that_complement_each_other_are_no_pair():
    rng = np.random.default_rng(5)
    marks = np.sign(rng.normal(size=200))
    y = rng.normal(size=(200, 5))
    y -= y.mean(axis=0)
    values = PairVoice(np.column_stack([marks, -marks, rng.normal(size=200)]), None).values(y)
    assert (values[1] == 0).all()
    assert (values[2:] > 0).all()
    np.testing.assert_allclose(values[0], (values[2:] ** 2).sum(axis=0))
