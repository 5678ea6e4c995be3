"""Who learns, who judges: disjoint, complete, and blind to everything but the number of rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tellapart import witness_test
from tellapart.samples import Samples
from tellapart.split import no_split, split_samples, training_size


def numbered(n, m):
    """Samples whose only column says where the row stands."""
    return Samples(np.arange(float(n))[:, None], 1000 + np.arange(float(m))[:, None])


SHARES = st.floats(0.001, 0.999)
SIZES = st.integers(4, 60)


@given(n=SIZES, m=SIZES, share=SHARES, seed=st.integers(0, 2**32))
def test_random_split(n, m, share, seed):
    samples = numbered(n, m)
    split = split_samples(samples, share, np.random.default_rng(seed))
    assert_array_equal(np.sort(np.concatenate([split.train.x, split.test.x]), axis=0), samples.x)
    assert_array_equal(np.sort(np.concatenate([split.train.y, split.test.y]), axis=0), samples.y)
    assert (split.train.n, split.train.m) == (training_size(n, share), training_size(m, share))
    assert min(split.train.n, split.train.m, split.test.n, split.test.m) >= 2
    assert_array_equal(samples.x[split.train_rows[0]], split.train.x)
    assert_array_equal(samples.y[split.test_rows[1]], split.test.y)


@given(size=SIZES, share=SHARES)
def test_training_rows_are_rounded_up(size, share):
    inside = min(max(share * size, 2), size - 2)
    assert inside - 1e-6 <= training_size(size, share) < inside + 1


@pytest.mark.parametrize(
    ("size", "share", "expected"),
    [
        (100, 0.5, 50),
        (101, 0.5, 51),
        (30, 0.1, 3),
        (10, 0.3, 3),
        (10, 0.31, 4),
        (100, 0.001, 2),
        (5, 0.9, 3),
        (4, 0.5, 2),
    ],
)
def test_training_size(size, share, expected):
    assert training_size(size, share) == expected


def test_same_rng_same_split():
    first, again, other = (
        split_samples(numbered(30, 20), 0.5, np.random.default_rng(seed)).train_rows for seed in (1, 1, 2)
    )
    for a, b, c in zip(first, again, other, strict=True):
        assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_every_row_is_as_likely_to_learn():
    rng = np.random.default_rng(0)
    learned = np.zeros(10)
    for _ in range(2000):
        learned[split_samples(numbered(10, 4), 0.3, rng).train_rows[0]] += 1
    assert np.abs(learned - 600).max() < 5 * math.sqrt(2000 * 0.3 * 0.7)


@pytest.mark.parametrize("kind", [np.asarray, list, tuple, lambda rows: np.isin(np.arange(8), rows)])
def test_given_training_rows(kind):
    samples = numbered(8, 8)
    split = split_samples(samples, (kind([1, 4, 6]), kind([0, 7])), np.random.default_rng(0))
    assert_array_equal(split.train.x.ravel(), [1, 4, 6])
    assert_array_equal(split.train.y.ravel(), [1000, 1007])
    assert_array_equal(split.test.x.ravel(), [0, 2, 3, 5, 7])
    assert_array_equal(split.test_rows[1], [1, 2, 3, 4, 5, 6])


def test_given_training_rows_keep_their_order():
    split = split_samples(numbered(6, 6), ([4, 0, 2], [5, 1]), np.random.default_rng(0))
    assert_array_equal(split.train.x.ravel(), [4, 0, 2])


def test_no_split_lets_every_row_judge():
    samples = numbered(5, 3)
    split = no_split(samples)
    assert_array_equal(split.test.pooled, samples.pooled)
    assert (split.train.n, split.train.m) == (0, 0)


GOOD = [0, 1, 2]


@pytest.mark.parametrize(
    ("train_share", "message"),
    [
        (0, "strictly between 0 and 1, got 0.*usual choice is 0.5"),
        (1.0, "strictly between 0 and 1, got 1.0"),
        (-0.5, "strictly between"),
        (math.nan, "got nan"),
        ("half", "got 'half'"),
        (None, "got None"),
        ((0.5,), "one share or two arrays of training rows, got 1 items"),
        ((GOOD, GOOD, GOOD), "got 3 items"),
        (([0, 1, 8], GOOD), r"`x` must be distinct and within 0\.\.7"),
        ((GOOD, [-1, 1, 2]), "`y` must be distinct and within"),
        (([0, 0, 1], GOOD), "`x` must be distinct"),
        ((GOOD, [0.0, 1.0]), "`y` must be indices or a mask of length 8, got float64"),
        ((GOOD, [True, False]), r"`y` must be indices or a mask of length 8, got bool of shape \(2,\)"),
        (([GOOD], GOOD), r"`x` must be indices .* got int64 of shape \(1, 3\)"),
        (([0], GOOD), "`x` must keep at least 2 rows on either side, got 1 training rows of 8"),
        ((GOOD, np.arange(7)), "`y` must keep at least 2 rows on either side, got 7 training rows of 8"),
        ((np.zeros(8, bool), GOOD), "`x` must keep at least 2 rows on either side, got 0"),
    ],
)
def test_bad_shares(train_share, message):
    x = np.arange(8.0)
    with pytest.raises(ValueError, match=rf"`train_share`.*{message}"):
        witness_test(x, x, train_share=train_share)


@pytest.mark.parametrize("split", [lambda s: split_samples(s, 0.5, np.random.default_rng(0)), no_split])
def test_too_few_rows_name_their_sample(split):
    with pytest.raises(ValueError, match=r"`y` must have at least \d rows"):
        split(numbered(8, 1))
