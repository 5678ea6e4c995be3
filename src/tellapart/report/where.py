"""The dict of an explanation -> text for a person."""

from __future__ import annotations

from typing import Any

from tellapart.report.text import laid_out

_MOST_SHOWN = 8
_MOST_VALUES = 6  # of a row
_LONGEST = 40  # characters of a name or value


def to_where_text(where: dict[str, Any]) -> str:
    """What differs in a sentence, then the columns, pairs, sub-groups and rows behind it."""
    rows = where_rows(where, _MOST_SHOWN)
    for sample in ("x", "y"):
        rows += [(f"row {told['row']} of {sample}", _row_words(told)) for told in where["rows"][sample][:3]]
    rows.append(("judged", f"{' + '.join(map(str, where['rows_used']))} rows, {where['draws']} relabellings"))
    return laid_out(where_sentence(where), rows + [("note", one_line(note, 1000)) for note in where["notes"]])


def where_sentence(where: dict[str, Any]) -> str:
    """How much differs.

    >>> where_sentence({"level": 0.05, "columns": [{"differs": True, "name": "age"}, {"differs": False}],
    ...                 "pairs": [], "pairs_tried": 1, "subgroups": []})
    'One of 2 columns differs by itself, none of 1 pair does beyond that (level 0.05).'
    """
    columns = sum(c["differs"] for c in where["columns"])
    said = f"{_number(columns).capitalize()} of {_counted(len(where['columns']), 'column')} "
    said += "differs by itself" if columns == 1 else "differ by themselves" if columns else "differs by itself"
    if where["pairs_tried"]:
        pairs = sum(p["differs"] for p in where["pairs"])
        more = "at least " if 0 < pairs == len(where["pairs"]) < where["pairs_tried"] else ""
        said += (
            f", {more}{_number(pairs)} of {_counted(where['pairs_tried'], 'pair')} do{'es' * (pairs < 2)} beyond that"
        )
    groups = sum(g["differs"] for g in where["subgroups"])
    said += f", {groups} sub-group{'s have' if groups > 1 else ' has'} another share" if groups else ""
    return f"{said} (level {where['level']:g})."


def _number(count: int) -> str:
    return {0: "none", 1: "one"}.get(count, str(count))


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def where_rows(where: dict[str, Any], most: int) -> list[tuple[str, str]]:
    """Labels and words of the most telling columns, pairs and sub-groups that differ."""
    return [
        *_listed([("column", _finding_words(one_line(c["name"]), c)) for c in where["columns"] if c["differs"]], most),
        *_listed([("pair", _finding_words(_pair_name(p), p)) for p in where["pairs"] if p["differs"]], most),
        *_listed([("sub-group", _group_words(g)) for g in where["subgroups"] if g["differs"]], most),
    ]


def _listed(rows: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    more = len(rows) - most
    return rows[:most] + ([(f"{rows[0][0]}s", f"and {more} more")] if more > 0 else [])


def _pair_name(pair: dict[str, Any]) -> str:
    return " with ".join(one_line(name) for name in pair["names"])


def _finding_words(name: str, finding: dict[str, Any]) -> str:
    return f"{name}: {one_line(finding['change'], 200)} (p = {finding['pvalue']:.3g})"


def _group_words(group: dict[str, Any]) -> str:
    rule = " and ".join(one_line(part, 80) for part in group["rule"])
    return (
        f"{rule}: {group['share_x']:.1%} of x, {group['share_y']:.1%} of y (p = {group['pvalue']:.3g}; "
        f"y minus x between {group['low']:+.1%} and {group['high']:+.1%})"
    )


def _row_words(told: dict[str, Any]) -> str:
    shown = [f"{one_line(name)} {one_line(value)}" for name, value in list(told["values"].items())[:_MOST_VALUES]]
    more = len(told["values"]) - len(shown)
    return f"evidence {told['evidence']:+.2g}: {', '.join(shown)}" + (f" and {more} more" if more else "")


def one_line(text: str, longest: int = _LONGEST) -> str:
    r"""A name or value from a user's file as one short line that a terminal shows harmlessly.

    >>> one_line("a\nb\x1b[31m"), len(one_line("c" * 10_000))
    ('a b?[31m', 40)
    """
    line = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 3] + "..."
