"""Tables as they come: every kind of column, the same in every library, and blind to the samples."""

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from tellapart import Fisher, Mean, Permutation, Select, tell_apart, witness_test
from tellapart.inference.columns import RankMap
from tellapart.joint_result import TellApartResult
from tellapart.kernels import BandwidthGrid, Energy, Gaussian, Laplace
from tellapart.pairs import column_spreads
from tellapart.result import WitnessTestResult
from tellapart.several_result import SeveralResult
from tellapart.tables import encoded

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
DAY = 86400
MIDNIGHT = dt.datetime(2024, 1, 1)


def mixed(n, seed, missing=0.1):
    """Plain Python columns of every kind, of which every frame library can make a table."""
    rng = np.random.default_rng(seed)

    def with_gaps(values):
        return [None if rng.random() < missing else v for v in values]

    return {
        "age": with_gaps(rng.normal(40, 10, n).tolist()),
        "rooms": rng.integers(0, 9, n).tolist(),
        "member": with_gaps((rng.random(n) < 0.5).tolist()),
        "plan": with_gaps(rng.choice(["free", "paid", "team"], n).tolist()),
        "town": [f"town {i}" for i in rng.integers(0, 300, n)],
        "seen": with_gaps([MIDNIGHT + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 40 * DAY, n)]),
        "born": [dt.date(1990, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 4000, n)],
        "took": [dt.timedelta(seconds=int(s)) for s in rng.integers(1, 500, n)],
        "opens": [dt.time(int(h), 30) for h in rng.integers(0, 24, n)],
        "comment": [" ".join(rng.choice(["the", "export", "is", "slow", "again", "help"], 5)) for _ in range(n)],
    }


def pair(column, other, name="a"):
    """Two pandas frames with the column under test and a harmless one."""
    x, y = ({name: values, "still": np.arange(float(len(values)))} for values in (column, other))
    return pd.DataFrame(x), pd.DataFrame(y)


def of_source(table, source="a"):
    """What one column became: pooled rows of its encoded columns, by name."""
    rows = np.concatenate(table.samples)
    return {c: rows[:, j] for j, (c, s) in enumerate(zip(table.columns, table.sources, strict=True)) if s == source}


def test_every_kind_of_column_becomes_finite_numbers():
    table = encoded(pd.DataFrame(mixed(60, 0)), pd.DataFrame(mixed(50, 1)))
    assert set(table.sources) == set(mixed(1, 0))
    assert [s.shape for s in table.samples] == [(60, len(table.columns)), (50, len(table.columns))]
    assert all(np.isfinite(s).all() and s.dtype == np.float64 for s in table.samples)
    assert len(set(table.columns)) == len(table.columns) == len(table.sources)
    assert table.schema == ()


@pytest.mark.parametrize("second", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize("first", FRAMES.values(), ids=FRAMES.keys())
def test_the_library_of_a_frame_does_not_matter(first, second):
    expected = encoded(pd.DataFrame(mixed(40, 0)), pd.DataFrame(mixed(30, 1)))
    table = encoded(first(mixed(40, 0)), second(mixed(30, 1)))
    assert (table.columns, table.notes, table.schema) == (expected.columns, expected.notes, expected.schema)
    for mine, other in zip(table.samples, expected.samples, strict=True):
        assert_array_equal(mine, other)


def test_relations_of_duckdb_are_tables():
    tables = [pa.table(mixed(40, seed)).drop_columns("took") for seed in (0, 1)]
    x, y = map(duckdb.from_arrow, tables)
    assert_array_equal(encoded(x, y).samples[1], encoded(*tables).samples[1])
    interval = duckdb.sql("select interval 1 month as took")
    with pytest.raises(TypeError, match="got month_day_nano_interval in column 'took'"):
        encoded(interval, interval)


MIXED = pd.DataFrame(mixed(30, 2))


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(30)), n=st.integers(2, 28))
def test_the_encoding_does_not_see_samples_or_the_order_of_rows(order, n):
    """Exactness: however the rows are dealt out, each becomes the same numbers."""
    whole = np.concatenate(encoded(MIXED[:15], MIXED[15:]).samples)
    dealt = MIXED.iloc[list(order)]
    table = encoded(dealt[:n], dealt[n:])
    assert_array_equal(np.concatenate(table.samples), whole[list(order)])


