"""Deep kernels: what is learned, that it can be repeated, that it can be stopped, and what is refused."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

import oracles
from tellapart import Mean, Permutation, kfda_test, mmd_test, tell_apart, witness_test
from tellapart._spec import NotPlain, from_spec, to_spec
from tellapart.datasets import blobs
from tellapart.deep import DeepFeatureKernel, DeepKernel, LearnedKernel, OptimisedGaussian, Training
from tellapart.kernels import Features, Gaussian
from tellapart.samples import Samples, as_samples
from tellapart.witness import training as training_module
from tellapart.witness.modules import Adam

SHORT = Training(epochs=30, learning_rate=2e-3)
LEARNERS = {
    "deep": DeepKernel(training=SHORT),
    "deep, no plain share": DeepKernel(plain_share=0.0, training=SHORT),
    "deep, fixed share": DeepKernel(plain_share=0.2, training=SHORT),
    "deep features": DeepFeatureKernel(training=SHORT),
    "Gaussian": OptimisedGaussian(training=SHORT),
    "Gaussian, each column": OptimisedGaussian(per_column=True, training=SHORT),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())


def samples(n=40, m=40, seed=0):
    return as_samples(*blobs(n, m, theta=np.pi / 4, rng=seed))


def learned(learner, train=None, seed=0):
    return learner.learn_kernel(train or samples(), np.random.default_rng(seed))


def small(columns):
    return nn.Sequential(nn.Linear(columns, 8), nn.Tanh(), nn.Linear(8, 3))


@pytest.fixture
def patient(monkeypatch):
    """No Ctrl-C is the second one of a pair."""
    monkeypatch.setattr(training_module, "_TWICE", -1.0)


@every_learner
def test_what_is_learned_is_a_kernel(learner):
    train = samples(30, 20)
    kernel = learned(learner, train)
    z = train.pooled
    k = kernel(z, z)
    assert k.dtype == np.float64
    assert_allclose(k, k.T, rtol=1e-12)
    assert_allclose(np.diag(k), 1.0, rtol=1e-12)
    assert np.linalg.eigvalsh(k).min() > -1e-10
    assert_allclose(kernel(z[:7], z[7:]), k[:7, 7:], rtol=1e-9)


@every_learner
def test_training_raises_j_on_the_training_rows(learner):
    """From a width that is too large, which is not then chosen by J."""
    train = samples()
    wide = {"feature_bandwidth": 1.0} if isinstance(learner, DeepFeatureKernel) else {"bandwidth": 0.4}
    found = []
    for rate in (1e-12, 0.05 if isinstance(learner, OptimisedGaussian) else 3e-3):
        kernel = learned(replace(learner, training=replace(SHORT, learning_rate=rate), **wide), train)
        found.append(oracles.power_by_loops(kernel(train.pooled, train.pooled), train.n, 1e-8)[0])
    assert found[1] > found[0] + 0.01


@pytest.mark.parametrize("learner", [DeepKernel(training=SHORT), DeepFeatureKernel(training=SHORT)], ids=repr)
def test_the_history_tells_j_and_snr_of_the_kernel_that_is_kept(learner):
    train = samples(30, 20)
    kernel = learned(replace(learner, training=replace(SHORT, precision="double")), train)
    j, snr = oracles.power_by_loops(kernel(train.pooled, train.pooled), train.n, 1e-8)
    assert_allclose([-kernel.history.best.loss, kernel.history.best.snr], [j, snr], rtol=1e-6)
    assert kernel.history.ended == "finished"
    assert kernel.history.steps[-1].epoch == 30
    assert kernel.history.best.loss == min(step.loss for step in kernel.history.steps)


def test_the_formula():
    kernel = learned(DeepKernel(training=SHORT))
    a, b = samples(5, 4, seed=3).x, samples(5, 4, seed=3).y
    phi_a, phi_b = kernel.features(a), kernel.features(b)
    kappa = np.exp(-((phi_a[:, None] - phi_b) ** 2).sum(axis=2) / (2 * kernel.kappa.bandwidth**2))
    q = np.exp(-(((a[:, None] - b) / np.array(kernel.plain.bandwidth)) ** 2).sum(axis=2) / 2)
    eps = kernel.plain_share
    assert 0 < eps < 1
    assert_allclose(kernel(a, b), ((1 - eps) * kappa + eps) * q, rtol=1e-9)
    features_only = learned(DeepFeatureKernel(training=SHORT))
    assert features_only.plain is None
    assert_allclose(features_only(a, b), features_only.kappa(*(features_only.features(z) for z in (a, b))), rtol=1e-12)


def test_a_fixed_share_stays_and_none_is_learned():
    assert learned(DeepKernel(plain_share=0.0, training=SHORT)).plain_share == 0.0
    assert learned(DeepKernel(plain_share=0.2, training=SHORT)).plain_share == pytest.approx(0.2)
    assert learned(DeepKernel(training=SHORT)).plain_share != 0.5


def test_the_optimised_gaussian_is_a_gaussian_near_the_best_of_a_fine_grid():
    train = samples(60, 60)
    kernel = learned(OptimisedGaussian(standardise=False), train)
    assert isinstance(kernel, Gaussian)
    grid = np.geomspace(0.02, 5, 120)
    powers = [oracles.power_by_loops(Gaussian(b)(train.pooled, train.pooled), train.n, 1e-8)[0] for b in grid]
    found, _ = oracles.power_by_loops(kernel(train.pooled, train.pooled), train.n, 1e-8)
    assert found == pytest.approx(max(powers), rel=1e-3)
    assert from_spec(to_spec(kernel)) == kernel


def test_units_of_columns_do_not_matter_when_standardised():
    train = samples()
    moved = Samples(train.x * [1e3, 1e-3] + 7, train.y * [1e3, 1e-3] + 7)
    for learner in (DeepKernel(training=SHORT), OptimisedGaussian(training=SHORT)):
        k, k_moved = learned(learner, train)(train.x, train.y), learned(learner, moved)(moved.x, moved.y)
        assert_allclose(k, k_moved, atol=1e-3)


@every_learner
def test_the_same_seed_gives_the_same_kernel(learner):
    train = samples()
    first, again = (learned(learner, train, seed=5)(train.x, train.y) for _ in range(2))
    assert np.array_equal(first, again)


def test_another_seed_gives_another_kernel_and_torch_keeps_its_own_randomness():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    train = samples()
    kernels = [learned(DeepKernel(training=SHORT), train, seed)(train.x, train.y) for seed in (0, 1)]
    assert torch.equal(torch.rand(1), expected)
    assert np.abs(kernels[0] - kernels[1]).max() > 1e-4


@every_learner
def test_many_at_once_are_what_they_are_one_at_a_time(learner):
    learner = replace(learner, training=replace(SHORT, precision="double"))
    trains = [samples(25, 20, seed) for seed in range(3)]
    together = learner.learn_kernels(trains, np.random.default_rng(7))
    rng = np.random.default_rng(7)
    for train, kernel in zip(trains, together, strict=True):
        assert_allclose(kernel(train.x, train.y), learner.learn_kernel(train, rng)(train.x, train.y), rtol=1e-6)


def test_many_at_once_must_be_of_one_size():
    with pytest.raises(ValueError, match=r"`trains` must be samples of one size.*\(20, 20, 2\), \(30, 20, 2\)"):
        LEARNERS["deep"].learn_kernels([samples(30, 20), samples(20, 20)], np.random.default_rng(0))


def test_batch_norm_is_trained_alone_only():
    module = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU())
    learner = DeepKernel(module, training=SHORT)
    assert learned(learner).history.best.loss < learned(learner).history.steps[0].loss
    with pytest.raises(ValueError, match=r"`module` must have no running statistics .*got BatchNorm1d as '1'"):
        learner.learn_kernels([samples(), samples()], np.random.default_rng(0))


def test_batches_and_dropout():
    module = nn.Sequential(nn.Linear(2, 16), nn.Dropout(0.2), nn.Softplus(), nn.Linear(16, 4))
    learner = DeepKernel(module, training=replace(SHORT, batch=16))
    train = samples(70, 40)
    first, again = (learned(learner, train) for _ in range(2))
    assert np.array_equal(first(train.x, train.y), again(train.x, train.y))
    assert first.history.best.loss < first.history.steps[0].loss
    j, _ = oracles.power_by_loops(first(train.pooled, train.pooled), train.n, 1e-8)
    assert -first.history.best.loss == pytest.approx(j, rel=1e-3)  # seen without dropout, as it is used


def test_mixed_precision_trains_too():
    kernel = learned(DeepKernel(training=replace(SHORT, precision="mixed")))
    assert kernel.history.best.loss < kernel.history.steps[0].loss


def test_a_module_of_the_users_is_copied_not_trained():
    torch.manual_seed(3)
    module = small(2)
    before = [p.detach().clone() for p in module.parameters()]
    kernel = learned(DeepKernel(module, training=SHORT))
    assert all(torch.equal(p, q) for p, q in zip(before, module.parameters(), strict=True))
    assert kernel.features(samples().x).shape == (40, 3)
    assert not torch.equal(kernel.features.module[0].weight.float(), module[0].weight)


def test_a_module_may_return_one_number_for_each_row():
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, rows):
            return self.scale * rows.square().sum(dim=1)

    assert learned(DeepFeatureKernel(Norm(), training=SHORT)).features(samples().x).shape == (40, 1)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_checkpoint_is_where_a_training_begins(as_file, tmp_path):
    first = learned(DeepKernel(small, training=SHORT))
    state = first.features.module.state_dict()
    if as_file:
        torch.save(state, tmp_path / "features.pt")
        state = tmp_path / "features.pt"
    still = Training(epochs=1, learning_rate=1e-12)
    second = learned(DeepKernel(small, checkpoint=state, training=still), seed=9)
    assert_allclose(second.features(samples().x), first.features(samples().x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("content", ["a whole module", "a list", "text", None])
def test_a_checkpoint_that_holds_no_weights_is_refused(content, tmp_path):
    path = tmp_path / "checkpoint.pt"
    if content == "text":
        path.write_text("hello")
    elif content is not None:
        torch.save(nn.Linear(2, 3) if content == "a whole module" else [1.0, 2.0], path)
    given = 5 if content is None else path
    with pytest.raises(
        ValueError, match=r"`checkpoint` must be a dict of weights or a file that holds one, got [^\n]*$"
    ):
        learned(DeepKernel(checkpoint=given, training=SHORT))


def test_a_checkpoint_of_another_architecture_is_refused():
    state = learned(DeepKernel(small, training=SHORT)).features.module.state_dict()
    with pytest.raises(ValueError, match=r"`checkpoint` must hold the weights of `module`, got those of another arch"):
        learned(DeepKernel(checkpoint=state, training=SHORT))


@pytest.mark.usefixtures("patient")
@every_learner
def test_ctrl_c_keeps_the_best_state_so_far(learner):
    def interrupt(step):
        if step.epoch >= 10:
            raise KeyboardInterrupt

    train = samples()
    with pytest.warns(RuntimeWarning, match="was interrupted and its best state kept"):
        stopped = learned(replace(learner, training=replace(SHORT, callback=interrupt)), train)
    until = learned(replace(learner, training=replace(SHORT, epochs=10)), train)
    assert_allclose(stopped(train.x, train.y), until(train.x, train.y), rtol=1e-6)
    assert getattr(stopped, "history", None) is None or stopped.history.ended == "interrupted"


def test_a_second_ctrl_c_soon_after_ends_everything():
    def interrupt(step):
        raise KeyboardInterrupt

    learner = DeepKernel(training=replace(SHORT, callback=interrupt))
    training_module.interrupts.last = -np.inf
    with pytest.warns(RuntimeWarning, match="Press Ctrl-C twice"):
        learned(learner)
    with pytest.raises(KeyboardInterrupt):
        learned(learner)
    training_module.interrupts.last = -np.inf


def test_a_callback_sees_about_a_hundred_steps():
    seen = []
    learned(DeepKernel(small, training=Training(epochs=500, callback=seen.append)), samples(10, 10))
    assert len(seen) == 101
    assert [seen[0].epoch, seen[-1].epoch] == [0, 500]


def test_a_training_that_diverges_keeps_what_was_finite():
    learner = DeepKernel(small, training=Training(epochs=300, learning_rate=1e30))
    kernel = learned(learner)
    assert kernel.history.ended == "diverged"
    assert np.isfinite(kernel(samples().x, samples().y)).all()


class Odd(nn.Module):
    """A module with one thing wrong."""

    def __init__(self, wrong):
        super().__init__()
        self.wrong, self.layer = wrong, nn.Linear(2, 3)

    def forward(self, rows):
        h = self.layer(rows)
        return {
            "NaN": h * torch.nan,
            "shape": h[:, :, None],
            "rows": h[:-1],
            "no gradient": h.detach(),
            "a list": [h],
            "whole numbers": h.long(),
        }[self.wrong]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("NaN", ValueError, "`module` must return finite numbers, got NaN or infinite ones for 80 of 80 rows before"),
        ("shape", ValueError, r"`module` must return one row of features for each of 80 rows, got \(80, 3, 1\)"),
        ("rows", ValueError, r"`module` must return one row of features for each of 80 rows, got \(79, 3\)"),
        ("no gradient", ValueError, "`module` must have a gradient to be trained by"),
        ("a list", ValueError, "`module` must return one row of features for each of 80 rows, got list"),
        ("whole numbers", TypeError, "`module` must return real numbers, got torch.int64"),
    ],
)
def test_odd_modules_are_refused_before_a_training(wrong, error, message):
    with pytest.raises(error, match=message):
        learned(DeepKernel(Odd(wrong), training=SHORT))


def test_a_module_for_other_columns_is_told_what_it_was_given():
    with pytest.raises(RuntimeError) as caught:
        learned(DeepKernel(nn.Linear(7, 3), training=SHORT))
    assert "`module` was given rows of shape (80, 2)" in caught.value.__notes__[0]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_asked_for_and_absent():
    with pytest.raises(ValueError, match=r"`device` must be one that torch can use here, got 'cuda': .*Leave it out"):
        learned(DeepKernel(training=replace(SHORT, device="cuda")))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DeepKernel(module=3), TypeError, "`module` must be a torch module, or a function .*got 3"),
        (lambda: DeepKernel(plain_share=1.0), ValueError, r"`plain_share` must lie in \[0, 1\).*got 1.0"),
        (lambda: DeepKernel(bandwidth=-1.0), ValueError, "`bandwidth` must be positive and finite, got -1.0"),
        (lambda: DeepKernel(training={"epochs": 3}), TypeError, r"`training` must be Training\(...\), got"),
        (lambda: OptimisedGaussian(0.0), ValueError, "`bandwidth` must be positive and finite, got 0.0"),
        (lambda: Training(epochs=0), ValueError, "`epochs` must be a whole number of at least 1, got 0"),
        (lambda: Training(learning_rate=0), ValueError, "`learning_rate` must be positive and finite, got 0"),
        (lambda: Training(batch=1), ValueError, "`batch` must be a whole number of at least 2, got 1"),
        (lambda: Training(precision="half"), ValueError, "`precision` must be one of 'single', 'double', 'mixed'"),
        (lambda: Training(callback=3), TypeError, "`callback` must be a function of a Step, got 3"),
        (lambda: learned(DeepKernel(lambda d: "mlp", training=SHORT)), TypeError, "`module` must be .*got 'mlp'"),
        (lambda: learned(DeepKernel(training=SHORT), samples(1, 9)), ValueError, "`train` must have at least 2 rows"),
        (
            lambda: learned(DeepKernel(training=replace(SHORT, device="abacus"))),
            ValueError,
            "`device` must be one that",
        ),
    ],
)
def test_refuses(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_without_torch_one_line_says_how_to_get_it(monkeypatch):
    def without_torch(name):
        raise ImportError(f"No module named {name}")

    monkeypatch.setattr(training_module, "import_module", without_torch)
    with pytest.raises(ImportError, match=r"need torch, which is not installed: pip install 'tellapart\[torch\]'"):
        learned(DeepKernel(training=SHORT))


def test_a_learner_is_plain_data_and_a_learned_kernel_is_not():
    learner = DeepKernel(plain_share=0.1, training=Training(epochs=7, batch=100))
    assert from_spec(json.loads(json.dumps(to_spec(learner)))) == learner
    with pytest.raises(NotPlain, match=r"LearnedKernel.*is an object of yours: pass it again"):
        from_spec(to_spec(learned(LEARNERS["deep"])))


def test_a_learned_kernel_serves_wherever_a_kernel_does():
    x, y = (np.random.default_rng(seed).normal(mean, 1, size=(80, 2)) for seed, mean in ((1, 0.0), (2, 1.0)))
    train, x, y = as_samples(x[:40], y[:40]), x[40:], y[40:]
    kernel = learned(DeepKernel(training=SHORT), train)
    assert isinstance(kernel, LearnedKernel)
    witness = Mean(kernel).learn(train, np.random.default_rng(0))  # MMD-D-witness
    null = Permutation(99)
    assert mmd_test(x, y, kernel=kernel, null=null, rng=0).pvalue <= 0.1
    assert kfda_test(x, y, kernel=kernel, null=null, rng=0).pvalue <= 0.1
    assert witness_test(x, y, learner=witness, null=null, rng=0).pvalue <= 0.1
    assert tell_apart(x, y, kernels=[Features(kernel.features), kernel + Gaussian(0.2)], rng=0).pvalue <= 0.1


def test_adam_on_one_vector_takes_the_steps_of_torch():
    rng = np.random.default_rng(0)
    ours, theirs = ([torch.ones(4, 3, requires_grad=True), torch.zeros(2, requires_grad=True)] for _ in range(2))
    adam, reference = Adam(ours, 0.01), torch.optim.Adam(theirs, lr=0.01)
    for _ in range(20):
        directions = [torch.from_numpy(rng.normal(size=t.shape)).float() for t in ours]
        for tensors in (ours, theirs):
            sum((t.square() * d).sum() + (t * d).sum() for t, d in zip(tensors, directions, strict=True)).backward()
        adam.step()
        reference.step()
        reference.zero_grad()
    for found, expected in zip(ours, theirs, strict=True):
        assert_allclose(found.detach(), expected.detach(), rtol=1e-5)


@pytest.mark.parametrize("many", [1, 2])
def test_a_module_that_never_has_a_finite_power_is_refused(many):
    """Finite before the training, and never again."""

    class Fades(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.calls = nn.Linear(2, 3), 0

        def forward(self, rows):
            self.calls += 1
            return self.layer(rows) * (1.0 if self.calls == 1 else math.nan)

    trains = [samples(seed=seed) for seed in range(many)]
    with pytest.raises(ValueError, match=f"`module` must return finite numbers, .* {many} of {many} kernels"):
        DeepKernel(lambda columns: Fades(), training=SHORT).learn_kernels(trains, np.random.default_rng(0))
