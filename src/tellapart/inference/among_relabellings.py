"""A statistic of the observed labels among that of random relabellings, in batches."""

from __future__ import annotations

from itertools import chain

import numpy as np

from tellapart._arrays import chunks
from tellapart._progress import progress
from tellapart.inference.classical_statistics import Statistic
from tellapart.inference.exchange import Exchange
from tellapart.inference.null import Permutation, Verdict

_NUMBERS = 2**24  # labels held at a time
_EARLY = 128  # relabellings at a time where stopping early is allowed


def judged_among(
    statistic: Statistic, name: str, exchange: Exchange, null: Permutation, rng: np.random.Generator
) -> Verdict:
    """The verdict of a permutation null on any statistic of centred labels."""
    rows = len(exchange.unit_of_row)
    parts = list(chunks(int(null.n_permutations), *((rows, _NUMBERS) if null.stop_after is None else (1, _EARLY))))
    batches = (
        statistic(exchange.relabellings(part.stop - part.start, rng)) for part in progress(parts, "relabellings")
    )
    first = next(batches)
    observed = float(first[0])
    drawn = (batch[1:] for batch in chain([first], batches))  # every batch begins with the observed labels
    pvalue, how, used = null.compared(observed, drawn, f"random relabellings of {exchange.words}")
    return Verdict(observed, pvalue, name, how, used)