def test_swapping_the_samples_swaps_the_rows():
    x, y = pd.DataFrame(mixed(40, 0)), pd.DataFrame(mixed(30, 1))
    there, back = encoded(x, y), encoded(y, x)
    assert there.columns == back.columns
    for mine, other in zip(there.samples, back.samples[::-1], strict=True):
        assert_array_equal(mine, other)


def test_the_order_of_columns_is_a_note_and_no_difference():
    x, y = pd.DataFrame(mixed(40, 0)), pd.DataFrame(mixed(30, 1))
    expected, table = encoded(x, y), encoded(x, y[y.columns[::-1]])
    assert_array_equal(table.samples[1], expected.samples[1])
    assert [d.what for d in table.schema] == ["order"]
    assert table.schema[0].text.startswith("the columns of y are in another order than those of x")


def test_the_level_holds_on_mixed_tables():
    """Rejections among 200 tables without a difference, against the exact binomial bound."""
    few = {"kernels": BandwidthGrid(count=2), "null": Permutation(19), "families": ("kernel", "single columns")}
    trials, rejected = 200, 0
    for trial in range(trials):
        rows = pd.DataFrame(mixed(24, trial, missing=0.3)).drop(columns="comment")
        rejected += tell_apart(rows[:12], rows[12:], rng=trial, **few).pvalue <= 0.05
    assert rejected <= binom.ppf(0.9999, trials, 0.05)


# --- one kind of column at a time


def test_numbers_stay_and_missing_ones_are_marked_and_filled_with_the_pooled_median():
    found = of_source(encoded(*pair([1.0, None, 3.0], [10.0, None])))
    assert_array_equal(found["a"], [1, 3, 3, 10, 3])
    assert_array_equal(found["a is missing"], [0, 1, 0, 0, 1])


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_missing_is_missing_however_it_is_written(gap):
    values = pd.array([1, gap, 3], dtype="Int64") if gap is pd.NA else [1.0, gap, 3.0]
    assert_array_equal(of_source(encoded(*pair(values, [5.0, 6.0])))["a is missing"], [0, 1, 0, 0, 0])


def test_missing_values_alone_tell_samples_apart():
    rng = np.random.default_rng(0)
    x, y = (pd.DataFrame({"a": rng.normal(size=80)}) for _ in range(2))
    y["a"] = y["a"].mask(rng.random(80) < 0.2)
    result = tell_apart(x, y, rng=0)
    assert result.pvalue < 0.01
    assert "1 column encoded as 2: 'a' as numbers with a mark where they are missing" in str(result)


def test_booleans_are_zero_and_one():
    found = of_source(encoded(*pair(pd.array([True, None, False]), [True, False])))
    assert_array_equal(found["a is missing"], [0, 1, 0, 0, 0])
    assert_array_equal(found["a"], [1, 0.5, 0, 1, 0])


def test_few_categories_have_a_column_each_commonest_first():
    found = of_source(encoded(*pair(["u", "v", "u"], ["w", "v", "u"])))
    assert list(found) == ["a = u", "a = v", "a = w"]
    assert_array_equal(found["a = v"], [0, 1, 0, 0, 1, 0])


def test_of_two_categories_one_column_is_enough():
    assert_array_equal(of_source(encoded(*pair(["u", "v", "v"], ["u", "v"])))["a = u"], [1, 0, 0, 1, 0])


