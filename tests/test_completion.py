"""Completion: the scripts offer what the parsers know; bash's is run by bash, those of zsh and fish where installed."""

import re
import shutil
import subprocess

import pytest

from tellapart.arguments import comparison_parser, fit_parser, power_parser
from tellapart.cli import main
from tellapart.completion import SHELLS, options_of, script

BASH = shutil.which("bash")


def completed(folder, *words):
    """What bash offers for the last word."""
    asked = (
        f'{script("bash")}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tellapart; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    command = [BASH, "--norc", "-u", "-c", asked, "bash", "tellapart", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line for line in done.stdout.split("\n") if line]


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_offers_options_values_commands_and_files(tmp_path):
    for name in ("a reference.csv", "ab.tap", "power.csv"):
        (tmp_path / name).touch()
    assert completed(tmp_path, "--le") == ["--level"]
    assert completed(tmp_path, "x.csv", "y.csv", "--format", "") == ["text", "json", "markdown"]
    assert completed(tmp_path, "x.csv", "y.csv", "--format", "m") == ["markdown"]
    assert completed(tmp_path, "po") == ["power", "power.csv"]
    assert sorted(completed(tmp_path, "a")) == ["a reference.csv", "ab.tap"]
    assert sorted(completed(tmp_path, "x.csv", "a")) == ["a reference.csv", "ab.tap"]
    assert completed(tmp_path, "fit", "x.csv", "--out") == ["--output"]
    assert completed(tmp_path, "fit", "x.csv", "-o", "ab") == ["ab.tap"]
    assert completed(tmp_path, "power", "500", "--ef") == ["--effect"]
    assert completed(tmp_path, "power", "500", "--gr") == []
    assert completed(tmp_path, "--completion", "") == list(SHELLS)
    assert completed(tmp_path, "nothing-like-this") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_is_offered(shell, capsys):
    assert main(["--completion", shell]) == 0
    text = capsys.readouterr().out
    for parser in (comparison_parser(), fit_parser(), power_parser()):
        for option in options_of(parser):
            for name in option.names:
                looked = name if shell != "fish" else f"-l {name[2:]}" if name[:2] == "--" else f"-s {name[1:]}"
                assert re.search(rf"(?<!\S|-)?{re.escape(looked)}(?!\w)", text), (shell, name)
    if shutil.which(shell):
        done = subprocess.run([shell, "-n", "/dev/stdin"], input=text, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_refused(capsys):
    for arguments in (["--completion"], ["--completion", "tcsh"]):
        assert main(arguments) == 2
        assert "--completion must be followed by bash, zsh, fish" in capsys.readouterr().err
