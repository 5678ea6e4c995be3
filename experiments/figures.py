"""Pictures of the experiments: readable without colour, +- one standard error, the level where it matters."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from tellapart.datasets import blobs, liu_blobs

mpl.rcParams["svg.hashsalt"] = "tellapart"  # same picture, same bytes
MARKERS = "os^Dv"
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
# Okabe and Ito's palette: distinguishable with any colour vision, and of different lightness
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7")


def draw_experiment(summary: dict, path: Path) -> None:
    """Rejection rate against x for every line, and the authors' figures as open squares."""
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for i, line in enumerate(summary["lines"]):
        x = [p["x"] for p in line["points"]]
        rate, se = (np.array([p[key] for p in line["points"]]) for key in ("rate", "se"))
        axes.plot(x, rate, marker=MARKERS[i], linestyle=STYLES[i], color=COLOURS[i], markersize=4.5, label=line["line"])
        axes.fill_between(x, rate - se, rate + se, color=COLOURS[i], alpha=0.18, linewidth=0)
        theirs = [(p["x"], p["authors"]["rate"], p["authors"]["trials"]) for p in line["points"] if "authors" in p]
        if theirs:
            tx, ty, n = (np.array(v, dtype=float) for v in zip(*theirs, strict=True))
            error = np.sqrt(ty * (1 - ty) / n)
            axes.errorbar(tx, ty, error, fmt="s", mfc="none", color=COLOURS[i], markersize=9, capsize=3, linewidth=0.8)
    axes.errorbar([], [], [], fmt="s", mfc="none", color="0.3", markersize=9, capsize=3, label="authors' code")
    level = summary["level"]
    axes.axhline(level, color="0.4", linewidth=0.8, linestyle=(0, (1, 2)), zorder=0, label=f"level {level:g}")
    top = max(0.16, 1.15 * max(p["rate"] for li in summary["lines"] for p in li["points"]))
    axes.set(
        xlabel=summary["x_label"],
        ylabel="false alarms" if summary["under_null"] else "power",
        title=f"{summary['title']}\n{summary['trials']} trials a point, bands of one standard error",
        ylim=(0, top if summary["under_null"] else 1.03),
    )
    axes.title.set_fontsize(10)
    axes.set_xticks(sorted({p["x"] for line in summary["lines"] for p in line["points"]}))
    axes.legend(fontsize=8, framealpha=0.9, loc="upper right" if summary["under_null"] else "best")
    save(figure, path)


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