def test_categorical_types_are_text():
    texts, categories = ["u", "v", "w"], pd.Categorical(["w", "v", "u"], categories=["z", "w", "v", "u"])
    table = encoded(*pair(texts, categories))
    assert table.schema == ()
    assert list(of_source(table)) == ["a = u", "a = v", "a = w"]
    enum = pl.Series(texts, dtype=pl.Enum(["w", "v", "u"]))
    assert list(of_source(encoded(pl.DataFrame({"a": enum}), pa.table({"a": texts})))) == ["a = u", "a = v", "a = w"]


def test_a_category_that_only_one_sample_has_is_evidence():
    rng = np.random.default_rng(0)
    x, y = (pd.DataFrame({"a": rng.choice(["u", "v", "w"], 100)}) for _ in range(2))
    y["a"] = y["a"].mask(rng.random(100) < 0.15, "new")
    result = tell_apart(x, y, rng=0)
    assert result.pvalue < 0.01
    assert result.families["single columns"].column == "a = new"


def test_a_thousand_levels_take_few_columns_and_lose_none():
    levels = [f"level {i}" for i in range(1000)] * 2
    found = of_source(encoded(*pair(["common"] * 300 + levels[:1000], ["common"] * 100 + levels[1000:])))
    assert list(found) == ["a = common", "a: other levels", "a: how common", *(f"a: sign {i}" for i in range(1, 5))]
    assert_array_equal(found["a: other levels"], 1 - found["a = common"])
    assert_allclose(np.unique(found["a: how common"]), np.log1p([2, 400]))
    for i in range(1, 5):
        positive = int((found[f"a: sign {i}"][found["a = common"] == 0] > 0).sum() / 2)
        assert binom.cdf(positive, 1000, 0.5) > 1e-4
        assert binom.sf(positive, 1000, 0.5) > 1e-4


def test_shares_of_many_levels_are_compared():
    rng = np.random.default_rng(1)
    x, y = ([f"level {int(1000 * u)}" for u in rng.random(400) ** power] for power in (1, 3))
    assert tell_apart(pd.DataFrame({"a": x}), pd.DataFrame({"a": y}), rng=0).pvalue < 0.01


def test_dates_are_days_and_cycles_that_they_go_through_twice():
    hours = [MIDNIGHT + dt.timedelta(hours=7 * i) for i in range(20)]  # six days
    found = of_source(encoded(*pair(hours[:10], hours[10:])))
    assert list(found) == ["a", "a: sine of the day", "a: cosine of the day"]
    assert_allclose(found["a"], np.arange(20) * 7 / 24)
    assert_allclose(found["a: cosine of the day"], np.cos(2 * np.pi * 7 * np.arange(20) / 24), atol=1e-9)
    dates = [dt.date(2020, 1, 1) + dt.timedelta(days=10 * i) for i in range(80)]  # two years, no time of the day
    found = of_source(encoded(*pair(dates[:40], dates[40:])))
    assert [c.split()[-1] for c in found] == ["a", "week", "week", "year", "year"]


def test_a_missing_date_is_nowhere_in_its_cycles():
    days = [MIDNIGHT + dt.timedelta(hours=5 * i) for i in range(12)]
    found = of_source(encoded(*pair([None, *days[:5]], days[5:])))
    assert [found[c][0] for c in found] == [pytest.approx(found["a"][1:].mean()), 0, 0, 1]


def test_time_zones_are_instants():
    utc = pd.date_range("2024-01-01", periods=3, freq="h", tz="UTC")
    found = of_source(encoded(*pair(utc, utc.tz_convert("Asia/Tokyo"))))["a"]
    assert_array_equal(found[:3], found[3:])


def test_samples_of_two_periods_are_explained():
    march, april = (pd.date_range(f"2024-0{m}-01", periods=20, freq="D") for m in (3, 4))
    result = tell_apart(*pair(march, april, "when"), rng=0)
    assert result.pvalue < 0.05
    assert "dates of 'when' do not overlap, which alone tells x and y apart" in " ".join(result.notes)
    assert not any("overlap" in note for note in encoded(*pair(march, march, "when")).notes)


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        ([dt.timedelta(seconds=1), dt.timedelta(minutes=1)], [1, 60]),
        ([dt.time(1, 2, 3), dt.time(23)], [3723, 82800]),
        ([Decimal("1.5"), Decimal(2)], [1.5, 2]),
    ],
    ids=["durations", "times of day", "decimals"],
)
def test_amounts_of_other_types(values, seconds):
    for frame in FRAMES.values():
        found = of_source(encoded(frame({"a": [*values, None]}), frame({"a": values})))
        assert_allclose(found["a"][:2], seconds)


