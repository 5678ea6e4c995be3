"""The example that `make demo` runs, on files of the user's."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parent.parent / "examples" / "compare_two_files.py"


def run(*paths):
    return subprocess.run([sys.executable, EXAMPLE, *paths], capture_output=True, text=True, check=False)


@pytest.fixture
def written(tmp_path):
    def write(name, columns, rows):
        np.savetxt(tmp_path / name, rows, delimiter=",", header=",".join(columns), comments="")
        return str(tmp_path / name)

    return write


def test_columns_are_matched_by_name(written):
    x, y = (np.random.default_rng(seed).normal([0, 9], size=(60, 2)) for seed in (1, 2))
    first, second, turned = written("a.csv", "uv", x), written("b.csv", "uv", y), written("c.csv", "vu", y[:, ::-1])
    expected = run(first, second).stdout
    assert "All columns together" in expected
    assert run(first, turned).stdout == expected.replace("b.csv", "c.csv")


def test_what_cannot_be_compared_is_said_in_one_line(written):
    first, second = written("a.csv", "uv", np.eye(2)), written("b.csv", "uw", np.eye(2))
    assert run(first, second).stderr == "Both files must have the same columns, got u, v and u, w.\n"
    assert run(first).stderr.startswith("Two files are compared, got 1: ")
