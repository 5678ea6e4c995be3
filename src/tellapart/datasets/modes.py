"""The paper's problems: nine modes on a grid, in two kinds."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._randomness import as_generator

Rows = NDArray[np.float64]


def blobs(n: int, m: int | None = None, *, theta: float = 0.0, rng: Any = None) -> tuple[Rows, Rows]:
    """Nine Gaussian blobs on a 3 x 3 grid; in the second sample each is rotated by `theta`.

    The blobs have standard deviations 0.1 and 0.3 along their axes and stand at distance 1. With ``theta = 0`` both
    samples have the same distribution; the paper uses ``theta = pi / 4``.

    Parameters
    ----------
    n, m : int
        Rows of the first and of the second sample (default ``m = n``).
    theta : float
        Angle in radians.

    Returns
    -------
    x, y : arrays of shape (n, 2), (m, 2)

    References
    ----------
    Gretton et al. (2012). Optimal kernel choice for large-scale two-sample tests. NeurIPS.
    Kuebler et al. (2022). A witness two-sample test. AISTATS. arXiv:2102.05573, Figure 5.

    Examples
    --------
    >>> x, y = blobs(100, 50, theta=np.pi / 4, rng=0)
    >>> x.shape, y.shape
    ((100, 2), (50, 2))
    """
    if not (checks.is_number(theta) and np.isfinite(theta)):
        raise ValueError(f"`theta` must be a finite angle in radians, got {theta!r}.")
    generator, _ = as_generator(rng)
    rotation = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    x, y = (generator.normal(size=(size, 2)) * [0.1, 0.3] for size in checks.sizes(n, m))
    return x + _grid_points(len(x), generator), y @ rotation.T + _grid_points(len(y), generator)


def liu_blobs(
    n_per_mode: int,
    *,
    null: bool = False,
    variant: Literal["published", "nominal"] = "published",
    rng: Any = None,
) -> tuple[Rows, Rows]:
    """Nine blobs whose covariances differ between the samples, mode by mode (Liu et al. 2020).

    Every row belongs to one of the modes at random. The first sample has covariance 0.03 I everywhere; in the second,
    mode i has 0.03 on the diagonal and off it ``-0.02 - 0.002 i`` (i < 4), 0 (i = 4), ``0.02 + 0.002 (i - 5)`` (i > 4).

    Parameters
    ----------
    n_per_mode : int
        Rows of each of the nine modes on average: each sample has nine times as many.
    null : bool
        Draw both samples from the first distribution.
    variant : {"published", "nominal"}
        The code published with that paper draws ``normal @ L`` with the lower Cholesky factor L, which has covariance
        ``L' L``; "nominal" has the covariance that the paper states.

    References
    ----------
    Liu et al. (2020). Learning deep kernels for non-parametric two-sample tests. ICML. arXiv:2002.09116.

    Examples
    --------
    >>> x, y = liu_blobs(10, rng=0)
    >>> x.shape, y.shape
    ((90, 2), (90, 2))
    """
    checks.one_of("variant", variant, ("published", "nominal"))
    generator, _ = as_generator(rng)
    size = 9 * checks.whole("n_per_mode", n_per_mode)
    x = np.sqrt(0.03) * generator.normal(size=(size, 2)) + _grid_points(size, generator)
    noise, modes = generator.normal(size=(size, 2)), generator.integers(9, size=size)
    centres = np.stack([modes // 3, modes % 3], axis=1).astype(float)
    if null:
        return x, np.sqrt(0.03) * noise + centres
    i = np.arange(9)
    off = np.where(i < 4, -0.02 - 0.002 * i, np.where(i == 4, 0.0, 0.02 + 0.002 * (i - 5)))
    covariances = np.array([[[0.03, o], [o, 0.03]] for o in off])
    factors = np.linalg.cholesky(covariances)
    if variant == "nominal":
        factors = factors.transpose(0, 2, 1)
    return x, centres + np.einsum("ki,kij->kj", noise, factors[modes])


def _grid_points(n: int, rng: np.random.Generator) -> Rows:
    return rng.integers(3, size=(n, 2)).astype(float)
