"""Modules of torch on tables of rows: the default network, what is checked before a training, and evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tellapart import _checks as checks
from tellapart._arrays import FloatArray, chunks
from tellapart.pairs import column_spreads

Shape = tuple[int, ...]


def perceptron(columns: int, width: int = 50, layers: int = 4) -> nn.Sequential:
    """Fully connected layers of one width with softplus between them: the features of Liu et al. (2020)."""
    parts: list[nn.Module] = []
    for before, after in pairwise([columns] + [width] * layers):
        parts += [nn.Linear(before, after), nn.Softplus()]
    return nn.Sequential(*parts[:-1])


def rectifier(columns: int, width: int = 64, layers: int = 3) -> nn.Sequential:
    """Fully connected layers with rectifiers, drawn so that the variance of the rows survives (He et al. 2015)."""
    parts: list[nn.Module] = []
    for before, after in pairwise([columns] + [width] * layers):
        layer = nn.Linear(before, after)
        nn.init.kaiming_normal_(layer.weight)
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """The randomness of torch from a seed, and as it was before afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@dataclass(frozen=True)
class Scaling:
    """Rows of a table as a module sees them: offset and unit of each column, and the shape of one row."""

    offset: NDArray[np.float64]
    unit: NDArray[np.float64]
    shape: Shape | None = None

    @classmethod
    def of(cls, rows: FloatArray, standardise: bool, shape: Shape | None = None) -> Scaling:
        """Median and spread of each column of the pooled rows; of all together where a row has a shape."""
        columns = rows.shape[1]
        if shape is not None and math.prod(shape) != columns:
            raise ValueError(f"`shape` must have as many numbers as a row has columns ({columns}), got {shape}.")
        if not standardise:
            return cls(np.zeros(columns), np.ones(columns), shape)
        if shape is not None:
            return cls(np.full(columns, rows.mean()), np.full(columns, float(rows.std()) or 1.0), shape)
        return cls(np.median(np.asarray(rows, dtype=np.float64), axis=0), column_spreads(rows))

    def __call__(self, rows: FloatArray) -> FloatArray:
        scaled: FloatArray = (np.asarray(rows, dtype=np.float64) - self.offset) / self.unit
        return scaled.reshape(len(rows), *(self.shape or scaled.shape[1:]))


def made_module(
    module: Any, columns: int, usual: Callable[[int], nn.Module] = perceptron, checkpoint: Any = None
) -> nn.Module:
    """A copy of the user's module, or one made for so many columns, with the weights of a checkpoint."""
    made = deepcopy(module) if isinstance(module, nn.Module) else (module or usual)(columns)
    if not isinstance(made, nn.Module):
        raise TypeError(f"`module` must be a torch module, or a function from columns to one, got {made!r}.")
    if checkpoint is not None:
        _load(made, checkpoint)
    return made


def _load(module: nn.Module, checkpoint: Any) -> None:
    """Give the module the weights of a checkpoint: a state, or a file with one; nothing in the file is run."""
    state = checkpoint if isinstance(checkpoint, Mapping) else _read(checkpoint)
    try:
        module.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"`checkpoint` must hold the weights of `module`, got those of another architecture: {reason}. "
            "Pass the module that it was saved from."
        ) from error


def _read(checkpoint: Any) -> Mapping[str, Any]:
    """The state in a file; a file that holds anything else is named."""
    try:
        state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise
    except Exception as error:  # torch lets through whatever its readers of several formats stumble over
        raise ValueError(_no_weights(checkpoint, type(error).__name__)) from error
    if not isinstance(state, Mapping):
        raise ValueError(_no_weights(checkpoint, type(state).__name__))
    return state


def _no_weights(checkpoint: Any, found: str) -> str:
    return (
        f"`checkpoint` must be a dict of weights or a file that holds one, got {checkpoint!r} ({found}). "
        "Write it with torch.save(module.state_dict(), path)."
    )


