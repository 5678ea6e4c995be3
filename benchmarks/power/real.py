"""Pairs drawn from real samples, read from a folder that the user names.

The folder is `TELLAPART_DATA` in the environment, or `../shared/data` beside the repository. Nothing in it is part of
the project. Rows of a pair are drawn without replacement, except where a published experiment drew with it. Columns of
different units are standardised over the whole file, labels unseen, because some of the peers do not scale.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.power.draws import Draw, Pair
from tellapart import datasets

HIGGS, MNIST = "higgs_uci_27k.npz", "mnist_7x7_70k.npz"
FASHION, WINE, ADULT = "fashion_mnist_test10k_train10k.npz", "wine_quality_6497.npz", "adult_uci_32561.parquet"


def folder() -> Path:
    beside = Path(__file__).parents[3] / "shared" / "data"
    return Path(os.environ.get("TELLAPART_DATA", beside))


def some(rows: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return rows[rng.choice(len(rows), n, replace=False)]


def standardised(table: np.ndarray) -> np.ndarray:
    return (table - table.mean(axis=0)) / table.std(axis=0)


@cache
def higgs() -> tuple[np.ndarray, np.ndarray]:
    """Background and signal. Rows that some source has rounded are left out: the rounding differs by class."""
    background, signal = datasets.higgs(folder() / HIGGS, columns="all")
    return background.astype(float), signal.astype(float)


def phis(table: np.ndarray) -> np.ndarray:
    """The four jet phis; the file has them in units of about 1.8 radians."""
    return table[:, [7, 11, 15, 19]]


def differences(table: np.ndarray) -> np.ndarray:
    """The six differences of the jet phis, as angles in (-pi, pi]."""
    phi = phis(table) * np.pi / 1.7434  # the largest value in the file stands for pi
    first, second = np.triu_indices(4, k=1)
    return np.angle(np.exp(1j * (phi[:, first] - phi[:, second])))


VIEWS = {
    "4 phis": phis,
    "6 phi differences": differences,
    "21 low-level": lambda t: t[:, :21],
    "28 columns": lambda t: t,
}


def higgs_pair(n: int, view: str, signal_share: float = 1.0) -> Draw:
    """Background against signal, or against background with a share of signal in it."""

    def draw(rng: np.random.Generator) -> Pair:
        background, signal = map(VIEWS[view], higgs())
        signals = n if signal_share == 1.0 else int(rng.binomial(n, signal_share))
        rest = some(background, 2 * n - signals, rng)
        return rest[:n], np.concatenate([rest[n:], some(signal, signals, rng)])

    return draw


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    with np.load(folder() / MNIST) as file:
        return file["X"] / 255.0, file["y"]


def digits_pair(n: int, kept: str) -> Draw:
    """All digits against some, with replacement, as in Schrab et al., MMDAgg (their Q4 and Q5)."""

    def draw(rng: np.random.Generator) -> Pair:
        images, labels = digits()
        few = np.flatnonzero(np.isin(labels, [int(digit) for digit in kept]))
        return images[rng.integers(len(images), size=n)], images[rng.choice(few, n)]

    return draw


@cache
def fashion() -> tuple[np.ndarray, np.ndarray]:
    """Pullovers and coats."""
    with np.load(folder() / FASHION) as file:
        images = np.concatenate([file["X_test"], file["X_train10k"]])
        labels = np.concatenate([file["y_test"], file["y_train10k"]])
    return images[labels == 2] / 255.0, images[labels == 4] / 255.0


def fashion_pair(n: int) -> Draw:
    return lambda rng: (some(fashion()[0], n, rng), some(fashion()[1], n, rng))


@cache
def white_wine() -> tuple[np.ndarray, np.ndarray]:
    with np.load(folder() / WINE) as file:
        white = ~file["is_red"]
        return standardised(file["X"][white].astype(float)), file["quality"][white]


def wine_pair(n: int, one: int, other: int) -> Draw:
    """White wines of two qualities, 11 columns."""

    def draw(rng: np.random.Generator) -> Pair:
        table, quality = white_wine()
        return some(table[quality == one], n, rng), some(table[quality == other], n, rng)

    return draw


@cache
def adults() -> tuple[np.ndarray, np.ndarray]:
    """Age and years of education of men and of women."""
    import pandas as pd

    table = pd.read_parquet(folder() / ADULT, columns=["age", "education_num", "sex"])
    men = (table["sex"] == "Male").to_numpy()
    z = standardised(table[["age", "education_num"]].to_numpy(dtype=float))
    return z[men], z[~men]


def adult_pair(n: int) -> Draw:
    return lambda rng: (some(adults()[0], n, rng), some(adults()[1], n, rng))
