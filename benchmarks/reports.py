"""Reports on the same two tables: seconds and findings of tellapart's command, evidently and alibi-detect.

``python -m benchmarks.reports [--evidently PYTHON] [--alibi PYTHON] [--rows N] [--jobs N]`` writes
`benchmarks/results/reports.json` and `.md`. Two packages that cannot be installed beside each other have an interpreter
each; those that are not installed are named. A report reads two Parquet files of 22 columns of numbers and 8 of
categories. CPU seconds are given, because machines are shared: of tellapart's command from its start to its end; of the
others of one report, the first of which includes the import of the package. MMDDrift holds the kernel matrix of all
pairs of rows, so it gets 2,000 + 2,000 of them.

The pairs of tables, from one seed: nothing changed; one column shifted by 0.15 standard deviations; one category more
frequent (25% to 29%); the correlation of two columns changed from 0 to 0.15, which no column shows by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.machine import machine

RESULTS = Path(__file__).parent / "results"
PEERS = Path(__file__).parent / "reports_peers.py"
SEED, NUMBERS, CATEGORIES = 20261120, 22, 8
CHANGES = ("nothing", "one column shifted", "one category", "one correlation")
TRUTH = {"nothing": [], "one column shifted": ["n03"], "one category": ["c02"], "one correlation": ["n05", "n06"]}
NAMES = {
    "tellapart": "tellapart x.parquet y.parquet",
    "saved": "tellapart x.tap y.parquet (fitted before)",
    "evidently": "evidently, DataDriftPreset()",
    "evidently-p": "evidently, KS and chi-squared at 0.05",
    "alibi-tabular": "alibi-detect, TabularDrift",
    "alibi-mmd-2000": "alibi-detect, MMDDrift of 2,000 + 2,000 rows",
}


def table(rows: int, change: str, rng: np.random.Generator) -> pd.DataFrame:
    """Normal, lognormal, uniform and count columns, and categories of 2 to 9 levels."""
    z = rng.normal(size=(rows, NUMBERS))
    z[:, 3] += 0.15 * (change == "one column shifted")
    r = 0.15 * (change == "one correlation")
    z[:, 6] = r * z[:, 5] + np.sqrt(1 - r * r) * z[:, 6]
    z[:, 8:12] = np.exp(z[:, 8:12])
    z[:, 12:16] = rng.random((rows, 4))
    z[:, 16:18] = rng.poisson(3.0, (rows, 2))
    columns = {f"n{j:02}": z[:, j] for j in range(NUMBERS)}
    for j in range(CATEGORIES):
        levels = np.array([f"level {i}" for i in range(2 + j)])
        shares = np.full(len(levels), 1 / len(levels))
        if j == 2 and change == "one category":
            shares = np.array([0.29, *[0.71 / 3] * 3])
        columns[f"c{j:02}"] = levels[rng.choice(len(levels), rows, p=shares)]
    return pd.DataFrame(columns)


def run(command: list[str]) -> dict:
    """A process: its status, output, and CPU seconds."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)
        _, status, usage = os.wait4(process.pid, 0)  # of this child alone
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        cpu = round(usage.ru_utime + usage.ru_stime, 2)
        return {"status": process.returncode, "out": out.read(), "err": err.read(), "cpu": cpu}


def ours(first: str, second: str) -> dict:
    """The verdict, and the column that is loudest where columns are heard one by one, if that family alone alarms."""
    done = run([sys.executable, "-m", "tellapart", first, second, "--format", "json"])
    if done["status"] not in (0, 1):
        return {"trouble": done["err"].strip()}
    told = json.loads(done["out"])
    families = told["result"]["families"]
    loud = [name for name, of in families.items() if of["pvalue"] <= 0.05]
    single = families["single columns"]
    columns = [single["column"].split(" = ")[0]] if told["differ"] and "single columns" in loud else []
    said = f"p {told['result']['pvalue']:.2g}; by themselves below 0.05: {', '.join(loud) or 'none'}"
    return {"differ": told["differ"], "columns": columns, "said": said, "cpu": done["cpu"]}


