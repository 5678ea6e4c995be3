"""What every learner shares: ``learn(train, rng) -> witness``, and scikit-learn's protocol on top of it.

``learn`` never changes the learner, so one value can be used in any number of tests at once. ``fit`` is the
scikit-learn side: it stores what ``learn`` returned in attributes with a trailing underscore. scikit-learn itself
is imported only when that side is used, because it brings pandas along where pandas is installed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart._arrays import FloatArray, chunks, to_numpy
from tellapart._progress import progress
from tellapart.kernels import Gaussian, Kernel, as_kernel, kernel_matrix
from tellapart.moments import snr
from tellapart.pairs import Pairs
from tellapart.samples import Samples


@runtime_checkable
class Witness(Protocol):
    """A function of rows that is large where the first sample is dense: (rows, d) -> (rows,)."""

    def __call__(self, rows: FloatArray, /) -> NDArray[np.float64]: ...


@runtime_checkable
class Learner(Protocol):
    """Stage I: whatever learns a witness from training samples, without changing itself."""

    def learn(self, train: Samples, rng: np.random.Generator) -> Witness: ...


@runtime_checkable
class KernelLearner(Protocol):
    """Whatever learns a kernel from training samples, without changing itself.

    It stands wherever a kernel is learned before a witness is (``Mean(kernel=...)``, ``Fisher(kernel=...)``) or before
    all pairs of fresh rows are compared (``mmd_test(x, y, kernel=...)``).
    """

    def learn_kernel(self, train: Samples, rng: np.random.Generator) -> Kernel: ...


def learns_kernel(choice: Any) -> bool:
    """Whether `choice` is a kernel learner, and no class of them."""
    return isinstance(choice, KernelLearner) and not isinstance(choice, type)


def kernel_for(choice: Any, train: Samples, rng: np.random.Generator) -> Kernel:
    """The kernel that a choice stands for on these training rows: learned there, or with its bandwidth resolved."""
    if learns_kernel(choice):
        return as_kernel(choice.learn_kernel(train, rng))
    return as_kernel(choice or Gaussian()).resolved(train.pooled, rng, train.shares)


@dataclass(frozen=True, eq=False)
class KernelWitness:
    """``h(z) = sum_i coefficients_i kernel(centres_i, z)``."""

    kernel: Kernel
    centres: FloatArray  # (M, d)
    coefficients: NDArray[np.float64]  # (M,)

    def __call__(self, rows: FloatArray) -> NDArray[np.float64]:
        h, largest = self._summed(rows, self.coefficients)
        size = np.abs(self.coefficients)
        if len(h) and np.ptp(h) <= 1e-9 * largest * size.sum():  # perhaps nothing but rounding: look closer
            rounding = 8 * np.finfo(np.float64).eps * self._summed(rows, size, absolute=True)[0].max()
            if np.ptp(h) <= rounding:
                h[:] = h.mean()
        return h

    def _summed(
        self, rows: FloatArray, coefficients: NDArray[np.float64], absolute: bool = False
    ) -> tuple[NDArray[np.float64], float]:
        """``sum_i coefficients_i kernel(centres_i, z)`` for each row z, and the largest size of a kernel value."""
        h, largest = np.empty(len(rows)), 0.0
        for part in progress(list(chunks(len(rows), len(self.centres))), "evaluating the witness"):
            k = kernel_matrix(self.kernel, Pairs(rows[part], self.centres))
            h[part] = (np.abs(k) if absolute else k) @ coefficients
            largest = max(largest, float(k.max()), -float(k.min()))
        return h, largest


class Estimator:
    """A learner as scikit-learn knows estimators: parameters are the dataclass fields, `score` is the SNR.

    The greater of the two labels plays the first sample: its rows get the larger witness values.
    """

    def learn(self, train: Samples, rng: np.random.Generator) -> Witness:
        raise NotImplementedError(f"{type(self).__name__} must define learn(train, rng).")

    def fit(self, Z: ArrayLike, y: ArrayLike) -> Self:
        """Learn the witness from the rows `Z` and their labels `y`, which are of two kinds."""
        rows, kinds = self._validated(Z, y)
        order = np.argsort(kinds == self.classes_[0], kind="stable")  # rows of the first sample to the front
        n = int((kinds == self.classes_[1]).sum())
        train = Samples(rows[order[:n]], rows[order[n:]])
        self.witness_ = self._learn_in_order(train, order, np.random.default_rng(getattr(self, "random_state", None)))
        h = np.asarray(self.witness_(train.pooled))
        self.threshold_ = float(h[:n].mean() + h[n:].mean()) / 2
        return self

    def _learn_in_order(self, train: Samples, order: NDArray[np.intp], rng: np.random.Generator) -> Witness:
        """`learn`, told where each pooled training row stood in what the user passed to `fit`."""
        return self.learn(train, rng)

    def decision_function(self, Z: ArrayLike) -> NDArray[np.float64]:
        """Witness values of `Z`, moved so that 0 lies midway between the two training means."""
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self, "witness_")
        rows = validate_data(self, Z, dtype=[np.float64, np.float32], reset=False)
        return np.asarray(self.witness_(rows)) - self.threshold_

    def predict(self, Z: ArrayLike) -> NDArray[Any]:
        """The label whose training mean is nearer in witness value."""
        nearer_first = self.decision_function(Z) > 0
        return np.asarray(self.classes_[nearer_first.astype(int)])

    def score(self, Z: ArrayLike, y: ArrayLike) -> float:
        """Signal-to-noise ratio of the witness on these rows."""
        return snr_scorer(self, Z, y)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, those of nested estimators as ``outer__inner``."""
        params: dict[str, Any] = {}
        for name in self._parameters():
            params[name] = value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params.update({f"{name}__{inner}": v for inner, v in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name."""
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in self._parameters():
                raise ValueError(f"`{outer}` is no parameter of {type(self).__name__}: {self._parameters()}.")
            if inner:
                getattr(self, outer).set_params(**{inner: value})
            else:
                setattr(self, outer, value)
        return self

    def _parameters(self) -> list[str]:
        return [f.name for f in fields(self)]  # type: ignore[arg-type]

    def _validated(self, Z: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, NDArray[Any]]:
        from sklearn.utils.multiclass import check_classification_targets, type_of_target
        from sklearn.utils.validation import validate_data

        rows, kinds = validate_data(self, Z, labels, dtype=[np.float64, np.float32])
        check_classification_targets(kinds)
        self.classes_ = np.unique(kinds)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(kinds)}: `y` must be of two kinds, got {len(self.classes_)}."
            )
        if len(self.classes_) < 2:
            raise ValueError("`y` must be of two kinds, got 1 class: there is no second sample.")
        return rows, kinds

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(),
        )


def snr_scorer(estimator: Any, Z: ArrayLike, y: ArrayLike) -> float:
    """Signal-to-noise ratio of a fitted estimator's witness on fresh rows, for ``scoring=`` in scikit-learn.

    Works for our learners and for any binary classifier with ``decision_function``, ``predict_proba`` or, failing
    both, ``predict``; see :func:`tellapart.snr`.
    """
    refuse_one_class(estimator)
    h = output_of(estimator, Z)
    first = np.asarray(y) == estimator.classes_[1]
    return snr(h[first], h[~first])


def refuse_one_class(model: Any) -> None:
    """Say so if a fitted classifier knows of one label only: its output would be the same everywhere."""
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) < 2:
        raise ValueError(
            f"`model` must have seen rows of both samples, but {type(model).__name__} was fitted to one class, "
            f"{classes[0]!r}. Let it use all the rows that it is given, or raise `train_share`."
        )


def output_of(model: Any, rows: Any) -> NDArray[np.float64]:
    """One number per row from a fitted model: its decision function, else its probability of 1, else its prediction."""
    if hasattr(model, "decision_function"):
        h = np.asarray(model.decision_function(rows))
    elif hasattr(model, "predict_proba"):
        h = np.asarray(model.predict_proba(rows))
        h = h[:, -1] if h.ndim == 2 else h
    elif hasattr(model, "predict"):
        h = np.asarray(model.predict(rows))
    else:
        raise TypeError(f"`learner`: {type(model).__name__} must have decision_function, predict_proba or predict.")
    return as_witness_values(h, len(rows), type(model).__name__)


def as_witness_values(h: Any, n_rows: int, source: str) -> NDArray[np.float64]:
    """What a user's function or model returned, as n finite numbers."""
    try:
        given = to_numpy(h)
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        values = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`learner`: {source} must return one number per row, got {type(h).__name__}.") from error
    if values.shape == (n_rows, 1):
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise ValueError(
            f"`learner`: {source} must return one number for each of {n_rows} rows, got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        raise ValueError(f"`learner`: {source} must return finite numbers, got {bad} NaN or infinite of {n_rows}.")
    return values
