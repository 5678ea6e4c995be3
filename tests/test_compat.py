"""In the clothes of other libraries: the shape of answers, and the libraries themselves where installed."""

import subprocess
import sys
from enum import Enum

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tellapart import Permutation, Reference, tell_apart
from tellapart.compat.alibi_detect import WitnessDrift
from tellapart.compat.evidently import register, stattest

RNG = np.random.default_rng(0)
X, SAME, OTHER = RNG.normal(size=(80, 3)), RNG.normal(size=(60, 3)), RNG.normal(1.0, 1.0, size=(60, 3))
# What alibi-detect 0.13.0 answers (KSDrift, MMDDrift), beside what single detectors add.
ALIBI = {
    "data": {"is_drift", "distance", "p_val", "threshold"},
    "meta": {"name", "online", "data_type", "version", "detector_type"},
}


def test_the_answer_has_the_shape_of_alibi_detects():
    detector = WitnessDrift(X, p_val=0.01, data_type="tabular")
    answer = detector.predict(OTHER)
    assert {part: set(found) for part, found in answer.items()} == ALIBI
    assert answer["data"]["is_drift"] == 1
    assert answer["data"]["threshold"] == 0.01
    assert answer["data"]["p_val"] == tell_apart(X, OTHER, rng=0).pvalue
    assert 0.2 < answer["data"]["distance"] < 1
    assert answer["meta"] == {**detector.meta, "online": False, "detector_type": "drift", "data_type": "tabular"}
    assert detector.predict(SAME)["data"]["is_drift"] == 0
    short = detector.predict(OTHER, return_p_val=False, return_distance=False)["data"]
    assert short == {"is_drift": 1, "distance": None, "p_val": None, "threshold": None}
    assert detector.score(OTHER) == (answer["data"]["p_val"], answer["data"]["distance"])


def test_it_takes_images_frames_embeddings_and_saved_references():
    images = RNG.normal(size=(30, 2, 3, 1))
    assert WitnessDrift(images).predict(images + 2)["data"]["is_drift"] == 1
    frame = pd.DataFrame({"a": RNG.normal(size=50), "b": RNG.choice(["u", "v"], 50)})
    assert WitnessDrift(frame).predict(frame.assign(b="v"))["data"]["is_drift"] == 1
    first = WitnessDrift(X, preprocess_fn=lambda rows: rows[:, :1], families=("linear",))
    assert first.compared(OTHER).sizes.columns == 1
    saved = WitnessDrift(Reference.fit(X, rng=0), null=Permutation(99))
    assert saved.predict(OTHER)["data"]["is_drift"] == 1
    with pytest.raises(ValueError, match="`p_val` must lie strictly between 0 and 1"):
        WitnessDrift(X, p_val=1)


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
def test_a_column_at_a_time(make):
    a, b = make(RNG.normal(size=100)), make(RNG.normal(size=100) + 1)
    score, drifted = stattest(a, b, "num", 0.05)
    assert (type(score), drifted, score) == (float, True, tell_apart(a, b, rng=0).pvalue)
    codes, others = make(RNG.integers(0, 3, 200)), make(RNG.choice([0, 2], 200))
    assert stattest(codes, others, "cat", 0.05)[1]
    assert not stattest(codes, codes, "cat", 0.05)[1]


def test_categories_are_names_and_missing_values_count():
    class ColumnType(Enum):
        Categorical = "cat"

    codes = pd.Series([0, 1, 2] * 40)
    assert stattest(codes, pd.Series([0, 1, 1] * 40), ColumnType.Categorical, 0.05)[1]
    gaps = codes.astype(float).mask(np.arange(120) % 4 == 0)
    assert stattest(codes.astype(float), gaps, ColumnType.Categorical, 0.05)[1]


def test_nothing_of_others_is_imported_unless_asked():
    code = (
        "import sys, tellapart.compat.alibi_detect, tellapart.compat.evidently; "
        "print([m for m in ('alibi_detect', 'evidently', 'pandas', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_register_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "evidently.legacy.calculations.stattests.registry", None)
    with pytest.raises(ImportError, match="needs evidently"):
        register()


@pytest.mark.filterwarnings("default")
def test_beside_the_real_alibi_detect():
    cd = pytest.importorskip("alibi_detect.cd", reason="alibi-detect is not installed", exc_type=ImportError)
    for x in (SAME, OTHER):
        theirs = cd.KSDrift(X, p_val=0.05).predict(x)
        ours = WitnessDrift(X, p_val=0.05).predict(x)
        assert {part: set(found) for part, found in theirs.items()} == {part: set(f) for part, f in ours.items()}
        assert theirs["data"]["is_drift"] == ours["data"]["is_drift"]
        assert {k: type(v) for k, v in theirs["meta"].items()} == {k: type(v) for k, v in ours["meta"].items()}
        short = {"return_p_val": False, "return_distance": False}
        assert cd.KSDrift(X).predict(x, **short)["data"] == WitnessDrift(X).predict(x, **short)["data"]


@pytest.mark.filterwarnings("default")
def test_in_a_report_of_the_real_evidently():
    evidently = pytest.importorskip("evidently", reason="evidently is not installed", exc_type=ImportError)
    from evidently.presets import DataDriftPreset

    register()
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150), "c": rng.choice(["u", "v"], 150)})
    y = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(1, 1, 150), "c": rng.choice(["u", "v"], 150)})
    report = evidently.Report([DataDriftPreset(method="tellapart")]).run(y, x)
    drift = {m["config"]["column"]: m["value"] for m in report.dict()["metrics"] if "column" in m["config"]}
    assert drift == {c: pytest.approx(tell_apart(x[c], y[c], rng=0).pvalue) for c in "abc"}
    assert drift["b"] <= 0.05 < drift["a"]