def test_free_text_is_told_apart_by_its_words():
    rng = np.random.default_rng(0)
    old, new = ["the export is slow", "login does not open"], ["the export is slow", "a button is hidden now"]
    x, y = ([f"{rng.choice(said)} {rng.integers(100)} times" for _ in range(60)] for said in (old, new))
    result = tell_apart(*(pd.DataFrame({"said": z}) for z in (x, y)), rng=0)
    assert result.pvalue < 0.01
    assert "'said' as free text" in str(result)


def test_numbers_and_dates_that_came_as_text_are_read():
    numbers = [f"{i}.5" for i in range(12)]
    assert_allclose(of_source(encoded(*pair(numbers[:6], numbers[6:])))["a"], np.arange(12) + 0.5)
    days = [f"2024-01-{i:02d}" for i in range(1, 13)]
    assert_allclose(of_source(encoded(*pair(days[:6], days[6:])))["a"], np.arange(12))
    codes = [f"0{i}234" for i in range(12)]
    assert all(" = 0" in name for name in of_source(encoded(*pair(codes[:6] * 3, codes[6:] * 3))) if "=" in name)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([f"u-{i}" for i in range(40)], "an identifier, every value once"),
        ([f"{i:08d}" for i in range(40)], "an identifier, every value once"),
        ([str(10**17 + i) for i in range(40)], "an identifier, every value once"),
        (["same"] * 40, "constant"),
        ([7.0] * 40, "constant"),
        ([None] * 40, "without values"),
        ([np.nan] * 40, "without values"),
    ],
)
def test_what_tells_nothing_is_left_out_and_said(values, why):
    x, y = pair(values[:20], values[20:])
    table = encoded(x.assign(kind="u"), y.assign(kind="v"))
    assert "a" not in table.sources
    assert table.notes[-1] == f"left out: 'a' ({why})"


def test_a_constant_with_gaps_is_its_gaps():
    assert list(of_source(encoded(*pair([7.0, None], [7.0, 7.0])))) == ["a is missing"]
    assert list(of_source(encoded(*pair(["u", None], ["u", "u"])))) == ["a is missing"]


def test_one_constant_in_each_sample_is_a_difference():
    result = tell_apart(pd.DataFrame({"v": ["1.0"] * 20}), pd.DataFrame({"v": ["2.0"] * 20}), rng=0)
    assert result.pvalue < 0.01


def test_tables_in_which_nothing_varies_are_alike():
    x = pd.DataFrame({"a": ["u"] * 9, "b": [None] * 9})
    for test in (tell_apart, witness_test):
        result = test(x, x, rng=0)
        assert result.pvalue == 1
        assert "left out: 'a' (constant); 'b' (without values)" in result.notes


# --- what a column weighs


@pytest.mark.parametrize("grid", [BandwidthGrid(count=3), BandwidthGrid(Laplace(), count=3)], ids=["l2", "l1"])
def test_a_source_in_several_columns_weighs_as_much_as_in_one(grid):
    """Three copies of a column that are a third of a source each are that column, in every kernel."""
    rows, other = np.random.default_rng(0).normal(size=(2, 50, 1))
    single, copied = np.hstack([other, rows]), np.hstack([other, rows, rows, rows])
    shares = np.array([1, 1 / 3, 1 / 3, 1 / 3])
    rule = type(grid.shape)("scaled-median")
    for one, three in [
        *zip(grid.kernels(single, rng()), grid.kernels(copied, rng(), shares), strict=True),
        (rule.resolved(single, rng()), rule.resolved(copied, rng(), shares)),
        (Energy().resolved(single, rng()), Energy().resolved(copied, rng(), shares)),
    ]:
        assert_allclose(one(single, single), three(copied, copied), atol=1e-9)


