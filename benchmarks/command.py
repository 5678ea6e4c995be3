"""What the command costs from start to end, beside another version of the sources in the same run.

``python -m benchmarks.command [folder of other sources]`` writes `benchmarks/results/command.json`: CPU seconds of
whole processes, user and system, the least of some runs. With a folder (the `src` of another checkout) the same files
are compared by those sources, too, in turn.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import resource
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


def cost(arguments: list[str], sources: Path) -> dict[str, float]:
    """CPU and wall seconds of one process."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"PYTHONPATH": str(sources)}
    done = subprocess.run([sys.executable, "-m", "tellapart", *arguments], env=environment, capture_output=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode())
    return {"cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "wall": wall}


def main(arguments: list[str]) -> None:
    versions = {"this": OWN} | ({"before": Path(arguments[0])} if arguments else {})
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(Path(folder)).items():
            runs = [{version: cost(command, sources) for version, sources in versions.items()} for _ in range(RUNS)]
            figures[name] = {
                version: {
                    f"{unit}_seconds": round(min(run[version][unit] for run in runs), 3) for unit in ("cpu", "wall")
                }
                for version in versions
            }
            print(name, figures[name], flush=True)
    written = {"command": "python -m benchmarks.command", "runs": RUNS, "seed": SEED, "machine": machine()}
    (RESULTS / "command.json").write_text(json.dumps(written | {"figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
