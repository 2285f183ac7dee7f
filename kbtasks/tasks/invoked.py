"""The invoke door: a Collection and a Program made from the command table. Floor 7's only importer of invoke.

A user's ``tasks.py`` needs two lines::

    from kbtasks.tasks.invoked import namespace
    ns = namespace(__file__, root="kb")

Facts about invoke 3.0 that shape this file: tasks whose code objects are equal are taken for one another, so identity
is the command's name; a value that cannot be cast ends in a traceback, so numbers arrive as text and are converted by
the command's own rule; a core flag after a task with an unfilled positional becomes its value, so that is refused.
"""

from __future__ import annotations

import inspect
import os
import sys
from typing import TYPE_CHECKING

from invoke.collection import Collection
from invoke.config import Config
from invoke.exceptions import Exit, ParseError
from invoke.parser.argument import Argument
from invoke.program import Program
from invoke.tasks import Task

from kbtasks import __version__
from kbtasks.command import COMMON, Param, convert
from kbtasks.errors import UsageError
from kbtasks.tasks import call
from kbtasks.tasks.table import all_commands

if TYPE_CHECKING:
    from typing import Any

    from invoke.context import Context

    from kbtasks.command import Command

_COMMON_PARAMS = [
    Param(name, value, required=False, positional=False, help=text, choices=()) for name, value, text in COMMON
]
#: Core flags of invoke that its parser hands to a task's unfilled positional instead of obeying them.
_CORE_FLAGS = {"--help", "-h", "--list", "-l", "--dry", "--echo", "-e", "--version", "-V", "--debug", "-d"}


#: How the list of tasks is grouped: title, first words of the names; the last group takes what is left.
GROUPS = (
    ("Start", ("init", "refresh", "check", "doctor")),
    ("Find", ("search", "list", "show", "tags", "evaluate")),
    (
        "Connect",
        (
            "links",
            "backlinks",
            "relation.list",
            "graph",
            "context",
            "history",
            "percolate",
            "inbox",
            "catalog",
            "stats",
            "agents",
        ),
    ),
    ("Write", ("note", "relation", "plan")),
    ("Keep evidence", ("clip", "pdf", "capture")),
    ("Keep resources", ("resource", "sync")),
    ("Hand over", ("bind", "promote", "task")),
    ("More", ()),
)


class KbTask(Task):  # type: ignore[type-arg]
    """An invoke task made from a Command record."""

    def __init__(self, command: Command) -> None:
        self.command = command

        def body(context: Context, **values: Any) -> None:
            """Replaced by the command's own documentation."""

        body.__doc__ = command.doc
        body.__name__ = command.name.rsplit(".", 1)[-1].replace("-", "_")
        body.__dict__["__signature__"] = inspect.Signature(
            [inspect.Parameter("context", inspect.Parameter.POSITIONAL_ONLY)]
        )
        super().__init__(body, name=command.name.rsplit(".", 1)[-1], auto_shortflags=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KbTask) and other.command is self.command

    def __hash__(self) -> int:
        return hash(self.command.name)

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Argument]:  # noqa: ARG002
        """The command's parameters, then the common flags, as invoke knows arguments (the positional first)."""
        params = sorted(self.command.params, key=lambda param: not param.positional)
        return [
            _argument(param, positional=param.positional and param.required) for param in (*params, *_COMMON_PARAMS)
        ]

    def __call__(self, context: Context, **values: Any) -> None:
        """Run the command; leave with its exit code unless that is 0."""
        code = call.guarded(lambda: self._run(context, values), json=bool(values.get("json")))
        self.times_called += 1
        if code:
            raise Exit(code=code)

    def _run(self, context: Context, values: dict[str, Any]) -> int:
        common = dict(context.config.get("kb", {}))
        for param in _COMMON_PARAMS:
            given = values.pop(param.name, None)
            if given not in (None, False, ""):
                common[param.name] = _converted(param, given)
        given_values = {}
        for param in self.command.params:
            value = values.get(param.name)
            if value is None or (param.kind == "list" and not value):
                continue
            if param.positional and value in _CORE_FLAGS:
                raise UsageError(
                    message=f"after a task, {value} is taken for its {param.flag.upper()}",
                    next=f"inv --help {self.command.name}, or for that text: --{param.flag}={value}",
                )
            given_values[param.name] = _converted(param, value)
        return call.run(self.command, given_values, common)


def _argument(param: Param, *, positional: bool) -> Argument:
    kind = {"bool": bool, "list": list}.get(param.kind, str)
    default: Any = None
    if kind is bool:
        default = param.default
    return Argument(
        names=(param.flag,),
        attr_name=param.name if param.name != param.flag else None,  # an alias of itself never ends
        kind=kind,
        default=default,
        help=described(param),
        positional=positional,
    )


def _converted(param: Param, value: Any) -> Any:
    if param.kind == "list":
        return [convert(param, item) for item in value]
    return convert(param, value) if isinstance(value, str) else value


def described(param: Param) -> str:
    """The help line of a parameter: its words, then the choices and the default where the words do not say them."""
    notes = []
    choices = [choice for choice in param.choices if choice]
    if not all(choice in param.help for choice in choices):
        notes.append("|".join(choices))
    elif param.kind in ("int", "float"):
        notes.append("number")
    if param.kind == "list" and not any(said in param.help for said in ("epeat", "several times")):
        notes.append("repeatable")
    if param.default not in ("", False, None, [], ()) and param.default is not True:
        notes.append(f"default {param.default}")
    return param.help + (f" ({', '.join(notes)})" if notes else "")


