"""The command ``tellapart``: files in, verdict out; no statistics.

It ends as ``diff`` does: 0 if no difference was found, 1 if the samples differ, 2 if there was trouble, which is then
said in one line on standard error.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tellapart._writing import refuse_unwritable, write_whole
from tellapart.arguments import command_line, parsed, power_parser, refuse_bad_numbers
from tellapart.completion import complete
from tellapart.references import against_reference, fit, names_reference

if TYPE_CHECKING:
    from tellapart.files import Sheet

_SAME, _DIFFERENT, _TROUBLE, _INTERRUPTED = 0, 1, 2, 130
_MOST_COLUMNS = 2000  # the work grows with their third power
_DRAWS, _MOST_DRAWS = 999, 4999  # relabellings that say where: the stricter the level, the more
_EQUAL = "the samples hold the same rows in the same order"
_SEVERAL = re.compile(r"Sample 0 is `x` and sample (\d+) is `y` here: ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    commands = {"power": plan, "demo": demonstrate, "fit": fit, "--completion": complete}
    try:
        if arguments and arguments[0] in commands:
            return commands[arguments[0]](arguments[1:])
        return compare(parsed(arguments))
    except BrokenPipeError:  # the reader of the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _TROUBLE
    except (ValueError, TypeError, OSError, ImportError) as error:
        return _trouble(str(error))
    except MemoryError:
        return _trouble("not enough memory; compare fewer --columns or rows")
    except KeyboardInterrupt:
        return _INTERRUPTED


def _trouble(message: str) -> int:
    sys.stderr.write(f"tellapart: {' '.join(message.split())}\n")
    return _TROUBLE


def compare(options: argparse.Namespace) -> int:
    """Files -> samples -> verdict."""
    if options.report is not None:
        refuse_unwritable(options.report, "--report", options.files)
    saved = names_reference(options)
    outcome, result = against_reference(options) if saved else _outcome(_samples(options), options)
    if options.where and (options.report is not None or (outcome["differ"] and not options.quiet)):
        outcome["where"] = _where(outcome, result)
    try:
        if options.report is not None:
            _write_report(outcome, options)
    finally:  # a full disk does not take the verdict away, and a reader that has gone not the report
        if not options.quiet:
            print(_printed(outcome, options.format), flush=True)
    return _DIFFERENT if outcome["differ"] else _SAME


def _samples(options: argparse.Namespace) -> list[Sheet]:
    """The samples that the options name, with all their columns."""
    from tellapart._progress import progress
    from tellapart.files import query, read, split_by

    _refuse_contradictions(options)
    headed = False if options.no_header else None
    sheets = [read(file, headed) for file in progress(options.files, "reading")]
    sheets += [replace(query(text), source=text) for text in options.sql]
    return split_by(sheets[0], options.by) if options.by is not None else sheets


def _refuse_contradictions(options: argparse.Namespace) -> None:
    count = len(options.files) + len(options.sql)
    if options.by is not None and count != 1:
        raise ValueError(f"--by divides one file, got {count}")
    if options.by is None and count < 2:
        raise ValueError(f"two files are compared, or one with --by COLUMN, got {count} (tellapart --help tells more)")
    if options.files.count("-") > 1:
        raise ValueError("standard input (-) can be read only once")
    refuse_bad_numbers(options)
    if options.effect_at_least is None:
        return
    for name in ("groups", "strata", "pairs", "blocks", "weights"):
        if getattr(options, name):
            raise ValueError(f"--effect-at-least needs independent rows and cannot go with --{name}")


def _where(outcome: dict[str, Any], result: Any) -> dict[str, Any] | None:
    """Where two samples differ."""
    from tellapart.inference.planning import relabellings_for

    if len(outcome["samples"]) > 2:
        return None
    draws = min(max(_DRAWS, relabellings_for(outcome["level"])), _MOST_DRAWS)
    explained: dict[str, Any] = result.explain(max(outcome["level"], 1 / (draws + 1)), draws).to_dict()
    return explained


def _outcome(sheets: list[Sheet], options: argparse.Namespace) -> tuple[dict[str, Any], Any]:
    """What was found, in JSON types, and the result that it is from."""
    from tellapart import Permutation, tell_apart
    from tellapart.inference.planning import relabellings_for

    if options.effect_at_least is not None and len(sheets) > 2:
        raise ValueError(f"--effect-at-least compares two samples, got {len(sheets)}")
    structure: dict[str, Any] = {
        name: [sheet.column(getattr(options, name), f"--{name}") for sheet in sheets]
        for name in ("groups", "strata", "weights")
        if getattr(options, name) is not None
    }
    compared = [_compared(sheet, options) for sheet in sheets]
    null = Permutation(relabellings_for(options.level), stop_after=20)
    names = distinct([sheet.source for sheet in sheets])
    with _in_the_words_of_files(names):
        result: Any = tell_apart(
            {name: sheet.frame() for name, sheet in zip(names, compared, strict=True)},
            null=null,
            pairs=options.pairs,
            blocks=options.blocks,
            memory=options.memory,
            rng=options.seed,
            **structure,
        )
        result = replace(result, notes=(*result.notes, *dict.fromkeys(r for sheet in sheets for r in sheet.remarks)))
        if len(sheets) == 2 and compared[0].same_rows(compared[1]):
            result = replace(result, pvalue=1.0, notes=(*result.notes, _EQUAL))
        least = options.effect_at_least
        effect_pvalue = None if least is None else result.exceeds(least)
    outcome = {
        "differ": bool((result.pvalue if least is None else effect_pvalue) <= options.level),
        "level": options.level,
        "effect_at_least": least,
        "effect_pvalue": effect_pvalue,
        "samples": [{"source": sheet.source, "rows": sheet.n} for sheet in sheets],
        "detectable": result.missed(options.level) if len(sheets) == 2 else None,
        "command": command_line(options),
        "result": result.to_dict() if _shown(options) else None,
        "where": None,
    }
    return outcome, result


def _shown(options: argparse.Namespace) -> bool:
    """Whether anybody sees more than the verdict: the certificate takes a quarter of the time of two small files."""
    return not options.quiet or options.report is not None


def _compared(sheet: Sheet, options: argparse.Namespace) -> Sheet:
    """The columns that are compared: not those that say how."""
    chosen = sheet if options.columns is None else sheet.only(options.columns)
    for name in options.drop:
        sheet.column(name, "--drop")
    chosen = chosen.without([*options.drop, options.groups, options.strata, options.weights])
    if len(chosen.columns) > _MOST_COLUMNS:
        raise ValueError(
            f"{sheet.source}: has {len(chosen.columns)} columns, more than the {_MOST_COLUMNS} that can be compared "
            "in reasonable time; choose some with --columns"
        )
    return chosen


def distinct(names: Sequence[str]) -> list[str]:
    """What samples are called where one file is given twice.

    >>> distinct(["a.csv", "b.csv", "a.csv"])
    ['a.csv (1)', 'b.csv', 'a.csv (3)']
    """
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)]


@contextmanager
def _in_the_words_of_files(names: Sequence[str]) -> Iterator[None]:
    """Errors of the library call some samples x and y, and put all names between backticks."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message, second = str(error), 1
        if found := _SEVERAL.match(message):
            message, second = message[found.end() :], int(found[1])
        for called, name in [("x", names[0]), ("y", names[second]), *((name, name) for name in names)]:
            message = message.replace(f"`{called}`", name)
        for option in ("groups", "strata", "pairs", "blocks", "weights", "memory"):
            message = message.replace(f"`{option}`", f"--{option}")
        raise ValueError(message) from error


