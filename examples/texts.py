"""Texts by an embedding of your own: ``python examples/texts.py [FILE FILE]``.

Two lists of texts, one on each line of a file, or made-up messages to a help desk before and after a release. Any
function that turns texts into a table of numbers will do: here the words' TF-IDF along its main directions; a language
model's vectors would do as well. What it learns, it learns from all texts together without their samples, so p-values
stay exact.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from tellapart import tell_apart

OLD = ("the export is slow", "login does not work", "where is my invoice", "the page stays empty")
NEW = (*OLD, "the export button is hidden")


def messages(said: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    asked = ("please help", "since today", "again", "can you look", "thanks")
    return [f"{rng.choice(said)} {rng.choice(asked)}" for _ in range(count)]


def embedded(texts: Sequence[str]) -> np.ndarray:
    """A row of numbers for each text. Put your own embedding here."""
    words = TfidfVectorizer(sublinear_tf=True)
    width = min(16, len(set(" ".join(texts).split())) - 1)
    rows = make_pipeline(words, TruncatedSVD(width, random_state=0)).fit_transform(texts)
    return rows.round(9)  # rounding errors of a direction in which all texts are alike are no data


def main(files: Sequence[str]) -> None:
    if len(files) not in (0, 2):
        sys.exit(f"Two files are compared, got {len(files)}: python examples/texts.py [FILE FILE]")
    rng = np.random.default_rng(0)
    before, after = (
        [Path(file).read_text(encoding="utf-8").splitlines() for file in files]
        if files
        else (messages(said, 80, rng) for said in (OLD, NEW))
    )
    rows = embedded([*before, *after])  # all together: the embedding does not know which text is from where
    result = tell_apart(rows[: len(before)], rows[len(before) :], rng=0)
    print(result)
    if result.evidence is not None:
        print("\nMost unlike the first sample:")
        for i in np.argsort(result.evidence[1])[:3]:
            print(f"  {after[i]}")


if __name__ == "__main__":
    main(sys.argv[1:])
