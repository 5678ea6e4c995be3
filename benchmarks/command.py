"""What the command costs from start to end, beside another version of the sources in the same run.

``python -m benchmarks.command [folder of other sources]`` writes `benchmarks/results/command.json`: CPU seconds of
whole processes, user and system, the least of some runs. With a folder (the `src` of another checkout) the same files
are compared by those sources, too, in turn.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.machine import machine

RESULTS = Path(__file__).parent / "results"
OWN = Path(__file__).parent.parent / "src"
SEED, RUNS = 20261120, 3
WORDS = np.array(["the", "export", "is", "slow", "again", "help", "please", "button", "login", "page", "not", "open"])


def mixed(n: int, seed: int) -> pa.Table:
    """Twelve columns as people have them."""
    rng = np.random.default_rng([SEED, seed])
    towns, countries = (pa.array(names) for names in ([f"town {i}" for i in range(300)], ["de", "fr", "us", "at"]))
    seen = dt.datetime(2024, 1, 1) + np.array([dt.timedelta(seconds=int(s)) for s in rng.integers(0, 3_456_000, n)])
    born = dt.date(1990, 1, 1) + np.array([dt.timedelta(days=int(d)) for d in rng.integers(0, 4000, n)])
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 1, n).round(2),
            "score": pa.array(rng.normal(size=n).round(4), mask=rng.random(n) < 0.1),
            "height": rng.normal(170, 10, n).round(1),
            "visits": rng.poisson(3, n),
            "member": rng.random(n) < 0.5,
            "plan": pa.array(["free", "paid", "team"]).take(pa.array(rng.integers(3, size=n))),
            "town": towns.take(pa.array(rng.integers(300, size=n))),
            "country": countries.take(pa.array(rng.integers(4, size=n))),
            "seen": pa.array(seen),
            "born": pa.array(born),
            "comment": [" ".join(row) for row in rng.choice(WORDS, (n, 5))],
        }
    )


def wide(n: int, seed: int) -> pa.Table:
    """Fifteen columns of numbers and five of categories."""
    rng = np.random.default_rng([SEED, seed])
    levels = pa.array(["u", "v", "w", "z"])
    columns = {f"n{j}": rng.normal(size=n) for j in range(15)}
    return pa.table(columns | {f"c{j}": levels.take(pa.array(rng.integers(4, size=n))) for j in range(5)})


def thirty(n: int, seed: int) -> pa.Table:
    """Thirty columns of every kind; in the second table one is shifted, one category commoner, one pair correlated."""
    rng = np.random.default_rng([SEED, seed, n])
    columns: dict[str, object] = {f"n{j}": rng.normal(size=n).round(4) for j in range(14)}
    columns["n0"] = columns["n0"] + 0.02 * seed
    columns["n2"] = columns["n2"] + 0.05 * seed * columns["n1"]
    for j in range(4):
        columns[f"missing{j}"] = pa.array(rng.lognormal(size=n).round(3), mask=rng.random(n) < 0.05)
        columns[f"count{j}"] = rng.poisson(2 + j, n)
    for j, levels in enumerate((3, 5, 8, 40, 2000)):
        names = pa.array([f"level {i}" for i in range(levels)])
        code = np.minimum(rng.integers(levels, size=n), rng.integers(levels, size=n) + (rng.random(n) < 0.97))
        columns[f"category{j}"] = names.take(pa.array(code if seed and j == 1 else rng.permutation(code)))
    columns["flag"] = rng.random(n) < 0.3
    columns["seen"] = pa.array(np.datetime64("2024-01-01") + rng.integers(0, 90 * 86400, n).astype("timedelta64[s]"))
    columns["born"] = pa.array(np.datetime64("1990-01-01") + rng.integers(0, 9000, n))
    return pa.table(columns)


def commands(folder: Path) -> dict[str, list[str]]:
    """What is measured, on files that are written here."""
    small, large = ([str(folder / f"{kind}{i}") for i in (1, 2)] for kind in ("small.csv", "large.parquet"))
    for i in (0, 1):
        pyarrow.csv.write_csv(mixed(1000, i), small[i])
        pyarrow.parquet.write_table(wide(100_000, i), large[i])
    return {
        "--help": ["--help"],
        "demo": ["demo"],
        "two CSV files of 1,000 rows": small,
        "the same, --quiet": ["-q", *small],
        "two Parquet files of 100,000 x 20": ["-q", *large],
    }


def dear(folder: Path) -> dict[str, list[str]]:
    """What is measured once."""
    files = [str(folder / f"million{i}.parquet") for i in (1, 2)]
    for i in (0, 1):
        pyarrow.parquet.write_table(thirty(1_000_000, i), files[i])
    report = ["--report", str(folder / "report.html")]
    return {"two Parquet files of 1,000,000 x 30, with a report": [*files, *report]}


def cost(arguments: list[str], sources: Path) -> dict[str, float]:
    """CPU and wall seconds of one process, and its peak memory, which is never less than that of this one."""
    begun, environment = time.perf_counter(), os.environ | {"PYTHONPATH": str(sources)}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "tellapart", *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=said
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode not in (0, 1):
            raise RuntimeError(said.read().decode())
    wall = time.perf_counter() - begun
    return {"cpu_seconds": used.ru_utime + used.ru_stime, "wall_seconds": wall, "peak_GB": used.ru_maxrss / 2**20}


def main(arguments: list[str]) -> None:
    versions = {"this": OWN} | ({"before": Path(arguments[0])} if arguments else {})
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        few = [(name, command, RUNS, versions) for name, command in commands(Path(folder)).items()]
        once = [(name, command, 1, {"this": OWN}) for name, command in dear(Path(folder)).items()]
        for name, command, count, compared in few + once:
            runs = [{version: cost(command, sources) for version, sources in compared.items()} for _ in range(count)]
            figures[name] = {
                version: {unit: round(min(run[version][unit] for run in runs), 3) for unit in runs[0][version]}
                for version in compared
            }
            print(name, figures[name], flush=True)
    written = {"command": "python -m benchmarks.command", "runs": RUNS, "seed": SEED, "machine": machine()}
    (RESULTS / "command.json").write_text(json.dumps(written | {"figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
