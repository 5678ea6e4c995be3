"""Text that may hold anything -> markup that holds only text. Names and values come from users' files."""

from __future__ import annotations

from html import escape

_VOID = frozenset(("meta", "path", "rect", "line", "circle", "use", "pattern"))
_JOINERS = "\u200c\u200d"  # without which Persian words and some emoji fall apart; they turn nothing round
NAME, SENTENCE = 60, 400  # characters of a name and of a sentence that are shown


class Markup(str):
    """Text that is markup already. All other text is escaped where it meets markup."""

    __slots__ = ()


def tag(name: str, /, *inside: object, **attributes: object) -> Markup:
    """An element. What is inside is escaped unless it is markup; attributes that are None or False are left out.

    >>> tag("p", "a < b", class_="lead", aria_hidden="true", hidden=False)
    '<p class="lead" aria-hidden="true">a &lt; b</p>'
    >>> tag("rect", width=3)
    '<rect width="3"/>'
    """
    opened = name + "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    if name in _VOID and not inside:
        return Markup(f"<{opened}/>")
    return Markup(f"<{opened}>{joined(*inside)}</{name}>")


def joined(*parts: object) -> Markup:
    """Parts in a row; those that are no markup are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else _escaped(part) for part in parts if part is not None))


def name_of(text: object, most: int = NAME) -> Markup:
    """A name or value of the user's: short, and closed off, so that it turns nothing round beside it."""
    return tag("bdi", plain(text, most))


def plain(text: object, most: int = SENTENCE) -> str:
    r"""Text on one line, not longer than so many characters; what cannot be seen is written out.

    >>> plain("a\nb\u202ec"), plain("abcdefghij", 6), plain("")
    ('a\\nb\\u202ec', 'ab…hij', '(empty)')
    """
    shown = shortened(str(text), most)
    return "".join(c if c.isprintable() or c in _JOINERS else _written(c) for c in shown) or "(empty)"


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a text that is too long: names often differ at the end only."""
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end - 1]}…{text[len(text) - end :]}"


def share(value: float) -> str:
    """A share as a person says it.

    >>> share(0.1234), share(0.0001), share(0.0), share(1.0), share(0.9999)
    ('12.3%', '<0.1%', '0%', '100%', '>99.9%')
    """
    if 0 < value < 0.0005:
        return "<0.1%"
    if 0.9995 <= value < 1:
        return ">99.9%"
    return f"{number(100 * value, 1)}%"


def number(value: float, digits: int = 2) -> str:
    """A number without needless digits: the same on every machine.

    >>> number(2.5), number(-0.001), number(100)
    ('2.5', '0', '100')
    """
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def pvalue_of(value: float) -> str:
    """A p-value with three digits.

    >>> pvalue_of(0.0123456), pvalue_of(1.0)
    ('0.0123', '1')
    """
    return f"{value:.3g}"


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escaped(value)}"'


def _escaped(part: object) -> str:
    return escape(str(part), quote=True)


def _written(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
