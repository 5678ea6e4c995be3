"""Where two samples differ: the dict of an explanation ("where 1") -> the middle of the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from tellapart.report import drawing
from tellapart.report.markup import Markup, joined, name_of, number, plain, pvalue_of, share, tag

_DRAWN, _OTHERS = 60, 3  # columns that get a picture: those that differ, and a few more
_PAIRS = 5  # that are seen at once
_LISTED = 1000  # columns, in the table of all
_IN_ROWS = 6  # columns in the tables of rows
_SHORT = 19  # characters of a date with its time
_LONG_NUMBER = re.compile(r"-?\d{1,12}\.\d{5,25}")


_KEY = (
    tag("span", "", class_="swatch x", aria_hidden="true"),
    drawing.key_of("x"),
    " x: filled, or a circle",
    tag("span", "", class_="swatch y", aria_hidden="true"),
    drawing.key_of("y"),
    " y: a line, or a triangle. Shares of the rows of each sample.",
)


@dataclass(frozen=True)
class Section:
    """A part of the page: its name in links, its name in the list of contents, its title, and what it holds."""

    key: str
    short: str
    title: str
    body: Markup

    def drawn(self) -> Markup:
        head = tag("h2", self.title, id=f"{self.key}-title")
        return tag("section", head, self.body, id=self.key, aria_labelledby=f"{self.key}-title")


def sections_of(explanation: dict[str, Any]) -> Iterator[Section]:
    """The parts of the explanation in the order of the page; what is missing says so in a sentence."""
    yield Section("witness", "Witness", "What the witness says", _evidence(explanation["evidence"]))
    yield Section("columns", "Columns", "Columns", _columns(explanation))
    yield Section("pairs", "Pairs", "Pairs of columns", _pairs(explanation))
    yield Section("subgroups", "Sub-groups", "Sub-groups", _subgroups(explanation))
    yield Section("rows", "Rows", "Most telling rows", _rows(explanation))
    yield Section("map", "Map", "Map of the witness", _map(explanation))


def absent(what: str) -> Markup:
    """A part that is not there, and why it may be."""
    return tag("p", what, class_="quiet")


def _evidence(evidence: dict[str, Any] | None) -> Markup:
    if evidence is None:
        return absent("The witness was not evaluated row by row here, so there is no picture of its values.")
    edges = evidence["edges"]
    zero = place_among(edges, 0.0) if edges[0] < 0 < edges[-1] else None
    labels = [tick_of(edge) for edge in edges]
    picture = drawing.histogram(
        "witness-values", "Witness values of both samples", labels, evidence["x"], evidence["y"], height=150, zero=zero
    )
    words = (
        "For each row, the value of a witness that was learned from all the others: positive where a row looks like x, "
        "negative where it looks like y. The further apart the two curves, the more rows can be told apart."
    )
    ends = tag("p", tag("span", "← looks like y"), tag("span", "looks like x →"), class_="ends", aria_hidden="true")
    return joined(tag("p", words), tag("figure", picture, ends, tag("figcaption", *_KEY)))


def place_among(edges: Sequence[float], value: float) -> float:
    """Where a value lies if every bar is equally wide: the outer ones, which reach to the ends, are not.

    >>> place_among([-9.0, -1.0, 1.0], 0.0)
    0.75
    """
    i = max(k for k, edge in enumerate(edges[:-1]) if edge <= value)
    return (i + (value - edges[i]) / (edges[i + 1] - edges[i])) / (len(edges) - 1)


def _columns(explanation: dict[str, Any]) -> Markup:
    columns = explanation["columns"]
    if not columns:
        return absent("Columns were not looked at one by one here.")
    differing = [c for c in columns if c["differs"]]
    drawn = [c for c in columns if c["differs"]][:_DRAWN]
    drawn += [c for c in columns if not c["differs"]][:_OTHERS]
    rank = {id(c): i for i, c in enumerate(columns, 1)}
    items = [_column(rank[id(c)], c) for c in drawn]
    return joined(
        _said_of_columns(len(differing), len(columns), explanation),
        tag("p", *_KEY, class_="quiet"),
        tag("div", *items, class_="columns"),
        _all_columns(columns) if len(columns) > len(drawn) else None,
    )


def _said_of_columns(differing: int, count: int, explanation: dict[str, Any]) -> Markup:
    level = f"{explanation['level']:g}"
    found = f"{differing} of {_many(count, 'column')} differ{'s' * (differing == 1)}"
    if not differing:
        found = "The only column does not differ" if count == 1 else f"None of {count} columns differs by itself"
    words = (
        f"{found} at level {level}. P-values are corrected for all {count} by {explanation['draws']} relabellings: the "
        f"chance to mark any column that does not differ is at most {level}."
    )
    return tag("p", words)


def _column(rank: int, column: dict[str, Any]) -> Markup:
    key = f"column-{rank}"
    title = tag("h3", tag("span", rank, class_="rank"), " ", name_of(column["name"]))
    facts = tag("p", _strength(column), class_="quiet")
    text = tag("div", title, tag("p", plain(column["change"])), facts)
    return tag("article", text, _portrait(key, column), class_="column" if column["differs"] else "column faint")


def _strength(found: dict[str, Any]) -> Markup:
    told = "differs" if found["differs"] else "no difference found"
    kind = f"{found['kind']} · " if "kind" in found else ""
    p = joined(
        f": p = {pvalue_of(found['pvalue'])} ", tag("span", f"({pvalue_of(found['alone'])} alone)", class_="whole")
    )
    return joined(kind, tag("strong", told) if found["differs"] else told, p)


def _portrait(key: str, column: dict[str, Any]) -> Markup:
    portrait = column["portrait"]
    if portrait is None:
        return tag("p", "No picture: only the most telling columns have one.", class_="quiet")
    title = f"{plain(column['name'], 60)} in both samples"
    draw = drawing.histogram if portrait["kind"] == "histogram" else drawing.levels
    parts = [draw(key, title, portrait["labels"], portrait["x"], portrait["y"])]
    missing = portrait["missing"]
    if portrait["kind"] == "histogram" and any(missing):
        parts.append(tag("figcaption", f"Missing: {share(missing[0])} of x, {share(missing[1])} of y."))
    if column["kind"] == "free text":
        parts.append(tag("figcaption", "Lengths of the texts, in characters."))
    return tag("figure", *parts)


def _all_columns(columns: Sequence[dict[str, Any]]) -> Markup:
    listed = columns[:_LISTED]
    lines = [
        (name_of(c["name"]), c["kind"], plain(c["change"], 120), pvalue_of(c["alone"]), pvalue_of(c["pvalue"]))
        for c in listed
    ]
    more = f", the {_LISTED} most telling" if len(columns) > _LISTED else ""
    heads = ("column", "kind", "x and y", "p alone", "p corrected")
    inside = table("all-columns", f"All {len(columns)} columns{more}, most telling first", heads, lines, numeric=(3, 4))
    return tag("details", tag("summary", f"All {len(columns)} columns in a table"), inside)


def _pairs(explanation: dict[str, Any]) -> Markup:
    pairs, tried = explanation["pairs"], explanation["pairs_tried"]
    if not tried:
        return absent("Pairs of columns were not looked at here.")
    differing = [p for p in pairs if p["differs"]]
    shown = differing or pairs[:1]
    words = f"Differences in how two columns go together, which neither shows by itself. {_many(tried, 'pair')} tried; "
    found = f"{len(differing)} differ{'s' * (len(differing) == 1)}" if differing else "none differs"
    words += f"{found} at level {explanation['level']:g}, corrected for all of them."
    if not differing and pairs:
        words += " The loudest one:"
    drawn = [_pair(i, p) for i, p in enumerate(shown, 1)]
    if len(drawn) > _PAIRS + 1:
        more = tag("summary", f"{len(drawn) - _PAIRS} more pairs")
        drawn[_PAIRS:] = [tag("details", more, *drawn[_PAIRS:])]
    return joined(tag("p", words), *drawn)


def _pair(rank: int, pair: dict[str, Any]) -> Markup:
    first, second = (name_of(name) for name in pair["names"])
    title = tag("h3", tag("span", rank, class_="rank"), " ", first, " and ", second)
    portrait = pair["portrait"]
    parts = [title, tag("p", plain(pair["change"])), tag("p", _strength(pair), class_="quiet")]
    if portrait is not None:
        picture = drawing.heat_maps(f"pair-{rank}", pair["names"], portrait["labels"], portrait["x"], portrait["y"])
        caption = tag("figcaption", first, " upwards, ", second, " across: x left, y right. Stronger is more.")
        parts.append(tag("figure", picture, caption))
    return tag("article", *parts, class_="pair")


def _subgroups(explanation: dict[str, Any]) -> Markup:
    groups = explanation["subgroups"]
    if not groups:
        why = "; ".join(plain(note) for note in explanation["notes"] if "sub-group" in note)
        return absent(f"None: {why or 'no part of the rows stands out'}.")
    differing = [g for g in groups if g["differs"]]
    found = f"{len(differing)} of {_many(len(groups), 'part')} differ{'s' * (len(differing) == 1)}"
    words = (
        "Parts of the tables that the witness learned on one half of the rows, counted on the other half, so that the "
        f"counts are honest ({groups[0]['n']} + {groups[0]['m']} rows). {found if differing else 'None differs'} at "
        f"level {explanation['level']:g}, corrected for all {len(groups)}; each interval holds with confidence "
        f"{1 - explanation['level']:.0%} by itself."
    )
    others = [g for g in groups if not g["differs"]]
    folded = tag("summary", f"{_many(len(others), 'part')} with no difference found")
    return joined(
        tag("p", words),
        _group_table("groups", "Sub-groups that differ: shares of the samples", differing) if differing else None,
        tag("details", folded, _group_table("others", "The other parts", others)) if others else None,
    )


def _group_table(key: str, caption: str, groups: Sequence[dict[str, Any]]) -> Markup:
    top = max(chain.from_iterable((g["share_x"], g["share_y"]) for g in groups)) or 1.0
    lines = [_subgroup(f"{key}-{i}", group, top) for i, group in enumerate(groups, 1)]
    heads = ("sub-group", "of x", "of y", "in a picture", "y - x, interval", "p corrected")
    return table(key, caption, heads, lines, numeric=(1, 2, 4, 5))


def _subgroup(key: str, group: dict[str, Any], top: float) -> tuple[object, ...]:
    rule = joined(*(tag("span", plain(part, 120), class_="rule") for part in group["rule"]))
    picture = drawing.between(key, "Shares of both samples in this part", group["share_x"], group["share_y"], top)
    p = pvalue_of(group["pvalue"])
    return (
        rule,
        share(group["share_x"]),
        share(group["share_y"]),
        picture,
        f"{_points(group['low'])} to {_points(group['high'])}",
        tag("strong", f"{p} differs") if group["differs"] else p,
    )


def _points(value: float) -> str:
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{number(100 * abs(value), 1)}%"


def _rows(explanation: dict[str, Any]) -> Markup:
    rows = explanation["rows"]
    if not rows["x"] and not rows["y"]:
        return absent("No row could be judged by itself here.")
    names = _names_in_rows(explanation)
    some = next(iter(chain(rows["x"], rows["y"])))["values"]
    words = (
        "The rows that look most like their own sample and least like the other, by a witness that had not seen them. "
    )
    words += "The first row of a table is row 0."
    if len(some) > len(names):
        words += f" The {len(names)} most telling of {len(some)} columns are shown."
    tables = [_row_table(which, rows[which], names) for which in ("x", "y") if rows[which]]
    return joined(tag("p", words), *tables)


def _names_in_rows(explanation: dict[str, Any]) -> list[str]:
    held = next(iter(chain(*explanation["rows"].values())))["values"]
    ranked = [c["name"] for c in explanation["columns"] if c["name"] in held]
    telling = [n for p in explanation["pairs"] if p["differs"] for n in p["names"] if n in held]
    differing = [c["name"] for c in explanation["columns"] if c["differs"] and c["name"] in held]
    return list(dict.fromkeys([*differing, *telling, *ranked, *held]))[:_IN_ROWS]


def _row_table(which: str, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Markup:
    most = 30 if len(names) > _IN_ROWS // 2 else 80
    lines = [
        (row["row"], number(row["evidence"], 2), *(_value(row["values"].get(name, ""), most) for name in names))
        for row in rows
    ]
    heads = ("row", "witness", *(name_of(name, 30) for name in names))
    return table(
        f"rows-{which}",
        joined(drawing.key_of(which), f" Rows that look most like {which}"),
        heads,
        lines,
        numeric=(0, 1),
    )


def _value(text: str, most: int) -> Markup:
    """A value of the user's: a long number with six digits, and what is short on one line."""
    shown = f"{float(text):.6g}" if _LONG_NUMBER.fullmatch(text) else text
    return tag("span", name_of(shown, most), class_="whole" if len(shown) <= _SHORT else None)


