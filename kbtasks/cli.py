"""``kb``: parses plain lines from the command table; help, lists, typos and several tasks go to invoke."""

from __future__ import annotations

import sys

from kbtasks.command import COMMON, Param, convert
from kbtasks.errors import UnknownCommand, UsageError
from kbtasks.tasks.table import TABLE, resolve

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
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
#: What a flag is called in another command or program, by what may be meant here.
_MEANT = {
    "--path": ("--folder",),
    "--folder": ("--path",),
    "--dir": ("--root", "--folder"),
    "--vault": ("--root",),
    "--top": ("--limit",),
    "-n": ("--limit", "--dry-run"),
    "--max": ("--limit",),
    "--text": ("--body",),
    "--body": ("--text",),
    "--text-file": ("--body-file",),
    "--body-file": ("--text-file",),
    "--revision": ("--expected-revision",),
    "--expected-revision": ("--revision",),
    "--required": ("--require-history",),
    "--require-history": ("--required",),
    "--no-history": ("--no-graph",),
    "--config": ("--provider-config", "--source-config"),
}


def parse(command: Command, words: Sequence[str], common: dict[str, Any]) -> dict[str, Any]:
    """The values given for ``command``'s parameters in the ``words`` after its name; COMMON flags go into ``common``.

    Accepts ``--flag value``, ``--flag=value``, ``--no-flag`` where the flag is on by default, ``--`` before bare words.
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
            target.setdefault(param.name, []).append(convert(param, value))
        else:
            target[param.name] = convert(param, value)
    _fill_positional(command, values, bare)
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
            message=f"{command.name} takes one {param.flag.upper()}, not also {bare[1]!r}; quote it if it has spaces",
            next=f"kb {command.name} --help",
        )
    values[param.name] = convert(param, " ".join(bare))


def _unknown_flag(command: Command, word: str) -> UsageError:
    from difflib import get_close_matches

    flag = word.split("=", 1)[0]
    known = ["--" + param.flag for param in command.params] + ["--" + flag for flag in _COMMON_PARAMS]
    close = [name for name in _MEANT.get(flag, ()) if name in known] or get_close_matches(flag, known, 1)
    if close:
        return UsageError(
            message=f"{command.name} has no flag {flag}; did you mean {close[0]}?", next=f"kb {command.name} --help"
        )
    hint = f"kb {command.name} --help"
    if command.positional:
        hint += f"; for text that begins with a dash: --{command.positional.flag}=... or -- before it"
    return UsageError(message=f"{command.name} has no flag {flag}", next=hint)


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
    if list(words) in (["--version"], ["-V"]):
        try:
            return _version()
        except OSError:  # nowhere to write it
            from kbtasks.tasks import call

            return call.guarded(_version, json=False)
    from kbtasks.tasks import call

    return call.guarded(lambda: _run(words), json="--json" in words)


def _run(words: Sequence[str]) -> int:
    from kbtasks.tasks import call

    common, name, rest = split(words)
    if name is None:
        return _delegate(list(words))
    options = rest[: rest.index("--")] if "--" in rest else rest
    if _HELP.intersection(options):
        return _delegate(["--help", name]) if name in TABLE else _unknown(name)
    if name == "help":
        return _run(["--help", *options[:1]]) if not options or options[0] in TABLE else _unknown(options[0])
    if name not in TABLE:
        return _unknown(name)
    command = resolve(name)
    if not command.words and _names_another_task(command, options):
        return _delegate(list(words))
    try:
        values = parse(command, rest, common)
    except UsageError as error:
        error.next = error.next or f"kb {name} --help"
        raise
    return call.run(command, values, common)


def _names_another_task(command: Command, words: Sequence[str]) -> bool:
    """Whether a bare word after those that ``command`` can take is a task: ``kb refresh check``."""
    flags = {param.flag: param for param in command.params} | _COMMON_PARAMS
    bare = 0
    takes = 0 if command.positional is None else 1
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word.startswith("-") and word != "-":
            param = flags.get(word[2:])
            position += param is not None and param.kind != "bool"
            continue
        bare += 1
        if bare > takes and word in TABLE:
            return True
    return False


def _delegate(words: list[str]) -> int:
    from kbtasks.tasks.invoked import run_program

    return run_program(words)


def _unknown(name: str) -> int:
    from difflib import get_close_matches

    close = get_close_matches(name, list(TABLE), 1)
    raise UnknownCommand(name=name, next=f"did you mean: kb {close[0]}" if close else "kb --help lists them")


def main() -> None:
    """Entry point of the console script ``kb``."""
    if sys.getfilesystemencoding() != "utf-8":  # a locale in which Python could not even name the notes' files
        import os

        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        _fill_closed_streams()
    _leave(run(sys.argv[1:]))


def _version() -> int:
    from kbtasks import __version__

    sys.stdout.write(f"kb {__version__}\n")
    sys.stdout.flush()
    return 0


def _fill_closed_streams() -> None:
    """Put the null device where the caller closed a standard stream (``>&-``), so that no file of ours takes its number."""
    import os

    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        name = ("stdin", "stdout", "stderr")[number]
        setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    os.close(number)


def _leave(code: int) -> None:
    """End the process at once where nothing is left to do: taking the interpreter apart costs a tenth of a search."""
    import atexit
    import os

    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the reader went, or the disk is full, and that has been said
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if atexit._ncallbacks() or "threading" in sys.modules:
        sys.exit(code)
    os._exit(code)
