"""Kernels learned by gradients of the power criterion J: MMD-D, and the two that are called MMD-O.

A *kernel learner* has ``learn_kernel(train, rng) -> Kernel``. What it returns is a kernel like any other: NumPy in,
NumPy out. A kernel that was learned on training rows is a fixed function for the rows that judge, so every test that
keeps its level for fixed kernels on those rows keeps it here: ``mmd_test`` after a split (MMD-D) and the witness test
with the mean witness of the training rows (MMD-D-witness).

- :class:`DeepKernel`: ``[(1 - eps) kappa(phi(x), phi(y)) + eps] q(x, y)`` (Liu et al. 2020: MMD-D);
- :class:`DeepFeatureKernel`: ``kappa(phi(x), phi(y))`` (what Kuebler et al. 2022 call MMD-O);
- :class:`OptimisedGaussian`: ``q(x, y)`` (what the code of Liu et al. calls MMD-O).

kappa and q are Gaussian kernels whose widths are learned with phi, all by Adam on -J over the training rows. The state
with the greatest J is kept. For J see :mod:`tellapart.witness.criterion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart import _checks as checks
from tellapart.kernels import Gaussian, Kernel
from tellapart.kernels.radial import scaled_bandwidth
from tellapart.pairs import Matrix, Pairs
from tellapart.samples import Samples
from tellapart.witness.training import History, Recipe, Training, require_torch

if TYPE_CHECKING:
    from tellapart.witness.kernel_training import Trained
    from tellapart.witness.modules import NetworkFeatures


@dataclass(frozen=True, eq=False)
class LearnedKernel(Kernel):
    """``[(1 - plain_share) kappa(phi(x), phi(y)) + plain_share] q(x, y)`` with everything learned.

    Attributes
    ----------
    kappa, plain : Gaussian
        The Gaussian of the features, and that of the rows (None where there is none).
    plain_share : float
        The eps of the formula.
    features : callable
        phi: rows (N, d) -> features (N, q), on NumPy arrays. ``features.module`` is the trained torch module in double
        precision; its ``state_dict()`` serves as ``checkpoint=``. ``tellapart.kernels.Features(kernel.features)`` is
        the linear kernel of the features.
    history : History
        Loss and signal-to-noise ratio while training, and why it ended.
    """

    kappa: Gaussian
    plain: Gaussian | None
    plain_share: float
    features: NetworkFeatures = field(repr=False)
    history: History = field(repr=False)

    def of(self, pairs: Pairs) -> Matrix:
        phi_a = self.features(pairs.a)
        phi_b = phi_a if pairs.same else self.features(pairs.b)
        k = self.kappa.of(Pairs(phi_a, phi_b))
        if self.plain is not None:
            k *= 1 - self.plain_share
            k += self.plain_share
            k *= self.plain.of(pairs)
        return k


class _Trains:
    """Learning one kernel is learning a list of one."""

    def learn_kernel(self, train: Samples, rng: np.random.Generator) -> Kernel:
        """The kernel with the greatest J on the training samples."""
        return self.learn_kernels([train], rng)[0]

    def learn_kernels(self, trains: Sequence[Samples], rng: np.random.Generator) -> list[Kernel]:
        """A kernel for each of several pairs of samples of the same size, trained side by side.

        Up to rounding it is what ``[learn_kernel(train, rng) for train in trains]`` gives, sooner: one step takes the
        same number of calls of torch however many are trained.
        """
        require_torch()
        from tellapart.witness.kernel_training import train_kernels

        return [self._made(trained) for trained in train_kernels(trains, self._recipe(), rng)]

    def _recipe(self) -> Recipe:
        raise NotImplementedError

    def _made(self, trained: Trained) -> Kernel:
        assert trained.features is not None
        assert trained.feature_bandwidth is not None
        plain = None if trained.bandwidth is None else _gaussian(trained)
        kappa = Gaussian(trained.feature_bandwidth)
        return LearnedKernel(kappa, plain, trained.plain_share, trained.features, trained.history)


@dataclass(frozen=True)
class DeepKernel(_Trains):
    """The deep kernel of Liu et al. (2020), MMD-D: ``[(1 - eps) kappa(phi(x), phi(y)) + eps] q(x, y)``.

    Parameters
    ----------
    module : torch.nn.Module, or function from columns to one, optional
        phi, from rows (N, d) to features (N, q). A copy is trained; yours stays as it is. By default four layers of 50
        with softplus between them.
    plain_share : float, optional
        eps, the share of the kernel that is q alone, in [0, 1). Above 0 the kernel is characteristic whatever phi is.
        None learns it, beginning with a half. The code published with the paper has 0 on Blobs.
    feature_bandwidth, bandwidth : float, optional
        Bandwidths of kappa and q to begin with, in units of the (standardised) columns. Chosen by J among multiples of
        the median distance if not given.
    standardise : bool
        Give phi and q columns of median 0 and spread 1. The code published with the paper does not.
    checkpoint : path or state dict, optional
        Weights of `module` to begin with.
    training : Training
        Epochs, learning rate, batches, device.

    Notes
    -----
    Level: the kernel is a function of training rows alone, so on other rows it is a fixed kernel. O(epochs (n + m)^2)
    without batches.

    References
    ----------
    Liu, Xu, Lu, Zhang, Gretton, Sutherland (2020). Learning deep kernels for non-parametric two-sample tests. ICML.
    arXiv:2002.09116.

    Examples
    --------
    >>> from tellapart.datasets import blobs
    >>> from tellapart.samples import as_samples
    >>> train = as_samples(*blobs(60, theta=np.pi / 4, rng=0))
    >>> kernel = DeepKernel(training=Training(epochs=20)).learn_kernel(train, np.random.default_rng(0))
    >>> kernel(train.x, train.y).shape
    (60, 60)
    >>> kernel.history.best.loss < kernel.history.steps[0].loss
    True
    """

    module: Any = None
    plain_share: float | None = None
    feature_bandwidth: float | None = None
    bandwidth: float | None = None
    standardise: bool = True
    checkpoint: Any = None
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        _checked(self.module, self.training, self.feature_bandwidth, self.bandwidth)
        share = self.plain_share
        if share is not None and not (checks.is_number(share) and 0 <= share < 1):
            raise ValueError(f"`plain_share` must lie in [0, 1), or be None to be learned, got {share!r}.")

    def _recipe(self) -> Recipe:
        return Recipe(
            self.training,
            feature_width=True,
            row_width=True,
            module=self.module,
            checkpoint=self.checkpoint,
            feature_bandwidth=self.feature_bandwidth,
            bandwidth=self.bandwidth,
            plain_share=self.plain_share,
            standardise=self.standardise,
        )


@dataclass(frozen=True)
class DeepFeatureKernel(_Trains):
    """A Gaussian of learned features, ``kappa(phi(x), phi(y))``: MMD-O as the witness paper defines it.

    Parameters
    ----------
    module, feature_bandwidth, standardise, checkpoint, training
        As in :class:`DeepKernel`.
    """

    module: Any = None
    feature_bandwidth: float | None = None
    standardise: bool = True
    checkpoint: Any = None
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        _checked(self.module, self.training, self.feature_bandwidth)

    def _recipe(self) -> Recipe:
        return Recipe(
            self.training,
            feature_width=True,
            row_width=False,
            module=self.module,
            checkpoint=self.checkpoint,
            feature_bandwidth=self.feature_bandwidth,
            standardise=self.standardise,
        )


@dataclass(frozen=True)
class OptimisedGaussian(_Trains):
    """The Gaussian kernel whose bandwidth has the greatest J: MMD-O as the code of Liu et al. (2020) has it.

    What is learned is a :class:`tellapart.kernels.Gaussian`.

    Parameters
    ----------
    bandwidth : float, optional
        To begin with, in units of the (standardised) columns; chosen by J if not given.
    per_column : bool
        A bandwidth for each column, all of them learned.
    standardise : bool
        Measure every column in units of its spread.
    training : Training

    Examples
    --------
    >>> from tellapart.datasets import blobs
    >>> from tellapart.samples import as_samples
    >>> train = as_samples(*blobs(60, theta=np.pi / 4, rng=0))
    >>> kernel = OptimisedGaussian(standardise=False).learn_kernel(train, np.random.default_rng(0))
    >>> 0.05 < kernel.bandwidth < 0.5
    True
    """

    bandwidth: float | None = None
    per_column: bool = False
    standardise: bool = True
    training: Training = field(default_factory=lambda: Training(epochs=200, learning_rate=0.02))

    def __post_init__(self) -> None:
        _checked(None, self.training, self.bandwidth)

    def _recipe(self) -> Recipe:
        return Recipe(
            self.training,
            feature_width=False,
            row_width=True,
            bandwidth=self.bandwidth,
            per_column=self.per_column,
            standardise=self.standardise,
        )

    def _made(self, trained: Trained) -> Kernel:
        return _gaussian(trained)


def _gaussian(trained: Trained) -> Gaussian:
    """The Gaussian of the rows, in the units of the columns as they came."""
    sizes = trained.bandwidth or (1.0,)
    if len(sizes) == 1:
        return Gaussian(scaled_bandwidth(sizes[0], trained.scaling.unit))
    return Gaussian(tuple(float(s * u) for s, u in zip(sizes, trained.scaling.unit, strict=True)))


def _checked(module: Any, training: Any, *bandwidths: Any) -> None:
    if module is not None and not callable(module):
        raise TypeError(f"`module` must be a torch module, or a function from columns to one, got {module!r}.")
    if not isinstance(training, Training):
        raise TypeError(f"`training` must be Training(...), got {training!r}.")
    for bandwidth in bandwidths:
        if bandwidth is not None:
            checks.positive("bandwidth", bandwidth)