def table(
    key: str, caption: object, heads: Sequence[object], lines: Sequence[Sequence[object]], numeric: Sequence[int] = ()
) -> Markup:
    """A table that scrolls by itself where it is too wide; the first cell of a line is its head."""
    head = tag("tr", *(tag("th", h, scope="col", class_="n" if i in numeric else None) for i, h in enumerate(heads)))
    body = [
        tag(
            "tr",
            tag("th", line[0], scope="row", class_="n" if 0 in numeric else None),
            *(tag("td", cell, class_="n" if i in numeric else None) for i, cell in enumerate(line[1:], 1)),
        )
        for line in lines
    ]
    named = f"{key}-caption"
    inside = tag("table", tag("caption", caption, id=named), tag("thead", head), tag("tbody", *body))
    return tag("div", inside, class_="wide", tabindex="0", role="group", aria_labelledby=named)


def _map(explanation: dict[str, Any]) -> Markup:
    places = explanation["map"]
    if places is None:
        return absent("There are not two columns to draw a map of.")
    (low_a, high_a), (low_b, high_b) = (limits_of(places, axis) for axis in (0, 1))
    drawn = {
        which: [(_within(a, low_a, high_a), _within(b, low_b, high_b), e) for a, b, e in places[which]]
        for which in ("x", "y")
    }
    first, second = (name_of(name) for name in places["columns"])
    kinds = {column["name"]: column["kind"] for column in explanation["columns"]}
    span_a, span_b = (
        f"{tick_of(low, kind)} to {tick_of(high, kind)}"
        for low, high, kind in zip((low_a, low_b), (high_a, high_b), map(kinds.get, places["columns"]), strict=True)
    )
    names = " and ".join(plain(name, 60) for name in places["columns"])
    said = f"{len(drawn['x'])} rows of x as circles, {len(drawn['y'])} rows of y as triangles"
    picture = drawing.scatter("map-of-rows", f"Rows of both samples by {names}", said, drawn["x"], drawn["y"])
    across = tag("p", tag("span", ""), tag("span", first, f", {span_a} →"), class_="ends")
    upwards = tag("p", tag("span", "↑ ", second, f", {span_b}"), class_="ends")
    words = tag("p", "Where the witness sees x and where y, over the two columns that tell most together.")
    return joined(words, tag("figure", upwards, picture, across, _map_key()))


