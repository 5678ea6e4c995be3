"""Networks as witnesses: any torch module, trained by squared error or by the signal-to-noise ratio itself.

With weights ``1 - c`` on P (target 1) and ``c`` on Q (target 0), ``c = n / (n + m)``, shared by the rows of each, the
smallest weighted squared error over rescalings ``a f + b`` is

    c (1 - c) / (1 + SNR(f)^2):

of the error ``c (1 - c)`` of a constant, a regression on f removes the share ``cov^2 / (var var)``; the weighted
covariance of f and target is ``c (1 - c) (mu_P - mu_Q)`` and the weighted variance of f is ``(1 - c) var_P f + c var_Q
f`` plus ``c (1 - c) (mu_P - mu_Q)^2``. So least squares maximises the signal-to-noise ratio, and it may be computed on
batches of any size, which the ratio itself may not: its noise has to be estimated before it is divided by.

The module makes features; a linear layer on top of them makes the witness. For given features the best linear layer is
known: the Fisher direction ``(Sigma_P / c + Sigma_Q / (1 - c) + ridge I)^-1 (mu_P - mu_Q)``. After the training it
takes the place of the trained one, with the ridge that has the greatest ratio on the rows held out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._arrays import FloatArray
from tellapart.moments import Moments
from tellapart.samples import Samples
from tellapart.witness.base import Estimator
from tellapart.witness.training import History, Training, require_torch

if TYPE_CHECKING:
    from tellapart.witness.modules import NetworkFeatures

Vector = NDArray[np.float64]
Objective = Literal["squared error", "snr"]

_RIDGES = tuple(10.0**k for k in range(-8, 3))  # of the mean variance of a feature


@dataclass(frozen=True)
class EarlyStopping:
    """End a training when the rows held out say so.

    Parameters
    ----------
    share : float
        Share of the training rows that is held out, of each sample.
    patience : int
        Looks, of which a training has about a hundred, without a greater signal-to-noise ratio on the rows held out.

    Notes
    -----
    Where fewer than 4 rows of a sample learn none is held out, and the training rows take their place.
    """

    share: float = 0.2
    patience: int = 25

    def __post_init__(self) -> None:
        checks.share("share", self.share, usual=0.2)
        checks.whole("patience", self.patience)


@dataclass(frozen=True, eq=False)
class NetworkWitness:
    """``h(z) = direction . phi(z)`` with a trained module phi.

    Attributes
    ----------
    features : callable
        phi: rows (N, d) -> features (N, q), on NumPy arrays; ``features.module`` is the torch module.
    direction : array of shape (q,)
    ridge : float, or None where the layer is the trained one
    held_out_snr : float
        On the rows that stopped the training, which also chose ridge and restart: somewhat too large.
    history : History
    """

    features: NetworkFeatures = field(repr=False)
    direction: Vector = field(repr=False)
    ridge: float | None
    held_out_snr: float
    history: History = field(repr=False)

    def __call__(self, rows: FloatArray) -> Vector:
        return self.features(rows) @ self.direction


@dataclass
class Network(Estimator):
    """A torch module as witness.

    Parameters
    ----------
    module : torch.nn.Module, or function from columns to one, optional
        From rows to features (N, q); a linear layer on top makes the witness. A copy is trained; yours stays as it is.
        By default three layers of 64 rectifiers.
    objective : {"squared error", "snr"}
        What is minimised: the weighted squared error, which maximises the signal-to-noise ratio, or minus this ratio.
    last_layer : {"fisher", "trained"}
        Whether the exact Fisher direction takes the place of the trained layer.
    restarts : int
        Trainings from other weights, of which the one with the greatest ratio on the rows held out is kept. A module of
        yours starts from its weights at first, then from others drawn by its ``reset_parameters``.
    shape : tuple of int, optional
        Shape of a row as the module sees it, such as ``(1, 28, 28)``: samples are tables. Columns are then standardised
        together instead of one by one.
    training : Training
        Epochs, learning rate, batches, device, precision. For "snr" a batch has at least 256 rows of each sample, or
        all.
    stopping : EarlyStopping
    random_state : int, optional
        Seed when used as a scikit-learn estimator; the tests pass their own `rng`.

    Notes
    -----
    Level: a learner is a function of training rows and a seed, so every test of this library that is exact for any
    learner is exact for networks: ``witness_test``, and ``tell_apart`` with ``Refit`` or ``Prequential``.

    Examples
    --------
    >>> from tellapart.datasets import blobs
    >>> from tellapart.samples import as_samples
    >>> train = as_samples(*blobs(60, theta=np.pi / 4, rng=0))
    >>> network = Network(training=Training(epochs=20, learning_rate=1e-3))
    >>> network.learn(train, np.random.default_rng(0))(train.x).shape
    (60,)
    """

    module: Any = None
    objective: Objective = "squared error"
    last_layer: Literal["fisher", "trained"] = "fisher"
    restarts: int = 1
    shape: Any = None
    training: Training = field(default_factory=lambda: Training(epochs=500, learning_rate=3e-3, batch=128))
    stopping: EarlyStopping = field(default_factory=EarlyStopping)
    random_state: Any = None

    def learn(self, train: Samples, rng: np.random.Generator) -> NetworkWitness:
        """Train on a part of the training samples, watch the others, and put the Fisher direction on top."""
        require_torch()
        from tellapart.witness.network_training import NetworkTraining, Plan

        self._check()
        learn, held_out = self._parts(train, rng)
        shape = None if self.shape is None else tuple(int(size) for size in self.shape)
        plan = Plan(self.module, shape, self.objective, self.training, self.stopping.patience)
        found = []
        for restart in range(int(self.restarts)):
            run = NetworkTraining(learn, held_out, plan, restart, seed=int(rng.integers(2**63)))
            history = run.run()
            found.append(self._finished(run.features(), run.direction(), history, (learn, held_out)))
        return max(found, key=lambda witness: witness.held_out_snr)

    def _check(self) -> None:
        checks.one_of("objective", self.objective, ("squared error", "snr"))
        checks.one_of("last_layer", self.last_layer, ("fisher", "trained"))
        checks.whole("restarts", self.restarts)
        if not isinstance(self.training, Training):
            raise TypeError(f"`training` must be Training(...), got {self.training!r}.")
        if not isinstance(self.stopping, EarlyStopping):
            raise TypeError(f"`stopping` must be EarlyStopping(...), got {self.stopping!r}.")
        if self.shape is not None:
            if not isinstance(self.shape, Sequence) or isinstance(self.shape, str):
                raise TypeError(f"`shape` must be the shape of a row, such as (1, 28, 28), got {self.shape!r}.")
            for size in self.shape:
                checks.whole("shape", size)
            if self.module is None and len(self.shape) > 1:
                raise ValueError(f"`module` must be given with `shape`, got None for rows of shape {self.shape}.")

    def _parts(self, train: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
        """Rows that are learned from, and rows held out."""
        orders = rng.permutation(train.n), rng.permutation(train.m)
        if min(len(order) for order in orders) < 4:
            return train, train
        held = [max(2, round(self.stopping.share * len(order))) for order in orders]
        held = [min(size, len(order) - 2) for size, order in zip(held, orders, strict=True)]
        (x, y), (k, j) = orders, held
        return train.take(x[k:], y[j:]), train.take(x[:k], y[:j])

    def _finished(
        self, features: NetworkFeatures, trained: Vector, history: History, parts: tuple[Samples, Samples]
    ) -> NetworkWitness:
        """The witness of one training: with the trained layer, or with the Fisher direction on all rows."""
        learn, held_out = (FeatureMoments.of(features, part) for part in parts)
        if self.last_layer == "trained":
            return NetworkWitness(features, trained, None, held_out.snr(trained), history)
        ridges = [ridge * learn.typical_variance for ridge in _RIDGES]
        scores = [held_out.snr(learn.fisher(ridge)) for ridge in ridges]
        best = int(np.argmax(scores))
        every = learn if parts[0] is parts[1] else learn + held_out
        return NetworkWitness(features, every.fisher(ridges[best]), ridges[best], scores[best], history)


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """Moments of the features of both samples: all that the last layer and its ratio need."""

    p: Moments
    q: Moments

    @classmethod
    def of(cls, features: NetworkFeatures, samples: Samples) -> FeatureMoments:
        return cls(Moments.of(features(samples.x)), Moments.of(features(samples.y)))

    def __add__(self, other: FeatureMoments) -> FeatureMoments:
        return FeatureMoments(self.p + other.p, self.q + other.q)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """``Sigma_P / c + Sigma_Q / (1 - c)``."""
        c = self.p.n / (self.p.n + self.q.n)
        return np.asarray(self.p.variance / c + self.q.variance / (1 - c))

    @property
    def typical_variance(self) -> float:
        """Mean over features; 1 where none varies."""
        return float(np.trace(self.covariance)) / len(self.p.mean) or 1.0

    def fisher(self, ridge: float) -> Vector:
        """``(Sigma + ridge I)^-1 (mu_P - mu_Q)``."""
        regular = self.covariance + ridge * np.eye(len(self.p.mean))
        return np.asarray(np.linalg.solve(regular, self.p.mean - self.q.mean))

    def snr(self, direction: Vector) -> float:
        """Signal-to-noise ratio of ``direction . phi``: 0 for a witness that is constant on these rows."""
        noise = math.sqrt(max(0.0, float(direction @ self.covariance @ direction)))
        signal = float(direction @ (self.p.mean - self.q.mean))
        if noise > 0:
            return signal / noise
        return math.copysign(math.inf, signal) if signal else 0.0
