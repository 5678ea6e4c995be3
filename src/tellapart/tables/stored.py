"""What was learned from the columns of a table -> JSON and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart.tables import Encoding
from tellapart.tables.encoders import DAY, WEEK, YEAR, Amounts, Constant, Encoder, Levels, Texts
from tellapart.tables.reading import Kind

Arrays = dict[str, NDArray[Any]]

_CYCLES = {cycle.name: cycle for cycle in (DAY, WEEK, YEAR)}


def plain_encoding(encoding: Encoding, arrays: Arrays) -> list[dict[str, Any]]:
    """One description for each encoder; what is large goes to `arrays`."""
    return [_plain(encoder, i, arrays) for i, encoder in enumerate(encoding.encoders)]


def restored_encoding(described: list[dict[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> Encoding:
    """The encoding again."""
    return Encoding(tuple(_restored(own, i, arrays) for i, own in enumerate(described)))


def _plain(encoder: Encoder, i: int, arrays: Arrays) -> dict[str, Any]:
    if isinstance(encoder, Texts):
        arrays[f"directions_{i}"] = encoder.directions
        return {"class": "Texts", "source": encoder.source, "marked": encoder.marked}
    if isinstance(encoder, Levels):
        own = {name: getattr(encoder, name) for name in ("source", "rest", "marked")}
        return {"class": "Levels", **own, "own": list(encoder.own), "counts": dict(encoder.counts)}
    if isinstance(encoder, Amounts):
        return {"class": "Amounts", **asdict(encoder), "cycles": [cycle.name for cycle in encoder.cycles]}
    return {"class": "Constant", "source": encoder.source}


def _restored(own: dict[str, Any], i: int, arrays: Mapping[str, NDArray[Any]]) -> Encoder:
    source, made = _text(own["source"]), own["class"]
    if made == "Texts":
        directions = np.asarray(arrays[f"directions_{i}"], dtype=np.float64)
        if directions.ndim != 2:
            raise ValueError(f"the directions of a text are of shape {directions.shape}")
        return Texts(source, directions, bool(own["marked"]))
    if made == "Levels":
        counts = {_text(level): checks.whole("counts", count) for level, count in own["counts"].items()}
        levels = tuple(_text(level) for level in own["own"])
        return Levels(source, levels, _text(own["rest"]), counts, bool(own["marked"]))
    if made == "Amounts":
        return Amounts(
            source,
            checks.one_of("kind", own["kind"], get_args(Kind)),
            _text(own["words"]),
            fill=float(own["fill"]),
            origin=float(own["origin"]),
            unit=checks.positive("unit", own["unit"]),
            varies=bool(own["varies"]),
            marked=bool(own["marked"]),
            cycles=tuple(_CYCLES[name] for name in own["cycles"]),
        )
    return Constant(_text(source))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
