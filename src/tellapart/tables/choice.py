"""Which encoder a column gets: decided by the pooled values alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tellapart.tables.encoders import DAY, WEEK, YEAR, Amounts, Cycle, Encoder, LeftOut, Levels, Texts
from tellapart.tables.reading import Column, Kind, all_read_as

FEW_LEVELS = 8  # categories with a column each: more would drown the other columns in the distances of kernels
LEAST_SHARE = 0.02  # of the rows that a category with its own column has: a rare one is far from everything else
MANY_REST = 8  # categories beyond these that are told apart by hashes
LEAST_IDS = 20  # distinct strings that are taken for identifiers if each is there once
FEW_TEXTS = 20  # distinct strings below which even sentences are categories
WORDS = 3  # in the mean, from which on strings are sentences

IDENTIFIER = "an identifier, every value once"


def encoder_for(columns: Sequence[Column]) -> Encoder | LeftOut:
    """The encoder of one column, given as it is in every sample: always of the same kind."""
    source, kind = columns[0].name, columns[0].kind
    if kind == "text":
        return _for_text(columns)
    return _for_amounts(source, kind, np.concatenate([c.values for c in columns]), _WORDS[kind])


_WORDS: dict[Kind, str] = {
    "numbers": "",
    "booleans": "",
    "dates": "dates",
    "durations": "durations",
    "times of day": "times of day",
    "nothing": "",
}


def _for_amounts(source: str, kind: Kind, values: NDArray[np.float64], words: str) -> Encoder | LeftOut:
    absent = np.isnan(values)
    known = values[~absent]
    if len(known) == 0:
        return LeftOut(source, "without values")
    varies, marked = bool((known != known[0]).any()), bool(absent.any())
    if not varies and not marked:
        return LeftOut(source, "constant")
    dates = kind == "dates"
    return Amounts(
        source,
        kind,
        words or ("numbers with a mark where they are missing" if marked else ""),
        fill=float(np.median(known)),
        origin=float(known.min()) if dates else 0.0,
        unit=86400.0 if dates else 1.0,
        varies=varies,
        marked=marked,
        cycles=_cycles(kind, known),
    )


def _cycles(kind: Kind, known: NDArray[np.float64]) -> tuple[Cycle, ...]:
    """The cycles that the values go through at least twice, in more than one place."""
    if kind == "times of day":
        return (DAY,)
    if kind != "dates":
        return ()
    span = known.max() - known.min()
    return tuple(c for c in (DAY, WEEK, YEAR) if span >= 2 * c.period and np.ptp(np.mod(known, c.period)) > 0)


def _for_text(columns: Sequence[Column]) -> Encoder | LeftOut:
    """Numbers and dates that came as strings are read; then identifiers, sentences and categories are told apart."""
    source = columns[0].name
    counts: Counter[str] = Counter()
    for column in columns:
        counts.update(column.coded.counts())
    known = counts.total()
    marked = known < sum(c.rows for c in columns)
    if len(counts) == 1 and not marked:
        return LeftOut(source, "constant")
    if len(counts) == known >= LEAST_IDS and _names_only(counts):
        return LeftOut(source, IDENTIFIER)
    for kind in _READ_FROM_TEXT:
        if len(counts) > FEW_LEVELS and all_read_as(counts, kind):
            values = np.concatenate([c.to(kind).values for c in columns])
            return _for_amounts(source, kind, values, f"{kind} that came as text")
    if len(counts) > FEW_TEXTS and _mean_words(counts) >= WORDS:
        return Texts.learned(source, counts, marked)
    return levels_of(source, counts, marked)


_READ_FROM_TEXT: tuple[Kind, ...] = ("numbers", "dates")


def levels_of(source: str, counts: Mapping[str, int], marked: bool) -> Levels:
    """Which categories get a column: the commonest; of two only one, as the other is its complement.

    >>> levels_of("sex", {"m": 6, "f": 4}, marked=False).names
    ('sex = f',)
    >>> levels_of("town", {f"t{i}": 3 for i in range(1000)}, marked=True).names[:2]
    ('town: how common', 'town: sign 1')
    """
    ordered = sorted(counts, key=lambda level: (-counts[level], level))
    least = LEAST_SHARE * sum(counts.values())
    own = [level for level in ordered[:FEW_LEVELS] if counts[level] >= least]
    rest = ordered[len(own) :]
    if len(rest) == 1 and own:
        own, rest = [*own, *rest], []
    if len(own) == 2 and not rest and not marked:
        own = own[1:]
    if len(own) == 1 and not rest and marked:  # known or missing: the mark says it
        own = []
    kept = dict(counts) if len(rest) >= MANY_REST else {}
    return Levels(source, tuple(own), "other levels" * bool(rest and own), kept, marked)


def _names_only(counts: Mapping[str, int]) -> bool:
    """Whether distinct strings are neither sentences, nor dates, nor numbers with decimals."""
    numbers = not all(text.isdigit() for text in counts) and all_read_as(counts, "numbers")
    return not numbers and not all_read_as(counts, "dates") and _mean_words(counts) < WORDS


def _mean_words(counts: Mapping[str, int]) -> float:
    return sum(len(text.split()) * count for text, count in counts.items()) / sum(counts.values())
