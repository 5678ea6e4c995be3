"""Witnesses from elsewhere: any scikit-learn model, or a plain function that needs no learning.

Squared error maximises the signal-to-noise ratio: with weights ``1 - c`` on P (target 1) and ``c`` on Q (target 0),
``c = n / (n + m)``, shared by the rows of each, the smallest weighted squared error over rescalings of f is
``c (1 - c) / (1 + SNR(f)^2)``. Those weights are passed on as ``sample_weight`` where the model takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from tellapart import _checks as checks
from tellapart._arrays import FloatArray
from tellapart.samples import Samples
from tellapart.witness.base import Estimator, as_witness_values, output_of, refuse_one_class

Output = Literal["auto", "class", "logit", "probability"]

_SURE = 1e-6  # probabilities are kept so far away from 0 and 1, of which forests return many


@dataclass(frozen=True, eq=False)
class ModelWitness:
    """One output of a fitted model."""

    model: Any
    output: Output = "auto"

    def __call__(self, rows: FloatArray) -> NDArray[np.float64]:
        return _OUTPUTS[self.output](self.model, rows)


@dataclass
class FromEstimator(Estimator):
    """The output of any scikit-learn classifier or regressor as witness.

    Parameters
    ----------
    model : estimator
        Anything with ``fit`` and ``decision_function``, ``predict_proba`` or ``predict``: pipelines, gradient boosting,
        XGBoost and its like. A copy is fitted; yours stays as it is. Rows of the first sample have label 1, those
        of the second 0.
    balanced : bool
        Weight the samples so that squared error maximises the signal-to-noise ratio, where the model takes
        ``sample_weight`` (default). It matters where n and m differ: then the smaller sample weighs more.
    output : {"auto", "class", "logit", "probability"}
        What of the model is the witness:

        - "auto": its decision function, else its probability of label 1, else its prediction;
        - "class": the predicted label, 1 or 0. This is C2ST-S, the classifier two-sample test by accuracy;
        - "logit": the log-odds of label 1, with probabilities kept 1e-6 away from 0 and 1; the decision function of a
          model without probabilities. This is C2ST-L, the test by the mean logit;
        - "probability": the probability of label 1.

    Notes
    -----
    *Classifier two-sample tests* are witness tests, and exact: given the training rows the classifier is a fixed
    function, so if the distributions are equal its outputs on the pooled test rows are exchangeable. They are
    one-sided, because training says which sample gets the greater output; a classifier that is *worse* than chance on
    fresh rows is no evidence, and testing both sides would spend half of the level on it.

    With "class" the difference in means is the share of rows of the first sample that are recognised minus the share of
    rows of the second that are not: twice the *balanced* accuracy minus 1, and for n = m twice the accuracy minus 1.
    Unlike the accuracy it cannot be won by always naming the larger sample. All relabellings at once are Fisher's exact
    test of the table of sample and predicted label: that is what ``null=Saddlepoint()`` computes.

    A ``random_state`` that the model leaves at None is drawn from `rng`, so the same rng gives the same result.

    *Rows that are no numbers*, such as texts: pass the numbers of the rows as samples, and let the first step of a
    pipeline look the objects up. The model must see nothing of a number but its object; then it is a function of the
    objects, and all of the above holds. (The samples stay numeric tables, because what is checked of them, and what
    splits, chunks and kernels do with them, has no meaning for objects.)

    References
    ----------
    Lopez-Paz, Oquab (2017). Revisiting classifier two-sample tests. ICLR. arXiv:1610.06545.
    Cheng, Cloninger (2022). Classification logit two-sample testing by neural networks. doi:10.1109/TIT.2022.3175691.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from tellapart import witness_test
    >>> from tellapart.datasets import blobs

    C2ST-S:

    >>> forest = RandomForestClassifier(n_estimators=50)
    >>> x, y = blobs(300, theta=np.pi / 4, rng=0)
    >>> result = witness_test(x, y, learner=FromEstimator(forest, output="class"), rng=0)
    >>> balanced_accuracy = (1 + result.statistic) / 2
    >>> result.pvalue, 0.6 < balanced_accuracy < 0.8
    (0.001, True)

    Texts:

    >>> texts = ["the lamp is red", "a red lamp"] * 20 + ["the lamp is blue", "a blue lamp"] * 20
    >>> looked_up = FunctionTransformer(lambda rows: [texts[int(i)] for i in rows[:, 0]])
    >>> model = make_pipeline(looked_up, TfidfVectorizer(), RidgeClassifier())
    >>> witness_test(range(40), range(40, 80), learner=FromEstimator(model), rng=0).pvalue
    0.001
    """

    model: Any = None
    balanced: bool = True
    output: Output = "auto"

    def learn(self, train: Samples, rng: np.random.Generator) -> ModelWitness:
        """A fitted copy of the model, as a witness."""
        output = checks.one_of("output", self.output, get_args(Output))
        model = _copied(self.model)
        _seed(model, rng)
        labels = np.repeat([1, 0], [train.n, train.m])
        weights = np.repeat([train.m / train.n, train.n / train.m], [train.n, train.m])  # mean 1
        model.fit(train.pooled, labels, **(_weight_argument(model, weights) if self.balanced else {}))
        refuse_one_class(model)
        return ModelWitness(model, output)


@dataclass(frozen=True)
class Given:
    """A plain function of the rows as witness: nothing to learn, so every row judges.

    The function must not have been made with the help of these samples.
    """

    function: Callable[[Any], Any]

    def learn(self, train: Samples, rng: np.random.Generator) -> Given:
        """Itself."""
        return self

    def __call__(self, rows: FloatArray) -> NDArray[np.float64]:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return as_witness_values(self.function(rows), len(rows), name)


def _label(model: Any, rows: FloatArray) -> NDArray[np.float64]:
    """The predicted label."""
    labels = as_witness_values(model.predict(rows), len(rows), type(model).__name__)
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(
            f"`output='class'` needs a classifier, which predicts the labels 1 and 0, got {labels.min():.3g} to "
            f"{labels.max():.3g} from {type(model).__name__}. Leave `output` out: any number is a witness."
        )
    return labels


def _probability(model: Any, rows: FloatArray) -> NDArray[np.float64]:
    """The probability of label 1."""
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"`output='probability'` needs a model with predict_proba, got {type(model).__name__}.")
    p = np.asarray(model.predict_proba(rows))
    return as_witness_values(p[:, -1] if p.ndim == 2 else p, len(rows), type(model).__name__)


def _log_odds(model: Any, rows: FloatArray) -> NDArray[np.float64]:
    """The logit of label 1, or what stands for it in a model without probabilities."""
    if hasattr(model, "predict_proba"):
        return np.asarray(logit(np.clip(_probability(model, rows), _SURE, 1 - _SURE)))
    if hasattr(model, "decision_function"):
        return output_of(model, rows)
    raise TypeError(
        f"`output='logit'` needs a model with predict_proba or decision_function, got {type(model).__name__}."
    )


_OUTPUTS: dict[Output, Callable[[Any, FloatArray], NDArray[np.float64]]] = {
    "auto": output_of,
    "class": _label,
    "logit": _log_odds,
    "probability": _probability,
}


def _copied(model: Any) -> Any:
    """An unfitted copy of the user's model."""
    from sklearn.base import clone

    outputs = ("decision_function", "predict_proba", "predict")
    # A stack of models has its outputs only when fitted; its class knows of them before.
    usable = hasattr(model, "fit") and any(hasattr(where, name) for name in outputs for where in (model, type(model)))
    if not usable or isinstance(model, type):
        raise TypeError(
            f"`model` must be an estimator with fit and predict, got {model!r}. "
            "For example FromEstimator(HistGradientBoostingClassifier())."
        )
    return clone(model) if hasattr(model, "get_params") else deepcopy(model)


def _seed(model: Any, rng: np.random.Generator) -> None:
    """Fix every ``random_state`` that was left open, also inside pipelines."""
    if not hasattr(model, "get_params"):
        return
    open_seeds = [k for k, v in sorted(model.get_params().items()) if k.split("__")[-1] == "random_state" and v is None]
    if open_seeds:
        model.set_params(**{k: int(rng.integers(2**31 - 1)) for k in open_seeds})


def _weight_argument(model: Any, weights: NDArray[np.float64]) -> dict[str, Any]:
    """`weights` under the name by which this model's ``fit`` takes them; nothing if it takes none."""
    from sklearn.utils.validation import has_fit_parameter

    steps = getattr(model, "steps", None)
    if steps:  # a pipeline hands its last step what is prefixed with that step's name
        name, last = steps[-1]
        return {f"{name}__sample_weight": weights} if has_fit_parameter(last, "sample_weight") else {}
    return {"sample_weight": weights} if has_fit_parameter(model, "sample_weight") else {}
