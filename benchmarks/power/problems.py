"""Two-sample problems with an adjustable difficulty, for choosing between statistics and for comparing tests.

Each problem draws a pair of samples from a Generator. Those marked `aside` are not looked at while anything is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tellapart.datasets import blobs, liu_blobs

Pair = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator], Pair]


@dataclass(frozen=True)
class Problem:
    """A name, how to draw a pair, and whether it is kept aside while choosing."""

    name: str
    draw: Draw
    aside: bool = False
    null: bool = False


def normal(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, d))


def shifted(n: int, d: int, shift: float, columns: int | None = None) -> Draw:
    """A shift of the mean, in all columns or in the first few."""

    def draw(rng: np.random.Generator) -> Pair:
        x, y = normal(n, d, rng), normal(n, d, rng)
        y[:, :columns] += shift
        return x, y

    return draw


def scaled(n: int, d: int, factor: float) -> Draw:
    return lambda rng: (normal(n, d, rng), factor * normal(n, d, rng))


def correlated(n: int, d: int, rho: float) -> Draw:
    """All pairs of columns have correlation rho in the second sample."""

    def draw(rng: np.random.Generator) -> Pair:
        common = rng.normal(size=(n, 1))
        return normal(n, d, rng), np.sqrt(1 - rho) * normal(n, d, rng) + np.sqrt(rho) * common

    return draw


def tails(n: int, d: int, freedom: float) -> Draw:
    """Normal against Student's t of the same variance."""
    return lambda rng: (
        normal(n, d, rng),
        rng.standard_t(freedom, size=(n, d)) * np.sqrt((freedom - 2) / freedom),
    )


def four_gaussians(n: int, sd: float) -> Draw:
    """Four normal clusters at (+-10, +-10); in the second sample one has another standard deviation (MMD-FUSE)."""

    def draw(rng: np.random.Generator) -> Pair:
        def sample(last: float) -> np.ndarray:
            corner = rng.integers(4, size=n)
            centres = np.array([[10, 10], [10, -10], [-10, 10], [-10, -10]])[corner]
            return centres + rng.normal(size=(n, 2)) * np.where(corner == 3, last, 1.0)[:, None]

        return sample(1.0), sample(sd)

    return draw


def bump(t: np.ndarray) -> np.ndarray:
    """A smooth wave on (-1, 0), up and then down, of height exp(-1)."""
    f = np.zeros_like(t)
    up, down = (t > -1) & (t < -0.5), (t > -0.5) & (t < 0)
    f[up] = np.exp(-1 / (1 - (4 * t[up] + 3) ** 2))
    f[down] = -np.exp(-1 / (1 - (4 * t[down] + 1) ** 2))
    return f


def perturbed_uniform(n: int, d: int, amplitude: float, waves: int = 2) -> Draw:
    """Uniform on a cube against a density with waves of random sign in it (Schrab et al., MMDAgg)."""

    def draw(rng: np.random.Generator) -> Pair:
        signs = rng.choice([-1.0, 1.0], size=(waves,) * d)
        kept: list[np.ndarray] = []
        while sum(map(len, kept)) < n:
            z = rng.random((4 * n, d))
            cell = np.minimum((z * waves).astype(int), waves - 1)
            wave = np.prod(bump(waves * z - cell - 1), axis=1) * np.exp(d) * signs[tuple(cell.T)]
            kept.append(z[rng.random(len(z)) * (1 + amplitude) < 1 + amplitude * wave])
        return rng.random((n, d)), np.concatenate(kept)[:n]

    return draw


def counts(n: int, d: int, rate: float) -> Draw:
    """Poisson counts, of mean 1 and of another mean: many ties."""
    return lambda rng: (rng.poisson(1.0, size=(n, d)).astype(float), rng.poisson(rate, size=(n, d)).astype(float))


def two_clusters(n: int, d: int, rho: float) -> Draw:
    """Two clusters whose correlation of the first two columns has opposite signs (Liu et al., HDGM)."""

    def draw(rng: np.random.Generator) -> Pair:
        def sample(signs: tuple[float, float]) -> np.ndarray:
            z, which = normal(n, d, rng), rng.integers(2, size=n)
            r = np.array(signs)[which]
            z[:, 1] = r * z[:, 0] + np.sqrt(1 - r**2) * z[:, 1]
            return z + 0.5 * which[:, None]

        return sample((0.0, 0.0)), sample((rho, -rho))

    return draw


PROBLEMS = (
    Problem("null, d = 2", shifted(60, 2, 0.0), null=True),
    Problem("blobs, n = 60", lambda rng: blobs(60, theta=np.pi / 4, rng=rng)),
    Problem("Liu blobs, n = 90", lambda rng: liu_blobs(10, rng=rng)),
    Problem("mean + 0.12, d = 5, n = 200", shifted(200, 5, 0.12)),
    Problem("mean + 0.35, d = 1, n = 60", shifted(60, 1, 0.35)),
    Problem("1 of 50 columns + 0.7, n = 100", shifted(100, 50, 0.7, columns=1)),
    Problem("scale x 1.12, d = 5, n = 200", scaled(200, 5, 1.12)),
    Problem("correlation 0.25, d = 5, n = 100", correlated(100, 5, 0.25)),
    Problem("t with 3 degrees, d = 2, n = 200", tails(200, 2, 3.0)),
    Problem("perturbed uniform 0.4, d = 1, n = 250", perturbed_uniform(250, 1, 0.4)),
    Problem("four Gaussians, sd 1.6, n = 250", four_gaussians(250, 1.6)),
    Problem("mean + 0.7, d = 2, n = 20", shifted(20, 2, 0.7), aside=True),
    Problem("perturbed uniform 0.8, d = 2, n = 250", perturbed_uniform(250, 2, 0.8), aside=True),
    Problem("correlation 0.025, d = 500, n = 100", correlated(100, 500, 0.025), aside=True),
    Problem("counts 1.15, d = 5, n = 150", counts(150, 5, 1.15), aside=True),
    Problem("two clusters 0.6, d = 10, n = 250", two_clusters(250, 10, 0.6), aside=True),
    Problem("scale x 1.5, d = 1, n = 60", scaled(60, 1, 1.5), aside=True),
)
