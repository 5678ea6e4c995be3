"""The report in a real browser: it fits, it is quiet, and nothing in it runs. `make report-check` runs these."""

import pytest

from browser import CHROMIUM, Browser
from hostile import poisoned
from tellapart.report.html import to_html

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (apt-get install chromium)")

# Contrast of every text with what lies behind it, as WCAG defines it.
_CONTRAST = """(() => {
  const parse = c => { const v = c.match(/[\\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v };
  const light = c => { const f = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = c.slice(0, 3).map(v => f(v / 255)); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3] > 0) return c } return [255, 255, 255, 1] };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = 99, where = '';
  for (let n; n = walker.nextNode();) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest('title, desc, style, .skip')) continue;
    const s = getComputedStyle(e), ink = e.closest('svg') ? s.fill : s.color;
    const [a, b] = [light(parse(ink)), light(behind(e))].sort((p, q) => q - p), ratio = (a + .05) / (b + .05);
    if (ratio < least) { least = ratio; where = e.outerHTML.slice(0, 120) }
  }
  return [least, where] })()"""

_CUT_OFF = """[...document.querySelectorAll('body *')].filter(
  e => !e.closest('.wide, .unseen, .skip, svg') && e.getBoundingClientRect().right > innerWidth + 1
).map(e => e.outerHTML)"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.fixture(params=["different", "alike", "several", "hostile"])
def path(request, cases, tmp_path):
    outcome, explanation = cases["different" if request.param == "hostile" else request.param]
    if request.param == "hostile":
        outcome, explanation = poisoned(outcome), poisoned(explanation)
    file = tmp_path / "report.html"
    file.write_bytes(to_html(outcome, explanation).encode())
    return file


@pytest.mark.parametrize("width", [320, 400, 1400])
def test_it_fits_and_is_quiet(browser, path, width):
    page = browser.open(path, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_CUT_OFF) == []
    assert page.complaints == []
    assert page.requests == [path.as_uri()]
    assert page.evaluate("document.querySelectorAll('script, iframe, img, object').length") == 0


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read(browser, path, dark):
    page = browser.open(path, dark=dark)
    least, where = page.evaluate(_CONTRAST)
    assert least >= 4.5, where
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert paper == ("rgb(23, 24, 27)" if dark else "rgb(253, 252, 249)")


def test_a_screen_reader_is_told_everything(browser, path):
    told = browser.open(path).accessible()
    roles = [role for role, _ in told]
    for landmark in ("banner", "main", "contentinfo", "navigation"):
        assert roles.count(landmark) == 1
    named = ("image", "table", "region", "heading", "link", "navigation")
    assert not [role for role, name in told if role in named and not name.strip()]
    page = browser.open(path)
    assert roles.count("image") == page.evaluate("document.querySelectorAll('svg[role=img]').length")
    assert told.count(("group", "")) == page.evaluate(
        "document.querySelectorAll('details').length"
    )  # summaries name these


def test_the_keyboard_reaches_everything(browser, path):
    page = browser.open(path)
    reached = []
    for _ in range(60):
        for kind in ("keyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        reached.append(page.evaluate("document.activeElement.className || document.activeElement.localName"))
        seen = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert reached[-1] == "body" or seen == "3px"
        if reached[-1] == "body":
            break
    assert reached[0] == "skip"
    assert reached.count("a") == page.evaluate("document.querySelectorAll('nav a').length")
    assert reached.count("wide") == page.evaluate("document.querySelectorAll('.wide:not(details .wide)').length")


def test_it_prints(browser, path, tmp_path):
    page = browser.open(path, dark=True)
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    page.printed(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
