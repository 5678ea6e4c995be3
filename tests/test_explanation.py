"""Where samples differ, as a user asks for it."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tellapart import Permutation, tell_apart
from tellapart.inference.regions import Bounds
from tellapart.joint_result import TellApartResult
from tellapart.kernels import Precomputed
from tellapart.rules import rule_words
from tellapart.tables import encoded

RNG = np.random.default_rng(0)
FEW = {"null": Permutation(19), "families": ("single columns", "left out"), "rng": 0}
WEIRD = ["<script>alert(1)</script>", "quote\"d, 'name'", "two\nlines", "c" * 10_000, "Größe µ"]


def explained(x, y, draws=39, **settings):
    return tell_apart(x, y, **FEW, **settings).explain(n_permutations=draws)


def checked(explanation):
    """What the contract says of every explanation; returns its dict."""
    d = explanation.to_dict()
    assert json.loads(json.dumps(d, allow_nan=False)) == d
    assert d["schema"] == "where 1"
    assert [c["score"] for c in d["columns"]] == sorted((c["score"] for c in d["columns"]), reverse=True)
    for found in (*d["columns"], *d["pairs"]):
        assert 0 < found["alone"] <= found["pvalue"] <= 1 or found["pvalue"] == pytest.approx(found["alone"])
        assert found["differs"] == (found["pvalue"] <= d["level"])
    for c in d["columns"]:
        portrait = c["portrait"]
        if portrait is not None:
            edged = portrait["kind"] == "histogram"
            assert len(portrait["labels"]) == len(portrait["x"]) + edged == len(portrait["y"]) + edged
            for sample, absent in zip(("x", "y"), portrait["missing"], strict=True):
                assert sum(portrait[sample]) == pytest.approx(1 - absent * edged)
    for pair in d["pairs"]:
        rows, columns = map(len, pair["portrait"]["labels"])
        assert np.shape(pair["portrait"]["x"]) == np.shape(pair["portrait"]["y"]) == (rows, columns)
        assert np.sum(pair["portrait"]["x"]) == pytest.approx(1)
    assert len(d["pairs"]) <= min(20, d["pairs_tried"])
    assert all(len(rows) <= 10 for rows in d["rows"].values())
    for group in d["subgroups"]:
        assert group["low"] <= group["share_y"] - group["share_x"] <= group["high"]
        assert group["share_x"] == group["count_x"] / group["n"]
    if d["evidence"]:
        assert len(d["evidence"]["edges"]) == len(d["evidence"]["x"]) + 1
        assert sum(d["evidence"]["y"]) == pytest.approx(1)
    if d["map"]:
        assert np.shape(d["map"]["x"])[1] == 3
        assert len(d["map"]["y"]) <= 300
    assert str(explanation)
    return d


def visits(n, changed):
    """A table of every kind of column, in which age, plan and missing incomes change."""
    age = np.round(RNG.gamma(9, 4.5, n) + 9 * changed)
    table = pd.DataFrame(
        {
            "age": age,
            "sex": RNG.choice(["f", "m"], n),
            "plan": RNG.choice(["basic", "plus", "pro"], n, p=[0.2, 0.6, 0.2] if changed else [0.6, 0.2, 0.2]),
            "town": RNG.choice([f"town {i}" for i in range(40)], n),
            "income": RNG.lognormal(8, 1, n),
            "first": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.uniform(0, 300, n), "D"),
            "opens": [dt.time(int(h), 30) for h in RNG.integers(0, 24, n)],
            "lasts": pd.to_timedelta(RNG.exponential(50, n), "min"),
            "member": RNG.random(n) < 0.4,
            "note": [" ".join(RNG.choice(["a", "quite", "long", "story", "of", "it"], 6)) for _ in range(n)],
            "same": 1,
        }
    )
    table.loc[RNG.random(n) < (0.3 if changed else 0.02), "income"] = np.nan
    return table


def test_every_kind_of_column():
    x, y = visits(120, False), visits(100, True)
    explanation = explained(x, y)
    d = checked(explanation)
    kinds = {c["name"]: c["kind"] for c in d["columns"]}
    assert kinds == {
        "age": "numbers", "sex": "categories", "plan": "categories", "town": "categories", "income": "numbers",
        "first": "dates", "opens": "times of day", "lasts": "durations", "member": "booleans", "note": "free text",
    }  # fmt: skip
    found = {c["name"]: c for c in d["columns"]}
    assert {name for name, c in found.items() if c["pvalue"] == 0.025} == {"age", "plan", "income"}
    assert found["age"]["change"].startswith("median ")
    assert found["plan"]["change"].startswith(("basic: ", "plus: "))
    assert found["income"]["change"].startswith("missing: ")
    assert found["first"]["portrait"]["labels"][0].startswith("2024-01-0")
    assert found["opens"]["portrait"]["labels"][1] == "02:00"
    assert found["member"]["portrait"]["labels"] == ["false", "true"]
    assert found["income"]["portrait"]["missing"][1] > 0.15
    assert set(found["plan"]["portrait"]["labels"]) == {"basic", "plus", "pro"}
    assert set(d["rows"]["x"][0]["values"]) == set(kinds)
    assert "age: median" in str(explanation)


def test_telling_rows_are_those_with_the_largest_evidence_as_they_came():
    x, y = visits(40, False), visits(40, True)
    result = tell_apart(x, y, **FEW)
    d = checked(result.explain(n_permutations=19))
    for name, data, sign in (("x", x, 1), ("y", y, -1)):
        best = d["rows"][name][0]
        assert best["evidence"] == sign * max(sign * result.evidence[name == "y"])
        assert best["values"]["age"] == f"{data['age'][best['row']]:.0f}"
        assert best["values"]["sex"] == data["sex"][best["row"]]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_weird_names_and_values(make):
    columns = {name: RNG.normal(size=60) for name in WEIRD[:-1]}
    columns[WEIRD[-1]] = RNG.choice(["<b>", "a|b", "", "v" * 500, '"'], 60)
    table = make(columns)
    d = checked(explained(table[:30], table[30:]))
    assert {c["name"] for c in d["columns"]} == set(WEIRD)
    assert max(len(v) for row in d["rows"]["x"] for v in row["values"].values()) <= 80
    text = str(explained(table[:30], table[30:]))
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize("rows", ["array", "list", "series", "column"])
def test_one_column_of_any_container(rows):
    x, y = RNG.normal(size=50), RNG.normal(size=40) + 2
    kinds = {"array": lambda v: v, "list": list, "series": pd.Series, "column": lambda v: v[:, None]}
    d = checked(explained(kinds[rows](x), kinds[rows](y)))
    assert len(d["columns"]) == 1
    assert (d["pairs"], d["pairs_tried"], d["map"]) == ([], 0, None)
    assert d["columns"][0]["pvalue"] == 0.025


def test_constant_columns_and_samples_in_which_nothing_varies():
    x, y = np.column_stack([np.ones(30), RNG.normal(size=30)]), np.column_stack([np.ones(30), RNG.normal(size=30)])
    d = checked(explained(x, y))
    assert {c["name"]: c["pvalue"] for c in d["columns"]}["column 0"] == 1
    d = checked(tell_apart(np.ones((30, 2)), np.ones((30, 2))).explain())
    assert [c["pvalue"] for c in d["columns"]] == [1, 1]
    assert d["pairs"] == d["subgroups"] == []
    d = checked(tell_apart(pd.DataFrame({"a": ["u"] * 9}), pd.DataFrame({"a": ["u"] * 9})).explain())
    assert d["columns"][0]["pvalue"] == 1


def test_two_rows_of_each():
    d = checked(tell_apart([[1.0, 2.0], [2.0, 3.0]], [[5.0, 1.0], [6.0, 0.0]]).explain(level=0.1, n_permutations=9))
    assert d["subgroups"] == []
    assert d["rows_used"] == [2, 2]


@pytest.mark.parametrize("kind", ["groups", "strata", "pairs", "blocks", "weights"])
def test_rows_that_are_not_exchangeable(kind):
    x, y = RNG.normal(size=(60, 3)), RNG.normal([0, 0, 1.5], size=(60, 3))
    how = {
        "groups": (np.arange(60) // 3, 100 + np.arange(60) // 3),
        "strata": (np.arange(60) % 2, np.arange(60) % 2),
        "pairs": True,
        "blocks": 5,
        "weights": (RNG.uniform(0.5, 2, 60), RNG.uniform(0.5, 2, 60)),
    }
    d = checked(explained(x, y, **{kind: how[kind]}))
    assert d["columns"][0]["name"] == "column 2"
    assert d["columns"][0]["differs"]
    assert d["subgroups"] == []
    assert any("sub-groups are counted where rows are independent" in note for note in d["notes"])


def test_the_same_seed_gives_the_same_dict_and_the_order_of_rows_none_other():
    x, y = visits(60, False), visits(60, True)
    d = explained(x, y).to_dict()
    assert json.dumps(explained(x, y).to_dict()) == json.dumps(d)
    turned = explained(x.sample(frac=1, random_state=1), y.sample(frac=1, random_state=2)).to_dict()
    for part in ("columns", "pairs", "subgroups"):
        assert turned[part] == d[part]


def test_a_region_is_found_and_said_in_the_words_of_the_table():
    n = 600
    table = pd.DataFrame({"age": RNG.integers(18, 90, 2 * n), "sex": RNG.choice(["f", "m"], 2 * n)})
    table["score"] = RNG.normal(size=2 * n)
    table["other"] = RNG.normal(size=2 * n)
    inside = (np.arange(2 * n) >= n) & (table["age"] > 65) & (table["sex"] == "f")
    table.loc[inside, "score"] += 4
    d = checked(explained(table[:n], table[n:]))
    best = d["subgroups"][0]
    assert best["differs"]
    assert any(rule.startswith("score > ") for rule in best["rule"])
    assert best["share_y"] > best["share_x"] + 0.05


def test_rules_in_the_words_of_the_table():
    day = pd.Timestamp("2024-03-01")
    table = pd.DataFrame(
        {
            "age": [20, 30, None, 50, 60],
            "sex": ["f", "m", "m", "f", "m"],
            "day": [day + pd.Timedelta(days=i) for i in range(5)],
            "member": [True, False, True, True, False],
            "plan": ["a", "b", "c", "a", None],
        }
    )
    made = encoded(table, table)
    place = {name: i for i, name in enumerate(made.columns)}

    def said(name, low=-np.inf, high=np.inf, *more):
        return list(rule_words([Bounds(place[name], low, high), *more], made))

    assert said("age", 25.0) == ["age > 25 or missing"]  # what is missing is filled with the median
    assert said("age", 45.0) == ["age > 45"]
    assert said("age", 25.0, 45.0, Bounds(place["age is missing"], -np.inf, 0.5)) == ["25 < age <= 45", "age is known"]
    assert said("age is missing", 0.5) == ["age is missing"]
    assert said("sex = f", 0.5) == ["sex = f"]
    assert said("sex = f", high=0.5) == ["sex is not f"]
    assert said("day", 2.0) == ["day > 2024-03-03"]
    assert said("member", high=0.5) == ["member is false"]
    assert said("plan = a", 0.5) == ["plan = a"]
    assert rule_words([Bounds(1, 0.25, np.inf)], encoded(RNG.normal(size=(5, 2)), RNG.normal(size=(5, 2)))) == (
        "column 1 > 0.25",
    )


def test_what_cannot_be_explained_says_why():
    x, y = RNG.normal(size=(20, 2)), RNG.normal(size=(20, 2))
    back = TellApartResult.from_dict(tell_apart(x, y, **FEW).to_dict())
    with pytest.raises(ValueError, match="neither a result that was read back has nor one of precomputed kernels"):
        back.explain()
    matrix = np.concatenate([x, y]) @ np.concatenate([x, y]).T
    with pytest.raises(ValueError, match="precomputed kernels"):
        tell_apart(range(20), range(20), kernels=Precomputed(matrix)).explain()
    with pytest.raises(ValueError, match="`n_permutations` must be at least 99"):
        tell_apart(x, y, **FEW).explain(level=0.01, n_permutations=50)
    with pytest.raises(ValueError, match="`level` must lie strictly between 0 and 1"):
        tell_apart(x, y, **FEW).explain(level=1)


def test_of_many_columns_the_first_sixty_have_portraits():
    x, y = RNG.normal(size=(25, 70)), RNG.normal(size=(25, 70))
    d = checked(explained(x, y, 19))
    assert [c["portrait"] is None for c in d["columns"]] == [False] * 60 + [True] * 10
    assert d["pairs_tried"] == 70 * 69 / 2
