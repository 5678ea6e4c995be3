"""Power and sample size from a signal-to-noise ratio: the paper's formula, and its inverse.

``power = 1 - Phi(z - sqrt(N) SNR)`` with ``z = Phi^-1(1 - level)`` and N test rows: the large-sample power of a test
whose witness has that SNR. It knows nothing of how the witness was learned.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, runtime_checkable

from scipy.special import ndtr, ndtri

from tellapart import _checks as checks
from tellapart.moments import WitnessMoments


@runtime_checkable
class HasMoments(Protocol):
    """Anything that knows the moments of a witness on fresh rows, such as a result."""

    @property
    def moments(self) -> WitnessMoments: ...


class SampleSize(NamedTuple):
    """Rows of the first and of the second sample."""

    n: int
    m: int


def snr_for(effect: float | HasMoments, n: float, m: float) -> float:
    """The SNR at sizes n and m. A number is taken as it is; moments know how the SNR changes with ``n : m``."""
    if isinstance(effect, HasMoments):
        w = effect.moments
        c = n / (n + m)
        noise = math.sqrt(w.var_x / c + w.var_y / (1 - c))
        return w.difference / noise if noise > 0 else w.snr
    if not checks.is_number(effect):
        raise TypeError(f"`effect` must be a signal-to-noise ratio or a result of witness_test, got {effect!r}.")
    return float(effect)


def power_from_snr(snr: float, n: float, m: float, level: float) -> float:
    """``1 - Phi(Phi^-1(1 - level) - sqrt(n + m) SNR)``.

    >>> round(power_from_snr(0.0, 50, 50, 0.05), 6), round(power_from_snr(0.25, 50, 50, 0.05), 3)
    (0.05, 0.804)
    """
    return float(ndtr(math.sqrt(n + m) * snr - ndtri(1 - checks.share("level", level, usual=0.05))))


def size_from_snr(effect: float | HasMoments, power: float, level: float, ratio: float) -> SampleSize:
    """The smallest n, with ``m = ceil(ratio n)``, whose power is at least `power`."""
    checks.share("power", power, usual=0.8)
    checks.positive("ratio", ratio, " It is the number of rows of `y` for each row of `x`.")
    snr = snr_for(effect, 1.0, ratio)
    if power <= checks.share("level", level, usual=0.05):
        return SampleSize(2, max(2, math.ceil(2 * ratio)))
    if snr <= 0:
        raise ValueError(
            f"`effect` must be positive, got a signal-to-noise ratio of {snr:.3g}: at no number of rows does such a "
            "witness tell the samples apart. Learn it from a larger pilot, or with another learner."
        )
    wanted = ((ndtri(1 - level) + ndtri(power)) / snr) ** 2 / (1 + ratio)
    n = max(2, math.ceil(wanted - 1e-9))
    while n > 2 and _power_at(effect, n - 1, ratio, level) >= power:  # rounding m up can spare a row
        n -= 1
    while _power_at(effect, n, ratio, level) < power:
        n += 1
    return SampleSize(n, max(2, math.ceil(ratio * n)))


def _power_at(effect: float | HasMoments, n: int, ratio: float, level: float) -> float:
    m = max(2, math.ceil(ratio * n))
    return power_from_snr(snr_for(effect, n, m), n, m, level)
