"""The public functions: each reads as the arrow samples -> split -> witness -> inference -> result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import as_generator
from tellapart.inference.null import Null, Permutation
from tellapart.inference.planning import HasMoments, SampleSize, power_from_snr, size_from_snr, snr_for
from tellapart.kernels import Kernel
from tellapart.moments import WitnessMoments
from tellapart.result import WitnessTestResult, gathered
from tellapart.samples import Samples
from tellapart.split import Split, TrainShare, no_split, split_samples, training_size
from tellapart.tables import encoded
from tellapart.witness.base import Learner, as_witness_values
from tellapart.witness.estimator import Given
from tellapart.witness.select import Select

Values = NDArray[np.float64]


def witness_test(
    x: Any,
    y: Any,
    *,
    learner: Learner | Callable[[Any], Any] = Select(),
    null: Null = Permutation(999),
    train_share: TrainShare = 0.5,
    rng: Any = None,
) -> WitnessTestResult:
    """Test whether two samples come from the same distribution, with a witness learned on a part of them.

    Half of the rows learn a witness, a function that is large where `x` is dense and small where `y` is. The other
    half judges it: if its mean on fresh rows of `x` exceeds its mean on fresh rows of `y` by more than chance allows,
    the distributions differ.

    Parameters
    ----------
    x, y : array-like, data frame or tensor of shape (n, d) and (m, d)
        The samples. One dimension means one column; data frames are matched by column name, and columns that are no
        numbers, or have missing values, are encoded on the pooled rows (:mod:`tellapart.tables`).
    learner : Fisher, Mean, Select, FromEstimator, or a function
        How the witness is learned. A plain function of the rows is taken as the witness itself: nothing is
        learned and every row judges, so it must not have been made from these rows.
    null : Permutation, Saddlepoint or Normal
        How the witness is judged.
    train_share : float, or pair of arrays
        Share of each sample that learns, or the training rows of `x` and of `y` as indices or masks.
    rng : int, numpy.random.Generator, or None
        Seed or source of randomness. The same seed gives the same result.

    Returns
    -------
    WitnessTestResult
        With `pvalue`, `statistic`, `snr`, `witness` and more; it prints as a verdict and unpacks into
        ``(statistic, pvalue)``.

    Notes
    -----
    Level: given the training rows the witness is a fixed function. If the distributions are equal, its values on the
    pooled test rows are exchangeable, so the permutation p-value satisfies ``P(p <= level) <= level`` for any learner
    and any number of rows. The test is one-sided, because the learner has fixed the sign.

    References
    ----------
    Kuebler, Jitkrittum, Schoelkopf, Muandet (2022). A witness two-sample test. AISTATS. arXiv:2102.05573.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.datasets import blobs
    >>> x, y = blobs(200, theta=np.pi / 4, rng=0)
    >>> result = witness_test(x, y, rng=0)
    >>> result.pvalue
    0.001
    >>> statistic, pvalue = result
    """
    generator, record = as_generator(rng)
    table = encoded(x, y)
    learn, judge = as_learner(learner), _as_null(null)
    split = _split(table.two, learn, train_share, generator)
    witness = learn.learn(split.train, generator)
    h = _values(witness, split.test, learn, generator)
    verdict = judge.judge(*h, generator)
    return gathered(verdict, witness, split, h, (learn, judge, train_share), record, table)


def power(
    effect: float | HasMoments | tuple[Any, Any],
    n: int,
    m: int | None = None,
    *,
    level: float = 0.05,
    train_share: float | None = None,
    learner: Learner = Select(),
    rng: Any = None,
) -> float:
    """How likely a witness test is to find a difference with n and m rows.

    Parameters
    ----------
    effect : float, WitnessTestResult, or pair of samples
        A signal-to-noise ratio; the result of a pilot test; or the pilot samples ``(x, y)`` themselves, which are then
        split ten times to estimate it.
    n, m : int
        Rows of the first and of the second sample (default ``m = n``).
    level : float
    train_share : float, optional
        Share of the rows that learns; the others judge. Default: 0 for a number (n and m then count the rows that
        judge), that of the pilot for a result, 0.5 for samples.
    learner, rng
        For pilot samples: as in :func:`witness_test`.

    Returns
    -------
    float
        ``1 - Phi(z - sqrt(N) SNR)`` for N judging rows: the large-sample power of a witness as good as the pilot's.
        A larger sample also learns a better witness, so from a small pilot this is on the low side.

    Examples
    --------
    >>> round(power(0.25, 50), 2)
    0.8
    """
    pilot, share = _pilot(effect, train_share, learner, rng)
    least = 4 if share else 2
    n_test = _judging(checks.whole("n", n, least), share)
    m_test = _judging(checks.whole("m", n if m is None else m, least), share)
    return power_from_snr(snr_for(pilot, n_test, m_test), n_test, m_test, level)


def sample_size(
    effect: float | HasMoments | tuple[Any, Any],
    *,
    power: float = 0.8,
    level: float = 0.05,
    ratio: float = 1.0,
    train_share: float | None = None,
    learner: Learner = Select(),
    rng: Any = None,
) -> SampleSize:
    """The smallest number of rows with which a witness test finds a difference as often as wanted.

    Parameters
    ----------
    effect, level, train_share, learner, rng
        As in :func:`power`.
    power : float
        Wanted probability.
    ratio : float
        Rows of the second sample for each row of the first.

    Returns
    -------
    SampleSize
        Rows ``(n, m)``, training rows included.

    Examples
    --------
    >>> sample_size(0.25)
    SampleSize(n=50, m=50)
    >>> sample_size(0.25, train_share=0.5)
    SampleSize(n=100, m=100)
    """
    pilot, share = _pilot(effect, train_share, learner, rng)
    return size_from_snr(pilot, power, level, ratio, lambda rows: _judging(rows, share), 4 if share else 2)


def as_learner(learner: Any) -> Learner:
    """A learner, or a function as a witness that needs no learning."""
    if isinstance(learner, type):
        made = f"{learner.__name__}()" if hasattr(learner, "learn") else f"FromEstimator({learner.__name__}())"
        raise TypeError(f"`learner` must be a value, got the class {learner.__name__}. Write {made}.")
    if isinstance(learner, Learner):
        return learner
    if isinstance(learner, Kernel):
        raise TypeError(f"`learner` must learn a witness, got the kernel {learner!r}. Write learner=Fisher(kernel).")
    if hasattr(learner, "fit"):
        raise TypeError(
            f"`learner` must learn a witness, got the model {learner!r}. Write learner=FromEstimator(model)."
        )
    if callable(learner):
        return Given(learner)
    raise TypeError(
        f"`learner` must be Fisher(...), Mean(...), Select(...), FromEstimator(...) or a function, got {learner!r}."
    )


def _as_null(null: Any) -> Null:
    if isinstance(null, type) or not isinstance(null, Null):
        raise TypeError(f"`null` must be Permutation(...), Saddlepoint() or Normal(), got {null!r}.")
    return null


def _split(samples: Samples, learner: Learner, train_share: TrainShare, rng: np.random.Generator) -> Split:
    return no_split(samples) if isinstance(learner, Given) else split_samples(samples, train_share, rng)


def _values(witness: Any, test: Samples, learner: Learner, rng: np.random.Generator) -> tuple[Values, Values]:
    """Witness values of the test rows.

    They are computed on the pooled rows in random order: rounding, or a function that looks at the whole table, may
    treat rows at different places differently, but then the places have nothing to do with the samples.
    """
    order = rng.permutation(test.n + test.m)
    h = np.empty(len(order))
    h[order] = as_witness_values(witness(test.pooled[order]), len(order), f"the witness of {type(learner).__name__}")
    return h[: test.n], h[test.n :]


def _pilot(effect: Any, train_share: float | None, learner: Any, rng: Any) -> tuple[Any, float]:
    """The effect as a number or as moments, and the share of rows that will learn."""
    if isinstance(effect, tuple | list) and len(effect) == 2:
        share = 0.5 if train_share is None else checks.share("train_share", train_share, usual=0.5)
        return PilotMoments(_pilot_moments(effect[0], effect[1], as_learner(learner), share, rng)), share
    if isinstance(effect, WitnessTestResult) and train_share is None:
        return effect, effect.rows.n_train / (effect.rows.n_train + effect.moments.n)
    return effect, 0.0 if not train_share else checks.share("train_share", train_share, usual=0.5)


class PilotMoments:
    """Moments of a witness with noise 1, averaged over splits of a pilot."""

    def __init__(self, moments: WitnessMoments) -> None:
        self.moments = moments


def _pilot_moments(x: Any, y: Any, learner: Learner, share: float, rng: Any, splits: int = 10) -> WitnessMoments:
    generator, _ = as_generator(rng)
    samples = encoded(x, y).two
    total = np.zeros(3)
    for _ in range(splits):
        split = _split(samples, learner, share, generator)
        witness = learner.learn(split.train, generator)
        w = WitnessMoments.of(*_values(witness, split.test, learner, generator))
        noise = np.hypot(w.sd_x, w.sd_y) or 1.0  # witnesses of different splits have different units
        total += np.array([w.difference, w.sd_x, w.sd_y]) / (noise * splits)
    difference, sd_x, sd_y = (float(v) for v in total)
    return WitnessMoments(w.n, w.m, difference, 0.0, difference, sd_x, sd_y)


def _judging(rows: int, share: float) -> int:
    """How many of so many rows are left to judge: at least 2 from 4 rows on."""
    return rows - training_size(rows, share) if share else rows
