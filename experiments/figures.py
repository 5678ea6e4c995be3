"""Pictures of the experiments: readable without colour, +- one standard error, the level where it matters."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from experiments.summary import counted
from tellapart.datasets import blobs, liu_blobs

mpl.rcParams["svg.hashsalt"] = "tellapart"  # same picture, same bytes
# Every line has a marker of its own; the authors' figure has the same one, large and hollow.
MARKERS = "osD^vPX<>pdH8"
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
# Okabe and Ito's palette: distinguishable with any colour vision, and of different lightness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#B8860B")
# What stands in every figure looks the same in all of them.
FIXED = {"tell_apart": ("*", "#000000", "-"), "tell_apart, prequential": ("h", "#777777", "--")}


def draw_experiment(summary: dict, path: Path) -> None:
    """A panel for each kind of line; what stands in every figure stands in each of them."""
    xs = sorted({p["x"] for line in summary["lines"] for p in line["points"]})
    fixed = [line for line in summary["lines"] if line["line"] in FIXED]
    others = [line for line in summary["lines"] if line["line"] not in FIXED]
    names = list(dict.fromkeys(map(panel_of, others or fixed)))
    figure, panels = plt.subplots(len(names), figsize=(8.6, 4.6 * len(names)), layout="constrained", squeeze=False)
    for name, axes in zip(names, panels[:, 0], strict=True):
        lines = [line for line in others if panel_of(line) == name] + fixed
        draw_panel(axes, summary | {"lines": lines, "title": titled(summary["title"], name)}, xs)
    save(figure, path)


def panel_of(line: dict) -> str:
    return line.get("panel", "")


def titled(title: str, panel: str) -> str:
    return f"{title}: {panel}" if panel else title


def draw_panel(axes: Axes, summary: dict, xs: list[float]) -> None:
    """Every line over x, the authors' figures beside them, and what they are to be read with."""
    handles = []
    for i, line in enumerate(summary["lines"]):
        marker, colour, style = FIXED.get(line["line"], in_turn(i))
        look = {"marker": marker, "color": colour}
        style = style if line.get("across") or not summary["under_null"] else ""
        at = places(summary, i, xs)
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
    # beside the axes, where it hides nothing
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.06, 1.0), fontsize=8, handlelength=3.5)


def in_turn(i: int) -> tuple[str, str, object]:
    return MARKERS[i % len(MARKERS)], COLOURS[i % len(COLOURS)], STYLES[i % len(STYLES)]


def places(summary: dict, i: int, xs: list[float]) -> np.ndarray:
    """Where the markers of line i stand.

    Lines across a figure may coincide, so each has its marker at another place; under the null all points do, so they
    stand side by side.
    """
    line, lines = summary["lines"][i], summary["lines"]
    x = np.array([p["x"] for p in line["points"]], dtype=float)
    alike = [j for j, other in enumerate(lines) if other.get("across") == line.get("across")]
    rank = (alike.index(i) + 1) / (len(alike) + 1)
    if line.get("across"):
        return np.array([xs[0] + (xs[-1] - xs[0]) * rank])
    gap = float(np.diff(xs).min()) if len(xs) > 1 else 1.0
    return x + summary["under_null"] * 0.8 * gap * (rank - 0.5)


def draw_line(axes: Axes, line: dict, look: dict, style: object, at: np.ndarray, xs: list[float]) -> None:
    """A point with its error for each x; of a method that uses all rows whatever x is, a level line."""
    value, errors = numbers(line)
    bars = {"markersize": 9 if look["marker"] == "*" else 5, "linewidth": 1.2, "elinewidth": 0.9, "capsize": 2}
    if line.get("across"):
        axes.plot([xs[0], xs[-1]], [value[0]] * 2, color=look["color"], linestyle=style, linewidth=1.2)
    axes.errorbar(at, value, errors, **look, **bars, linestyle="" if line.get("across") else style)


def numbers(line: dict) -> tuple[np.ndarray, np.ndarray]:
    """Rates with standard errors, or median seconds with quartiles."""
    points = line["points"]
    if "seconds" in points[0]:
        middle, ends = np.array([p["seconds"] for p in points]), np.array([p["quartiles"] for p in points])
        return middle, np.abs(ends.T - middle)
    return np.array([p["rate"] for p in points]), np.tile([p["se"] for p in points], (2, 1))


def draw_authors(axes: Axes, line: dict, look: dict, at: np.ndarray) -> None:
    """The rate with its binomial error where trials are independent; points of few trainings have none."""
    hollow = look | {"markersize": 10, "mfc": "none", "linestyle": ""}
    for x, p in zip(at, line["points"], strict=True):
        theirs = p.get("authors", {})
        if "seconds" in theirs:
            axes.plot(x, theirs["seconds"], **hollow)
        elif theirs:
            rate = theirs["rate"]
            error = None if "per_training_run" in theirs else np.sqrt(rate * (1 - rate) / theirs["trials"])
            axes.errorbar(x, rate, error, **hollow, capsize=4, elinewidth=0.8)


def dress_rates(axes: Axes, summary: dict) -> None:
    level, points = summary["level"], [p for line in summary["lines"] for p in line["points"]]
    axes.axhline(level, color="0.4", linewidth=1.0, linestyle=(0, (1, 2)), zorder=0)
    axes.text(1.005, level, "level", transform=axes.get_yaxis_transform(), size=7, va="center")
    top = max(0.16, 1.1 * max(p["rate"] + p["se"] for p in points))
    axes.set(
        ylabel="false alarms" if summary["under_null"] else "power",
        ylim=(-0.02 * top, top) if summary["under_null"] else (-0.02, 1.04),
    )
    axes.set_title(f"{summary['title']}\n{counted(points)}; bars of one standard error", fontsize=10)


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
