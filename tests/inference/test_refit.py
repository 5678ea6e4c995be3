"""Permute and refit: the statistic by loops, the level by enumeration and simulation, processes, what may go wrong."""

from itertools import combinations

import numpy as np
import pytest

import oracles
from tellapart.datasets import liu_blobs
from tellapart.inference.refit import CrossFit, Refit, blind_folds
from tellapart.kernels import BandwidthGrid, Gaussian
from tellapart.samples import Samples
from tellapart.witness import Fisher, FromEstimator, Mean, Select


class Direction:
    """Difference of the two means as a direction: linear, cheap, deterministic."""

    def learn(self, train, rng):
        d = train.x.mean(axis=0) - train.y.mean(axis=0)
        return lambda rows: rows @ d


class Noisy(Direction):
    """Adds noise of its own generator to the direction."""

    def learn(self, train, rng):
        d = train.x.mean(axis=0) - train.y.mean(axis=0) + rng.normal(size=train.x.shape[1])
        return lambda rows: rows @ d


class Places:
    """Looks at nothing but where a row stands in the table: an attack on the order of the pooled rows."""

    def learn(self, train, rng):
        return lambda rows: -np.arange(len(rows), dtype=float)


class Constant:
    def learn(self, train, rng):
        return lambda rows: np.full(len(rows), 0.1 + 0.2)


def relabelled(n, m, draws, rng, unit=None, stratum=None):
    """Labels of units dealt out at random within strata, the observed ones first: (N, draws + 1)."""
    unit = np.arange(n + m) if unit is None else unit
    stratum = np.zeros(n + m) if stratum is None else stratum
    representative = np.unique(unit, return_index=True)[1]
    columns = [representative < n]
    for _ in range(draws):
        column = columns[0].copy()
        for s in np.unique(stratum):
            mine = stratum[representative] == s
            column[mine] = rng.permutation(column[mine])
        columns.append(column)
    return np.array(columns)[:, unit].T.astype(float)


def judged(x, y, learner, seed=0, unit=None, stratum=None, n_permutations=19, **options):
    rng = np.random.default_rng(seed)
    labels = relabelled(len(x), len(y), n_permutations, rng, unit, stratum)
    refit = Refit(n_permutations, **options)
    return refit.judge(np.concatenate([x, y]), labels, learner, rng, unit=unit, stratum=stratum)


def normals(rng, n, m, shift=0.0, d=2):
    return rng.normal(size=(n, d)) + shift, rng.normal(size=(m, d))


def crossfit(rows, learner, stratum=None, folds=3):
    units = np.arange(len(rows))
    return CrossFit.of(rows, units, units * 0 if stratum is None else stratum, folds, learner, np.random.default_rng(0))


def statistic_by_loops(fitted, first, stratum):
    """Every step of the formula with one row at a time."""
    u = np.zeros(len(first))
    top = bottom = 0.0
    for f, seed in enumerate(fitted.seeds):
        inside = [i for i in range(len(first)) if fitted.fold[i] == f]
        outside = [i for i in range(len(first)) if fitted.fold[i] != f]
        x = fitted.rows[[i for i in outside if first[i]]]
        y = fitted.rows[[i for i in outside if not first[i]]]
        if min(len(x), len(y)) < 2:
            continue
        witness = fitted.learner.learn(Samples(x, y), np.random.default_rng(seed))
        v = {i: float(witness(fitted.rows[i : i + 1])[0]) for i in inside}
        for s in {stratum[i] for i in inside}:
            mean = np.mean([v[i] for i in inside if stratum[i] == s])
            for i in inside:
                if stratum[i] == s:
                    u[i] = v[i] - mean
        spread = np.sqrt(np.mean([u[i] ** 2 for i in inside]))
        for i in inside:
            u[i] = u[i] / spread if spread > 1e-9 else 0.0
    for i in range(len(first)):
        peers = [j for j in range(len(first)) if fitted.fold[j] == fitted.fold[i] and stratum[j] == stratum[i]]
        centred = first[i] - np.mean([first[j] for j in peers])
        top += centred * u[i]
        bottom += centred**2
    return u, (top / np.sqrt(bottom) if bottom > 0 else 0.0)


@pytest.mark.parametrize("strata", [1, 2])
def test_the_statistic_is_that_of_the_loops(strata):
    rng = np.random.default_rng(1)
    stratum = rng.integers(strata, size=14)
    fitted = crossfit(np.concatenate(normals(rng, 8, 6)), Noisy(), stratum)
    for first in relabelled(8, 6, 10, rng, stratum=stratum).T > 0:
        u, statistic = statistic_by_loops(fitted, first, stratum)
        np.testing.assert_allclose(fitted.values(first), u, atol=1e-9)
        assert fitted.statistic(first, fitted.values(first)) == pytest.approx(statistic, abs=1e-9)


