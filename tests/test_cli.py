"""The command: its exit status, what it prints, and the one line that it says of trouble."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tellapart import files, tell_apart
from tellapart.cli import main
from tellapart.datasets import example_file
from tellapart.inference.null import Permutation
from tellapart.joint_result import TellApartResult

LAST, THIS = example_file("readings_last_month.csv"), example_file("readings_this_month.csv")
RNG = np.random.default_rng(0)
U, V = RNG.normal(size=(40, 2)), RNG.normal([1.5, 0], size=(40, 2))
ID = np.arange(40)


@pytest.fixture
def put(tmp_path):
    def write(name, *columns, names=None, delimiter=","):
        names = names or [f"c{i}" for i in range(len(columns))]
        lines = [delimiter.join(names), *(delimiter.join(map(str, row)) for row in zip(*columns, strict=True))]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return str(tmp_path / name)

    return write


@pytest.fixture
def two(put):
    return put("reference.csv", *U.T, names=["u", "v"]), put("current.csv", *V.T, names=["u", "v"])


def trouble(capsys, *arguments):
    """What the command says where it fails: one line on standard error, nothing else."""
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith("tellapart: ")
    assert "Traceback" not in err
    return err.removeprefix("tellapart: ").rstrip("\n")


def test_it_ends_as_diff_does(capsys, put, two):
    assert main(two) == 1
    assert capsys.readouterr().out.startswith("The samples differ: p = 0.00")
    same = put("same.csv", *RNG.normal(size=(2, 40)), names=["v", "u"])
    assert main([two[0], same]) == 0
    assert capsys.readouterr().out.startswith("No difference found: p = ")
    with pytest.MonkeyPatch.context() as patched:  # the certificate takes time, and nobody would see it
        patched.setattr("tellapart.joint.certify", None)
        assert main([*two, "-q"]) == 1
    assert capsys.readouterr() == ("", "")


def test_the_command_is_the_function(capsys, two):
    assert main([*two, "--format", "json", "--seed", "3"]) == 1
    told = json.loads(capsys.readouterr().out)
    result = tell_apart(U, V, null=Permutation(499, stop_after=20), rng=3)
    assert told["result"]["pvalue"] == result.pvalue
    assert told["samples"] == [{"source": two[0], "rows": 40}, {"source": two[1], "rows": 40}]
    assert (told["differ"], told["level"], told["effect_at_least"]) == (True, 0.05, None)
    assert told["verdict"].startswith("The samples differ")
    assert TellApartResult.from_dict(told["result"]).sizes.columns == 2


def test_equal_files(capsys, two):
    assert main([two[0], two[0]]) == 0
    said = capsys.readouterr().out
    assert "p = 1, above" in said
    assert "note              the samples hold the same rows in the same order" in said


def test_a_strict_level_is_given_enough_relabellings(capsys, two):
    assert main([*two, "--level", "0.001", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["result"]["pvalue"] <= 0.001


def test_only_an_effect_that_matters_is_an_alarm(capsys):
    assert main([LAST, THIS, "--effect-at-least", "0.1"]) == 1
    assert capsys.readouterr().out.startswith("The samples differ by more than 10%: p = 0.0")
    assert main([LAST, THIS, "--effect-at-least", "0.9"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("No difference of more than 90% found: p = 1, above the level 0.05 (of any difference: p = ")


def test_markdown_escapes_what_names_hold(capsys, put, two):
    odd = put("a_b|c<d>.csv", *V.T, names=["u", "v"])
    main([two[0], odd, "--format", "markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("**The samples differ")
    assert lines[2:4] == ["| | |", "|---|---|"]
    assert "a\\_b\\|c&lt;d&gt;.csv (40 rows)" in lines[4]


def test_one_file_is_divided(capsys, put):
    path = put("all.csv", *np.concatenate([U, V]).T, np.repeat(["x", "y"], 40), names=["u", "v", "site"])
    assert main([path, "--by", "site"]) == 1
    assert "site=x (40 rows) against site=y (40 rows)" in capsys.readouterr().out


def test_several_files(capsys, put, two):
    third = put("third.csv", *RNG.normal(size=(2, 40)), names=["u", "v"])
    assert main([*two, third]) == 1
    said = capsys.readouterr().out
    assert f"samples      2: {third} (40 rows)" in said
    assert "0 and 2      no difference found" in said
    assert main([two[0], two[0], two[0], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["schema"].startswith("several")


@pytest.mark.parametrize("option", ["groups", "strata", "weights"])
def test_columns_that_say_how_are_not_compared(capsys, put, option):
    extra = [1 + ID // 2, 1 + ID % 4, 1 + ID % 3][["groups", "strata", "weights"].index(option)]
    shift = 100 if option == "groups" else 0
    first = put("a.csv", *U.T, extra, ID, names=["u", "v", "how", "id"])
    second = put("b.csv", *V.T, extra + shift, ID + 7, names=["u", "v", "how", "id"])
    assert main([first, second, f"--{option}", "how", "--drop", "id", "--format", "json"]) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["sizes"]["columns"] == 2
    expected = tell_apart(U, V, **{option: (extra, extra + shift)}, null=Permutation(499, stop_after=20), rng=0)
    assert (result["pvalue"], result["exchanged"]) == (expected.pvalue, expected.exchanged)


@pytest.mark.parametrize(("option", "exchanged"), [("--pairs", "pairs"), ("--blocks=5", "blocks of 5 rows")])
def test_pairs_and_blocks(capsys, two, option, exchanged):
    main([*two, option, "--columns", "v", "--format", "json"])
    result = json.loads(capsys.readouterr().out)["result"]
    assert (result["exchanged"], result["sizes"]["columns"]) == (exchanged, 1)


def test_a_file_holds_the_options(capsys, tmp_path, two):
    config = tmp_path / "tellapart.toml"
    config.write_text(f'[tellapart]\nfiles = {list(two)}\nlevel = 0.2\ndrop = ["v"]\nformat = "json"\npairs = false\n')
    assert main(["--config", str(config), "--level", "0.01"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["level"], told["result"]["sizes"]["columns"]) == (0.01, 1)
    config.write_text("levl = 0.1\n")
    assert "tellapart.toml: has no option 'levl'; there are files, " in trouble(capsys, "--config", str(config))
    config.write_text("level = \n")
    assert "tellapart.toml: cannot be read: Invalid value" in trouble(capsys, "--config", str(config))
    config.write_text('level = "high"\n')
    assert trouble(capsys, "--config", str(config)).startswith("argument --level: invalid float value: 'high'")
    config.write_text("files = 3\n")
    assert "`files` must be a list of strings, got 3" in trouble(capsys, "--config", str(config))
    assert "none.toml: cannot be read: No such file" in trouble(capsys, "--config", "none.toml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "two files are compared, or one with --by COLUMN, got 0"),
        ([LAST], "two files are compared, or one with --by COLUMN, got 1"),
        ([LAST, THIS, "--by", "speed_rpm"], "--by divides one file, got 2"),
        ([LAST, "--by", "speed_rpm"], "column 'speed_rpm' must have 2 to 20 values for --by"),
        (["-", "-"], "standard input (-) can be read only once"),
        ([LAST, "nowhere.csv"], "nowhere.csv: no such file"),
        ([LAST, os.path.dirname(THIS)], "is a directory"),
        ([LAST, THIS, "--level", "5"], "--level must lie strictly between 0 and 1, got 5"),
        ([LAST, THIS, "--seed", "-1"], "--seed must be at least 0"),
        ([LAST, THIS, "--memory", "0"], "--memory must be positive and finite, got 0.0"),
        ([LAST, THIS, "--effect-at-least", "1"], "--effect-at-least must be at least 0 and less than 1"),
        ([LAST, THIS, "--effect-at-least", ".1", "--pairs"], "needs independent rows and cannot go with --pairs"),
        ([LAST, THIS, LAST, "--effect-at-least", ".1"], "--effect-at-least compares two samples, got 3"),
        ([LAST, THIS, "--columns", "speed"], "has no column 'speed' (--columns); it has speed_rpm, current_a"),
        ([LAST, THIS, "--drop", "speed"], "has no column 'speed' (--drop)"),
        ([LAST, THIS, "--groups", "day"], "has no column 'day' (--groups)"),
        ([LAST, THIS, "--fromat", "json"], "unrecognized arguments: --fromat json (tellapart --help"),
        ([LAST, "--sql", "select 1"], "--sql: must be duckdb:QUERY"),
        (["demo", "twice"], "demo takes no arguments, got twice"),
        (["power"], "power needs rows, an --effect or two files"),
        (["power", "9", "9", "9"], "power takes one or two numbers of rows or two files"),
        (["power", LAST], "power takes one or two numbers of rows or two files"),
        (["power", LAST, THIS, "--effect", ".1"], "--effect and pilot files both say"),
        (["power", "--effect", "-0.1"], "`effect` must be positive"),
        (["power", "1", "--effect", "0.1"], "`n` must be a whole number of at least 4, got 1"),
        (["power", "1"], "rows must be at least 4, got 1"),
        (["power", "90", "--power", "2"], "`power` must lie strictly between 0 and 1, got 2.0"),
    ],
)
def test_what_cannot_be_done_is_said(capsys, arguments, said):
    assert said in trouble(capsys, *arguments)


def test_what_cannot_be_compared_is_said_of_its_file(capsys, put, tmp_path, two):
    first = two[0]
    one_row = put("one.csv", [1.5], [2.5], names=["u", "v"])
    assert trouble(capsys, first, one_row) == f"{one_row} must have at least 2 rows, got 1."
    other = put("other.csv", *U.T, names=["w", "z"])
    assert trouble(capsys, first, other).startswith(f"{first} and {other} must have a column that can be compared")
    assert "must have a column that can be compared" in trouble(capsys, first, first, other)
    nested = str(tmp_path / "nested.parquet")
    pa.parquet.write_table(pa.table({"u": [[1.0], [2.0]]}), nested)
    assert trouble(capsys, nested, nested).startswith(f"{nested}: column 'u' is nested (list<")
    wide = put("wide.csv", *np.zeros((10_000, 3), dtype=int))
    assert trouble(capsys, wide, wide).startswith(f"{wide}: has 10000 columns, more than the 2000 that can be compared")


def test_columns_of_one_file_only_are_said_and_the_common_ones_compared(capsys, put, two):
    other = put("other.csv", *U.T, names=["u", "w"])
    assert main([two[0], other]) in (0, 1)
    said = capsys.readouterr().out
    said = " ".join(said.split())
    assert f"column 'v' is only in {two[0]}, and was not compared" in said
    assert f"column 'w' is only in {other}, and was not compared" in said


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
@pytest.mark.parametrize("count", [2, 3])
def test_every_output_calls_the_samples_by_their_files(capsys, put, form, count):
    days = [f"2024-0{month}-{day:02d}" for month in (1, 2) for day in range(1, 29)]
    first = put("first", days[:28], range(28), names=["day", "n"])
    second, third = (put(name, days[28:], names=["day"]) for name in ("second", "third"))
    files = [first, second, third][:count]
    main([*files, "--format", form])
    said = " ".join(capsys.readouterr().out.split()).replace("\\_", "_")
    assert f"column 'n' is only in {first}, and was not compared" in said
    assert f"dates of 'day' do not overlap, which alone tells {' and '.join(files)} apart" in said


def test_a_file_given_twice_has_two_names(capsys, put, two):
    other = put("other.csv", *U.T, names=["u", "w"])
    main([two[0], two[0], other])
    said = " ".join(capsys.readouterr().out.split())
    assert f"column 'v' is only in {two[0]} (1) and {two[0]} (2), and was not compared" in said


def test_power(capsys):
    assert main(["power", "500"]) == 0
    assert (
        "ratio 0.111 80% of the time, at level 0.05.\nThat is a shift of one column by 0.22" in capsys.readouterr().out
    )
    assert main(["power", "500", "600", "--effect", "0.1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "500 + 600 rows find this difference 76% of the time.",
        "620 + 620 rows find it 80% of the time, at level 0.05.",
    ]
    assert main(["power", "--effect", "0.1", "--train-share", "0"]) == 0
    assert capsys.readouterr().out == "310 + 310 rows find it 80% of the time, at level 0.05.\n"


def test_power_from_a_pilot(capsys, two):
    assert main(["power", *two]) == 0
    said = capsys.readouterr().out
    assert said.startswith("40 + 40 rows find this difference ")
    assert "rows find it 80% of the time" in said


def test_demo(capsys):
    assert main(["demo"]) == 0
    assert "The samples differ: p = 0.002" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals(monkeypatch, two, environment, coloured):
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    main(two)
    assert ("\x1b[1;31m" in terminal.getvalue()) is coloured


def test_standard_input(capsys, monkeypatch, two):
    with open(two[1], "rb") as current:
        monkeypatch.setattr(files, "sys", SimpleNamespace(stdin=SimpleNamespace(buffer=current)))
        assert main([two[0], "-"]) == 1
    assert "against standard input (40 rows)" in " ".join(capsys.readouterr().out.split())


def test_standard_input_may_be_any_kind(tmp_path, two):
    pa.parquet.write_table(pa.table({"u": V[:, 0], "v": V[:, 1]}), tmp_path / "current.parquet")
    with open(tmp_path / "current.parquet", "rb") as current:
        done = subprocess.run([sys.executable, "-m", "tellapart", two[0], "-"], stdin=current, capture_output=True)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"standard input (40" in done.stdout


def run(*arguments, **more):
    return subprocess.run([sys.executable, "-m", "tellapart", *arguments], capture_output=True, text=True, **more)


def test_as_a_program(two):
    assert run("--version").stdout.startswith("tellapart ")
    done = run(*two)
    assert (done.returncode, done.stderr) == (1, "")
    assert "\x1b" not in done.stdout
    assert run(*two, env=os.environ | {"PYTHONHASHSEED": "5"}).stdout == done.stdout


def test_a_reader_that_leaves_is_no_traceback(two):
    program = f"{sys.executable} -m tellapart {two[0]} {two[1]} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.parametrize(("raised", "status"), [(KeyboardInterrupt(), 130), (MemoryError(), 2)])
def test_the_ends_that_nobody_plans(monkeypatch, raised, status):
    def stopped(*_):
        raise raised

    monkeypatch.setattr("tellapart.cli.compare", stopped)
    assert main([LAST, THIS]) == status


DOCS = (Path(__file__).parent.parent / "docs" / "command.md").read_text()


def blocks(kind):
    return [part.split("```")[0] for part in DOCS.split(f"```{kind}\n")[1:]]


def test_the_commands_of_the_documentation_print_what_it_shows(capsys):
    told = blocks("console")
    assert told
    for shown in "".join(told).split("$ tellapart ")[1:]:
        command, _, expected = shown.partition("\n")
        assert main(command.split()) == 0
        assert capsys.readouterr().out == expected


@pytest.fixture
def in_place(put, monkeypatch, tmp_path):
    put("reference.csv", *U.T, ID, names=["u", "v", "id"])
    put("current.csv", *V.T, ID, names=["u", "v", "id"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_configuration_of_the_documentation(capsys, in_place):
    (in_place / "tellapart.toml").write_text(blocks("toml")[0])
    assert main(["--config", "tellapart.toml", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["level"], told["effect_at_least"], told["result"]["sizes"]["columns"]) == (0.01, 0.05, 2)


def test_the_workflow_and_the_hook_of_the_documentation(capsys, in_place):
    workflow, hook = blocks("yaml")
    script = f'tellapart() {{ {sys.executable} -m tellapart "$@"; }}; set -eo pipefail;'
    step = next(line for line in workflow.splitlines() if line.strip().startswith("tellapart ")).strip()
    assert step.endswith('| tee -a "$GITHUB_STEP_SUMMARY"')
    environment = os.environ | {"GITHUB_STEP_SUMMARY": str(in_place / "summary.md")}
    strict = step.replace("--effect-at-least 0.05 ", "")
    for line, status in ((step, 0), (strict, 1)):
        done = subprocess.run(["bash", "-c", script + line], env=environment, capture_output=True, check=False)
        assert done.returncode == status, done.stderr
    assert "**The samples differ: p = 0.00" in (in_place / "summary.md").read_text()
    entry = next(line.split("entry: tellapart ")[1] for line in hook.splitlines() if "entry:" in line)
    assert main(entry.split()) == 1
    assert "level 0.001" in capsys.readouterr().out


def test_every_option_of_the_documentation_exists():
    options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", DOCS)) - {"--help"}
    help_text = run("--help").stdout + run("power", "--help").stdout
    assert options
    assert all(option in help_text for option in options)


def test_it_says_where_samples_differ(capsys, two):
    assert main(two) == 1
    assert "  column " in capsys.readouterr().out
    assert main([*two, "--no-where"]) == 1
    assert "  column " not in capsys.readouterr().out
    assert main([*two, "--format", "markdown"]) == 1
    assert "| column | u: median " in capsys.readouterr().out
    assert main([*two, "--format", "json"]) == 1
    where = json.loads(capsys.readouterr().out)["where"]
    assert where["schema"] == "where 1"
    assert [c["name"] for c in where["columns"] if c["differs"]] == ["u"]
    assert main([two[0], two[0], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["where"] is None


def test_where_is_not_computed_in_vain(capsys, two, monkeypatch):
    def refuse(*_):
        raise AssertionError("computed")

    monkeypatch.setattr(TellApartResult, "explain", refuse)
    assert main([*two, "-q"]) == 1
    assert main([*two, "--no-where"]) == 1
    capsys.readouterr()


def test_it_says_where_arrays_differ(capsys, put, tmp_path):
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 60)
    np.savez(tmp_path / "table.npz", X=rng.normal(size=(120, 2)) + 2 * label[:, None] * [0, 1], label=label)
    assert main(["--by", "label", str(tmp_path / "table.npz")]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "column X 1: median" in said
    assert "X of shape (120, 2) is 2 columns, label is another" in said
