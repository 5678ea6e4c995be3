"""Names and values that try to be more than text."""

NAMES = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "]]></style></svg><script>alert(2)</script>",
    "&lt;b&gt; &amp; <!-- -->",
    "\u202eright to left\u2066 and \u200fback",
    "a\nb\r\tc\x00d\x1b[31m",
    "lone \ud800 surrogate \udfff",
    "",
    "   ",
    "W" * 10_000,
    "url(javascript:alert(3)) {{7*7}} ${7*7} $x_1$",
    "{} %s \\ \N{SNOWMAN} \N{PILE OF POO} \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
]


def poisoned(told, names=NAMES):
    """The same outcome or explanation, with such a text wherever a text of the user's may stand."""
    count = 0

    def text():
        nonlocal count
        count += 1
        return names[count % len(names)]

    def within(key, value):
        if key in _THEIRS:
            return _replaced(value, text)
        if isinstance(value, dict):
            return {k: within(k, v) for k, v in value.items()}
        return [within(None, v) for v in value] if isinstance(value, list) else value

    return within(None, told)


_THEIRS = {
    "name",
    "names",
    "change",
    "labels",
    "values",
    "rule",
    "source",
    "notes",
    "schema_differences",
    "column",
    "command",
}


def _replaced(value, text):
    if isinstance(value, str):
        return text()
    if isinstance(value, dict):  # values by the names of columns, which have changed
        return {f"{text()}{i}": text() for i, _ in enumerate(value)}
    return [_replaced(v, text) for v in value] if isinstance(value, list) else value
