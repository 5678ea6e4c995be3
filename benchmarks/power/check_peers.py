"""Compares our fast replicas with the packages themselves: ``python -m benchmarks.power.check_peers``.

To be run where `requirements-peers.txt` is installed, with PYTHONPATH=src; what cannot be imported is reported with its
reason, and so are requirements of a package that are not met there. A replica
agrees with its package if the statistics of the same draws are equal up to the package's precision, where the package
reports the same statistic, and if p-values from many permutations differ by no more than four standard errors. MMDAgg
and MMD-FUSE have no package in the registry: they are compared with slow, literal forms of their algorithms. Writes
benchmarks/results/peers_checked.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

from benchmarks.machine import machine
from benchmarks.power import peers
from benchmarks.power.draws import correlated, counts, shifted, student

DRAWS = 1000
PAIRS = {
    "normal, n = 60 and 40": shifted(60, 3, 0.3, m=40),
    "normal, n = 50 and 50": shifted(50, 2, 0.3),
    "correlated, n = 80 and 80": correlated(80, 4, 0.4),
    "counts, n = 60 and 60": counts(60, 3, 1.3),
    "Cauchy, n = 50 and 50": student(50, 2, 1.0, 0.7),
}


def alibi_detect(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    """Statistic and p-value of MMDDrift with PyTorch."""
    import torch
    from alibi_detect.cd import MMDDrift

    torch.manual_seed(seed)
    found = MMDDrift(x, backend="pytorch", n_permutations=DRAWS, device="cpu").predict(y)["data"]
    return float(found["distance"]), (1 + DRAWS * float(found["p_val"])) / (1 + DRAWS)


def dcor(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    from dcor.homogeneity import energy_test

    found = energy_test(x, y, num_resamples=DRAWS, random_state=seed)
    return float(found.statistic), float(found.pvalue)


def hyppo(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[None, float]:
    """Its statistic is the distance correlation with the labels, which orders relabellings as the energy does."""
    from hyppo.ksample import Energy

    return None, float(Energy(bias=True).test(x, y, reps=DRAWS, auto=False, random_state=seed).pvalue)


def scipy_ks(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    found = [ks_2samp(*columns, method="asymp") for columns in zip(x.T, y.T, strict=True)]
    return max(float(f.statistic) for f in found), min(1.0, len(found) * min(float(f.pvalue) for f in found))


def our_mmd(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    z = np.concatenate([x, y])
    k = np.exp(-cdist(z, z, "sqeuclidean") / peers.reference_bandwidth(x))
    np.fill_diagonal(k, 0.0)
    values = peers.mmd(k, peers.relabellings(len(x), len(y), DRAWS, np.random.default_rng(seed)))
    return float(values[0]), peers.permutation_pvalue(values)


def our_energy(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    a = peers.relabellings(len(x), len(y), DRAWS, np.random.default_rng(seed))
    values = peers.energy_statistics(x, y, a)
    return float(values[0]), peers.permutation_pvalue(values)


def our_ks(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    return float(peers.ks_statistics(x, y).max()), peers.ks_bonferroni(x, y, np.random.default_rng(seed))


Side = Callable[[np.ndarray, np.ndarray, int], tuple[float | None, float]]
# package, what of it, theirs, ours, relative precision of its statistic (alibi-detect keeps a bandwidth in float32)
CHECKS: tuple[tuple[str, str, Side, Side, float], ...] = (
    ("alibi-detect", "MMDDrift, against mmd_median", alibi_detect, our_mmd, 1e-5),
    ("dcor", "energy_test, against energy", dcor, our_energy, 1e-10),
    ("hyppo", "Energy, against energy", hyppo, our_energy, 0.0),
    ("scipy", "ks_2samp of every column, against ks_bonferroni", scipy_ks, our_ks, 1e-10),
)


def compared(theirs: Side, ours: Side, precision: float) -> list[dict]:
    """Every pair of samples by both."""
    rows = []
    for seed, (name, draw) in enumerate(PAIRS.items()):
        x, y = draw(np.random.default_rng(seed))
        (statistic, p), (our_statistic, our_p) = theirs(x, y, seed), ours(x, y, seed)
        error = float(np.sqrt(2 * our_p * (1 - our_p) / DRAWS) + 1 / DRAWS)
        row = {"draw": name, "pvalue": p, "ours": our_p, "standard_error": error}
        agree = abs(p - our_p) <= 4 * error
        if statistic is not None and our_statistic is not None:
            difference = abs(statistic - our_statistic) / abs(our_statistic)
            row |= {"statistic": statistic, "our_statistic": our_statistic, "relative_difference": difference}
            agree = agree and difference <= precision
        rows.append(row | {"agree": bool(agree)})
    return rows


def unmet(package: str) -> list[str]:
    """What the package asks for and this environment has otherwise."""
    from packaging.requirements import Requirement

    found = []
    for text in requires(package) or []:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        try:
            have = version(wanted.name)
        except PackageNotFoundError:
            have = "none"
        if have == "none" or have not in wanted.specifier:
            found.append(f"{wanted.name} {wanted.specifier}, here {have}")
    return found


def check(package: str, what: str, theirs: Side, ours: Side, precision: float) -> dict:
    found = {"package": package, "what": what}
    try:
        importlib.import_module(package.replace("-", "_"))
        found |= {"version": version(package), "requirements_not_met": unmet(package)}
        rows = compared(theirs, ours, precision)
    except Exception as reason:  # an import may fail in any way
        return found | {"agree": None, "reason": f"{type(reason).__name__}: {reason}".splitlines()[0]}
    return found | {"agree": all(r["agree"] for r in rows), "draws": rows}


def bisected(values: np.ndarray, level: float) -> bool:
    """MMDAgg's decision by its published bisection."""
    b1, kernels = peers.SIMULATED, len(values)
    first, second = values[:, : b1 + 1], values[:, b1 + 1 :]
    ordered = np.sort(first, axis=1)
    low, high = 0.0, float(kernels)
    for _ in range(50):
        u = (low + high) / 2
        quantiles = ordered[:, int(np.ceil((b1 + 1) * (1 - u / kernels))) - 1]
        if np.mean(np.any(second > quantiles[:, None], axis=0)) <= level:
            low = u
        else:
            high = u
    pvalues = np.mean(first >= first[:, :1], axis=1)
    return bool(np.any(pvalues <= low / kernels))


