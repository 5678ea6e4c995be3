"""A saved reference: what it keeps, how it compares, what it refuses; and the command around it."""

import json

import numpy as np
import pandas as pd
import pytest

from tellapart import Permutation, Reference, storage, tell_apart
from tellapart.cli import main
from tellapart.reference import KIND, VERSION, restored, stored
from tellapart.storage import DamagedFile, Stored
from tellapart.tables.coarse import Categories, Classes, coarse_for
from tellapart.tables.encoders import LeftOut
from tellapart.tables.reading import Column

RNG = np.random.default_rng(0)
QUICK = {"null": Permutation(99, stop_after=10), "rng": 0}


def mixed(n, rng):
    words = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "runs"]
    return pd.DataFrame(
        {
            "amount": rng.normal(size=n),
            "count": rng.poisson(2.0, n),
            "kind": rng.choice(["x", "y", "z"], n),
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90 * 86400, n), unit="s"),
            "gap": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "flag": rng.random(n) < 0.3,
            "said": [" ".join(rng.choice(words, 6)) for _ in range(n)],
            "id": [f"k{i}" for i in rng.permutation(10**6)[:n]],
            "town": [f"t{i}" for i in rng.zipf(1.4, n) % 500],
        }
    )


@pytest.fixture(scope="module")
def fitted():
    return Reference.fit(mixed(600, np.random.default_rng(1)), rng=0)


def test_it_is_the_joint_test_of_coarse_rows():
    x, y = RNG.integers(0, 9, size=(120, 3)).astype(float), RNG.integers(0, 9, size=(50, 3)).astype(float)
    reference = Reference.fit(x, train_share=0.5, rng=4)
    kept = x[np.sort(np.random.default_rng(4).permutation(120)[60:])]  # few distinct values: coarse is exact
    result = reference.test(y, rng=2)
    assert result.pvalue == tell_apart(kept, y, null=Permutation(499, stop_after=20), rng=2).pvalue
    assert (result.sizes.n, result.sizes.m, reference.rows, reference.n) == (60, 50, 60, 120)


def test_no_row_that_fixed_the_classes_is_kept_and_no_more_rows_than_asked():
    x = np.arange(1000.0)
    reference = Reference.fit(x, rows=100, train_share=0.3, rng=0)
    assert (reference.rows, reference.n) == (100, 1000)
    order = np.random.default_rng(0).permutation(1000)
    (classes,) = reference.coarse
    again = Classes.of("0", "0", "numbers", x[order[:300]], 256)
    assert np.array_equal(classes.edges, again.edges)
    assert not np.isin(x[order[300:400]], x[order[:300]]).any()


def test_a_file_gives_the_same_result_and_the_same_bytes(fitted, tmp_path):
    fitted.save(tmp_path / "a.tap")
    again = Reference.load(tmp_path / "a.tap")
    again.save(tmp_path / "b.tap")
    assert (tmp_path / "a.tap").read_bytes() == (tmp_path / "b.tap").read_bytes()
    assert repr(again) == repr(fitted) == "Reference(8 columns, 450 of 600 rows kept in coarse form)"
    assert again.left_out == {"id": "an identifier, every value once"}
    current = mixed(80, np.random.default_rng(2))
    assert again.test(current, **QUICK).to_dict() == fitted.test(current, **QUICK).to_dict()
    assert fitted.test(current, **QUICK).pvalue > 0.05


@pytest.mark.parametrize(
    "change",
    [
        lambda t, rng: t.assign(amount=t["amount"] + 1),
        lambda t, rng: t.assign(kind=t["kind"].mask(rng.random(len(t)) < 0.2, "new")),
        lambda t, rng: t.assign(gap=t["gap"].mask(rng.random(len(t)) < 0.3)),
        lambda t, rng: t.assign(amount=t["amount"].mask(rng.random(len(t)) < 0.3)),
        lambda t, rng: t.assign(said=t["said"].str.replace("quick", "slow").str.replace("fox", "elephant")),
        lambda t, rng: t.assign(count=t["count"] + 50),
    ],
    ids=["shift", "new category", "more missing", "newly missing", "other words", "far away"],
)
def test_it_sees_what_changes(fitted, change):
    rng = np.random.default_rng(3)
    assert fitted.test(change(mixed(150, rng), rng), **QUICK).pvalue <= 0.05


