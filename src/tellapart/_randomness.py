"""Where randomness enters: the `rng` of a public function becomes a Generator, and a record that repeats it."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_generator(rng: Any) -> tuple[np.random.Generator, dict[str, Any]]:
    """A Generator from a seed, a Generator or None, and what is needed to get the same one again."""
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise type(error)(f"`rng` must be a seed, a numpy.random.Generator or None, got {rng!r}.") from error
    if rng is None or not isinstance(rng, np.random.Generator | np.random.BitGenerator | np.random.RandomState):
        sequence = generator.bit_generator.seed_seq
        if isinstance(sequence, np.random.SeedSequence) and not sequence.spawn_key:
            return generator, {"seed": _plain(sequence.entropy)}
    return generator, {"state": _plain(generator.bit_generator.state)}


def from_record(record: dict[str, Any]) -> Any:
    """A seed, or a Generator in the recorded state."""
    if "seed" in record:
        return record["seed"]
    state = record["state"]
    bit_generator = getattr(np.random, state["bit_generator"])()
    bit_generator.state = state
    return np.random.Generator(bit_generator)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    return int(value) if isinstance(value, int | np.integer) else value
