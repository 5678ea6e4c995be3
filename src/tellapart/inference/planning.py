"""Power and sample size from a signal-to-noise ratio: the paper's formula, and its inverse.

``power = 1 - Phi(z - sqrt(N) SNR)`` with ``z = Phi^-1(1 - level)`` and N test rows: the large-sample power of a test
whose witness has that SNR. It knows nothing of how the witness was learned.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

from scipy.special import ndtr, ndtri

from tellapart import _checks as checks
from tellapart.moments import WitnessMoments


@runtime_checkable
class HasMoments(Protocol):
    """Anything that knows the moments of a witness on fresh rows, such as a result."""

    @property
    def moments(self) -> WitnessMoments: ...


_MOST_ROWS = 10**15


class SampleSize(NamedTuple):
    """Rows of the first and of the second sample."""

    n: int
    m: int


def snr_for(effect: float | HasMoments, n: float, m: float) -> float:
    """The SNR at sizes n and m. A number is taken as it is; moments know how the SNR changes with ``n : m``."""
    if isinstance(effect, HasMoments):
        return effect.moments.snr_at(n, m)
    if not checks.is_number(effect):
        raise TypeError(
            "`effect` must be a signal-to-noise ratio, a result of witness_test or a pair (x, y) of pilot samples, "
            f"got {reprlib.repr(effect)}."
        )
    return float(effect)


def snr_found(n: int, m: int, power: float = 0.8, level: float = 0.05) -> float:
    """The signal-to-noise ratio that is found with this power by n + m judging rows: `power_from_snr` turned round.

    >>> round(snr_found(50, 50), 2)
    0.25
    """
    checks.share("power", power, usual=0.8)
    checks.share("level", level, usual=0.05)
    return float((ndtri(1 - level) + ndtri(power)) / math.sqrt(n + m))


def shift_of(snr: float, n: int, m: int) -> float:
    """The shift of one column, in its standard deviations, whose best witness (the column) has this SNR.

    >>> round(shift_of(0.25, 50, 50), 2)
    0.5
    """
    return snr * (n + m) / math.sqrt(n * m)


def relabellings_for(level: float) -> int:
    """How many relabellings leave a test at this level its power: the smallest p-value is a fifth of the level.

    >>> relabellings_for(0.05), relabellings_for(0.001)
    (499, 4999)
    """
    return max(499, math.ceil(5 / checks.share("level", level, usual=0.05) - 1e-9) - 1)


def power_from_snr(snr: float, n: float, m: float, level: float) -> float:
    """``1 - Phi(Phi^-1(1 - level) - sqrt(n + m) SNR)``.

    >>> round(power_from_snr(0.0, 50, 50, 0.05), 6), round(power_from_snr(0.25, 50, 50, 0.05), 3)
    (0.05, 0.804)
    """
    return float(ndtr(math.sqrt(n + m) * snr - ndtri(1 - checks.share("level", level, usual=0.05))))


def size_from_snr(
    effect: float | HasMoments, power: float, level: float, ratio: float, judging: Callable[[int], int], least: int = 2
) -> SampleSize:
    """The smallest n >= least, with ``m = ceil(ratio n)``, whose `judging` rows have at least the wanted power.

    `judging` tells how many of so many rows judge, and never falls: so neither does the power, and bisection finds n.
    """
    checks.share("power", power, usual=0.8)
    checks.share("level", level, usual=0.05)
    checks.positive("ratio", ratio, " It is the number of rows of `y` for each row of `x`.")
    if (snr := snr_for(effect, 1.0, ratio)) <= 0:
        raise ValueError(
            f"`effect` must be positive, got a signal-to-noise ratio of {snr:.3g}: at no number of rows does such a "
            "witness tell the samples apart. Learn it from a larger pilot, or with another learner."
        )

    def sizes(n: int) -> SampleSize:
        return SampleSize(n, max(least, math.ceil(ratio * n - 1e-9)))

    def enough(n: int) -> bool:
        n_test, m_test = (judging(rows) for rows in sizes(n))
        return power_from_snr(snr_for(effect, n_test, m_test), n_test, m_test, level) >= power

    too_few, high = least - 1, least
    while not enough(high):
        if high > _MOST_ROWS:
            raise ValueError(
                f"`effect` must be found with at most {_MOST_ROWS:.0e} rows, got a signal-to-noise ratio of {snr:.3g}. "
                "Learn the witness from a larger pilot, or with another learner."
            )
        too_few, high = high, 2 * high
    while high - too_few > 1:
        middle = (too_few + high) // 2
        too_few, high = (too_few, middle) if enough(middle) else (middle, high)
    return sizes(high)
