"""Learners as scikit-learn estimators, and scikit-learn estimators as learners."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import fisher_exact
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

from tellapart import Fisher, FromEstimator, Mean, Nystrom, Permutation, Saddlepoint, Select, snr, witness_test
from tellapart.kernels import BandwidthGrid, Gaussian, Laplace, Linear
from tellapart.samples import Samples
from tellapart.witness import snr_scorer

KERNELS = [Gaussian(0.5), Gaussian(2.0), Laplace(1.0)]
RIDGES = [1e-3, 1e-1, np.inf]


def name_of(value):
    return type(value).__name__


def labelled(n=50, m=40):
    """Rows of both samples in a random order, with labels 1 and 0."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([1, 0], [n, m]))
    return rng.normal(size=(n + m, 2)) + 0.6 * labels[:, None], labels


def two_samples(n=60, m=50, shift=1.5):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 2)) + shift, rng.normal(size=(m, 2))


@pytest.mark.filterwarnings("ignore:Estimator .* does not inherit from:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "learner", [Mean(), Fisher(), Select(), Nystrom(), FromEstimator(LogisticRegression())], ids=name_of
)
def test_scikit_learn_conventions(learner):
    check_estimator(learner)


LEARNERS = [
    Mean(Linear()),
    Fisher(Gaussian(2.0), ridge=0.5, covariance="printed"),
    Select(KERNELS, RIDGES, folds=3, random_state=4),
    Select(BandwidthGrid(Laplace(), count=3)),
    FromEstimator(make_pipeline(StandardScaler(), LogisticRegression(C=2.0)), balanced=False),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=name_of)
def test_clones_have_equal_parameters(learner):
    copy = clone(learner)
    assert copy is not learner
    assert repr(copy) == repr(learner)
    assert repr(type(learner)().set_params(**learner.get_params(deep=False))) == repr(learner)


def test_nested_parameters():
    learner = FromEstimator(make_pipeline(StandardScaler(), LogisticRegression()))
    assert learner.get_params()["model__logisticregression__C"] == 1.0
    assert set(learner.get_params(deep=False)) == {"model", "balanced", "output"}
    learner.set_params(model__logisticregression__C=0.1, balanced=False)
    assert learner.model[-1].C == 0.1
    assert not learner.balanced


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match=r"`bandwidth` is no parameter of Fisher: .*kernel"):
        Fisher().set_params(bandwidth=1.0)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("after", "before"), (False, True), (3, 7)])
@pytest.mark.parametrize(
    "learner", [Mean(), Fisher(), Select(), Nystrom(), FromEstimator(LogisticRegression())], ids=name_of
)
def test_the_greater_label_is_the_first_sample(learner, labels):
    Z, y = labelled()
    named = np.array(labels)[y]
    fitted = clone(learner).fit(Z, named)
    h = fitted.decision_function(Z)
    assert h[y == 1].mean() > 0 > h[y == 0].mean()
    assert fitted.score(Z, named) == pytest.approx(snr(h[y == 1], h[y == 0]))
    assert_array_equal(fitted.predict(Z), np.array(labels)[(h > 0).astype(int)])


@pytest.mark.parametrize("labels", [[0, 1, 2] * 4, [1] * 12])
def test_labels_must_be_of_two_kinds(labels):
    with pytest.raises(ValueError, match="`y` must be of two kinds"):
        Fisher().fit(np.arange(24.0).reshape(12, 2), labels)


def test_an_unfitted_learner_says_so():
    with pytest.raises(NotFittedError, match="Fisher"):
        Fisher().decision_function([[0.0]])


@pytest.mark.parametrize("learner", [Mean(), Fisher(), FromEstimator(LogisticRegression())], ids=name_of)
def test_the_order_of_rows_does_not_matter(learner):
    Z, y = labelled()
    order = np.random.default_rng(2).permutation(len(y))
    fitted, shuffled = clone(learner).fit(Z, y), clone(learner).fit(Z[order], y[order])
    assert_allclose(shuffled.decision_function(Z), fitted.decision_function(Z), atol=1e-7)


