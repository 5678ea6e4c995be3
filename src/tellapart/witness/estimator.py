"""Witnesses from elsewhere: any scikit-learn model, or a plain function that needs no learning.

Squared error maximises the signal-to-noise ratio: with weights ``1 - c`` on P (target 1) and ``c`` on Q (target 0),
``c = n / (n + m)``, shared by the rows of each, the smallest weighted squared error over rescalings of f is
``c (1 - c) / (1 + SNR(f)^2)``. Those weights are passed on as ``sample_weight`` where the model takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._arrays import FloatArray
from tellapart.samples import Samples
from tellapart.witness.base import Estimator, as_witness_values, output_of


@dataclass(frozen=True, eq=False)
class ModelWitness:
    """The output of a fitted model: decision function, else probability, else prediction."""

    model: Any

    def __call__(self, rows: FloatArray) -> NDArray[np.float64]:
        return output_of(self.model, rows)


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

    Notes
    -----
    A ``random_state`` that the model leaves at None is drawn from `rng`, so the same rng gives the same result.
    """

    model: Any = None
    balanced: bool = True

    def learn(self, train: Samples, rng: np.random.Generator) -> ModelWitness:
        """A fitted copy of the model, as a witness."""
        model = _copied(self.model)
        _seed(model, rng)
        labels = np.repeat([1, 0], [train.n, train.m])
        weights = np.repeat([train.m / train.n, train.n / train.m], [train.n, train.m])  # mean 1
        model.fit(train.pooled, labels, **(_weight_argument(model, weights) if self.balanced else {}))
        return ModelWitness(model)


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
