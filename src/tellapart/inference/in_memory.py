"""All voices on rows that fit in memory: exact kernel matrices on few rows, few features for each kernel on more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart._threads import side_by_side
from tellapart.inference.exchange import Exchange, Relabellings
from tellapart.inference.leave_one_out import LeftOut, RidgeGrid, Spectrum
from tellapart.inference.voices import KernelVoice, Voice, column_voices, exact_voice
from tellapart.inference.whole_sample import OF_KERNELS, Hearing, evidence, heard
from tellapart.kernels import Kernel
from tellapart.landmarks import FeatureMap, captured_words, pivots
from tellapart.pairs import Pairs, Shares

Values = NDArray[np.float64]
Matrix = NDArray[np.float64]

EXACT_ROWS = 600  # the decomposition of a matrix of this size takes 30 ms, of one twice as large 250 ms
RANK = 320  # features of a kernel: two and a half times the largest number of degrees of freedom
_LEAST_RANK = 160
PILOT_ROWS = 2000  # rows among which landmarks are found
_JUDGED = 200  # rows on which the error of the features is measured


@dataclass(frozen=True, eq=False)
class InMemory:
    """Voices, and how the kernels were computed, in words."""

    voices: tuple[Voice, ...]
    words: str

    @classmethod
    def of(
        cls,
        z: Matrix,
        kernels: Sequence[Kernel],
        ridges: RidgeGrid,
        families: Collection[str],
        exchange: Exchange,
        rng: np.random.Generator,
        shares: Shares = None,
        rank: int = RANK,
    ) -> InMemory:
        """Prepare everything that does not need labels."""
        weights = None if (exchange.weights == 1).all() else exchange.weights
        left_out = LeftOut.of(exchange.together)
        voices: list[Voice] = []
        words = f"exact kernel matrices of {len(z)} rows"
        if set(families) & set(OF_KERNELS):
            if len(z) <= EXACT_ROWS:
                pairs = Pairs(z, z)
                found = side_by_side(lambda k: exact_voice(k, pairs, weights, ridges, left_out), kernels, "kernels")
            else:
                found, words = few_features(z, kernels, weights, ridges, left_out, rank, rng)
            voices += [voice for voice in found if voice is not None]
        if set(families) - set(OF_KERNELS):
            voices += column_voices(z, weights, shares)
        return cls(tuple(voices), words)

    def heard(self, relabellings: Relabellings, families: Collection[str], stop_after: int | None) -> Hearing | None:
        """The verdict of the given families."""
        return heard(self.voices, relabellings, families, stop_after)

    def evidence(self, hearing: Hearing, relabellings: Relabellings) -> Values | None:
        """Left-out witness value of every row."""
        return evidence(self.voices, hearing, relabellings.contrast(columns=slice(0, 1))[:, 0])


def few_features(
    z: Matrix,
    kernels: Sequence[Kernel],
    weights: Values | None,
    ridges: RidgeGrid,
    left_out: LeftOut,
    rank: int,
    rng: np.random.Generator,
) -> tuple[list[KernelVoice | None], str]:
    """Voices of kernels by features from landmarks that all kernels share, and how much of the kernels they capture."""
    pilot = z[rng.choice(len(z), min(len(z), PILOT_ROWS), replace=False)]
    rank = min(rank, max(_LEAST_RANK, len(z) // 4))
    landmarks = pilot[pivots(kernels[len(kernels) // 8], pilot, rank, rng)]
    pairs = Pairs(z, landmarks)
    some = z[rng.choice(len(z), min(len(z), _JUDGED), replace=False)]

    def voice(kernel: Kernel) -> tuple[KernelVoice | None, float]:
        mapped = FeatureMap.of(kernel, landmarks)
        phi = mapped.features(pairs)
        potential = phi @ (phi.mean(axis=0) if weights is None else weights @ phi / len(z))
        spectrum = Spectrum.of_features(phi, weights)
        return KernelVoice.of(kernel, spectrum, potential, ridges, left_out), mapped.captured(some)

    found = side_by_side(voice, kernels, "features of the kernels")
    return [v for v, _ in found], captured_words(len(landmarks), [share for _, share in found])
