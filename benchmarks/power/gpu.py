"""The peers that are sums over kernel matrices, on a GPU: the same statistics from the same random numbers.

For the rows of the league with thousands of rows, ``python -m benchmarks.power.league --gpu``. Random numbers are drawn
by NumPy as on the CPU, so a p-value differs only where two relabellings differ by rounding;
``python -m benchmarks.power.gpu`` compares both on small problems.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.power import peers
from benchmarks.power.peers import SIMULATED, Test, aggregated_pvalue, n_draws, permutation_pvalue

Tensor = torch.Tensor


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def moved(*arrays: np.ndarray) -> list[Tensor]:
    return [torch.as_tensor(np.ascontiguousarray(a, dtype=np.float64), device=device()) for a in arrays]


def distances(a: Tensor, b: Tensor, p: float) -> Tensor:
    return torch.cdist(a, b, p=p, compute_mode="donot_use_mm_for_euclid_dist")


def above_diagonal(square: Tensor) -> Tensor:
    i, j = torch.triu_indices(len(square), len(square), 1, device=square.device)
    return square[i, j]


def marks(x: np.ndarray, y: np.ndarray, draws: int, rng: np.random.Generator) -> Tensor:
    return moved(peers.relabellings(len(x), len(y), draws, rng))[0]


def mmd(k: Tensor, a: Tensor) -> Tensor:
    """As :func:`benchmarks.power.peers.mmd`."""
    n = float(a[:, 0].sum())
    m = len(a) - n
    rows = k.sum(dim=0)
    xx = (a * (k @ a)).sum(dim=0)
    xy = rows @ a - xx
    yy = rows.sum() - 2 * xy - xx
    return xx / (n * (n - 1)) + yy / (m * (m - 1)) - 2 * xy / (n * m)


def mmd_median(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    z, first = moved(np.concatenate([x, y]), x)
    squared = above_diagonal(distances(first, first, 2.0)) ** 2
    bandwidth = float(squared.kthvalue((len(squared) - 1) // 2 + 1).values) or float(squared.mean()) or 1.0
    k = torch.exp(-(distances(z, z, 2.0) ** 2) / bandwidth).fill_diagonal_(0.0)
    return permutation_pvalue(mmd(k, marks(x, y, n_draws(len(z)), rng)).cpu().numpy())


def energy(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    n, m = len(x), len(y)
    a = marks(x, y, n_draws(n + m), rng)
    (z,) = moved(np.concatenate([x, y]))
    k = distances(z, z, 2.0)
    rows = k.sum(dim=0)
    xx = (a * (k @ a)).sum(dim=0)
    xy = rows @ a - xx
    yy = rows.sum() - 2 * xy - xx
    return permutation_pvalue((n * m / (n + m) * (2 * xy / (n * m) - xx / n**2 - yy / m**2)).cpu().numpy())


def fuse_kernels(z: Tensor) -> Iterator[Tensor]:
    """As :func:`benchmarks.power.peers.fuse_kernels`; quantiles are read from the sorted distances."""
    for p, power, factor in ((1.0, 1, math.sqrt(2)), (2.0, 2, 0.5)):
        square = distances(z, z, p)
        values = torch.cat([torch.zeros(len(z), dtype=z.dtype, device=z.device), above_diagonal(square)]).sort().values
        zeros = int((values == 0).sum())
        middle = float(values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        if zeros:  # a zero counts as the median
            values = torch.cat([values[zeros:], values.new_full((zeros,), middle)]).sort().values
        low, high = float(values[int(len(values) * 0.05)]), float(values[int(len(values) * 0.95)])
        del values
        for b in np.linspace(low / 2, high * 2, 10):
            yield torch.exp(square**power * (-factor * b**-power if b > 0 else 0.0)).fill_diagonal_(0.0)


def mmd_fuse(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    a, n = marks(x, y, n_draws(len(x) + len(y)), rng), min(len(x), len(y))
    (z,) = moved(np.concatenate([x, y]))
    scale = n * (n - 1) * math.sqrt(n * (n - 1))
    rows = torch.stack([scale * mmd(k, a) / torch.linalg.matrix_norm(k) for k in fuse_kernels(z)])
    return permutation_pvalue((torch.logsumexp(rows, dim=0) - math.log(len(rows))).cpu().numpy())


def mmdagg(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    n, m, columns = len(x), len(y), 2 * SIMULATED + 1
    if n == m:
        (labels,) = moved(np.hstack([np.ones((n, 1)), rng.choice([-1.0, 1.0], size=(n, columns - 1))]))
    else:
        labels = marks(x, y, columns - 1, rng)
    tx, ty = moved(x, y)
    found = []
    for p, power in ((1.0, 1), (2.0, 2)):
        cross = distances(tx, ty, p)
        bandwidths = peers.agg_bandwidths(cross[:500, :500].flatten().cpu().numpy())
        parts = [part**power for part in (distances(tx, tx, p), distances(ty, ty, p), cross)]
        for b in bandwidths:
            xx, yy, xy = (torch.exp(part * -(b**-power)) for part in parts)
            if n == m:
                h = (xx + yy - xy - xy.T).fill_diagonal_(0.0)
                found.append((labels * (h @ labels)).sum(dim=0))
            else:
                k = torch.cat([torch.cat([xx, xy], dim=1), torch.cat([xy.T, yy], dim=1)]).fill_diagonal_(0.0)
                found.append(mmd(k, labels))
    return aggregated_pvalue(torch.stack(found).cpu().numpy())


TESTS: dict[str, Test] = {"mmdagg": mmdagg, "mmd_fuse": mmd_fuse, "mmd_median": mmd_median, "energy": energy}


def main() -> None:
    from benchmarks.power import draws

    problems = {
        "normal": draws.shifted(50, 2, 0.3),
        "unbalanced": draws.shifted(60, 3, 0.3, m=40),
        "counts": draws.counts(60, 3, 1.3),
        "Cauchy": draws.student(50, 2, 1.0, 0.7),
    }
    for name, draw in problems.items():
        for test, on_gpu in TESTS.items():
            x, y = draw(np.random.default_rng(1))
            both = [t(x, y, np.random.default_rng(2)) for t in (peers.TESTS[test], on_gpu)]
            print(f"{name:12s} {test:10s} CPU {both[0]:.4f}, {device()} {both[1]:.4f}")
            if abs(both[0] - both[1]) > 0.003:
                raise SystemExit("they differ")


if __name__ == "__main__":
    main()
