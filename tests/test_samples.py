"""What comes in: every accepted kind, and for every kind of bad input a message that helps."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import torch
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression

from tellapart import FromEstimator, Select, witness_test
from tellapart.samples import as_samples

VALUES = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 0.0]])
COLUMNS = {"a": VALUES[:, 0], "b": VALUES[:, 1]}
NAMES = ("a", "b")


class HasArray:
    """What many libraries offer instead of being NumPy arrays."""

    def __array__(self, dtype=None, copy=None):
        return np.array(VALUES, dtype=dtype)


def frame(a, b=(1.0, 2.0, 3.0)):
    """A pandas frame with the column under test in front of a harmless one."""
    return pd.DataFrame({"a": a, "b": b})


ACCEPTED = {
    "float64": (VALUES, np.float64, None),
    "float32": (VALUES.astype(np.float32), np.float32, None),
    "float16": (VALUES.astype(np.float16), np.float32, None),
    "int64": (VALUES.astype(np.int64), np.float64, None),
    "uint8": (VALUES.astype(np.uint8), np.float64, None),
    "big-endian": (VALUES.astype(">f8"), np.float64, None),
    "Fortran order": (np.asfortranarray(VALUES), np.float64, None),
    "every other row": (np.repeat(VALUES, 2, axis=0)[::2], np.float64, None),
    "list": (VALUES.tolist(), np.float64, None),
    "list of integers": (VALUES.astype(int).tolist(), np.float64, None),
    "list of arrays": (list(VALUES), np.float64, None),
    "__array__": (HasArray(), np.float64, None),
    "masked array without mask": (np.ma.array(VALUES), np.float64, None),
    "pandas": (pd.DataFrame(COLUMNS), np.float64, NAMES),
    "pandas float32": (pd.DataFrame(COLUMNS, dtype="float32"), np.float32, NAMES),
    "pandas nullable": (pd.DataFrame(COLUMNS).convert_dtypes(), np.float64, NAMES),
    "pandas mixed": (pd.DataFrame(COLUMNS).astype({"a": "int16", "b": "float32"}), np.float32, NAMES),
    "pandas numbered columns": (pd.DataFrame(VALUES), np.float64, ("0", "1")),
    "polars": (pl.DataFrame(COLUMNS), np.float64, NAMES),
    "polars decimal": (pl.DataFrame(COLUMNS).cast(pl.Decimal(10, 2)), np.float64, NAMES),
    "pyarrow": (pa.table(COLUMNS), np.float64, NAMES),
    "pyarrow batch": (pa.record_batch(COLUMNS), np.float64, NAMES),
    "torch float64": (torch.tensor(VALUES), np.float64, None),
    "torch float32": (torch.tensor(VALUES, dtype=torch.float32), np.float32, None),
    "torch float16": (torch.tensor(VALUES, dtype=torch.float16), np.float32, None),
    "torch bfloat16": (torch.tensor(VALUES, dtype=torch.bfloat16), np.float32, None),
    "torch int64": (torch.tensor(VALUES, dtype=torch.int64), np.float64, None),
    "torch with gradient": (torch.tensor(VALUES, requires_grad=True), np.float64, None),
}


@pytest.mark.parametrize(("data", "dtype", "columns"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted_kinds(data, dtype, columns):
    samples = as_samples(data, data)
    for values in (samples.x, samples.y):
        assert_array_equal(values, VALUES)
        assert values.dtype == dtype
    assert samples.columns == columns


@pytest.mark.parametrize(
    "data",
    [
        [1.0, 3.0, 4.0],
        (1, 3, 4),
        VALUES[:, 0],
        pd.Series([1.0, 3.0, 4.0], name="a"),
        pl.Series([1, 3, 4]),
        pa.chunked_array([[1.0, 3.0], [4.0]]),
        torch.tensor([1.0, 3.0, 4.0]),
    ],
    ids=["list", "tuple", "array", "pandas", "polars", "pyarrow", "torch"],
)
def test_one_dimension_is_one_column(data):
    assert_array_equal(as_samples(data, data).x, [[1.0], [3.0], [4.0]])


@pytest.mark.parametrize("make", [np.array, pd.Series, pl.Series, torch.tensor])
def test_booleans_count_as_zero_and_one(make):
    assert_array_equal(as_samples(make([True, False, True]), [0.0, 1.0]).x, [[1.0], [0.0], [1.0]])


def test_float32_stays_only_if_both_samples_have_it():
    single, double = VALUES.astype(np.float32), VALUES
    assert as_samples(single, single).pooled.dtype == np.float32
    assert as_samples(single, double).pooled.dtype == as_samples(double, single).pooled.dtype == np.float64


@pytest.mark.parametrize("first", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("second", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_are_matched_by_name(first, second):
    samples = as_samples(first(COLUMNS), second({"b": COLUMNS["b"], "a": COLUMNS["a"]}))
    assert_array_equal(samples.y, samples.x)
    assert samples.columns == NAMES


def test_columns_without_names_are_matched_by_place():
    assert as_samples(pd.DataFrame(COLUMNS), VALUES).columns == NAMES
    assert as_samples(VALUES, pl.DataFrame(COLUMNS)).columns == NAMES


@pytest.mark.parametrize("learner", [Select(), FromEstimator(LinearRegression()), lambda z: z[:, 0]])
def test_read_only_samples_are_accepted_and_left_alone(learner):
    x, y = (np.random.default_rng(seed).normal(size=(20, 2)) for seed in (1, 2))
    before = x.copy(), y.copy()
    x.flags.writeable = y.flags.writeable = False
    witness_test(x, y, learner=learner, rng=0)
    assert_array_equal(x, before[0])
    assert_array_equal(y, before[1])


# Per kind: the data, the exception, what the message says came, and the way out that it offers.
REFUSED = {
    "NaN and infinity": (
        [[1.0, np.nan], [np.inf, np.nan], [1.0, 2.0]],
        ValueError,
        "2 NaN and 1 infinite values in 2 of 3 rows, columns (how many): 0 (1), 1 (2)",
        "Drop or fill them",
    ),
    "NaN in a named column": (frame([1.0, np.nan, 3.0]), ValueError, "1 NaN and 0 infinite", "'a' (1)"),
    "NaN in many columns": (np.full((2, 7), np.nan), ValueError, "0 (2), 1 (2), 2 (2)", "and 2 more"),
    "null in pandas": (frame(pd.array([1, None, 3])), ValueError, "1 NaN", "'a' (1)"),
    "null in a boolean column": (frame(pd.array([True, None, False])), ValueError, "1 NaN", "'a' (1)"),
    "null in polars": (pl.DataFrame({"a": [1, None, 3], "b": [1, 2, 3]}), ValueError, "1 NaN", "'a' (1)"),
    "null in pyarrow": (pa.table({"a": [1, None, 3], "b": [1, 2, 3]}), ValueError, "1 NaN", "'a' (1)"),
    "masked": (np.ma.masked_equal(VALUES, 3.0), ValueError, "1 masked entries", "Drop these rows or fill them"),
    "no rows": (np.empty((0, 2)), ValueError, "(0, 2)", "at least one row"),
    "no columns": (pd.DataFrame(index=[0, 1]), ValueError, "(2, 0)", "at least one row and one column"),
    "empty list": ([], ValueError, "(0, 1)", "at least one row"),
    "3 dimensions": (np.ones((3, 2, 2)), ValueError, "3 dimensions of shape (3, 2, 2)", "reshape"),
    "0 dimensions": (3.0, TypeError, "got float", "one row per observation"),
    "strings": ([["a", "b"], ["c", "d"]], TypeError, "strings", "numbers first"),
    "dates": (np.array(["2020-01-01"], dtype="M8[D]"), TypeError, "dates", "numbers first"),
    "complex": (VALUES * 1j, TypeError, "complex", "real and imaginary parts as columns"),
    "complex column": (frame([1j, 2, 3]), TypeError, "complex128 in column 'a'", "Encode it"),
    "period column": (frame(pd.period_range("2020", periods=3, freq="D")), TypeError, "period[D] in column", "Encode"),
    "128-bit integers": (pl.DataFrame({"a": pl.Series([1], dtype=pl.Int128)}), TypeError, "Int128", "Encode it"),
    "records": (np.array([(1.0, 2.0)], dtype=[("a", "f8"), ("b", "f8")]), TypeError, "records", "structured_to"),
    "dict": (COLUMNS, TypeError, "got dict", "pandas.DataFrame"),
    "objects": (np.array([[1, "a"]], dtype=object), TypeError, "Python objects", "numbers first"),
    "object column": (frame([1, "a", 2]), TypeError, "Object in column 'a'", "Encode it"),
    "string column": (frame(["u", "v", "w"]), TypeError, "String in column 'a'", "Encode it"),
    "categorical column": (frame(pd.Categorical(["u", "v", "u"])), TypeError, "Categorical in column 'a'", "Encode it"),
    "date column": (frame(pd.date_range("2020", periods=3)), TypeError, "Datetime", "Encode it"),
    "polars date": (pl.DataFrame({"a": pd.date_range("2020", periods=3)}), TypeError, "Datetime", "Encode it"),
    "polars string": (pl.Series("a", ["u", "v"]), TypeError, "String in column 'a'", "Encode it"),
    "pyarrow string": (pa.table({"a": ["u", "v"]}), TypeError, "String in column 'a'", "Encode it"),
    "ragged": ([[1, 2], [3]], ValueError, "ragged list", "rows of equal length"),
    "sparse matrix": (scipy.sparse.csr_matrix(VALUES), TypeError, "sparse csr_matrix", ".toarray()"),
    "sparse array": (scipy.sparse.coo_array(VALUES), TypeError, "sparse coo_array", ".toarray()"),
    "lazy frame": (pl.LazyFrame(COLUMNS), TypeError, "lazy", ".collect()"),
    "large integers": ([[2**53 + 1, 0], [1, 2]], ValueError, str(2**53 + 1), "Subtract a common offset"),
    "large negative integers": ([[-(2**53) - 1, 0], [1, 2]], ValueError, str(-(2**53) - 1), "Subtract a common offset"),
    "large integer column": (frame([2**53 + 1, 0, 1]), ValueError, str(2**53 + 1), "Subtract a common offset"),
    "duplicate names": (pd.DataFrame(VALUES, columns=["a", "a"]), ValueError, "'a'", "distinct column names"),
    "names that read alike": (pd.DataFrame(VALUES, columns=[1, "1"]), ValueError, "['1', '1']", "distinct column"),
    "duplicate names in pyarrow": (
        pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["a", "a"]),
        ValueError,
        "'a'",
        "distinct column names",
    ),
}


@pytest.mark.parametrize("name", ["x", "y"])
@pytest.mark.parametrize(("bad", "error", "got", "way_out"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_kinds(bad, error, got, way_out, name):
    with pytest.raises(error) as caught:
        as_samples(**{"x": VALUES, "y": VALUES} | {name: bad})
    message = str(caught.value)
    assert message.startswith(f"`{name}` must ")
    assert got in message
    assert way_out in message


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (VALUES, VALUES[:, :1], "number of columns, got 2 and 1"),
        (
            pd.DataFrame(COLUMNS),
            pd.DataFrame(COLUMNS | {"c": 1}),
            r"got 2 and 3.*unexpected \['c'\].*Select the common",
        ),
        (pd.DataFrame(COLUMNS), pl.DataFrame({"a": [1.0], "c": [2.0]}), r"missing \['b'\]; unexpected \['c'\]"),
    ],
    ids=["number", "number and names", "names"],
)
def test_samples_must_have_the_same_columns(x, y, message):
    with pytest.raises(ValueError, match=f"`x` and `y` must have the same .*{message}"):
        as_samples(x, y)


@pytest.mark.parametrize(("n", "learner", "least"), [(1, Select(), 4), (3, Select(), 4), (1, np.ravel, 2)])
@pytest.mark.parametrize("name", ["x", "y"])
def test_too_few_rows(n, learner, least, name):
    samples = {"x": np.arange(9.0), "y": np.arange(9.0)} | {name: np.arange(float(n))}
    with pytest.raises(ValueError, match=f"`{name}` must have at least {least} rows.*got {n}"):
        witness_test(**samples, learner=learner)


def shifted_pair(columns=2):
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, columns)), rng.normal(size=(50, columns)) + 0.4


@pytest.mark.parametrize(
    ("offset", "scale", "dtype"), [(1e8, 10, np.float32), (1e6, 1, np.float32), (1e8, 1e-7, np.float64)]
)
def test_offsets_that_left_no_digits_are_refused(offset, scale, dtype):
    x, y = ((z * scale + offset).astype(dtype) for z in shifted_pair())
    with pytest.raises(ValueError, match=rf"keep some digits.*column 0 spans.*{np.dtype(dtype)}.*Subtract the offset"):
        as_samples(x, y)


def test_lost_digits_name_the_column():
    x, y = (pd.DataFrame(z * [1, 1e-7] + [0, 1e8], columns=["fine", "coarse"]) for z in shifted_pair())
    with pytest.raises(ValueError, match="column 'coarse'"):
        as_samples(x, y)


def test_one_coarse_sample_is_enough_to_refuse():
    x, y = (z + 1e6 for z in shifted_pair())
    with pytest.raises(ValueError, match="float32"):
        as_samples(x.astype(np.float32), y)


def test_digits_that_are_gone_leave_nothing_to_tell_apart():
    x, y = ((z + 1e8).astype(np.float32) for z in shifted_pair())  # one step of float32 is 8 here
    result = witness_test(x, y, rng=0)
    assert result.pvalue == 1
    assert "identical" in result.notes[0]


@pytest.mark.parametrize("columns", [2, 12])
def test_a_large_offset_changes_little(columns):
    x, y = shifted_pair(columns)
    plain, moved = witness_test(x, y, rng=0), witness_test(x + 1e8, y + 1e8, rng=0)
    assert moved.pvalue == pytest.approx(plain.pvalue, abs=0.01)
    assert moved.snr == pytest.approx(plain.snr, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-12, 1e12, np.array([1e-12, 1e12])])
def test_units_do_not_matter(scale):
    x, y = shifted_pair()
    plain, scaled = witness_test(x, y, rng=0), witness_test(x * scale, y * scale, rng=0)
    assert scaled.pvalue == pytest.approx(plain.pvalue, abs=0.002)
    assert scaled.snr == pytest.approx(plain.snr, rel=1e-6)
