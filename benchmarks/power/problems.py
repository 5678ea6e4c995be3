"""Two-sample problems with an adjustable difficulty, for choosing between statistics and for comparing tests.

Each problem draws a pair of samples from a Generator. Those marked `aside` are not looked at while anything is chosen.
`published` holds the two highest powers published for the same problem by methods that saw as many rows; where a
problem was run twice (200 trials each) it is the mean of both. Real samples are read from a folder that may be absent:
`usable` leaves their problems out and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from benchmarks.power import draws, real
from benchmarks.power.draws import Draw
from tellapart.datasets import blobs, liu_blobs


@dataclass(frozen=True)
class Problem:
    """A name, how to draw a pair, and whether it is kept aside while choosing."""

    name: str
    draw: Draw
    aside: bool = False
    null: bool = False
    group: str = "smooth"
    published: dict[str, float] = field(default_factory=dict)
    needs: str | None = None  # file with the rows


def rotated(n: int) -> Draw:
    """The Blobs of the paper."""
    return lambda rng: blobs(n, theta=np.pi / 4, rng=rng)


def liu(per_mode: int, variant: str = "published", null: bool = False) -> Draw:
    """The Blobs of Liu et al.; published figures count rows that learn and rows that judge together."""
    return lambda rng: liu_blobs(per_mode, variant=variant, null=null, rng=rng)


FIRST = (
    Problem("null, d = 2", draws.shifted(60, 2, 0.0), null=True, group="null"),
    Problem("blobs, n = 60", rotated(60), group="local"),
    Problem("Liu blobs, n = 90", liu(10), group="local"),
    Problem("mean + 0.12, d = 5, n = 200", draws.shifted(200, 5, 0.12)),
    Problem("mean + 0.35, d = 1, n = 60", draws.shifted(60, 1, 0.35)),
    Problem("1 of 50 columns + 0.7, n = 100", draws.shifted(100, 50, 0.7, columns=1), group="sparse"),
    Problem("scale x 1.12, d = 5, n = 200", draws.scaled(200, 5, 1.12)),
    Problem("correlation 0.25, d = 5, n = 100", draws.correlated(100, 5, 0.25)),
    Problem("1 of 190 correlations 0.6, d = 20, n = 100", draws.one_correlated(100, 20, 0.6), group="sparse"),
    Problem("t with 3 degrees, d = 2, n = 200", draws.tails(200, 2, 3.0)),
    Problem("perturbed uniform 0.4, d = 1, n = 250", draws.perturbed_uniform(250, 1, 0.4), group="local"),
    Problem("four Gaussians, sd 1.6, n = 250", draws.four_gaussians(250, 1.6), group="local"),
    Problem("mean + 0.7, d = 2, n = 20", draws.shifted(20, 2, 0.7), aside=True),
    Problem("perturbed uniform 0.8, d = 2, n = 250", draws.perturbed_uniform(250, 2, 0.8), aside=True, group="local"),
    Problem("correlation 0.025, d = 500, n = 100", draws.correlated(100, 500, 0.025), aside=True),
    Problem("counts 1.15, d = 5, n = 150", draws.counts(150, 5, 1.15), aside=True, group="discrete"),
    Problem("two clusters 0.6, d = 10, n = 250", draws.two_clusters(250, 10, 0.6), aside=True, group="local"),
    Problem("scale x 1.5, d = 1, n = 60", draws.scaled(60, 1, 1.5), aside=True),
)


def mixture(sd: float, n: int, best: dict[str, float], aside: bool = False) -> Problem:
    """Biggs et al., MMD-FUSE: results/mixture_vary_dif.npy, mixture_vary_n.npy."""
    name = f"mixture, sd {sd}, n = {n}"
    return Problem(name, draws.four_gaussians(n, sd, 20.0), aside, group="published", published=best)


def waves(d: int, amplitude: float, best: dict[str, float], aside: bool = False) -> Problem:
    """Biggs et al., MMD-FUSE: results/perturbations_vary_dif_d1.npy, ..._d2.npy, ..._vary_n_...npy."""
    name = f"perturbed uniform {amplitude}, d = {d}, n = 500"
    return Problem(name, draws.perturbed_uniform(500, d, amplitude), aside, group="published", published=best)


def smooth_waves(d: int, p: int, n: int, best: dict[str, float], aside: bool = False) -> Problem:
    """Schrab et al., MMDAgg: results/exp1_*.npy; MMMD: MultiPower-GEXP.csv, MultiPower-MIXED.csv."""
    name = f"perturbed uniform, {p} waves, d = {d}, n = {n}"
    return Problem(name, draws.smooth_perturbed_uniform(n, d, p), aside, group="published", published=best)


AUTOTST, GLUON = "AutoTST", "AutoGluon class prob"

PUBLISHED = (
    mixture(0.6, 500, {"MMD-FUSE": 0.945, "MMDAgg": 0.915}),
    mixture(0.7, 500, {"MMD-FUSE": 0.51, "MMDAgg": 0.46}),
    mixture(1.4, 500, {"SCF": 0.33, "MMDAgg": 0.25}, aside=True),
    mixture(1.6, 500, {"MMDAgg": 0.675, "MMD-FUSE": 0.635}),
    mixture(1.3, 1000, {"SCF": 0.42, "MMDAgg": 0.385}),
    mixture(1.3, 2000, {"SCF": 0.81, "MMDAgg": 0.785}, aside=True),
    waves(1, 0.2, {"MMDAgg": 0.225, "MMD-FUSE": 0.1975}),
    waves(1, 0.3, {"MMDAgg": 0.605, "MMDAggInc": 0.525}, aside=True),
    waves(1, 0.4, {"MMDAgg": 0.88, "MMD-FUSE": 0.825}),
    waves(2, 0.4, {"MMD-FUSE": 0.1675, "MMDAgg": 0.15}),
    waves(2, 0.6, {"MMD-FUSE": 0.485, "MMDAgg": 0.395}, aside=True),
    waves(2, 0.8, {"MMD-FUSE": 0.885, "MMDAgg": 0.83}),
    smooth_waves(1, 2, 500, {"MMMD Gauss": 0.992, "MMDAgg": 0.99}),
    smooth_waves(1, 3, 500, {"MMMD Gauss": 0.694, "MMMD mixed": 0.61}),
    smooth_waves(1, 4, 500, {"MMMD Gauss": 0.276, "MMDAgg": 0.228}, aside=True),
    smooth_waves(2, 2, 2000, {"MMDAgg": 0.982, "AutoTST": 0.312}),
    smooth_waves(2, 3, 2000, {"MMDAgg": 0.266, "AutoTST": 0.074}, aside=True),
    # the code published with the paper, kernel and ridge selected, 100 trials
    Problem("blobs, n = 100", rotated(100), group="published", published={"KFDA witness": 0.45}),
    Problem("Liu blobs, n = 180", liu(20), group="published", published={AUTOTST: 0.556, GLUON: 0.532}),
    Problem("Liu blobs, n = 360", liu(40), True, group="published", published={AUTOTST: 0.982, GLUON: 0.968}),
    Problem("Liu blobs, nominal, n = 90", liu(10, "nominal"), group="local"),
    Problem("Liu blobs, nominal, n = 180", liu(20, "nominal"), True, group="local"),
    # Santoro et al., kernel likelihood ratio: paper/out/sims/EquiCorrelationGaussian.csv
    Problem(
        "correlation 0.5 + 0.025, d = 500, n = 100",
        draws.correlated(100, 500, 0.025, base=0.5),
        group="published",
        published={"KLR-0": 0.945, "log-determinant": 0.935},
    ),
    Problem("two clusters 0.5, d = 10, n = 1000", draws.two_clusters(1000, 10, 0.5), group="local"),
)


def measured(name: str, draw: Draw, file: str, aside: bool = False, best: dict[str, float] | None = None) -> Problem:
    group = "published" if best else "real"
    return Problem(name, draw, aside, group=group, published=best or {}, needs=file)


REAL = (
    # Kuebler et al., AutoTST: results/higgs/automl, n rows that learn and judge together, of 11 million
    measured(
        "HIGGS, 4 phis, n = 2000",
        real.higgs_pair(2000, "4 phis"),
        real.HIGGS,
        best={"AutoTST 60 s": 0.196, "AutoTST 300 s": 0.172},
    ),
    measured(
        "HIGGS, 4 phis, n = 4000",
        real.higgs_pair(4000, "4 phis"),
        real.HIGGS,
        aside=True,
        best={"AutoTST 60 s": 0.482, "AutoTST 300 s": 0.456},
    ),
    measured("HIGGS, 6 phi differences, n = 500", real.higgs_pair(500, "6 phi differences"), real.HIGGS),
    measured("HIGGS, 21 low-level columns, n = 200", real.higgs_pair(200, "21 low-level"), real.HIGGS, aside=True),
    measured("HIGGS, 28 columns, n = 100", real.higgs_pair(100, "28 columns"), real.HIGGS),
    measured("HIGGS, 28 columns, 30 % signal, n = 1000", real.higgs_pair(1000, "28 columns", 0.3), real.HIGGS),
    # Schrab et al., MMDAgg: results/exp2_*.npy, autotst_exp2_0.npy
    measured(
        "digits, no 6 and no 8, n = 500",
        real.digits_pair(500, "01234579"),
        real.MNIST,
        best={AUTOTST: 0.934, "MMDAgg": 0.902},
    ),
    measured(
        "digits, no 8, n = 500",
        real.digits_pair(500, "012345679"),
        real.MNIST,
        aside=True,
        best={AUTOTST: 0.312, "MMDAgg": 0.252},
    ),
    measured("digits, only odd, n = 50", real.digits_pair(50, "13579"), real.MNIST),
    measured("wine, quality 5 and 6, n = 50", real.wine_pair(50, 5, 6), real.WINE),
    measured("wine, quality 6 and 7, n = 50", real.wine_pair(50, 6, 7), real.WINE, aside=True),
    measured("adults, men and women, n = 100", real.adult_pair(100), real.ADULT),
    measured("adults, men and women, n = 300", real.adult_pair(300), real.ADULT, aside=True),
    measured("pullovers and coats, n = 20", real.fashion_pair(20), real.FASHION),
)

MORE = (
    Problem("mean + 0.06, d = 50, n = 200", draws.shifted(200, 50, 0.06)),
    Problem("scale x 1.04, d = 50, n = 200", draws.scaled(200, 50, 1.04), aside=True),
    Problem("correlation 0.08, d = 50, n = 200", draws.correlated(200, 50, 0.08)),
    Problem("t with 3 degrees, d = 1, n = 200", draws.tails(200, 1, 3.0), aside=True),
    Problem("t with 6 degrees, d = 50, n = 100", draws.tails(100, 50, 6.0)),
    Problem("scale x 2.2, d = 1, n = 20", draws.scaled(20, 1, 2.2)),
    Problem("Cauchy + 0.5, d = 2, n = 100", draws.student(100, 2, 1.0, 0.5), group="heavy"),
    Problem("t with 2 degrees + 0.3, d = 5, n = 100", draws.student(100, 5, 2.0, 0.3), aside=True, group="heavy"),
    Problem("binary columns 0.35, d = 10, n = 100", draws.binary(100, 10, 0.35), group="discrete"),
    Problem("five levels x 1.25, d = 3, n = 200", draws.ordinal(200, 3, 1.25), group="discrete"),
    Problem("1 of 50 columns x 2.2, n = 100", draws.scaled(100, 50, 2.2, columns=1), aside=True, group="sparse"),
    Problem("mean + 0.3, d = 5, n = 500 and 50", draws.shifted(500, 5, 0.3, m=50), group="unbalanced"),
    Problem("blobs, n = 500 and 50", draws.cut(rotated(500), 50), group="unbalanced", aside=True),
    Problem("null, counts, d = 3, n = 50", draws.counts(50, 3, 1.0), null=True, group="null"),
    Problem("null, Cauchy, d = 5, n = 50", draws.student(50, 5, 1.0, 0.0), null=True, group="null"),
    Problem("null, Liu blobs, n = 306 and 30", draws.cut(liu(34, null=True), 30), null=True, group="null"),
)

PROBLEMS = FIRST + PUBLISHED + REAL + MORE


def usable(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Those whose rows are here; says which are not."""
    kept = []
    for p in problems:
        if p.needs is None or (real.folder() / p.needs).exists():
            kept.append(p)
        else:
            print(f"left out: {p.name} (no {p.needs} in {real.folder()}; name the folder with --data)", flush=True)
    return tuple(kept)
