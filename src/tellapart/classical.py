"""The classical permutation tests on all rows, with a kernel that is chosen before the data are seen.

``mmd_test`` and ``kfda_test`` (the paper's ``mmd-boot`` and ``kfda-boot``) split nothing and choose nothing: kernel and
ridge are fixed, or follow from the pooled rows without their labels. :func:`tellapart.tell_apart` chooses among many.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._arrays import chunks
from tellapart._progress import progress
from tellapart._randomness import as_generator, from_record
from tellapart._spec import NotPlain, from_spec, is_spec, rebuilt, to_spec
from tellapart._version import __version__
from tellapart.inference.classical_statistics import (
    Estimator,
    KernelFisher,
    Matrix,
    SquaredMMD,
    Statistic,
    Weighting,
    centred,
)
from tellapart.inference.exchange import Exchange, PerSample
from tellapart.inference.null import Permutation, Verdict
from tellapart.kernels import Gaussian, Kernel, as_kernel, kernel_matrix
from tellapart.pairs import Pairs
from tellapart.report.text import to_classical_text
from tellapart.samples import Samples, as_samples
from tellapart.witness.fisher import MOST_ROWS, checked_ridge, is_flat

Values = NDArray[np.float64]

_SCHEMA = "classical 1"  # of to_dict; raised when its meaning changes
_NUMBERS = 2**24  # labels held at a time
_EARLY = 128  # relabellings at a time where stopping early is allowed

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
    rng: Any = None,
) -> ClassicalTestResult:
    """Test whether two samples come from the same distribution, by the squared MMD of all rows.

    Parameters
    ----------
    x, y : array-like, data frame or tensor of shape (n, d) and (m, d)
        The samples, at least 2 rows each and at most 12,000 together. Data frames are matched by column name.
    kernel : Kernel or callable, optional
        ``Gaussian()`` with the scaled median bandwidth if not given. It must not have been chosen with these labels.
    null : Permutation
        How many relabellings, whether to stop early, and how to count.
    estimator : {"biased", "unbiased"}
        The V-statistic, or the U-statistic, which leaves out the pairs of a row with itself. For n = m their p-values
        agree.
    groups, strata, pairs
        Rows that are not exchangeable: as in :func:`tellapart.tell_apart`.
    rng : int, numpy.random.Generator, or None
        Seed or source of randomness. The same seed gives the same result.

    Returns
    -------
    ClassicalTestResult
        It prints as a verdict and unpacks into ``(statistic, pvalue)``.

    Notes
    -----
    ``MMD^2 = |mean_i phi(x_i) - mean_j phi(y_j)|^2`` for the features phi of the kernel. The p-value is exact at any
    number of rows for the null hypothesis that the relabellings leave the distribution of the data unchanged. Time
    O(N^2 (d + B)) for N rows and B relabellings.

    References
    ----------
    Gretton et al. (2012). A kernel two-sample test. JMLR 13, 723-773.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.datasets import blobs
    >>> x, y = blobs(200, theta=np.pi / 4, rng=0)
    >>> mmd_test(x, y, kernel=Gaussian(0.2), rng=0).pvalue
    0.009
    """
    checks.one_of("estimator", estimator, ("biased", "unbiased"))
    generator, record = as_generator(rng)
    samples, null = _checked(as_samples(x, y)), _as_permutation(null)
    exchange = Exchange.of(samples.n, samples.m, groups, strata, pairs)
    resolved, k = _centred_matrix(kernel, samples, generator)
    statistic = SquaredMMD(k, estimator)
    verdict = _judged(statistic, _NAMES[estimator], exchange, null, samples, generator)
    return ClassicalTestResult.of(
        verdict,
        samples,
        test="mmd_test",
        kernel=resolved,
        choices={"kernel": kernel, "estimator": estimator},
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
        As in :func:`mmd_test`.
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
    >>> x, y = blobs(100, theta=np.pi / 4, rng=0)
    >>> kfda_test(x, y, kernel=Gaussian(0.2), rng=0).pvalue
    0.002
    """
    checks.one_of("weighting", weighting, ("pooled", "paper"))
    ridge = _finite_ridge(ridge)
    generator, record = as_generator(rng)
    samples, null = _checked(as_samples(x, y)), _as_permutation(null)
    exchange = Exchange.of(samples.n, samples.m, groups, strata, pairs)
    resolved, k = _centred_matrix(kernel, samples, generator)
    statistic = KernelFisher(k, ridge, weighting)
    verdict = _judged(statistic, _NAMES[weighting], exchange, null, samples, generator)
    return ClassicalTestResult.of(
        verdict,
        samples,
        test="kfda_test",
        kernel=resolved,
        choices={"kernel": kernel, "ridge": ridge, "weighting": weighting},
        null=null,
        exchanged=exchange.words,
        rng=record,
    )