def theirs(python: str, arm: str, files: list[str]) -> list[dict]:
    """What another package says of each pair of files, in one process."""
    done = run([python, str(PEERS), arm, *files])
    if done["status"] != 0:
        return [{"trouble": (done["err"].strip().splitlines() or ["no output"])[-1]}] * (len(files) // 2)
    return [json.loads(line) for line in done["out"].splitlines() if line.startswith("{")]


def installed(python: str, package: str) -> dict:
    """The version of a package, or that it is not there."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = run([python, "-c", code])
    if done["status"] == 0:
        return {"version": done["out"].strip()}
    return {"absent": (done["err"].strip().splitlines() or ["no output"])[-1]}


def compared(rows: int, pythons: dict[str, str], there: set[str], jobs: int) -> dict:
    """Every report on every pair of tables, a few packages at a time."""

    def reported(arm: str, files: list[str]) -> dict:
        pairs = list(zip(files[::2], files[1::2], strict=True))
        if arm == "tellapart":
            told = [ours(x, y) for x, y in pairs]
        elif arm == "saved":
            fitted = [run([sys.executable, "-m", "tellapart", "fit", x, "-o", f"{x}.tap"]) for x, _ in pairs]
            told = [{**ours(f"{x}.tap", y), "cpu_fit": f["cpu"]} for (x, y), f in zip(pairs, fitted, strict=True)]
        else:
            told = theirs(pythons[arm.split("-")[0]], arm, files)
        print(f"{arm}: {told}", flush=True)
        return dict(zip(CHANGES, told, strict=True))

    rng = np.random.default_rng(SEED)
    arms = [arm for arm in NAMES if arm in ("tellapart", "saved") or arm.split("-")[0] in there]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        files: list[str] = []
        for i, change in enumerate(CHANGES):
            files += [f"{folder}/x{i}.parquet", f"{folder}/y{i}.parquet"]
            table(rows, "nothing", rng).to_parquet(files[-2])
            table(rows, change, rng).to_parquet(files[-1])
        return dict(zip(arms, pool.map(lambda arm: reported(arm, files), arms), strict=True))


def markdown(measured: dict) -> str:
    head = ["report", *(f"{c} ({', '.join(TRUTH[c]) or 'no alarm is right'})" for c in CHANGES), "CPU s"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name, of in measured["found"].items():
        seconds = sorted(f["cpu"] for f in of.values() if "cpu" in f)
        said = f"{seconds[0]:.1f} - {seconds[-1]:.1f}" if seconds else "-"
        lines.append(f"| {NAMES[name]} | {' | '.join(_cell(of[change]) for change in CHANGES)} | {said} |")
    absent = (f"\n{package}: {of['absent']}" for package, of in measured["peers"].items() if "absent" in of)
    return "\n".join([*lines, *absent]) + "\n"


def _cell(found: dict) -> str:
    if "trouble" in found:
        return found["trouble"]
    return ("alarm" + (f": {', '.join(found['columns'])}" if found["columns"] else "")) if found["differ"] else "-"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--evidently", default=sys.executable)
    parser.add_argument("--alibi", default=sys.executable)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1, help="packages at a time")
    chosen = parser.parse_args()
    pythons = {"evidently": chosen.evidently, "alibi": chosen.alibi}
    peers = {name: installed(pythons[name], {"alibi": "alibi-detect"}.get(name, name)) for name in pythons}
    there = {name for name, of in peers.items() if "version" in of}
    measured = {"machine": machine(), "seed": SEED, "rows": chosen.rows, "jobs": chosen.jobs, "peers": peers}
    measured["found"] = compared(chosen.rows, pythons, there, chosen.jobs)
    (RESULTS / "reports.json").write_text(json.dumps(measured, indent=1) + "\n")
    (RESULTS / "reports.md").write_text(markdown(measured))
