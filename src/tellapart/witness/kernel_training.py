"""Training of deep kernels by the power criterion: one, or many independent ones side by side.

Everything has a leading dimension T of independent trainings. A single module is called as it is; several are stacked
and called at once by :func:`torch.func.vmap`, so that one step of T small trainings takes as many calls of torch as
one step of one. Adam works entry by entry, so that stacked parameters do not know of each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from tellapart._progress import progress
from tellapart.samples import Samples
from tellapart.witness.criterion import Power, PowerCriterion
from tellapart.witness.modules import (
    Adam,
    NetworkFeatures,
    Scaling,
    autocast,
    features_of,
    made_module,
    refuse_unfit,
    seeded,
    type_of,
)
from tellapart.witness.training import Ending, History, Recipe, Step, Training, as_device, interrupts

_LOOKING = 1000  # rows of each sample by which states are compared where steps are taken on batches
_FACTORS = tuple(4.0**k for k in range(-4, 2))  # of the median squared distance, to start from
_TYPICAL = 500  # rows that the median looks at


@dataclass(frozen=True, eq=False)
class Trained:
    """What one training has learned, in units of the scaled columns."""

    features: NetworkFeatures | None
    feature_bandwidth: float | None
    bandwidth: tuple[float, ...] | None  # one number, or one for each column
    plain_share: float
    scaling: Scaling
    history: History


def train_kernels(trains: Sequence[Samples], recipe: Recipe, rng: np.random.Generator) -> list[Trained]:
    """Train one kernel for each of several pairs of samples of the same size, side by side."""
    device = as_device(recipe.training.device)
    _refuse_unequal(trains)
    seeds = [int(rng.integers(2**63)) for _ in trains]
    scalings = [Scaling.of(train.pooled, recipe.standardise) for train in trains]
    scaled = np.stack([scaling(train.pooled) for scaling, train in zip(scalings, trains, strict=True)])
    tables = torch.from_numpy(scaled).to(device, type_of(recipe.training.precision))
    with seeded(seeds[0], device):
        modules = _modules(tables, seeds, recipe) if recipe.feature_width else None
        widths = starting_widths(tables, recipe)
        training = KernelTraining(tables, trains[0].n, modules, widths, recipe.training, seeds)
        choose_start(training, recipe)
        history = training.run("a kernel" if len(trains) == 1 else f"{len(trains)} kernels")
    made = modules.separate() if modules else [None] * len(trains)
    return [widths.trained(t, module, scalings[t], history) for t, module in enumerate(made)]


def _refuse_unequal(trains: Sequence[Samples]) -> None:
    sizes = sorted({(train.n, train.m, train.x.shape[1]) for train in trains})
    if len(sizes) != 1:
        raise ValueError(f"`trains` must be samples of one size (n, m, columns) to be trained at once, got {sizes}.")
    if min(sizes[0][:2]) < 2:
        raise ValueError(f"`train` must have at least 2 rows of each sample, got {sizes[0][0]} and {sizes[0][1]}.")


def _modules(tables: Tensor, seeds: Sequence[int], recipe: Recipe) -> Modules:
    """A module for each training, its weights drawn from the training's own seed; refused if it does not fit."""
    made = []
    for rows, seed in zip(tables, seeds, strict=True):
        with seeded(seed, tables.device):
            module = made_module(recipe.module, rows.shape[1], checkpoint=recipe.checkpoint).to(
                tables.device, tables.dtype
            )
        made.append(module.train())
        refuse_unfit(module, rows)
    if len(made) > 1:
        _refuse_running_statistics(made[0])
    return Modules(made)


def _refuse_running_statistics(module: nn.Module) -> None:
    """Batch normalisation changes its buffers in place, which several modules called at once cannot."""
    for name, part in module.named_modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.track_running_stats:
            raise ValueError(
                f"`module` must have no running statistics to be trained side by side, got {type(part).__name__} as "
                f"'{name}'. Use LayerNorm, or learn_kernel for one pair of samples after the other."
            )