@pytest.mark.parametrize(
    "folds",
    [
        [(np.arange(30), np.arange(30, 90)), (np.arange(45, 90), np.arange(45))],
        StratifiedKFold(3, shuffle=True, random_state=0),
        KFold(4),
    ],
    ids=["pairs", "stratified", "in order"],
)
@pytest.mark.parametrize("covariance", ["corrected", "printed"])
def test_select_is_a_grid_search_with_one_reduction_per_kernel(folds, covariance):
    Z, y = labelled()
    grid = {"kernel": KERNELS, "ridge": RIDGES}
    search = GridSearchCV(Fisher(covariance=covariance), grid, scoring=snr_scorer, cv=folds).fit(Z, y)
    select = Select(KERNELS, RIDGES, folds=folds, covariance=covariance).fit(Z, y)
    selection = select.witness_.selection
    shape = len(KERNELS), len(RIDGES)
    assert_allclose(selection.scores, search.cv_results_["mean_test_score"].reshape(shape), rtol=1e-9)
    for f in range(selection.fold_scores.shape[2]):
        expected = search.cv_results_[f"split{f}_test_score"].reshape(shape)
        assert_allclose(selection.fold_scores[:, :, f], expected, rtol=1e-9)
    assert {"kernel": selection.kernel, "ridge": selection.ridge} == search.best_params_
    assert selection.snr == pytest.approx(search.best_score_)
    assert_allclose(select.decision_function(Z), search.decision_function(Z), rtol=1e-9, atol=1e-12)


def test_folds_of_a_test_number_the_pooled_training_rows():
    x, y = two_samples()
    train = np.arange(30), np.arange(25)
    folds = [(np.r_[:15, 30:43], np.r_[15:30, 43:55]), (np.r_[15:30, 43:55], np.r_[:15, 30:43])]
    learner = Select(KERNELS, RIDGES, folds=folds)
    tested = witness_test(x, y, learner=learner, train_share=train, rng=0).selection
    fitted = learner.fit(np.concatenate([x[:30], y[:25]]), np.repeat([1, 0], [30, 25])).witness_.selection
    assert_array_equal(tested.fold_scores, fitted.fold_scores)


def test_folds_of_select_are_stratified_and_repeatable():
    Z, y = labelled()
    same, again, other = (
        Select(KERNELS, RIDGES, folds=5, random_state=seed).fit(Z, y).witness_.selection for seed in (0, 0, 1)
    )
    assert same.fold_scores.shape == (3, 3, 5)
    assert_array_equal(same.fold_scores, again.fold_scores)
    assert (same.fold_scores != other.fold_scores).any()


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ({"folds": 1}, ValueError, "`folds` must be between 2 and 12.*25 training rows, got 1"),
        ({"folds": 26}, ValueError, "`folds` must be between 2 and 12.*25 training rows, got 26"),
        ({"folds": True}, TypeError, "`folds` must be a whole number, a splitter or pairs"),
        ({"folds": "two"}, TypeError, "`folds` must be a whole number, a splitter or pairs .*got 'two'"),
        ({"folds": iter([(range(55), range(55))])}, TypeError, "`folds` must .*list"),  # it would last for one run only
        ({"folds": []}, ValueError, "`folds` must hold at least one pair"),
        ({"folds": [(range(55), [55])]}, ValueError, "`folds` must be indices of training rows"),
        ({"folds": [(range(55), [0, 1])]}, ValueError, "rows of both samples in every part"),
        ({"kernels": []}, ValueError, r"`kernels` must be a non-empty sequence, got \[\]"),
        ({"kernels": ["gaussian"]}, TypeError, "`kernel` must be a kernel such as .*got 'gaussian'"),
        ({"kernels": [Gaussian(1e9)]}, ValueError, "`kernels` must contain one that tells the training rows apart"),
        ({"ridges": 0.1}, ValueError, "`ridges` must be a non-empty sequence, got 0.1"),
        ({"ridges": [0.1, 0.0]}, ValueError, "`ridge` must be a positive number .*got 0.0"),
        ({"covariance": "pooled"}, ValueError, "`covariance` must be one of 'corrected', 'printed'"),
    ],
)
def test_select_refuses(choice, error, message):
    with pytest.raises(error, match=message):
        witness_test(*two_samples(), learner=Select(**choice), rng=0)


