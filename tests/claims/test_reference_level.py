"""The level of tests against a saved reference: of one, of many against the same, and what is not claimed."""

import numpy as np

from oracles import binomial_bounds
from tellapart import Permutation, Reference

LEVEL, DAYS, TRIALS = 0.1, 5, 150
OPTIONS = {"families": ("linear", "single columns"), "null": Permutation(99)}


def pvalues() -> np.ndarray:
    """For each reference the p-values of the samples of some days, all from the same distribution."""
    rng = np.random.default_rng(0)
    found = np.empty((TRIALS, DAYS))
    for trial in range(TRIALS):
        reference = Reference.fit(rng.exponential(size=(40, 1)), rng=rng)
        for day in range(DAYS):
            found[trial, day] = reference.test(rng.exponential(size=(120, 1)), rng=rng, **OPTIONS).pvalue
    return found


def test_each_test_keeps_the_level_and_so_do_all_together_with_the_correction():
    found = pvalues()
    low, high = binomial_bounds(TRIALS, LEVEL)
    for day in found.T:  # days of one reference depend on each other, references do not
        assert low <= (day <= LEVEL).sum() <= high
    assert (found.min(axis=1) <= LEVEL / DAYS).sum() <= high
    # Without the correction a false alarm on some day is much likelier, although the days share the luck of their
    # reference and so alarm together:
    alarms = (found <= LEVEL).sum(axis=1)
    assert (alarms > 0).sum() > high
    assert np.var(alarms) > 1.5 * DAYS * LEVEL * (1 - LEVEL)
