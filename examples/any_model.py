"""Any scikit-learn model as witness: ``python examples/any_model.py [table | digits | texts]``.

- table: gradient boosting on the readings of a machine, last month against this month. Trees need no scaling and find
  differences that sit in a corner of a few columns.
- digits: do handwritten digits at the beginning of a file look like those at its end? A random forest guesses which end
  a digit is from; on digits that it has not seen, its accuracy is the evidence (the test C2ST-S).
- texts: support requests before and after a release, as TF-IDF and ridge regression. Words with large coefficients say
  what is new. Samples are tables of numbers, and a text is none: so the samples are row numbers, and the first step of
  the pipeline looks the text of a row up. The model sees the text and nothing else of the row.
"""

import sys
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tellapart import FromEstimator, witness_test
from tellapart.datasets import machine_readings

THINGS = ("invoice", "password", "export", "login", "search", "report", "profile", "upload")
TROUBLE = ("is slow", "does not open", "shows an error", "is missing", "is wrong since yesterday")
POLITE = ("please help", "thanks", "")
SINCE_THE_RELEASE = ("button is hidden", "shows an error")


def table() -> None:
    last, this = machine_readings()
    x, y = (np.column_stack(list(month.values())) for month in (last, this))
    boosting = HistGradientBoostingClassifier(max_iter=50, min_samples_leaf=10)
    print(witness_test(x, y, learner=FromEstimator(boosting), rng=0))


def digits() -> None:
    pixels = load_digits().data
    beginning, end = pixels[:600], pixels[-600:]
    forest = RandomForestClassifier(n_estimators=100)
    result = witness_test(beginning, end, learner=FromEstimator(forest, output="class"), rng=0)
    print(result)
    print(f"\n{(1 + result.statistic) / 2:.0%} of the digits are put at the right end of the file (50% is chance).")


def requests(n: int, phrases: tuple[str, ...], share: float, rng: np.random.Generator) -> list[str]:
    """Short messages, of which a share is about what has changed."""
    changed = rng.random(n) < share
    trouble = [rng.choice(phrases if new else TROUBLE) for new in changed]
    return [f"the {rng.choice(THINGS)} {what} {rng.choice(POLITE)}" for what in trouble]


def texts() -> None:
    rng = np.random.default_rng(0)
    before = requests(300, TROUBLE, 0.0, rng)
    after = requests(300, SINCE_THE_RELEASE, 0.25, rng)
    every = before + after
    looked_up = FunctionTransformer(lambda rows: [every[int(i)] for i in rows[:, 0]])
    model = make_pipeline(looked_up, TfidfVectorizer(), Ridge(alpha=1.0))  # squared error: the largest SNR
    rows = np.arange(len(every))
    result = witness_test(rows[: len(before)], rows[len(before) :], learner=FromEstimator(model), rng=0)
    print(result)
    vocabulary, ridge = result.witness.function.model[1], result.witness.function.model[2]
    words = vocabulary.get_feature_names_out()[np.argsort(ridge.coef_)[:3]]
    print(f"\nWords that speak most for the time after the release: {', '.join(words)}")


EXAMPLES: dict[str, Callable[[], None]] = {"table": table, "digits": digits, "texts": texts}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in EXAMPLES]
    if unknown:
        sys.exit(f"There are examples on {', '.join(EXAMPLES)}, got {', '.join(unknown)}.")
    for name in names or EXAMPLES:
        print(f"--- {name}\n")
        EXAMPLES[name]()
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
