"""The outcome of a comparison -> one HTML file that needs nothing else: to read, to print, to pass on.

It holds no script and asks for nothing from the network; every name and value in it is escaped (`report.markup`). The
same outcome gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tellapart.report import drawing
from tellapart.report.comparison import sentence_of
from tellapart.report.findings import Section, absent, sections_of, table
from tellapart.report.markup import Markup, joined, name_of, plain, pvalue_of, share, tag
from tellapart.report.repeating import python_lines
from tellapart.report.style import STYLE
from tellapart.report.text import joint_rows, several_rows

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_SAID_ELSEWHERE = ("schema", "effect", "p-value", "note", "repeat")


def to_html(outcome: dict[str, Any], explanation: dict[str, Any] | None = None) -> str:
    """The report.

    Parameters
    ----------
    outcome : dict
        What the command found: `differ`, `level`, `effect_at_least`, `effect_pvalue`, `samples`, and `result`, the dict
        of a result; if known `detectable`, what could have been found, and `command`, the line that repeats it.
    explanation : dict, optional
        Where the samples differ, with schema "where 1".
    """
    sections = list(_sections(outcome, explanation))
    body = tag(
        "body",
        tag("a", "Skip to the verdict", href="#verdict", class_="skip"),
        drawing.marks(),
        _header(outcome),
        tag("main", _verdict(outcome), _contents(sections), *(section.drawn() for section in sections), id="verdict"),
        tag("footer", tag("p", f"tellapart {outcome['result']['version']}")),
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(outcome), body, lang='en')}\n"


def _head(outcome: dict[str, Any]) -> Markup:
    names = ", ".join(plain(sample["source"], 60) for sample in outcome["samples"])
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{'Different' if outcome['differ'] else 'No difference found'}: {names}"),
        tag("style", Markup(STYLE)),
    )


def _header(outcome: dict[str, Any]) -> Markup:
    """Which samples, and how they are drawn."""
    samples = outcome["samples"]
    marks = [drawing.key_of("x"), drawing.key_of("y")] if len(samples) == 2 else [None] * len(samples)
    letters = ["x", "y"] if len(samples) == 2 else [str(i) for i in range(len(samples))]
    items = [
        tag("li", mark, " ", tag("b", letter), " ", name_of(s["source"], 120), tag("span", f" {s['rows']:,} rows"))
        for mark, letter, s in zip(marks, letters, samples, strict=True)
    ]
    return tag("header", tag("p", "tellapart", class_="brand"), tag("ul", *items, class_="samples"))


def _verdict(outcome: dict[str, Any]) -> Markup:
    said, colon, rest = sentence_of(outcome).partition(": ")
    return tag("h1", said, tag("span", colon, class_="unseen"), tag("span", rest, class_="then"))


def _contents(sections: list[Section]) -> Markup:
    links = [tag("li", tag("a", section.short, href=f"#{section.key}")) for section in sections]
    return tag("nav", tag("ul", *links), aria_label="On this page")


def _sections(outcome: dict[str, Any], explanation: dict[str, Any] | None) -> Iterator[Section]:
    result = outcome["result"]
    if len(outcome["samples"]) > 2:
        yield Section("pairs-of-samples", "Pairs of samples", "Which samples differ", _several(outcome))
    else:
        yield Section("effect", "Effect", "How large the difference is", _effect(outcome))
    if schema := result["schema_differences"]:
        items = (tag("li", plain(words, 300)) for words in schema)
        yield Section("schema", "Tables", "Differences between the tables themselves", tag("ul", *items))
    if explanation is not None:
        yield from sections_of(explanation)
    elif len(outcome["samples"]) == 2:
        yield Section("where", "Where", "Where the samples differ", absent("This was not looked for here."))
    yield Section("how", "Method", "How it was computed", _how(outcome, explanation))


def _effect(outcome: dict[str, Any]) -> Markup:
    result, certified = outcome["result"], outcome["result"]["certified"]
    figures = [
        ("p-value", pvalue_of(result["pvalue"]), "chance of so large a difference if there were none"),
        ("pairs in the right order", share(result["auc"]), "by a witness that saw neither row; 50% is chance"),
    ]
    if certified:
        figures.append(("lies elsewhere", f"≥ {share(certified)}", "of the probability, certified with confidence 95%"))
    if not result["schema_differences"]:
        same = tag("p", "The tables themselves do not differ: the same columns, of the same types.", class_="quiet")
    else:
        same = None
    shown = [tag("div", tag("dt", name), tag("dd", tag("b", figure), " ", words)) for name, figure, words in figures]
    return joined(tag("dl", *shown, class_="figures"), *_effect_words(outcome), same)


def _effect_words(outcome: dict[str, Any]) -> Iterator[Markup]:
    result, detectable = outcome["result"], outcome.get("detectable")
    if result["certified"] is None:
        yield tag("p", "No bound is certified for rows that depend on each other or that have weights.", class_="quiet")
    elif not result["certified"]:
        yield tag("p", "Nothing is certain beyond the verdict: the certified bound is 0%.", class_="quiet")
    if outcome["effect_at_least"] is not None:
        least, p = share(outcome["effect_at_least"]), pvalue_of(outcome["effect_pvalue"])
        yield tag("p", f"Asked was for a difference of more than {least} of the probability: p = {p}.")
    if outcome["differ"]:
        return
    if detectable is None:
        yield tag("p", "That nothing was found does not prove that the samples are alike.")
        return
    sizes = result["sizes"]
    yield tag(
        "p",
        f"What could have been missed: with {sizes['n']:,} + {sizes['m']:,} rows even a test that knows where to look "
        f"needs a shift of one column by {detectable['shift']:.2g} of its standard deviations to find it "
        f"{detectable['power']:.0%} of the time at level {outcome['level']:g}. Smaller differences are not excluded.",
    )


def _several(outcome: dict[str, Any]) -> Markup:
    result, level = outcome["result"], outcome["level"]
    names = [joined(tag("b", i), " ", name_of(s["source"], 60)) for i, s in enumerate(outcome["samples"])]
    lines = []
    for pair in result["pairs"]:
        i, j = pair["between"]
        differs = pair["pvalue"] <= level
        told = tag("strong", "differ") if differs else "no difference found"
        loudest = pair["family"] if differs and pair["family"] else "-"
        named = joined(names[i], " and ", names[j])
        lines.append((named, told, pvalue_of(pair["pvalue"]), pvalue_of(pair["own_pvalue"]), loudest))
    words = (
        f"That all samples are alike has p = {pvalue_of(result['pvalue'])}. P-values of pairs allow for all pairs: "
        f"the chance to call any equal pair different is at most {level:g}. To see where two differ, compare those two."
    )
    heads = ("samples", "verdict", "p for all pairs", "p alone", "loudest")
    return joined(tag("p", words), table("each-pair", "Each pair of samples", heads, lines, numeric=(2, 3)))


def _how(outcome: dict[str, Any], explanation: dict[str, Any] | None) -> Markup:
    result = outcome["result"]
    rows = several_rows(result, outcome["level"]) if len(outcome["samples"]) > 2 else joint_rows(result)
    lines = [(label, plain(words)) for label, words in rows if label not in _SAID_ELSEWHERE and " and " not in label]
    exact = f"The p-value is exact, from {result['draws']} relabellings of {result['exchanged']}."
    if not result["draws"]:
        exact = "The p-value is exact."
    notes = [*result["notes"], *(explanation["notes"] if explanation else ())]
    parts = [tag("p", exact), table("parts", "The test, part by part", ("part", "what it was"), lines)]
    if notes:
        parts += [tag("h3", "Notes"), tag("ul", *(tag("li", plain(note)) for note in notes))]
    parts.append(tag("h3", "To repeat it"))
    if outcome.get("command"):
        parts += [tag("p", "In a terminal:"), tag("pre", tag("code", plain(outcome["command"], 2000)))]
    return joined(*parts, tag("p", "In Python:"), tag("pre", tag("code", python_lines(result))))
