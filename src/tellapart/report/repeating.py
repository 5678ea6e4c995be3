"""The lines that repeat a run: a call in Python from the settings of a result."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from tellapart._spec import is_spec, rebuilt


def python_lines(result: dict[str, Any]) -> str:
    """A program that repeats the test, given the rows.

    >>> settings = {"kernels": None, "pairs": True, "memory": 2.0}
    >>> print(python_lines({"settings": settings, "rng": {"seed": 0}, "exchanged": "pairs", "sizes": {"n": 9, "m": 9}}))
    from tellapart import tell_apart
    <BLANKLINE>
    result = tell_apart(x, y, pairs=True, rng=0)
    """
    settings = {name: rebuilt(spec) for name, spec in result["settings"].items()}
    told = {name: value for name, value in settings.items() if not _usual(name, value)}
    imports = sorted({line for value in told.values() for line in _imports(value)})
    sizes = result["sizes"]
    samples = "x, y" if isinstance(sizes, dict) else f"[{', '.join(f'sample_{i}' for i in range(len(sizes)))}]"
    given = [samples, *(f"{name}={code_of(value)}" for name, value in told.items()), f"rng={_seed(result['rng'])}"]
    structure = [] if result["exchanged"] in ("rows", "pairs") else ["# with the same groups, strata or weights"]
    call = f"result = tell_apart({', '.join(given)})"
    return "\n".join(["from tellapart import tell_apart", *imports, "", *structure, call])


def code_of(value: Any) -> str:
    """A choice as the code that makes it; what is not known any more is an ellipsis.

    >>> from tellapart.inference.null import Permutation
    >>> code_of(Permutation(99)), code_of((0.5, None)), code_of({"repr": "mine"})
    ('Permutation(n_permutations=99)', '(0.5, None)', '...')
    """
    if is_dataclass(value) and not isinstance(value, type):
        told = [
            (f.name, getattr(value, f.name)) for f in fields(value) if f.init and getattr(value, f.name) != f.default
        ]
        return f"{type(value).__name__}({', '.join(f'{name}={code_of(v)}' for name, v in told)})"
    if isinstance(value, tuple | list):
        inside = ", ".join(map(code_of, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return "..." if is_spec(value) else repr(value)


def _usual(name: str, value: Any) -> bool:
    """Whether it goes without saying."""
    if value is None or value is False or (name, value) == ("memory", 2.0):
        return True
    return is_dataclass(value) and not is_spec(value) and code_of(value) == f"{type(value).__name__}()"


def _imports(value: Any) -> list[str]:
    if is_dataclass(value):
        inside = [line for f in fields(value) for line in _imports(getattr(value, f.name))]
        return [f"from {type(value).__module__} import {type(value).__name__}", *inside]
    if isinstance(value, tuple | list):
        return [line for v in value for line in _imports(v)]
    return []


def _seed(rng: dict[str, Any]) -> str:
    return repr(rng["seed"]) if "seed" in rng else "rng  # in the state that the result has recorded"
