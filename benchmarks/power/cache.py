"""What each test said on each draw, one line of JSON per trial, in one file per test: kill it, resume it, merge it.

A line holds the problem, the trial, the p-value, CPU seconds, a mark of the draw and a stamp of the code. The mark
changes with the definition of a problem; lines with another mark are left aside, so that tests are only ever compared
on the same draws.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.power.draws import Pair
from benchmarks.power.problems import Problem

CACHE = Path(__file__).parent / "cache"
STORED = Path(__file__).parents[1] / "results" / "league_trials"  # what is committed, compressed
Lines = dict[tuple[str, str], dict[int, dict]]  # (problem, test) -> trial -> line


def crc(name: str) -> int:
    return zlib.crc32(name.encode())


def drawn(problem: Problem, trial: int) -> Pair:
    """The samples of a trial: the same for every test and on every machine."""
    return problem.draw(np.random.default_rng([crc(problem.name), trial]))


def mark(x: np.ndarray, y: np.ndarray) -> float:
    """A number that is the same for the same samples, up to rounding."""
    weights = [np.cos(np.arange(s.size)).reshape(s.shape) for s in (x, y)]
    return float((np.arctan(x) * weights[0]).sum() - 2 * (np.arctan(y) * weights[1]).sum())


# What decides the p-values of our tests, in src/tellapart.
FAMILIES = ("columns", "combination", "exchange", "landmarks", "leave_one_out", "voices", "whole_sample")
WAYS = ("ensemble", "in_memory", "folds")
SOURCES = {
    "tell_apart": ("joint.py", "pairs.py", "kernels/*.py", *(f"inference/{name}.py" for name in FAMILIES + WAYS)),
    "split": ("procedure.py", "split.py", "moments.py", "inference/null.py", "witness/*.py", "kernels/*.py"),
}
SOURCES["paper_split"] = SOURCES["split"]


@cache
def stamp(test: str) -> str:
    """A short hash of the code of one of our tests, the same for other comments and docstrings."""
    import tellapart

    folder = Path(tellapart.__file__).parent
    paths = sorted({path for pattern in SOURCES[test] for path in folder.glob(pattern)})
    return hashlib.sha256("".join(map(code_only, paths)).encode()).hexdigest()[:10]


def code_only(path: Path) -> str:
    """The syntax tree of a file without its docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):  # a docstring is an expression that does nothing
            node.body = [
                line for line in body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            ]
    return ast.dump(tree)


def append(folder: Path, test: str, lines: Iterable[dict]) -> None:
    """Add lines, on a new line also after a run that was killed within one."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{test}.jsonl").open("a+b") as file:
        file.seek(max(file.tell() - 1, 0))
        start = "" if file.read(1) in (b"", b"\n") else "\n"
        file.write((start + "".join(json.dumps(line) + "\n" for line in lines)).encode())


def read(folder: Path, tests: Iterable[str]) -> Lines:
    """All complete lines; where a trial was run twice the later line counts."""
    found: Lines = defaultdict(dict)
    for test in tests:
        for text in written(folder / f"{test}.jsonl"):
            try:
                line = json.loads(text)
            except json.JSONDecodeError:  # the last line of a run that was killed
                continue
            found[line["problem"], test][line["trial"]] = line
    return found


def written(path: Path) -> list[str]:
    """Lines of a file, or of its compressed form."""
    compressed = path.with_name(path.name + ".gz")
    if compressed.exists():
        return gzip.decompress(compressed.read_bytes()).decode().splitlines()
    return path.read_text().splitlines() if path.exists() else []


def store(tests: Iterable[str]) -> None:
    """Write everything that is known to the compressed files, sorted: the same lines, the same bytes."""
    STORED.mkdir(parents=True, exist_ok=True)
    for test in tests:
        known = read(CACHE, [test])
        lines = [known[key][t] for key in sorted(known) for t in sorted(known[key])]
        text = "".join(json.dumps(line | {"mark": round(line["mark"], 6)}) + "\n" for line in lines)
        (STORED / f"{test}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def unpack(tests: Iterable[str]) -> None:
    """Take trials from the compressed files that the cache does not have."""
    for test in tests:
        here, stored = read(CACHE, [test]), read(STORED, [test])
        missing = [v for key, trials in stored.items() for t, v in trials.items() if t not in here.get(key, {})]
        append(CACHE, test, missing)


def current(lines: Lines, problems: Iterable[Problem]) -> Lines:
    """Only lines whose draw is the one that the problem gives today."""
    kept: Lines = defaultdict(dict)
    for problem in problems:
        cells = {test: trials for (name, test), trials in lines.items() if name == problem.name}
        marks = {t: mark(*drawn(problem, t)) for t in sorted({t for trials in cells.values() for t in trials})}
        for test, trials in cells.items():
            good = {t: v for t, v in trials.items() if np.isclose(v["mark"], marks[t], rtol=1e-6, atol=1e-6)}
            if len(good) < len(trials):
                print(f"{problem.name}, {test}: {len(trials) - len(good)} trials of another definition are left aside")
            kept[problem.name, test] = good
    return kept


def merge(source: Path, target: Path, tests: Iterable[str]) -> int:
    """Append the lines of another machine's cache that are not here yet."""
    added = 0
    for test in tests:
        here, there = (read(folder, [test]) for folder in (target, source))
        new = [v for key, trials in there.items() for t, v in trials.items() if v != here.get(key, {}).get(t)]
        append(target, test, new)
        added += len(new)
    return added


def forget(tests: Iterable[str]) -> None:
    for test in tests:
        (CACHE / f"{test}.jsonl").unlink(missing_ok=True)
        (STORED / f"{test}.jsonl.gz").unlink(missing_ok=True)
