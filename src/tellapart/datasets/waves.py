"""Uniform on a cube, and uniform with waves in it: the perturbed uniforms of MMDAgg and MMD-FUSE."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import as_generator

Rows = NDArray[np.float64]

_SCHRAB = {1: 2.7, 2: 7.3}  # their amplitude is c_d exp(-d) / waves


def perturbed_uniform(
    n: int,
    m: int | None = None,
    *,
    d: int = 1,
    amplitude: float | None = None,
    waves: int = 2,
    rng: Any = None,
) -> tuple[Rows, Rows]:
    """Uniform on a cube against a density with smooth waves of random sign in it.

    Parameters
    ----------
    n, m : int
        Rows of the first and of the second sample (default ``m = n``).
    d : int
        Dimension of the cube.
    amplitude : float, optional
        Largest departure of the second density from 1, between 0 (no difference) and 1. Default: that of Schrab et al.
        for d = 1 and d = 2, ``2.7 exp(-1) / waves`` and ``7.3 exp(-2) / waves``.
    waves : int
        Waves along each side of the cube; there are ``waves ** d`` of them, each goes up and down once, or down and up.

    Returns
    -------
    x, y : arrays of shape (n, d), (m, d)

    Notes
    -----
    The signs of the waves are drawn anew every time, so the second distribution is another one for every draw. The
    sampler published with MMDAgg takes both samples from one stream of random numbers, so that they share values; here
    they are independent.

    References
    ----------
    Schrab et al. (2023). MMD aggregated two-sample test. JMLR 24, 1-81. arXiv:2110.15073.
    Biggs, Schrab, Gretton (2023). MMD-FUSE. NeurIPS. arXiv:2306.08777.

    Examples
    --------
    >>> x, y = perturbed_uniform(500, d=2, amplitude=0.6, rng=0)
    >>> x.shape, y.shape, bool(0 <= y.min() <= y.max() <= 1)
    ((500, 2), (500, 2), True)
    """
    d, waves = checks.whole("d", d), checks.whole("waves", waves)
    height = _amplitude(amplitude, d, waves)
    n, m = checks.sizes(n, m)
    generator, _ = as_generator(rng)
    signs = generator.choice([-1.0, 1.0], size=(waves,) * d)
    y = _wavy(m, height, signs, generator)
    return generator.random((n, d)), y


def _amplitude(amplitude: float | None, d: int, waves: int) -> float:
    if amplitude is not None:
        return checks.within("amplitude", amplitude, 0.0, 1.0)
    if d not in _SCHRAB:
        raise ValueError(f"`amplitude` must be given for d = {d}; only d = 1 and d = 2 have a published one.")
    return float(_SCHRAB[d] * np.exp(-d) / waves)


def _wavy(n: int, amplitude: float, signs: Rows, rng: np.random.Generator) -> Rows:
    """`n` rows of the density ``1 + amplitude * wave``, by rejection."""
    d, waves = signs.ndim, len(signs)
    kept: list[Rows] = []
    while sum(map(len, kept)) < n:
        z = rng.random((4 * n, d))
        cell = np.minimum((z * waves).astype(int), waves - 1)
        wave = np.prod(_bump(waves * z - cell - 1), axis=1) * np.exp(d) * signs[tuple(cell.T)]
        kept.append(z[rng.random(len(z)) * (1 + amplitude) < 1 + amplitude * wave])
    return np.concatenate(kept)[:n]


def _bump(t: Rows) -> Rows:
    """A smooth wave on (-1, 0), up and then down, of height exp(-1).

    >>> [round(float(value), 3) for value in np.e * _bump(np.array([-1.0, -0.75, -0.5, -0.25, 0.0]))]
    [0.0, 1.0, 0.0, -1.0, 0.0]
    """
    f = np.zeros_like(t)
    up, down = (t > -1) & (t < -0.5), (t > -0.5) & (t < 0)
    f[up] = np.exp(-1 / (1 - (4 * t[up] + 3) ** 2))
    f[down] = -np.exp(-1 / (1 - (4 * t[down] + 1) ** 2))
    return f