def features_of(module: nn.Module, rows: Tensor) -> Tensor:
    """What a module makes of rows, as a table; a module that does not fit the rows is named."""
    try:
        found = module(rows)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        error.add_note(f"`module` was given rows of shape {tuple(rows.shape)} and type {rows.dtype}.")
        raise
    if not isinstance(found, Tensor) or found.ndim not in (1, 2) or len(found) != len(rows):
        got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(
            f"`module` must return one row of features for each of {len(rows)} rows, got {got}. "
            "Flatten what it returns."
        )
    return found if found.ndim == 2 else found[:, None]


def refuse_unfit(module: nn.Module, rows: Tensor) -> int:
    """Check what can be checked before a training; the number of features."""
    found = features_of(module, rows)
    if not found.is_floating_point():
        raise TypeError(f"`module` must return real numbers, got {found.dtype}.")
    if not bool(torch.isfinite(found).all()):
        bad = int((~torch.isfinite(found)).any(dim=1).sum())
        raise ValueError(
            f"`module` must return finite numbers, got NaN or infinite ones for {bad} of {len(rows)} rows before any "
            "training. Look at its weights, or bring the columns to scale 1 and offset 0."
        )
    if not found.requires_grad:
        raise ValueError(
            "`module` must have a gradient to be trained by, but what it returns does not depend on any parameter that "
            "requires one. Leave out torch.no_grad() and detach(), and set requires_grad."
        )
    return found.shape[1]


@dataclass(frozen=True, eq=False)
class NetworkFeatures:
    """A trained module as a function of tables: rows (N, d) -> features (N, q), in double precision."""

    module: nn.Module
    scaling: Scaling

    @classmethod
    def of(cls, module: nn.Module, scaling: Scaling) -> NetworkFeatures:
        """The module as it is now, frozen."""
        frozen = deepcopy(module).double().eval()
        return cls(frozen.requires_grad_(False), scaling)

    def __call__(self, rows: FloatArray) -> NDArray[np.float64]:
        device = next(self.module.parameters()).device
        found = []
        with torch.inference_mode():
            for part in chunks(len(rows), rows.shape[1], budget=2**22):
                z = torch.from_numpy(np.ascontiguousarray(self.scaling(rows[part]))).to(device)
                found.append(features_of(self.module, z).cpu())
        return cast("NDArray[np.float64]", torch.cat(found).numpy())


def type_of(precision: str) -> torch.dtype:
    """The type of parameters and rows while training."""
    return (
        torch.float64
        if checks.one_of("precision", precision, ("single", "double", "mixed")) == "double"
        else torch.float32
    )


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """bfloat16 inside the module, if so wanted: unlike float16 it needs no scaling of the loss."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "mixed")


class Adam:
    """Adam (Kingma, Ba 2015) on all tensors as one vector, which for small modules is several times as fast."""

    def __init__(self, tensors: Sequence[Tensor], learning_rate: float) -> None:
        kinds = {(t.dtype, t.device) for t in tensors}
        if len(kinds) != 1:
            raise TypeError(f"`module` must have parameters of one type on one device, got {sorted(map(str, kinds))}.")
        self.learning_rate, self.count = learning_rate, 0
        self.values = torch.cat([t.detach().reshape(-1) for t in tensors])
        self.gradients, self.mean, self.square = (torch.zeros_like(self.values) for _ in range(3))
        start = 0
        for t in tensors:  # each becomes a view into the vector, and its gradient one into the vector of gradients
            part = slice(start, start + t.numel())
            t.data, t.grad = self.values[part].view(t.shape), self.gradients[part].view(t.shape)
            start = part.stop

    @torch.no_grad()
    def step(self) -> None:
        """One step along the gradients that have gathered, which are then forgotten."""
        self.count += 1
        self.mean.lerp_(self.gradients, 1 - 0.9)
        self.square.mul_(0.999).addcmul_(self.gradients, self.gradients, value=1 - 0.999)
        root = math.sqrt(1 - 0.999**self.count)  # of what the average of squares still lacks
        size = self.learning_rate * root / (1 - 0.9**self.count)
        self.values.addcdiv_(self.mean, self.square.sqrt().add_(1e-8 * root), value=-size)
        self.gradients.zero_()
