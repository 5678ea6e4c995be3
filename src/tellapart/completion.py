"""Completion for bash, zsh and fish, made from the parsers: what the command can be told, the shell offers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tellapart.arguments import comparison_parser, fit_parser, power_parser

SHELLS = ("bash", "zsh", "fish")
_COMMANDS = {
    "fit": "keep a reference in a file",
    "power": "what could so many rows detect",
    "demo": "two small files that ship with tellapart",
}


@dataclass(frozen=True)
class Option:
    """One option: its names, its help, what may follow it (None: nothing, empty: a file or anything)."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] | None


def complete(arguments: Sequence[str]) -> int:
    """``tellapart --completion SHELL``: print the script."""
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        raise ValueError(
            f"--completion must be followed by {', '.join(SHELLS)}, got {' '.join(arguments) or 'nothing'}"
        )
    print(script(arguments[0]), end="")
    return 0


def script(shell: str) -> str:
    """The script that teaches a shell to complete ``tellapart``."""
    options = {
        "": [*options_of(comparison_parser()), Option(("--completion",), "print a completion script", SHELLS)],
        "fit": options_of(fit_parser()),
        "power": options_of(power_parser()),
        "demo": [],
    }
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](options)


def options_of(parser: argparse.ArgumentParser) -> list[Option]:
    """The options of a parser, in the order of its help."""
    found = []
    for action in parser._actions:
        if action.option_strings:
            takes = None if action.nargs == 0 else tuple(str(choice) for choice in action.choices or ())
            words = " ".join((action.help or "").replace("%%", "%").split())
            found.append(Option(tuple(action.option_strings), words, takes))
    return found


def _names(options: Sequence[Option]) -> str:
    return " ".join(name for option in options for name in option.names)


def _bash(options: Mapping[str, Sequence[Option]]) -> str:
    """Options after a dash, their values after them, else commands (as the first word) and files."""
    by_command = "\n".join(f'    {name}) options="{_names(of)}" ;;' for name, of in options.items() if name)
    valued = {name: o.values for of in options.values() for o in of for name in o.names if o.values is not None}
    chosen = "\n".join(
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$word")); return ;;'
        for name, values in valued.items()
        if values
    )
    free = "|".join(name for name, values in valued.items() if not values)
    return f"""\
# bash completion for tellapart: source this file, or keep it in ~/.local/share/bash-completion/completions/tellapart
_tellapart_files() {{
  local file
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$1")
}}
_tellapart() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options
  COMPREPLY=()
  case $before in
{chosen}
    {free}) _tellapart_files "$word"; return ;;
  esac
  case ${{COMP_WORDS[1]}} in
{by_command}
    *) options="{_names(options[""])}" ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W "{" ".join(_COMMANDS)}" -- "$word"))
    _tellapart_files "$word"
  else
    _tellapart_files "$word"
  fi
}}
complete -o filenames -F _tellapart tellapart
"""


def _zsh(options: Mapping[str, Sequence[Option]]) -> str:
    """One call of _arguments for each command."""
    calls = {name: " \\\n        ".join([*map(_zsh_option, of), "'*:file:_files'"]) for name, of in options.items()}
    by_command = "\n".join(f"    {name})\n      _arguments \\\n        {calls[name]} ;;" for name in options if name)
    listed = " ".join(f"'{name}:{words}'" for name, words in _COMMANDS.items())
    return f"""\
#compdef tellapart
# zsh completion for tellapart: keep this file as _tellapart in a folder of $fpath
_tellapart() {{
  local -a commands
  commands=({listed})
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe command commands
    _files
    return
  fi
  case $words[2] in
{by_command}
    *)
      _arguments \\
        {calls[""]} ;;
  esac
}}
if [[ $funcstack[1] == _tellapart ]]; then _tellapart "$@"; else compdef _tellapart tellapart; fi
"""


def _zsh_option(option: Option) -> str:
    words = option.help.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    value = ""
    if option.values is not None:
        value = f":value:({' '.join(option.values)})" if option.values else ":value:_files"
    names = f"({' '.join(option.names)})'{{{','.join(option.names)}}}'" if len(option.names) > 1 else option.names[0]
    return f"'{names}[{words}]{value}'"


def _fish(options: Mapping[str, Sequence[Option]]) -> str:
    """One line for each option of each command."""
    commands = " ".join(_COMMANDS)
    lines = ["# fish completion for tellapart: keep this file in ~/.config/fish/completions/tellapart.fish"]
    first = f"not __fish_seen_subcommand_from {commands}"
    lines += [f"complete -c tellapart -n '{first}' -a {name} -d {_quoted(of)}" for name, of in _COMMANDS.items()]
    for name, of in options.items():
        where = f"__fish_seen_subcommand_from {name}" if name else first
        lines += [f"complete -c tellapart -n '{where}' {_fish_option(option)}" for option in of]
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
    value = "" if option.values is None else f" -x -a {_quoted(' '.join(option.values))}" if option.values else " -r"
    return f"{names}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
