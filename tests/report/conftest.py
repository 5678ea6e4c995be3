"""Outcomes of comparisons and explanations, as the command makes them."""

import copy

import numpy as np
import pytest

from explanations import explained, orders
from tellapart import tell_apart


def outcome_of(samples, names, **more):
    """What the command gives the report."""
    result = tell_apart(*(samples if len(samples) == 2 else [samples]), rng=0)
    told = {"level": 0.05, "effect_at_least": None, "effect_pvalue": None, "detectable": {"shift": 0.21, "power": 0.9}}
    told |= {"differ": result.pvalue <= 0.05, "result": result.to_dict(), "command": "tellapart march.csv april.csv"}
    return told | {"samples": [{"source": n, "rows": len(s)} for n, s in zip(names, samples, strict=True)]} | more


@pytest.fixture(scope="session")
def _cases():
    rng = np.random.default_rng(1)
    march, april, alike = (orders(n, moved=moved, rng=rng) for n, moved in ((150, False), (120, True), (120, False)))
    numbers = [table[["visits", "items"]] for table in (march, april, alike)]
    return {
        "different": (outcome_of([march, april], ["march.csv", "april.csv"]), explained(march, april)),
        "alike": (outcome_of([march, alike], ["march.csv", "again.csv"]), explained(march, alike)),
        "several": (outcome_of(numbers, ["a", "b", "c"], detectable=None), None),
    }


@pytest.fixture
def cases(_cases):
    """Pairs of an outcome and an explanation, to change at will."""
    return copy.deepcopy(_cases)
