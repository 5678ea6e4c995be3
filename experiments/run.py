"""Runs the declared experiments: ``python -m experiments.run [--quick] [--processes 2] [--only NAME ...]``.

``--lines`` runs some methods only, ``--at`` some places on the axis; the other lines stay as they were.

Stop it and start it again at will: what is done is kept under experiments/cache. See ``experiments/trials.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.power.real import folder
from experiments.experiment import Experiment
from experiments.figures import draw_blobs, draw_experiment
from experiments.summary import report, spent, summarised, tables, with_kept_lines
from experiments.trials import HERE, Declared, Kept, compute, tasks_of


def main() -> None:
    options = arguments()
    if options.data:
        os.environ["TELLAPART_DATA"] = str(Path(options.data).resolve())
    declared = Declared(options.declared)
    out = options.out or HERE / "results" / ("quick" if options.quick else ".")
    out.mkdir(parents=True, exist_ok=True)
    if not options.draw:
        experiments = chosen(declared, options.only)
        refuse_unknown_lines(experiments, options.lines)
        run(declared, experiments, out, options)
    draw(declared, out)


def chosen(declared: Declared, only: list[str]) -> list[Experiment]:
    """Those that are wanted and whose rows are here; says which are not."""
    unknown = set(only) - {e.name for e in declared.experiments}
    if unknown:
        sys.exit(f"--only must name experiments, got {', '.join(sorted(unknown))}. There are {names(declared)}.")
    kept = []
    for e in declared.experiments:
        if e.needs and not (folder() / e.needs).exists():
            print(f"left out: {e.name} (no {e.needs} in {folder()}; name the folder with --data or TELLAPART_DATA)")
        elif not only or e.name in only:
            kept.append(e)
    return kept


def names(declared: Declared) -> str:
    return ", ".join(e.name for e in declared.experiments)


def run(declared: Declared, experiments: list[Experiment], out: Path, options: argparse.Namespace) -> None:
    """Do what is not done yet and write a JSON file for each experiment, and one of what it all cost."""
    kept = Kept(options.cache / "trials.jsonl", declared)
    tasks = [
        task
        for task in tasks_of(experiments, options.quick)
        if task.line in (options.lines or [task.line]) and task.x in (options.at or [task.x])
    ]
    try:
        values, seconds = compute(declared, tasks, kept, options.processes)
    except KeyboardInterrupt:
        sys.exit("\nstopped; what is done is kept, and the same command goes on from there")
    values, seconds = ({task: found[task] for task in tasks} for found in (values, seconds))
    summaries = []
    for e in experiments:
        summary, path = summarised(e, values, options.quick), out / f"{e.name}.json"
        if (options.lines or options.at) and path.exists():
            summary = with_kept_lines(summary, json.loads(path.read_text()))
        path.write_text(json.dumps(summary, indent=1) + "\n")
        summaries.append(summary)
    report(summaries)
    if not tasks:
        return
    costs = spent(seconds)
    (out / "cpu_seconds.json").write_text(json.dumps(costs, indent=1) + "\n")
    print(f"\n{costs['all']:.0f} CPU seconds in all.")


def refuse_unknown_lines(experiments: list[Experiment], lines: list[str]) -> None:
    known = {line.name: None for e in experiments for line in e.lines}
    if unknown := [name for name in lines if name not in known]:
        sys.exit(
            f"--lines must name lines of these experiments, got {', '.join(unknown)}. There are {'; '.join(known)}."
        )


def draw(declared: Declared, out: Path) -> None:
    """Pictures and tables from the JSON files that are there."""
    files = [out / f"{e.name}.json" for e in declared.experiments]
    summaries = [json.loads(path.read_text()) for path in files if path.exists()]
    for summary in summaries:
        draw_experiment(summary, out / summary["experiment"])
    if summaries:
        (out / "tables.md").write_text(tables(summaries))
    draw_blobs(out / "blobs_draws")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few trials, in minutes, into results/quick")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="only these experiments")
    parser.add_argument(
        "--lines", nargs="*", default=[], metavar="NAME", help="only these lines; the others stay as they are in --out"
    )
    parser.add_argument("--at", nargs="*", type=float, default=[], metavar="X", help="only these places on the axis")
    parser.add_argument("--draw", action="store_true", help="only draw pictures and tables again from the JSON files")
    parser.add_argument("--data", help="folder of the real samples (default: TELLAPART_DATA, else ../shared/data)")
    parser.add_argument("--declared", default="experiments.declared", help="module with the experiments")
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument("--cache", type=Path, default=HERE / "cache", help="folder of what is done")
    return parser.parse_args()


if __name__ == "__main__":
    main()
