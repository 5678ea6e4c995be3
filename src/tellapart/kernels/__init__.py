"""Kernels: Gaussian, Laplace, Matern, inverse multiquadric, polynomial, linear. They add and multiply.

A kernel is a small frozen value. ``kernel(a, b)`` is the matrix of its values on the rows of `a` and `b`; any
callable with that signature can stand in for one. Bandwidths may be numbers, one number per column, or the name
of a rule that is resolved on pooled rows, without looking at which sample a row is from.

Examples
--------
>>> import numpy as np
>>> z = np.array([[0.0], [1.0]])
>>> (0.5 * Gaussian(1.0) + Linear())(z, z).round(3).tolist()
[[0.5, 0.303], [0.303, 1.5]]
"""

from tellapart.kernels.algebraic import Energy, Features, Linear, Polynomial, Precomputed
from tellapart.kernels.base import FromFunction, Kernel, Product, Scaled, Sum, as_kernel, kernel_matrix
from tellapart.kernels.radial import BandwidthGrid, Gaussian, InverseMultiquadric, Laplace, Matern, Radial

__all__ = [
    "BandwidthGrid",
    "Energy",
    "Features",
    "FromFunction",
    "Gaussian",
    "InverseMultiquadric",
    "Kernel",
    "Laplace",
    "Linear",
    "Matern",
    "Polynomial",
    "Precomputed",
    "Product",
    "Radial",
    "Scaled",
    "Sum",
    "as_kernel",
    "kernel_matrix",
]