def test_it_says_where_the_sample_differs(fitted):
    current = mixed(150, np.random.default_rng(3)).assign(kind="x")
    said = str(fitted.test(current, **QUICK).explain())
    assert "kind" in said


def test_schema_differences_come_first(fitted):
    current = mixed(60, np.random.default_rng(2)).drop(columns="count").assign(extra=1)
    current = current.assign(amount=current["amount"].astype(str), flag="perhaps")[[*current.columns[::-1]]]
    result = fitted.test(current, tests=7, **QUICK)
    assert result.schema_differences == (
        "column 'count' is only in the reference, and was not compared",
        "column 'extra' is only in y, and was not compared",
        "the columns of y are in another order than those of the reference, and matched by name",
        "column 'amount' holds numbers in the reference, text in y, and was compared as numbers",
        "column 'flag' holds booleans in the reference, text in y, and was not compared",
    )
    assert "compared with level / 7" in result.notes[-1]


def test_arrays_are_matched_by_place_and_refused_with_reasons(fitted):
    reference = Reference.fit(RNG.normal(size=(40, 2)), rng=0)
    assert reference.test(pd.DataFrame(RNG.normal(size=(20, 2)), columns=["a", "b"]), **QUICK).pvalue > 0.01
    for wrong, said in [
        (np.ones((5, 3)), "must have the 2 columns of the reference"),
        (np.full((5, 2), np.nan), "must be finite"),
        (np.full((5, 2), 1e200), "below 1e"),
        (np.ones((1, 2)), "must have at least 2 rows"),
    ]:
        with pytest.raises(ValueError, match=said):
            reference.test(wrong)
    with pytest.raises(ValueError, match="must have a column that can be compared with the reference"):
        fitted.test(pd.DataFrame({"other": [1, 2]}))
    with pytest.raises(ValueError, match="at least 8 rows, got 3"):
        Reference.fit([1, 2, 3])
    with pytest.raises(ValueError, match=r"got 'a' \(without values\)"):
        Reference.fit(pd.DataFrame({"a": [None] * 9}))
    for name, value in [("rows", 0), ("classes", 1), ("train_share", 1.0)]:
        with pytest.raises(ValueError, match=f"`{name}` must"):
            Reference.fit(RNG.normal(size=20), **{name: value})


def test_nothing_varies():
    reference = Reference.fit(np.ones((20, 1)), rng=0)
    assert reference.test(np.ones((9, 1))).pvalue == 1
    assert reference.test(np.full((9, 1), 2.0), **QUICK).pvalue < 0.05


def test_classes_by_hand():
    values = np.concatenate([np.zeros(500), np.arange(1.0, 501)])
    made = Classes.of("a", "a", "numbers", values, 10)
    (back,) = made.columns(made.codes(Column.of("a", "numbers", np.array([0.0, 1, 500, 501, 1e9, -5, np.nan]))))
    assert back.values[0] == 0  # what fills a class has it for itself
    assert 1 < back.values[1] <= 100
    assert back.values[2] < 501 <= back.values[3] < back.values[4]
    assert back.values[5] < 0
    assert np.isnan(back.values[6])
    own = Classes.of("a", "a", "numbers", np.array([1.0, 2, 2, 5]), 10)
    assert set(own.columns(own.codes(Column.of("a", "numbers", np.array([1.0, 2, 5]))))[0].values) == {1, 2, 5}
    member = made.codes(Column.of("a", "numbers", values))[:, 0]
    for j in np.unique(member):  # a class stands for the mean of what made it
        assert made.values[j] == pytest.approx(values[member == j].mean())


def test_rare_levels_are_not_kept_by_name():
    rng = np.random.default_rng(0)
    texts = np.array(["common"] * 50 + ["other"] * 40 + [f"name{i}" for i in rng.integers(0, 1000, 30)], dtype=object)
    made = coarse_for(Column.of("a", "text", texts), 256)
    assert isinstance(made, Categories)
    assert made.levels == ("common", "other")
    ids = Column.of("a", "text", np.array([f"id{i}" for i in range(50)], dtype=object))
    assert isinstance(coarse_for(ids, 256), LeftOut)
    assert "name" not in json.dumps(stored(Reference.fit(pd.DataFrame({"a": texts}), rng=0)).description["columns"][0])


