"""Generators of sample pairs: each function takes sizes and a difficulty and returns a draw from a Generator.

Where a problem is taken from a paper, the docstring says whose definition it follows; the ones from published code
follow that code where it differs from the text, because the published figures come from the code.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator], Pair]


def normal(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, d))


def shifted(n: int, d: int, shift: float, columns: int | None = None, m: int | None = None) -> Draw:
    """A shift of the mean, in all columns or in the first few."""

    def draw(rng: np.random.Generator) -> Pair:
        x, y = normal(n, d, rng), normal(n if m is None else m, d, rng)
        y[:, :columns] += shift
        return x, y

    return draw


def scaled(n: int, d: int, factor: float, columns: int | None = None) -> Draw:
    """Another standard deviation, in all columns or in the first few."""

    def draw(rng: np.random.Generator) -> Pair:
        x, y = normal(n, d, rng), normal(n, d, rng)
        y[:, :columns] *= factor
        return x, y

    return draw


def correlated(n: int, d: int, rho: float, base: float = 0.0) -> Draw:
    """All pairs of columns have correlation `base` in the first sample and `base + rho` in the second.

    With ``d = 500, base = 0.5`` this is the equi-correlated problem of Santoro et al., kernel likelihood ratio.
    """

    def draw(rng: np.random.Generator) -> Pair:
        common, x, y = rng.normal(size=(n, 1)), normal(n, d, rng), normal(n, d, rng)
        y = np.sqrt(1 - base - rho) * y + np.sqrt(base + rho) * common
        return (np.sqrt(1 - base) * x + np.sqrt(base) * rng.normal(size=(n, 1)) if base else x), y

    return draw


def tails(n: int, d: int, freedom: float) -> Draw:
    """Normal against Student's t of the same variance."""
    return lambda rng: (
        normal(n, d, rng),
        rng.standard_t(freedom, size=(n, d)) * np.sqrt((freedom - 2) / freedom),
    )


def student(n: int, d: int, freedom: float, shift: float) -> Draw:
    """A shift of heavy-tailed columns; ``freedom = 1`` is Cauchy."""
    return lambda rng: (rng.standard_t(freedom, size=(n, d)), rng.standard_t(freedom, size=(n, d)) + shift)


def four_gaussians(n: int, sd: float, reach: float = 10.0) -> Draw:
    """Four normal clusters at (+-reach, +-reach); in the second sample one has another standard deviation.

    With ``reach = 20`` it is the mixture of Biggs et al., MMD-FUSE.
    """

    def draw(rng: np.random.Generator) -> Pair:
        def sample(last: float) -> np.ndarray:
            corner = rng.integers(4, size=n)
            centres = reach * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])[corner]
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


def smooth_perturbed_uniform(n: int, d: int, waves: int) -> Draw:
    """The same with the amplitude of Schrab et al.: ``c_d exp(-d) / waves``, nearly the largest for one wave.

    Their sampler draws both samples from one stream of random numbers, so their samples share values; ours are
    independent.
    """
    return perturbed_uniform(n, d, {1: 2.7, 2: 7.3}[d] * np.exp(-d) / waves, waves)


def counts(n: int, d: int, rate: float) -> Draw:
    """Poisson counts, of mean 1 and of another mean: many ties."""
    return lambda rng: (rng.poisson(1.0, size=(n, d)).astype(float), rng.poisson(rate, size=(n, d)).astype(float))


def binary(n: int, d: int, agreement: float) -> Draw:
    """Columns of fair coins; in the second sample each agrees with a hidden common coin more often than not."""

    def draw(rng: np.random.Generator) -> Pair:
        x = rng.integers(2, size=(n, d)).astype(float)
        hidden, follows = rng.integers(2, size=(n, 1)), rng.random((n, d)) < agreement
        return x, np.where(follows, hidden, rng.integers(2, size=(n, d))).astype(float)

    return draw


def ordinal(n: int, d: int, spread: float) -> Draw:
    """Answers on a scale of five levels; in the second sample they lean to both ends."""

    def draw(rng: np.random.Generator) -> Pair:
        cuts = np.array([-1.2, -0.4, 0.4, 1.2])
        return tuple(np.searchsorted(cuts, s * normal(n, d, rng)).astype(float) for s in (1.0, spread))

    return draw


def two_clusters(n: int, d: int, rho: float) -> Draw:
    """Two clusters whose correlation of the first two columns has opposite signs (Liu et al., HDGM).

    Their own setting is ``d = 10, rho = 0.5`` with equally many rows of each cluster; here the cluster is random.
    """

    def draw(rng: np.random.Generator) -> Pair:
        def sample(signs: tuple[float, float]) -> np.ndarray:
            z, which = normal(n, d, rng), rng.integers(2, size=n)
            r = np.array(signs)[which]
            z[:, 1] = r * z[:, 0] + np.sqrt(1 - r**2) * z[:, 1]
            return z + 0.5 * which[:, None]

        return sample((0.0, 0.0)), sample((rho, -rho))

    return draw


def cut(draw: Draw, m: int) -> Draw:
    """Only the first m rows of the second sample."""

    def shortened(rng: np.random.Generator) -> Pair:
        x, y = draw(rng)
        return x, y[:m]

    return shortened