@dataclass(frozen=True)
class Widths:
    """Logarithms of the squared widths, and the logit of the share of the plain Gaussian; None where there is none.

    ``z = features / sqrt(feature_width)`` beside ``rows / sqrt(width)``.
    """

    features: Tensor | None  # (T, 1, 1)
    rows: Tensor | None  # (T, 1, 1), or (T, 1, d) where each column has its own
    plain: Tensor | None  # (T,)

    def learned(self) -> list[Tensor]:
        """The tensors that have a gradient."""
        return [t for t in (self.features, self.rows, self.plain) if t is not None and t.requires_grad]

    def coordinates(self, rows: Tensor, features: Tensor | None) -> list[Tensor]:
        """The coordinates of each Gaussian of the mixture: see :mod:`tellapart.witness.criterion`."""
        scaled = [] if self.rows is None else [rows * torch.exp(-self.rows / 2)]
        if features is None or self.features is None:
            return scaled
        joined = torch.cat([features * torch.exp(-self.features / 2), *scaled], dim=-1)
        return [joined, *scaled] if self.plain is not None else [joined]

    def pull(self, coordinates: list[Tensor], power: Power, columns: int) -> Tensor | None:
        """Add ``-dJ`` to the gradients of what is learned here; the one of the features is returned.

        A coordinate is a column times ``exp(-log_width / 2)``, so ``dJ / dlog_width = -sum(z dJ/dz) / 2``.
        """
        shares = [(z * g).sum(dim=1, keepdim=True) for z, g in zip(coordinates, power.coordinates, strict=True)]
        split = coordinates[0].shape[-1] - (columns if self.rows is not None else 0)  # features stand in front
        if self.rows is not None and self.rows.grad is not None:
            by_column = sum((share[..., -columns:] for share in shares[1:]), start=shares[0][..., split:])
            self.rows.grad += 0.5 * (by_column if self.rows.shape[2] > 1 else by_column.sum(dim=2, keepdim=True))
        if self.plain is not None and self.plain.grad is not None and power.weights is not None:
            share = torch.sigmoid(self.plain)
            self.plain.grad -= share * (1 - share) * (power.weights[:, 1] - power.weights[:, 0])
        if self.features is None:
            return None
        if self.features.grad is not None:
            self.features.grad += 0.5 * shares[0][..., :split].sum(dim=2, keepdim=True)
        return power.coordinates[0][..., :split] * -torch.exp(-self.features / 2)

    def weights(self, like: Tensor) -> Tensor:
        """``(1 - plain share, plain share)``: (T, 1 or 2)."""
        if self.plain is None:
            return like.new_ones(len(like), 1)
        share = torch.sigmoid(self.plain)
        return torch.stack([1 - share, share], dim=1)

    def trained(self, t: int, module: nn.Module | None, scaling: Scaling, history: History) -> Trained:
        """What training number `t` has learned; ``exp(-d^2 / width) = exp(-d^2 / (2 bandwidth^2))``."""
        by_features = None if self.features is None else math.sqrt(self.features[t].exp().item() / 2)
        by_rows = None if self.rows is None else tuple((self.rows[t, 0].exp() / 2).sqrt().tolist())
        share = 0.0 if self.plain is None else torch.sigmoid(self.plain[t]).item()
        features = None if module is None else NetworkFeatures.of(module, scaling)
        return Trained(features, by_features, by_rows, share, scaling, history)


def starting_widths(tables: Tensor, recipe: Recipe) -> Widths:
    """The widths that the recipe names; ones where they are still to be chosen."""
    t, per_column = len(tables), tables.shape[2] if recipe.per_column else 1

    def logarithm(bandwidth: float | None, columns: int) -> Tensor:
        width = math.log(2 * bandwidth**2) if bandwidth else 0.0
        return tables.new_full((t, 1, columns), width).requires_grad_()

    share = recipe.plain_share
    start = 0.5 if share is None else share
    plain = tables.new_full((t,), math.log(start / (1 - start))) if start > 0 else None
    return Widths(
        logarithm(recipe.feature_bandwidth, 1) if recipe.feature_width else None,
        logarithm(recipe.bandwidth, per_column) if recipe.row_width else None,
        plain.requires_grad_(share is None) if plain is not None else None,
    )


