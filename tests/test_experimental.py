"""What is left if one column had not changed."""

import numpy as np
import pandas as pd
import pytest

import oracles
from tellapart import Permutation
from tellapart.experimental import given

FEW = {"null": Permutation(19), "families": ("single columns", "linear")}


def follows(rng, n, shift, extra=0.0):
    """A second column and a third that depend on the level of the first only."""
    site = rng.choice(4, n, p=[0.1, 0.2, 0.3, 0.4] if shift else [0.4, 0.3, 0.2, 0.1])
    return pd.DataFrame(
        {"site": [f"s{v}" for v in site], "a": site + rng.normal(size=n) + extra, "b": rng.normal(size=n)}
    )


def test_the_level_given_a_column_that_explains_everything():
    rejected = 0
    for trial in range(150):
        rng = np.random.default_rng([1, trial])
        rejected += given(follows(rng, 40, False), follows(rng, 50, True), "site", rng=rng, **FEW).pvalue <= 0.05
    least, most = oracles.binomial_bounds(150, 0.05)
    assert least <= rejected <= most


def test_what_a_column_does_not_explain_is_found():
    rng = np.random.default_rng(0)
    x, y = follows(rng, 100, False), follows(rng, 100, True, extra=1.0)
    assert given(x, y, "site", rng=0, **FEW).pvalue == 0.05
    assert given(x, y, "site", rng=0, **FEW).exchanged == "rows within strata"
    x, y = x[["a", "b"]].to_numpy(), y[["a", "b"]].to_numpy()
    assert given(x, y, 1, bins=3, rng=0, **FEW).pvalue == 0.05


def test_missing_values_and_other_kinds_of_columns_are_strata():
    rng = np.random.default_rng(0)
    x, y = follows(rng, 30, False), follows(rng, 30, True)
    x.loc[:4, "site"] = None
    y["b"] = y["b"].where(y["b"] > -1)
    assert 0 < given(x, y, "site", rng=0, **FEW).pvalue <= 1
    assert 0 < given(x, y, "b", bins=4, rng=0, **FEW).pvalue <= 1


def test_messages():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="`column` must be a column of `x`, got 'c'"):
        given(frame, frame, "c")
    with pytest.raises(ValueError, match="cannot go with `strata`"):
        given(frame, frame, "a", strata=([0, 0, 0], [0, 0, 0]))
    with pytest.raises(ValueError, match="must have another column"):
        given(frame[["a"]], frame[["a"]], "a")
    with pytest.raises(ValueError, match="`column` must be the place"):
        given(frame.to_numpy(), frame.to_numpy(), 2)
