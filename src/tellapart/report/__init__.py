"""From the dict of a result to something a person reads. Knows dicts only, so results can print themselves."""

from tellapart.report.text import to_text

__all__ = ["to_text"]
