"""The test without a split, as a user calls it."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import oracles
from tellapart import Fisher, FromEstimator, Permutation, Prequential, Refit, Select, _threads, tell_apart, witness_test
from tellapart.datasets import blobs
from tellapart.inference import ensemble, in_memory
from tellapart.inference.leave_one_out import DegreesOfFreedom
from tellapart.inference.whole_sample import FAMILIES
from tellapart.joint_result import TellApartResult, area
from tellapart.kernels import BandwidthGrid, Gaussian, Laplace, Linear, Precomputed
from tellapart.several_result import SeveralResult

X, Y = blobs(100, 80, theta=np.pi / 4, rng=0)
FEW = {
    "kernels": BandwidthGrid(Laplace(), count=5),
    "ridges": DegreesOfFreedom((4, 64)),
    "null": Permutation(99),
    "rng": 0,
}


def test_finds_what_the_split_test_finds_half_of_the_time():
    """Blobs, n = m = 100: the selected Fisher witness on half of the rows has power 0.5 (experiments/results)."""
    rng = np.random.default_rng(1)
    whole = split = 0
    for _ in range(12):
        pair = blobs(100, theta=np.pi / 4, rng=rng)
        whole += tell_apart(*pair, null=Permutation(99), rng=rng).pvalue <= 0.05
        split += witness_test(*pair, learner=Select(), rng=rng).pvalue <= 0.05
    assert whole == 12
    assert split <= 10


def test_a_result_says_what_spoke_and_where():
    result = tell_apart(X, Y, **FEW)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    assert pvalue <= 0.05
    assert set(result.families) == {"left out", "kernel", "potential"}  # kernels of one's own: what they say, no more
    assert result.families["left out"].freedom in (4.0, 64.0)
    assert 0.6 < result.auc <= 1
    assert result.draws == 99
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
    mixed = tell_apart(
        X, Y, kernels=[Gaussian(0.2), Linear(), lambda a, b: (a @ b.T) ** 2], null=Permutation(19), rng=0
    )
    assert 0 < mixed.pvalue <= 1
    with pytest.raises(ValueError, match="pass it yourself"):
        TellApartResult.from_dict(mixed.to_dict()).settings()


def test_the_smallest_samples_and_identical_rows_have_an_answer():
    assert 0 < tell_apart([1.0, 2.0], [3.0, 4.0], null=Permutation(19), rng=0).pvalue <= 1
    same = tell_apart(np.full((5, 2), 0.3), np.full((9, 2), 0.3), rng=0)
    assert same.pvalue == 1
    assert "nothing tells the samples apart" in str(same)
    assert TellApartResult.from_dict(same.to_dict()).to_dict() == same.to_dict()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"ridges": []}, ValueError, "`ridges` must be a non-empty sequence"),
        ({"ridges": [0.0]}, ValueError, "`ridges` must be positive"),
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
    with pytest.raises(ValueError, match="same number of columns"):
        tell_apart(X, Y[:, :1])
    with pytest.raises(TypeError, match="a list of at least two samples, got ndarray of 100 and no `y`"):
        tell_apart(X)
    with pytest.raises(ValueError, match=r"Sample 0 is `x` and sample 2 is `y` here: .* same number of columns"):
        tell_apart([X, Y, Y[:, :1]])


def test_by_default_every_family_speaks():
    result = tell_apart(X, Y, null=Permutation(49), rng=0)
    assert list(result.families) == [f for f in FAMILIES if f != "single pairs"]  # of two columns, all pairs are one
    named = tell_apart(
        pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y, columns=["a", "b"]), null=Permutation(49), rng=0
    )
    assert named.families["single columns"].column in ("a", "b")
    few = tell_apart(X, Y, families=["linear", "single columns"], null=Permutation(49), rng=0)
    assert set(few.families) == {"linear", "single columns"}
    assert few.evidence is None
    assert few.auc == 0.5


def test_what_each_family_is_for():
    """A difference of each kind, and the family that is meant for it finds it."""
    rng = np.random.default_rng(3)

    def found(family, x, y):
        return tell_apart(x, y, families=[family], null=Permutation(99), rng=0).pvalue <= 0.05

    def base(d=6, n=100):
        return rng.normal(size=(n, d)), rng.normal(size=(n, d))

    x, y = base()
    assert found("linear", x, y + 0.35)
    x, y = base()
    assert found("potential", x, 1.3 * y)
    x, y = base()
    y[:, 2] *= 2.5
    assert found("single columns", x, y)
    x, y = base()
    assert found("all columns", x, np.sign(y) * np.abs(y) ** 1.5)
    x, y = base()
    y[:, 1] = 0.7 * y[:, 0] + 0.7 * y[:, 1]
    assert found("pairs of columns", x, y)
    assert found("single pairs", x, y)
    assert found("left out", *blobs(100, theta=np.pi / 4, rng=2))
    assert found("kernel", *blobs(100, theta=np.pi / 4, rng=2))


def test_stopping_early_changes_draws_and_nothing_that_matters():
    x, y = blobs(40, rng=1)
    stopped = tell_apart(x, y, rng=0)
    assert stopped.draws < 499
    assert stopped.pvalue > 0.05
    assert tell_apart(x, y, null=Permutation(499), rng=0).draws == 499


def test_any_learner_by_refitting_or_from_the_past():
    refitted = tell_apart(X, Y, learner=Fisher(Laplace(1.0), 0.1), null=Refit(19), rng=0)
    assert refitted.pvalue == 0.05
    assert refitted.draws == 19
    assert refitted.auc > 0.55
    assert "refitted" in str(refitted)
    model = FromEstimator(HistGradientBoostingClassifier(max_iter=20))
    past = tell_apart(X + np.array([2.0, 0.0]), Y, learner=model, null=Prequential(), rng=0)
    assert past.pvalue < 0.01
    assert np.isnan(past.evidence[0]).any()  # the first block only learns
    assert 0.8 < past.auc <= 1
    back = TellApartResult.from_dict(json.loads(json.dumps(refitted.to_dict())))
    assert tell_apart(X, Y, **back.settings()).to_dict() == refitted.to_dict()


def test_a_learner_keeps_groups_and_pairs_apart():
    person = np.random.default_rng(0).normal(size=(30, 2))
    x, y = person + 0.1, person - 0.1
    assert tell_apart(x, y, learner=Fisher(Linear(), 1e-3), pairs=True, rng=0).pvalue == 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": Fisher(), "kernels": Gaussian(1.0)}, "takes the place of `kernels`"),
        ({"learner": Fisher(), "weights": (np.arange(100) + 1.0, np.ones(80))}, "`weights` cannot go with `learner`"),
        ({"learner": Fisher(), "null": Prequential(), "blocks": 5}, "needs independent rows"),
        ({"memory": 0.0}, "`memory` must be positive"),
        ({"memory": 1e-6}, "`memory` must hold the sums"),
        ({"families": ["colour"]}, "`families` must be one of"),
        ({"families": "linear"}, "`families` must be a non-empty sequence"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tell_apart(X, Y, **options)


def test_nulls_that_judge_something_else_are_refused():
    with pytest.raises(TypeError, match="`null` must be Permutation"):
        tell_apart(X, Y, null=Refit())
    with pytest.raises(TypeError, match="with a `learner`"):
        tell_apart(X, Y, learner=Fisher(), null=Permutation())


def test_strings_by_a_precomputed_kernel():
    rng = np.random.default_rng(0)
    x = ["".join(rng.choice(list("abcd"), 12)) for _ in range(30)]
    y = ["".join(rng.choice(list("abcd"), 12, p=[0.4, 0.3, 0.2, 0.1])) for _ in range(25)]
    kernel = Precomputed.of_function(lambda a, b: sum(a.count(c) * b.count(c) for c in "abcd"), x, y)
    result = tell_apart(x, y, kernels=kernel, rng=0)
    assert result.pvalue <= 0.05
    assert result.to_dict()["settings"]["kernels"] == {"repr": "Precomputed(matrix of 55 rows)"}
    with pytest.raises(ValueError, match=r"must have 30 \+ 24 rows"):
        tell_apart(x, y[:-1], kernels=kernel)
    with pytest.raises(TypeError, match="go with precomputed matrices only"):
        tell_apart(x, y, kernels=[kernel, Gaussian(1.0)])
    with pytest.raises(ValueError, match="independent rows with values"):
        result.total_variation()


def test_a_certified_effect_and_the_null_of_a_trifle():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(400, 2)), rng.normal(size=(400, 2)) + np.array([1.5, 0.0])
    result = tell_apart(x, y, null=Permutation(99), rng=0)
    truth = 2 * 0.7734 - 1  # 2 Phi(1.5 / 2) - 1
    assert 0.3 < result.total_variation(0.95) < truth
    assert result.total_variation(0.99) < result.total_variation(0.95)
    assert result.exceeds(0.2) < 0.05 < result.exceeds(0.54)
    assert "of the probability lies elsewhere" in str(result)
    back = TellApartResult.from_dict(result.to_dict())
    assert back.certified == result.total_variation()
    assert str(back) == str(result)
    with pytest.raises(ValueError, match="not a result read back"):
        back.exceeds(0.1)
    with pytest.raises(ValueError, match="independent rows"):
        tell_apart(x, y, pairs=True, null=Permutation(19), rng=0).exceeds(0.1)


def test_several_samples_and_their_pairs():
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(40, 2)), rng.normal(size=(35, 2)), rng.normal(size=(45, 2)) + 1.2
    result = tell_apart([a, b, c], null=Permutation(99), rng=0)
    assert result.pvalue == 0.01
    assert result.pairs[0, 2].pvalue <= 0.02
    assert result.pairs[1, 2].pvalue <= 0.02
    assert result.pairs[0, 1].pvalue > 0.05
    assert "0 and 1" in str(result)
    assert "no difference found" in str(result)
    back = SeveralResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert back.to_dict() == result.to_dict()
    assert tell_apart([a, b, c], **back.settings()).to_dict() == result.to_dict()
    assert tuple(result) == (result.statistic, result.pvalue)
    with pytest.raises(ValueError, match="at most 6 samples, got 7"):
        tell_apart([a] * 7, null=Permutation(19))
    with pytest.raises(ValueError, match="`learner` compares two samples"):
        tell_apart([a, b, c], learner=Fisher())


def test_two_samples_in_a_list_are_two_samples():
    assert tell_apart([X, Y], **FEW).pvalue == tell_apart(X, Y, **FEW).pvalue


def test_the_pair_of_equal_samples_is_rarely_declared_different():
    """Closed testing: whichever others differ, an equal pair is declared different at most as often as the level."""
    rng = np.random.default_rng(5)
    trials, wrong = 200, 0
    for _ in range(trials):
        a, b, c = rng.normal(size=(10, 1)), rng.normal(size=(10, 1)), rng.normal(size=(10, 1)) + 3.0
        result = tell_apart([a, b, c], kernels=BandwidthGrid(count=2), null=Permutation(39), rng=rng)
        wrong += result.pairs[0, 1].pvalue <= 0.05
    assert wrong <= oracles.binomial_bounds(trials, 0.05)[1]


def test_three_ways_for_three_sizes_agree(monkeypatch):
    """Exact matrices, few features and folds find the same strong difference, and say which way was taken."""
    x, y = blobs(300, theta=np.pi / 4, rng=3)
    same = blobs(300, rng=4)
    exact = tell_apart(x, y, null=Permutation(49), rng=0)
    monkeypatch.setattr(in_memory, "EXACT_ROWS", 100)
    features = tell_apart(x, y, null=Permutation(49), rng=0)
    monkeypatch.setattr(ensemble, "MOST_IN_MEMORY", 100)
    folds = tell_apart(x, y, null=Permutation(49), rng=0)
    assert exact.pvalue == features.pvalue == folds.pvalue == 0.02
    assert [r.computed.split()[0] for r in (exact, features, folds)] == ["exact", "160", "5"]
    assert list(folds.families) == list(exact.families)
    assert np.corrcoef(np.concatenate(folds.evidence), np.concatenate(exact.evidence))[0, 1] > 0.7
    assert tell_apart(*same, null=Permutation(49), rng=0).pvalue > 0.02
    weights = (np.full(300, 2.0), np.full(300, 2.0))
    assert tell_apart(x, y, null=Permutation(49), weights=weights, rng=0).pvalue == 0.02
    grouped = tell_apart(x, y, null=Permutation(49), groups=(np.arange(300) // 3, 100 + np.arange(300) // 3), rng=0)
    assert grouped.pvalue == 0.02


@pytest.mark.parametrize(("n", "memory"), [(1500, 0.2), (6000, 0.15), (6000, 0.06)])
def test_the_budget_of_memory_is_kept_on_eight_cores(n, memory, monkeypatch):
    monkeypatch.setattr(_threads, "available_cores", lambda: 8)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n, 5)), rng.normal(size=(n, 5))
    tracemalloc.start()
    result = tell_apart(x, y, null=Permutation(99), memory=memory, rng=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e9 * memory
    assert ("one pass" in result.computed) == (n == 6000)


def test_single_precision_gives_the_same_decisions():
    for seed in range(10):
        x, y = (s.astype(np.float32) for s in blobs(60, theta=np.pi / 4, rng=seed))
        single = tell_apart(x, y, null=Permutation(99), rng=0)
        double = tell_apart(x.astype(float), y.astype(float), null=Permutation(99), rng=0)
        assert single.pvalue == double.pvalue


def test_little_memory_means_fewer_features_and_the_same_answer(monkeypatch):
    x, y = blobs(300, theta=np.pi / 4, rng=3)
    monkeypatch.setattr(ensemble, "MOST_IN_MEMORY", 100)
    little = tell_apart(x, y, null=Permutation(49), memory=0.02, rng=0)
    assert int(little.computed.split("pass, ")[1].split()[0]) < 320
    assert little.pvalue == 0.02
