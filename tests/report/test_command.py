"""``tellapart --report``: the page is written whole, or the trouble is said before anything is computed."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from hostile import NAMES
from pages import parsed
from tellapart import cli, tell_apart
from tellapart.cli import main
from tellapart.datasets import example_file

LAST, THIS = example_file("readings_last_month.csv"), example_file("readings_this_month.csv")
RNG = np.random.default_rng(0)


@pytest.fixture
def page(tmp_path):
    return str(tmp_path / "report.html")


@pytest.fixture
def refused(monkeypatch, capsys):
    """What is said of a report that cannot be written; nothing is read or computed by then."""
    monkeypatch.setattr(cli, "_samples", lambda _: pytest.fail("computed"))

    def said(path):
        assert main([LAST, THIS, "--report", path]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        return err.rstrip()

    return said


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_the_page_is_written_beside_any_output(capsys, page, form):
    assert main([LAST, THIS, "--report", page, "--format", form]) == 1
    out, err = capsys.readouterr()
    assert err == f"tellapart: the report is in {page}\n"
    assert "samples differ" in out
    root = parsed(Path(page).read_text("utf-8"))
    assert root.all("h1")[0].text == "The samples differ: p = 0.002, below the level 0.05."
    ids = [section.attributes["id"] for section in root.all("section")]
    assert ids == ["effect", "witness", "columns", "pairs", "subgroups", "rows", "map", "how"]
    pairs = next(section for section in root.all("section") if section.attributes["id"] == "pairs")
    assert pairs.all("h3")[0].text == "1 current_a and temperature_c"
    assert root.all("code")[0].text == f"tellapart {LAST} {THIS}"
    if form == "json":
        told = json.loads(out)
        assert told["where"]["schema"] == "where 1"
        assert told["command"] == f"tellapart {LAST} {THIS}"
        assert told["detectable"]["power"] == 0.9


def test_quiet_and_again_the_same_bytes(capsys, page, tmp_path):
    assert main([LAST, THIS, "--report", page, "-q"]) == 1
    first = Path(page).read_bytes()
    assert main([LAST, THIS, "-q", "--report", page]) == 1
    assert Path(page).read_bytes() == first
    assert main([LAST, THIS, "-q", "--report", str(tmp_path / "other.html"), "--format", "json"]) == 1
    assert (tmp_path / "other.html").read_bytes() == first
    assert capsys.readouterr() == ("", "")
    assert sorted(os.listdir(tmp_path)) == ["other.html", "report.html"]


def test_no_difference_several_samples_and_nothing_about_where(page, tmp_path):
    for name in "abc":
        np.savetxt(tmp_path / f"{name}.csv", RNG.normal(size=(60, 2)), delimiter=",", header="u,v", comments="")
    a, b, c = (str(tmp_path / f"{name}.csv") for name in "abc")
    assert main([a, b, "--report", page, "-q"]) == 0
    root = parsed(Path(page).read_text("utf-8"))
    assert "What could have been missed" in root.text
    assert "None of 2 columns differs" in root.text
    assert main([a, b, c, "--report", page, "-q"]) == 0
    assert "Each pair of samples" in Path(page).read_text("utf-8")
    assert main([a, b, "--report", page, "-q", "--no-where"]) == 0
    assert "This was not looked for here." in Path(page).read_text("utf-8")


def test_columns_of_any_name_and_kind(page, tmp_path):
    names = [name for name in NAMES if name.strip() and "\ud800" not in name and "\x00" not in name]
    for file, shift in (("x", 0), ("y", 1)):
        rows = [
            {name: [str(v), v, v > 0, None, f"{name}{int(v)}"][i % 5] for i, name in enumerate(names)}
            for v in RNG.normal(shift, 1, size=50).tolist()
        ]
        (tmp_path / f"{file}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    main([str(tmp_path / "x.jsonl"), str(tmp_path / "y.jsonl"), "--report", page, "-q"])
    html = Path(page).read_text("utf-8")
    assert not parsed(html).all("script", "img")
    assert len(html) < 1_000_000


def test_what_cannot_be_written_is_said_first(refused, tmp_path, page):
    assert refused(str(tmp_path)).endswith("is a directory; give the name of a file")
    assert refused(str(tmp_path / "no" / "report.html")).endswith("report.html: there is no such directory")
    assert refused(LAST) == f"tellapart: --report {LAST}: is one of the samples"
    os.mkfifo(tmp_path / "pipe")
    assert refused(str(tmp_path / "pipe")).endswith("is no ordinary file")
    if os.geteuid():
        os.chmod(tmp_path, 0o500)
        assert refused(page).endswith("permission denied")
        os.chmod(tmp_path, 0o700)


def test_a_disk_that_is_full_leaves_the_old_page(monkeypatch, capsys, page, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    Path(page).write_text("old")
    monkeypatch.setattr(os, "replace", full)
    assert main([LAST, THIS, "--report", page]) == 2
    out, err = capsys.readouterr()
    assert err == f"tellapart: {page}: cannot be written: No space left on device\n"
    assert out.startswith("The samples differ")
    assert Path(page).read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_the_same_page_from_the_library(page):
    read = [np.loadtxt(file, delimiter=",", skiprows=1) for file in (LAST, THIS)]
    html = tell_apart(*read, rng=0).to_html(level=0.01, names=("last <month>", "this month"))
    root = parsed(html)
    assert root.all("h1")[0].text == "The samples differ: p = 0.002, below the level 0.01."
    assert "last <month>" in root.all("header")[0].text
    assert root.all("code")[0].text.endswith("result = tell_apart(x, y, rng=0)")
