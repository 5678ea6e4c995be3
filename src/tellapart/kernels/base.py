"""What a kernel is: a frozen value that can be called, added, multiplied and scaled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart._arrays import FloatArray, to_numpy
from tellapart._checks import positive
from tellapart.pairs import Matrix, Pairs, Shares


class Kernel(ABC):
    """A positive definite kernel. Sums, products and positive multiples of kernels are kernels."""

    @abstractmethod
    def of(self, pairs: Pairs) -> Matrix:
        """The kernel matrix of `pairs`, as a new array."""

    def resolved(self, rows: FloatArray, rng: np.random.Generator, shares: Shares = None) -> Kernel:
        """Return the same kernel, every bandwidth rule replaced by its number on the pooled `rows`.

        `shares` is what part of its source each column is: see :func:`tellapart.pairs.column_spreads`.
        """
        return self

    def __call__(self, a: FloatArray, b: FloatArray) -> Matrix:
        return self.of(Pairs(a, b))

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(other, self) if isinstance(other, int | float | np.number) else NotImplemented

    __rmul__ = __mul__


@dataclass(frozen=True)
class Sum(Kernel):
    """``first + second``."""

    first: Kernel
    second: Kernel

    def of(self, pairs: Pairs) -> Matrix:
        return self.first.of(pairs) + self.second.of(pairs)

    def resolved(self, rows: FloatArray, rng: np.random.Generator, shares: Shares = None) -> Kernel:
        return Sum(self.first.resolved(rows, rng, shares), self.second.resolved(rows, rng, shares))


@dataclass(frozen=True)
class Product(Kernel):
    """``first * second``, entry by entry."""

    first: Kernel
    second: Kernel

    def of(self, pairs: Pairs) -> Matrix:
        return self.first.of(pairs) * self.second.of(pairs)

    def resolved(self, rows: FloatArray, rng: np.random.Generator, shares: Shares = None) -> Kernel:
        return Product(self.first.resolved(rows, rng, shares), self.second.resolved(rows, rng, shares))


@dataclass(frozen=True)
class Scaled(Kernel):
    """``factor * kernel`` with a positive factor."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        positive("factor", self.factor)

    def of(self, pairs: Pairs) -> Matrix:
        return float(self.factor) * self.kernel.of(pairs)

    def resolved(self, rows: FloatArray, rng: np.random.Generator, shares: Shares = None) -> Kernel:
        return Scaled(self.factor, self.kernel.resolved(rows, rng, shares))


@dataclass(frozen=True)
class FromFunction(Kernel):
    """Any function ``(a, b) -> matrix`` as a kernel."""

    function: Callable[[FloatArray, FloatArray], Any]

    def of(self, pairs: Pairs) -> Matrix:
        k = np.array(to_numpy(self.function(pairs.a, pairs.b)))
        if k.dtype.kind not in "biuf":
            raise TypeError(f"`kernel` must return real numbers, got dtype {k.dtype} from {self.function!r}.")
        k = k.astype(np.float64, copy=False)
        if pairs.same and k.ndim == 2 and len(k) == len(k.T) and not _symmetric(k):
            raise ValueError(
                "`kernel` must be symmetric, k(a, b) = k(b, a), got a matrix that is not on one table of rows from "
                f"{self.function!r}."
            )
        return k


def _symmetric(k: Matrix) -> bool:
    """Up to rounding; NaN is another complaint."""
    return not (np.abs(k - k.T) > 1e-8 * np.abs(k).max(initial=0.0)).any()


def as_kernel(kernel: Any) -> Kernel:
    """A kernel, or a callable ``(a, b) -> matrix``, as a kernel."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel) and not isinstance(kernel, type):
        return FromFunction(kernel)
    raise TypeError(f"`kernel` must be a kernel such as Gaussian(0.5) or a function (a, b) -> matrix, got {kernel!r}.")


def kernel_matrix(kernel: Kernel, pairs: Pairs) -> Matrix:
    """The matrix of `kernel`, checked for shape and for NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        k = kernel.of(pairs)
    wanted = (len(pairs.a), len(pairs.b))
    if k.shape != wanted:
        raise ValueError(f"`kernel` must return a matrix of shape {wanted}, got {k.shape} from {kernel!r}.")
    if not np.isfinite(k.sum()) and not np.isfinite(k).all():  # one pass where all is well
        raise ValueError(
            f"`kernel` must return finite values, got {int((~np.isfinite(k)).sum())} NaN or infinite ones from "
            f"{kernel!r}. Bring the columns to a common scale, or choose a kernel of distances such as Gaussian()."
        )
    return k
