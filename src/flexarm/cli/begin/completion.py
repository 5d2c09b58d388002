"""`flexarm completion`: print a shell script that completes commands and options."""

import argparse
from collections.abc import Iterator
from shlex import quote

from flexarm.cli.console import arg
from flexarm.samples import shown_names

SUMMARY = "print a script by which bash, zsh or fish completes commands and options"
BASH = """\
_flexarm() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {commands} -- "$word")); return
  fi
  case "${{COMP_WORDS[1]}} $before" in
{values}
  esac
  case "${{COMP_WORDS[1]}}" in
{options}
  esac
}}
complete -o default -F _flexarm flexarm
"""


def run(args: argparse.Namespace) -> None:
    """Print the completion script for the chosen shell."""
    for parser in args.commands.values():
        parser.add_command()
    print(SHELLS[args.shell](args.commands), end="")


def _bash(commands: dict[str, argparse.ArgumentParser]) -> str:
    values, options = [], []
    for name, parser in commands.items():
        words = [flag for flags, _ in _options(parser) for flag in flags]
        listed = f'compgen -W {quote(" ".join([*words, *_fixed(parser)]))} -- "$word"'
        files = '; compgen -f -- "$word"' if _fixed(parser) else ""  # also completes names of files
        reply = f"COMPREPLY=($({listed}{files}))"
        options.append(f"    {name}) {reply} ;;")
        for flags, action in _options(parser):
            if _words(action):
                choices = quote(" ".join(_words(action)))
                cases = "|".join(quote(f"{name} {flag}") for flag in flags)
                values.append(
                    f'    {cases}) COMPREPLY=($(compgen -W {choices} -- "$word")); return ;;'
                )
    return BASH.format(
        commands=quote(" ".join(commands)), values="\n".join(values), options="\n".join(options)
    )


def _fish(commands: dict[str, argparse.ArgumentParser]) -> str:
    lines = []
    for name, parser in commands.items():
        about = quote(parser.description or "")
        lines.append(f"complete -c flexarm -f -n __fish_use_subcommand -a {name} -d {about}")
        within = f"complete -c flexarm -n {quote(f'__fish_seen_subcommand_from {name}')}"
        fixed = _fixed(parser)
        if fixed:
            lines.append(f"{within} -a {quote(' '.join(fixed))}")
        for flags, action in _options(parser):
            names = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in flags)
            value = "" if action.nargs == 0 else " -r"
            if _words(action):
                value += f" -f -a {quote(' '.join(_words(action)))}"
            lines.append(f"{within} {names}{value} -d {quote(action.help or '')}")
    return "\n".join(lines) + "\n"


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[list[str], argparse.Action]]:
    for action in parser._actions:
        if action.option_strings:
            yield list(action.option_strings), action


def _fixed(parser: argparse.ArgumentParser) -> list[str]:
    """Return the choices of a command's positional arguments."""
    return [
        word for action in parser._actions if not action.option_strings for word in _words(action)
    ]


def _words(action: argparse.Action) -> list[str]:
    """Return the possible values of an argument: its choices, or the names of sample arms."""
    if action.choices:
        return [str(word) for word in action.choices]
    if action.metavar in ("ARM", "SAMPLE"):
        return list(shown_names())
    return []


ZSH = "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n"  # bash completion in zsh
SHELLS = {"bash": _bash, "zsh": lambda commands: ZSH + _bash(commands), "fish": _fish}
ARGUMENTS = (
    arg(
        "shell", choices=SHELLS,
        help='which shell; bash, zsh: eval "$(flexarm completion bash)" in its start file; '
        "fish: flexarm completion fish | source",
    ),
)  # fmt: skip