def check_mmdagg() -> dict:
    """Decisions by bisection and by our p-value, on the same simulated statistics."""
    different, rejected, rng = 0, 0, np.random.default_rng(0)
    for trial in range(200):
        x, y = shifted(30, 2, (trial % 4) * 0.2, m=30 - 5 * (trial % 2))(rng)
        values = peers.agg_statistics(x, y, rng)
        decisions = [(bisected(values, level), peers.aggregated_pvalue(values) <= level) for level in (0.01, 0.05, 0.1)]
        different += sum(a != b for a, b in decisions)
        rejected += sum(a for a, _ in decisions)
    return {"what": "MMDAgg, its bisection against our p-value", "decisions": 600, "rejected": rejected,
            "different": different, "agree": different == 0}  # fmt: skip


def slow_fuse(x: np.ndarray, y: np.ndarray) -> float:
    """MMD-FUSE by loops over pairs of rows."""
    n, m, z = len(x), len(y), np.concatenate([x, y])
    exponents = []
    for metric in ("cityblock", "euclidean"):
        d = cdist(z, z, metric)
        values = d[np.triu_indices(len(z))]
        values = np.sort(np.where(values == 0, np.median(values), values))
        low, high = values[int(0.05 * len(values))] / 2, values[int(0.95 * len(values))] * 2
        for b in np.linspace(low, high, 10):
            k = np.exp(-np.sqrt(2) * d / b) if metric == "cityblock" else np.exp(-(d**2) / (2 * b**2))
            xx = sum(k[i, j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
            yy = sum(k[n + i, n + j] for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
            off = k - np.diag(np.diag(k))
            s = min(n, m) * (min(n, m) - 1)
            exponents.append((xx + yy - 2 * k[:n, n:].mean()) * s * np.sqrt(s / np.sum(off**2)))
    top = max(exponents)
    return float(top + np.log(np.mean(np.exp(np.array(exponents) - top))))


def check_fuse() -> dict:
    differences = []
    for seed, draw in enumerate(PAIRS.values()):
        x, y = draw(np.random.default_rng(seed))
        observed = np.repeat([[1.0], [0.0]], [len(x), len(y)], axis=0)
        slow = slow_fuse(x, y)
        differences.append(abs(float(peers.fuse_statistics(x, y, observed)[0]) - slow) / abs(slow))
    return {"what": "MMD-FUSE, its statistic by loops against ours", "largest_relative_difference": max(differences),
            "agree": max(differences) < 1e-9}  # fmt: skip


def check_single() -> dict:
    """What single precision moves a statistic by, as a share of its spread over relabellings."""
    moved, usual = [], peers.MANY_ROWS
    for seed, draw in enumerate((shifted(usual, 2, 0.1), student(usual, 2, 1.0, 0.1))):
        x, y = draw(np.random.default_rng(seed))
        marks = peers.relabellings(len(x), len(y), 199, np.random.default_rng(seed))
        squared = cdist(z := np.concatenate([x, y]), z, "sqeuclidean") / peers.reference_bandwidth(x)
        for scale in (0.1, 1.0, 10.0):
            k = np.exp(-scale * squared)
            np.fill_diagonal(k, 0.0)
            single = peers.mmd(k, marks)
            peers.MANY_ROWS = len(z) + 1
            double = peers.mmd(k, marks)
            peers.MANY_ROWS = usual
            moved.append(float(np.abs(single - double).max() / double.std()))
    return {"what": "MMD in single precision on 2,000 rows, against double", "largest_share_of_spread": max(moved),
            "agree": max(moved) < 1e-3}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    checks = [check(*c) for c in CHECKS] + [check_mmdagg(), check_fuse(), check_single()]
    written = {
        "command": "python -m benchmarks.power.check_peers",
        "permutations": DRAWS,
        "machine": machine(),
        "checks": checks,
    }
    (options.out / "peers_checked.json").write_text(json.dumps(written, indent=1) + "\n")
    for c in checks:
        word = {True: "agrees", False: "DIFFERS", None: f"not compared: {c.get('reason')}"}[c["agree"]]
        print(f"{c.get('package', 'ours')} {c.get('version', '')} {c['what']}: {word}")


if __name__ == "__main__":
    main()
