"""Networks as witnesses: the identity behind their loss, the exact last layer, stopping, restarts, what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.base import clone
from torch import nn

import oracles
from tellapart import Permutation, Prequential, Refit, snr, tell_apart, witness_test
from tellapart._spec import from_spec, to_spec
from tellapart.datasets import blobs
from tellapart.deep import EarlyStopping, Network, Training
from tellapart.samples import as_samples
from tellapart.witness import training as training_module
from tellapart.witness.network import FeatureMoments
from tellapart.witness.network_training import FEWEST_FOR_SNR, NetworkTraining, Plan, minus_snr, weighted_squared_error

SHORT = Training(epochs=40, learning_rate=3e-3, batch=64)
OBJECTIVES = pytest.mark.parametrize("objective", ["squared error", "snr"])


def shifted(n=80, m=80, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal([shift, 0, 0], size=(m, 3))


def learned(network, n=80, m=80, seed=0):
    return network.learn(as_samples(*shifted(n, m)), np.random.default_rng(seed))


@pytest.mark.parametrize(("n", "m"), [(50, 50), (90, 20)])
def test_the_least_squared_error_over_rescalings_is_that_of_the_signal_to_noise_ratio(n, m):
    """``min_{a, b} L(a f + b) = c (1 - c) / (1 + SNR(f)^2)``, found here by least squares and by a search."""
    rng = np.random.default_rng(0)
    f = torch.from_numpy(np.concatenate([rng.gamma(2.0, size=n), rng.normal(1.0, 3.0, size=m)]))
    c = n / (n + m)
    weight = np.sqrt(np.repeat([(1 - c) / n, c / m], [n, m]))
    design = np.stack([f.numpy(), np.ones(n + m)], axis=1) * weight[:, None]
    (a, b), *_ = np.linalg.lstsq(design, weight * np.repeat([1.0, 0.0], [n, m]), rcond=None)

    def loss(slope, offset):
        h = slope * f + offset
        return float(weighted_squared_error(h[:n], h[n:], c))

    ratio = oracles.snr_by_loops(f[:n].tolist(), f[n:].tolist())
    assert_allclose(loss(a, b), c * (1 - c) / (1 + ratio**2), rtol=1e-10)
    assert all(loss(a + da, b + db) > loss(a, b) for da in (-1e-3, 0, 1e-3) for db in (-1e-3, 0, 1e-3) if da or db)


def test_the_snr_loss_is_minus_the_ratio_where_the_floor_is_small():
    rng = np.random.default_rng(0)
    p, q = rng.normal(1, 50, size=30), rng.normal(0, 90, size=20)
    found = minus_snr(torch.from_numpy(p), torch.from_numpy(q), 0.6)
    assert_allclose(-found, oracles.snr_by_loops(p, q), rtol=1e-6)
    constant = torch.ones(5, requires_grad=True)
    minus_snr(constant, torch.ones(4), 0.5).backward()
    assert torch.isfinite(constant.grad).all()


@pytest.mark.parametrize(("n", "m"), [(30, 30), (40, 15)])
def test_the_last_layer_is_the_fisher_direction(n, m):
    rng = np.random.default_rng(0)
    phi_x, phi_y = rng.normal(size=(n, 4)), rng.normal(size=(m, 4)) * 2 + 0.5
    moments = FeatureMoments.of(lambda rows: rows, as_samples(phi_x, phi_y))
    direction = moments.fisher(0.3)
    assert_allclose(direction, oracles.fisher_primal(phi_x, phi_y, 0.3), rtol=1e-9)
    assert moments.snr(direction) == pytest.approx(snr(phi_x @ direction, phi_y @ direction), rel=1e-9)
    merged = FeatureMoments.of(lambda rows: rows, as_samples(phi_x[:9], phi_y[:5])) + FeatureMoments.of(
        lambda rows: rows, as_samples(phi_x[9:], phi_y[5:])
    )
    assert_allclose(merged.fisher(0.3), direction, rtol=1e-9)


@OBJECTIVES
@pytest.mark.parametrize("last_layer", ["fisher", "trained"])
def test_a_network_finds_what_can_be_found(objective, last_layer):
    x, y = shifted(400, 300)
    network = Network(objective=objective, last_layer=last_layer, training=Training(epochs=200, batch=64))
    result = witness_test(x, y, learner=network, null=Permutation(199), rng=0)
    assert result.pvalue == 0.005
    assert result.snr > 0.3  # the best of all witnesses has 0.5
    assert (learned(network).ridge is None) == (last_layer == "trained")


def test_without_a_ridge_the_fisher_layer_is_the_best_on_its_own_rows():
    witnesses = [learned(Network(last_layer=last, training=SHORT)) for last in ("fisher", "trained")]
    train = as_samples(*shifted())
    moments = FeatureMoments.of(witnesses[0].features, train)
    assert np.array_equal(witnesses[0].features(train.x), witnesses[1].features(train.x))  # only the top differs
    ratios = [moments.snr(moments.fisher(1e-9)), *(moments.snr(w.direction) for w in witnesses)]
    assert ratios[0] == max(ratios)
    assert ratios[1] == pytest.approx(snr(*(witnesses[0](z) for z in (train.x, train.y))))


@OBJECTIVES
def test_the_same_seed_gives_the_same_witness(objective):
    network = Network(objective=objective, restarts=2, training=SHORT)
    first, again, other = (learned(network, seed=s)(shifted()[0]) for s in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_of_several_restarts_the_best_on_the_rows_held_out_is_kept():
    torch.manual_seed(0)
    for module in (None, nn.Sequential(nn.Linear(3, 5), nn.Tanh())):
        ratios = [learned(Network(module, restarts=k, training=SHORT)).held_out_snr for k in (1, 4)]
        assert ratios[1] >= ratios[0]


def test_training_stops_when_the_rows_held_out_no_longer_gain():
    patient, hasty = (
        learned(Network(training=replace(SHORT, epochs=400), stopping=EarlyStopping(patience=p))).history
        for p in (1000, 3)
    )
    assert (patient.ended, hasty.ended) == ("finished", "early")
    assert len(hasty.steps) == hasty.kept + 4 < len(patient.steps)
    assert patient.best.snr == max(step.snr for step in patient.steps)


def test_a_batch_of_the_ratio_has_enough_rows():
    train = as_samples(*shifted(700, 300))
    for objective, sizes in (("snr", [FEWEST_FOR_SNR, 256]), ("squared error", [32, 32])):
        plan = Plan(None, None, objective, Training(batch=32), patience=3)
        run = NetworkTraining(train, train, plan, 0, seed=0)
        batches = [next(run._batches(n, np.random.default_rng(0))) for n in (700, 300)]
        assert [len(batch.unique()) for batch in batches] == sizes


def test_held_out_rows_are_never_learned_from():
    learn, held_out = Network()._parts(as_samples(*shifted(50, 9)), np.random.default_rng(0))
    assert (learn.n, learn.m, held_out.n, held_out.m) == (40, 7, 10, 2)
    assert not {tuple(r) for r in learn.pooled} & {tuple(r) for r in held_out.pooled}


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 9), (4, 4)])
@OBJECTIVES
def test_few_rows_suffice(objective, n, m):
    witness = learned(Network(objective=objective, training=Training(epochs=3)), n, m)
    assert np.isfinite(witness(shifted()[0])).all()


def test_identical_rows_give_a_constant_witness():
    train = as_samples(np.ones((9, 2)), np.ones((7, 2)))
    witness = Network(training=Training(epochs=3)).learn(train, np.random.default_rng(0))
    assert np.ptp(witness(np.ones((4, 2)))) == 0


def test_rows_may_have_a_shape():
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 36)), rng.random((60, 36))
    y[:, :6] += 1  # the first line is brighter
    convolutions = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten())
    network = Network(convolutions, shape=(1, 6, 6), training=SHORT)
    assert witness_test(x, y, learner=network, null=Permutation(99), rng=0).pvalue == 0.01


def test_exact_nulls_take_a_network():
    x, y = shifted(40, 40, shift=2.0)
    network = Network(lambda d: nn.Linear(d, 4), training=Training(epochs=3, learning_rate=0.05))
    assert tell_apart(x, y, learner=network, null=Refit(19, folds=2), rng=0).pvalue == 0.05
    assert tell_apart(x, y, learner=network, null=Prequential(), rng=0).pvalue < 0.01


def test_batch_norm_and_mixed_precision():
    module = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())
    witness = learned(Network(module, training=replace(SHORT, precision="mixed")))
    assert witness.held_out_snr > 0.2
    assert int(module[1].num_batches_tracked) == 0  # yours stays as it is


def test_ctrl_c_keeps_the_best_state_so_far(monkeypatch):
    monkeypatch.setattr(training_module, "_TWICE", -1.0)

    def interrupt(step):
        if step.epoch >= 10:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="The training of a network was interrupted"):
        witness = learned(Network(training=replace(SHORT, callback=interrupt)))
    until = learned(Network(training=replace(SHORT, epochs=10)))
    assert witness.history.ended == "interrupted"
    assert np.array_equal(witness(shifted()[0]), until(shifted()[0]))


def test_a_training_that_diverges_keeps_what_was_finite():
    witness = learned(Network(training=Training(epochs=300, learning_rate=1e30)))
    assert witness.history.ended == "diverged"
    assert np.isfinite(witness(shifted()[0])).all()


def test_it_is_an_estimator_and_plain_data():
    network = Network(training=SHORT, random_state=1)
    assert from_spec(to_spec(network)) == network
    x, y = shifted()
    labels = np.repeat(["second", "first"], [80, 80])
    fitted = clone(network).fit(np.concatenate([x, y]), labels)
    assert fitted.score(np.concatenate(shifted(seed=1)), labels) > 0.3
    assert set(fitted.predict(x)) == {"first", "second"}


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ({"objective": "logistic"}, ValueError, "`objective` must be one of 'squared error', 'snr', got 'logistic'"),
        ({"last_layer": "ridge"}, ValueError, "`last_layer` must be one of 'fisher', 'trained', got 'ridge'"),
        ({"restarts": 0}, ValueError, "`restarts` must be a whole number of at least 1, got 0"),
        ({"training": 3}, TypeError, r"`training` must be Training\(...\), got 3"),
        ({"stopping": 3}, TypeError, r"`stopping` must be EarlyStopping\(...\), got 3"),
        ({"shape": 3}, TypeError, r"`shape` must be the shape of a row, such as \(1, 28, 28\), got 3"),
        ({"shape": (1, 0)}, ValueError, "`shape` must be a whole number of at least 1, got 0"),
        ({"shape": (1, 3)}, ValueError, r"`module` must be given with `shape`, got None for rows of shape \(1, 3\)"),
        ({"shape": (1, 2, 2), "module": nn.Flatten()}, ValueError, r"`shape` must have as many numbers .*\(3\), got"),
        ({"module": nn.Flatten()}, ValueError, "`module` must have a gradient to be trained by"),
        ({"module": nn.Linear(4, 4)}, RuntimeError, "mat1 and mat2 shapes cannot be multiplied"),
    ],
)
def test_refuses(choice, error, message):
    with pytest.raises(error, match=message):
        learned(Network(**choice))


@pytest.mark.parametrize("choice", [{"share": 0}, {"share": 1.0}, {"patience": 0}])
def test_early_stopping_refuses(choice):
    with pytest.raises(ValueError, match=f"`{next(iter(choice))}` must"):
        EarlyStopping(**choice)


def test_blobs_are_found():
    """Nine blobs need features: no linear witness of the rows can tell them apart."""
    x, y = blobs(400, theta=np.pi / 4, rng=0)
    assert witness_test(x, y, learner=Network(), null=Permutation(99), rng=0).pvalue <= 0.05
