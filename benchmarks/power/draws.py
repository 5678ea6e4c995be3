"""Generators of sample pairs: each function takes sizes and a difficulty and returns a draw from a Generator.

Where a problem is taken from a paper, the docstring says whose definition it follows; the ones from published code
follow that code where it differs from the text, because the published figures come from the code.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tellapart import datasets

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


def one_correlated(n: int, d: int, rho: float) -> Draw:
    """Independent columns; in the second sample the first two have a correlation."""

    def draw(rng: np.random.Generator) -> Pair:
        x, y = normal(n, d, rng), normal(n, d, rng)
        y[:, 1] = rho * y[:, 0] + np.sqrt(1 - rho**2) * y[:, 1]
        return x, y

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
    """Four normal clusters of which one differs; with ``reach = 20`` the mixture of Biggs et al., MMD-FUSE."""
    return lambda rng: datasets.four_gaussians(n, sd=sd, reach=reach, rng=rng)


def perturbed_uniform(n: int, d: int, amplitude: float | None, waves: int = 2) -> Draw:
    """Uniform on a cube against a density with waves of random sign in it (Schrab et al., MMDAgg)."""
    return lambda rng: datasets.perturbed_uniform(n, d=d, amplitude=amplitude, waves=waves, rng=rng)


def smooth_perturbed_uniform(n: int, d: int, waves: int) -> Draw:
    """The same with the amplitude of Schrab et al."""
    return perturbed_uniform(n, d, None, waves)


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
    """Two clusters whose correlation of the first two columns has opposite signs (Liu et al., HDGM)."""
    return lambda rng: datasets.gaussian_mixtures(n, d=d, correlation=rho, rng=rng)


def cut(draw: Draw, m: int) -> Draw:
    """Only the first m rows of the second sample."""

    def shortened(rng: np.random.Generator) -> Pair:
        x, y = draw(rng)
        return x, y[:m]

    return shortened