def _map_key() -> Markup:
    return tag(
        "figcaption",
        drawing.key_of("x"),
        " a row of x, ",
        drawing.key_of("y"),
        " a row of y. Filled and blue where the witness says x, hollow and orange where it says y; stronger colour, "
        "stronger evidence. Rows far outside are drawn at the edge.",
    )


def limits_of(places: dict[str, Any], axis: int) -> tuple[float, float]:
    """Most rows lie within; a few far ones would press all others into a corner."""
    values = sorted(point[axis] for point in chain(places["x"], places["y"]))
    cut = len(values) // 100
    return values[cut], values[len(values) - 1 - cut]


def _within(value: float, low: float, high: float) -> float:
    """The place between both limits, with a little room at the edges."""
    place = (value - low) / (high - low) if high > low else 0.5
    return 0.02 + 0.96 * min(max(place, 0.0), 1.0)


def tick_of(value: float, kind: str | None = None) -> str:
    """A value beside a picture; times come in seconds.

    >>> tick_of(0.12345), tick_of(86400.0, "dates"), tick_of(3600.0, "times of day"), tick_of(90.0, "durations")
    ('0.123', '1970-01-02', '01:00', '0:01:30')
    """
    if kind == "dates":
        return str((datetime(1970, 1, 1) + timedelta(seconds=value)).date())
    if kind == "times of day":
        return f"{int(value) // 3600:02d}:{int(value) // 60 % 60:02d}"
    return str(timedelta(seconds=round(value))) if kind == "durations" else f"{value:.3g}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
