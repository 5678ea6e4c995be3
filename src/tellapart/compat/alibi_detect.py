"""A drift detector that is called as those of alibi-detect are, and answers with the same dictionary.

    from alibi_detect.cd import MMDDrift
    detector = MMDDrift(x_ref, p_val=0.05, backend="pytorch")

becomes

    from tellapart.compat.alibi_detect import WitnessDrift
    detector = WitnessDrift(x_ref, p_val=0.05)

and ``detector.predict(x)["data"]["is_drift"]`` stays as it is. alibi-detect itself is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tellapart import _checks as checks
from tellapart._arrays import to_numpy
from tellapart._version import __version__
from tellapart.joint import tell_apart
from tellapart.joint_result import TellApartResult
from tellapart.reference import Reference
from tellapart.samples import as_frame


class WitnessDrift:
    """Drift detector around :func:`tellapart.tell_apart`: exact p-values, no training, no backend to choose.

    Parameters
    ----------
    x_ref : array-like, data frame, tensor or Reference
        The reference; rows may have any shape, and are made flat. Of a :class:`tellapart.Reference` no raw rows are
        needed.
    p_val : float
        Level: drift is reported where the p-value is at most this.
    preprocess_fn : callable, optional
        Applied to `x_ref` once and to every `x`: an embedding, a scaler. It must not have been fitted to either.
    data_type : str, optional
        Kept in the metadata.
    rng : int, numpy.random.Generator, or None
        Seed of the relabellings: 0, so that an answer repeats.
    **options
        For :func:`tellapart.tell_apart`, such as ``families``, ``null`` or ``memory``.

    Notes
    -----
    All answers about one `x_ref` share its luck: see :mod:`tellapart.reference`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> detector = WitnessDrift(rng.normal(size=(100, 2)), p_val=0.05)
    >>> answer = detector.predict(rng.normal(1.0, 1.0, size=(50, 2)))
    >>> answer["data"]["is_drift"], answer["meta"]["name"]
    (1, 'WitnessDrift')
    """

    def __init__(
        self,
        x_ref: Any,
        p_val: float = 0.05,
        preprocess_fn: Callable[[Any], Any] | None = None,
        data_type: str | None = None,
        rng: Any = 0,
        **options: Any,
    ) -> None:
        self.p_val = checks.share("p_val", p_val, usual=0.05)
        self.preprocess_fn, self.options, self.rng = preprocess_fn, options, rng
        self.x_ref = x_ref if isinstance(x_ref, Reference) else self._rows(x_ref)
        self.meta: dict[str, Any] = {
            "name": type(self).__name__,
            "online": False,
            "data_type": data_type,
            "version": __version__,
            "detector_type": "drift",
        }

    def predict(self, x: Any, return_p_val: bool = True, return_distance: bool = True) -> dict[str, dict[str, Any]]:
        """Whether the rows of `x` have drifted away from the reference.

        Returns
        -------
        dict
            ``{"meta": {...}, "data": {"is_drift", "distance", "p_val", "threshold"}}``. ``distance`` is a lower bound,
            with confidence 95%, for the total variation between the distributions: at least so much of the probability
            lies elsewhere. What was not asked for is None.
        """
        result = self.compared(x)
        data = {
            "is_drift": int(result.pvalue <= self.p_val),
            "distance": self._distance(result) if return_distance else None,
            "p_val": result.pvalue if return_p_val else None,
            "threshold": self.p_val if return_p_val else None,
        }
        return {"data": data, "meta": dict(self.meta)}

    def score(self, x: Any) -> tuple[float, float]:
        """P-value and distance of `x`."""
        result = self.compared(x)
        return result.pvalue, self._distance(result)

    def compared(self, x: Any) -> TellApartResult:
        """The whole result for `x`, which says more than the dictionary does."""
        if isinstance(self.x_ref, Reference):
            return self.x_ref.test(self._rows(x), rng=self.rng, **self.options)
        result = tell_apart(self.x_ref, self._rows(x), rng=self.rng, **self.options)
        if not isinstance(result, TellApartResult):
            raise TypeError("`x` must be one sample")
        return result

    def _rows(self, x: Any) -> Any:
        """One row for each observation, whatever its shape."""
        made = x if self.preprocess_fn is None else self.preprocess_fn(x)
        if as_frame(made, "x") is not None:
            return made
        values = to_numpy(made)
        return values if np.ndim(values) < 3 else values.reshape(len(values), -1)

    @staticmethod
    def _distance(result: TellApartResult) -> float:
        return 0.0 if result.certificate is None else result.total_variation()
