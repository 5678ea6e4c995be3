"""The test without a split, as a user calls it."""

import json

import numpy as np
import pandas as pd
import pytest

from tellapart import Select, tell_apart, witness_test
from tellapart.datasets import blobs
from tellapart.joint_result import TellApartResult, area
from tellapart.kernels import BandwidthGrid, Gaussian, Laplace, Linear

X, Y = blobs(100, 80, theta=np.pi / 4, rng=0)
FEW = {"kernels": BandwidthGrid(Laplace(), count=5), "freedoms": (4, 64), "n_permutations": 99, "rng": 0}


def test_finds_what_the_split_test_finds_half_of_the_time():
    """Blobs, n = m = 100: the selected Fisher witness on half of the rows has power 0.5 (experiments/results)."""
    rng = np.random.default_rng(1)
    whole = split = 0
    for _ in range(12):
        pair = blobs(100, theta=np.pi / 4, rng=rng)
        whole += tell_apart(*pair, n_permutations=99, rng=rng).pvalue <= 0.05
        split += witness_test(*pair, learner=Select(), rng=rng).pvalue <= 0.05
    assert whole == 12
    assert split <= 10


def test_a_result_says_what_spoke_and_where():
    result = tell_apart(X, Y, **FEW)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    assert pvalue <= 0.05
    assert set(result.families) == {"left out", "fitted", "mean", "potential"}
    assert result.families["mean"].freedom is None
    assert 0.6 < result.auc <= 1
    assert [len(e) for e in result.evidence] == [100, 80]
    assert area(*result.evidence) == result.auc
    text = str(result)
    assert text.startswith(f"The samples differ: p = {pvalue:.3g}, below the level 0.05.")
    assert "100 + 80 of 2 columns" in text
    assert "rng=0" in text
    assert "No difference found" in result.summary(0.005)


def test_the_same_seed_gives_the_same_bytes_and_repeats_from_the_result():
    result = tell_apart(X, Y, **FEW)
    assert json.dumps(result.to_dict()) == json.dumps(tell_apart(X, Y, **FEW).to_dict())
    back = TellApartResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert back.to_dict() == result.to_dict()
    assert tell_apart(X, Y, **back.settings()).to_dict() == result.to_dict()
    assert str(back) == str(result)


def test_units_and_row_order_do_not_matter():
    here = tell_apart(X, Y, **FEW)
    there = tell_apart(X * [1e-6, 1e6] + 3, Y * [1e-6, 1e6] + 3, **FEW)
    assert there.pvalue == here.pvalue
    assert there.auc == pytest.approx(here.auc, abs=0.01)


def test_frames_and_other_kernels():
    frame = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y[:, ::-1], columns=["b", "a"])
    assert tell_apart(*frame, **FEW).pvalue == tell_apart(X, Y, **FEW).pvalue
    mixed = tell_apart(X, Y, kernels=[Gaussian(0.2), Linear(), lambda a, b: (a @ b.T) ** 2], n_permutations=19, rng=0)
    assert 0 < mixed.pvalue <= 1
    with pytest.raises(ValueError, match="pass them yourself"):
        TellApartResult.from_dict(mixed.to_dict()).settings()


def test_the_smallest_samples_and_identical_rows_have_an_answer():
    assert 0 < tell_apart([1.0, 2.0], [3.0, 4.0], n_permutations=19, rng=0).pvalue <= 1
    same = tell_apart(np.full((5, 2), 0.3), np.full((9, 2), 0.3), rng=0)
    assert same.pvalue == 1
    assert "nothing tells the samples apart" in str(same)
    assert TellApartResult.from_dict(same.to_dict()).to_dict() == same.to_dict()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_permutations": 0}, ValueError, "`n_permutations` must be a whole number"),
        ({"freedoms": []}, ValueError, "`freedoms` must be a non-empty sequence"),
        ({"freedoms": [0.0]}, ValueError, "`freedoms` must be positive"),
        ({"kernels": []}, ValueError, "`kernels` must be a kernel"),
        ({"kernels": "gaussian"}, ValueError, "`kernels` must be a kernel"),
        ({"kernels": [3]}, TypeError, "`kernel` must be a kernel"),
        ({"rng": "seed"}, TypeError, "`rng` must be a seed"),
    ],
)
def test_bad_choices_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        tell_apart(X, Y, **options)


def test_bad_samples_are_refused():
    with pytest.raises(ValueError, match="`y` must have at least 2 rows, got 1"):
        tell_apart(X, Y[:1])
    with pytest.raises(ValueError, match="at most 4000 rows together, got 6000"):
        tell_apart(np.zeros(3000), np.ones(3000))
    with pytest.raises(ValueError, match="same number of columns"):
        tell_apart(X, Y[:, :1])
