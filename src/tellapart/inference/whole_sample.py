"""The test that splits nothing: many statistics on all rows, one exact p-value.

Voices (:mod:`tellapart.inference.voices`) give one row of values for each statistic over the same B + 1 relabellings.
Within a family the loudest row speaks (standard scores; scores of a fitted Pearson III distribution for quadratic
statistics, which are skewed). Families are joined, and the rank of the observed labelling among all is the p-value.

Level: labels enter through the contrasts only, and all columns are treated alike. Under the null hypothesis the
observed column is as likely as any other to have any rank, so ``P(p <= level) <= level`` at any number of rows.

Early stopping: the test looks after 99, 499, 2499, ... relabellings and stops at the first look at which at least
`stop_after` of them are as loud as the observed labelling. Let ``p_k`` be the p-value of look k, which is exact by
itself, and ``t_k`` the smallest p-value at which the test stops there; ``t_k`` falls with k. For any level, let j be
the first look with ``t_j <= level`` (else the last). A p-value of at most `level` needs a look k >= j; if k > j the
test went on at j, so ``p_j < t_j <= level``. Either way ``p_j <= level``, which has probability at most `level`:
looking costs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart._threads import side_by_side
from tellapart.inference.combination import joined, pvalue_of_first, rank_pvalues, skewed_scores, standard_scores
from tellapart.inference.exchange import Relabellings
from tellapart.inference.leave_one_out import DegreesOfFreedom, RidgeGrid, Ridges, left_out_values
from tellapart.inference.voices import KernelVoice, Row, Voice
from tellapart.kernels import BandwidthGrid, Gaussian, Kernel, Laplace, as_kernel
from tellapart.pairs import Shares

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

FIRST_LOOK = 99
# Family -> its weight where families are joined. Shifts are the most common difference; of all columns and of pairs of
# columns the other families know a part.
FAMILIES = {
    "left out": 1.0,
    "kernel": 1.0,
    "linear": 1.5,
    "potential": 1.0,
    "single columns": 1.0,
    "all columns": 0.5,
    "single pairs": 0.5,
    "pairs of columns": 0.5,
}
OF_KERNELS = ("left out", "kernel", "potential")
_UNSKEWED = ("left out", "potential", "single pairs")


@dataclass(frozen=True, eq=False)
class Hearing:
    """What every statistic said about the observed labels."""

    statistic: float
    pvalue: float
    draws: int  # relabellings that were looked at
    family_pvalues: dict[str, float]  # rank p-value of each family by itself; the joint one pays for the choice
    rows: tuple[Row, ...]
    scores: Values  # how loud each row was, on the scale of its family
    together: Values  # what the families say together, for every labelling, the observed one first
    learned: Any = None  # the loudest left-out witness, where it was learned in folds

    def loudest(self, family: str) -> tuple[int, float]:
        """Which statistic of a family was loudest, and its score."""
        best = max((s, -i) for i, (r, s) in enumerate(zip(self.rows, self.scores, strict=True)) if r.family == family)
        return -best[1], float(best[0])


def as_kernels(kernels: Any, rows: Values, rng: np.random.Generator, shares: Shares = None) -> list[Kernel]:
    """The kernels for these pooled rows: of every grid its members, every bandwidth rule resolved."""
    if kernels is None:
        kernels = (BandwidthGrid(Gaussian(), count=5), BandwidthGrid(Laplace(), count=5))
    elif isinstance(kernels, BandwidthGrid | Kernel) or callable(kernels):
        kernels = (kernels,)
    if isinstance(kernels, str) or not isinstance(kernels, Iterable) or not (listed := list(kernels)):
        raise ValueError(
            f"`kernels` must be a kernel, a BandwidthGrid or a non-empty sequence of them, got {kernels!r}."
        )
    found: list[Kernel] = []
    for kernel in listed:
        if isinstance(kernel, BandwidthGrid):
            found += kernel.kernels(rows, rng, shares)
        else:
            found.append(as_kernel(kernel).resolved(rows, rng, shares))
    return found


def looks(draws: int, stop_after: int | None) -> Iterator[int]:
    """Numbers of relabellings after which to look.

    >>> list(looks(499, 20)), list(looks(999, 20)), list(looks(499, None))
    ([99, 499], [99, 499, 999], [499])
    """
    look = FIRST_LOOK
    while stop_after is not None and look < draws:
        yield look
        look = 5 * look + 4
    yield draws


def heard(
    voices: Sequence[Voice],
    relabellings: Relabellings,
    families: Collection[str] = tuple(FAMILIES),
    stop_after: int | None = None,
) -> Hearing | None:
    """All statistics for the relabellings, look by look; None if there is nothing that could speak."""
    rows = tuple(row for voice in voices for row in voice.rows)
    if not any(row.family in families for row in rows):
        return None
    values = np.empty((len(rows), 0))
    for draws in looks(relabellings.columns - 1, stop_after):
        y = relabellings.contrast(columns=slice(values.shape[1], draws + 1))
        values = np.concatenate([values, said_by(voices, y)], axis=1)
        hearing = concluded(rows, values, families)
        if stop_after is not None and hearing.pvalue * (draws + 1) > stop_after:
            break
    return hearing


def said_by(voices: Sequence[Voice], y: Matrix) -> Matrix:
    """All statistics for some contrasts: (statistics, columns)."""
    return np.concatenate(side_by_side(lambda voice: voice.values(y), voices, "statistics of all relabellings"))


def concluded(rows: tuple[Row, ...], values: Matrix, chosen: Collection[str] = tuple(FAMILIES)) -> Hearing:
    """One p-value out of all values: (statistics, relabellings)."""
    families = np.array([r.family for r in rows])
    present = [family for family in FAMILIES if family in families and family in chosen]
    scores = np.zeros(len(rows))
    loudest = np.empty((len(present), values.shape[1]))
    for i, family in enumerate(present):
        mine = families == family
        scored = standard_scores(values[mine]) if family in _UNSKEWED else skewed_scores(values[mine])
        scores[mine], loudest[i] = scored[:, 0], scored.max(axis=0)
    alone = {family: float(rank_pvalues(row)[0]) for family, row in zip(present, loudest, strict=True)}
    together = joined(loudest, [FAMILIES[family] for family in present])
    return Hearing(float(together[0]), pvalue_of_first(together), values.shape[1] - 1, alone, rows, scores, together)


def evidence(voices: Sequence[Voice], hearing: Hearing, y: Values) -> Values | None:
    """Left-out witness value of every row, for the observed contrast `y`, by the loudest left-out statistic, if any."""
    if "left out" not in hearing.family_pvalues:
        return None
    index, _ = hearing.loudest("left out")
    for voice in voices:
        if index < len(voice.rows):
            break
        index -= len(voice.rows)
    if not isinstance(voice, KernelVoice):
        raise TypeError("left-out values come from a kernel")
    s, spectrum = voice.shrinkages[index], voice.spectrum
    values = left_out_values(spectrum, s, y[:, None], left_out=voice.left_out)[:, 0]
    return np.asarray(values / (spectrum.base * np.sqrt(len(values))))


def as_ridges(ridges: Any) -> RidgeGrid:
    """A grid of ridges from degrees of freedom, or from plain numbers."""
    if isinstance(ridges, DegreesOfFreedom | Ridges):
        return ridges
    return Ridges(tuple(checks.positives("ridges", ridges)))


def as_families(families: Any, own_kernels: bool) -> tuple[str, ...]:
    """Names of families. With kernels of the user's own, by default only those families that are made of kernels."""
    if families is None:
        return OF_KERNELS if own_kernels else tuple(FAMILIES)
    if isinstance(families, str) or not isinstance(families, Iterable) or not (listed := list(families)):
        raise ValueError(f"`families` must be a non-empty sequence of {', '.join(FAMILIES)}, got {families!r}.")
    return tuple(checks.one_of("families", family, tuple(FAMILIES)) for family in listed)
