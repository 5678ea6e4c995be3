"""Assertions for the tests of samplers, simulators and data pipelines.

    from tellapart.testing import assert_same_distribution, assert_different

They are deterministic: the same rows and the same `rng` give the same outcome, so a test does not fail now and then.
What is left to chance is decided when rows are first drawn with a new seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from tellapart import _checks as checks
from tellapart.inference.null import Permutation
from tellapart.inference.planning import relabellings_for
from tellapart.joint import tell_apart
from tellapart.joint_result import TellApartResult

_POWER = 0.9  # with which what is called detectable would have been found


@dataclass(frozen=True, eq=False)
class Checked:
    """An assertion that held: the test behind it, and what it could have seen.

    Attributes
    ----------
    result : TellApartResult
    level, tolerance : float
    detectable : float
        Shift of one column, in its standard deviations, that the best test of these sizes, one that knows where to
        look, finds 9 times in 10. What is smaller is not excluded, whatever the test.
    """

    result: TellApartResult
    level: float
    tolerance: float

    @property
    def detectable(self) -> float:
        """See the class."""
        return self.result.detectable(self.level, _POWER)

    def __iter__(self) -> Iterator[float]:
        return iter(self.result)

    def __str__(self) -> str:
        n, m = self.result.sizes.n, self.result.sizes.m
        accepted = f"Up to {self.tolerance:.3g} of the probability may lie elsewhere.\n" if self.tolerance else ""
        return (
            f"{self.result.summary(self.level)}\n\n{accepted}"
            f"With {n} + {m} rows even a test that knows where to look needs a shift of one column by "
            f"{self.detectable:.2g} of its standard deviations to find it {_POWER:.0%} of the time at level "
            f"{self.level:g}: smaller differences are not excluded."
        )


def assert_same_distribution(
    x: Any, y: Any, *, level: float = 0.001, tolerance: float = 0.0, rng: Any = 0, **settings: Any
) -> Checked:
    """Fail if two samples come from different distributions.

    Parameters
    ----------
    x, y : array-like, data frame or tensor
        As in :func:`tellapart.tell_apart`.
    level : float
        Chance that the assertion fails although the distributions are equal. A test suite asks many questions, and
        each again after every change: at 0.05 a suite of twenty such assertions has a false alarm in two of three
        seeds, at 0.001 in one of fifty. The price is power: 2.2 times as many rows to find the same difference 9 times
        in 10.
    tolerance : float
        Fail only if certainly (with confidence ``1 - level``) more than this share of the probability lies elsewhere.
        For approximate samplers, whose small bias is accepted and which very many rows would otherwise betray.
    rng : int, numpy.random.Generator, or None
        Source of the random relabellings. The default repeats the same ones.
    **settings
        Passed on to :func:`tellapart.tell_apart`: `groups`, `strata`, `pairs`, `blocks`, `kernels`, ...

    Returns
    -------
    Checked
        Its text tells the p-value, the effect, and what could have been seen.

    Raises
    ------
    AssertionError
        With the verdict and what was loudest.

    Notes
    -----
    *Repeated use.* With fixed rows and a fixed seed the outcome is always the same, and running the test again says
    nothing new: neither that it failed by chance nor that it holds. With rows drawn afresh each run is a test of its
    own: in k runs with equal distributions ``k * level`` fail on average; at 0.001 a nightly assertion fails by chance
    once in three years. Never repeat a failed assertion with new seeds until it holds: a difference that is found
    every other time passes seven of eight series of three. Draw more rows once instead, and judge by those.

    Level: for exchangeable rows the p-value of :func:`tellapart.tell_apart` is exact at any number of rows, and
    relabellings are counted such that the smallest possible one is a fifth of `level`. With a `tolerance` the p-value
    is that of the certified bound, which needs independent rows and is never too small either.

    An assertion that holds is no proof of equality: see `Checked.detectable`, and :func:`assert_different` for a check
    that the rows suffice to see a mistake that you make on purpose.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sums, normal = rng.uniform(-1, 1, (80, 12)).sum(axis=1) / 2, rng.normal(size=80)
    >>> checked = assert_same_distribution(sums, normal)
    >>> checked.result.pvalue > 0.001, round(checked.detectable, 2)
    (True, 0.69)
    >>> assert_same_distribution(normal, 3 * normal[::-1])    # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: The samples differ: p = 0.0002, below the level 0.001...
    """
    __tracebackhide__ = True
    result = _result(x, y, level, rng, settings)
    if checks.within("tolerance", tolerance, 0, 1) == 0:
        if result.pvalue <= level:
            raise AssertionError(result.summary(level))
    elif (pvalue := result.exceeds(tolerance)) <= level:
        raise AssertionError(
            f"More than {tolerance:.3g} of the probability lies elsewhere: p = {pvalue:.3g}, not above the level "
            f"{level:g}.\n\n{result.summary(level)}"
        )
    return Checked(result, level, tolerance)


def assert_different(x: Any, y: Any, *, level: float = 0.001, rng: Any = 0, **settings: Any) -> Checked:
    """Fail if two samples are not seen to come from different distributions.

    The counterpart of :func:`assert_same_distribution`: that a change which should matter does, or that the rows of a
    test suffice to see a mistake made on purpose.

    Parameters
    ----------
    x, y, rng, **settings
        As in :func:`assert_same_distribution`.
    level : float
        Chance that the assertion holds although the distributions are equal.

    Returns
    -------
    Checked

    Raises
    ------
    AssertionError
        With the verdict, and the smallest difference that so many rows could have shown.

    Notes
    -----
    With rows drawn afresh this fails whenever the difference is missed: choose rows for a power near 1 (the effect
    that is printed, :func:`tellapart.sample_size`), or fix their seed.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> assert_different(x, x[::-1] + [1.0, 0.0]).result.pvalue
    0.0002
    """
    __tracebackhide__ = True
    checked = Checked(_result(x, y, level, rng, settings), level, 0.0)
    if checked.result.pvalue > level:
        raise AssertionError(str(checked))
    return checked


def _result(x: Any, y: Any, level: float, rng: Any, settings: dict[str, Any]) -> TellApartResult:
    """The test of two samples, with enough relabellings for the level."""
    checks.share("level", level, usual=0.001)
    if not settings.keys() & {"null", "learner"}:
        settings = {**settings, "null": Permutation(relabellings_for(level), stop_after=20)}
    if y is None:
        raise TypeError("`y` must be the second sample, got None. For several, assert on `tell_apart([...]).pvalue`.")
    return cast(TellApartResult, tell_apart(x, y, rng=rng, **settings))