@torch.no_grad()
def choose_start(training: KernelTraining, recipe: Recipe) -> None:
    """Of a few multiples of the median distances, begin with those of the greatest J; named widths stay."""
    widths, features = training.widths, training.modules(training.tables) if training.modules else None
    to_choose = [
        (log_width, _typical(table).log())
        for log_width, table, named in (
            (widths.features, features, recipe.feature_bandwidth),
            (widths.rows, training.tables.flatten(2), recipe.bandwidth),
        )
        if log_width is not None and table is not None and named is None
    ]
    best = [log_width.clone() for log_width, _ in to_choose]
    best_j = torch.full_like(training.best_j, -torch.inf)
    for factors in product(_FACTORS, repeat=len(to_choose)):
        for (log_width, typical), factor in zip(to_choose, factors, strict=True):
            log_width.copy_((typical + math.log(factor))[:, None, None].expand_as(log_width))
        j, _ = training.look()
        for (log_width, _), kept in zip(to_choose, best, strict=True):
            kept.copy_(torch.where((j > best_j)[:, None, None], log_width, kept))
        best_j = torch.maximum(j.nan_to_num(-torch.inf), best_j)
    for (log_width, _), kept in zip(to_choose, best, strict=True):
        log_width.copy_(kept)


def _typical(table: Tensor) -> Tensor:
    """Median squared distance of some rows of each training: (T,); 1 where most rows are equal."""
    some = table[:, :: math.ceil(table.shape[1] / _TYPICAL)]
    i, j = torch.triu_indices(some.shape[1], some.shape[1], 1, device=table.device)
    median = torch.cdist(some, some)[:, i, j].square().median(dim=1).values
    return torch.where(median > 0, median, torch.ones_like(median))


