"""The report: well formed, self-contained, labelled, in order; nothing that a file holds becomes markup."""

import copy
import json
import re
from itertools import pairwise

import pytest

from hostile import NAMES, poisoned
from pages import parsed
from tellapart.report.html import to_html
from tellapart.report.style import DARK, LIGHT, STYLE

CASES = ["different", "alike", "several"]
ACTIVE = {
    "script",
    "iframe",
    "object",
    "embed",
    "img",
    "image",
    "link",
    "base",
    "form",
    "input",
    "animate",
    "set",
    "foreignobject",
}
EMPTY = {"columns": [], "pairs": [], "pairs_tried": 0, "rows": {"x": [], "y": []}, "subgroups": [], "evidence": None,
         "map": None, "notes": []}  # fmt: skip


@pytest.fixture(params=[*CASES, "empty", "hostile", "no explanation", "wide"])
def html(request, cases):
    outcome, explanation = cases[request.param if request.param in CASES else "different"]
    if request.param == "empty":
        explanation |= EMPTY
    elif request.param == "no explanation":
        explanation = None
    elif request.param == "hostile":
        outcome, explanation = poisoned(outcome), poisoned(explanation)
        outcome["result"]["schema_differences"] = ["column '<script>' is only in \u202ex"]
    elif request.param == "wide":
        explanation = wide(explanation, 1000)
    return to_html(outcome, explanation)


def wide(explanation, count):
    """So many columns with long names, all of which differ; portraits of the first 60."""
    template = next(c for c in explanation["columns"] if c["portrait"]["kind"] == "histogram")
    columns = [{**template, "name": f"{'long ' * 30}{i}", "differs": True} for i in range(count)]
    for column in columns[60:]:
        column["portrait"] = None
    return explanation | {"columns": columns}


def test_it_is_well_formed_and_small(html):
    page = parsed(html)
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert [e.name for e in page.children] == ["html"]
    assert [e.name for e in page.children[0].children] == ["head", "body"]
    assert len(html.encode()) < 1_000_000
    assert len(page.all("title")[0].text) > 10
    assert {e.name for e in page.all("body")[0].children} == {"a", "svg", "header", "main", "footer"}


def test_names_of_elements_are_unique_and_all_that_is_pointed_at_exists(html):
    page = parsed(html)
    names = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
    assert len(set(names)) == len(names)
    assert not [name for name in names if not re.fullmatch(r"[a-z][a-z0-9-]*", name)]
    for element in page.all():
        for key in ("aria-labelledby", "aria-describedby"):
            assert set(element.attributes.get(key, "").split()) <= set(names)
        href = element.attributes.get("href", "#" + names[0])
        assert href[0] == "#"
        assert href[1:] in names


