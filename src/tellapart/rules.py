"""Rules on encoded columns in the words of the table: "age > 41.5", "sex = f", "occupation is missing"."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

from tellapart.inference.regions import Bounds
from tellapart.tables import Encoded
from tellapart.tables.encoders import Amounts, Encoder, Levels
from tellapart.tables.originals import names_of


def rule_words(rule: Sequence[Bounds], table: Encoded) -> tuple[str, ...]:
    """One condition for each encoded column of the rule."""
    if table.encoding is None:
        names = table.columns or names_of(table)
        return tuple(_between(names[b.column], b.low, b.high) for b in rule)
    places = [(encoder, k) for encoder in table.encoding.encoders for k in range(len(encoder.names))]
    marks = {places[b.column][0].source for b in rule if _is_mark(*places[b.column])}
    return tuple(_said(*places[b.column], b, places[b.column][0].source in marks) for b in rule)


def _is_mark(encoder: Encoder, k: int) -> bool:
    """Whether an encoded column says what is missing: it is the last one of its encoder."""
    return bool(getattr(encoder, "marked", False)) and k == len(encoder.names) - 1


def _said(encoder: Encoder, k: int, bounds: Bounds, mark_is_told: bool) -> str:
    source, above = encoder.source, bounds.low > -math.inf
    if _is_mark(encoder, k):
        return f"{source} is {'missing' if above else 'known'}"
    if isinstance(encoder, Levels) and k < len(encoder.own):
        return f"{source} = {encoder.own[k]}" if above else f"{source} is not {encoder.own[k]}"
    if isinstance(encoder, Levels) and encoder.rest and k == len(encoder.own):
        return f"{source} is {'another' if above else 'one of the common'} level{'' if above else 's'}"
    if not (isinstance(encoder, Amounts) and encoder.varies and k == 0):
        return _between(encoder.names[k], bounds.low, bounds.high)
    if encoder.kind == "booleans":
        said = f"{source} is {'true' if above else 'false'}"
    else:
        low, high = (v * encoder.unit + encoder.origin for v in (bounds.low, bounds.high))
        said = _between(source, low, high, encoder.kind)
    fill = (encoder.fill - encoder.origin) / encoder.unit
    filled = encoder.marked and not mark_is_told and bounds.low < fill <= bounds.high
    return said + " or missing" * filled


def _between(name: str, low: float, high: float, kind: str = "numbers") -> str:
    """An interval.

    >>> _between("age", 17.0, math.inf), _between("age", 17.0, 41.5), _between("day", -math.inf, 86400.0, "dates")
    ('age > 17', '17 < age <= 41.5', 'day <= 1970-01-02')
    """
    if high == math.inf:
        return f"{name} > {_value(low, kind)}"
    if low == -math.inf:
        return f"{name} <= {_value(high, kind)}"
    return f"{_value(low, kind)} < {name} <= {_value(high, kind)}"


def _value(value: float, kind: str) -> str:
    if kind == "dates":
        moment = dt.datetime.fromtimestamp(round(value), dt.UTC)
        return moment.strftime("%Y-%m-%d" if moment.time() == dt.time(0) else "%Y-%m-%d %H:%M:%S")
    if kind == "times of day":
        return str(dt.timedelta(seconds=round(value))).rjust(8, "0")
    if kind == "durations":
        return str(dt.timedelta(seconds=value))
    return f"{value:.12g}"