class Modules:
    """T modules of one architecture, evaluated at once."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.modules = list(modules)
        if len(self.modules) > 1:
            self.parameters, self.buffers = stack_module_state(self.modules)
        else:
            self.parameters = dict(self.modules[0].named_parameters())
            self.buffers = dict(self.modules[0].named_buffers())

    def learned(self) -> list[Tensor]:
        """The (stacked) tensors that have a gradient."""
        return [p for p in self.parameters.values() if p.requires_grad]

    def state(self) -> list[Tensor]:
        """All tensors that a training changes, buffers included."""
        return [*self.learned(), *self.buffers.values()]

    def __call__(self, rows: Tensor) -> Tensor:
        """(T, N, ...) -> (T, N, q)."""
        if len(self.modules) == 1:
            return features_of(self.modules[0], rows[0])[None]
        found: Tensor = vmap(self._one, randomness="different")(self.parameters, self.buffers, rows)
        return found

    def _one(self, parameters: dict[str, Tensor], buffers: dict[str, Tensor], rows: Tensor) -> Tensor:
        found: Tensor = functional_call(self.modules[0], (parameters, buffers), (rows,))
        return found if found.ndim == 2 else found[:, None]

    @contextmanager
    def as_judged(self) -> Iterator[None]:
        """The modules in the mode in which they will be used."""
        self.modules[0].eval()
        try:
            yield
        finally:
            self.modules[0].train()

    def separate(self) -> list[nn.Module]:
        """The modules with what they have learned."""
        if len(self.modules) > 1:
            for t, module in enumerate(self.modules):
                state = {name: value[t] for name, value in {**self.parameters, **self.buffers}.items()}
                module.load_state_dict(state, strict=False)
        return self.modules


class KernelTraining:
    """Adam on -J for T trainings, keeping the best state of each."""

    def __init__(
        self, tables: Tensor, n: int, modules: Modules | None, widths: Widths, training: Training, seeds: Sequence[int]
    ) -> None:
        self.tables, self.n, self.m = tables, n, tables.shape[1] - n
        self.modules, self.widths, self.training = modules, widths, training
        self.rngs = [np.random.default_rng(seed) for seed in seeds]
        self.batch = training.batch if training.batch and training.batch < max(self.n, self.m) else None
        size = self.batch or max(self.n, self.m)
        self.criterion = PowerCriterion(min(self.n, size), min(self.m, size))
        learned = (modules.learned() if modules else []) + widths.learned()
        self.adam = Adam(learned, training.learning_rate)
        self.state = (modules.state() if modules else []) + widths.learned()
        self.best = [t.detach().clone() for t in self.state]
        self.best_j = torch.full((len(tables),), -torch.inf, dtype=torch.float64, device=tables.device)
        self.looking, self.looking_criterion = self._looking()
        self.steps: list[Step] = []

    def run(self, what: str) -> History:
        """Train until the end, or Ctrl-C, or nothing finite is left."""
        ended: Ending = "finished"
        try:
            self._keep(0)
            for epochs in progress(self.training.rounds(), self._said):
                for _ in epochs:
                    for chosen in self._batches():
                        self._step(chosen)
                if not self._keep(epochs.stop):
                    ended = "diverged"
                    break
        except KeyboardInterrupt:
            ended = "interrupted"
            interrupts.keep_best(what)
        self._refuse_hopeless()
        with torch.no_grad():
            for t, best in zip(self.state, self.best, strict=True):
                t.copy_(best)
        return History(tuple(self.steps), ended, kept=int(np.nanargmin([step.loss for step in self.steps])))

    def _refuse_hopeless(self) -> None:
        """Say so if a training never had a finite J: there is no best state to keep."""
        lost = int((~torch.isfinite(self.best_j)).sum())
        if lost:
            raise ValueError(
                f"`module` must return finite numbers, but the power of {lost} of {len(self.best_j)} kernels was NaN "
                "or infinite at every look. See what it returns in train() and in eval() mode, or lower the rate."
            )

    def _said(self) -> str:
        last = self.steps[-1]
        return f"training the kernel, loss {last.loss:.4g}, SNR {last.snr:.3g}, epochs"

    def _taken(self, chosen: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The chosen rows as tables, and their features."""
        rows = self.tables if chosen is None else torch.take_along_dim(self.tables, self._index(chosen), dim=1)
        features = None
        if self.modules is not None:
            with autocast(self.training.precision, rows.device):
                features = self.modules(rows)
            features = features.to(rows.dtype)
        return rows.flatten(2), features

    def _index(self, chosen: Tensor) -> Tensor:
        return chosen.reshape(*chosen.shape, *([1] * (self.tables.ndim - 2)))

    def _step(self, chosen: Tensor | None) -> None:
        """One step of Adam on all rows or on the chosen ones."""
        rows, features = self._taken(chosen)
        with torch.no_grad():
            coordinates = self.widths.coordinates(rows, features)
            power = self.criterion(coordinates, self.widths.weights(self.tables))
            downhill = self.widths.pull(coordinates, power, rows.shape[-1])
        if features is not None:
            torch.autograd.backward(features, downhill)
        self.adam.step()

    def _batches(self) -> Iterator[Tensor | None]:
        """Rows of each step of an epoch: (T, rows), those of the first sample in front; None for all rows."""
        if self.batch is None:
            yield None
            return
        orders = [(rng.permutation(self.n), self.n + rng.permutation(self.m)) for rng in self.rngs]
        sizes = self.criterion.n, self.criterion.m
        for k in range(max(1, min(self.n // sizes[0], self.m // sizes[1]))):
            taken = [
                np.concatenate([o[k * s : (k + 1) * s] for o, s in zip(two, sizes, strict=True)]) for two in orders
            ]
            yield torch.from_numpy(np.stack(taken)).to(self.tables.device)

    def _looking(self) -> tuple[Tensor | None, PowerCriterion]:
        """The rows by which states are compared: all of them, or as many as fit."""
        n, m = min(self.n, _LOOKING), min(self.m, _LOOKING)
        if self.batch is None:
            return None, PowerCriterion(self.n, self.m)
        chosen = [
            np.concatenate([rng.permutation(self.n)[:n], self.n + rng.permutation(self.m)[:m]]) for rng in self.rngs
        ]
        return torch.from_numpy(np.stack(chosen)).to(self.tables.device), PowerCriterion(n, m)

    @torch.no_grad()
    def _keep(self, epoch: int) -> bool:
        """Keep the states that are better than before; whether any training is still finite."""
        j, snr = self.look()
        better = j > self.best_j
        self.best_j = torch.where(better, j, self.best_j)
        for best, t in zip(self.best, self.state, strict=True):
            # What belongs to T > 1 trainings has them in front; a single module's parameters are as they are.
            mask = better[0] if len(better) == 1 else better.reshape(-1, *([1] * (t.ndim - 1)))
            best.copy_(torch.where(mask, t, best))
        self.steps.append(Step(epoch, -float(j.mean()), float(snr.mean())))
        if self.training.callback is not None:
            self.training.callback(self.steps[-1])
        return bool(torch.isfinite(j).any())

    def look(self) -> tuple[Tensor, Tensor]:
        """J and the signal-to-noise ratio of the present states, on the rows by which they are compared.

        In double precision: where widths are far smaller than distances, the rounding of single precision would pass
        for power, and the best state would be the one with the most of it.
        """
        with self.modules.as_judged() if self.modules else nullcontext():  # dropout and the like are for steps only
            coordinates = [z.double() for z in self.widths.coordinates(*self._taken(self.looking))]
        return self.looking_criterion.values(coordinates, self.widths.weights(self.tables).double())
