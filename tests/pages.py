"""HTML as a list of its elements, for tests; whatever is not well formed fails."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr", "base"}


@dataclass
class Element:
    name: str
    attributes: dict
    parent: "Element | None"
    children: list = field(default_factory=list)
    texts: list = field(default_factory=list)

    @property
    def text(self):
        return "".join(part if isinstance(part, str) else part.text for part in self.texts)

    def all(self, *names):
        """Elements of these names below this one, in their order."""
        found = []
        for child in self.children:
            found += [child] * (child.name in names or not names)
            found += child.all(*names)
        return found


class Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.open = Element("", {}, None)

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag} has an attribute twice"
        child = Element(tag, dict(attrs), self.open)
        self.open.children.append(child)
        self.open.texts.append(child)
        if tag not in VOID:
            self.open = child

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.name == tag, f"</{tag}> closes <{self.open.name}>"
        self.open = self.open.parent

    def handle_data(self, data):
        self.open.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def error(self, message):
        raise AssertionError(message)


def parsed(html):
    """The elements of a page, or of a part of one."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open is reader.root, f"<{reader.open.name}> is not closed"
    return reader.root
