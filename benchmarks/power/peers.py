"""Two-sample tests of other authors, written from their papers: ``test(x, y, rng) -> p-value``.

They are exact by permutation (or wild bootstrap where the paper uses it) and fast: the labels of all relabellings are
the columns of one matrix, so a kernel costs one matrix product. `check_peers` compares them with the packages that
install. The last ones are our own tests, in the same form.

Quadratic forms of all relabellings. Let `a` be the 0/1 column that marks the first sample and K a symmetric matrix with
zero diagonal. Then the sums of K within and between the samples are

    xx = a' K a,    xy = r' a - xx  with r = K 1,    yy = 1' K 1 - 2 xy - xx,

so that K A for all columns A at once gives every relabelled statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import logsumexp
from scipy.stats import f as f_distribution
from scipy.stats import kstwo, rankdata

Test = Callable[[np.ndarray, np.ndarray, np.random.Generator], float]

MANY_ROWS = 1000


def n_draws(total: int) -> int:
    """Relabellings: what a user would wait for."""
    return 999 if total < 1000 else 499


def relabellings(n: int, m: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Columns that mark the first sample, the observed one first: (N, draws + 1)."""
    marks = np.tile(np.repeat([1.0, 0.0], [n, m]), (draws + 1, 1))
    rng.permuted(marks[1:], axis=1, out=marks[1:])
    return np.ascontiguousarray(marks.T)


def forms(k: np.ndarray, a: np.ndarray) -> np.ndarray:
    """``a' K a`` for every column of a.

    On many rows the product is made in single precision, in less than half of the time. That moves a statistic by less
    than a thousandth of its spread over the relabellings (`check_peers` measures it), so no more decisions than a
    further relabelling would.
    """
    single = np.float32 if len(k) >= MANY_ROWS else np.float64
    return np.einsum("ij,ij->j", a, k.astype(single, copy=False) @ a.astype(single, copy=False))


