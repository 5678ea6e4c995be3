"""The dict of a result -> a piece of HTML for notebooks, in their own colours, light or dark."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.report.markup import plain, tag

_WHOLE = "max-width:52em;line-height:1.45;overflow-wrap:anywhere"
_LABEL = (
    "text-align:left;vertical-align:top;font-weight:normal;opacity:.8;padding:.15em 1.2em .15em 0;white-space:nowrap"
)
_WORDS = "text-align:left;vertical-align:top;padding:.15em 0"
_TABLE = "border-collapse:collapse;border:0;margin:.4em 0;font-size:.95em;font-variant-numeric:tabular-nums"


def to_fragment(sentence: str, rows: Sequence[tuple[str, str]]) -> str:
    """A verdict, and labels beside their words.

    >>> "<td" in to_fragment("No difference found.", []), "5 &lt; 6</td>" in to_fragment("", [("rows", "5 < 6")])
    (False, True)
    """
    lines = [
        tag(
            "tr",
            tag("th", plain(label), scope="row", style=_LABEL),
            tag("td", plain(words), style=_WORDS),
            style="background:none",
        )
        for label, words in rows
    ]
    table = tag("table", tag("tbody", *lines), style=_TABLE)
    return str(tag("div", tag("p", tag("strong", sentence)), table, style=_WHOLE))
