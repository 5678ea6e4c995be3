"""What the README shows: every method of the paper by its one line, and measured tables."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import tellapart
from tellapart import deep
from tellapart.kernels import Gaussian

README = (Path(__file__).parent.parent / "README.md").read_text()
TABLE = README[README.index("## Every method of the paper") : README.index("## Figures")]
LINES = [
    line for row in re.findall(r"^\| [^|]+ \| (.*?) \|", TABLE, re.M) for line in re.findall(r"`(\w+\(.*?\))`", row)
]
QUICK = deep.Training(epochs=5)
NAMES = {name: getattr(tellapart, name) for name in tellapart.__all__} | {
    "kernel": Gaussian(),
    "model": LogisticRegression(),
}


class QuickDeep:
    """`tellapart.deep` whose learners train for a moment."""

    def __getattr__(self, name):
        return lambda: getattr(deep, name)(training=QUICK)


def test_the_league_in_the_readme_is_the_measured_one():
    measured = Path(__file__).parent.parent / "benchmarks" / "results" / "league_short.md"
    assert measured.read_text() in README


def test_the_table_has_every_method():
    assert len(LINES) == 16


@pytest.mark.parametrize("line", LINES)
def test_the_line_of_a_method_runs(line):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal(3.0, 1.0, size=(50, 2))
    result = eval(line[:-1] + ", rng=0)", NAMES | {"x": x, "y": y, "deep": QuickDeep()})
    assert 0 < result.pvalue <= 0.01
    assert "differ" in str(result)
