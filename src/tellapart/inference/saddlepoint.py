"""Saddlepoint approximation to the tail of a sum of rows drawn without replacement.

The permutation distribution of ``T = sum of n of the N witness values h_i`` is that of ``sum I_i h_i`` for
independent Bernoulli I_i, given ``sum I_i = n``. With the cumulant function ``K(a, b) = sum_i log(1 + exp(a + b h_i))``
the conditional tail follows from two saddlepoints (Skovgaard 1987): the full one, ``dK/da = n`` and ``dK/db = t``,
and the restricted one with b = 0, where ``exp(a) = n / (N - n)``. With

    w = sign(b) sqrt(2 [K(a0, 0) - a0 n - K(a, b) + a n + b t]),
    u = b sqrt(det K''(a, b) / (N c (1 - c))),          c = n / N,

the tail is ``1 - Phi(w + log(u / w) / w)`` (Barndorff-Nielsen's form: always between 0 and 1, and good in relative
error far out in the tail). It has no Monte-Carlo floor and takes a few O(N) Newton steps.

References
----------
Robinson (1982). Saddlepoint approximations for permutation tests. doi:10.1111/j.2517-6161.1982.tb01191.x.
Skovgaard (1987). Saddlepoint expansions for conditional distributions. doi:10.2307/3214212.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr

from tellapart.inference.enumeration import lattice_step, log_binomial

Values = NDArray[np.float64]

_CENTRE = 0.1  # standard deviations: within, w and u are 0/0 and the value is interpolated from both sides
_WARM_START = 20_000  # rows
_STEPS = 200
_SMALL_STEP = 1e-6  # convergence is quadratic: what is left after such a step is of order 1e-12


@dataclass(frozen=True)
class _Saddlepoint:
    a: float
    b: float
    cumulant: float  # K(a, b) - a n - b t
    log_det: float  # log det K''(a, b)


def approximates_well(h: Values, n: int) -> bool:
    """Whether enough rows share the variance of the sum for its distribution to be smooth.

    The effective number of rows, ``(sum h^2)^2 / sum h^4``, is 1 if a single outlier makes all the variance. With fewer
    than eight (16 if fewer than ten rows are drawn) the level was found to be off by up to a factor of three.
    """
    squares = h * h
    influential = float(squares.sum()) ** 2 / float(squares @ squares)
    return influential >= (8 if n >= 10 else 16)


def log_saddlepoint_tail(h: Values, n: int, threshold: float) -> float | None:
    """Log of P(sum of n rows of `h`, drawn without replacement, >= threshold). `h` has mean 0 and largest size 1.

    None where the saddlepoint is out of reach: with two clusters far apart and nearly all of one drawn, every row but
    a few is certain and the curvature is lost in rounding.
    """
    size = len(h)
    tolerance = 1e-10 * size
    top = np.partition(h, size - n)[size - n :]  # the n largest
    if threshold > float(top.sum()) - tolerance:
        return _log_top_probability(h, n, float(top.min()))
    bottom = np.partition(h, n - 1)[:n]
    if threshold <= float(bottom.sum()) + tolerance:
        return 0.0
    threshold -= lattice_step(h) / 2
    sd = math.sqrt(n * (size - n) / (size * (size - 1)) * float(h @ h))
    z = threshold / sd
    try:
        if abs(z) >= _CENTRE:
            return float(log_ndtr(-_signed_root(h, n, threshold)))
        below, above = (_signed_root(h, n, side * _CENTRE * sd) for side in (-1, 1))
        return float(log_ndtr(-(below + (above - below) * (z + _CENTRE) / (2 * _CENTRE))))
    except np.linalg.LinAlgError:
        return None


def _signed_root(h: Values, n: int, threshold: float) -> float:
    """``w + log(u / w) / w``: standard normal to third order."""
    size = len(h)
    c = n / size
    full = _solved(h, n, threshold)
    at_null = -size * math.log1p(-c) - n * math.log(c / (1 - c))
    w = math.copysign(math.sqrt(2 * max(0.0, at_null - full.cumulant)), full.b)
    u = full.b * math.exp((full.log_det - math.log(size * c * (1 - c))) / 2)
    return w + math.log(u / w) / w


def _solved(h: Values, n: int, t: float) -> _Saddlepoint:
    """Newton's method for ``dK/da = n, dK/db = t``; on many rows it starts from the solution on some of them."""
    size = len(h)
    a, b = math.log(n / (size - n)), t / (n * (size - n) / size**2 * float(h @ h))
    if size > 4 * _WARM_START:
        some = h[:: size // _WARM_START]
        a, b = _newton(some, n / size * len(some), t / size * len(some), a, b)
    return _evaluated(h, n, t, *_newton(h, n, t, a, b))


def _newton(h: Values, n: float, t: float, a: float, b: float) -> tuple[float, float]:
    for _ in range(_STEPS):
        s = expit(a + b * h)
        gradient = np.array([s.sum() - n, h @ s - t])
        step = np.linalg.solve(_hessian(h, s), gradient)
        decrement = math.sqrt(max(0.0, float(gradient @ step)))
        # Damped as for self-concordant functions: no step leaves the region where the quadratic model holds.
        length = 1.0 if decrement < 0.25 else 1 / (1 + decrement)
        a, b = a - length * step[0], b - length * step[1]
        if decrement < _SMALL_STEP:
            return float(a), float(b)
    raise np.linalg.LinAlgError("Newton's method did not converge")


def _hessian(h: Values, s: Values) -> NDArray[np.float64]:
    w = s - s * s
    wh = w * h
    off = float(wh.sum())
    return np.array([[float(w.sum()), off], [off, float(wh @ h)]])


def _evaluated(h: Values, n: int, t: float, a: float, b: float) -> _Saddlepoint:
    u = a + b * h
    s = expit(u)
    # log(1 + exp(u)) without overflow, from the s that is at hand
    cumulant = float(np.maximum(u, 0).sum() - np.log(np.where(u > 0, s, 1 - s)).sum())
    hessian = _hessian(h, s)
    det = hessian[0, 0] * hessian[1, 1] - hessian[0, 1] ** 2
    if not det > 0:
        raise np.linalg.LinAlgError("no curvature at the saddlepoint")
    return _Saddlepoint(a, b, cumulant - a * n - b * t, math.log(det))


def _log_top_probability(h: Values, n: int, smallest: float) -> float:
    """Log of P(the largest possible sum): rows tied with the smallest drawn one can be exchanged for each other."""
    surely = int((h > smallest + 1e-10).sum())
    tied = int((np.abs(h - smallest) <= 1e-10).sum())
    return float(log_binomial(tied, n - surely) - log_binomial(len(h), n))
