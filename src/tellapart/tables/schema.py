"""What differs between tables before a single row is looked at: their columns, the types and the order of these."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from tellapart.tables.reading import Column, Kind

What = Literal["absent", "type", "order"]


@dataclass(frozen=True)
class SchemaDifference:
    """One difference: what it is, of which column (empty for the order), and a line for a person."""

    what: What
    column: str
    text: str


def compared_columns(
    tables: Sequence[dict[str, Column]], names: Sequence[str]
) -> tuple[list[list[Column]], tuple[SchemaDifference, ...]]:
    """The columns that can be compared, each as it is in every sample, of one kind; and what differs.

    Types belong to a file and not to its rows, so looking at them by sample does not touch exactness.
    """
    everywhere = [c for c in tables[0] if all(c in table for table in tables)]
    differences = absences(tables, names)
    differences += other_orders(tables, names)
    compared = []
    for label in everywhere:
        columns = [table[label] for table in tables]
        kind = _common_kind(columns)
        if len({c.kind for c in columns} - {"nothing"}) > 1:
            differences.append(other_types(label, [c.kind for c in columns], names, kind))
        if kind is not None:
            compared.append([c.to(kind) for c in columns])
    return compared, tuple(differences)


def _common_kind(columns: Sequence[Column]) -> Kind | None:
    """The kind in which all samples can be compared; None where there is none."""
    kinds = {c.kind for c in columns} - {"nothing"}
    if len(kinds) < 2:
        return next(iter(kinds), "nothing")
    if kinds == {"numbers", "booleans"}:
        return "numbers"
    others = kinds - {"text"}
    if len(others) != 1 or "text" not in kinds:
        return None
    other = others.pop()
    if all(c.reads_as(other) for c in columns):
        return other
    return "text" if other in ("numbers", "booleans") else None


def absences(tables: Sequence[Collection[str]], names: Sequence[str]) -> list[SchemaDifference]:
    """Which columns not every table has."""
    every = dict.fromkeys(c for table in tables for c in table)
    found = []
    for label in every:
        present = [name for name, table in zip(names, tables, strict=True) if label in table]
        if len(present) < len(tables):
            words = f"column '{label}' is only in {' and '.join(present)}, and was not compared"
            found.append(SchemaDifference("absent", label, words))
    return found


def other_orders(tables: Sequence[Collection[str]], names: Sequence[str]) -> tuple[SchemaDifference, ...]:
    """Whether the common columns come in another order than in the first table."""
    everywhere = [c for c in (tables[0] if tables else ()) if all(c in table for table in tables)]
    turned = [
        name
        for name, table in zip(names, tables, strict=False)
        if [c for c in table if c in everywhere] != everywhere
    ]  # fmt: skip
    words = f"the columns of {' and '.join(turned)} are in another order than those of {names[0]}, and matched by name"
    return (SchemaDifference("order", "", words),) if turned else ()


def other_types(label: str, held_as: Sequence[Kind], names: Sequence[str], kind: Kind | None) -> SchemaDifference:
    """What a column holds in each table, and as what it was compared."""
    held = ", ".join(f"{own} in {name}" for own, name in zip(held_as, names, strict=True))
    end = "was not compared" if kind is None else f"was compared as {kind}"
    return SchemaDifference("type", label, f"column '{label}' holds {held}, and {end}")
