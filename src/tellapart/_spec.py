"""Choices as plain data: a learner, null or kernel -> nested dict of JSON types, and back."""

from __future__ import annotations

import math
import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tellapart import kernels
from tellapart.inference import hotelling, leave_one_out, null, prequential, refit
from tellapart.witness import (
    deep_kernel,
    estimator,
    fisher,
    locations,
    network,
    nystrom,
    optimised,
    select,
    training,
)

_NULLS = (null, hotelling, leave_one_out, refit, prequential)
_LEARNERS = (fisher, select, nystrom, optimised, locations, estimator, training, deep_kernel, network)
_MODULES = (kernels, *_NULLS, *_LEARNERS)
_KNOWN = {
    cls.__name__: cls
    for module in _MODULES
    for cls in vars(module).values()
    if isinstance(cls, type) and is_dataclass(cls) and cls.__module__.startswith(module.__name__)
}


class NotPlain(ValueError):
    """A choice that holds a user's own object cannot be rebuilt from data."""


def to_spec(value: Any) -> Any:
    """JSON types only: dataclasses become ``{"class": name, ...}``, foreign objects ``{"repr": text}``.

    >>> to_spec(kernels.Gaussian(0.2))
    {'class': 'Gaussian', 'bandwidth': 0.2}
    """
    if is_dataclass(value) and not isinstance(value, type):
        if any(not f.repr for f in fields(value)):  # it holds data of the user's
            return {"repr": repr(value)}
        return {"class": type(value).__name__} | {
            f.name: to_spec(getattr(value, f.name)) for f in fields(value) if not f.name.startswith("_")
        }
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, dict):
        return {str(k): to_spec(v) for k, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [to_spec(v) for v in value]
    if isinstance(value, np.ndarray):
        return [to_spec(v) for v in value.tolist()]
    return {"repr": _described(value)}


def _described(value: Any) -> str:
    """The name of a function, else the repr on one line without memory addresses: same object, same words."""
    name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
    if name and module:
        return f"{module}.{name}"
    return re.sub(r" at 0x[0-9a-f]+", "", " ".join(repr(value).split()))


def from_spec(spec: Any) -> Any:
    """The value again; :class:`NotPlain` where it held a foreign object.

    >>> from_spec({"class": "Gaussian", "bandwidth": 0.2})
    Gaussian(bandwidth=0.2)
    """
    if isinstance(spec, list):
        return tuple(from_spec(v) for v in spec)
    if not isinstance(spec, dict):
        return spec
    if "float" in spec:
        return float(spec["float"])
    if "repr" in spec:
        raise NotPlain(f"{spec['repr']} is an object of yours: pass it again to repeat the run.")
    if spec.get("class") in _KNOWN:
        return _KNOWN[spec["class"]](**{k: from_spec(v) for k, v in spec.items() if k != "class"})
    return {k: from_spec(v) for k, v in spec.items()}


def rebuilt(spec: Any) -> Any:
    """The value again where that is possible, else the spec itself."""
    try:
        return from_spec(spec)
    except NotPlain:
        return spec


def refuse_specs(settings: dict[str, Any]) -> None:
    """Say which setting of a result cannot be passed again."""
    for name, value in settings.items():
        if is_spec(value):
            raise NotPlain(f"`{name}` was {value}, which cannot be rebuilt from data: pass it yourself.")


def is_spec(value: Any) -> bool:
    """Whether a value is still the data that could not be rebuilt.

    >>> is_spec(kernels.Gaussian(0.2)), is_spec(rebuilt([{"repr": "mine"}]))
    (False, True)
    """
    return isinstance(value, dict) or (isinstance(value, list | tuple) and any(is_spec(v) for v in value))