def test_select_passes_over_what_cannot_be_computed():
    x, y = two_samples()
    kernels, ridges = [Gaussian(1e9), Linear(), Gaussian(1.0)], [1e-18, 0.1]
    selection = witness_test(x, y, learner=Select(kernels, ridges), rng=0).selection
    assert np.isneginf(selection.scores[0]).all()  # a constant kernel
    assert np.isneginf(selection.scores[:, 0]).all()  # a ridge below rounding
    assert np.isfinite(selection.scores[1:, 1]).all()
    assert selection.ridge == 0.1


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 4), (6, 5)])
def test_select_works_on_the_fewest_rows(n, m):
    """With two training rows a fold has no noise, and its SNR is infinite with either sign."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        result = witness_test(rng.normal(size=(n, 2)), rng.normal(size=(m, 2)), null=Permutation(9), rng=seed)
        assert 0.1 <= result.pvalue <= 1


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_select_works_where_few_rows_differ(share):
    """Rare events: a fold may hold none of them, so that all its rows are identical."""
    rng = np.random.default_rng(1)
    for seed in range(20):
        x, y = rng.random((20, 1)) < share, rng.random((20, 1)) < share
        result = witness_test(x, y, null=Permutation(9), rng=seed)
        assert not np.isneginf(result.selection.scores).any()


def test_a_fold_of_identical_rows_scores_zero_as_in_a_grid_search():
    Z, y = np.repeat([0.0, 1.0, 2.0], [10, 4, 6])[:, None], np.tile([1, 0], 10)
    folds = [(np.arange(10), np.arange(10, 20)), (np.arange(10, 20), np.arange(10))]
    search = GridSearchCV(Fisher(), {"kernel": KERNELS, "ridge": RIDGES}, scoring=snr_scorer, cv=folds).fit(Z, y)
    selection = Select(KERNELS, RIDGES, folds=folds).fit(Z, y).witness_.selection
    assert (selection.fold_scores[:, :, 0] == 0).all()
    assert_allclose(selection.scores.ravel(), search.cv_results_["mean_test_score"], rtol=1e-9)


def test_learners_work_in_pipelines_and_cross_validation():
    Z, y = labelled()
    scores = cross_val_score(make_pipeline(StandardScaler(), Fisher()), Z, y, cv=3, scoring=snr_scorer)
    assert (scores > 0).all()
    nested = FromEstimator(make_pipeline(StandardScaler(), Select(KERNELS, RIDGES)))
    assert witness_test(*two_samples(), learner=nested, rng=0).pvalue <= 0.01


MODELS = {
    "decision function": (LogisticRegression(), "decision_function"),
    "probability only": (GaussianNB(), "predict_proba"),
    "regressor": (Ridge(), "predict"),
    "regressor without weights": (KNeighborsRegressor(), "predict"),
    "pipeline": (make_pipeline(StandardScaler(), SVC()), "decision_function"),
    "boosting": (HistGradientBoostingClassifier(min_samples_leaf=5, max_iter=20, random_state=0), "decision_function"),
    "stack": (StackingClassifier([("a", GaussianNB())], LogisticRegression()), "decision_function"),
    "grid search": (GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}), "decision_function"),
}


@pytest.mark.parametrize(("model", "output"), MODELS.values(), ids=MODELS.keys())
def test_any_model_serves_as_learner(model, output):
    x, y = two_samples()
    with threadpool_limits(1):  # threads that wait for each other are slow on a busy machine
        result = witness_test(x, y, learner=FromEstimator(model, balanced=False), rng=0)
    assert result.pvalue <= 0.01
    rows_x, rows_y = result.train_rows
    fitted = clone(model).fit(np.concatenate([x[rows_x], y[rows_y]]), np.repeat([1, 0], [len(rows_x), len(rows_y)]))
    expected = getattr(fitted, output)(x)
    assert_allclose(result.witness(x), expected[:, 1] if output == "predict_proba" else expected)


def test_a_model_needs_nothing_but_fit_and_predict():
    class MeanDifference:
        def fit(self, rows, labels):
            self.direction = rows[labels == 1].mean(axis=0) - rows[labels == 0].mean(axis=0)

        def predict(self, rows):
            return rows @ self.direction

    model = MeanDifference()
    assert witness_test(*two_samples(), learner=FromEstimator(model), rng=0).pvalue <= 0.01
    assert not hasattr(model, "direction")


def test_a_model_may_return_one_probability_for_each_row():
    class OneProbability:
        def fit(self, rows, labels):
            self.fitted_ = True

        def predict_proba(self, rows):
            return 1 / (1 + np.exp(-rows[:, 0]))

    assert witness_test(*two_samples(), learner=FromEstimator(OneProbability()), rng=0).pvalue <= 0.01


def test_a_model_without_any_output_says_so():
    nothing = make_pipeline("passthrough", "passthrough")
    with pytest.raises(TypeError, match=r"`learner`: Pipeline must have decision_function, predict_proba or predict"):
        witness_test(*two_samples(), learner=FromEstimator(nothing), rng=0)


def test_a_function_may_return_a_tensor():
    def first_column(rows):
        return torch.tensor(rows[:, 0], requires_grad=True)

    x, y = two_samples()
    expected = witness_test(x, y, learner=lambda rows: rows[:, 0], rng=0)
    result = witness_test(x, y, learner=first_column, rng=0)
    assert tuple(result) == tuple(expected)
    assert result.snr == snr(first_column(x), first_column(y))


def test_a_kernel_is_no_learner():
    with pytest.raises(TypeError, match=r"`learner` must learn a witness, got the kernel Gaussian.*learner=Fisher"):
        witness_test(*two_samples(), learner=Gaussian(0.5), rng=0)


class Recorder(BaseEstimator):
    """Remembers the weights that it was fitted with, in a list that clones share."""

    seen = []  # noqa: RUF012

    def fit(self, rows, labels, sample_weight=None):
        self.seen.append((labels, sample_weight))
        self.fitted_ = True
        return self

    def predict(self, rows):
        return rows[:, 0]


@pytest.mark.parametrize("model", [Recorder(), make_pipeline(StandardScaler(), Recorder())], ids=name_of)
def test_weights_reach_the_model(model):
    Recorder.seen.clear()
    FromEstimator(model).fit(*labelled(50, 20))
    FromEstimator(model, balanced=False).fit(*labelled(50, 20))
    (labels, weights), (_, without) = Recorder.seen
    assert len(weights) == 70
    assert len(set(weights[labels == 1])) == len(set(weights[labels == 0])) == 1
    assert 0 < weights[labels == 1][0] < weights[labels == 0][0]  # the smaller sample weighs more, row by row
    assert without is None


CLASSIFIERS = [
    LogisticRegression(),
    GaussianNB(),
    make_pipeline(StandardScaler(), SVC()),
    RandomForestClassifier(n_estimators=20, random_state=0),
    HistGradientBoostingClassifier(min_samples_leaf=5, max_iter=10),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
@pytest.mark.parametrize("m", [60, 25])
def test_c2st_s_is_balanced_accuracy_and_fishers_exact_test(model, m):
    x, y = two_samples(60, m)
    learner = FromEstimator(model, output="class")
    result = witness_test(x, y, learner=learner, null=Saddlepoint(), rng=0)
    h_x, h_y = result.values
    assert set(h_x) | set(h_y) <= {0.0, 1.0}
    truth, predicted = np.repeat([1, 0], [len(h_x), len(h_y)]), np.concatenate([h_x, h_y])
    assert result.statistic == pytest.approx(2 * balanced_accuracy_score(truth, predicted) - 1)
    if m == 60:
        assert result.statistic == pytest.approx(2 * np.mean(truth == predicted) - 1)
    table = [[h_x.sum(), len(h_x) - h_x.sum()], [h_y.sum(), len(h_y) - h_y.sum()]]
    assert result.pvalue == pytest.approx(fisher_exact(table, alternative="greater").pvalue, rel=1e-9)
    drawn = witness_test(x, y, learner=learner, null=Permutation(19_999), rng=0)
    assert drawn.statistic == result.statistic
    assert drawn.pvalue == pytest.approx(result.pvalue, rel=0.3, abs=2e-4)
    assert witness_test(x, y, **drawn.settings() | {"learner": learner}).pvalue == drawn.pvalue


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_c2st_l_is_the_mean_logit(model):
    x, y = two_samples()
    result = witness_test(x, y, learner=FromEstimator(model, output="logit"), rng=0)
    fitted = result.witness.function.model
    if hasattr(fitted, "predict_proba"):
        p = fitted.predict_proba(x)[:, 1]
        assert_allclose(result.witness(x), np.log(np.clip(p, 1e-6, None) / np.clip(1 - p, 1e-6, None)), rtol=1e-6)
    else:
        assert_allclose(result.witness(x), fitted.decision_function(x))
    assert np.isfinite(result.witness(x)).all()
    assert result.pvalue <= 0.01


def test_the_logit_of_a_logistic_regression_is_its_decision_function():
    x, y = two_samples(shift=0.5)
    auto, logit, probability = (
        FromEstimator(LogisticRegression(), output=output).learn(Samples(x, y), np.random.default_rng(0))(x)
        for output in ("auto", "logit", "probability")
    )
    assert_allclose(logit, auto, rtol=1e-9)
    assert_allclose(probability, 1 / (1 + np.exp(-auto)), rtol=1e-9)


class FirstRowsOnly(LogisticRegression):
    """Looks at a few rows, which are all of one sample."""

    def fit(self, rows, labels):
        self.classes_ = np.unique(labels[:3])
        return self

    def predict_proba(self, rows):
        return np.ones((len(rows), 1))


@pytest.mark.parametrize(
    ("model", "output", "error", "message"),
    [
        (FirstRowsOnly(), "class", ValueError, "`model` must have seen rows of both samples, but FirstRowsOnly"),
        (FirstRowsOnly(), "auto", ValueError, "fitted to one class.*raise `train_share`"),
        (Ridge(), "class", ValueError, "`output='class'` needs a classifier.*from Ridge"),
        (Ridge(), "probability", TypeError, "`output='probability'` needs a model with predict_proba, got Ridge"),
        (Ridge(), "logit", TypeError, "`output='logit'` needs a model with predict_proba or decision_function"),
        (GaussianNB(), "accuracy", ValueError, "`output` must be one of 'auto', 'class', 'logit', 'probability'"),
    ],
)
def test_outputs_that_a_model_does_not_have(model, output, error, message):
    with pytest.raises(error, match=message):
        witness_test(*two_samples(), learner=FromEstimator(model, output=output), rng=0)


def test_a_scorer_of_one_class_says_so():
    with pytest.raises(ValueError, match="`model` must have seen rows of both samples"):
        snr_scorer(DummyClassifier().fit(np.ones((4, 1)), [1, 1, 1, 1]), np.ones((4, 1)), [0, 0, 1, 1])


def test_squared_error_maximises_the_signal_to_noise_ratio():
    """Over all linear functions; where n and m differ it takes the weights, and the error says which SNR it reached."""
    rng = np.random.default_rng(0)
    n, m = 30, 120
    x, y = rng.normal(size=(n, 3)) * [1, 3, 1], rng.normal(size=(m, 3)) * [3, 1, 1] + 0.4
    Z, labels, c = np.concatenate([x, y]), np.repeat([1, 0], [n, m]), n / (n + m)
    fit = FromEstimator(LinearRegression()).learn(Samples(x, y), rng)
    reached = snr(fit(x), fit(y))
    sigma = np.cov(x.T, ddof=0) / c + np.cov(y.T, ddof=0) / (1 - c)
    delta = x.mean(axis=0) - y.mean(axis=0)
    assert reached == pytest.approx(np.sqrt(delta @ np.linalg.solve(sigma, delta)), rel=1e-9)
    others = [snr(x @ w, y @ w) for w in rng.normal(size=(2000, 3))]
    assert reached > max(others) > 0.8 * reached
    error = (1 - c) * np.mean((fit(x) - 1) ** 2) + c * np.mean(fit(y) ** 2)
    assert error == pytest.approx(c * (1 - c) / (1 + reached**2), rel=1e-9)
    unweighted = LinearRegression().fit(Z, labels)
    assert snr(unweighted.predict(x), unweighted.predict(y)) < 0.999 * reached


def test_weighted_least_squares_is_the_linear_fisher_witness():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)) * [1, 3], rng.normal(size=(120, 2)) * [3, 1] + 0.5
    Z, labels = np.concatenate([x, y]), np.repeat([1, 0], [30, 120])
    squares = FromEstimator(LinearRegression()).fit(Z, labels).decision_function(Z)
    fisher = Fisher(Linear(), ridge=1e-9).fit(Z, labels).decision_function(Z)
    assert np.corrcoef(squares, fisher)[0, 1] == pytest.approx(1, abs=1e-6)


FOREST = RandomForestClassifier(n_estimators=5)


@pytest.mark.parametrize("model", [FOREST, make_pipeline(StandardScaler(), FOREST)], ids=["alone", "in a pipeline"])
def test_open_seeds_come_from_rng(model):
    learner, train = FromEstimator(model), (np.arange(30), np.arange(25))
    same, again, other = (
        witness_test(*two_samples(shift=0.3), learner=learner, train_share=train, rng=seed).values[0]
        for seed in (0, 0, 1)
    )
    assert_array_equal(same, again)
    assert (same != other).any()


def test_given_seeds_are_kept():
    learner, train = FromEstimator(clone(FOREST).set_params(random_state=3)), (np.arange(30), np.arange(25))
    first, second = (
        witness_test(*two_samples(), learner=learner, train_share=train, rng=seed).values[0] for seed in (0, 1)
    )
    assert_array_equal(first, second)


@pytest.mark.parametrize("model", [FOREST, make_pipeline(StandardScaler(), LogisticRegression())], ids=name_of)
def test_the_model_passed_is_left_alone(model):
    before = repr(model.get_params())
    learner = FromEstimator(model)
    witness_test(*two_samples(), learner=learner, rng=0)
    assert repr(model.get_params()) == before
    assert learner.model is model
    with pytest.raises(NotFittedError):
        model.predict(two_samples()[0])


class Returns(BaseEstimator):
    """A model that predicts what it is told to."""

    def __init__(self, prediction=None):
        self.prediction = prediction

    def fit(self, rows, labels):
        self.fitted_ = True
        return self

    def predict(self, rows):
        return self.prediction(rows)


RETURNED = {
    "NaN": (lambda rows: np.full(len(rows), np.nan), ValueError, "must return finite numbers, got .* NaN"),
    "two columns": (lambda rows: rows, ValueError, r"must return one number for each of .* rows, got shape \(.*, 2\)"),
    "too few": (lambda rows: rows[:3, 0], ValueError, r"got shape \(3,\)"),
    "one number": (lambda rows: 1.0, ValueError, r"got shape \(\)"),
    "strings": (lambda rows: ["a"] * len(rows), TypeError, "must return one number per row, got"),
    "complex": (lambda rows: rows[:, 0] + 1j, TypeError, "must return one number per row"),
}


@pytest.mark.parametrize(("function", "error", "message"), RETURNED.values(), ids=RETURNED.keys())
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: FromEstimator(Returns(f))], ids=["function", "model"])
def test_bad_witness_values(function, error, message, wrap):
    with pytest.raises(error, match=f"`learner`: .*{message}"):
        witness_test(*two_samples(), learner=wrap(function), rng=0)


class NoPrediction(BaseEstimator):
    def fit(self, rows, labels):
        return self


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (FromEstimator(), "`model` must be an estimator .*, got None"),
        (FromEstimator(3), "`model` must be an estimator .*, got 3"),
        (FromEstimator(LogisticRegression), "`model` must be an estimator .*got <class"),
        (FromEstimator(NoPrediction()), "`model` must .*predict.*NoPrediction"),
        (LogisticRegression(), r"got the model LogisticRegression\(\). Write learner=FromEstimator\(model\)"),
        (Fisher, r"got the class Fisher. Write Fisher\(\)"),
        (LogisticRegression, "got the class LogisticRegression"),
        ("fisher", "`learner` must be Fisher.*or a function, got 'fisher'"),
        (None, "`learner` must be .*got None"),
    ],
    ids=str,
)
def test_bad_learners(learner, message):
    with pytest.raises(TypeError, match=message):
        witness_test(*two_samples(), learner=learner)


@pytest.mark.parametrize("learner", [lambda z: np.ones(len(z)), FromEstimator(Returns(lambda z: np.full(len(z), 0.1)))])
def test_a_constant_witness_tells_nothing_apart(learner):
    result = witness_test(*two_samples(), learner=learner, rng=0)
    assert result.pvalue == 1
    assert "constant" in result.notes[0]


def test_a_function_is_the_witness_and_every_row_judges():
    x, y = two_samples()
    result = witness_test(x, y, learner=lambda z: z[:, :1], null=Permutation(99), rng=0)
    assert_array_equal(result.values[0], x[:, 0])
    assert_array_equal(result.values[1], y[:, 0])
    assert result.statistic == pytest.approx(x[:, 0].mean() - y[:, 0].mean())
    assert (result.rows.n_train, result.rows.m_train) == (0, 0)
