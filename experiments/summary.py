"""What the trials say: numbers for JSON, tables in Markdown, and how far from the authors' code every point is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.machine import machine
from experiments.experiment import Experiment, Line
from experiments.trials import Seconds, Task, Values

LEVEL = 0.05
FAR = 3.0  # standard errors


@cache
def authors() -> dict:
    return json.loads((Path(__file__).parent / "authors_code.json").read_text())


def summarised(experiment: Experiment, values: Values, quick: bool) -> dict:
    """Every line of which there are values."""
    lines = []
    for line in experiment.lines:
        points = []
        for x in experiment.points(line, quick):
            starts = range(0, experiment.trials(line, quick), experiment.chunk)
            tasks = [Task(experiment.name, line.name, float(x), s) for s in starts]
            if all(task in values for task in tasks):
                points.append(point(x, [v for task in tasks for v in values[task]], experiment, line))
        about = {"line": line.name, "panel": line.panel, "authors_method": line.authors, "across": line.across}
        lines.append(about | {"points": points})
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "x_label": experiment.x_label,
        "under_null": experiment.under_null,
        "measure": experiment.measure,
        "level": LEVEL,
        "command": "make paper-quick" if quick else "make paper",
        "seeds": "numpy.random.default_rng([trial, sha256 words of experiment, x and line])",
        "authors_source": authors()["source"],
        "machine": machine(),
        "lines": [line for line in lines if line["points"]],
    }


def with_kept_lines(summary: dict, before: dict) -> dict:
    """The summary among the lines and points that were there before and are not in it."""
    new, old = ({line["line"]: line for line in s["lines"]} for s in (summary, before))
    lines = [with_kept_points(new.get(name), old.get(name)) for name in dict.fromkeys([*old, *new])]
    return summary | {"lines": lines}


def with_kept_points(new: dict | None, old: dict | None) -> dict:
    """One line of which some points are new."""
    known = {p["x"]: p for line in (old, new) if line for p in line["points"]}
    return (new or old or {}) | {"points": [known[x] for x in sorted(known)]}


def spent(seconds: Seconds) -> dict:
    """CPU seconds of every line, of every experiment, and of all together."""
    by_line: dict[str, dict[str, float]] = {}
    for task, took in sorted(seconds.items()):
        lines = by_line.setdefault(task.experiment, {})
        lines[task.line] = round(lines.get(task.line, 0.0) + took, 2)
    by_experiment = {name: round(sum(lines.values()), 1) for name, lines in by_line.items()}
    return {"all": round(sum(by_experiment.values()), 1), "experiments": by_experiment, "lines": by_line}


def point(x: float, found: list, experiment: Experiment, line: Line) -> dict:
    """What is known of one method at one place, and what the authors' code gives there."""
    if experiment.measure == "seconds":
        low, middle, high = np.quantile(found, [0.25, 0.5, 0.75]).tolist()
        row = {"x": x, "trials": len(found), "seconds": middle, "quartiles": [low, high]}
    else:
        row = {"x": x} | rate(found)
    names = (experiment.name, *experiment.beside)
    theirs = [r for r in authors()["rows"] if r["method"] == line.authors and r["x"] == x and r["experiment"] in names]
    return row | (compared(row, theirs[0], line.reason) if theirs else {})


def rate(pvalues: list) -> dict:
    """Rejections, and their standard error: over trials, each of which may have judged several test sets.

    >>> rate([0.01, 0.5, 0.04, 0.2])
    {'trials': 4, 'rejections': 2, 'rate': 0.5, 'se': 0.25}
    >>> rate([[0.01, 0.01], [0.5, 0.01]])
    {'trials': 2, 'test_sets': 2, 'rejections': 3, 'rate': 0.75, 'se': 0.25}
    """
    rejected = np.asarray(pvalues, dtype=float) <= LEVEL
    trials, total = len(rejected), int(rejected.sum())
    share = total / rejected.size
    if rejected.ndim == 1:
        return {"trials": trials, "rejections": total, "rate": share, "se": binomial_error(share, trials)}
    error = float(rejected.mean(axis=1).std(ddof=1) / np.sqrt(trials)) if trials > 1 else float("nan")
    sets = rejected.shape[1]
    return {"trials": trials, "test_sets": sets, "rejections": total, "rate": share, "se": error}


def binomial_error(share: float, trials: int) -> float:
    return float(np.sqrt(share * (1 - share) / trials))


def compared(ours: dict, theirs: dict, reason: str) -> dict:
    """The authors' figure, and how many standard errors ours is away from it where both have one."""
    if "seconds" in theirs:
        return {"authors": {"seconds": theirs["seconds"]}}
    share, trials = theirs["rejections"] / theirs["trials"], theirs["trials"]
    row = {"authors": {"rate": share, "trials": trials}}
    error = error_of_difference(ours, share, trials, theirs.get("per_training_run"))
    if "per_training_run" in theirs:
        row["authors"]["per_training_run"] = theirs["per_training_run"]
    if error is None:
        return row
    row["standard_errors_apart"] = round((ours["rate"] - share) / error, 2)
    return row | ({"reason": reason} if reason and abs(row["standard_errors_apart"]) > FAR else {})


