"""A convolutional witness on images: ``python examples/images.py``.

Pullovers against coats of Fashion-MNIST, if the environment variable TELLAPART_DATA names the folder that holds
fashion_mnist_test10k_train10k.npz; otherwise small made-up images, in which a short bar leans one way or the other.
Needs torch: ``pip install 'tellapart[torch]'``.
"""

import os
from pathlib import Path

import numpy as np
from torch import nn

from tellapart import witness_test
from tellapart.deep import Network, Training

FILE = "fashion_mnist_test10k_train10k.npz"
PULLOVER, COAT = 2, 4


def fashion(path: Path, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as stored:
        images = np.concatenate([stored["X_train10k"], stored["X_test"]])
        labels = np.concatenate([stored["y_train10k"], stored["y_test"]])
    return tuple(rng.permutation(images[labels == kind])[:rows] / 255 for kind in (PULLOVER, COAT))


def leaning_bars(rows: int, rng: np.random.Generator, side: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """A bar of five bright pixels somewhere in noise, falling in the first sample and rising in the second."""
    images = rng.normal(0, 0.5, size=(2 * rows, side, side))
    steps = np.arange(5)
    for i, (row, column) in enumerate(rng.integers(side - 5, size=(2 * rows, 2))):
        images[i, row + (steps if i < rows else steps[::-1]), column + steps] += 2
    flat = images.reshape(2 * rows, -1)
    return flat[:rows], flat[rows:]


def convolutions() -> nn.Sequential:
    first = [nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(2)]
    return nn.Sequential(*first, *second, nn.Flatten())


def main() -> None:
    rng = np.random.default_rng(0)
    path = Path(os.environ.get("TELLAPART_DATA", ""), FILE)
    if path.is_file():
        what, (x, y) = "100 pullovers against 100 coats", fashion(path, 100, rng)
    else:
        what, (x, y) = "200 falling against 200 rising bars (no Fashion-MNIST found)", leaning_bars(200, rng)
    side = round(x.shape[1] ** 0.5)
    network = Network(
        convolutions(), shape=(1, side, side), training=Training(epochs=150, learning_rate=3e-3, batch=64)
    )
    print(f"{what}, {side} x {side} pixels\n")
    print(witness_test(x, y, learner=network, rng=0))


if __name__ == "__main__":
    main()