def test_headings_do_not_skip(html):
    levels = [int(e.name[1]) for e in parsed(html).all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_pictures_and_tables_have_names(html):
    page = parsed(html)
    pictures = page.all("svg")
    within = {id(e) for svg in pictures for e in svg.all("svg")}
    for svg in pictures:
        if id(svg) in within or svg.attributes.get("aria-hidden") == "true":
            assert "role" not in svg.attributes
            continue
        assert svg.attributes["role"] == "img"
        title, words = svg.children[:2]
        assert (title.name, words.name) == ("title", "desc")
        assert title.text
        assert words.text
    for table in page.all("table"):
        assert table.children[0].name == "caption"
        assert table.children[0].text.strip()
        assert all(th.attributes["scope"] in ("col", "row") for th in table.all("th"))
        wide = len(table.all("thead")[0].all("th"))
        assert all(len(tr.children) == wide for tr in table.all("tr"))
    for section in page.all("section", "nav"):
        assert {"aria-labelledby", "aria-label"} & set(section.attributes)


def test_it_asks_for_nothing_and_runs_nothing(html):
    page = parsed(html)
    assert not {e.name for e in page.all()} & ACTIVE
    for element in page.all():
        for key, value in element.attributes.items():
            assert not key.startswith("on")
            assert key not in ("src", "srcset", "style", "xlink:href", "action")
            assert "url(" not in (value or "") or element.name in ("title", "desc")
    assert [s.text for s in page.all("style")] == [STYLE]
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    policy = next(e for e in page.all("meta") if e.attributes.get("http-equiv"))
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_hostile_names_leave_the_elements_as_they_were(cases):
    outcome, explanation = cases["different"]
    markup = [name for name in NAMES if name.isprintable() and name.strip()]
    tame = [re.sub(r"\W", "w", name) for name in markup]  # of the same length: that decides how much is shown
    first, second = (
        parsed(to_html(poisoned(outcome, names), poisoned(explanation, names))) for names in (markup, tame)
    )
    assert [(e.name, sorted(e.attributes)) for e in first.all()] == [
        (e.name, sorted(e.attributes)) for e in second.all()
    ]
    assert "<script>alert(1)</script>" in first.text


def test_what_turns_or_hides_text_is_written_out(cases):
    outcome, explanation = cases["different"]
    html = to_html(poisoned(outcome), poisoned(explanation))
    assert not [c for c in html.replace("\n", "") if not c.isprintable() and c not in "\u200c\u200d"]
    assert "\\u202eright to left\\u2066" in html
    assert "lone \\ud800 surrogate" in html
    assert "W" * 500 not in html
    html.encode("utf-8")


def test_same_result_same_bytes(cases):
    outcome, explanation = cases["different"]
    again = json.loads(json.dumps(outcome)), json.loads(json.dumps(explanation))
    before = copy.deepcopy((outcome, explanation))
    assert to_html(outcome, explanation) == to_html(*again)
    assert (outcome, explanation) == before


def test_the_order_of_the_page(cases):
    outcome, explanation = cases["different"]
    outcome["result"]["schema_differences"] = ["column 'a' is only in y, and was not compared"]
    page = parsed(to_html(outcome, explanation))
    assert [e.attributes["id"] for e in page.all("section")] == [
        "effect", "schema", "witness", "columns", "pairs", "subgroups", "rows", "map", "how",
    ]  # fmt: skip
    assert page.all("h1")[0].text.startswith("The samples differ: p = 0.0")
    assert "below the level 0.05" in page.all("h1")[0].text
    assert "column 'a' is only in y" in page.text


def section(page, key):
    return next(e for e in page.all("section") if e.attributes["id"] == key)


def test_the_effect_and_what_could_have_been_missed(cases):
    page = parsed(to_html(*cases["different"]))
    assert "certified with confidence 95%" in section(page, "effect").text
    assert "missed" not in page.text
    outcome, explanation = cases["alike"]
    said = section(parsed(to_html(outcome, explanation)), "effect").text
    assert "with 150 + 120 rows even a test that knows where to look needs a shift of one column by 0.21" in said
    outcome["detectable"] = None
    assert "does not prove" in section(parsed(to_html(outcome, explanation)), "effect").text


def test_columns_that_differ_are_drawn_then_a_few_others_and_all_are_listed(cases):
    _, explanation = cases["different"]
    page = parsed(to_html(*cases["different"]))
    differing = [c["name"] for c in explanation["columns"] if c["differs"]]
    assert differing
    drawn = [article.all("bdi")[0].text for article in section(page, "columns").all("article")]
    assert drawn == [c["name"] for c in explanation["columns"]][: len(differing) + 3]
    listed = section(page, "columns").all("details")[0].all("tbody")[0].children
    assert len(listed) == len(explanation["columns"])


def test_pictures_of_a_thousand_columns_are_capped(cases):
    outcome, explanation = cases["different"]
    columns = section(parsed(to_html(outcome, wide(explanation, 1000))), "columns")
    assert len(columns.all("article")) == 60
    assert len(columns.all("details")[0].all("tbody")[0].children) == 1000


def test_what_is_missing_says_why(cases):
    outcome, explanation = cases["different"]
    page = parsed(to_html(outcome, explanation | EMPTY))
    for key in ("witness", "columns", "pairs", "subgroups", "rows", "map"):
        assert len(section(page, key).text) > 40
        assert not section(page, key).all("figure", "table")


def test_several_samples_have_a_table_of_pairs_and_no_explanation(cases):
    page = parsed(to_html(*cases["several"]))
    assert [e.attributes["id"] for e in page.all("section")] == ["pairs-of-samples", "how"]
    assert len(section(page, "pairs-of-samples").all("tbody")[0].children) == 3


def test_it_says_how_to_repeat_the_run(cases):
    page = parsed(to_html(*cases["different"]))
    terminal, python = (code.text for code in section(page, "how").all("code"))
    assert terminal == "tellapart march.csv april.csv"
    assert python == "from tellapart import tell_apart\n\nresult = tell_apart(x, y, rng=0)"


def test_an_effect_that_was_asked_for(cases):
    outcome, explanation = cases["different"]
    outcome |= {"effect_at_least": 0.99, "effect_pvalue": 1.0, "differ": False}
    page = parsed(to_html(outcome, explanation))
    assert "No difference of more than 99% found: p = 1" in page.all("h1")[0].text
    assert "more than 99% of the probability: p = 1" in section(page, "effect").text


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("inks", [LIGHT, DARK, LIGHT | {"paper": "#ffffff"}])
def test_inks_can_be_read_on_their_paper(inks):
    for paper in ("paper", "shade"):
        for ink in ("ink", "quiet", "x", "y"):
            bright, dark = sorted((luminance(inks[paper]), luminance(inks[ink])), reverse=True)
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (paper, ink)