def error_of_difference(ours: dict, share: float, trials: int, runs: list[float] | None) -> float | None:
    """Of two shares under the hypothesis that they are equal; test sets of one training say nothing of others."""
    if runs is None and "test_sets" not in ours:
        pooled = (ours["rejections"] + share * trials) / (ours["trials"] + trials)
        return float(np.sqrt(max(pooled * (1 - pooled), 1e-9) * (1 / ours["trials"] + 1 / trials)))
    if runs is not None and len(runs) < 2:
        return None
    theirs = binomial_error(share, trials) if runs is None else float(np.std(runs, ddof=1) / np.sqrt(len(runs)))
    error = float(np.hypot(ours["se"], theirs))
    return error if error > 0 else None


def tables(summaries: list[dict]) -> str:
    """Everything in one file of Markdown."""
    parts = ["# The paper's figures, in numbers\n", *heading(summaries), *map(table, summaries)]
    return "\n".join(parts)


def heading(summaries: list[dict]) -> Iterator[str]:
    found = list(distances(summaries))
    far = [entry for entry in found if abs(entry[3]) > FAR]
    yield (
        f"From `{summaries[0]['command']}`. Rejection rates at level {LEVEL:g} with one standard error; in brackets "
        f"what the code published with the paper gives, where it was run. {len(found)} points exist in both; "
        f"{len(far)} of them lie more than {FAR:g} standard errors apart.\n"
    )
    for name, line, x, apart, reason in far:
        yield f"- `{name}`, {line}, at {x:g}: {apart:+.1f} standard errors. {reason or '**Unexplained.**'}"
    if far:
        yield ""


def distances(summaries: list[dict]) -> Iterator[tuple[str, str, float, float, str]]:
    for s in summaries:
        for line in s["lines"]:
            for p in line["points"]:
                if "standard_errors_apart" in p:
                    yield s["experiment"], line["line"], p["x"], p["standard_errors_apart"], p.get("reason", "")


def table(summary: dict) -> str:
    xs = sorted({p["x"] for line in summary["lines"] for p in line["points"]})
    seconds, points = summary.get("measure") == "seconds", [p for line in summary["lines"] for p in line["points"]]
    rows = [
        f"## {summary['title']}\n",
        f"`{summary['experiment']}`, {'CPU seconds' if seconds else counted(points)}.\n",
        f"| {summary['x_label']} | " + " | ".join(f"{x:g}" for x in xs) + " |",
        "|---|" + "---|" * len(xs),
    ]
    for line in summary["lines"]:
        at = {p["x"]: cell(p) for p in line["points"]}
        if line.get("across"):
            rows.append(f"| {line['line']} (all rows) | {next(iter(at.values()))}" + " |" * len(xs))
        else:
            rows.append(f"| {line['line']} | " + " | ".join(at.get(x, "") for x in xs) + " |")
    return "\n".join(rows) + "\n"


def counted(points: list[dict]) -> str:
    """How many trials a point, and how many trainings, if some are judged on several test sets.

    >>> counted([{"trials": 40}, {"trials": 1000}, {"trials": 10, "test_sets": 20}, {"trials": 10, "test_sets": 100}])
    '1,000 or 40 trials a point, or 10 trainings on 100 or 20 test sets each'
    """
    trained = [p for p in points if "test_sets" in p]
    single = [p for p in points if "test_sets" not in p]
    parts = [f"{either(single, 'trials')} trials a point"] * bool(single)
    parts += [f"{either(trained, 'trials')} trainings on {either(trained, 'test_sets')} test sets each"] * bool(trained)
    return ", or ".join(parts)


def either(points: list[dict], key: str) -> str:
    return " or ".join(f"{n:,}" for n in sorted({p[key] for p in points}, reverse=True))


def cell(p: dict) -> str:
    if "seconds" in p:
        return f"{p['seconds']:.2g}" + (f" ({p['authors']['seconds']:.2g})" if "authors" in p else "")
    return f"{p['rate']:.3f} ± {p['se']:.3f}" + (f" ({p['authors']['rate']:.3f})" if "authors" in p else "")


def report(summaries: Iterable[dict]) -> None:
    """The same on a terminal, shorter."""
    for s in summaries:
        print(f"\n{s['title']}")
        for line in s["lines"]:
            shown = "  ".join(f"{p['x']:g}: {p.get('rate', p.get('seconds')):.3g}" for p in line["points"])
            print(f"  {line['line']:<34} {shown}")
