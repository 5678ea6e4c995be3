"""What the command is told: options, their help, and the file that may hold them. Nothing heavy is imported here."""

from __future__ import annotations

import argparse
import csv
import io
import shlex
import tomllib
from collections.abc import Sequence
from typing import Any, NoReturn

_EXAMPLES = """\
examples
  tellapart reference.csv current.csv                two files; exit 0: no difference found, 1: different, 2: trouble
  tellapart week1.parquet week2.parquet week3.parquet
                                                     several: one answer for all, one for each pair
  tellapart visits.csv --by site --drop visit_id     one file, a sample for each value of a column
  tellapart a.csv b.csv --groups patient             rows of one patient depend on each other
  tellapart before.csv after.csv --pairs             row i before belongs to row i after
  tellapart a.parquet b.parquet --effect-at-least 0.05
                                                     no alarm unless 5% of the probability certainly lies elsewhere
  tellapart a.parquet b.parquet --report report.html
                                                     a page with pictures: which columns, pairs, sub-groups and rows
  zcat today.csv.gz | tellapart reference.csv - -q || echo "today is different"
  tellapart fit reference.parquet -o reference.tap   keep a reference in coarse form; then, day after day:
  tellapart reference.tap today.parquet --tests 365  compare with it
  tellapart power 500                                what could 500 rows against 500 detect?
  tellapart power --effect 0.1                       how many rows does such a difference need?
  tellapart demo                                     two small files that ship with tellapart
  tellapart --completion bash                        print a completion script for bash, zsh or fish

files: CSV and TSV, also gz and zst, Parquet, Arrow/Feather, NPY, NPZ (file.npz:name), JSON lines, Excel; - is standard
input. A file called fit, power or demo is written ./power. More than numbers needs pip install 'tellapart[files]',
Excel 'tellapart[excel]', and --sql 'tellapart[sql]'.
"""


_OUTPUT = ("files", "config", "format", "quiet", "report", "where")  # do not change what is found


class OneLine(argparse.ArgumentParser):
    """A parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tellapart: {message} (tellapart --help tells more)\n")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a comparison, with those of its configuration file where the command line has none."""
    parser = comparison_parser()
    own = parser.parse_intermixed_args(arguments)
    if own.config is None:
        return own
    options, files = configured(own.config, [name for name in vars(own) if name not in ("config", "files")])
    merged = parser.parse_intermixed_args([*options, *arguments])
    merged.files = merged.files or files
    return merged


def comparison_parser() -> argparse.ArgumentParser:
    """``tellapart FILE FILE``."""
    parser = _parser(
        "tellapart", "Tells whether samples come from the same distribution. The p-value is exact.", _EXAMPLES
    )
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="samples, one row per observation; columns are matched by name")
    add("--sql", action="append", default=[], metavar="duckdb:QUERY", help="a query as (another) sample; needs duckdb")
    add("--by", metavar="COLUMN", help="divide one file into a sample for each value of this column")
    add("--columns", type=_names, metavar="A,B", help="compare these columns only")
    add("--drop", type=_names, default=[], metavar="A,B", help="leave these columns out")
    add("--no-header", action="store_true", help="the first line of a CSV file is data")
    rows = parser.add_argument_group("rows that are not independent, or count differently")
    rows.add_argument("--groups", metavar="COLUMN", help="rows with the same value depend on each other")
    rows.add_argument("--strata", metavar="COLUMN", help="compare within the values of this column, which may differ")
    rows.add_argument("--pairs", action="store_true", help="row i of both samples belong together")
    rows.add_argument("--blocks", type=int, metavar="N", help="rows are in order of time: exchange blocks of N")
    rows.add_argument("--weights", metavar="COLUMN", help="what each row counts")
    _add_verdict(parser.add_argument_group("verdict and output"))
    return parser


