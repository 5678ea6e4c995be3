"""Claim: the test without a split keeps its level on every path. The full campaign is `python -m benchmarks.levels`."""

import numpy as np
import pytest

import oracles
from null_paths import PATHS, Skipped, pvalues

# Every path on one kind of data, and where rounding could be taken for a difference.
CELLS = [
    ("exact kernel matrices", "heavy tails", 600),
    ("exact kernel matrices", "10 : 1", 600),
    ("low-rank features", "40 columns", 600),
    ("early stopping", "ties", 600),
    ("rotations", "ties", 600),
    ("groups", "binary columns", 600),
    ("pairs", "heavy tails", 600),
    ("strata", "10 : 1", 600),
    ("blocks", "ties", 600),
    ("weights", "binary columns", 600),
    ("refit", "heavy tails", 300),
    ("prequential", "binary columns", 600),
    ("many samples", "ties", 600),
    ("one pass in folds", "10 : 1", 600),
    ("one pass in folds", "balanced design", 200),
    ("bundles in folds", "ties", 400),
    ("bundles in folds", "balanced design", 200),
    ("defaults", "equidistant rows", 60),
    ("defaults", "one binary column", 60),
    ("low-rank features", "balanced design", 200),
    ("exact kernel matrices", "balanced design", 200),
    ("rotations", "equidistant rows", 200),
    ("pairs", "equidistant rows", 200),
]


def test_no_path_is_forgotten():
    assert {path for path, _, _ in CELLS} | {"one short block"} == set(PATHS)  # that one takes thousands of draws


@pytest.mark.parametrize(("path", "kind", "trials"), CELLS)
def test_level(path, kind, trials):
    try:
        p = pvalues(path, kind, range(trials))
    except Skipped as reason:
        pytest.skip(str(reason))
    for level in (0.01, 0.05, 0.2):
        assert np.sum(p <= level + 1e-12) <= oracles.binomial_bounds(trials, level)[1], level
