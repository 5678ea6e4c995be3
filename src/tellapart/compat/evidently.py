"""A drift method for the columns of evidently's reports: ``(reference, current, type, threshold) -> (score, drifted)``.

    from evidently import Report
    from evidently.presets import DataDriftPreset
    from tellapart.compat.evidently import register

    register()
    Report([DataDriftPreset(method="tellapart")]).run(current, reference)

evidently looks at one column at a time. Differences that no column shows need the whole tables:
``tellapart.tell_apart(reference, current)``. evidently is imported by :func:`register` only.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from tellapart import _checks as checks
from tellapart.joint import tell_apart

NAME = "tellapart"


def stattest(reference: Any, current: Any, feature_type: Any, threshold: float) -> tuple[float, bool]:
    """P-value of one column, and whether it is at most the threshold.

    Parameters
    ----------
    reference, current : series of pandas or polars
        Values of the column. Missing ones are compared, too; but evidently leaves them out before it calls.
    feature_type : str or evidently's ColumnType
        "num", "cat" or "text". The values of categories are taken as names, also if they are numbers.
    threshold : float
        Level.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> x, y = pd.Series(rng.normal(size=200)), pd.Series(rng.normal(size=200) * 2)
    >>> score, drifted = stattest(x, y, "num", 0.05)
    >>> score <= 0.05, drifted
    (True, True)
    """
    level = checks.share("threshold", threshold, usual=0.05)
    if getattr(feature_type, "value", feature_type) == "cat":
        reference, current = _as_names(reference), _as_names(current)
    pvalue = tell_apart(reference, current, rng=0).pvalue
    return pvalue, bool(pvalue <= level)


def register(name: str = NAME, threshold: float = 0.05) -> Any:
    """Make the test known to evidently under a name, for ``method=``; returns evidently's StatTest."""
    try:
        from evidently.legacy.calculations.stattests.registry import StatTest, register_stattest
        from evidently.legacy.core import ColumnType
    except ImportError as error:
        raise ImportError(f"`register` needs evidently 0.7 or later: pip install evidently ({error})") from error
    kinds = [ColumnType.Numerical, ColumnType.Categorical, ColumnType.Text]
    test = StatTest(name, "tellapart p_value", kinds, checks.share("threshold", threshold, usual=0.05))
    register_stattest(test, stattest)
    return test


def _as_names(series: Any) -> Any:
    """Values as text; what is missing stays so."""
    if not hasattr(series, "astype"):  # polars and others
        return nw.from_native(series, series_only=True).cast(nw.String).to_native()
    return series.astype(object).map(str, na_action="ignore")
