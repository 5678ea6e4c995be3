"""Hashed runs of characters against counting them one by one, and their directions against all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tellapart.tables.runs import BUCKETS, hashed, placed, principal

TEXTS = ["The export is slow", "the  export is slow", "a", "", "höhe \U0001f600 x", "half \ud800 a pair", "is is is"]


def counted(text):
    """Runs within words, each with one space around it, in a plain loop."""
    found = {}
    for word in text.lower().split():
        padded = f" {word} "
        for length in (2, 3, 4):
            for start in range(len(padded) - length + 1):
                run = padded[start : start + length]
                found[run] = found.get(run, 0) + 1
    return found


def test_runs_are_counted_as_in_a_loop():
    rows = hashed(TEXTS).toarray()
    assert rows.shape == (len(TEXTS), BUCKETS)
    for text, row in zip(TEXTS, rows, strict=True):
        expected = np.sort(np.array(list(counted(text).values()), dtype=float))
        if len(expected) == (row > 0).sum():  # no two runs share a bucket
            assert_allclose(np.sort(row[row > 0]), expected / np.linalg.norm(expected))
    assert sum(len(counted(text)) == (row > 0).sum() for text, row in zip(TEXTS, rows, strict=True)) >= 4
    assert_array_equal(rows[0], rows[1])
    assert not rows[3].any()


def test_texts_do_not_see_their_neighbours():
    together = hashed(TEXTS).toarray()
    for i, text in enumerate(TEXTS):
        assert_array_equal(hashed([text]).toarray()[0], together[i])
    directions = np.random.default_rng(0).normal(size=(BUCKETS, 3))
    assert_allclose(placed(TEXTS * 2000, directions)[-len(TEXTS) :], together @ directions, atol=1e-12)
    assert placed([], directions).shape == (0, 3)


@pytest.mark.parametrize("width", [1, 4])
def test_principal_directions_are_those_of_the_whole_decomposition(width):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["export", "slow", "login", "button", "help"], 3)) for _ in range(200)]
    rows = hashed(texts)
    found, expected = principal(rows, width), np.linalg.svd(rows.toarray(), full_matrices=False)[2][:width]
    assert_allclose(np.abs(np.diag(expected @ found)), 1, atol=1e-3)
