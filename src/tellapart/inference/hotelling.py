"""Hotelling's statistic of a few features, for many relabellings at once, and its chi-square null.

With J features phi of N rows, d the difference in means of the two samples of n and m rows, ``g = n m / N``, and the
covariance S within samples (scatter over N - 2),

    T = g d' (S + ridge I)^-1 d.

The scatter within samples is the total scatter minus ``g d d'``. With ``A = total scatter + (N - 2) ridge I``, which
does not know the labels, and ``s = g d' A^-1 d``, the Sherman-Morrison formula gives

    T = (N - 2) s / (1 - s).

So one J x J Cholesky factor ``A = L L'`` serves all relabellings: for centred labels y, ``Phi' y = g d``, hence
``s = |L^-1 Phi' y|^2 / g``, a single matrix product for all of them.

If the distributions are equal, T tends to chi-square with J degrees of freedom as N grows with J fixed. On few rows
the estimate S makes T larger than that: for normal features and no ridge ``T (N - J - 1) / (J (N - 2))`` has an F
distribution with J and N - J - 1 degrees of freedom.

References
----------
Hotelling (1931). The generalization of Student's ratio. doi:10.1214/aoms/1177732979.
Chwialkowski, Ramdas, Sejdinovic, Gretton (2015). Fast two-sample testing with analytic representations of probability
measures. NeurIPS. arXiv:1506.04725.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaincc

from tellapart.inference.null import Verdict
from tellapart.inference.pvalue import SMALLEST, tail_pvalue
from tellapart.moments import unit_scaled

Matrix = NDArray[np.float64]
Values = NDArray[np.float64]

NAME = "Hotelling's statistic of the features"


@dataclass(frozen=True)
class ChiSquared:
    """The large-sample null of Hotelling's statistic: chi-square with one degree of freedom for each feature.

    Notes
    -----
    Guarantee: asymptotic, and on few rows it rejects far too often. Of 4,000 true null hypotheses with 5 normal
    features it rejects, at level 0.05, a share of 0.19 with 10 + 10 rows that judge, 0.105 with 20 + 20, 0.073 with
    50 + 50 and 0.052 with 500 + 500. The permutation null is exact. ``tests/claims/test_locations_level.py`` counts.
    """

    def judge(self, statistic: float, features: int) -> Verdict:
        """The upper tail of chi-square beyond the statistic."""
        tail = max(float(gammaincc(features / 2, statistic / 2)), SMALLEST)
        how = f"the chi-square distribution with {features} degrees of freedom"
        return Verdict(statistic, tail_pvalue(math.log(tail)), NAME, how)


class Hotelling:
    """The statistic for columns of centred labels: (N, relabellings) -> (relabellings,)."""

    def __init__(self, features: Matrix, ridge: float) -> None:
        unit, scale = unit_scaled(features)  # a feature that is constant up to rounding becomes zero
        phi = unit * scale
        self.freedom = len(phi) - 2
        total = phi.T @ phi
        total.flat[:: len(total) + 1] += self.freedom * ridge
        self.white = np.asarray(solve_triangular(cholesky(total, lower=True), phi.T, lower=True))  # (J, N)

    def __call__(self, y: Matrix) -> Values:
        n = np.count_nonzero(y > 0, axis=0)
        projected = self.white @ y
        share = (projected * projected).sum(axis=0) * len(y) / (n * (len(y) - n))
        return np.asarray(self.freedom * share / np.maximum(1 - share, np.finfo(np.float64).eps))
