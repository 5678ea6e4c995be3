"""Training of a network witness on batches, stopped by the rows held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tellapart._progress import progress
from tellapart.moments import column_snr
from tellapart.samples import Samples
from tellapart.witness.modules import (
    NetworkFeatures,
    Scaling,
    autocast,
    features_of,
    made_module,
    rectifier,
    refuse_unfit,
    seeded,
    type_of,
)
from tellapart.witness.training import Ending, History, Step, Training, as_device, interrupts

FEWEST_FOR_SNR = 256  # rows of each sample in a batch: the noise is estimated from them
_FLOOR = 1e-4  # of the variance that is divided by
_SHOWN = 4096  # rows that are evaluated at once while looking


def weighted_squared_error(h_p: Tensor, h_q: Tensor, c: float) -> Tensor:
    """``(1 - c) mean_P (h - 1)^2 + c mean_Q h^2``: see :mod:`tellapart.witness.network`."""
    return (1 - c) * (h_p - 1).square().mean() + c * h_q.square().mean()


def minus_snr(h_p: Tensor, h_q: Tensor, c: float) -> Tensor:
    """Minus the signal-to-noise ratio, its variance raised by a floor."""
    noise = h_p.var(correction=0) / c + h_q.var(correction=0) / (1 - c)
    return -(h_p.mean() - h_q.mean()) / (noise + _FLOOR).sqrt()


LOSSES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "squared error": weighted_squared_error,
    "snr": minus_snr,
}


@dataclass(frozen=True)
class Plan:
    """What is trained, and how."""

    module: Any
    shape: tuple[int, ...] | None
    objective: str
    training: Training
    patience: int


class NetworkTraining:
    """Adam on the loss of a module with a linear layer on top, keeping the state that is best on the rows held out."""

    def __init__(self, learn: Samples, held_out: Samples, plan: Plan, restart: int, seed: int) -> None:
        self.settings, self.patience, self.seed = plan.training, plan.patience, seed
        self.device, self.dtype = as_device(plan.training.device), type_of(plan.training.precision)
        self.scaling = Scaling.of(learn.pooled, standardise=True, shape=plan.shape)
        self.rows = self._moved(learn.x), self._moved(learn.y)
        self.held_out = self._moved(held_out.pooled)
        self.held_out_n = held_out.n
        self.c = learn.n / (learn.n + learn.m)
        self.loss = LOSSES[plan.objective]
        self.least = FEWEST_FOR_SNR if plan.objective == "snr" else 2
        with seeded(seed, self.device):
            self.module, self.head = self._made(plan, restart)
        parameters = [p for p in [*self.module.parameters(), *self.head.parameters()] if p.requires_grad]
        self.optimiser = torch.optim.Adam(parameters, lr=self.settings.learning_rate, fused=True)
        self.tensors = [*self.module.state_dict().values(), *self.head.state_dict().values()]
        self.best = [t.clone() for t in self.tensors]
        self.steps: list[Step] = []
        self.kept, self.best_snr = 0, -math.inf
        self.running = self._first_loss()

    def run(self) -> History:
        """Train until the end, or patience is over, or Ctrl-C."""
        ended: Ending = "finished"
        try:
            with seeded(self.seed, self.device):
                ended = self._trained()
        except KeyboardInterrupt:
            ended = "interrupted"
            interrupts.keep_best("a network")
        with torch.no_grad():
            for t, best in zip(self.tensors, self.best, strict=True):
                t.copy_(best)
        return History(tuple(self.steps), ended, self.kept)

    def features(self) -> NetworkFeatures:
        """The trained module as a function of tables."""
        return NetworkFeatures.of(self.module, self.scaling)

    def direction(self) -> NDArray[np.float64]:
        """The trained layer on top: (q,)."""
        return np.asarray(self.head.weight.detach()[0].double().cpu())

    def _made(self, plan: Plan, restart: int) -> tuple[nn.Module, nn.Linear]:
        columns = self.rows[0][0].numel()
        module = made_module(plan.module, columns, rectifier).to(self.device, self.dtype)
        if restart and isinstance(plan.module, nn.Module):
            module.apply(_reset)
        module.train()
        some = torch.cat([rows[:_SHOWN] for rows in self.rows])
        return module, nn.Linear(refuse_unfit(module, some), 1).to(self.device, self.dtype)

    def _trained(self) -> Ending:
        rng = np.random.default_rng(self.seed)
        batches = zip(*(self._batches(len(rows), rng) for rows in self.rows), strict=True)
        steps = max(1, max(len(rows) for rows in self.rows) // self._size(max(len(rows) for rows in self.rows)))
        self._look(0)
        for epochs in progress(self.settings.rounds(), self._said):
            for _ in range(len(epochs) * steps):
                self._step(*next(batches))
            self._look(epochs.stop)
            if not math.isfinite(self.steps[-1].loss):
                return "diverged"
            if len(self.steps) - 1 - self.kept >= self.patience:
                return "early"
        return "finished"

    def _said(self) -> str:
        last = self.steps[-1]
        return f"training the network, loss {last.loss:.4g}, SNR {last.snr:.3g}, epochs"

    def _size(self, rows: int) -> int:
        """Rows of a sample in a batch."""
        return min(rows, max(self.least, self.settings.batch or rows))

    def _batches(self, rows: int, rng: np.random.Generator) -> Iterator[Tensor]:
        """Batches of one sample without end, each row once before any comes again."""
        size = self._size(rows)
        while True:
            order = torch.from_numpy(rng.permutation(rows)).to(self.device)
            yield from torch.split(order[: rows // size * size], size)

    def _step(self, p: Tensor, q: Tensor) -> None:
        self.optimiser.zero_grad()
        h = self._values(torch.cat([self.rows[0][p], self.rows[1][q]]))
        loss = self.loss(h[: len(p)], h[len(p) :], self.c)
        torch.autograd.backward(loss)
        self.optimiser.step()
        self.running = loss.detach()  # read when it is looked at: reading waits for the device

    @torch.no_grad()
    def _first_loss(self) -> Tensor:
        p, q = (self._values(rows[:_SHOWN]) for rows in self.rows)
        return self.loss(p, q, self.c)

    def _values(self, rows: Tensor) -> Tensor:
        with autocast(self.settings.precision, self.device):
            features = features_of(self.module, rows)
        values: Tensor = self.head(features.to(self.dtype))[:, 0]
        return values

    @torch.no_grad()
    def _look(self, epoch: int) -> None:
        """Signal-to-noise ratio of the rows held out; the state is kept if it is the best so far."""
        self.module.eval()
        h = torch.cat([self._values(part) for part in torch.split(self.held_out, _SHOWN)]).double().cpu().numpy()
        self.module.train()
        snr = float(column_snr(h[:, None], self.held_out_n)[0]) if np.isfinite(h).all() else -math.inf
        self.steps.append(Step(epoch, float(self.running), snr))
        if snr > self.best_snr:
            self.best_snr, self.kept = snr, len(self.steps) - 1
            for best, t in zip(self.best, self.tensors, strict=True):
                best.copy_(t)
        if self.settings.callback is not None:
            self.settings.callback(self.steps[-1])

    def _moved(self, rows: NDArray[np.floating]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(self.scaling(rows))).to(self.device, self.dtype)


def _reset(module: nn.Module) -> None:
    """Weights drawn again, by modules that know how."""
    reset = getattr(module, "reset_parameters", None)
    if callable(reset):
        reset()