@pytest.mark.parametrize(
    "change",
    [
        lambda d, a: a["codes"].__setitem__((0, 0), 60_000),
        lambda d, a: a.__setitem__("codes", a["codes"][:, 1:]),
        lambda d, a: a.__setitem__("codes", a["codes"].astype(float)),
        lambda d, a: a.pop("edges_0_0"),
        lambda d, a: a.__setitem__("edges_0_0", a["edges_0_0"][::-1]),
        lambda d, a: d["columns"][0].update(kind="secrets"),
        lambda d, a: d["columns"][2].update(levels=[1, 2]),
        lambda d, a: d.pop("columns"),
        lambda d, a: d.update(columns=[]),
        lambda d, a: d.update(n="many"),
    ],
)
def test_files_that_were_tampered_with_are_refused(fitted, tmp_path, change):
    content = stored(fitted)
    description, arrays = json.loads(json.dumps(content.description)), {k: v.copy() for k, v in content.arrays.items()}
    restored(Stored(description, arrays))
    change(description, arrays)
    storage.save(tmp_path / "a.tap", KIND, VERSION, Stored(description, arrays))
    with pytest.raises(DamagedFile, match="is damaged"):
        Reference.load(tmp_path / "a.tap")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(5)
    for name, shift in [("reference", 0.0), ("same", 0.0), ("other", 1.0)]:
        values = rng.normal([shift, 0], 1, size=(80, 2))
        lines = ["u,v", *(f"{a},{b}" for a, b in values)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    return {name: str(tmp_path / f"{name}.csv") for name in ("reference", "same", "other")} | {
        "tap": str(tmp_path / "reference.tap")
    }


def test_the_command(files, capsys):
    assert main(["fit", files["reference"], "-o", files["tap"]]) == 0
    assert capsys.readouterr().out == f"{files['tap']}: 60 of 80 rows of 2 columns, in coarse form\n"
    assert main([files["tap"], files["same"]]) == 0
    assert "all tests of one reference share its luck" in capsys.readouterr().out
    assert main([files["tap"], files["other"], "--tests", "100", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["level"], told["tests"]) == (0.05 / 100, 100)
    assert [s["rows"] for s in told["samples"]] == [60, 80]
    assert told["result"]["pvalue"] <= 0.05 / 100
    assert main([files["tap"], files["other"], "--drop", "u", "-q"]) == 0
    assert main([files["tap"], files["other"], "--columns", "u", "-q"]) == 1
    assert main([files["tap"], files["other"], "--effect-at-least", "0.9", "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_trouble_takes_one_line(files, capsys):
    main(["fit", files["reference"], "-o", files["tap"], "--rows", "20"])
    assert "20 of 80 rows" in capsys.readouterr().out
    for arguments, said in [
        ([files["same"], files["tap"]], "a saved reference comes first"),
        ([files["tap"]], "a sample is one file or query, got 0"),
        ([files["tap"], files["same"], files["other"]], "a sample is one file or query, got 2"),
        ([files["tap"], files["same"], "--pairs"], "--pairs needs the rows of both samples"),
        ([files["tap"], files["same"], "--drop", "w"], "has no column 'w'"),
        ([files["tap"], files["same"], "--columns", "w"], "the reference has no column"),
        ([files["tap"], files["same"], "--tests", "0"], "--tests must be at least 1"),
        ([files["same"], files["other"], "--tests", "3"], "--tests goes with a saved reference"),
        ([files["tap"], files["same"], "--level", "2"], "--level must lie"),
        (["fit", files["reference"], files["same"], "-o", "x"], "the reference is one file or query, got 2"),
        (["fit", files["reference"], "-o", files["reference"] + "/x"], "cannot be written"),
    ]:
        assert main(arguments) == 2, arguments
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1), err
        assert said in err
