"""Results in notebooks: a small piece of HTML in the colours that are there."""

import numpy as np
import pandas as pd
import pytest

from hostile import NAMES
from pages import parsed
from tellapart import kfda_test, tell_apart, witness_test

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), RNG.normal([1.5, 0], 1, size=(30, 2))
RESULTS = [
    lambda: tell_apart(X, Y, rng=0),
    lambda: tell_apart([X, Y, X + 1], rng=0),
    lambda: witness_test(X, Y, rng=0),
    lambda: kfda_test(X, Y, rng=0),
]


@pytest.mark.parametrize("make", RESULTS)
def test_every_result_shows_itself(make):
    result = make()
    part = parsed(result._repr_html_())
    verdict = part.all("strong")[0].text
    assert str(result).startswith(verdict)
    assert {e.name for e in part.all()} <= {"div", "p", "strong", "table", "tbody", "tr", "th", "td"}
    assert all(th.attributes["scope"] == "row" for th in part.all("th"))
    assert "color" not in result._repr_html_()
    for row in part.all("tr"):
        label, words = row.children
        assert label.text in str(result)
        assert " ".join(words.text.split()[:3]) in str(result)


def test_names_stay_names():
    names = [name for name in NAMES if name and "\ud800" not in name][:6]
    x, y = (pd.DataFrame(RNG.normal(size=(20, 6)), columns=names) for _ in range(2))
    html = tell_apart(x, y.drop(columns=names[0]).assign(**{"<b>new": 1.0}), rng=0)._repr_html_()
    assert {e.name for e in parsed(html).all()} <= {"div", "p", "strong", "table", "tbody", "tr", "th", "td"}
    assert "<script" not in html
    assert "\u202e" not in html
