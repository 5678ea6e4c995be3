"""Very many rows are relabelled in bundles: a few rows of one sample, drawn at random, that keep one label together.

A sum of features over the rows costs as much for each labelling as a row has features, and with 500 labellings that is
most of what a million rows cost. Over bundles it costs next to nothing: features are added up bundle by bundle, once,
and labellings see bundles only. With thousands of bundles nothing is lost that can be measured: the variance of a mean
among the relabellings grows by about its squared standard score over the number of bundles.

Level: let L be the rows of a bundle. In each sample (of each stratum) the rows are put in random order and cut into
bundles of L; the fewer than L rows that are left over keep their labels in all relabellings. Under the null hypothesis
every labelling of the pooled rows that keeps the counts is as likely as any other, and each of them goes together with
equally many divisions into bundles; so all pairs of a labelling and a division that go together are equally likely.
Given the division, then, every way of giving its bundles their labels is as likely as any other, the observed one
included, and that is what the relabellings of bundles are drawn from. Folds and features know the division and not the
labels. The same holds for units (groups, blocks) in place of rows: a bundle is then made of whole units.

Pairs: the flips of signs of P pairs form a group, and those that flip whole bundles of pairs a subgroup of it. The
division does not know which way round a pair lies, so a p-value over the subgroup is exact for the same reason.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tellapart.inference.exchange import Exchange

Ids = NDArray[np.intp]

MOST_BUNDLES = 10_000  # also the most rows that are relabelled one by one where all is in memory
FEWEST_BUNDLES = 100  # of each sample in each stratum


def bundled(exchange: Exchange, rng: np.random.Generator) -> Exchange:
    """The same exchange with bundles of units as its units; the exchange itself where there are few units."""
    if len(exchange.sample) <= MOST_BUNDLES:
        return exchange
    if exchange.paired:
        return _bundled_pairs(exchange, rng)
    cell = _numbered(exchange.stratum * (int(exchange.sample.max()) + 1) + exchange.sample)
    counts = np.bincount(cell)
    size = bundle_size(len(cell), int(counts.min()))
    if size == 1:
        return exchange
    place = _random_places(cell, counts, rng)
    left_over = place >= (counts // size * size)[cell]
    bundle = _shuffled(_numbered(cell * len(cell) + place // size), rng)
    # what is left over of a cell is a bundle, too, but in a stratum of its own, where there is nothing to exchange with
    stratum = np.where(left_over, int(exchange.stratum.max()) + 1 + cell, exchange.stratum)
    return _of_units(exchange, bundle, stratum)


def bundle_size(units: int, fewest: int) -> int:
    """Units of a bundle, where the smallest sample of a stratum has `fewest`.

    >>> bundle_size(10_000, 5_000), bundle_size(2_000_000, 1_000_000), bundle_size(2_000_000, 900)
    (1, 200, 9)
    """
    return max(1, min(-(-units // MOST_BUNDLES), fewest // FEWEST_BUNDLES))


def _bundled_pairs(exchange: Exchange, rng: np.random.Generator) -> Exchange:
    """Bundles of pairs, each of which lies the same way round as the others or the other way round as a whole."""
    pairs = len(exchange.sample) // 2
    size = bundle_size(len(exchange.sample), pairs)
    stratum = (rng.permutation(pairs) // size)[exchange.stratum]
    return _of_units(exchange, _shuffled(2 * stratum + exchange.sample, rng), stratum)


def _of_units(exchange: Exchange, bundle: Ids, stratum: Ids) -> Exchange:
    """Bundles, and the strata of their units, in place of units."""
    one_of = np.empty(int(bundle.max()) + 1, dtype=np.intp)
    one_of[bundle] = np.arange(len(bundle))
    return replace(
        exchange,
        unit_of_row=bundle[exchange.unit_of_row],
        stratum=_numbered(stratum[one_of]),
        sample=exchange.sample[one_of],
    )


def _numbered(ids: Ids) -> Ids:
    """The same ids as 0, 1, 2, ..."""
    return np.asarray(np.unique(ids, return_inverse=True)[1], dtype=np.intp).reshape(-1)


def _shuffled(numbers: Ids, rng: np.random.Generator) -> Ids:
    """The numbers 0, 1, 2, ... in random order, so that they do not tell samples apart."""
    return np.asarray(rng.permutation(int(numbers.max()) + 1)[numbers], dtype=np.intp)


def _random_places(cell: Ids, counts: Ids, rng: np.random.Generator) -> Ids:
    """A random place for each unit among those of its cell."""
    order = np.argsort(cell + rng.random(len(cell)))
    place = np.empty(len(cell), dtype=np.intp)
    place[order] = np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place
