"""How to train with torch: settings, what is kept of a training, and what can be refused before it begins.

Nothing here loads torch until something is trained, so that ``import tellapart`` stays light.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from tellapart import _checks as checks

if TYPE_CHECKING:
    import torch

Precision = Literal["single", "double", "mixed"]
Ending = Literal["finished", "early", "interrupted", "diverged"]

_PRECISIONS = ("single", "double", "mixed")
_TWICE = 3.0  # seconds within which a second Ctrl-C ends more than the training


@dataclass(frozen=True)
class Step:
    """Where a training stands: loss and signal-to-noise ratio after so many epochs, means over trainings side by side.

    For a network the ratio is that of the rows held out, for a kernel that of its mean witness on the training rows.
    """

    epoch: int
    loss: float
    snr: float


@dataclass(frozen=True)
class History:
    """How a training went: what was seen at about a hundred looks, why it ended, and at which look it was best."""

    steps: tuple[Step, ...]
    ended: Ending
    kept: int

    @property
    def best(self) -> Step:
        """The step whose state was kept (of trainings side by side, the best on average)."""
        return self.steps[self.kept]


@dataclass(frozen=True)
class Training:
    """How a module is trained, by Adam.

    Parameters
    ----------
    epochs : int
        Passes over the training rows.
    learning_rate : float
    batch : int, optional
        Rows of each sample in a step; all of them if not given.
    device : str
        Where torch computes: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...
    precision : {"single", "double", "mixed"}
        Of the training. "mixed" runs the module in bfloat16 and the rest in single precision. What has been learned is
        evaluated in double precision, so that equal rows get equal values wherever they stand in a table.
    callback : callable, optional
        Called with a :class:`Step` about a hundred times. To end a training early and keep its best state, raise
        ``KeyboardInterrupt``.

    Notes
    -----
    Ctrl-C ends a training with the best state so far and a warning; a second one within three seconds ends everything.
    """

    epochs: int = 1000
    learning_rate: float = 5e-4
    batch: int | None = None
    device: str = "cpu"
    precision: Precision = "single"
    callback: Callable[[Step], Any] | None = None

    def __post_init__(self) -> None:
        checks.whole("epochs", self.epochs)
        checks.positive("learning_rate", self.learning_rate)
        if self.batch is not None:
            checks.whole("batch", self.batch, least=2)
        checks.one_of("precision", self.precision, _PRECISIONS)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"`callback` must be a function of a Step, got {self.callback!r}.")

    def rounds(self) -> list[range]:
        """The epochs between two looks: about a hundred ranges."""
        length = math.ceil(self.epochs / 100)
        return [range(start, min(start + length, self.epochs)) for start in range(0, self.epochs, length)]


@dataclass(frozen=True)
class Recipe:
    """What a kernel is made of and how it is trained: the common tongue of the choices in `deep_kernel`."""

    training: Training
    feature_width: bool  # whether there is a Gaussian of features,
    row_width: bool  # and one of the rows themselves
    module: Any = None
    checkpoint: Any = None
    feature_bandwidth: float | None = None  # to start from; chosen by J if None
    bandwidth: float | None = None
    plain_share: float | None = 0.0  # learned if None
    per_column: bool = False
    standardise: bool = True


def require_torch() -> None:
    """Say in one line what is missing."""
    try:
        import_module("torch")
    except ImportError as error:
        raise ImportError(
            "Networks and deep kernels need torch, which is not installed: pip install 'tellapart[torch]'."
        ) from error


def as_device(name: str) -> torch.device:
    """A device that is there."""
    import torch

    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(
            f"`device` must be one that torch can use here, got {name!r}: {reason}. Leave it out to compute on the CPU."
        ) from error
    return device


class Interrupts:
    """Ctrl-C ends the training that runs; a second one soon after ends everything."""

    def __init__(self) -> None:
        self.last = -math.inf

    def keep_best(self, what: str) -> None:
        """Called where a KeyboardInterrupt was caught: warns, or raises it again if it is the second one."""
        now, before = time.monotonic(), self.last
        self.last = now
        if now - before < _TWICE:
            raise KeyboardInterrupt
        warnings.warn(
            f"The training of {what} was interrupted and its best state kept. Press Ctrl-C twice to end everything. "
            "A test that permutes and refits is no longer exact if some of its trainings were cut short.",
            RuntimeWarning,
            stacklevel=2,
        )


interrupts = Interrupts()