def rng():
    return np.random.default_rng(0)


def test_pairs_of_columns_count_by_their_sources():
    """Each of two columns in copies: the products between them add up to one product."""
    first, second = np.random.default_rng(0).normal(size=(2, 50, 1))
    copied, shares = np.hstack([first, first, second, second]), np.full(4, 0.5)
    ranks = RankMap.of(copied, shares)
    between = ranks.linear(ranks.polynomials(copied))
    columns = np.hstack([first, second])
    alone = RankMap.of(columns)
    product = np.prod(alone.linear(alone.polynomials(columns)), axis=1)
    assert_allclose((between[:, :2, None] * between[:, None, 2:]).sum(axis=(1, 2)) / 2, product)
    assert_allclose(
        ranks.normal_scores(copied)[:, 0] * np.sqrt(2), alone.normal_scores(np.hstack([first, second]))[:, 0]
    )


def units_of(kernel):
    return np.array(kernel.bandwidth) / kernel.bandwidth[0]


def weighted_frames():
    x, y = (pd.DataFrame({c: mixed(40, seed)[c] for c in ("rooms", "plan", "born")}) for seed in (0, 1))
    return x, y.assign(rooms=y["rooms"] + 3)


@pytest.mark.parametrize("path", ["exact kernel matrices", "features for each kernel", "folds in one pass"])
def test_every_path_weighs_sources_alike(monkeypatch, path):
    x, y = weighted_frames()
    if path != "exact kernel matrices":
        monkeypatch.setattr("tellapart.inference.in_memory.EXACT_ROWS", 10)
    if path == "folds in one pass":
        monkeypatch.setattr("tellapart.inference.ensemble.MOST_IN_MEMORY", 10)
    table = encoded(x, y)
    result = tell_apart(x, y, families=("kernel", "linear", "pairs of columns"), null=Permutation(19), rng=0)
    assert path in result.computed
    kernel = result.families["kernel"].kernel
    assert_allclose(
        units_of(kernel),
        column_spreads(table.two.pooled, table.shares, getattr(kernel, "norm", "l2"))
        / column_spreads(table.two.pooled, table.shares)[0],
    )


@pytest.mark.parametrize("learner", [Select(), Select(kernels=[Gaussian()], ridges=[1.0]), Mean(), Fisher(Gaussian())])
def test_learners_weigh_sources_alike(learner):
    x, y = weighted_frames()
    some = np.arange(20)
    result = witness_test(x, y, learner=learner, train_share=(some, some), rng=0)
    table = encoded(x, y)
    assert_allclose(table.shares, [1] + [1 / 4] * 4 + [1 / 5] * 5)
    spreads = column_spreads(table.two.take(some, some).pooled, table.shares)
    assert_allclose(units_of(result.witness.function.kernel), spreads / spreads[0])


def test_plain_columns_are_left_alone():
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)))
    assert encoded(numbers, numbers).shares is None
    assert encoded(*pair([True, False], [True, None])).shares is not None
    assert encoded(*pair(["u", "v"], ["v", "v"])).shares is None


# --- what differs between the tables


def schema(x, y):
    return [(d.what, d.column, d.text) for d in encoded(x, y).schema]


def test_columns_of_one_table_only_are_reported_and_not_compared():
    x, y = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]}), pd.DataFrame({"c": [1.0, 2.0], "b": [0.0, 1.0]})
    assert schema(x, y) == [
        ("absent", "a", "column 'a' is only in x, and was not compared"),
        ("absent", "c", "column 'c' is only in y, and was not compared"),
    ]
    assert encoded(x, y).columns == ("b",)


