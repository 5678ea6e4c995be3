"""The power criterion: against loops, its gradient against autograd and differences, and what it is equal to."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import oracles
from tellapart.witness.criterion import PowerCriterion
from tellapart.witness.kernel_training import Widths

SIZES = [(9, 9), (7, 12), (2, 3)]
FLOOR = 1e-3


def coordinates(n, m, trainings=3, columns=(4, 2), seed=0):
    rng = np.random.default_rng(seed)
    found = [rng.normal(size=(trainings, n + m, p)) for p in columns]
    for z in found:
        z[:, :n] += 0.5
    return [torch.from_numpy(z).requires_grad_() for z in found]


def weights(trainings=3):
    return torch.tensor([[0.7, 0.3], [0.5, 0.5], [0.9, 0.1]], dtype=torch.float64)[:trainings].requires_grad_()


def matrices(zs, w):
    """The kernel matrices (T, N, N), by torch and as the formula says."""
    return sum(
        w[:, i, None, None] * torch.exp(-(z[:, :, None] - z[:, None]).square().sum(dim=-1)) for i, z in enumerate(zs)
    )


def power_of_matrix(k, n, floor):
    """J from kernel matrices, in operations that autograd can follow; its diagonal counts as 1."""
    m, c = k.shape[1] - n, n / k.shape[1]
    xx, xy, yy = k[:, :n, :n], k[:, :n, n:], k[:, n:, n:]
    mmd2 = (xx.sum((1, 2)) - n) / (n * (n - 1)) + (yy.sum((1, 2)) - m) / (m * (m - 1)) - 2 * xy.mean((1, 2))
    h_x, h_y = xx.mean(2) - xy.mean(2), xy.mean(1) - yy.mean(2)
    return mmd2 / (2 * (h_x.var(1, correction=0) / c + h_y.var(1, correction=0) / (1 - c)) + floor).sqrt()


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_j_and_snr_agree_with_loops_to_nine_digits(n, m):
    zs, w = coordinates(n, m), weights()
    found_j, found_snr = PowerCriterion(n, m, FLOOR).values(zs, w)
    for t, k in enumerate(matrices(zs, w).detach().numpy()):
        j, snr = oracles.power_by_loops(k, n, FLOOR)
        assert_allclose([found_j[t], found_snr[t]], [j, snr], rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_the_gradient_is_that_of_autograd(n, m):
    zs, w = coordinates(n, m), weights()
    power = PowerCriterion(n, m, FLOOR)(zs, w)
    j = power_of_matrix(matrices(zs, w), n, FLOOR)
    assert_allclose(power.j, j.detach(), rtol=1e-12)
    expected = torch.autograd.grad(j.sum(), [*zs, w])
    for found, gradient in zip([*power.coordinates, power.weights], expected, strict=True):
        assert_allclose(found, gradient, rtol=1e-9, atol=1e-12)


def test_values_alone_are_the_same_values():
    zs, w = coordinates(8, 5), weights()
    criterion = PowerCriterion(8, 5)
    assert torch.equal(criterion.values(zs, w)[0], criterion(zs, w).j)


@pytest.mark.parametrize(("n", "m"), [(10, 10), (6, 15)])
def test_the_biased_j_is_the_signal_to_noise_ratio_over_root_two(n, m):
    """The paper: ``J = SNR / sqrt 2``. The unbiased MMD leaves out the diagonal; put it back and take no floor."""
    zs, w = coordinates(n, m), weights()
    j, snr = PowerCriterion(n, m, floor=0.0).values(zs, w)
    for t, k in enumerate(matrices(zs, w).detach().numpy()):
        h = k[:, :n].mean(axis=1) - k[:, n:].mean(axis=1)
        c = n / (n + m)
        sigma = np.sqrt(2 * (h[:n].var() / c + h[n:].var() / (1 - c)))
        biased = (h[:n].mean() - h[n:].mean()) / sigma
        left_out = (1 - (k[:n, :n].sum() - n) / (n * (n - 1))) / n + (1 - (k[n:, n:].sum() - m) / (m * (m - 1))) / m
        assert_allclose(j[t], biased - left_out / sigma, rtol=1e-9)
        assert_allclose(snr[t] / np.sqrt(2), biased, rtol=1e-9)


def test_the_paired_variance_is_ours_less_the_covariance_of_the_pairs():
    n = 11
    zs, w = coordinates(n, n), weights()
    for k in matrices(zs, w).detach().numpy():
        h = k[:, :n].mean(axis=1) - k[:, n:].mean(axis=1)
        (ours, _), (paired, _) = (oracles.power_by_loops(k, n, 0.0, paired=p) for p in (False, True))
        noise = 4 * (h[:n].var() + h[n:].var())
        covariance = np.mean((h[:n] - h[:n].mean()) * (h[n:] - h[n:].mean()))
        assert_allclose(paired / ours, np.sqrt(noise / (noise - 8 * covariance)), rtol=1e-9)


def test_rows_in_another_order_give_the_same_j():
    n, m = 9, 6
    zs, w = coordinates(n, m), weights()
    order = np.concatenate([np.random.default_rng(1).permutation(n), n + np.random.default_rng(2).permutation(m)])
    criterion = PowerCriterion(n, m)
    first, second = criterion(zs, w), criterion([z[:, order] for z in zs], w)
    assert_allclose(first.j, second.j, rtol=1e-12)
    assert_allclose(first.coordinates[0][:, order], second.coordinates[0], rtol=1e-9, atol=1e-13)


def test_single_precision_survives_what_the_rows_have_in_common():
    """Features that differ little around a large value: without centring, float32 would lose their distances."""
    n = m = 40
    zs = [z.detach() + 1e3 for z in coordinates(n, m)]
    criterion = PowerCriterion(n, m)
    exact = criterion([z - 1e3 for z in zs], weights())
    rough = criterion([z.float() for z in zs], weights().detach().float())
    assert_allclose(rough.j, exact.j, rtol=1e-3)


def test_rows_far_apart_have_a_j_and_a_gradient():
    """Exponents far below the range of floats: the kernel matrix is the identity."""
    z = torch.arange(20.0)[None, :, None] * 1e3
    power = PowerCriterion(10, 10)([z], torch.ones(1, 1))
    assert abs(float(power.j)) < 1e-6
    assert torch.isfinite(power.coordinates[0]).all()


def test_identical_rows_have_no_power():
    power = PowerCriterion(5, 5)([torch.ones(1, 10, 3)], torch.ones(1, 1))
    assert float(power.j) == pytest.approx(0.0, abs=1e-2)
    assert torch.equal(power.coordinates[0], torch.zeros(1, 10, 3))


@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("parts", ["features and rows", "with a share", "features", "rows"])
def test_widths_and_features_get_the_gradient_of_autograd(parts, per_column):
    n, m = 6, 8
    rows, features = coordinates(n, m, columns=(3, 5))
    rows = rows.detach()
    wide = rows.shape[2] if per_column else 1
    by_features = torch.zeros(3, 1, 1, dtype=torch.float64).requires_grad_() if parts != "rows" else None
    by_rows = torch.full((3, 1, wide), 0.3, dtype=torch.float64).requires_grad_() if parts != "features" else None
    share = torch.tensor([0.5, -1.0, 0.1], dtype=torch.float64).requires_grad_() if parts == "with a share" else None
    widths, given = Widths(by_features, by_rows, share), features if parts != "rows" else None
    learned = widths.learned() + ([features] if given is not None else [])
    j = power_of_matrix(matrices(widths.coordinates(rows, given), widths.weights(rows)), n, FLOOR)
    expected = torch.autograd.grad(-j.sum(), learned)
    for t in widths.learned():
        t.grad = torch.zeros_like(t)
    with torch.no_grad():
        z = widths.coordinates(rows, given)
        by_feature = widths.pull(z, PowerCriterion(n, m, FLOOR)(z, widths.weights(rows)), rows.shape[2])
    found = [t.grad for t in widths.learned()] + ([by_feature] if given is not None else [])
    for gradient, wanted in zip(found, expected, strict=True):
        assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-12)
