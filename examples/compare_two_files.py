"""Compare two CSV files of numbers: ``python examples/compare_two_files.py [reference.csv current.csv]``.

Without arguments it compares the two small files that ship with the library.
"""

import sys

import numpy as np
from scipy.stats import ks_2samp

from tellapart import tell_apart
from tellapart.datasets import example_file


def read(path: str) -> tuple[list[str], np.ndarray]:
    with open(path, encoding="utf-8") as lines:
        names = next(lines).strip().split(",")
        return names, np.loadtxt(lines, delimiter=",", ndmin=2)


def main(paths: list[str]) -> None:
    if len(paths) not in (0, 2):
        sys.exit(
            f"Two files are compared, got {len(paths)}: python examples/compare_two_files.py reference.csv current.csv"
        )
    paths = paths or [example_file("readings_last_month.csv"), example_file("readings_this_month.csv")]
    (names, x), (others, y) = (read(path) for path in paths)
    if set(names) != set(others):
        sys.exit(f"Both files must have the same columns, got {', '.join(names)} and {', '.join(others)}.")
    y = y[:, [others.index(name) for name in names]]

    print(f"{paths[0]}: {len(x)} rows\n{paths[1]}: {len(y)} rows\n")
    print("One column at a time (Kolmogorov-Smirnov):")
    for j, name in enumerate(names):
        print(f"  {name:<16} p = {ks_2samp(x[:, j], y[:, j]).pvalue:.2f}")

    print("\nAll columns together (tellapart):\n")
    result = tell_apart(x, y, rng=0)
    print(result)
    if result.evidence is None:
        return

    print("\nRows that speak most for each file, by a witness learned from all the others:\n")
    print(f"  {'file':<12}" + "".join(f"{name:>16}" for name in names))
    for label, z, evidence, sign in (("first", x, result.evidence[0], -1), ("second", y, result.evidence[1], 1)):
        for i in np.argsort(sign * evidence)[:3]:
            print(f"  {label:<12}" + "".join(f"{value:>16.2f}" for value in z[i]))


if __name__ == "__main__":
    main(sys.argv[1:])
