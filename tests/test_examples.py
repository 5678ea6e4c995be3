"""The example that `make demo` runs, on files of the user's, and those with models and on images."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(*arguments, example="compare_two_files.py"):
    command = [sys.executable, EXAMPLES / example, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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


def test_any_model_is_a_witness():
    told = run(example="any_model.py").stdout
    assert told.count("The samples differ: p = 0.00") == 3
    assert "% of the digits are put at the right end of the file (50% is chance)" in told
    assert "after the release: button, hidden" in told
    assert run("tabel", example="any_model.py").stderr == "There are examples on table, digits, texts, got tabel.\n"


@pytest.mark.parametrize("stored", [False, True])
def test_images_are_told_apart(stored, tmp_path):
    if stored:  # made up too, in the layout of the file: pullovers are bright above, coats below
        rng = np.random.default_rng(0)
        labels = np.repeat([2, 4, 7], 120)
        images = rng.integers(60, size=(360, 28, 28), dtype=np.uint8)
        images[:120, :14] += 100
        images[120:240, 14:] += 100
        parts = {"X_train10k": images[::2], "X_test": images[1::2]}
        parts = {name: part.reshape(len(part), -1) for name, part in parts.items()}
        np.savez(tmp_path / "fashion_mnist_test10k_train10k.npz", y_train10k=labels[::2], y_test=labels[1::2], **parts)
    environment = os.environ | {"TELLAPART_DATA": str(tmp_path)}
    example = EXAMPLES / "images.py"
    said = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True, env=environment).stdout
    assert said.startswith("100 pullovers against 100 coats, 28 x 28" if stored else "200 falling against 200 rising")
    assert "The samples differ: p = 0.001" in said


def test_texts_are_told_apart_by_any_embedding(tmp_path):
    told = run(example="texts.py").stdout
    assert told.startswith("The samples differ: p = 0.00")
    assert told.rpartition("first sample:\n")[2].count("the export button is hidden") == 3
    (tmp_path / "a.txt").write_text("".join(f"the {w} is slow\n" for w in ["page", "export", "login"] * 5))
    same = run(str(tmp_path / "a.txt"), str(tmp_path / "a.txt"), example="texts.py").stdout
    assert same.startswith("No difference found")
    assert run("one", example="texts.py").stderr.startswith("Two files are compared, got 1: ")
