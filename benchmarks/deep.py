"""Measures the training of deep kernels and writes benchmarks/results/deep.json: ``python -m benchmarks.deep``.

CPU seconds on one thread for 1,000 epochs on Liu's Blobs, whole batch, as the code published with the paper trains them
(four layers of 50, Adam; there the plain Gaussian has no share), and with its share learned, the default here. Next to
it stands the same objective left to autograd, measured between the repetitions of ours: a ratio that does not depend
on what else the machine does. Then what training several side by side buys: seconds a training, at once over one at a
time. Each figure is the least of several repetitions, because other work on a machine can only add. ``--device cuda``
measures wall time on a GPU instead and writes deep_cuda.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks.machine import machine
from tellapart.datasets import liu_blobs
from tellapart.deep import DeepKernel, OptimisedGaussian, Training
from tellapart.samples import Samples, as_samples
from tellapart.witness.modules import perceptron

RESULTS = Path(__file__).parent / "results"
SEED = 0
EPOCHS = 1000
AUTHORS = {10: 4.1, 20: 5.4, 30: 10.8, 50: 25.8}  # CPU seconds for 1,000 epochs, by rows of each mode
SIDE_BY_SIDE = (4, 10, 25, 100)


def seconds(call: Callable[[], object], clock: Callable[[], float], repetitions: int) -> float:
    found = []
    for _ in range(repetitions):
        start = clock()
        call()
        found.append(clock() - start)
    return min(found)


def trains(rows_per_mode: int, count: int) -> list[Samples]:
    return [as_samples(*liu_blobs(rows_per_mode, rng=[SEED, i])) for i in range(count)]


def learner(device: str, epochs: int, share: float | None) -> DeepKernel:
    training = Training(epochs=epochs, device=device)
    return DeepKernel(plain_share=share, standardise=False, training=training)


def by_autograd(train: Samples, epochs: int, device: str) -> None:
    """The objective of Liu et al. with nothing done by hand: three kernel matrices, autograd through all of them."""
    x, y = (torch.from_numpy(z).float().to(device) for z in (train.x, train.y))
    module = perceptron(train.x.shape[1]).to(device)
    widths = [torch.tensor(v, device=device, requires_grad=True) for v in (0.05, 0.3)]
    share = torch.tensor(-20.0, device=device, requires_grad=True)
    optimiser = torch.optim.Adam([*module.parameters(), *widths, share], lr=5e-4)

    def kernel(a: tuple[torch.Tensor, ...], b: tuple[torch.Tensor, ...]) -> torch.Tensor:
        by_features, by_rows = (
            torch.clamp((s * s).sum(1)[:, None] + (t * t).sum(1) - 2 * s @ t.T, min=0) / width**2
            for s, t, width in zip(a, b, widths, strict=True)
        )
        eps = torch.sigmoid(share)
        return (1 - eps) * torch.exp(-by_features - by_rows) + eps * torch.exp(-by_rows)

    n = len(x)
    for _ in range(epochs):
        phi = module(torch.cat([x, y]))
        p, q = (phi[:n], x), (phi[n:], y)
        h = kernel(p, p) + kernel(q, q) - (k_pq := kernel(p, q)) - k_pq.T
        variance = 4 * (h.mean(1).square().mean() - h.mean().square())
        loss = -(h.sum() - h.diagonal().sum()) / (n * (n - 1)) / (variance + 1e-8).sqrt()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def one_training(rows_per_mode: int, device: str, clock: Callable[[], float], repetitions: int) -> dict:
    """1,000 epochs, everything included: start, looks, and what is kept."""
    (train,) = trains(rows_per_mode, 1)
    rng = np.random.default_rng(SEED)
    found = {"rows_per_mode": rows_per_mode, "n": train.n, "authors": AUTHORS[rows_per_mode]}
    ways = {
        "by autograd": lambda: by_autograd(train, EPOCHS, device),
        "no plain share": lambda: learner(device, EPOCHS, 0.0).learn_kernel(train, rng),
        "plain share learned": lambda: learner(device, EPOCHS, None).learn_kernel(train, rng),
    }
    times = [{name: seconds(way, clock, 1) for name, way in ways.items()} for _ in range(repetitions)]
    found |= {name: min(time[name] for time in times) for name in ways}
    for name in list(ways)[1:]:
        found[f"authors over {name}"] = found["authors"] / found[name]
        found[f"autograd over {name}"] = found["by autograd"] / found[name]
    gaussian = OptimisedGaussian(training=Training(epochs=EPOCHS, learning_rate=0.02, device=device))
    found["optimised Gaussian"] = seconds(lambda: gaussian.learn_kernel(train, rng), clock, 1)
    return found


def side_by_side(rows_per_mode: int, device: str, clock: Callable[[], float], epochs: int) -> dict:
    """Seconds a training and 1,000 epochs, for several numbers of trainings at once."""
    deep, scale = learner(device, epochs, 0.0), EPOCHS / epochs
    found: dict = {"rows_per_mode": rows_per_mode, "n": 9 * rows_per_mode, "epochs": epochs}
    for count in (1, *SIDE_BY_SIDE):
        given, rng = trains(rows_per_mode, count), np.random.default_rng(SEED)
        found[str(count)] = scale * seconds(lambda g=given, r=rng: deep.learn_kernels(g, r), clock, 2) / count
    found["speed-up"] = {str(count): found["1"] / found[str(count)] for count in SIDE_BY_SIDE}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repetitions", type=int, default=3)
    device, repetitions = (args := parser.parse_args()).device, args.repetitions
    if "OPENBLAS_CORETYPE" in os.environ:
        sys.exit("OPENBLAS_CORETYPE is set, which can halve the speed of matrix products: unset it.")
    torch.set_num_threads(1)
    clock = time.process_time if device == "cpu" else time.perf_counter
    learner(device, 5, None).learn_kernels(trains(2, 2), np.random.default_rng(SEED))  # to warm up
    alone = [one_training(rows, device, clock, repetitions) for rows in AUTHORS]
    together = [side_by_side(rows, device, clock, epochs=200) for rows in (10, 20)]
    written = {
        "command": " ".join(["python -m benchmarks.deep", *sys.argv[1:]]),
        "unit": f"{'CPU' if device == 'cpu' else 'wall'} seconds for {EPOCHS} epochs, least of several repetitions",
        "seed": SEED,
        "authors": "code published with the paper, CPU seconds on one thread of the same type of machine",
        "machine": machine() | {"torch": torch.__version__, "device": name_of(device), "torch_threads": 1},
        "load average over 15 minutes, at the end": os.getloadavg()[2],
        "one training": alone,
        "seconds a training, so many side by side": together,
    }
    RESULTS.mkdir(exist_ok=True)
    name = "deep.json" if device == "cpu" else f"deep_{torch.device(device).type}.json"
    (RESULTS / name).write_text(json.dumps(written, indent=1) + "\n")
    for row in alone + together:
        print({key: round(value, 2) if isinstance(value, float) else value for key, value in row.items()})


def name_of(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


if __name__ == "__main__":
    main()
