"""The outcome of a comparison of files -> text, JSON or Markdown."""

from __future__ import annotations

import json
from typing import Any

from tellapart.report.text import joint_rows, laid_out, several_rows, verdict_sentence
from tellapart.report.where import where_rows

_MOST_WHERE = 3  # columns, pairs and sub-groups that are named
_RED, _GREEN, _PLAIN = "\x1b[1;31m", "\x1b[1;32m", "\x1b[0m"


def sentence_of(outcome: dict[str, Any]) -> str:
    """The verdict, on any difference or on one that is large enough.

    >>> sentence_of({"level": 0.05, "effect_at_least": 0.1, "effect_pvalue": 0.2, "result": {"pvalue": 0.001}})
    'No difference of more than 10% found: p = 0.2, above the level 0.05 (of any difference: p = 0.001).'
    """
    level, least, pvalue = outcome["level"], outcome["effect_at_least"], outcome["result"]["pvalue"]
    if least is None:
        return verdict_sentence(pvalue, level)
    large = f"more than {100 * least:.3g}%"
    said = verdict_sentence(outcome["effect_pvalue"], level).rstrip(".")
    said = said.replace("samples differ", f"samples differ by {large}")
    said = said.replace("difference found", f"difference of {large} found")
    return f"{said} (of any difference: p = {pvalue:.3g})."


def to_plain(outcome: dict[str, Any], colours: bool = False) -> str:
    """For a terminal: the verdict, then how it came about."""
    sentence = sentence_of(outcome)
    if colours:
        sentence = f"{_RED if outcome['differ'] else _GREEN}{sentence}{_PLAIN}"
    return laid_out(sentence, _rows(outcome))


def to_markdown(outcome: dict[str, Any]) -> str:
    """For an issue, a pull request or a job summary: the verdict, and a table."""
    lines = [f"**{_escaped(sentence_of(outcome))}**", "", "| | |", "|---|---|"]
    return "\n".join(lines + [f"| {_escaped(label)} | {_escaped(words)} |" for label, words in _rows(outcome)])


def to_json(outcome: dict[str, Any]) -> str:
    """For programs: the verdict, the samples, and the whole result."""
    return json.dumps({"verdict": sentence_of(outcome), **outcome}, indent=2, allow_nan=False)


def _rows(outcome: dict[str, Any]) -> list[tuple[str, str]]:
    result, named = outcome["result"], [f"{s['source']} ({s['rows']} rows)" for s in outcome["samples"]]
    if len(named) > 2:
        return [("samples", f"{i}: {name}") for i, name in enumerate(named)] + several_rows(result, outcome["level"])
    where = where_rows(outcome["where"], _MOST_WHERE) if outcome.get("where") else []
    samples = " against ".join(named) + (", called x and y below" if where else "")
    return [("samples", samples), *where, *joint_rows(result)]


def _escaped(text: str) -> str:
    r"""Names of files and columns must not become markup.

    >>> _escaped("<b>|a_b")
    '&lt;b&gt;\\|a\\_b'
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{c}" if c in "\\`*_[]|" else c for c in text)
