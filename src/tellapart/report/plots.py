"""The pictures of the report with Matplotlib, from the same dicts. Nothing else in the library imports Matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from tellapart.report.findings import limits_of, place_among, tick_of
from tellapart.report.markup import plain, pvalue_of, shortened
from tellapart.report.style import LIGHT

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpecFromSubplotSpec
    from matplotlib.ticker import FuncFormatter, MaxNLocator
except ImportError as error:
    raise ImportError("plot() needs Matplotlib: pip install 'tellapart[plot]'") from error

_X, _Y, _INK, _FAINT, _QUIET = (LIGHT[name] for name in ("x", "y", "ink", "rule", "quiet"))
_WHAT = "looks like y \N{LEFTWARDS ARROW}  \N{RIGHTWARDS ARROW} looks like x"
_BARS, _PORTRAITS = 12, 4  # columns in the ranking, and with a picture
_STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # a column may be called $x$
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 10,
    "legend.frameon": False,
}


class Picture(Figure):
    """A figure that notebooks show; ``savefig`` writes it to a file."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def explained(title: str, explanation: dict[str, Any]) -> Picture:
    """What the witness says, the columns in their order, the most telling ones, and the map."""
    with rc_context(_STYLE):
        figure = Picture(figsize=(11, 8), layout="constrained")
        figure.suptitle(plain(title), x=0.01, ha="left", fontsize=13)
        grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.15))
        _evidence(figure.add_subplot(grid[0, 0]), explanation["evidence"])
        _map(figure.add_subplot(grid[0, 1]), explanation)
        _ranking(figure.add_subplot(grid[1, 0]), explanation)
        inner = GridSpecFromSubplotSpec(2, 2, grid[1, 1])
        drawn = [c for c in explanation["columns"] if c["portrait"] is not None][:_PORTRAITS]
        for i, column in enumerate(drawn):
            _portrait(figure.add_subplot(inner[i // 2, i % 2]), column)
    return figure


def judged(title: str, values: tuple[Any, Any], null: Any, statistic: float, name: str) -> Picture:
    """Witness values of both samples, and what the null hypothesis made of the statistic."""
    with rc_context(_STYLE):
        figure = Picture(figsize=(10, 3.6), layout="constrained")
        figure.suptitle(plain(title), x=0.01, ha="left", fontsize=13)
        left, right = figure.subplots(1, 2)
        edges = np.histogram_bin_edges(np.concatenate(values), bins=30)
        shares = [np.histogram(v, edges)[0] / max(len(v), 1) for v in values]
        _steps(left, edges, *shares)
        left.set(title="Witness values of the test rows", xlabel=_WHAT, ylabel="share of rows")
        left.locator_params(axis="x", nbins=5)
        left.legend()
        if null is None:
            _empty(right, "This null hypothesis was not drawn.")
            return figure
        right.hist(null, bins=40, color=_QUIET, alpha=0.5)
        right.axvline(statistic, color=_Y, linewidth=2)
        right.set(title="The statistic among its relabellings", xlabel=name, ylabel="relabellings")
    return figure


def _steps(axes: Axes, edges: Any, x: Any, y: Any) -> None:
    """The first sample filled, the second a line."""
    axes.stairs(x, edges, fill=True, color=_X, alpha=0.45, label="x")
    axes.stairs(y, edges, color=_Y, linewidth=1.8, label="y")
    axes.set_ylim(bottom=0)


def _evidence(axes: Axes, evidence: dict[str, Any] | None) -> None:
    if evidence is None:
        _empty(axes, "The witness was not evaluated row by row.")
        return
    edges, bars = evidence["edges"], len(evidence["x"])
    _steps(axes, np.arange(bars + 1), evidence["x"], evidence["y"])  # the outer bars reach to the ends
    marked = {0.0: tick_of(edges[0]), 1.0: tick_of(edges[-1])}
    if edges[0] < 0 < edges[-1]:
        marked[place_among(edges, 0.0)] = "0"
        axes.axvline(bars * place_among(edges, 0.0), color=_QUIET, linestyle=":", linewidth=1)
    axes.set_xticks([bars * place for place in marked], list(marked.values()))
    axes.set(title="What the witness says", xlabel=_WHAT, ylabel="share of rows")
    axes.legend()


def _map(axes: Axes, explanation: dict[str, Any]) -> None:
    places = explanation["map"]
    if places is None:
        _empty(axes, "There are not two columns to draw a map of.")
        return
    limits = np.transpose([limits_of(places, 0), limits_of(places, 1)])
    for which, marker, colour in (("x", "o", _X), ("y", "^", _Y)):
        points = np.clip(np.array(places[which], dtype=float).reshape(-1, 3)[:, :2], *limits)
        face = colour if which == "x" else "none"
        axes.scatter(points[:, 0], points[:, 1], s=16, marker=marker, edgecolors=colour, facecolors=face,
                     linewidths=0.8, alpha=0.7, label=which)  # fmt: skip
    first, second = (plain(name, 40) for name in places["columns"])
    kinds = {column["name"]: column["kind"] for column in explanation["columns"]}
    for axis, name in zip((axes.xaxis, axes.yaxis), places["columns"], strict=True):
        axis.set_major_formatter(FuncFormatter(lambda value, _, kind=kinds.get(name): tick_of(value, kind)))
        axis.set_major_locator(MaxNLocator(5))
    axes.set(title="Map of rows", xlabel=first, ylabel=second)
    axes.legend()


def _ranking(axes: Axes, explanation: dict[str, Any]) -> None:
    columns = explanation["columns"][:_BARS][::-1]
    if not columns:
        _empty(axes, "Columns were not looked at one by one.")
        return
    places = np.arange(len(columns))
    colours = [_INK if c["differs"] else _FAINT for c in columns]
    axes.barh(places, [c["score"] for c in columns], color=colours, height=0.6)
    axes.set_yticks(places, [plain(c["name"], 28) for c in columns])
    for place, c in enumerate(columns):
        told = f" p = {pvalue_of(c['pvalue'])}{' differs' if c['differs'] else ''}"
        axes.text(max(c["score"], 0), place, told, va="center", fontsize=8)
    axes.margins(x=0.3)
    axes.set(title=f"Columns, p-values corrected for all {len(explanation['columns'])}", xlabel="score")


def _portrait(axes: Axes, column: dict[str, Any]) -> None:
    portrait = column["portrait"]
    axes.set_title(plain(column["name"], 26), fontsize=9)
    if portrait["kind"] == "histogram":
        _steps(axes, np.arange(len(portrait["x"]) + 1), portrait["x"], portrait["y"])
        _label_ends(axes, portrait["labels"])
        return
    places = np.arange(len(portrait["labels"]))[::-1]
    axes.hlines(places, portrait["x"], portrait["y"], color=_QUIET, linewidth=1.2)
    axes.plot(portrait["x"], places, "o", color=_X, markersize=5)
    axes.plot(portrait["y"], places, "^", color=_Y, markersize=5)
    axes.set_yticks(places, [plain(label, 12) for label in portrait["labels"]], fontsize=8)
    axes.set_xlim(left=0)
    axes.margins(y=0.15)


def _label_ends(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_xticks([0, len(labels) - 1], [plain(shortened(labels[i], 14)) for i in (0, -1)], fontsize=8)
    first, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    axes.set_yticks([])


def _empty(axes: Axes, words: str) -> None:
    axes.set_axis_off()
    axes.text(0, 0.5, words, color=_QUIET, transform=axes.transAxes)
