"""``kb``: parses plain lines from the command table; help, lists, typos and several tasks go to invoke."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kbtasks.command import COMMON, Context, Param
from kbtasks.errors import Interrupted, KbError, UnknownCommand, UsageError
from kbtasks.tasks.table import TABLE, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kbtasks.command import Command

_COMMON_PARAMS = {
    param.flag: param
    for param in (
        Param(name, default, required=False, positional=False, help=text, choices=()) for name, default, text in COMMON
    )
}
_HELP = {"--help", "-h"}


def parse(command: Command, words: Sequence[str], common: dict[str, Any]) -> dict[str, Any]:
    """Values of ``command``'s parameters from the ``words`` after its name; COMMON flags go into ``common``.

    Accepts ``--flag value``, ``--flag=value``, ``--no-flag`` for a flag that is on by default, and ``--`` before bare words.
    Raises UsageError in one line.
    """
    params = {param.flag: param for param in command.params}
    values: dict[str, Any] = {}
    bare: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--":
            bare.extend(words[position:])
            break
        if not word.startswith("-") or word == "-":
            bare.append(word)
            continue
        flag, equals, value = word[2:].partition("=") if word.startswith("--") else (word, "", "")
        param = params.get(flag) or _COMMON_PARAMS.get(flag)
        target = values if flag in params else common
        if (
            param is None
            and flag.startswith("no-")
            and (negated := params.get(flag[3:])) is not None
            and negated.default is True
        ):
            values[negated.name] = False
            continue
        if param is None:
            raise _unknown_flag(command, word)
        if param.kind == "bool":
            if equals:
                raise UsageError(message=f"--{flag} takes no value", next=f"kb {command.name} --help")
            target[param.name] = True
            continue
        if not equals:
            if position >= len(words):
                raise UsageError(message=f"--{flag} needs a value", next=f"kb {command.name} --help")
            value = words[position]
            position += 1
        if param.kind == "list":
            target.setdefault(param.name, []).append(value)
        else:
            target[param.name] = convert(param, value)
    _fill_positional(command, values, bare)
    return complete(command, values)


def convert(param: Param, value: str) -> Any:
    """``value`` as the type of ``param``; UsageError where it is not a number or not one of the choices."""
    if param.kind == "int":
        try:
            return int(value)
        except ValueError:
            raise UsageError(message=f"--{param.flag} takes a whole number, not {value!r}") from None
    if param.kind == "float":
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if number != number or number in (float("inf"), float("-inf")):
            raise UsageError(message=f"--{param.flag} takes a number, not {value!r}")
        return number
    if param.choices and value not in param.choices:
        raise UsageError(message=f"--{param.flag} takes one of {', '.join(param.choices)}, not {value!r}")
    return value


def complete(command: Command, values: dict[str, Any]) -> dict[str, Any]:
    """``values`` with defaults added; UsageError names the first required parameter that is missing."""
    for param in command.params:
        if param.name not in values:
            if param.required:
                name = param.flag.upper() if param.positional else f"--{param.flag}"
                raise UsageError(message=f"{command.name} needs {name}", next=f"kb {command.name} --help")
            values[param.name] = list(param.default) if param.kind == "list" else param.default
    return values


def _fill_positional(command: Command, values: dict[str, Any], bare: list[str]) -> None:
    if not bare:
        return
    param = command.positional
    if param is None:
        raise UsageError(message=f"{command.name} takes no bare word: {bare[0]!r}", next=f"kb {command.name} --help")
    if param.name in values:
        raise UsageError(message=f"{command.name} has {param.flag.upper()} twice: --{param.flag} and {bare[0]!r}")
    if len(bare) > 1 and not command.words:
        raise UsageError(
            message=f"{command.name} takes one {param.flag.upper()}, not also {bare[1]!r}; quote it if it has spaces"
        )
    values[param.name] = convert(param, " ".join(bare))


def _unknown_flag(command: Command, word: str) -> UsageError:
    from difflib import get_close_matches

    flag = word.split("=", 1)[0]
    known = ["--" + param.flag for param in command.params] + ["--" + flag for flag in _COMMON_PARAMS]
    close = get_close_matches(flag, known, 1)
    if close:
        return UsageError(
            message=f"{command.name} has no flag {flag}; did you mean {close[0]}?", next=f"kb {command.name} --help"
        )
    hint = (
        f"for text that begins with a dash: --{command.positional.flag}=... or -- before it"
        if command.positional
        else None
    )
    return UsageError(message=f"{command.name} has no flag {flag}", next=hint or f"kb {command.name} --help")


def split(words: Sequence[str]) -> tuple[dict[str, Any], str | None, list[str]]:
    """The COMMON flags before the command's name, the name (None where there is none), and the words after it."""
    common: dict[str, Any] = {}
    position = 0
    while position < len(words) and words[position].startswith("--"):
        flag, equals, value = words[position][2:].partition("=")
        param = _COMMON_PARAMS.get(flag)
        if param is None:
            break
        position += 1
        if param.kind == "bool":
            common[param.name] = True
        else:
            if not equals:
                if position >= len(words):
                    raise UsageError(message=f"--{flag} needs a value")
                value = words[position]
                position += 1
            common[param.name] = convert(param, value)
    if position >= len(words) or words[position].startswith("-"):
        return common, None, list(words[position:])
    return common, words[position], list(words[position + 1 :])


def run(words: Sequence[str]) -> int:
    """Run one command line (without the program's name); return the exit code."""
    from kbtasks.tasks.emit import emit, emit_error

    wants_json = "--json" in words
    try:
        common, name, rest = split(words)
        if name is None or _HELP.intersection(rest[: rest.index("--") if "--" in rest else None]):
            return _delegate(words, name, rest)
        if name not in TABLE:
            raise _unknown_command(name)
        command = resolve(name)
        values = parse(command, rest, common)
        context = Context(cwd=os.getcwd(), environ=os.environ, common=common)
        return emit(command.function(context, **values), context)
    except KbError as error:
        return emit_error(error, json=wants_json)
    except KeyboardInterrupt:
        return emit_error(Interrupted(), json=wants_json)


def _delegate(words: Sequence[str], name: str | None, rest: list[str]) -> int:
    from kbtasks import __version__

    if name is None and rest in (["--version"], ["-V"]):
        sys.stdout.write(f"kb {__version__}\n")
        return 0
    raise UsageError(message="no help yet")


def _unknown_command(name: str) -> UnknownCommand:
    from difflib import get_close_matches

    close = get_close_matches(name, list(TABLE), 1)
    return UnknownCommand(name=name, next=f"kb {close[0]}" if close else "kb --list")


def main() -> None:
    """Entry point of the console script ``kb``."""
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has what it wanted (`| head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except Exception as error:
        if os.environ.get("KB_DEBUG"):
            raise
        sys.stderr.write(
            f"kb: this is a bug: {type(error).__name__}: {error}\n  next: run again with KB_DEBUG=1 and report it\n"
        )
        code = 1
    sys.exit(code)