@pytest.mark.parametrize(
    ("first", "second", "end"),
    [
        ([1, 2, 3], ["1", "2", "4"], "holds numbers in x, text in y, and was compared as numbers"),
        ([1, 2, 3], ["1", "2", "four"], "holds numbers in x, text in y, and was compared as text"),
        ([True, False, True], [0.5, 1, 2], "holds booleans in x, numbers in y, and was compared as numbers"),
        ([MIDNIGHT] * 3, ["2024-01-02"] * 3, "holds dates in x, text in y, and was compared as dates"),
        ([MIDNIGHT] * 3, [1, 2, 3], "holds dates in x, numbers in y, and was not compared"),
        ([MIDNIGHT] * 3, ["u", "v", "w"], "holds dates in x, text in y, and was not compared"),
    ],
)
def test_changed_types(first, second, end):
    x, y = pair(first, second)
    assert schema(x, y) == [("type", "a", f"column 'a' {end}")]
    assert ("a" in encoded(x, y).sources) == ("not" not in end)


def test_a_number_is_the_same_level_as_its_text():
    found = of_source(encoded(*pair([1.0, 2.0, 2.0], ["1", "2", "x"])))
    assert list(found) == ["a = 2", "a = 1", "a = x"]
    assert_array_equal(found["a = 2"], [0, 1, 1, 0, 1, 0])


def test_integers_that_became_floats_and_columns_without_values_are_no_other_type():
    assert schema(*pair([1, 2, 3], [1.5, 2.0, 3.0])) == []
    assert schema(*pair([None, None, None], ["u", "v", "w"])) == []


def test_differences_between_the_tables_come_first_in_the_printed_result():
    x, y = pd.DataFrame({"a": np.arange(20.0), "b": 1.0}), pd.DataFrame({"a": np.arange(20.0) + 0.5})
    for test, other in ((tell_apart, TellApartResult), (witness_test, WitnessTestResult)):
        result = test(x, y, rng=0)
        lines = str(result).splitlines()
        assert lines[2].split(maxsplit=1) == ["schema", "column 'b' is only in x, and was not compared"]
        assert str(other.from_dict(result.to_dict())) == str(result)
        assert result.schema_differences == ("column 'b' is only in x, and was not compared",)


def test_several_tables():
    x, y = pd.DataFrame(mixed(20, 0)), pd.DataFrame(mixed(20, 1))
    z = pl.DataFrame(mixed(20, 2)).drop("rooms")
    result = tell_apart({"x": x, "y": y, "z": z}, rng=0)
    assert result.schema_differences == ("column 'rooms' is only in x and y, and was not compared",)
    numbered = tell_apart([x, y, z], rng=0)
    assert numbered.schema_differences == ("column 'rooms' is only in sample 0 and sample 1, and was not compared",)
    assert numbered.pvalue == result.pvalue
    assert any("encoded as" in note for note in result.notes)
    assert str(SeveralResult.from_dict(result.to_dict())) == str(result)


# --- names, arrays, and what is refused


def test_names_need_not_be_strings():
    x, y = (pd.DataFrame({1: ["u", "v", "w"], ("b", 2): [1.0, 2.0, value]}) for value in (3.0, None))
    assert encoded(x, y).sources == ("1", "1", "1", "('b', 2)", "('b', 2)")


@pytest.mark.parametrize("frame", [pd.DataFrame([["u", 1]], columns=["a", "a"]), pd.DataFrame({1: ["u"], "1": ["v"]})])
def test_names_must_be_distinct(frame):
    with pytest.raises(ValueError, match="`y` must have distinct column names"):
        encoded(pd.DataFrame({"a": ["u"]}), frame)


def test_series_are_one_column():
    x, y = pd.Series(["u", "v", "w"], name="a"), pl.Series("b", ["u", "u", "v"])
    assert encoded(x, y).columns == ("a = u", "a = v", "a = w")