def sums(k: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of k within the first sample, within the second, and between, for every column of a."""
    rows = k.sum(axis=0)
    xx = forms(k, a)
    xy = rows @ a - xx
    return xx, rows.sum() - 2 * xy - xx, xy


def mmd(k: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Unbiased squared MMD of every relabelling; k has zeros on its diagonal."""
    n = a[:, 0].sum()
    m = len(a) - n
    xx, yy, xy = sums(k, a)
    return xx / (n * (n - 1)) + yy / (m * (m - 1)) - 2 * xy / (n * m)


def permutation_pvalue(values: np.ndarray) -> float:
    """Share of relabellings at least as extreme as the first, itself included; equal up to rounding is equal."""
    tolerance = 1e-12 * np.abs(values).max()
    return float(np.mean(values >= values[0] - tolerance))


def reference_bandwidth(x: np.ndarray) -> float:
    """Twice the squared bandwidth of the median heuristic: the lower median squared distance."""
    squared = pdist(x, "sqeuclidean")
    middle = np.partition(squared, (len(squared) - 1) // 2)[(len(squared) - 1) // 2]
    return float(middle or squared.mean() or 1.0)


def mmd_median(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """MMD with a Gaussian kernel, as alibi-detect's MMDDrift: the bandwidth is that of the first sample."""
    z = np.concatenate([x, y])
    k = np.exp(-cdist(z, z, "sqeuclidean") / reference_bandwidth(x))
    np.fill_diagonal(k, 0.0)
    return permutation_pvalue(mmd(k, relabellings(len(x), len(y), n_draws(len(z)), rng)))


def energy_statistics(x: np.ndarray, y: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Energy distance (V-statistic) times nm / (n + m), of every relabelling."""
    n, m = len(x), len(y)
    z = np.concatenate([x, y])
    xx, yy, xy = sums(cdist(z, z), a)
    return n * m / (n + m) * (2 * xy / (n * m) - xx / n**2 - yy / m**2)


def energy(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """Szekely and Rizzo's energy test, as dcor's and hyppo's."""
    a = relabellings(len(x), len(y), n_draws(len(x) + len(y)), rng)
    return permutation_pvalue(energy_statistics(x, y, a))


# MMD-FUSE: Biggs, Schrab and Gretton (2023), arXiv:2306.08777. The statistic is the log of the mean over kernels of
# exp(lambda T), T a normalised MMD. Constants follow the code published with it, from which the published figures come:
# T = n (n - 1) MMD^2 / sqrt(sum k^2) over all pairs of pooled rows, and lambda = sqrt(n (n - 1)), n the smaller sample.
# T is of order 1 without a difference, so this soft maximum is nearly the maximum. (With lambda = 1 it finds smooth
# differences a little more often, and the mixture with sd 0.7 in 0.38 of 60 trials; with the code's in 0.52, where
# 0.51 is published.)


def fuse_bandwidths(distances: np.ndarray, total: int) -> np.ndarray:
    """Ten from half the 5 % quantile to twice the 95 % quantile of the distances; a zero counts as the median."""
    values = np.concatenate([np.zeros(total), distances])
    values[values == 0] = np.median(values)
    low, high = int(len(values) * 0.05), int(len(values) * 0.95)
    values.partition([low, high])
    return np.linspace(values[low] / 2, values[high] * 2, 10)


def fuse_kernels(z: np.ndarray) -> Iterator[np.ndarray]:
    """Ten Laplace and ten Gaussian kernel matrices with zero diagonals, one after the other in the same memory."""
    k = np.empty((len(z), len(z)))
    for metric, power, factor in (("cityblock", 1, np.sqrt(2)), ("euclidean", 2, 0.5)):
        distances = pdist(z, metric)
        bandwidths = fuse_bandwidths(distances, len(z))
        scaled = squareform(-factor * distances**power)
        for b in bandwidths:
            np.multiply(scaled, b**-power if b > 0 else 0.0, out=k)
            np.exp(k, out=k)
            np.fill_diagonal(k, 0.0)
            yield k


def fuse_statistics(x: np.ndarray, y: np.ndarray, a: np.ndarray) -> np.ndarray:
    n = min(len(x), len(y))
    scale = n * (n - 1) * np.sqrt(n * (n - 1))
    rows = [scale * mmd(k, a) / np.linalg.norm(k) for k in fuse_kernels(np.concatenate([x, y]))]
    return logsumexp(rows, axis=0) - np.log(len(rows))


def mmd_fuse(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """MMD-FUSE with its normaliser, Laplace and Gaussian kernels with ten bandwidths each."""
    a = relabellings(len(x), len(y), n_draws(len(x) + len(y)), rng)
    return permutation_pvalue(fuse_statistics(x, y, a))


# MMDAgg: Schrab et al. (2023), JMLR 24, Algorithm 1 with uniform weights. Each of the twenty kernels has a p-value from
# B1 = 500 simulated statistics; the aggregated test rejects when the smallest is at most u, where u is the largest
# value at which at most 5 % of B2 = 500 further simulated statistics would reject. The paper finds u by bisection. As
# the share that rejects grows with u, "u reaches the smallest observed p-value" is the same event as "at most 5 % of
# the B2 statistics have a smallest p-value that is as small", and that share is returned: it is at most 0.05 exactly
# when the published test rejects.

SIMULATED = 500


def agg_bandwidths(distances: np.ndarray) -> np.ndarray:
    """Ten, geometric, from half the smallest to twice the largest distance between the samples."""
    low = distances.min()
    if low < 0.1:
        position = int(len(distances) * 0.05)
        low = max(np.partition(distances, position)[position], 0.1)
    return np.geomspace(low / 2, 2 * max(distances.max(), 0.3), 10)


def wild_bootstrap(parts: list[np.ndarray], scale: float, signs: np.ndarray, memory: list[np.ndarray]) -> np.ndarray:
    """For every column r of signs r' (Kxx + Kyy - Kxy - Kyx) r, without a row's terms with itself and its pair."""
    for part, k in zip(parts, memory, strict=True):
        np.multiply(part, scale, out=k)
        np.exp(k, out=k)
    h, yy, xy = memory
    h += yy
    h -= xy
    h -= xy.T
    np.fill_diagonal(h, 0.0)
    return forms(h, signs)


def permuted(parts: list[np.ndarray], scale: float, marks: np.ndarray) -> np.ndarray:
    """The MMD of every relabelling."""
    xx, yy, xy = (np.exp(scale * part) for part in parts)
    k = np.block([[xx, xy], [xy.T, yy]])
    np.fill_diagonal(k, 0.0)
    return mmd(k, marks)


def agg_statistics(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One row per kernel, the observed statistic first: wild bootstrap if n = m, permutations if not."""
    n, columns = len(x), 2 * SIMULATED + 1
    if n == len(y):
        signs = np.hstack([np.ones((n, 1)), rng.choice([-1.0, 1.0], size=(n, columns - 1))])
        simulate = partial(wild_bootstrap, signs=signs, memory=[np.empty((n, n)) for _ in range(3)])
    else:
        simulate = partial(permuted, marks=relabellings(n, len(y), columns - 1, rng))
    found = []
    for metric, power in (("cityblock", 1), ("euclidean", 2)):
        bandwidths = agg_bandwidths(cdist(x[:500], y[:500], metric).ravel())
        parts = [-(cdist(u, v, metric) ** power) for u, v in ((x, x), (y, y), (x, y))]
        found += [simulate(parts, scale) for scale in bandwidths**-power]
    return np.stack(found)


def aggregated_pvalue(values: np.ndarray) -> float:
    """The share of the second half whose smallest p-value, against the first half, is that of the observed one."""
    first, second = values[:, : SIMULATED + 1], values[:, SIMULATED + 1 :]
    tolerance = 1e-12 * np.abs(values).max(axis=1)
    rank = np.sum(first >= (first[:, 0] - tolerance)[:, None], axis=1).min()
    threshold = np.sort(first, axis=1)[:, SIMULATED - rank] if rank <= SIMULATED else np.full(len(first), -np.inf)
    return float(np.mean(np.any(second > (threshold + tolerance)[:, None], axis=0)))


def mmdagg(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """MMDAgg with Laplace and Gaussian kernels, ten bandwidths each."""
    return aggregated_pvalue(agg_statistics(x, y, rng))


def held_out_auc(model, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """Classifier two-sample test: one half learns, the permutation p-value of the AUC on the other half."""
    parts = [np.array_split(rng.permutation(s), 2) for s in (x, y)]
    (learn_x, judge_x), (learn_y, judge_y) = parts
    model.fit(np.concatenate([learn_x, learn_y]), np.repeat([1, 0], [len(learn_x), len(learn_y)]))
    ranks = rankdata(model.predict_proba(np.concatenate([judge_x, judge_y]))[:, 1])
    return permutation_pvalue(ranks @ relabellings(len(judge_x), len(judge_y), 999, rng))


def c2st_boosting(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """With scikit-learn's gradient boosting; leaves may be smaller than its default of 20 rows where rows are few."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    leaf = min(20, max(2, (len(x) + len(y)) // 40))
    model = HistGradientBoostingClassifier(early_stopping=False, min_samples_leaf=leaf, random_state=0)
    return held_out_auc(model, x, y, rng)


def c2st_logistic(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """With a linear classifier."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return held_out_auc(make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), x, y, rng)


def ks_statistics(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Kolmogorov and Smirnov's largest difference of the distribution functions, of every column."""
    z = np.concatenate([x, y])
    order = np.argsort(z, axis=0, kind="stable")
    gap = np.cumsum(np.where(order < len(x), 1 / len(x), -1 / len(y)), axis=0)
    ordered = np.take_along_axis(z, order, axis=0)
    gap[:-1][ordered[1:] == ordered[:-1]] = 0.0  # inside a tie
    return np.abs(gap).max(axis=0)


def ks_bonferroni(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """Kolmogorov and Smirnov's test of every column, corrected by Bonferroni, as alibi-detect's KSDrift."""
    n, m, d = len(x), len(y), x.shape[1]
    return float(min(1.0, d * kstwo.sf(ks_statistics(x, y), round(n * m / (n + m))).min()))


def hotelling(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """Hotelling's T2, which sees means only: the best there is for a shift of normal columns."""
    n, m, d = len(x), len(y), x.shape[1]
    if d > n + m - 2:
        return 1.0
    gap = x.mean(axis=0) - y.mean(axis=0)
    pooled = ((n - 1) * np.atleast_2d(np.cov(x.T)) + (m - 1) * np.atleast_2d(np.cov(y.T))) / (n + m - 2)
    t2 = n * m / (n + m) * gap @ np.linalg.lstsq(pooled, gap, rcond=None)[0]
    return float(f_distribution.sf(t2 * (n + m - d - 1) / (d * (n + m - 2)), d, n + m - d - 1))


def paper_split(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """The paper's test: half of the rows learns, kernel and ridge from the paper's grid."""
    from tellapart import Permutation, Select, witness_test

    return witness_test(x, y, learner=Select.paper(), null=Permutation(199), rng=rng).pvalue


def split(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """The same with our default grid, which follows the units of the columns."""
    from tellapart import Permutation, witness_test

    return witness_test(x, y, null=Permutation(199), rng=rng).pvalue


def ours(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    from tellapart import tell_apart

    return tell_apart(x, y, rng=rng).pvalue


OURS = "tell_apart"
# those that a verdict compares with; Hotelling's test cannot see most differences and is shown as a reference only
PEERS: dict[str, Test] = {
    "mmdagg": mmdagg,
    "mmd_fuse": mmd_fuse,
    "mmd_median": mmd_median,
    "energy": energy,
    "c2st_boosting": c2st_boosting,
    "c2st_logistic": c2st_logistic,
    "ks_bonferroni": ks_bonferroni,
}
SPLITS: dict[str, Test] = {"paper_split": paper_split, "split": split}
TESTS: dict[str, Test] = {OURS: ours, **PEERS, **SPLITS, "hotelling": hotelling}
