"""Power lost by encoding a table without thinking, against an encoding by hand, on census data (Adult, UCI).

``python -m benchmarks.tables [trials [way ...]]`` writes `benchmarks/results/tables.json`: rejections of `tell_apart`
at level 0.05 on the same draws, for five ways to make the same mixed table into numbers, or some of them. The file is
read from the folder that `TELLAPART_DATA` names; the question marks in it are missing values.

- *as it comes*: the data frames themselves, encoded by :mod:`tellapart.tables`; a column that is encoded as several
  weighs as much as one.
- *unweighted*: the same numbers as arrays, where every encoded column weighs as much as another.
- *by hand*: by someone who knows the columns. Education in years, logarithms of gains, a handful of groups.
- *one-hot*: a column of zeros and ones for every level and for what is missing.
- *codes*: levels numbered in the order of the alphabet, missing -1.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.machine import machine
from benchmarks.power.real import ADULT, folder
from tellapart import Permutation, tell_apart
from tellapart.tables import encoded

RESULTS = Path(__file__).parent / "results"
SEED, LEVEL = 20261119, 0.05
NULL = Permutation(199, stop_after=20)

Frames = tuple[pd.DataFrame, pd.DataFrame]
Rows = tuple[np.ndarray, np.ndarray]


@cache
def adults() -> pd.DataFrame:
    table = pd.read_parquet(folder() / ADULT)
    return table.mask(table == "?")


def drawn(rng: np.random.Generator, n: int, odds: Callable[[pd.DataFrame], np.ndarray] | None = None) -> Frames:
    """Rows for both samples; for the second one by the odds of each row."""
    table = adults()
    weights = np.ones(len(table)) if odds is None else odds(table)
    second = rng.choice(len(table), n, replace=False, p=weights / weights.sum())
    first = rng.choice(np.setdiff1d(np.arange(len(table)), second), n, replace=False)
    return table.iloc[first].drop(columns="label"), table.iloc[second].drop(columns="label")


def more_income(rng: np.random.Generator) -> Frames:
    """About 35 % instead of 24 % with a high income, which itself is not a column."""
    return drawn(rng, 200, lambda t: np.where(t["label"] == ">50K", 1.7, 1.0))


def more_office_work(rng: np.random.Generator) -> Frames:
    office = ("Exec-managerial", "Prof-specialty", "Adm-clerical", "Tech-support", "Sales")
    return drawn(rng, 200, lambda t: np.where(t["occupation"].isin(office), 1.7, 1.0))


def from_elsewhere(rng: np.random.Generator) -> Frames:
    """Twice as many who were born abroad, in forty countries."""
    return drawn(rng, 300, lambda t: np.where(t["native_country"] == "United-States", 1.0, 2.2))


def one_new_country(rng: np.random.Generator) -> Frames:
    """Four in a hundred rows of the second sample are from a country that the first one does not know."""
    x, y = drawn(rng, 200)
    return x, y.assign(native_country=y["native_country"].mask(rng.random(len(y)) < 0.04, "Atlantis"))


def missing_more(rng: np.random.Generator) -> Frames:
    """An eighth of the occupations got lost on the way."""
    x, y = drawn(rng, 200)
    return x, y.assign(occupation=y["occupation"].mask(rng.random(len(y)) < 0.12))


def older(rng: np.random.Generator) -> Frames:
    return drawn(rng, 200, lambda t: np.exp(t["age"].to_numpy() / 50))


def longer_hours(rng: np.random.Generator) -> Frames:
    return drawn(rng, 200, lambda t: np.exp(t["hours_per_week"].to_numpy() / 50))


def age_of_another(rng: np.random.Generator) -> Frames:
    """Ages belong to other rows: every column by itself is as before."""
    x, y = drawn(rng, 200)
    return x, y.assign(age=rng.permutation(y["age"].to_numpy()))


def no_association(rng: np.random.Generator) -> Frames:
    """Education belongs to another row: every column by itself is as before."""
    x, y = drawn(rng, 200)
    other = rng.permutation(len(y))
    return x, y.assign(**{c: y[c].to_numpy()[other] for c in ("education", "education_num")})


def nothing(rng: np.random.Generator) -> Frames:
    return drawn(rng, 200)


PROBLEMS = (
    more_income,
    more_office_work,
    from_elsewhere,
    one_new_country,
    missing_more,
    older,
    longer_hours,
    age_of_another,
    no_association,
    nothing,
)


def by_hand(table: pd.DataFrame) -> pd.DataFrame:
    work, status, country = table["occupation"], table["marital_status"], table["native_country"]
    own = {
        "age": table["age"],
        "hours": table["hours_per_week"],
        "years of education": table["education_num"],
        "weight": np.log(table["fnlwgt"]),
        "gain": np.log1p(table["capital_gain"]),
        "loss": np.log1p(table["capital_loss"]),
        "woman": table["sex"] == "Female",
        "white": table["race"] == "White",
        "black": table["race"] == "Black",
        "married": status.str.startswith("Married"),
        "single": status == "Never-married",
        "child": table["relationship"] == "Own-child",
        "private": table["workclass"] == "Private",
        "self-employed": table["workclass"].str.startswith("Self").fillna(False),
        "state": table["workclass"].str.endswith("-gov").fillna(False),
        "desk": work.isin(["Exec-managerial", "Prof-specialty", "Tech-support"]),
        "office": work.isin(["Adm-clerical", "Sales"]),
        "service": work.isin(["Other-service", "Priv-house-serv", "Protective-serv"]),
        "no occupation": work.isna(),
        "native": country == "United-States",
        "no country": country.isna(),
    }
    return pd.DataFrame(own).astype(float)


def pooled(encode: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[pd.DataFrame, pd.DataFrame], Rows]:
    """Encode both samples together, which blinds the encoding to them."""

    def both(x: pd.DataFrame, y: pd.DataFrame) -> Rows:
        rows = encode(pd.concat([x, y], ignore_index=True)).to_numpy(dtype=float)
        return rows[: len(x)], rows[len(x) :]

    return both


def one_hot(table: pd.DataFrame) -> pd.DataFrame:
    words = [c for c in table if not pd.api.types.is_numeric_dtype(table[c])]
    return pd.get_dummies(table, columns=words, dummy_na=True)


def codes(table: pd.DataFrame) -> pd.DataFrame:
    return table.apply(lambda c: c if pd.api.types.is_numeric_dtype(c) else c.astype("category").cat.codes)


WAYS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Rows]] = {
    "as it comes": lambda x, y: (x, y),
    "unweighted": lambda x, y: encoded(x, y).samples,
    "by hand": pooled(by_hand),
    "one-hot": pooled(one_hot),
    "codes": pooled(codes),
}


def measured(problem: Callable[[np.random.Generator], Frames], trials: int, ways: Sequence[str]) -> dict:
    """Rejections of every way on the same draws, its columns, and its CPU seconds for a test."""
    rejected, columns = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    logarithms, seconds = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    for trial in range(trials):
        x, y = problem(np.random.default_rng([SEED, trial]))
        for name in ways:
            begun = time.process_time()
            rows = WAYS[name](x, y)
            result = tell_apart(*rows, null=NULL, rng=trial)
            rejected[name] += result.pvalue <= LEVEL
            logarithms[name] += np.log(result.pvalue) / trials
            seconds[name] += (time.process_time() - begun) / trials
            columns[name] = result.sizes.columns
    return {
        "problem": problem.__name__.replace("_", " "),
        "power": {name: count / trials for name, count in rejected.items()},
        "mean_log_pvalue": {name: round(value, 3) for name, value in logarithms.items()},
        "columns of the last draw": columns,
        "cpu_seconds": {name: round(spent, 3) for name, spent in seconds.items()},
    }


def main(arguments: list[str]) -> None:
    trials, ways = int(arguments[0]) if arguments else 200, arguments[1:] or list(WAYS)
    if not (folder() / ADULT).is_file():
        sys.exit(f"There is no {ADULT} in {folder()}. Name the folder that has it in TELLAPART_DATA.")
    written = {
        "command": " ".join(["python -m benchmarks.tables", *map(shlex.quote, arguments)]),
        "trials": trials,
        "level": LEVEL,
        "null": repr(NULL),
        "seed": SEED,
        "machine": machine(),
        "figures": [],
    }
    for problem in PROBLEMS:
        found = measured(problem, trials, ways)
        print(f"{found['problem']:<20}", *(f"{k} {v:.2f}  " for k, v in found["power"].items()), flush=True)
        written["figures"].append(found)
        (RESULTS / "tables.json").write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
