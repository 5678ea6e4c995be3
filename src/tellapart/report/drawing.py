"""Pictures as SVG: no script, no fonts of their own, colours from the style sheet, words for those who do not see them.

Lengths across are shares of the width and lengths down are pixels, so that pictures fit any screen while their letters
keep their size. The samples are told apart by shape as well as colour: x is filled or a circle, y a line or a triangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from tellapart.report.markup import Markup, joined, number, plain, share, tag

Shares = Sequence[float]
Cells = Sequence[Shares]
Point = Sequence[float]

_LINE = 21  # pixels from one level to the next
_CELL = 17  # pixels, height of a cell of a heat map
_SHORT = 17  # characters of a label of a heat map
_LABEL = 22  # characters of a label beside a picture
_ROOM = "44%"  # of the width, for the labels of levels


def marks() -> Markup:
    """The two marks, once for all pictures."""
    circle = tag("circle", id="mark-x", r=4)
    triangle = tag("path", id="mark-y", d="M0-5L4.6 3.4H-4.6Z")
    return tag("svg", tag("defs", circle, triangle), width=0, height=0, class_="nowhere", aria_hidden="true")


def key_of(which: str) -> Markup:
    """The mark of a sample, beside its name in a line of text."""
    mark = tag("use", href=f"#mark-{which}", x=6, y=6)
    return tag("svg", mark, class_=f"key {which}", width=12, height=12, aria_hidden="true")


def histogram(
    key: str, title: str, labels: Sequence[str], x: Shares, y: Shares, *, height: int = 84, zero: float | None = None
) -> Markup:
    """Both samples over the same bins: x a filled area, y a line. `labels` are the edges, `zero` a place to mark."""
    top = max(chain(x, y), default=0.0) or 1.0
    bars = tag(
        "svg",
        tag("path", class_="area x", d=_outline(x, top, height) + "Z"),
        tag("path", class_="steps y", d=_outline(y, top, height)),
        y=18,
        width="100%",
        height=height,
        viewBox=f"0 0 {len(x)} {height}",
        preserveAspectRatio="none",
    )
    shapes = [tag("line", class_="axis", x2="100%", y1=height + 18, y2=height + 18), bars]
    shapes.append(tag("text", f"{share(top)} of rows", y=11, class_="quiet"))
    ticks = _ticks(labels, None if zero is None else ("0", zero))
    if zero is not None:
        shapes.append(tag("line", class_="zero", x1=_percent(zero), x2=_percent(zero), y1=4, y2=height + 18))
    words = [tag("text", word, x=_percent(at), y=height + 33, text_anchor=anchor) for word, at, anchor in ticks]
    return _drawn(key, title, _told(labels, x, y), height + 38, *shapes, *words)


def levels(key: str, title: str, labels: Sequence[str], x: Shares, y: Shares) -> Markup:
    """The share of each level in both samples: a circle for x, a triangle for y, and a line between them."""
    top = max(chain(x, y), default=0.0) or 1.0
    rows = [_level(i, label, a / top, b / top) for i, (label, a, b) in enumerate(zip(labels, x, y, strict=True))]
    end = len(rows) * _LINE
    scale = tag(
        "svg",
        tag("line", class_="axis", x2="100%", y1=2, y2=2),
        tag("text", "0", y=16),
        tag("text", share(top), x="100%", y=16, text_anchor="end"),
        x=_ROOM,
        y=end,
        width="52%",
        class_="open",
    )
    each = zip(labels, x, y, strict=True)
    said = "; ".join(f"{plain(label)}: {share(a)} of x, {share(b)} of y" for label, a, b in each)
    return _drawn(key, title, said, end + 22, *rows, scale)


def between(key: str, title: str, x: float, y: float, top: float) -> Markup:
    """One line of :func:`levels`, for a cell of a table."""
    track = tag("svg", *_pair_of_marks(x / top, y / top, 8), x="5%", width="90%", class_="open")
    return _drawn(key, title, f"{share(x)} of x, {share(y)} of y", 16, track)


def heat_maps(key: str, names: Sequence[str], labels: Sequence[Sequence[str]], x: Cells, y: Cells) -> Markup:
    """The joint distribution of two columns in each sample, the first upwards; the stronger, the more."""
    top = max(chain(*x, *y), default=0.0) or 1.0
    high = len(labels[0]) * _CELL
    feet = 18 + 5 * max(len(plain(label, _SHORT)) for label in labels[1])  # pixels, for the turned labels below
    words = [
        tag("text", plain(label, _SHORT), x="100%", y=(i + 0.5) * _CELL + 4, text_anchor="end")
        for i, label in enumerate(reversed(labels[0]))
    ]
    side = tag("svg", *words, class_="side", width="100%", height=high + feet, aria_hidden="true")
    title = f"{plain(names[0], 60)} upwards, {plain(names[1], 60)} across, in"
    panels = [
        _drawn(f"{key}-{which}", f"{title} {which}", _densest(labels, cells), high + feet, *_cells(cells, top, which),
               *_feet(labels[1], high), class_="open")
        for which, cells in (("x", x), ("y", y))
    ]  # fmt: skip
    return tag("div", side, *panels, class_="heat")


def scatter(key: str, title: str, said: str, x: Sequence[Point], y: Sequence[Point], height: int = 380) -> Markup:
    """Rows of both samples at (a, b), both within 0 to 1, drawn by their evidence.

    The shape is the sample; filled speaks for x, hollow for y; the stronger the evidence, the stronger the colour.
    """
    strong = sorted(abs(point[2]) for point in chain(x, y))
    steps = [strong[len(strong) * k // 3] for k in (1, 2)] if strong else [0.0, 0.0]
    groups: dict[str, list[Markup]] = {}
    for which, points in (("x", x), ("y", y)):
        for a, b, evidence in points:
            strength = sum(abs(evidence) >= step for step in steps)
            place = tag("use", href=f"#mark-{which}", x=_percent(a), y=number((1 - b) * (height - 24) + 12, 1))
            groups.setdefault(f"{'for-x' if evidence > 0 else 'for-y'} strength-{strength}", []).append(place)
    drawn = [tag("g", *places, class_=name) for name, places in sorted(groups.items(), key=lambda item: item[0][-1])]
    return _drawn(key, title, said, height, *drawn, class_="map")


def _drawn(key: str, title: str, said: str, height: int, *shapes: Markup, class_: str | None = None) -> Markup:
    """A picture with its name and its words."""
    return tag(
        "svg",
        tag("title", title, id=f"{key}-title"),
        tag("desc", said, id=f"{key}-words"),
        *shapes,
        class_=class_,
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-words",
        width="100%",
        height=height,
    )


def _outline(shares: Shares, top: float, height: int) -> str:
    """The contour of bars of width one."""
    tops = (number(height * (1 - s / top), 1) for s in shares)
    return f"M0 {height}" + "".join(f"V{t}H{i}" for i, t in enumerate(tops, 1)) + f"V{height}"


def _ticks(labels: Sequence[str], middle: tuple[str, float] | None) -> list[tuple[str, float, str]]:
    """The first and the last label below a picture, and one between them, where there is room for it."""
    last = len(labels) - 1
    if middle is None:
        middle = (plain(labels[last // 2], _LABEL), (last // 2) / max(last, 1))
    ticks = [(plain(labels[0], _LABEL), 0.0, "start"), (plain(labels[last], _LABEL), 1.0, "end")]
    if 0.25 <= middle[1] <= 0.75 and max(len(word) for word, _, _ in ticks) + len(middle[0]) <= _LABEL + 8:
        ticks.append((*middle, "middle"))
    return ticks


def _level(i: int, label: str, a: float, b: float) -> Markup:
    y = i * _LINE
    word = tag("svg", tag("text", plain(label, _LABEL), y=15), y=y, width="40%", height=_LINE)
    track = tag("svg", *_pair_of_marks(a, b, 11), x=_ROOM, y=y, width="52%", height=_LINE, class_="open")
    return joined(word, track)


def _pair_of_marks(a: float, b: float, y: int) -> list[Markup]:
    return [
        tag("line", class_="track", x2="100%", y1=y, y2=y),
        tag("line", class_="join", x1=_percent(a), x2=_percent(b), y1=y, y2=y),
        tag("use", href="#mark-x", class_="x", x=_percent(a), y=y),
        tag("use", href="#mark-y", class_="y", x=_percent(b), y=y),
    ]


def _cells(cells: Cells, top: float, which: str) -> list[Markup]:
    """Shares as strength of colour, by their square root, so that faint cells are seen."""
    wide = 100 / max(len(cells[0]), 1) if cells else 100
    frame = tag("rect", class_="frame", width="100%", height=len(cells) * _CELL)
    drawn = [
        tag("rect", x=f"{number(j * wide)}%", y=i * _CELL, width=f"{number(wide)}%", height=_CELL,
            fill_opacity=number((s / top) ** 0.5))
        for i, row in enumerate(reversed(cells))
        for j, s in enumerate(row)
        if s > 0
    ]  # fmt: skip
    return [frame, tag("g", *drawn, class_=f"cells {which}")]


def _feet(labels: Sequence[str], high: int) -> list[Markup]:
    """Labels below the cells, turned."""
    return [
        tag("svg", tag("text", plain(label, _SHORT), transform="rotate(-60)", text_anchor="end"),
            x=_percent((j + 0.65) / len(labels)), y=high + 10, class_="open")
        for j, label in enumerate(labels)
    ]  # fmt: skip


def _densest(labels: Sequence[Sequence[str]], cells: Cells) -> str:
    """The fullest cells, for those who do not see the picture."""
    ranked = sorted(((s, i, j) for i, row in enumerate(cells) for j, s in enumerate(row)), key=lambda c: (-c[0], c[1:]))
    full = (f"{plain(labels[0][i])} with {plain(labels[1][j])}: {share(s)}" for s, i, j in ranked[:3])
    return "Fullest cells: " + "; ".join(full)


def _told(labels: Sequence[str], x: Shares, y: Shares) -> str:
    """The bars in words."""
    bins = zip(labels, labels[1:], x, y, strict=False)
    return "; ".join(f"{plain(low)} to {plain(high)}: {share(a)} of x, {share(b)} of y" for low, high, a, b in bins)


def _percent(value: float) -> str:
    return f"{number(100 * value)}%"
