"""Kernels against double loops over rows; bandwidth rules; distances that are computed once."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from tellapart import Fisher, Mean, Select, pairs, witness_test
from tellapart.kernels import (
    BandwidthGrid,
    Energy,
    Features,
    FromFunction,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sum,
    as_kernel,
)
from tellapart.pairs import Pairs, column_spreads, pairwise_distances


def rng(seed=0):
    return np.random.default_rng(seed)


def l1(w):
    return np.abs(w).sum()


def l2(w):
    return math.sqrt((w**2).sum())


def matern_profile(r, nu):
    r = math.sqrt(2 * nu) * r
    return {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[nu] * math.exp(-r)


# Kernels of w = (u - v) / bandwidth, as their docstrings state them.
RADIAL = {
    "gaussian": (Gaussian(), lambda w: math.exp(-(w @ w) / 2)),
    "laplace l1": (Laplace(), lambda w: math.exp(-l1(w))),
    "laplace l2": (Laplace(norm="l2"), lambda w: math.exp(-l2(w))),
    "imq": (InverseMultiquadric(), lambda w: (1 + w @ w) ** -0.5),
    "imq 1.5": (InverseMultiquadric(exponent=1.5), lambda w: (1 + w @ w) ** -1.5),
    **{f"matern {nu} l2": (Matern(nu=nu), lambda w, nu=nu: matern_profile(l2(w), nu)) for nu in (0.5, 1.5, 2.5)},
    **{
        f"matern {nu} l1": (Matern(nu=nu, norm="l1"), lambda w, nu=nu: math.prod(matern_profile(abs(v), nu) for v in w))
        for nu in (0.5, 1.5, 2.5)
    },
}


def with_bandwidth(kernel, bandwidth):
    return type(kernel)(**{**vars(kernel), "bandwidth": bandwidth})


def double_loop(of_two_rows, a, b):
    return np.array([[of_two_rows(u, v) for v in b] for u in a])


@st.composite
def rows_and_bandwidth(draw):
    """Rows `a` and `b` of up to 12 columns, and one bandwidth or one per column."""
    columns = draw(st.integers(1, 12))
    generator = rng(draw(st.integers(0, 2**32)))
    a, b = (generator.normal(size=(draw(st.integers(1, 5)), columns)) for _ in range(2))
    widths = st.floats(0.3, 30)
    return a, b, draw(widths | st.tuples(*[widths] * columns))


@pytest.mark.parametrize(("kernel", "formula"), RADIAL.values(), ids=RADIAL.keys())
@given(drawn=rows_and_bandwidth())
def test_radial_kernels(kernel, formula, drawn):
    a, b, bandwidth = drawn
    expected = double_loop(lambda u, v: formula((u - v) / np.asarray(bandwidth)), a, b)
    assert_allclose(with_bandwidth(kernel, bandwidth)(a, b), expected, rtol=1e-9, atol=1e-12)


OTHERS = {
    "energy": (Energy(), lambda u, v: (l2(u) + l2(v) - l2(u - v)) / 2),
    "features": (Features(lambda z: z**3), lambda u, v: (u**3) @ (v**3)),
    "linear": (Linear(), lambda u, v: u @ v),
    "polynomial": (Polynomial(), lambda u, v: (u @ v + 1) ** 2),
    "cubic": (Polynomial(3, scale=0.5, offset=0), lambda u, v: (0.5 * (u @ v)) ** 3),
    "sum": (Linear() + Gaussian(2.0), lambda u, v: u @ v + math.exp(-((u - v) @ (u - v)) / 8)),
    "product": (Linear() * Gaussian(2.0), lambda u, v: u @ v * math.exp(-((u - v) @ (u - v)) / 8)),
    "scaled": (0.5 * Linear(), lambda u, v: 0.5 * (u @ v)),
    "scaled from the right": (Linear() * np.float32(2), lambda u, v: 2 * (u @ v)),
    "nested": (2 * (Linear() + 3 * Linear()) * Linear(), lambda u, v: 8 * (u @ v) ** 2),
    "function": (as_kernel(lambda a, b: (a @ b.T).tolist()), lambda u, v: u @ v),
    "function in a sum": (FromFunction(lambda a, b: a @ b.T) + Linear(), lambda u, v: 2 * (u @ v)),
}


@pytest.mark.parametrize(("kernel", "formula"), OTHERS.values(), ids=OTHERS.keys())
@given(drawn=rows_and_bandwidth())
def test_kernels_of_products_and_sums_of_kernels(kernel, formula, drawn):
    a, b, _ = drawn
    assert_allclose(kernel(a, b), double_loop(formula, a, b), rtol=1e-9, atol=1e-9)


POSITIVE = [
    *(with_bandwidth(kernel, 1.0) for kernel, _ in RADIAL.values()),
    Linear(),
    Polynomial(3),
    Gaussian(0.5) + 2 * Laplace(3.0),
    Gaussian(0.5) * Matern(2.0),
    Gaussian(1.0) * Polynomial(2),
]


@pytest.mark.parametrize("kernel", POSITIVE, ids=repr)
@pytest.mark.parametrize("columns", [1, 2, 5, 10])
@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_kernels_are_positive_semidefinite(kernel, columns, spread):
    z = spread * rng().normal(size=(60, columns))
    z[:3] = z[3:6]  # some rows twice
    values = np.linalg.eigvalsh(kernel(z, z))
    assert values[0] >= -1e-10 * values[-1]


def test_matern_of_the_l1_distance_itself_would_not_be_a_kernel():
    corners = 0.1 * np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    r = math.sqrt(3) * cdist(corners, corners, "cityblock")
    assert np.linalg.eigvalsh((1 + r) * np.exp(-r))[0] < -0.01
    assert np.linalg.eigvalsh(Matern(1.0, norm="l1")(corners, corners))[0] > 0


ROWS = rng().normal(size=(40, 3)) * [1, 5, 0.1] + [0, 2, -1]


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in RADIAL.values()], ids=RADIAL.keys())
def test_median_bandwidth(kernel):
    resolved = with_bandwidth(kernel, "median").resolved(ROWS, rng())
    norm = "cityblock" if getattr(kernel, "norm", "l2") == "l1" else "euclidean"
    assert resolved.bandwidth == pytest.approx(np.median(pdist(ROWS, norm)))
    assert with_bandwidth(resolved, "median") == with_bandwidth(kernel, "median")  # nothing else has changed


def test_scaled_median_bandwidth():
    upper, lower = np.quantile(ROWS, [0.75, 0.25], axis=0)
    spreads = (upper - lower) / 1.349
    expected = spreads * np.median(pdist(ROWS / spreads))
    assert_allclose(Gaussian("scaled-median").resolved(ROWS, rng()).bandwidth, expected)
    assert Gaussian() == Gaussian("scaled-median")


@pytest.mark.parametrize("rule", ["median", "scaled-median"])
def test_bandwidth_rules_do_not_see_which_sample_a_row_is_from(rule):
    resolved, shuffled = (Gaussian(rule).resolved(rows, rng()) for rows in (ROWS, rng(1).permutation(ROWS)))
    assert_allclose(shuffled.bandwidth, resolved.bandwidth, rtol=1e-12)


@pytest.mark.parametrize("scales", [1e-12, [1e-6, 1.0, 1e9]])
@pytest.mark.parametrize("shape", [Gaussian(), Laplace(), Matern(), InverseMultiquadric()], ids=repr)
def test_scaled_median_does_not_care_about_units(shape, scales):
    moved = ROWS * scales
    k, scaled = (shape.resolved(rows, rng())(rows, rows) for rows in (ROWS, moved))
    assert_allclose(scaled, k, rtol=1e-9)


@pytest.mark.parametrize("columns", [3, 12])
def test_many_rows_are_subsampled_and_their_median_is_close(columns):
    rows = rng().normal(size=(2500, columns))
    assert len(pairwise_distances(rows, rng())) == 1000 * 999 // 2
    assert Gaussian("median").resolved(rows, rng()).bandwidth == pytest.approx(np.median(pdist(rows)), rel=0.02)


def test_rules_reach_into_sums_products_and_multiples():
    kernel = Gaussian("median") + 2.0 * Laplace("median") * Linear()
    width = Gaussian("median").resolved(ROWS, rng()).bandwidth
    width_l1 = Laplace("median").resolved(ROWS, rng()).bandwidth
    assert kernel.resolved(ROWS, rng()) == Gaussian(width) + 2.0 * Laplace(width_l1) * Linear()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.arange(101.0), 50 / 1.349),
        (np.repeat([0.0, 1.0], [90, 10]), 0.3),  # no interquartile range: the standard deviation
        (np.full(10, 7.0), 1.0),
    ],
    ids=["quartiles", "rare values", "constant"],
)
def test_column_spreads(column, expected):
    assert column_spreads(column[:, None]) == pytest.approx(expected)


@pytest.mark.parametrize("rule", ["median", "scaled-median"])
def test_identical_rows_have_bandwidth_one(rule):
    assert Gaussian(rule).resolved(np.full((5, 2), 3.0), rng()).bandwidth == 1.0


def test_bandwidth_grid():
    kernels = BandwidthGrid(Matern(nu=2.5), count=7, scaled=False).kernels(ROWS, rng())
    near, far = np.quantile(pdist(ROWS), [0.05, 0.95])
    assert_allclose([kernel.bandwidth for kernel in kernels], np.geomspace(near / 4, 2 * far, 7))
    assert {kernel.nu for kernel in kernels} == {2.5}


def test_scaled_bandwidth_grid_does_not_care_about_units():
    plain, scaled = (BandwidthGrid().kernels(rows, rng()) for rows in (ROWS, ROWS * [1e-6, 1.0, 1e9]))
    for first, second in zip(plain, scaled, strict=True):
        assert_allclose(second.bandwidth, np.multiply(first.bandwidth, [1e-6, 1.0, 1e9]), rtol=1e-9)


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), np.repeat([[0.0, 1.0], [1.0, 1.0]], 20, axis=0)])
def test_bandwidth_grid_of_few_different_rows_is_positive_and_increasing(rows):
    widths = np.array([np.ravel(kernel.bandwidth)[0] for kernel in BandwidthGrid().kernels(rows, rng())])
    assert (widths > 0).all()
    assert (np.diff(widths) > 0).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gaussian(0), ValueError, "`bandwidth` must be positive and finite, got 0"),
        (lambda: Laplace(math.inf), ValueError, "`bandwidth` must be positive and finite, got inf"),
        (lambda: Matern((1.0, -1.0)), ValueError, r"`bandwidth` must be positive and finite, got \(1.0, -1.0\)"),
        (lambda: Gaussian(1e-200), ValueError, "`bandwidth` must have a square within the range.*got 1e-200.*Multiply"),
        (lambda: InverseMultiquadric((1.0, 1e200)), ValueError, "`bandwidth` must have a square within the range"),
        (lambda: Gaussian("mean"), ValueError, "`bandwidth` must be one of 'median', 'scaled-median', got 'mean'"),
        (lambda: Gaussian(None), TypeError, "`bandwidth` must be a positive number, one per column.*got None"),
        (lambda: Gaussian(True), TypeError, "`bandwidth` must be a positive number.*got True"),
        (lambda: Gaussian(()), TypeError, r"`bandwidth` must be a positive number.*got \(\)"),
        (lambda: Laplace(norm="l3"), ValueError, "`norm` must be one of 'l1', 'l2', got 'l3'"),
        (lambda: Matern(nu=1.0), ValueError, "`nu` must be one of 0.5, 1.5, 2.5, got 1.0"),
        (lambda: InverseMultiquadric(exponent=0), ValueError, "`exponent` must be positive and finite, got 0"),
        (lambda: Polynomial(1.5), ValueError, "`degree` must be a whole number of at least 1, got 1.5"),
        (lambda: Polynomial(scale=-1), ValueError, "`scale` must be positive"),
        (lambda: Polynomial(offset=-1), ValueError, "`offset` must be"),
        (lambda: -1 * Linear(), ValueError, "`factor` must be positive and finite, got -1"),
        (lambda: Linear() + 1, TypeError, "unsupported operand"),
        (lambda: BandwidthGrid(count=0), ValueError, "`count` must be a whole number of at least 1, got 0"),
        (lambda: BandwidthGrid(Linear()), TypeError, r"`shape` must be .*got Linear\(\)"),
        (lambda: Gaussian()(ROWS, ROWS), TypeError, "has no bandwidth yet"),
        (lambda: Gaussian((1.0, 2.0))(ROWS, ROWS), ValueError, r"one number per column \(3\), got 2"),
        (lambda: Gaussian(1.0)(ROWS, ROWS[:, :1]), ValueError, "same number of columns, got 3 and 1"),
        (lambda: as_kernel("gaussian"), TypeError, r"`kernel` must be a kernel such as .*got 'gaussian'"),
        (lambda: as_kernel(Gaussian), TypeError, "`kernel` must be a kernel such as .*got <class"),
    ],
)
def test_bad_choices(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_scalars_of_a_parameter_grid_are_choices_too():
    nu, norm = np.array([0.5, 1.5])[1], np.array(["l1", "l2"])[0]
    np.testing.assert_array_equal(Matern(1.0, nu=nu, norm=norm)(ROWS, ROWS), Matern(1.0, nu=1.5, norm="l1")(ROWS, ROWS))


def test_a_kernel_function_may_return_a_tensor():
    def linear(a, b):
        return torch.tensor(a @ b.T, requires_grad=True)

    np.testing.assert_array_equal(as_kernel(linear)(ROWS, ROWS), Linear()(ROWS, ROWS))


def not_a_number(a, b):
    k = a @ b.T
    k[0, 0] = np.nan
    return k


@pytest.mark.parametrize("learner", [Mean, Fisher, lambda kernel: Select(kernels=[kernel])])
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (not_a_number, "finite values, got 1 NaN or infinite ones from .*not_a_number"),
        (lambda a, b: np.full((len(a), len(b)), np.inf), "finite values, got .* infinite"),
        (lambda a, b: a @ b.T + np.ones((3, 1, 1)), r"a matrix of shape \(.*\), got \(3, "),
        (lambda a, b: a[:, 0], r"a matrix of shape \(.*\), got \(\d+,\)"),
    ],
    ids=["NaN", "infinity", "three dimensions", "one dimension"],
)
def test_bad_kernel_functions(learner, kernel, message):
    x = rng().normal(size=(12, 2))
    with pytest.raises(ValueError, match=f"`kernel` must return {message}"):
        witness_test(x, x + 1, learner=learner(kernel=kernel), rng=0)


@pytest.mark.parametrize("learner", [Fisher, lambda kernel: Select(kernels=[kernel])])
def test_a_function_that_is_no_kernel_is_refused(learner):
    x = rng().normal(size=(12, 2))
    with pytest.raises(ValueError, match="`kernel` must be symmetric"):
        witness_test(x, x + 1, learner=learner(kernel=lambda a, b: np.subtract.outer(a[:, 0], b[:, 0])), rng=0)
    with pytest.raises(ValueError, match=r"must be positive semidefinite|must contain one"):
        witness_test(x, x + 1, learner=learner(kernel=lambda a, b: -Gaussian(1.0)(a, b) * 1e5), rng=0)


def test_a_function_serves_as_kernel():
    x, y = rng(1).normal(size=(40, 2)), rng(2).normal(size=(40, 2)) + 0.5
    ours, theirs = (
        witness_test(x, y, learner=Fisher(kernel=kernel), rng=0) for kernel in (Linear(), lambda a, b: a @ b.T)
    )
    assert tuple(theirs) == pytest.approx(tuple(ours))


@pytest.mark.parametrize(
    "kernel",
    [*POSITIVE, Gaussian(), Gaussian([1, 2]), BandwidthGrid(Laplace(), count=3), Sum(Linear(), Linear())],
    ids=repr,
)
def test_repr_is_the_code_that_makes_the_kernel(kernel):
    names = (BandwidthGrid, Gaussian, InverseMultiquadric, Laplace, Linear, Matern, Polynomial, Product, Scaled, Sum)
    assert eval(repr(kernel), {cls.__name__: cls for cls in names}) == kernel
    assert len({kernel, kernel}) == 1  # a value: hashable, equal to its like


@pytest.fixture
def distance_calls(monkeypatch):
    """The metric of every call of `cdist` from now on."""
    calls = []

    def counted(a, b, metric):
        calls.append(metric)
        return cdist(a, b, metric)

    monkeypatch.setattr(pairs, "cdist", counted)
    return calls


@pytest.mark.parametrize("scaled", [True, False])
def test_a_grid_asks_for_its_distances_once(distance_calls, scaled):
    grid = BandwidthGrid(count=10, scaled=scaled).kernels(ROWS, rng())
    distance_calls.clear()
    shared = Pairs(ROWS, ROWS)
    for kernel in grid:
        assert_allclose(kernel.of(shared), kernel(ROWS, ROWS), rtol=1e-9)
    assert distance_calls.count("sqeuclidean") == 1 + len(grid)  # once for all, and once for each on its own


def test_kernels_of_one_distance_share_it(distance_calls):
    shared = Pairs(ROWS, ROWS)
    for kernel in (Gaussian(2.0) + Matern(3.0), Laplace(norm="l2", bandwidth=1.0), InverseMultiquadric(5.0)):
        kernel.of(shared)
    assert distance_calls == ["sqeuclidean"]
    for width in (1.0, 2.0):
        Laplace(width).of(shared)
    assert distance_calls == ["sqeuclidean", "cityblock"]


def test_shared_distances_survive_the_kernels_that_use_them():
    shared = Pairs(ROWS, ROWS)
    for kernel in [k for k in POSITIVE if not isinstance(k, Polynomial)]:
        k = kernel.of(shared)
        expected = k.copy()
        k[:] = np.nan  # what a kernel returns belongs to the caller
        assert_array_equal(kernel.of(shared), expected)


@pytest.mark.parametrize("name", ["squared_distances", "distances", "l1_distances"])
def test_shared_distances_cannot_be_written_to(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(Pairs(ROWS, ROWS), name)((1.0, 1.0, 1.0))[:] = 0


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("columns", [9, 40])
@pytest.mark.parametrize("scaled", [False, True])
def test_many_columns_agree_with_the_exact_distances(offset, columns, scaled):
    a, b = (rng(seed).normal(size=(20, columns)) + offset for seed in (1, 2))
    unit = np.linspace(0.5, 2, columns) if scaled else np.ones(columns)
    exact = cdist(a / unit, b / unit)
    assert_allclose(Pairs(a, b).distances(tuple(unit)), exact, rtol=1e-7 if offset and scaled else 1e-12)
    assert_allclose(
        Pairs(a, a).squared_distances(tuple(unit)), cdist(a / unit, a / unit, "sqeuclidean"), rtol=1e-7, atol=1e-12
    )
    assert not Pairs(a, a).distances(tuple(unit)).diagonal().any()


def test_few_rows_far_away_cost_the_others_no_digits():
    """Missing values coded as 1e9 in one of many columns."""
    z = np.random.default_rng(0).normal(size=(60, 12))
    z[:15, 3] = 1e9
    exact = cdist(z, z, "sqeuclidean")
    found = pairs.Pairs(z, z).squared_distances((1.0,) * 12)
    assert_allclose(found[15:, 15:], exact[15:, 15:], rtol=1e-12, atol=1e-12)


def test_every_kernel_is_tried_against_its_formula():
    radial = {type(kernel) for kernel, _ in RADIAL.values()}
    others = {type(kernel) for kernel, _ in OTHERS.values()}
    concrete = {cls for base in (Kernel, *Kernel.__subclasses__()) for cls in base.__subclasses__()}
    ours = {cls for cls in concrete if cls.__module__.startswith("tellapart.kernels")}  # not those that are learned
    assert {cls for cls in ours if not cls.__abstractmethods__} <= radial | others | {Precomputed}


def test_the_mmd_of_the_energy_kernel_is_the_energy_distance():
    x, y = rng(1).normal(size=(7, 3)), rng(2).normal(0.5, 2.0, size=(9, 3))
    z = np.concatenate([x, y])
    kernel = Energy.at(z)
    unit = np.array(kernel.unit)
    between, in_x, in_y = (cdist(a / unit, b / unit).mean() for a, b in ((x, y), (x, x), (y, y)))
    labels = np.repeat([1 / 7, -1 / 9], [7, 9])
    assert labels @ kernel(z, z) @ labels == pytest.approx((2 * between - in_x - in_y) / 2)
    assert np.linalg.eigvalsh(kernel(z, z))[0] > -1e-12


def test_precomputed_kernels_look_their_values_up():
    k = ROWS @ ROWS.T
    kernel = Precomputed(k)
    assert_allclose(kernel(np.array([[2.0], [0.0]]), np.array([[1.0], [2.0], [3.0]])), k[[2, 0]][:, [1, 2, 3]])
    with pytest.raises(ValueError, match="stands for all rows"):
        kernel(ROWS, ROWS)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "square matrix"),
        ([["a", "b"], ["c", "d"]], "square matrix of real numbers"),
        ([[1.0, np.nan], [0.0, 1.0]], "1 NaN"),
        ([[1.0, 0.5], [0.0, 1.0]], "symmetric"),
    ],
)
def test_matrices_that_are_no_kernels_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        Precomputed(matrix)


def test_features_are_the_kernel_of_their_products():
    kernel = Features(lambda z: np.column_stack([z[:, 0], z[:, 1] ** 2]))
    wanted = np.outer(ROWS[:3, 0], ROWS[:5, 0]) + np.outer(ROWS[:3, 1] ** 2, ROWS[:5, 1] ** 2)
    assert_allclose(kernel(ROWS[:3], ROWS[:5]), wanted)
    with pytest.raises(ValueError, match="one row of features for each row"):
        Features(lambda z: z[0])(ROWS, ROWS)
