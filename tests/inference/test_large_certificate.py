"""Certificates of many rows: valid where the truth is known, and tighter the more the samples differ."""

import numpy as np
import pytest
from scipy.stats import norm

import oracles
from tellapart import joint, tell_apart
from tellapart.inference import large_certificate
from tellapart.inference.large_certificate import certify_many, counted, learned
from tellapart.samples import Samples

MEMORY = 1e9


def shifted(n, m, by, rng, d=2):
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    x[:, 0] += by
    return Samples(x, y)


@pytest.mark.parametrize(("n", "m"), [(900, 900), (1500, 300)])
def test_the_bound_is_below_the_truth_and_near_it(n, m):
    by = 1.0
    truth = 2 * norm.cdf(by / 2) - 1
    bound = certify_many(shifted(n, m, by, np.random.default_rng(0)), MEMORY, np.random.default_rng(1)).bound(0.95)
    assert truth - 0.25 < bound < truth


def test_equal_distributions_are_rarely_certified_to_differ(monkeypatch):
    monkeypatch.setattr(large_certificate, "PILOT_ROWS", 30)
    trials = 40
    above = 0
    for t in range(trials):
        rng = np.random.default_rng(t)
        above += certify_many(shifted(60, 50, 0.0, rng), MEMORY, rng).bound(0.9) > 0
    assert above <= oracles.binomial_bounds(trials, 0.1)[1]


def test_rows_are_counted_one_by_one_or_in_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    samples = shifted(200, 150, 1.0, rng)
    witness = learned(samples, MEMORY, rng)
    monkeypatch.setattr(large_certificate, "_PIECE", 7)
    judging = rng.permutation(200)[:90]
    slowly = sum(float(witness.values(samples.x[i : i + 1])[0]) > 0.0 for i in judging)
    assert counted(witness, 0.0, samples.x, judging) == slowly


def test_constant_rows_certify_nothing():
    certificate = certify_many(Samples(np.ones((50, 2)), np.ones((60, 2))), MEMORY, np.random.default_rng(0))
    assert certificate.bound() == 0.0


def test_many_rows_of_a_result_are_certified_this_way(monkeypatch):
    monkeypatch.setattr(joint, "MOST_IN_MEMORY", 700)
    samples = shifted(500, 500, 1.0, np.random.default_rng(3))
    result = tell_apart(samples.x, samples.y, families=["linear"], rng=0)
    direct = certify_many(samples, 2e9, np.random.default_rng(result.certificate_of.args[-1]))
    assert 0.1 < result.total_variation() == direct.bound() < 2 * norm.cdf(0.5) - 1