def test_exact_by_enumeration_of_all_relabellings():
    """Each of the 70 relabellings in turn is the observed one, ranked among all: no level is exceeded."""
    fitted = crossfit(np.concatenate(normals(np.random.default_rng(2), 4, 4)), Direction())
    statistics = []
    for chosen in combinations(range(8), 4):
        first = np.isin(np.arange(8), chosen)
        statistics.append(fitted.statistic(first, fitted.values(first)))
    statistics = np.array(statistics)
    pvalues = np.array([(statistics >= s - 1e-9).mean() for s in statistics])
    assert len(np.unique(pvalues)) > 5
    for level in np.unique(pvalues):
        assert np.mean(pvalues <= level + 1e-12) <= level + 1e-12


NULLS = {
    "few rows": (Direction(), lambda rng: (*normals(rng, 4, 4), {})),
    "10 to 1": (Direction(), lambda rng: (*normals(rng, 30, 3), {})),
    "heavy tails": (Direction(), lambda rng: (rng.standard_cauchy((12, 2)), rng.standard_cauchy((9, 2)), {})),
    "ties": (Direction(), lambda rng: (rng.integers(2, size=(9, 1)) * 1.0, rng.integers(2, size=(9, 1)) * 1.0, {})),
    "places": (Places(), lambda rng: (*normals(rng, 10, 8), {})),
    "noisy learner": (Noisy(), lambda rng: (*normals(rng, 10, 8), {})),
    "groups": (Direction(), lambda rng: clusters(rng)),
    "pairs": (Direction(), lambda rng: twins(rng)),
}


def clusters(rng, groups=5, each=4):
    x, y = (
        np.repeat(rng.normal(size=(groups, 2)), each, axis=0) + 0.1 * rng.normal(size=(groups * each, 2))
        for _ in range(2)
    )
    ids = np.repeat(np.arange(groups), each)
    return x, y, {"unit": np.concatenate([ids, ids + groups])}


def twins(rng, n=12):
    person = 3 * rng.normal(size=(n, 2))
    return person + rng.normal(size=(n, 2)), person + rng.normal(size=(n, 2)), {"stratum": np.tile(np.arange(n), 2)}


@pytest.mark.parametrize(
    ("null", "stop_after"), [*((null, None) for null in NULLS), ("few rows", 2), ("noisy learner", 2)]
)
def test_level(null, stop_after):
    learner, draw = NULLS[null]
    trials, rng = 500, np.random.default_rng(3)
    pvalues = np.empty(trials)
    for t in range(trials):
        x, y, structure = draw(rng)
        pvalues[t] = judged(x, y, learner, rng, folds=3, stop_after=stop_after, **structure).pvalue
    for level in (0.05, 0.1, 0.25, 0.5):
        assert (pvalues <= level).sum() <= oracles.binomial_bounds(trials, level)[1], level


@pytest.mark.parametrize(
    "learner",
    [Select(kernels=BandwidthGrid(count=3)), Fisher(kernel=Gaussian(0.2))],
    ids=["Select", "Fisher"],
)
def test_finds_what_differs(learner):
    x, y = liu_blobs(30, rng=0)
    assert judged(x, y, learner).pvalue == 0.05


def test_learners_of_the_library_and_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    x, y = normals(np.random.default_rng(4), 30, 40, shift=2.0)
    for learner in (Mean(), Fisher(), Select(), FromEstimator(LogisticRegression())):
        result = judged(x, y, learner, folds=2)
        assert result.pvalue == 0.05
        assert result.evidence[:30].mean() > result.evidence[30:].mean() + 1
        assert "19 relabellings" in result.how


def test_a_row_of_a_pair_never_judges_what_the_other_taught():
    fold = blind_folds(np.arange(24), np.tile(np.arange(12), 2), 5, np.random.default_rng(0))
    assert (fold[:12] == fold[12:]).all()
    rng = np.random.default_rng(5)
    x, y, pairs = twins(rng, 40)
    assert judged(x + 1.0, y, Direction(), **pairs).pvalue == 0.05