def _printed(outcome: dict[str, Any], form: str) -> str:
    from tellapart.report.comparison import to_json, to_markdown, to_plain

    if form == "text":
        return to_plain(outcome, colours=_coloured())
    return to_json(outcome) if form == "json" else to_markdown(outcome)


def _write_report(outcome: dict[str, Any], options: argparse.Namespace) -> None:
    """The report, and where it is."""
    from tellapart.report.html import to_html

    write_whole(options.report, to_html(outcome, outcome["where"]).encode())
    if not options.quiet:
        sys.stderr.write(f"tellapart: the report is in {options.report}\n")


def _coloured() -> bool:
    """On a terminal that can, unless the user has said no (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def plan(arguments: Sequence[str]) -> int:
    """``tellapart power``: what can be found, and with how many rows."""
    options = power_parser().parse_intermixed_args(arguments)
    rows = [int(given) for given in options.samples if given.isdecimal()]
    if len(options.samples) > 2 or (len(rows) < len(options.samples) and (rows or len(options.samples) != 2)):
        raise ValueError(f"power takes one or two numbers of rows or two files, got {' '.join(options.samples)}")
    if not options.samples and options.effect is None:
        raise ValueError("power needs rows, an --effect or two files (tellapart power --help tells more)")
    if len(rows) < len(options.samples):
        return _plan_by_pilot(options)
    print(_detectable(rows, options) if options.effect is None else _planned(options.effect, rows, options))
    return _SAME


def _plan_by_pilot(options: argparse.Namespace) -> int:
    from tellapart.files import read

    if options.effect is not None:
        raise ValueError("--effect and pilot files both say how large the difference is; give one of them")
    sheets = [read(file) for file in options.samples]
    with _in_the_words_of_files(options.samples):
        print(_planned((sheets[0].frame(), sheets[1].frame()), [sheet.n for sheet in sheets], options))
    return _SAME


def _planned(effect: Any, rows: Sequence[int], options: argparse.Namespace) -> str:
    """The power at so many rows, and the rows that the wanted power needs."""
    from tellapart import power, sample_size

    known = {"level": options.level, "train_share": options.train_share, "rng": options.seed}
    lines = []
    if rows:
        n, m = rows[0], rows[-1]
        lines.append(f"{n} + {m} rows find this difference {power(effect, n, m, **known):.0%} of the time.")
    needed = sample_size(effect, power=options.power, **known)
    lines.append(f"{needed.n} + {needed.m} rows find it {options.power:.0%} of the time, at level {options.level:g}.")
    return "\n".join(lines)


def _detectable(rows: Sequence[int], options: argparse.Namespace) -> str:
    """The smallest difference that so many rows find."""
    from tellapart.inference.planning import shift_of, snr_found
    from tellapart.split import training_size

    n, m = rows[0], rows[-1]
    if min(n, m) < 4:
        raise ValueError(f"rows must be at least 4, got {min(n, m)}")
    n_judging, m_judging = (size - training_size(size, options.train_share) for size in (n, m))
    snr = snr_found(n_judging, m_judging, options.power, options.level)
    shift = shift_of(snr, n_judging, m_judging)
    return (
        f"{n} + {m} rows, of which {n_judging} + {m_judging} judge, find a witness with signal-to-noise ratio "
        f"{snr:.3g} {options.power:.0%} of the time, at level {options.level:g}.\n"
        f"That is a shift of one column by {shift:.2g} of its standard deviations, if the others "
        "learned to look there."
    )


def demonstrate(arguments: Sequence[str]) -> int:
    """``tellapart demo``: the files that ship with the library."""
    if arguments:
        raise ValueError(f"demo takes no arguments, got {' '.join(arguments)}")
    from tellapart.datasets import example_file

    files = [example_file(f"readings_{which}_month.csv") for which in ("last", "this")]
    print("Sensor readings of a machine, last month and this month. Every column by itself looks the same; together:")
    print(f"\n$ tellapart {' '.join(files)}\n", flush=True)
    compare(parsed(files))
    return _SAME
