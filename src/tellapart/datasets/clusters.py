"""Clusters and rings: mixtures of two and of four Gaussians, and two circles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import as_generator

Rows = NDArray[np.float64]

_CORNERS = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])


def gaussian_mixtures(
    n: int,
    m: int | None = None,
    *,
    d: int = 10,
    correlation: float = 0.5,
    balanced: bool = False,
    rng: Any = None,
) -> tuple[Rows, Rows]:
    """Two clusters in many dimensions whose correlations have opposite signs (Liu et al. 2020, HDGM).

    Both clusters have variance 1 in each of `d` columns; the second stands at 0.5 in each of them. In the first sample
    all columns are independent. In the second, the first two columns have correlation `correlation` in the first
    cluster and ``-correlation`` in the second, so that over both clusters together hardly a correlation is left.

    Parameters
    ----------
    n, m : int
        Rows of the first and of the second sample (default ``m = n``).
    d : int
        Columns, at least 2; more of them hide the difference better.
    correlation : float
        Between -1 and 1. With 0 both samples have the same distribution.
    balanced : bool
        Equally many rows of each cluster, one cluster after the other, as in the published code. Rows are then no
        independent draws; by default the cluster of each row is random.

    Returns
    -------
    x, y : arrays of shape (n, d), (m, d)

    References
    ----------
    Liu et al. (2020). Learning deep kernels for non-parametric two-sample tests. ICML. arXiv:2002.09116.

    Examples
    --------
    >>> x, y = gaussian_mixtures(100, d=10, rng=0)
    >>> x.shape, y.shape
    ((100, 10), (100, 10))
    """
    rho = checks.within("correlation", correlation, -1.0, 1.0)
    d = checks.whole("d", d, least=2)
    sizes = checks.sizes(n, m)
    generator, _ = as_generator(rng)
    x, y = (_two_clusters(size, d, r, balanced, generator) for size, r in zip(sizes, (0.0, rho), strict=True))
    return x, y


def _two_clusters(n: int, d: int, rho: float, balanced: bool, rng: np.random.Generator) -> Rows:
    z = rng.normal(size=(n, d))
    which = 2 * np.arange(n) // n if balanced else rng.integers(2, size=n)
    r = np.array([rho, -rho])[which]
    z[:, 1] = r * z[:, 0] + np.sqrt(1 - r**2) * z[:, 1]
    return z + 0.5 * which[:, None]


def four_gaussians(
    n: int, m: int | None = None, *, sd: float = 1.5, reach: float = 20.0, rng: Any = None
) -> tuple[Rows, Rows]:
    """Four normal clusters at (+-reach, +-reach); in the second sample one has standard deviation `sd`, not 1.

    Parameters
    ----------
    n, m : int
        Rows of the first and of the second sample (default ``m = n``).
    sd : float
        With 1 both samples have the same distribution.
    reach : float
        Half the distance of neighbouring clusters.

    Returns
    -------
    x, y : arrays of shape (n, 2), (m, 2)

    References
    ----------
    Biggs, Schrab, Gretton (2023). MMD-FUSE: learning and combining kernels for two-sample testing without data
    splitting. NeurIPS. arXiv:2306.08777.

    Examples
    --------
    >>> x, y = four_gaussians(500, sd=1.6, rng=0)
    >>> [float(z.std().round()) for z in (x, y)]
    [20.0, 20.0]
    """
    sd = checks.positive("sd", sd)
    reach = checks.positive("reach", reach)
    sizes = checks.sizes(n, m)
    generator, _ = as_generator(rng)
    x, y = (_four_clusters(size, last, reach, generator) for size, last in zip(sizes, (1.0, sd), strict=True))
    return x, y


def _four_clusters(n: int, last: float, reach: float, rng: np.random.Generator) -> Rows:
    corner = rng.integers(4, size=n)
    spread = np.where(corner == 3, last, 1.0)[:, None]
    rows: Rows = reach * _CORNERS[corner] + rng.normal(size=(n, 2)) * spread
    return rows


def circles(
    n: int, m: int | None = None, *, radius: float = 0.8, noise: float = 0.1, rng: Any = None
) -> tuple[Rows, Rows]:
    """Two noisy circles around the same centre: the first sample with radius 1, the second with `radius`.

    Parameters
    ----------
    n, m : int
        Rows of the first and of the second sample (default ``m = n``).
    radius : float
        With 1 both samples have the same distribution.
    noise : float
        Standard deviation of the normal noise that is added to both columns.

    Returns
    -------
    x, y : arrays of shape (n, 2), (m, 2)

    Examples
    --------
    >>> x, y = circles(1000, radius=0.5, noise=0.01, rng=0)
    >>> [round(float(np.hypot(*z.T).mean()), 1) for z in (x, y)]
    [1.0, 0.5]
    """
    radius = checks.positive("radius", radius)
    noise = checks.positive("noise", noise)
    sizes = checks.sizes(n, m)
    generator, _ = as_generator(rng)
    x, y = (_circle(size, r, noise, generator) for size, r in zip(sizes, (1.0, radius), strict=True))
    return x, y


def _circle(n: int, radius: float, noise: float, rng: np.random.Generator) -> Rows:
    angle = rng.uniform(0, 2 * np.pi, size=n)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(n, 2))
