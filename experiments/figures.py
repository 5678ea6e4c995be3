"""Pictures of the experiments: readable without colour, +- one standard error, the level where it matters."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from tellapart.datasets import blobs, liu_blobs

mpl.rcParams["svg.hashsalt"] = "tellapart"  # same picture, same bytes
# Every line has a marker of its own; the authors' figure has the same one, large and hollow.
MARKERS = "osD^vPX<>ph*d8HQ"
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
# Okabe and Ito's palette: distinguishable with any colour vision, and of different lightness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#56B4E9", "#B8860B")


def draw_experiment(summary: dict, path: Path) -> None:
    """Every line over x, the authors' figures beside them, and what they are to be read with."""
    figure, axes = plt.subplots(figsize=(8.6, 4.6), layout="constrained")
    xs = sorted({p["x"] for line in summary["lines"] for p in line["points"]})
    handles = []
    for i, line in enumerate(summary["lines"]):
        look = {"marker": MARKERS[i % len(MARKERS)], "color": COLOURS[i % len(COLOURS)]}
        style = STYLES[i % len(STYLES)]
        at = place_across(summary["lines"], i, xs) if line.get("across") else None
        draw_line(axes, line, look, style, at, xs)
        draw_authors(axes, line, look, at)
        handles.append(Line2D([], [], **look, linestyle=style, label=line["line"]))
    (dress_seconds if summary.get("measure") == "seconds" else dress_rates)(axes, summary)
    axes.set_xlabel(summary["x_label"])
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.minorticks_off()
    if any("authors" in p for line in summary["lines"] for p in line["points"]):
        look = {"marker": "o", "markersize": 10, "mfc": "none", "color": "0.4", "linestyle": ""}
        handles.append(Line2D([], [], **look, label="large and hollow: authors' code"))
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, handlelength=3.5)  # where it hides nothing
    save(figure, path)


def place_across(lines: list[dict], i: int, xs: list[float]) -> float:
    """Where the marker of a line that lies across the figure stands: each at another place, as lines may coincide."""
    such = [j for j, line in enumerate(lines) if line.get("across")]
    return xs[0] + (xs[-1] - xs[0]) * (such.index(i) + 1) / (len(such) + 1)


def draw_line(axes: Axes, line: dict, look: dict, style: object, at: float | None, xs: list[float]) -> None:
    """A point with its error for each x; of a method that uses all rows whatever x is, a level line."""
    x, value, errors = numbers(line)
    bars = {"markersize": 5, "linewidth": 1.2, "elinewidth": 0.9, "capsize": 2}
    if at is None:
        axes.errorbar(x, value, errors, **look, **bars, linestyle=style)
    else:
        axes.plot([xs[0], xs[-1]], [value[0]] * 2, color=look["color"], linestyle=style, linewidth=1.2)
        axes.errorbar([at], value, errors, **look, **bars, linestyle="")


def numbers(line: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, rates with standard errors, or median seconds with quartiles."""
    points = line["points"]
    x = np.array([p["x"] for p in points])
    if "seconds" in points[0]:
        middle, ends = np.array([p["seconds"] for p in points]), np.array([p["quartiles"] for p in points])
        return x, middle, np.abs(ends.T - middle)
    return x, np.array([p["rate"] for p in points]), np.tile([p["se"] for p in points], (2, 1))


def draw_authors(axes: Axes, line: dict, look: dict, at: float | None) -> None:
    """The rate with its binomial error where trials are independent; points of few trainings have none."""
    hollow = look | {"markersize": 10, "mfc": "none", "linestyle": ""}
    for p in line["points"]:
        theirs, x = p.get("authors", {}), p["x"] if at is None else at
        if "seconds" in theirs:
            axes.plot(x, theirs["seconds"], **hollow)
        elif theirs:
            rate = theirs["rate"]
            error = None if "per_training_run" in theirs else np.sqrt(rate * (1 - rate) / theirs["trials"])
            axes.errorbar(x, rate, error, **hollow, capsize=4, elinewidth=0.8)


def dress_rates(axes: Axes, summary: dict) -> None:
    level, points = summary["level"], [p for line in summary["lines"] for p in line["points"]]
    axes.axhline(level, color="0.4", linewidth=1.0, linestyle=(0, (1, 2)), zorder=0)
    axes.text(
        0.995, level, f"level {level:g}", transform=axes.get_yaxis_transform(), fontsize=7, ha="right", va="bottom"
    )
    top = max(0.16, 1.1 * max(p["rate"] + p["se"] for p in points))
    counts = " or ".join(str(n) for n in sorted({p["trials"] for p in points}, reverse=True))
    axes.set(
        ylabel="false alarms" if summary["under_null"] else "power",
        ylim=(0, top) if summary["under_null"] else (0, 1.04),
    )
    axes.set_title(f"{summary['title']}\n{counts} trials a point, bars of one standard error", fontsize=10)


def dress_seconds(axes: Axes, summary: dict) -> None:
    axes.set(xscale="log", yscale="log", ylabel="CPU seconds")
    axes.grid(axis="y", color="0.9")
    counts = max(p["trials"] for line in summary["lines"] for p in line["points"])
    axes.set_title(f"{summary['title']}\nmedian and quartiles of {counts} runs", fontsize=10)


def draw_blobs(path: Path) -> None:
    """One draw of each kind of Blobs."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
    draws = (
        ("Blobs, second sample rotated by pi/4", blobs(900, theta=np.pi / 4, rng=0)),
        ("Blobs of Liu et al.", liu_blobs(100, rng=0)),
    )
    for axes, (title, (x, y)) in zip(panels, draws, strict=True):
        axes.scatter(*x.T, s=5, marker="o", color=COLOURS[0], alpha=0.6, linewidths=0, label="first sample")
        axes.scatter(*y.T, s=9, marker="x", color=COLOURS[1], alpha=0.6, linewidths=0.7, label="second sample")
        axes.set_title(title, fontsize=10)
        axes.set_aspect("equal")
    panels[0].legend(fontsize=8, loc="upper right", framealpha=0.9)
    save(figure, path)


def save(figure: plt.Figure, path: Path) -> None:
    for kind in ("png", "svg"):
        figure.savefig(path.with_suffix(f".{kind}"), dpi=130, metadata={"Date": None} if kind == "svg" else None)
    plt.close(figure)
