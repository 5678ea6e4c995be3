"""Learn from the past, judge the next block: nearly every row judges, most rows learn, and nothing is permuted twice.

The rows of each sample are put in random order and cut into blocks. The first block only learns. Each further block is
judged, by an exact null, with a witness learned from all blocks before it, and learns from then on. It costs as many
fits as there are judged blocks, where permuting and refitting costs (B + 1) x folds of them.

**Level.** Let F be all that is known before block k: order, block sizes, the rows of earlier blocks and their labels.
The witness of block k is a function of F. If the rows are independent draws and the distributions are equal, the rows
of block k are exchangeable given F, so an exact null gives a p-value with ``P(p_k <= a | F) <= a`` for every a. Such
p-values combine as independent ones do, see :func:`tellapart.inference.pvalue.sequential_pvalue`. The rows have to be
independent: groups, strata or an order in time are not kept by blocks at random.

**Weights.** The expected z-score of block k is ``sqrt(b_k)`` times the signal-to-noise ratio of its witness, b_k being
``n m / (n + m)`` of the rows that judge. Where a difference is hard to find, what the witness has learned is small
beside what it picked up by chance, and its signal-to-noise ratio grows like ``sqrt(l_k)``, with ``l_k`` the same of the
rows that learn. The best weights in a sum of z-scores are proportional to the expected scores, so block k gets
``sqrt(b_k l_k)``. Equal blocks, the first included, then make ``sum b_k l_k`` largest for their number, and it grows
from 1/4 of N^2 (one split) towards 1/2. Measured against weights ``sqrt(b_k)`` and against larger first blocks this was
best or tied on blobs, shifts of the mean and unequal samples (power 0.50 against 0.37 for the split on the blobs of Liu
et al., 108 rows each); more than six blocks gained nothing.

A block on which the witness is constant can say nothing, and that is known before labels are looked at: its weight goes
to the blocks after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._progress import progress
from tellapart.inference.null import Null, Saddlepoint
from tellapart.inference.pvalue import sequential_pvalue
from tellapart.inference.stage_one import Learns, values_of
from tellapart.moments import Standardised
from tellapart.samples import Samples

Values = NDArray[np.float64]
Ids = NDArray[np.intp]

_FEWEST = 2  # rows of either sample, to learn and to judge
_WORTHWHILE = 5  # rows of either sample in a block: p-values of 2 against 2 rows are never below 1/6
_SHAPE = 16.0  # of the gamma variable of an average block: nearly Stouffer's, and a p-value of 1 counts as z = -4


@dataclass(frozen=True, eq=False)
class Block:
    """Witness values of rows that judge, and of the rows that the same witness was learned from."""

    rows_x: Ids  # which rows of each sample judge
    rows_y: Ids
    h_x: Values
    h_y: Values
    learned_x: Values
    learned_y: Values

    @property
    def constant(self) -> bool:
        """Whether the witness takes the same value on all rows that judge."""
        return Standardised.of(self.h_x, self.h_y).constant

    @property
    def weight(self) -> float:
        """``b_k l_k`` of the module's docstring."""
        return _effective(len(self.h_x), len(self.h_y)) * _effective(len(self.learned_x), len(self.learned_y))


@dataclass(frozen=True, eq=False)
class Prequentially:
    """What the blocks said one by one and together."""

    pvalue: float
    block_pvalues: Values
    blocks: tuple[Block, ...]
    evidence_x: Values  # standardised witness value of each row; NaN where it only learned
    evidence_y: Values
    how: str