def namespace(beside: str = "", *, root: str = "", repo: str = "", cache: str = "") -> Collection:
    """A fresh Collection of every task; ``search``, ``note.create`` and so on.

    beside: the file of the caller (``__file__``); relative folders below are taken from its folder.
    root, repo, cache: what the flags of that name default to. A task and a collection of one name are one: the task is
    the collection's default.
    """
    collection = Collection()
    groups: dict[str, Collection] = {}
    commands = {command.name: command for command in all_commands()}
    for name, command in commands.items():
        group, _, short = name.rpartition(".")
        is_default = not group and any(other.startswith(name + ".") for other in commands)
        if group or is_default:
            home = group or name
            if home not in groups:
                groups[home] = Collection(home)
            groups[home].add_task(KbTask(command), name=short, default=is_default)
        else:
            collection.add_task(KbTask(command), name=name)
    for name, group_collection in groups.items():
        collection.add_collection(group_collection, name=name)
    here = os.path.dirname(os.path.abspath(beside)) if beside else ""
    folders = {"root": root, "repo": repo, "cache": cache}
    collection.configure({"kb": {flag: os.path.join(here, value) if value else "" for flag, value in folders.items()}})
    return collection


class KbConfig(Config):
    """Configuration of the ``kb`` program: files and variables are named after ``kb``, never after ``invoke``."""

    prefix = "kb"


class KbProgram(Program):
    """``kb`` as an invoke Program: help, lists, completion and several tasks in one line."""

    def __init__(self) -> None:
        super().__init__(
            version=__version__,
            namespace=namespace(),
            name="kb",
            binary="kb",
            binary_names=["kb"],
            config_class=KbConfig,
        )

    def core_args(self) -> list[Argument]:
        """invoke's own, and the common flags, so that they may stand before the task."""
        return [*super().core_args(), *(_argument(param, positional=False) for param in _COMMON_PARAMS)]

    def update_config(self, merge: bool = True) -> None:
        """Hand the common flags that stood before the task to the tasks, as configuration."""
        super().update_config(merge=False)
        given = {
            param.name: _converted(param, argument.value)
            for param in _COMMON_PARAMS
            if (argument := self.args[param.flag]).got_value
        }
        overrides = {**self.config._overrides, "kb": given}
        self.config.load_overrides(overrides, merge=False)
        if merge:
            self.config.merge()

    def parse_core(self, argv: list[str] | None) -> None:
        """Let ``.pyc`` files be written as everywhere else: invoke switches them off before it loads tasks."""
        writes = sys.dont_write_bytecode
        super().parse_core(argv)
        sys.dont_write_bytecode = writes

    def parse_tasks(self) -> None:
        """Turn invoke's parse error (exit 1) into a usage error like every other of ``kb`` (exit 2)."""
        try:
            super().parse_tasks()
        except ParseError as error:
            raise UsageError(message=str(error), next="kb --help lists the tasks; kb TASK --help shows one") from None

    def print_task_help(self, name: str) -> None:
        """The help of one task: usage, what it does, its flags, then the common ones."""
        task = self.collection[name]
        assert isinstance(task, KbTask)
        command = task.command
        usage = f"kb {command.name}"
        if command.positional is not None:
            word = command.positional.flag.upper() + ("..." if command.words else "")
            usage += f" {word}" if command.positional.required else f" [{word}]"
        print(f"Usage: {usage} [--flags]\n")  # noqa: T201 - help is the result here
        print(inspect.cleandoc(command.doc) + "\n")  # noqa: T201
        for title, params in (("Flags", command.params), ("Common flags", _COMMON_PARAMS)):
            rows = [(spelled(param), described(param)) for param in params]
            if rows:
                print(f"{title}:")  # noqa: T201
                width = max(len(left) for left, _ in rows)
                print("\n".join(f"  {left.ljust(width)}  {right}".rstrip() for left, right in rows) + "\n")  # noqa: T201

    def print_help(self) -> None:
        """What ``kb`` is, then every task with its first line."""
        print("Usage: kb TASK [TEXT] [--flags]     kb TASK --help     kb --version")  # noqa: T201
        waiting = {command.name: command.summary for command in all_commands()}
        width = max(map(len, waiting))
        for title, heads in GROUPS:
            rows = [name for name in waiting if not heads or name in heads or name.partition(".")[0] in heads]
            if rows:
                print(f"\n{title}:")  # noqa: T201
                print("\n".join(f"  {name.ljust(width)}  {waiting.pop(name)}" for name in rows))  # noqa: T201


#: What a flag takes, where its own name does not say it.
_TAKES = {
    "not": "WORDS",
    "has": "KEY",
    "where": "CONDITION",
    "since": "DATE",
    "before": "DATE",
    "field": "NAME=VALUE",
    "only": "TARGET",
    "related": "NOTE",
    "lines": "FROM-TO",
    "under": "TAG",
    "to": "ID",
    "root": "DIR",
    "repo": "DIR",
    "cache": "DIR",
    "output": "DIR",
    "project": "DIR",
    "tree": "DIR",
    "vault": "DIR",
    "against": "BUNDLE",
    "override": "REASON",
    "cdp": "PORT",
}


def spelled(param: Param) -> str:
    """A flag as it is typed: ``--limit N``, ``--where CONDITION``, ``--no-graph`` for one that is on by default."""
    if param.kind == "bool":
        return f"--no-{param.flag}" if param.default is True else f"--{param.flag}"
    if param.kind in ("int", "float"):
        return f"--{param.flag} N"
    return f"--{param.flag} {_TAKES.get(param.flag) or param.flag.rsplit('-', 1)[-1].upper()}"


def run_program(words: list[str]) -> int:
    """Run the Program on ``words``; return its exit code."""
    try:
        KbProgram().run(["kb", *words])
    except SystemExit as leaving:
        code = leaving.code
        if code is None or isinstance(code, int):
            return code or 0
        sys.stderr.write(f"kb: {code}\n")
        return 1
    return 0
