"""A witness that is saved is the witness that was learned."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from tellapart import Fisher, FromEstimator, Mean, Permutation, SavedWitness, Select, storage, witness_test
from tellapart._spec import NotPlain
from tellapart.kernels import FromFunction, Gaussian, Laplace, Linear
from tellapart.result import WITNESS_KIND, WITNESS_VERSION, WitnessTestResult
from tellapart.storage import DamagedFile

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.normal([1, 0, 0], 1, size=(60, 3))


@pytest.mark.parametrize(
    "learner", [Select(), Mean(), Fisher(0.5 * Gaussian((1.0, 2.0, 1.0)) + Laplace(0.7) * Linear())]
)
def test_it_says_the_same_after_a_file(tmp_path, learner):
    result = witness_test(X, Y, learner=learner, rng=0)
    result.save(tmp_path / "w.tap")
    saved = SavedWitness.load(tmp_path / "w.tap")
    assert np.array_equal(saved(Y), result.witness(Y))
    assert np.array_equal(saved.values, result.values[0])
    result.save(tmp_path / "again.tap")
    assert (tmp_path / "w.tap").read_bytes() == (tmp_path / "again.tap").read_bytes()


def test_its_test_is_that_of_the_values(tmp_path):
    result = witness_test(X, Y, rng=0)
    result.save(tmp_path / "w.tap")
    saved = SavedWitness.load(tmp_path / "w.tap")
    fresh = RNG.normal([0.8, 0, 0], 1, size=(40, 3))
    found = saved.test(fresh, null=Permutation(199), rng=3)
    verdict = Permutation(199).judge(result.values[0], result.witness(fresh), np.random.default_rng(3))
    assert (found.pvalue, found.statistic) == (verdict.pvalue, verdict.statistic)
    assert found.pvalue < 0.05
    assert "The samples differ" in str(found)
    assert WitnessTestResult.from_dict(json.loads(json.dumps(found.to_dict()))).pvalue == found.pvalue


def test_tables_of_mixed_columns(tmp_path):
    def table(n, shift, rng):
        return pd.DataFrame(
            {
                "a": rng.normal(shift, 1, n),
                "b": rng.choice(["u", "v", "w"], n),
                "c": np.where(rng.random(n) < 0.2, np.nan, 1.0 * rng.integers(0, 9, n)),
                "d": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s"),
                "t": [" ".join(rng.choice(["one", "two", "three", "four"], 5)) for _ in range(n)],
                "m": [f"l{i}" for i in rng.integers(0, 30, n)],
            }
        )

    result = witness_test(table(80, 0, RNG), table(80, 2, RNG), rng=0)
    result.save(tmp_path / "w.tap")
    fresh = table(50, 0, RNG)
    assert np.array_equal(SavedWitness.load(tmp_path / "w.tap")(fresh), result.witness(fresh))


def test_its_pvalues_are_uniform_given_the_witness(tmp_path):
    witness_test(X, Y, rng=0).save(tmp_path / "w.tap")
    saved = SavedWitness.load(tmp_path / "w.tap")
    rng = np.random.default_rng(8)
    h = [saved(rng.normal(size=(30, 3))) for _ in range(200)]  # fresh values in place of the kept ones: over references
    pvalues = [Permutation(99).judge(h[i], h[i + 100], rng).pvalue for i in range(100)]
    assert ks_2samp(pvalues, (np.arange(100) + 1) / 100).pvalue > 1e-3


def test_what_needs_pickles_is_refused(tmp_path):
    from sklearn.linear_model import LogisticRegression

    for result in [
        witness_test(X, Y, learner=FromEstimator(LogisticRegression()), rng=0),
        witness_test(X, Y, learner=lambda rows: rows[:, 0], rng=0),
    ]:
        with pytest.raises(TypeError, match="sum of kernels to be saved"):
            result.save(tmp_path / "w.tap")
    mine = witness_test(X, Y, learner=Mean(FromFunction(lambda a, b: a @ b.T)), rng=0)
    with pytest.raises(NotPlain):
        mine.save(tmp_path / "w.tap")
    with pytest.raises(ValueError, match="read back does not have"):
        WitnessTestResult.from_dict(mine.to_dict()).save(tmp_path / "w.tap")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "change",
    [
        lambda d, a: d.update(kernel={"class": "Select"}),
        lambda d, a: d.update(kernel={"class": "FromFunction", "function": "os.system"}),
        lambda d, a: d.update(kernel={"class": "Gaussian", "bandwidth": [1.0, 2.0]}),
        lambda d, a: d.update(columns=["a"]),
        lambda d, a: a.__setitem__("coefficients", a["coefficients"][1:]),
        lambda d, a: a.pop("values"),
    ],
)
def test_files_that_were_tampered_with_are_refused(tmp_path, change):
    witness_test(X, Y, rng=0).save(tmp_path / "w.tap")
    content = storage.load(tmp_path / "w.tap", WITNESS_KIND, WITNESS_VERSION)
    change(content.description, content.arrays)
    storage.save(tmp_path / "w.tap", WITNESS_KIND, WITNESS_VERSION, content)
    with pytest.raises(DamagedFile, match="is damaged"):
        SavedWitness.load(tmp_path / "w.tap")