@dataclass(frozen=True)
class Prequential:
    """Judge block after block of the rows, each by a witness learned from all blocks before it: exact.

    Parameters
    ----------
    blocks : int
        Parts of equal size, of which the first only learns. Fewer are made where a part would have fewer than 5 rows of
        one of the samples, but at least 2, which is a split into halves.
    null : Permutation or Saddlepoint
        The exact null that judges each block. (``Normal`` is accepted; the whole is then as asymptotic as it is.)

    Notes
    -----
    Guarantee: exact for independent rows at any number of rows, for any learner; the argument stands at the head of
    this module.
    """

    blocks: int = 6
    null: Null = field(default_factory=Saddlepoint)

    def __post_init__(self) -> None:
        checks.whole("blocks", self.blocks, least=2)
        if isinstance(self.null, type) or not isinstance(self.null, Null):
            raise TypeError(f"`null` must be Permutation(...) or Saddlepoint(), got {self.null!r}.")

    def judge(self, samples: Samples, learner: Learns, rng: np.random.Generator) -> Prequentially:
        """The p-value of `learner` on `samples`, whose rows are independent."""
        blocks = tuple(self.learned(samples, learner, rng))
        pvalues = np.array([1.0 if b.constant else self.null.judge(b.h_x, b.h_y, rng).pvalue for b in blocks])
        evidence_x, evidence_y = np.full(samples.n, np.nan), np.full(samples.m, np.nan)
        for block in blocks:
            evidence_x[block.rows_x], evidence_y[block.rows_y] = _standardised(block.h_x, block.h_y)
        total = _SHAPE * len(blocks)
        pvalue = sequential_pvalue(pvalues, allotted([b.weight for b in blocks], [b.constant for b in blocks]), total)
        how = f"{len(blocks)} blocks of rows, each judged by a witness learned from those before it"
        return Prequentially(pvalue, pvalues, blocks, evidence_x, evidence_y, how)

    def learned(self, samples: Samples, learner: Learns, rng: np.random.Generator) -> Iterator[Block]:
        """Block after block with the values of its witness."""
        count = self._count(samples)
        parts = [np.array_split(rng.permutation(size), count) for size in (samples.n, samples.m)]
        for k in progress(range(1, count), "judging block after block"):
            past = [np.concatenate(part[:k]) for part in parts]
            next_x, next_y = (part[k] for part in parts)
            train = samples.take(past[0], past[1])
            witness = learner.learn(train, rng)
            yield Block(
                next_x,
                next_y,
                *_values(witness, samples.take(next_x, next_y), rng),
                *_values(witness, train, rng),
            )

    def _count(self, samples: Samples) -> int:
        for name, size in (("x", samples.n), ("y", samples.m)):
            if size < 2 * _FEWEST:
                raise ValueError(
                    f"`{name}` must have at least {2 * _FEWEST} rows, {_FEWEST} to learn from and {_FEWEST} to judge, "
                    f"got {size}."
                )
        return min(self.blocks, max(2, min(samples.n, samples.m) // _WORTHWHILE))


def allotted(weights: list[float], constant: list[bool]) -> Values:
    """Shape parameters of the blocks: proportional to the weights, those of constant blocks left to later ones.

    >>> allotted([1.0, 1.0, 2.0], [False, False, False]).tolist()
    [12.0, 12.0, 24.0]
    >>> allotted([1.0, 1.0, 2.0], [True, False, False]).tolist()
    [0.0, 16.0, 32.0]
    """
    shapes = np.zeros(len(weights))
    left = _SHAPE * len(weights)
    for k in range(len(weights)):
        if not constant[k]:
            shapes[k] = left * weights[k] / sum(weights[k:])
            left -= shapes[k]
    return shapes


def _effective(n: int, m: int) -> float:
    return n * m / (n + m)


def _values(witness: Any, judged: Samples, rng: np.random.Generator) -> tuple[Values, Values]:
    """Witness values, computed on rows in random order so that a place in the table says nothing of a sample."""
    order = rng.permutation(judged.n + judged.m)
    h = np.empty(len(order))
    h[order] = values_of(witness, judged.pooled[order])
    return h[: judged.n], h[judged.n :]


def _standardised(h_x: Values, h_y: Values) -> tuple[Values, Values]:
    """Pooled mean 0 and standard deviation 1: witnesses of different blocks have different scales."""
    z = Standardised.of(h_x, h_y)
    spread = float(z.pooled.std()) or 1.0
    return z.x / spread, z.y / spread