@dataclass(frozen=True, eq=False)
class ClassicalTestResult:
    """The outcome of :func:`mmd_test` or :func:`kfda_test`.

    Attributes
    ----------
    statistic, pvalue : float
        `statistic_name` says which statistic it is. The result unpacks into this pair.
    test : str
        Which of the two tests this is the result of.
    kernel : Kernel
        With the bandwidth that the pooled rows gave it, where it was a rule.
    choices : dict
        Kernel as it was passed, and estimator, or ridge and weighting.
    exchanged : str
        What was relabelled: rows, whole groups, rows within strata, pairs.
    null_distribution : array, or None in a result that was read back
        The statistic of the relabellings that were drawn.
    """

    test: str
    statistic: float
    pvalue: float
    statistic_name: str
    how: str
    kernel: Any
    choices: dict[str, Any]
    null: Any
    exchanged: str
    n: int
    m: int
    columns: int
    rng: dict[str, Any]
    version: str
    notes: tuple[str, ...] = ()
    null_distribution: Values | None = field(default=None, repr=False)

    @classmethod
    def of(cls, verdict: Verdict, samples: Samples, **about: Any) -> ClassicalTestResult:
        """One result out of what the stages left."""
        same = (samples.pooled == samples.x[0]).all()
        return cls(
            statistic=verdict.statistic,
            pvalue=verdict.pvalue,
            statistic_name=verdict.statistic_name,
            how=verdict.how,
            n=samples.n,
            m=samples.m,
            columns=samples.x.shape[1],
            version=__version__,
            notes=("all rows of both samples are identical, so nothing tells them apart",) if same else (),
            null_distribution=verdict.null_distribution,
            **about,
        )

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __str__(self) -> str:
        return self.summary()

    def summary(self, level: float = 0.05) -> str:
        """The verdict at `level` in words, and how it came about."""
        return to_classical_text(self.to_dict(), checks.share("level", level, usual=0.05))

    def settings(self) -> dict[str, Any]:
        """Arguments that repeat the run: ``mmd_test(x, y, **result.settings())`` on the same rows.

        Groups and strata are part of the data: pass them again.
        """
        if is_spec(self.choices["kernel"]):
            raise NotPlain(
                f"`kernel` was {self.choices['kernel']}, which cannot be rebuilt from data: pass it yourself."
            )
        return {**self.choices, "null": self.null, "pairs": self.exchanged == "pairs", "rng": from_record(self.rng)}

    def to_dict(self) -> dict[str, Any]:
        """Everything but arrays, in JSON types. Same result, same dict."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        specs = {name: to_spec(getattr(self, name)) for name in _SPECS}
        return {"schema": _SCHEMA, **plain, **specs, "rng": deepcopy(self.rng), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> ClassicalTestResult:
        """A result from :meth:`to_dict`, without the null distribution."""
        if d.get("schema") != _SCHEMA:
            raise ValueError(f"`d` must be the dict of a result with schema {_SCHEMA!r}, got {d.get('schema')!r}.")
        return cls(
            **{name: d[name] for name in _PLAIN},
            statistic=from_spec(d["statistic"]),
            kernel=rebuilt(d["kernel"]),
            choices={name: rebuilt(choice) for name, choice in d["choices"].items()},
            null=rebuilt(d["null"]),
            rng=deepcopy(d["rng"]),
            notes=tuple(d["notes"]),
        )


_PLAIN = ("test", "pvalue", "statistic_name", "how", "exchanged", "n", "m", "columns", "version")
_SPECS = ("statistic", "kernel", "choices", "null")


def _checked(samples: Samples) -> Samples:
    """The samples, if there are enough rows to compare and few enough for their kernel matrix."""
    for name, size in (("x", samples.n), ("y", samples.m)):
        if size < 2:
            raise ValueError(f"`{name}` must have at least 2 rows, got {size}.")
    if samples.n + samples.m > MOST_ROWS:
        raise ValueError(
            f"`x` and `y` must have at most {MOST_ROWS} rows together, because their kernel matrix is held in memory, "
            f"got {samples.n + samples.m}. Use tell_apart or witness_test, or a random part of the rows."
        )
    return samples


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


def _centred_matrix(kernel: Any, samples: Samples, rng: np.random.Generator) -> tuple[Kernel, Matrix]:
    """The resolved kernel and its centred matrix on the pooled rows: zero where these are all identical."""
    rows = samples.pooled
    resolved = as_kernel(kernel or Gaussian()).resolved(rows, rng)
    k = kernel_matrix(resolved, Pairs(rows, rows))
    if not is_flat(k):
        return resolved, centred(k)
    if (rows != rows[0]).any():
        raise ValueError(
            f"`kernel` must tell the rows apart, but all values of {resolved!r} agree to 10 digits. Use a smaller "
            "bandwidth, bandwidth='scaled-median', or bring the columns to scale 1 and offset 0."
        )
    return resolved, np.zeros_like(k)


def _judged(
    statistic: Statistic, name: str, exchange: Exchange, null: Permutation, samples: Samples, rng: np.random.Generator
) -> Verdict:
    """The statistic of the observed labels among that of relabellings."""
    width, budget = (samples.n + samples.m, _NUMBERS) if null.stop_after is None else (1, _EARLY)
    parts = list(chunks(int(null.n_permutations), width, budget))
    batches = (
        statistic(exchange.relabellings(part.stop - part.start, rng)) for part in progress(parts, "relabellings")
    )
    first = next(batches)
    observed = float(first[0])
    drawn = (batch[1:] for batch in chain([first], batches))  # every batch begins with the observed labels
    pvalue, how, used = null.compared(observed, drawn, f"random relabellings of {exchange.words}")
    return Verdict(observed, pvalue, name, how, used)
