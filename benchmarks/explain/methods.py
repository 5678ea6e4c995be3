"""Ways to name the columns in which two tables differ: ``method(drawn, k, seed) -> names``; k is how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

from benchmarks.explain.problems import Drawn
from tellapart import Permutation, tell_apart
from tellapart.tables import encoded

LEVEL = 0.05
DRAWS = 199
_SHUFFLED = 10  # columns that are known to say nothing


def explained(drawn: Drawn, seed: int) -> dict[str, Any]:
    """What ``explain`` says."""
    result = tell_apart(drawn.x, drawn.y, families=("single columns",), null=Permutation(19), rng=seed)
    return result.explain(LEVEL, DRAWS).to_dict()


def ks_bonferroni(drawn: Drawn, k: int, seed: int) -> set[str]:
    """Kolmogorov-Smirnov for each column (for each level of categories), Bonferroni."""
    table = encoded(drawn.x, drawn.y)
    pvalues = [
        ks_2samp(a, b, method="asymp").pvalue for a, b in zip(table.samples[0].T, table.samples[1].T, strict=True)
    ]
    return {s for s, p in zip(table.sources, pvalues, strict=True) if p * len(pvalues) <= LEVEL}


def _importances(drawn: Drawn, seed: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Permutation importances of a forest, on rows that it has not seen; of the columns, and of shuffled ones."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.inspection import permutation_importance

    rng = np.random.default_rng(seed)
    table = encoded(drawn.x, drawn.y)
    rows = np.concatenate(table.samples[:2])
    label = np.repeat([1, 0], [len(drawn.x), len(drawn.y)])
    noise = rng.permuted(rows[:, rng.integers(0, rows.shape[1], _SHUFFLED)], axis=0)
    rows, learns = np.column_stack([rows, noise]), rng.random(len(rows)) < 0.5
    forest = RandomForestClassifier(60, min_samples_leaf=5, random_state=seed).fit(rows[learns], label[learns])
    found = permutation_importance(
        forest, rows[~learns], label[~learns], scoring="roc_auc", n_repeats=3, random_state=seed
    ).importances_mean
    return found[:-_SHUFFLED], found[-_SHUFFLED:], list(table.sources)


def forest(drawn: Drawn, k: int, seed: int) -> dict[str, set[str]]:
    """Columns above the mean and two deviations of shuffled ones; and the k best, with k known."""
    own, shuffled, sources = _importances(drawn, seed)
    best = {s: max(v for v, o in zip(own, sources, strict=True) if o == s) for s in dict.fromkeys(sources)}
    limit = shuffled.mean() + 2 * shuffled.std(ddof=1)
    return {
        "forest, 2 sd": {s for s, v in best.items() if v > limit},
        "forest, best k": set(sorted(best, key=lambda s: -best[s])[:k]),
    }


PEERS: dict[str, Callable[[Drawn, int, int], Any]] = {"KS, Bonferroni": ks_bonferroni, "forest": forest}
