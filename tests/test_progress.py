"""Progress: one line on a terminal, after two seconds of silence, and nothing is left of it at the end."""

import io
import re
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from tellapart import Permutation, witness_test
from tellapart import _progress as module
from tellapart._progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def one_second_per_look(monkeypatch):
    """A clock that has moved on by a second whenever it is asked."""
    clock = count()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))


@pytest.fixture
def terminal(monkeypatch):
    stderr = Terminal()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stderr))
    return stderr


def shown(text):
    """The line as a terminal shows it: carriage returns overwrite, the escape sequence erases to the right."""
    line, cursor = "", 0
    for part in re.findall(r"\r|\x1b\[K|[^\r\x1b]+", text):
        if part == "\r":
            cursor = 0
        elif part == "\x1b[K":
            line = line[:cursor]
        else:
            line = line[:cursor] + part + line[cursor + len(part) :]
            cursor += len(part)
    return line


@pytest.mark.usefixtures("one_second_per_look")
def test_a_label_may_change_on_the_way(terminal):
    loss = [9]
    seen = []
    for item in progress(range(6), lambda: f"loss {loss[0]}"):
        loss[0] = 9 - item
        seen.append(shown(terminal.getvalue()).split(":")[0])
    assert seen == ["", "", "loss 8", "loss 7", "loss 6", "loss 5"]


@pytest.mark.usefixtures("one_second_per_look")
def test_a_line_with_an_estimate_after_two_seconds(terminal):
    seen = [(item, shown(terminal.getvalue())) for item in progress(range(6), "waiting")]
    assert seen == [
        (0, ""),
        (1, ""),
        (2, "waiting: 2 of 6, about 6 s left "),  # two took three seconds
        (3, "waiting: 3 of 6, about 4 s left "),
        (4, "waiting: 4 of 6, about 2 s left "),
        (5, "waiting: 5 of 6, about 1 s left "),
    ]


@pytest.mark.usefixtures("one_second_per_look")
def test_the_line_is_erased_at_the_end(terminal):
    assert list(progress(range(10), "waiting")) == list(range(10))
    assert "waiting" in terminal.getvalue()
    assert shown(terminal.getvalue()) == ""


@pytest.mark.usefixtures("one_second_per_look")
def test_the_line_is_erased_when_the_work_stops_early(terminal):
    steps = progress(range(10), "waiting")
    assert next(item for item in steps if item == 5) == 5
    assert shown(terminal.getvalue()) != ""
    steps.close()
    assert shown(terminal.getvalue()) == ""


@pytest.mark.usefixtures("one_second_per_look")
@pytest.mark.parametrize("stderr", [io.StringIO(), None], ids=["file", "none"])
def test_nothing_is_written_where_there_is_no_terminal(monkeypatch, stderr):
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stderr))
    assert list(progress(range(10), "waiting")) == list(range(10))
    assert stderr is None or stderr.getvalue() == ""


def test_short_work_is_silent(terminal, monkeypatch):
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 1.0))
    assert list(progress(range(10), "waiting")) == list(range(10))
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("one_second_per_look")
def test_a_test_reports_both_of_its_long_parts_and_changes_nothing(terminal, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1000, 1)), rng.normal(size=(1000, 1))
    watched = witness_test(x, y, null=Permutation(4000), rng=0)
    assert "choosing the kernel: " in terminal.getvalue()
    assert "permutations: " in terminal.getvalue()
    assert shown(terminal.getvalue()) == ""
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=None))
    assert witness_test(x, y, null=Permutation(4000), rng=0).to_dict() == watched.to_dict()