def test_complete_numbers_are_taken_as_they_are():
    x = pd.DataFrame({"a": np.arange(4, dtype=np.float32), "b": np.float32(7)})
    table = encoded(x, x[["b", "a"]])
    assert table.samples[1].dtype == np.float32
    assert (table.columns, table.notes, table.encoding) == (("a", "b"), (), None)
    assert [d.what for d in table.schema] == ["order"]


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_empty_frames_are_refused(frame):
    with pytest.raises(ValueError, match=r"`x` must have at least one row and one column, got shape \(0, 1\)"):
        encoded(frame({"a": pa.array([], pa.string()).to_pylist()}), frame({"a": ["u"]}))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pl.Series([[1], [2]]), r"List\(Int64\)"),
        (pl.Series([{"u": 1}, {"u": 2}]), r"Struct\(.*\)"),
        (pl.Series([b"u", b"v"]), "Binary"),
        (pl.Series([1, 2], dtype=pl.Int128), "Int128"),
    ],
)
def test_what_cannot_be_compared_is_refused(column, said):
    bad = pl.DataFrame({"a": column, "b": ["u", "v"]})
    with pytest.raises(TypeError, match=f"`y` must have .*{said} in column 'a'. Encode it as numbers"):
        encoded(pl.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}), bad)


def test_objects_of_python():
    x, y = pair([1, "u", None], [dt.date(2020, 1, 1), 2.0, True])
    assert "a = u" in of_source(encoded(x, y))
    with pytest.raises(TypeError, match="object in column 'a'"):
        encoded(*pair([[1], [2]], [[3], [4]]))


def test_infinity_stays_an_error():
    with pytest.raises(ValueError, match="`x` must be finite, got 0 NaN and 1 infinite"):
        encoded(*pair([1.0, np.inf, None], [1.0, 2.0]))


def test_no_common_column():
    with pytest.raises(ValueError, match="must have a column that can be compared, but column 'a' is only in x"):
        encoded(pd.DataFrame({"a": ["u"]}), pd.DataFrame({"b": ["u"]}))
    names = [f"u-{i}" for i in range(40)]
    with pytest.raises(ValueError, match="left out: 'a' \\(an identifier"):
        encoded(pd.DataFrame({"a": names[:20]}), pd.DataFrame({"a": names[20:]}))


def test_an_array_beside_a_mixed_frame_points_to_frames():
    with pytest.raises(TypeError, match=r"String in column 'a'.*tell_apart and witness_test do so where all samples"):
        tell_apart(pd.DataFrame({"a": ["u", "v"]}), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="or pass data frames to tell_apart or witness_test"):
        tell_apart(np.array([1.0, np.nan]), np.zeros(2))


def test_a_column_that_reads_like_code_is_only_a_name():
    x, y = pair(["<script>\n" + "u" * 50, "v", "w"], ["v", "w", "w"], "<b>\n{x}")
    assert [c for c in encoded(x, y).columns if "script" in c] == ["<b>\n{x} = <script> uuuuuuuuuuuuuuuuuu..."]


def test_the_witness_takes_further_tables():
    x, y = pd.DataFrame(mixed(60, 0)), pd.DataFrame(mixed(60, 1)).assign(rooms=20)
    result = witness_test(x, y, rng=0)
    fresh = pl.DataFrame(mixed(30, 2)).with_columns(town=pl.lit("never seen"), plan=pl.lit(None, dtype=pl.String))
    low, high = (result.witness(fresh.with_columns(rooms=pl.lit(rooms))).mean() for rooms in (20, 4))
    assert low < high
    assert_allclose(result.witness(x.iloc[:3]), result.witness(x)[:3], rtol=1e-9)
    with pytest.raises(ValueError, match=r"`z` must have the columns that were compared, got none called \['rooms'\]"):
        result.witness(fresh.drop("rooms"))


def test_the_witness_of_a_series_takes_a_series():
    x, y = pd.Series(list("uvw") * 10), pd.Series(list("uuv") * 10)
    result = witness_test(x, y, rng=0)
    assert result.witness(pl.Series("other name", ["u", "w"])).shape == (2,)
