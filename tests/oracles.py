"""Slow and obvious second implementations, to compare the fast ones with.

The kernel Fisher discriminant is solved as the paper prints it, by inverting an N x N matrix whose condition number is
that of K squared. To be worth comparing with to nine digits, the oracle computes in 80-bit or longer arithmetic with
plain Gaussian elimination, which NumPy's linear algebra does not offer.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

EXTENDED = np.longdouble


def solve(a, b):
    """Gaussian elimination with partial pivoting in extended precision."""
    a, b = np.array(a, dtype=EXTENDED), np.array(b, dtype=EXTENDED)
    n = len(b)
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(a[i:, i])))
        a[[i, pivot]], b[[i, pivot]] = a[[pivot, i]], b[[pivot, i]]
        for j in range(i + 1, n):
            factor = a[j, i] / a[i, i]
            a[j, i:] -= factor * a[i, i:]
            b[j] -= factor * b[i]
    x = np.zeros(n, dtype=EXTENDED)
    for i in reversed(range(n)):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def class_weights(n, m, covariance):
    """The paper's N_c per row, without its centring: corrected 1/c^2, printed 1/c."""
    c = EXTENDED(n) / (n + m)
    power = 2 if covariance == "corrected" else 1
    return np.repeat([1 / c**power, 1 / (1 - c) ** power], [n, m])


def fisher_alpha(k, n, ridge, covariance="corrected"):
    """``(K N_c K / N + ridge K)^-1 K delta``: Equation 10 of the paper, term by term."""
    k = np.array(k, dtype=EXTENDED)
    total = len(k)
    m = total - n
    n_c = np.zeros((total, total), dtype=EXTENDED)
    for rows in (slice(0, n), slice(n, total)):
        size = len(range(total)[rows])
        n_c[rows, rows] = np.eye(size, dtype=EXTENDED) - EXTENDED(1) / size
    n_c *= class_weights(n, m, covariance)
    delta = np.repeat([EXTENDED(1) / n, -EXTENDED(1) / m], [n, m])
    return solve(k @ n_c @ k / total + EXTENDED(ridge) * k, k @ delta)


def fisher_primal(phi_x, phi_y, ridge, covariance="corrected"):
    """``(Sigma + ridge I)^-1 (mu_P - mu_Q)`` with explicit features, covariances as double loops."""
    n, m = len(phi_x), len(phi_y)
    c = n / (n + m)
    sigma = np.zeros((phi_x.shape[1],) * 2)
    for phi, weight in ((phi_x, 1 / c), (phi_y, 1 / (1 - c))):
        mean = phi.mean(axis=0)
        for row in phi:
            sigma += np.outer(row - mean, row - mean) / len(phi) * (weight if covariance == "corrected" else 1)
    return solve(sigma + ridge * np.eye(len(sigma)), phi_x.mean(axis=0) - phi_y.mean(axis=0)).astype(float)


def permutation_tail(h_x, h_y, statistic=lambda x, y: np.mean(x) - np.mean(y)):
    """P(statistic of a random relabelling >= observed), by listing every relabelling."""
    pooled = np.concatenate([h_x, h_y])
    observed = statistic(h_x, h_y)
    scale = max(1e-300, float(np.abs(pooled).max()))
    reached = count = 0
    for rows in combinations(range(len(pooled)), len(h_x)):
        chosen = np.zeros(len(pooled), dtype=bool)
        chosen[list(rows)] = True
        reached += statistic(pooled[chosen], pooled[~chosen]) >= observed - 1e-10 * scale
        count += 1
    return reached / count


def binomial_bounds(trials, level, error=1e-4):
    """The least and the most rejections that are believable if the level is exact, each with probability `error`."""
    from scipy.stats import binom

    return int(binom.ppf(error, trials, level)), int(binom.ppf(1 - error, trials, level))


def snr_by_loops(h_x, h_y):
    """The formula of the signal-to-noise ratio, one value at a time."""
    n, m = len(h_x), len(h_y)
    mean_x, mean_y = sum(h_x) / n, sum(h_y) / m
    var_x = sum((v - mean_x) ** 2 for v in h_x) / n
    var_y = sum((v - mean_y) ** 2 for v in h_y) / m
    c = n / (n + m)
    return (mean_x - mean_y) / (var_x / c + var_y / (1 - c)) ** 0.5


def left_out_by_refits(k, labels, ridge, together=None):
    """Kernel ridge regression with a free intercept, refitted without each row and evaluated there.

    min over alpha, b of ||labels - K alpha - b||^2 + ridge alpha' K alpha, on the other rows; rows with the same number
    in `together` are left out together.
    """
    n = len(labels)
    together = np.arange(n) if together is None else np.asarray(together)
    values = np.empty(n)
    for i in range(n):
        rest = np.flatnonzero(together != together[i])
        size = len(rest)
        inner = np.zeros((size + 1, size + 1))
        inner[:size, :size] = k[np.ix_(rest, rest)] + ridge * np.eye(size)
        inner[:size, size] = inner[size, :size] = 1.0
        solution = solve(inner, np.append(labels[rest], 0.0)).astype(float)
        values[i] = k[i, rest] @ solution[:-1] + solution[-1]
    return values


def power_by_loops(k, n, floor, paired=False):
    """``(J, SNR)`` of a kernel matrix, one entry at a time: unbiased MMD^2 over the root of its regularised variance.

    `paired` is the variance of Liu et al. (2020), of the sums over a row of ``k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) -
    k(x_j, y_i)``, for n = m.
    """
    total = len(k)
    m, c = total - n, n / total
    p, q = range(n), range(n, total)
    xx = sum(k[i, j] for i in p for j in p if i != j) / (n * (n - 1))
    yy = sum(k[i, j] for i in q for j in q if i != j) / (m * (m - 1))
    mmd2 = xx + yy - 2 * sum(k[i, j] for i in p for j in q) / (n * m)
    h = [sum(k[i, j] for j in p) / n - sum(k[i, j] for j in q) / m for i in range(total)]
    if paired:
        rows = [sum(k[i, j] + k[n + i, n + j] - k[i, n + j] - k[j, n + i] for j in p) / n for i in p]
        variance = 4 * (sum(r * r for r in rows) / n - (sum(rows) / n) ** 2)
    else:
        variance = 2 * (np.var([h[i] for i in p]) / c + np.var([h[i] for i in q]) / (1 - c))
    return mmd2 / (variance + floor) ** 0.5, snr_by_loops([h[i] for i in p], [h[i] for i in q])
