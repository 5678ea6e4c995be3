"""Several samples: is any pair different, and which, without a correction that wastes power.

The hypotheses about k samples are the partitions of the samples into blocks of equal distribution. Each partition is
tested by relabelling within its blocks, which changes nothing where it is true; the statistic is the loudest pair of
samples that share a block, by its normal score among the relabellings. That test is exact for its
partition, whatever the other samples are.

Closed testing turns them into p-values of pairs: that of a pair is the largest p-value of all partitions that have the
pair in one block. If some pairs are equal, the true partition is among those of every such pair, and its p-value is at
most the level with at most that probability. So the chance of declaring *any* equal pair different is at most the
level, whichever samples are equal and whichever differ. The overall p-value is that of the one block.

References
----------
Marcus, Peritz, Gabriel (1976). On closed testing procedures. doi:10.1093/biomet/63.3.655.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._progress import progress
from tellapart.inference.combination import pvalue_of_first, skewed_scores
from tellapart.inference.exchange import Exchange
from tellapart.inference.whole_sample import Hearing

Values = NDArray[np.float64]
Pair = tuple[int, int]

MOST_SAMPLES = 6  # 203 partitions


@dataclass(frozen=True)
class PairHeard:
    """Two of several samples: the p-value that allows for all pairs, the pair's own, and the loudest family."""

    pvalue: float
    own_pvalue: float
    family: str


@dataclass(frozen=True, eq=False)
class SeveralHeard:
    """The overall p-value, and every pair."""

    pvalue: float
    pairs: dict[Pair, PairHeard]


def partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Numbers of blocks for each of `count` samples, one block for all first.

    >>> list(partitions(3))
    [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    """

    def extended(begun: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(begun) == count:
            yield begun
            return
        for block in range(max(begun) + 2):
            yield from extended((*begun, block))

    return extended((0,))


def heard_several(
    ensemble: Any, exchange: Exchange, families: Collection[str], draws: int, rng: np.random.Generator
) -> SeveralHeard:
    """Test every partition of the samples by relabelling within its blocks."""
    count = int(exchange.sample.max()) + 1
    if count > MOST_SAMPLES:
        raise ValueError(f"`x` must hold at most {MOST_SAMPLES} samples, got {count}. Compare fewer at a time.")
    largest: dict[Pair, float] = dict.fromkeys(combinations(range(count), 2), 0.0)
    own: dict[Pair, Hearing] = {}
    overall = 1.0
    for blocks in progress(list(partitions(count))[:-1], "partitions of the samples"):
        relabellings = exchange.within(blocks).labellings(draws, rng)
        together = [pair for pair in largest if blocks[pair[0]] == blocks[pair[1]]]
        heard = {pair: ensemble.heard(replace(relabellings, between=pair), families, None) for pair in together}
        pvalue = 1.0 if None in heard.values() else loudest_pvalue([h.together for h in heard.values()])
        overall = pvalue if max(blocks) == 0 else overall
        largest |= {pair: max(largest[pair], pvalue) for pair in together}
        if len(together) == 1 and heard[together[0]] is not None:
            own[together[0]] = heard[together[0]]
    return SeveralHeard(overall, {pair: _pair_heard(largest[pair], own.get(pair)) for pair in largest})


def loudest_pvalue(together: list[Values]) -> float:
    """P-value of the loudest of several statistics, made comparable by their normal scores."""
    return pvalue_of_first(skewed_scores(np.stack(together)).max(axis=0))


def _pair_heard(pvalue: float, own: Hearing | None) -> PairHeard:
    if own is None:
        return PairHeard(pvalue, 1.0, "")
    return PairHeard(pvalue, own.pvalue, min(own.family_pvalues, key=lambda f: own.family_pvalues[f]))