def test_groups_lie_in_one_fold_and_folds_have_about_as_many_rows():
    sizes = [7, 1, 1, 5, 2, 2, 6, 3, 1, 4, 4, 4]
    unit = np.repeat(np.arange(12), sizes)
    fold = blind_folds(unit, 0 * unit, 4, np.random.default_rng(0))
    assert all(len(set(fold[unit == u])) == 1 for u in range(12))
    assert np.ptp(np.bincount(fold)) <= 4
    strata = np.repeat([0, 1], 10)
    dealt = blind_folds(np.arange(20), strata, 5, np.random.default_rng(1))
    assert (np.bincount(dealt[strata == 0]) == 2).all()


def test_folds_do_not_know_the_labels():
    """Two rows of four share a fold as often as chance has it, whichever sample they are of."""
    together = 0
    rng = np.random.default_rng(6)
    for _ in range(2000):
        fold = blind_folds(np.arange(4), np.zeros(4, dtype=int), 2, rng)
        together += fold[0] == fold[1]
    low, high = oracles.binomial_bounds(2000, 1 / 3)
    assert low <= together <= high


def test_degenerate_samples_have_a_pvalue_of_one():
    x, y = np.zeros((5, 2)), np.zeros((7, 2))
    for learner in (Constant(), Direction(), Fisher()):
        result = judged(x, y, learner)
        assert (result.statistic, result.pvalue) == (0.0, 1.0)
    few = judged(*normals(np.random.default_rng(7), 2, 2), Direction())  # nobody can be learned from two rows each
    assert few.pvalue == 1.0
    one_group_each = np.repeat([0, 1], 4)
    assert judged(*normals(np.random.default_rng(8), 4, 4), Direction(), unit=one_group_each).pvalue == 1.0


def test_evidence_stands_where_its_row_stood():
    x, y = normals(np.random.default_rng(9), 20, 30, shift=3.0)
    result = judged(x, y, Direction())
    towards_x = np.concatenate([x, y]).sum(axis=1)
    assert np.corrcoef(result.evidence, towards_x)[0, 1] > 0.8
    assert result.evidence.mean() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("stop_after", [None, 3])
def test_same_result_for_any_number_of_processes(stop_after):
    x, y = normals(np.random.default_rng(10), 15, 12)
    learner = Fisher(ridge=0.1)
    here = judged(x, y, learner, stop_after=stop_after)
    there = judged(x, y, learner, stop_after=stop_after, processes=2)
    np.testing.assert_allclose(there.drawn, here.drawn, rtol=1e-9)
    np.testing.assert_allclose(there.evidence, here.evidence, rtol=1e-7)
    assert (there.pvalue, there.how) == (here.pvalue, here.how)


def test_stopping_early_needs_fewer_refits():
    x, y = normals(np.random.default_rng(11), 15, 12)
    result = judged(x, y, Direction(), n_permutations=99, stop_after=3)
    whole = judged(x, y, Direction(), n_permutations=99)
    assert len(result.drawn) < 99
    np.testing.assert_array_equal(result.drawn, whole.drawn[: len(result.drawn)])
    assert result.pvalue == 3 / len(result.drawn)


class Broken:
    def __init__(self, answer):
        self.answer = answer

    def learn(self, train, rng):
        if isinstance(self.answer, Exception):
            raise self.answer
        return lambda rows: self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ArithmeticError("no solution"), "no solution"),
        (np.zeros(99), "one number for each of"),
        (np.array([np.nan]), "must be finite"),
    ],
)
def test_errors_of_a_learner_come_with_what_it_was_doing(answer, message):
    x, y = normals(np.random.default_rng(12), 8, 8)
    with pytest.raises((ArithmeticError, ValueError), match=message) as caught:
        judged(x, y, Broken(answer))
    assert "Broken was refitted to" in caught.value.__notes__[0]


def test_errors_in_a_worker_reach_the_caller():
    from sklearn.linear_model import LogisticRegression

    x, y = normals(np.random.default_rng(13), 8, 8)
    with pytest.raises(ValueError, match="C") as caught:
        judged(x, y, FromEstimator(LogisticRegression(C=-1.0)), processes=2)
    assert any("FromEstimator was refitted to" in note for note in caught.value.__notes__)


def test_what_does_not_pickle_is_refused_with_a_way_out():
    x, y = normals(np.random.default_rng(14), 8, 8)
    with pytest.raises(TypeError, match=r"must pickle .* Pass processes=1"):
        judged(x, y, Broken(lambda: None), processes=2)


@pytest.mark.parametrize(
    "options", [{"n_permutations": 0}, {"folds": 1}, {"processes": 0}, {"stop_after": 0}, {"folds": 2.5}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match=f"`{next(iter(options))}` must be a whole number"):
        Refit(**options)
