"""The league as a dot plot: a row per problem, power to the right, ours filled, every peer its own open shape."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.power.peers import OURS, PEERS, SPLITS
from benchmarks.power.standings import LEVEL, Row

SHAPES = dict(zip((*PEERS, *SPLITS), "sD^v<>pxP", strict=True))
# Okabe and Ito's palette, and shapes that tell the tests apart without it
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F", "#000000", "#000000")


def draw(rows: list[Row], path: Path) -> None:
    """One panel for the problems used while choosing, one for those aside, one without a difference."""
    parts = {
        "looked at while choosing": [r for r in rows if not r.problem.aside and not r.problem.null],
        "kept aside": [r for r in rows if r.problem.aside],
        "no difference: the level": [r for r in rows if r.problem.null],
    }
    parts = {title: part for title, part in parts.items() if part}
    if not parts:
        return
    heights = [len(part) + 2 for part in parts.values()]
    size = (9, 0.27 * sum(heights) + 1.2)
    ratios = {"height_ratios": heights, "squeeze": False, "layout": "constrained"}
    figure, panels = plt.subplots(len(parts), 1, figsize=size, **ratios)
    for axes, (title, part) in zip(panels[:, 0], parts.items(), strict=True):
        panel(axes, title, part)
    panels[-1, 0].set_xlabel(f"rejection rate at level {LEVEL:g}")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, fontsize=8, frameon=False)
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


def panel(axes: plt.Axes, title: str, part: list[Row]) -> None:
    part = sorted(part, key=lambda r: r.problem.group)
    height = range(len(part), 0, -1)
    offsets = np.linspace(0.3, -0.3, len(SHAPES))  # so that equal rates do not hide each other
    for (test, shape), colour, up in zip(SHAPES.items(), COLOURS, offsets, strict=True):
        at = [(r.rate(test), h + up) for r, h in zip(part, height, strict=True) if test in r.pvalues]
        if at:
            filled = {"color": colour} if shape == "x" else {"facecolors": "none", "edgecolors": colour}
            axes.scatter(*zip(*at, strict=True), s=22, marker=shape, linewidths=1.1, label=test, zorder=2, **filled)
    best = [(max(r.problem.published.values()), h) for r, h in zip(part, height, strict=True) if r.problem.published]
    if best:
        axes.scatter(*zip(*best, strict=True), s=70, marker="|", color="black", label="best published", zorder=2)
    ours = [(r.rate(OURS), h, r.error(OURS)) for r, h in zip(part, height, strict=True) if OURS in r.pvalues]
    if ours:
        x, y, error = zip(*ours, strict=True)
        style = {"fmt": "o", "color": "black", "markersize": 7, "elinewidth": 1, "label": OURS, "zorder": 3}
        axes.errorbar(x, y, xerr=error, **style)
    axes.axvline(LEVEL, color="0.4", linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
    axes.set_yticks(list(height), [r.problem.name for r in part], fontsize=7.5)
    axes.set(xlim=(-0.02, 1.02), ylim=(0.3, len(part) + 0.7))
    axes.set_title(title, fontsize=9, loc="left")
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