def _add_verdict(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--level", type=float, default=0.05, metavar="P", help="false alarms among equal samples (default: 0.05)")
    add(
        "--effect-at-least",
        type=float,
        metavar="SHARE",
        help="different only if more than this share of the probability certainly lies elsewhere (0 to 1)",
    )
    add("--format", choices=("text", "json", "markdown"), default="text", help="default: text")
    add(
        "--report", metavar="FILE.html", help="a page to read and to pass on: what differs, where, and how it was found"
    )
    add("--no-where", dest="where", action="store_false", help="do not say where the samples differ")
    add("-q", "--quiet", action="store_true", help="no output but the exit status")
    add("--seed", type=int, default=0, metavar="N", help="of the random relabellings (default: 0, so runs repeat)")
    add("--memory", type=float, default=2.0, metavar="GB", help="beside the rows themselves (default: 2)")
    add("--tests", type=int, default=1, metavar="K", help="tests planned with a saved reference, which share the level")
    add("--config", metavar="FILE.toml", help="options by name; the command line overrides them")


def power_parser() -> argparse.ArgumentParser:
    """``tellapart power``."""
    parser = _parser(
        "tellapart power",
        "What could so many rows detect, and how many rows does a difference need? Large-sample power of\n"
        "the test that learns on one part of the rows and judges on the other.",
        "examples\n"
        "  tellapart power 500                     500 rows against 500: the smallest difference that is likely found\n"
        "  tellapart power 500 2000 --effect 0.1   how likely is a difference of this size found?\n"
        "  tellapart power --effect 0.1            how many rows does it need?\n"
        "  tellapart power pilot_a.csv pilot_b.csv the same for the difference between two pilot samples\n",
    )
    add = parser.add_argument
    add("samples", nargs="*", metavar="N | FILE", help="rows of one or both samples, or two pilot files")
    add(
        "--effect",
        type=float,
        metavar="SNR",
        help="signal-to-noise ratio of the witness on fresh rows, as `witness_test` prints it",
    )
    add("--power", type=float, default=0.8, help="wanted chance to find the difference (default: 0.8)")
    add("--level", type=float, default=0.05, metavar="P", help="false alarms among equal samples (default: 0.05)")
    add("--train-share", type=float, default=0.5, metavar="SHARE", help="share of the rows that learns (default: 0.5)")
    add("--seed", type=int, default=0, metavar="N", help="of the splits of pilot files (default: 0)")
    return parser


def fit_parser() -> argparse.ArgumentParser:
    """``tellapart fit``."""
    parser = _parser(
        "tellapart fit",
        "Keeps a reference in a file, to compare later samples with. Of each of some random rows the file holds\n"
        "which class every value lies in: about 256 classes for a column of numbers, the common levels of others.\n"
        "It is small, exact to test with, and not anonymous.",
        "examples\n"
        "  tellapart fit reference.parquet -o reference.tap\n"
        "  tellapart reference.tap today.parquet               compare\n"
        "  tellapart reference.tap today.parquet --tests 365   one of 365 tests that share the level\n",
    )
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="the reference, one row per observation")
    add("-o", "--output", required=True, metavar="FILE.tap", help="where to keep it")
    add("--sql", action="append", default=[], metavar="duckdb:QUERY", help="a query in place of the file; needs duckdb")
    add("--columns", type=_names, metavar="A,B", help="keep these columns only")
    add("--drop", type=_names, default=[], metavar="A,B", help="leave these columns out")
    add("--no-header", action="store_true", help="the first line of a CSV file is data")
    add("--rows", type=int, default=5000, metavar="N", help="keep at most so many rows, at random (default: 5000)")
    add("--classes", type=int, default=256, metavar="N", help="about so many classes of numbers (default: 256)")
    add("--seed", type=int, default=0, metavar="N", help="of what is drawn (default: 0)")
    return parser


def _parser(program: str, description: str, examples: str) -> argparse.ArgumentParser:
    from tellapart._version import __version__

    parser = OneLine(
        prog=program,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tellapart {__version__}")
    return parser


def configured(path: str, known: Sequence[str]) -> tuple[list[str], list[str]]:
    """A configuration file as options and files of a command line; a table ``[tellapart]`` or the whole file."""
    try:
        with open(path, "rb") as file:
            settings = tomllib.load(file)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{path}: cannot be read: {said}") from error
    settings = settings.get("tellapart", settings)
    files = settings.pop("files", [])
    unknown = [name for name in settings if name.replace("-", "_") not in known]
    if unknown:
        raise ValueError(f"{path}: has no option {unknown[0]!r}; there are files, {', '.join(known)}")
    if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
        raise ValueError(f"{path}: `files` must be a list of strings, got {files!r}")
    return [option for name, value in settings.items() for option in _as_options(name, value)], files


def refuse_bad_numbers(options: argparse.Namespace) -> None:
    """Numbers of a comparison that lie where they must not."""
    level, least = options.level, options.effect_at_least
    if not 0 < level < 1:
        raise ValueError(f"--level must lie strictly between 0 and 1, got {level:g}; the usual choice is 0.05")
    if options.seed < 0:
        raise ValueError(f"--seed must be at least 0, got {options.seed}")
    if least is not None and not 0 <= least < 1:
        raise ValueError(f"--effect-at-least must be at least 0 and less than 1, got {least:g}")


def command_line(options: argparse.Namespace) -> str:
    """The command that repeats a run: its files and the options that are not as usual, but for where output goes.

    >>> command_line(parsed(["a.csv", "-q", "b 1.csv", "--level", "0.01", "--drop", "id", "--report", "r.html"]))
    "tellapart a.csv 'b 1.csv' --drop=id --level=0.01"
    """
    usual = comparison_parser()
    words = [
        word
        for name, value in vars(options).items()
        if name not in _OUTPUT and value != usual.get_default(name)
        for word in _as_options(name, value)
    ]
    return shlex.join(["tellapart", *options.files, *words])


def _as_options(name: str, value: Any) -> list[str]:
    """A setting as it stands on a command line.

    >>> _as_options("level", 0.01), _as_options("pairs", True), _as_options("drop", ["id", "a,b"])
    (['--level=0.01'], ['--pairs'], ['--drop=id,"a,b"'])
    """
    option = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [option] if value else []
    if isinstance(value, list) and name != "sql":
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(value)
        return [f"{option}={line.getvalue()}"]
    return [f"{option}={one}" for one in (value if isinstance(value, list) else [value])]


def _names(text: str) -> list[str]:
    """Names divided by commas; quotes keep a comma in a name.

    >>> _names('a,"b,c"')
    ['a', 'b,c']
    """
    return next(csv.reader([text]), [])
