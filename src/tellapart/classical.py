"""The classical permutation tests that compare all pairs of rows by a kernel.

``mmd_test`` and ``kfda_test`` (the paper's ``mmd-boot`` and ``kfda-boot``) split nothing and choose nothing: kernel and
ridge are fixed, or follow from the pooled rows without their labels. With a kernel that learns, ``mmd_test`` is
``opt-mmd-boot``: a part of the rows learns the kernel, the others are compared. :func:`tellapart.tell_apart` chooses
among many kernels without a split.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import as_generator
from tellapart.classical_result import ClassicalTestResult
from tellapart.inference.among_relabellings import judged_among
from tellapart.inference.classical_statistics import (
    Estimator,
    KernelFisher,
    Matrix,
    SquaredMMD,
    Weighting,
    centred,
)
from tellapart.inference.exchange import Exchange, PerSample
from tellapart.inference.null import Permutation
from tellapart.kernels import Kernel, kernel_matrix
from tellapart.pairs import Pairs
from tellapart.samples import Samples, as_samples
from tellapart.split import Split, TrainShare, no_split, split_samples, training_size
from tellapart.witness.base import kernel_for, learns_kernel
from tellapart.witness.fisher import MOST_ROWS, checked_ridge, is_flat

Values = NDArray[np.float64]

_NAMES = {
    "biased": "squared maximum mean discrepancy (V-statistic)",
    "unbiased": "squared maximum mean discrepancy (U-statistic)",
    "pooled": "kernel Fisher discriminant, covariance within samples",
    "paper": "kernel Fisher discriminant, covariance as in the signal-to-noise ratio",
}


def mmd_test(
    x: Any,
    y: Any,
    *,
    kernel: Any = None,
    null: Permutation = Permutation(999),
    estimator: Estimator = "biased",
    groups: PerSample | None = None,
    strata: PerSample | None = None,
    pairs: bool = False,
    train_share: TrainShare | None = None,
    rng: Any = None,
) -> ClassicalTestResult:
    """Test whether two samples come from the same distribution, by the squared MMD of all rows.

    Parameters
    ----------
    x, y : array-like, data frame or tensor of shape (n, d) and (m, d)
        The samples, at least 2 rows each and at most 12,000 together. Data frames are matched by column name.
    kernel : Kernel, callable or KernelLearner, optional
        ``Gaussian()`` with the scaled median bandwidth if not given. It must not have been chosen with these labels,
        except by a kernel learner such as :class:`tellapart.OptimisedKernel`, which gets rows of its own.
    null : Permutation
        How many relabellings, whether to stop early, and how to count.
    estimator : {"biased", "unbiased"}
        The V-statistic, or the U-statistic, which leaves out the pairs of a row with itself. For n = m their p-values
        agree.
    groups, strata, pairs
        Rows that are not exchangeable: as in :func:`tellapart.tell_apart`.
    train_share : float, or pair of arrays, optional
        For a kernel that learns: the share of each sample that it learns from (half if not given), or these rows of
        `x` and of `y` as indices or masks. Groups and pairs learn or judge as a whole.
    rng : int, numpy.random.Generator, or None
        Seed or source of randomness. The same seed gives the same result.

    Returns
    -------
    ClassicalTestResult
        It prints as a verdict and unpacks into ``(statistic, pvalue)``.

    Notes
    -----
    ``MMD^2 = |mean_i phi(x_i) - mean_j phi(y_j)|^2`` for the features phi of the kernel. The p-value is exact at any
    number of rows for the null hypothesis that the relabellings leave the distribution of the data unchanged. A kernel
    that was learned is a fixed one given the rows that learned it, and only the others are relabelled. Time
    O(N^2 (d + B)) for N rows and B relabellings.

    References
    ----------
    Gretton et al. (2012). A kernel two-sample test. JMLR 13, 723-773.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.datasets import blobs
    >>> from tellapart.kernels import Gaussian
    >>> x, y = blobs(200, theta=np.pi / 4, rng=0)
    >>> mmd_test(x, y, kernel=Gaussian(0.2), rng=0).pvalue
    0.009
    """
    checks.one_of("estimator", estimator, ("biased", "unbiased"))
    generator, record = as_generator(rng)
    samples, null = as_samples(x, y), _as_permutation(null)
    exchange = Exchange.of(samples.n, samples.m, groups, strata, pairs)
    split = _split(kernel, samples, exchange, train_share, generator)
    exchange = exchange.of_rows(_judging(split, samples.n))
    resolved, k = _centred_matrix(kernel, split, generator)
    verdict = judged_among(SquaredMMD(k, estimator), _NAMES[estimator], exchange, null, generator)
    return ClassicalTestResult.of(
        verdict,
        split,
        test="mmd_test",
        kernel=resolved,
        choices={"kernel": kernel, "estimator": estimator, "train_share": train_share},
        null=null,
        exchanged=exchange.words,
        rng=record,
    )


def kfda_test(
    x: Any,
    y: Any,
    *,
    kernel: Any = None,
    ridge: float = 1e-2,
    weighting: Weighting = "pooled",
    null: Permutation = Permutation(999),
    groups: PerSample | None = None,
    strata: PerSample | None = None,
    pairs: bool = False,
    rng: Any = None,
) -> ClassicalTestResult:
    """Test whether two samples come from the same distribution, by the kernel Fisher discriminant of all rows.

    Parameters
    ----------
    x, y, kernel, null, groups, strata, pairs, rng
        As in :func:`mmd_test`, but for a kernel that learns: pass that to ``witness_test(x, y, learner=Fisher(...))``.
    ridge : float
        Regularisation, the lambda of the formula: the same as in ``Fisher(ridge=...)``.
    weighting : {"pooled", "paper"}
        Weights of the two covariances. For n = m there is no difference; otherwise the paper's weights move with the
        labels, which takes longer.

    Returns
    -------
    ClassicalTestResult
        It prints as a verdict and unpacks into ``(statistic, pvalue)``.

    Notes
    -----
    ``T = d' (Sigma + ridge I)^-1 d`` with d the difference in means of the kernel's features, ``c = n / (n + m)`` and

    - "paper": ``Sigma = Sigma_P / c + Sigma_Q / (1 - c)``, as in the signal-to-noise ratio;
    - "pooled": ``Sigma = Sigma_P / (1 - c) + Sigma_Q / c``, the covariance within samples over ``c (1 - c)``. Its
      p-values are those of the same statistic with the total scatter, which relabelling leaves alone.

    The p-value is exact as in :func:`mmd_test`. Time O(N^3 + B N^2) for N rows and B relabellings. With the paper's
    weights and n != m each relabelling takes a linear system of the size of the smaller sample or, where the sizes are
    alike, 5 to 40 products with an N x N matrix. Formulas: :mod:`tellapart.inference.classical_statistics`.

    References
    ----------
    Harchaoui, Bach, Moulines (2007). Testing for homogeneity with kernel Fisher discriminant analysis. NeurIPS.
    Kuebler, Jitkrittum, Schoelkopf, Muandet (2022). A witness two-sample test. AISTATS. arXiv:2102.05573.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.datasets import blobs
    >>> from tellapart.kernels import Gaussian
    >>> x, y = blobs(100, theta=np.pi / 4, rng=0)
    >>> kfda_test(x, y, kernel=Gaussian(0.2), rng=0).pvalue
    0.002
    """
    checks.one_of("weighting", weighting, ("pooled", "paper"))
    ridge = _finite_ridge(ridge)
    generator, record = as_generator(rng)
    samples, null = as_samples(x, y), _as_permutation(null)
    exchange = Exchange.of(samples.n, samples.m, groups, strata, pairs)
    split = _checked(no_split(samples))
    resolved, k = _centred_matrix(_fixed(kernel), split, generator)
    verdict = judged_among(KernelFisher(k, ridge, weighting), _NAMES[weighting], exchange, null, generator)
    return ClassicalTestResult.of(
        verdict,
        split,
        test="kfda_test",
        kernel=resolved,
        choices={"kernel": kernel, "ridge": ridge, "weighting": weighting},
        null=null,
        exchanged=exchange.words,
        rng=record,
    )


def _split(
    kernel: Any, samples: Samples, exchange: Exchange, share: TrainShare | None, rng: np.random.Generator
) -> Split:
    """Who learns the kernel, if it learns, and whose pairs are compared."""
    if learns_kernel(kernel):
        share = 0.5 if share is None else share
        return _checked(split_samples(samples, _undivided(share, samples.n, exchange, rng), rng))
    if share is not None:
        raise ValueError(
            f"`train_share` needs a kernel that learns from these rows, got {share!r} with the kernel {kernel!r}. "
            "Leave it out: every row judges. Or pass a kernel learner such as OptimisedKernel()."
        )
    return _checked(no_split(samples))


def _undivided(share: TrainShare, n: int, exchange: Exchange, rng: np.random.Generator) -> TrainShare:
    """A share as training rows where some rows belong together (groups, pairs): whole ones are drawn, at random."""
    together = exchange.together
    units, first = np.unique(together, return_index=True)
    if isinstance(share, tuple | list) or len(units) == len(together):
        return share
    share = checks.share("train_share", share, usual=0.5)
    learn = np.zeros(len(units), dtype=bool)
    for of_sample in filter(len, (np.flatnonzero(first < n), np.flatnonzero(first >= n))):
        if len(of_sample) < 4:
            raise ValueError(f"`train_share` needs 4 groups or pairs in each sample, got {len(of_sample)}.")
        learn[rng.permutation(of_sample)[: training_size(len(of_sample), share)]] = True
    return learn[together[:n]], learn[together[n:]]


def _judging(split: Split, n: int) -> NDArray[np.intp]:
    """Numbers of the rows that judge, among all pooled rows of which the first `n` are of the first sample."""
    return np.concatenate([split.test_rows[0], n + split.test_rows[1]])


def _fixed(kernel: Any) -> Any:
    if learns_kernel(kernel):
        raise TypeError(
            f"`kernel` must be chosen before the data are seen, got the kernel learner {kernel!r}. Write "
            "witness_test(x, y, learner=Fisher(kernel)), or mmd_test, which keeps rows to learn it from."
        )
    return kernel


def _checked(split: Split) -> Split:
    """The split, if those who judge are few enough for their kernel matrix."""
    rows = split.test.n + split.test.m
    if rows > MOST_ROWS:
        raise ValueError(
            f"`x` and `y` must have at most {MOST_ROWS} rows together, because their kernel matrix is held in memory, "
            f"got {rows}. Use tell_apart or witness_test, or a random part of the rows."
        )
    return split


def _as_permutation(null: Any) -> Permutation:
    if not isinstance(null, Permutation):
        raise TypeError(
            f"`null` must be Permutation(...), got {null!r}: what learns and judges on the same rows has no normal "
            "distribution. witness_test takes the other nulls."
        )
    return null


def _finite_ridge(ridge: Any) -> float:
    if checked_ridge(ridge) == np.inf:
        raise ValueError("`ridge` must be finite, got inf. Its limit is the squared MMD: use mmd_test.")
    return float(ridge)


def _centred_matrix(kernel: Any, split: Split, rng: np.random.Generator) -> tuple[Kernel, Matrix]:
    """The kernel, learned or resolved, and its centred matrix on the rows that judge: zero where all are identical."""
    rows = split.test.pooled
    resolved = kernel_for(kernel, split.train if learns_kernel(kernel) else split.test, rng)
    k = kernel_matrix(resolved, Pairs(rows, rows))
    if not is_flat(k):
        return resolved, centred(k)
    if (rows != rows[0]).any():
        raise ValueError(
            f"`kernel` must tell the rows apart, but all values of {resolved!r} agree to 10 digits. Use a smaller "
            "bandwidth, bandwidth='scaled-median', or bring the columns to scale 1 and offset 0."
        )
    return resolved, np.zeros_like(k)
