"""The command where a saved reference takes part: ``tellapart fit``, and ``tellapart reference.tap FILE``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tellapart.arguments import command_line, fit_parser, refuse_bad_numbers

if TYPE_CHECKING:
    from tellapart.files import Sheet
    from tellapart.joint_result import TellApartResult
    from tellapart.reference import Reference

_NOT_HERE = ("by", "groups", "strata", "pairs", "blocks", "weights")


def fit(arguments: Sequence[str]) -> int:
    """``tellapart fit``: a reference into a file."""
    options = fit_parser().parse_intermixed_args(arguments)
    sheet = _sheet(options, "the reference")
    chosen = sheet if options.columns is None else sheet.only(options.columns)
    for name in options.drop:
        sheet.column(name, "--drop")
    from tellapart import Reference

    try:
        frame = chosen.without(options.drop).frame()
        reference = Reference.fit(frame, rows=options.rows, classes=options.classes, rng=options.seed)
    except (TypeError, ValueError) as error:
        raise ValueError(str(error).replace("`x`", sheet.source)) from error
    reference.save(options.output)
    left_out = "".join(f"; '{name}' is left out ({why})" for name, why in reference.left_out.items())
    print(
        f"{options.output}: {reference.rows} of {reference.n} rows of {len(reference.columns)} columns, in coarse form"
        f"{left_out}"
    )
    return 0


def names_reference(options: argparse.Namespace) -> bool:
    """Whether the first file is a saved reference, by its first bytes."""
    found = [_is_ours(path) for path in options.files]
    if any(found[1:]):
        raise ValueError(f"{options.files[found.index(True, 1)]}: a saved reference comes first, and alone")
    if options.tests != 1 and not any(found):
        raise ValueError("--tests goes with a saved reference (tellapart fit)")
    return any(found)


def _is_ours(path: str) -> bool:
    from tellapart.storage import is_ours

    if not os.path.isfile(path):  # a pipe is read once, by its reader
        return False
    try:
        with open(path, "rb") as file:
            return is_ours(file.read(64))
    except OSError:  # trouble that the reader puts in words
        return False


def against_reference(options: argparse.Namespace) -> tuple[dict[str, Any], TellApartResult]:
    """What was found, in JSON types, and the result that it is from."""
    _refuse_contradictions(options)
    from tellapart import Reference

    path, level, least = options.files[0], options.level / options.tests, options.effect_at_least
    reference = Reference.load(path)
    sheet = _sheet(argparse.Namespace(**{**vars(options), "files": options.files[1:]}), "a sample")
    try:
        result = _tested(reference, sheet, options, level)
        effect_pvalue = None if least is None else result.exceeds(least)
    except (TypeError, ValueError) as error:
        raise ValueError(str(error).replace("`y`", sheet.source)) from error
    outcome = {
        "differ": bool((result.pvalue if effect_pvalue is None else effect_pvalue) <= level),
        "level": level,
        "tests": options.tests,
        "effect_at_least": least,
        "effect_pvalue": effect_pvalue,
        "samples": [{"source": path, "rows": reference.rows}, {"source": sheet.source, "rows": sheet.n}],
        "detectable": result.missed(level),
        "command": command_line(options),
        "result": result.to_dict(),
        "where": None,
    }
    return outcome, result


def _tested(reference: Reference, sheet: Sheet, options: argparse.Namespace, level: float) -> TellApartResult:
    """The result for the columns that are asked for."""
    from tellapart import Permutation
    from tellapart.inference.planning import relabellings_for

    for name in options.drop:
        if name not in reference.columns:
            sheet.column(name, "--drop")
    if options.columns is not None or options.drop:
        wanted = reference.columns if options.columns is None else options.columns
        reference = reference.only([name for name in wanted if name not in options.drop])
    among = sheet.columns if options.columns is None else options.columns
    aside = [name for name in sheet.columns if name in options.drop or name not in among]
    null = Permutation(relabellings_for(level), stop_after=20)
    frame = sheet.without(aside).frame()
    return reference.test(frame, tests=options.tests, null=null, memory=options.memory, rng=options.seed)


def _sheet(options: argparse.Namespace, what: str) -> Sheet:
    """The one sample that the options name."""
    from tellapart.files import query, read

    if len(options.files) + len(options.sql) != 1:
        raise ValueError(f"{what} is one file or query, got {len(options.files) + len(options.sql)}")
    return query(options.sql[0]) if options.sql else read(options.files[0], False if options.no_header else None)


def _refuse_contradictions(options: argparse.Namespace) -> None:
    for name in _NOT_HERE:
        if getattr(options, name):
            raise ValueError(f"--{name} needs the rows of both samples and cannot go with a saved reference")
    if options.tests < 1:
        raise ValueError(f"--tests must be at least 1, got {options.tests}")
    refuse_bad_numbers(options)
