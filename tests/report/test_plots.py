"""Pictures with Matplotlib: they draw whatever an explanation holds, and are not asked for without need."""

import sys

import numpy as np
import pytest

from hostile import poisoned
from tellapart import tell_apart, witness_test
from tellapart.inference.null import Normal
from tellapart.joint_result import TellApartResult
from tellapart.report.plots import explained
from tellapart.result import WitnessTestResult

EMPTY = {"columns": [], "pairs": [], "evidence": None, "map": None}
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 2)), RNG.normal([1, 0], 1, size=(60, 2))


def drawn(figure, tmp_path):
    figure.savefig(tmp_path / "picture.png", dpi=40)
    return [text.get_text() for axes in figure.axes for text in (axes.title, axes._left_title, *axes.texts)]


def test_an_explanation(cases, tmp_path):
    _, explanation = cases["different"]
    figure = explained("The samples differ.", explanation)
    told = drawn(figure, tmp_path)
    assert len(figure.axes) == 3 + 4
    for column in explanation["columns"][:4]:
        assert column["name"] in told
    assert sum("differs" in text for text in told) == sum(c["differs"] for c in explanation["columns"])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_empty_parts_are_said(cases, tmp_path):
    told = drawn(explained("Nothing.", cases["alike"][1] | EMPTY), tmp_path)
    assert sum(text.endswith(".") for text in told) == 3


@pytest.mark.filterwarnings("ignore:Glyph")  # which letters there are is a matter of fonts
def test_names_are_no_formulas(cases, tmp_path):
    told = drawn(
        explained("$\\broken{", poisoned(cases["different"][1], ["$\\frac{$", "a\nb", "\u202e", ""])), tmp_path
    )
    assert "$\\frac{$" in told
    assert "\\u202e" in told


def test_a_comparison(tmp_path):
    result = tell_apart(X, Y, rng=0)
    figure = result.plot(level=0.01)
    assert "column 0" in drawn(figure, tmp_path)
    assert figure.get_suptitle() == result.summary(0.01).splitlines()[0]
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        result.plot(level=1.0)
    with pytest.raises(ValueError, match="read back"):
        TellApartResult.from_dict(result.to_dict()).plot()


def test_a_witness_test(tmp_path):
    result = witness_test(X, Y, rng=0)
    figure = result.plot()
    drawn(figure, tmp_path)
    assert len(figure.axes) == 2
    assert figure.axes[1].patches
    asymptotic = witness_test(X, Y, null=Normal(), rng=0).plot()
    assert "not drawn" in drawn(asymptotic, tmp_path)[-1]
    with pytest.raises(ValueError, match="read back"):
        WitnessTestResult.from_dict(result.to_dict()).plot()


def test_without_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"] + ["tellapart.report.plots"]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^plot\(\) needs Matplotlib: pip install 'tellapart\[plot\]'$"):
        witness_test(X, Y, rng=0).plot()
