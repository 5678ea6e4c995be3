"""What other packages do, tried out: ``python benchmarks/comparison_checks.py [alibi|evidently|hyppo|dcor ...]``.

Run in interpreters that have them (the two sets cannot be installed together); each line is one of the claims of
docs/comparison.md with what came back.
"""

import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(size=(60, 3)), RNG.normal(1, 1, size=(60, 3)), RNG.normal(size=(60, 3))
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
WORDS = RNG.choice(["a", "b"], size=(60, 2))


def tried(claim, call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
    except Exception as error:
        found = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:110]}"
        if "-v" in sys.argv:
            traceback.print_exc()
    print(f"{claim}: {found}", flush=True)


def alibi():
    import alibi_detect
    from alibi_detect.cd import ClassifierDrift, KSDrift, MMDDrift, TabularDrift
    from alibi_detect.saving import load_detector, save_detector
    from sklearn.linear_model import LogisticRegression

    print("alibi-detect", alibi_detect.__version__)
    mmd = MMDDrift(X, backend="pytorch")
    tried("MMDDrift, p-value of a clear shift, 100 permutations", lambda: mmd.predict(Y)["data"]["p_val"])
    tried("KSDrift with missing values", lambda: KSDrift(X).predict(GAPS)["data"]["p_val"])
    tried("MMDDrift with missing values", lambda: mmd.predict(GAPS)["data"])
    tried(
        "TabularDrift with text", lambda: TabularDrift(WORDS, categories_per_feature={0: None, 1: None}).predict(WORDS)
    )
    classifier = ClassifierDrift(X, LogisticRegression(), backend="sklearn", preds_type="probs")
    tried("ClassifierDrift, keys of what it returns", lambda: sorted(classifier.predict(Y)["data"]))

    def saved():
        with tempfile.TemporaryDirectory() as folder:
            save_detector(KSDrift(X), folder)
            again = load_detector(folder)
            kept = np.load(Path(folder) / "x_ref.npy")
            return sorted(p.name for p in Path(folder).rglob("*")), np.array_equal(kept, X), type(again).__name__

    tried("save_detector: files, whether the raw reference is in them, what is read back", saved)


def hyppo():
    import importlib.metadata

    from hyppo.ksample import MMD, KSample

    print("hyppo", importlib.metadata.version("hyppo"))
    tried(
        "MMD, p-value by permutation of a clear shift", lambda: MMD().test(X, Y, reps=100, auto=False, random_state=0)
    )
    tried("KSample(MGC), three samples", lambda: KSample("MGC").test(X, Y, Z, reps=100, random_state=0)[:2])
    tried("KSample(Dcorr), default", lambda: KSample("Dcorr").test(X, Z))
    tried("missing values", lambda: KSample("Dcorr").test(GAPS, Z))
    tried("text", lambda: KSample("Dcorr").test(WORDS, WORDS))


def dcor():
    import importlib.metadata

    from dcor.homogeneity import energy_test

    print("dcor", importlib.metadata.version("dcor"))
    options = {"num_resamples": 100, "random_state": 0}
    tried("energy_test, p-value of a clear shift", lambda: energy_test(X, Y, **options).pvalue)
    tried("energy_test of three samples", lambda: energy_test(X, Y, Z, **options).pvalue)
    tried("missing values", lambda: energy_test(GAPS, Z, **options))
    tried("text", lambda: energy_test(WORDS, WORDS, **options))


def evidently():
    import evidently as package
    import pandas as pd
    from evidently import Report
    from evidently.presets import DataDriftPreset

    print("evidently", package.__version__)

    def drift(x, y, **options):
        run = Report([DataDriftPreset(**options)]).run(y, x).dict()
        return {m["config"]["column"]: round(float(m["value"]), 4) for m in run["metrics"] if "column" in m["config"]}

    x, y, gaps = (pd.DataFrame(z, columns=list("abc")) for z in (X, Y, GAPS))
    words = pd.DataFrame(WORDS, columns=["u", "v"])
    tried("default, a clear shift", lambda: drift(x, y))
    tried("missing values", lambda: drift(x, gaps))
    tried("a tenth missing in place of none, of the same values", lambda: drift(x, x.where(~gaps.isna())))
    tried("text", lambda: drift(words, words))
    tried("dates", lambda: drift(*[x.assign(d=pd.date_range("2026-01-01", periods=60, freq="D"))] * 2))
    one = RNG.normal(size=400)
    joint = pd.DataFrame({"a": one, "b": one}), pd.DataFrame({"a": one, "b": RNG.permutation(one)})
    tried("a correlation of 1 that became 0", lambda: drift(*joint))
    tried(
        "polars", lambda: drift(__import__("polars").DataFrame({"a": one}), __import__("polars").DataFrame({"a": one}))
    )


if __name__ == "__main__":
    for name in [a for a in sys.argv[1:] if a != "-v"]:
        {"alibi": alibi, "evidently": evidently, "hyppo": hyppo, "dcor": dcor}[name]()
