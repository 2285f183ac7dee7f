"""The command record: one definition per task, read from its function's signature, behind both doors.

``@command`` keeps a Command for the function; ``kbtasks.tasks.table`` maps names to modules, imported on use. The lean
door (``kbtasks.cli``) parses from the record itself, the invoke door builds its tasks from the same record.
"""

from __future__ import annotations

import os

from kbtasks import config
from kbtasks.errors import KbError, NotFound, UsageError

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from kbtasks.model.result import Result

#: Flags every command takes, with default and help. They stand before or after the command's name.
COMMON: tuple[tuple[str, Any, str], ...] = (
    ("root", "", "The vault: a folder of Markdown (default: found upward from here)."),
    ("repo", "", "The code repository (default: the one around the vault or this folder)."),
    ("cache", "", "Folder of derived files (default: .kbtasks in the vault)."),
    ("json", False, "Print one JSON document instead of text."),
    ("max_bytes", 0, "Keep the JSON or text within this many bytes by dropping tail items (0: no limit)."),
    ("plain", False, "No colour or decoration, even on a terminal."),
    ("quiet", False, "Nothing on stderr but errors."),
    ("validate", False, "Check the output against its schema before printing it."),
)

MAX_INPUT_BYTES = 16 << 20


class Param:
    """One parameter of a command: ``name`` as in Python, ``flag`` as typed, ``kind`` (str, int, float, bool or list).

    required: it has no default. positional: it may be given without its flag. choices: the allowed words, if bounded.
    """

    __slots__ = ("choices", "default", "flag", "help", "kind", "name", "positional", "required")

    def __init__(
        self, name: str, default: Any, *, required: bool, positional: bool, help: str, choices: tuple[str, ...]
    ) -> None:
        self.name = name
        self.flag = name.rstrip("_").replace("_", "-")
        self.default = default
        self.required = required
        self.positional = positional
        self.help = help
        self.choices = choices
        if isinstance(default, bool):
            self.kind = "bool"
        elif isinstance(default, int):
            self.kind = "int"
        elif isinstance(default, float):
            self.kind = "float"
        elif isinstance(default, list | tuple):
            self.kind = "list"
        else:
            self.kind = "str"


class Command:
    """A task as both doors see it.

    words: several bare words are joined by spaces into the positional.
    schema: name of the result's schema. long: it may take over a second, so a progress bar may be shown.
    """

    __slots__ = ("doc", "function", "name", "params", "positional", "schema", "words")

    def __init__(
        self,
        name: str,
        function: Callable[..., Result],
        params: list[Param],
        positional: Param | None,
        schema: str,
        words: bool,
    ) -> None:
        self.name = name
        self.function = function
        self.doc = function.__doc__ or ""
        self.params = params
        self.positional = positional
        self.schema = schema
        self.words = words

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return self.doc.strip().split("\n", 1)[0]


_registry: dict[str, Command] = {}


def command(
    name: str,
    *,
    schema: str,
    positional: str | None = None,
    optional: bool = False,
    words: bool = False,
    help: Mapping[str, str] | None = None,
    choices: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Declare a task. Its first parameter is the Context; the others become flags, typed by their defaults.

    name: as typed (``search``, ``note.create``). schema: the result's schema file.
    positional: the parameter that may be given bare. It must have no default, or ``optional=True`` with default ``""``.
    words: several bare words are one value. help: a line per parameter. choices: allowed words per parameter.
    """

    def register(function: Callable[..., Result]) -> Callable[..., Result]:
        code = function.__code__
        arguments = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        defaults = dict(function.__kwdefaults__ or {})
        plain = code.co_varnames[: code.co_argcount]
        given = function.__defaults__ or ()
        defaults.update(zip(plain[len(plain) - len(given) :], given, strict=True))
        params = []
        bare = None
        for argument in arguments:
            param = Param(
                argument,
                defaults.get(argument, ""),
                required=argument not in defaults and not optional,
                positional=argument == positional,
                help=(help or {}).get(argument, ""),
                choices=(choices or {}).get(argument, ()),
            )
            params.append(param)
            if param.positional:
                bare = param
        _registry[name] = Command(name, function, params, bare, schema, words)
        return function

    return register


def lookup(name: str) -> Command:
    """The Command called ``name``; its module must have been imported (see kbtasks.tasks.table.resolve)."""
    return _registry[name]


def convert(param: Param, value: str) -> Any:
    """``value`` as the type of ``param``; UsageError where it is not a number or not one of the choices."""
    if param.kind == "int":
        try:
            number = int(value) if value.isascii() else None
        except ValueError:
            number = None
        if number is None or abs(number) >= 1 << 63:
            raise UsageError(message=f"--{param.flag} takes a whole number, not {value[:80]!r}")
        return number
    if param.kind == "float":
        try:
            real = float(value) if value.isascii() else float("nan")
        except ValueError:
            real = float("nan")
        if not -1e308 < real < 1e308:  # false for NaN too
            raise UsageError(message=f"--{param.flag} takes a number, not {value[:80]!r}")
        return real
    if param.choices and value not in param.choices:
        raise UsageError(message=f"--{param.flag} takes one of {', '.join(param.choices)}, not {value[:80]!r}")
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


class Context:
    """What a task needs to know of its call: folders, settings, and how to answer. Built once, at the top.

    cwd: working directory against which relative paths resolve. environ: the process environment, read here only.
    common: values of the COMMON flags.
    """

    def __init__(self, *, cwd: str, environ: Mapping[str, str], common: Mapping[str, Any] | None = None) -> None:
        values = {name: default for name, default, _ in COMMON}
        values.update(common or {})
        self.cwd = cwd
        self.environ = environ
        self.root_flag: str = values["root"]
        self.repo_flag: str = values["repo"]
        self.cache_flag: str = values["cache"]
        self.json: bool = values["json"]
        self.max_bytes: int = values["max_bytes"]
        if self.max_bytes < 0:
            raise UsageError(message=f"--max-bytes takes 0 or more, not {self.max_bytes}")
        self.plain: bool = values["plain"]
        self.quiet: bool = values["quiet"]
        self.validate: bool = values["validate"]
        self._vault: str | None = None

    @property
    def vault(self) -> str:
        """Absolute path of the vault; NoVault or NotFound where there is none."""
        if self._vault is None:
            if self.root_flag:
                self._vault = config.named_folder("root", self.root_flag, self.cwd)
            else:
                self._vault = config.find_vault(self.cwd)
        return self._vault

    @property
    def repository(self) -> str | None:
        """Absolute path of the code repository: ``--repo``, else the one around the vault, else around the cwd."""
        if self.repo_flag:
            return config.named_folder("repo", self.repo_flag, self.cwd)
        try:
            around = config.find_repository(self.vault)
        except KbError:
            around = None
        return around or config.find_repository(self.cwd)

    @property
    def cache(self) -> str:
        """Absolute path of the folder of derived files (it may not exist yet)."""
        if self.cache_flag:
            return os.path.normpath(os.path.join(self.cwd, self.cache_flag))
        return os.path.join(self.vault, config.CACHE_FOLDER)

    @property
    def data_home(self) -> str:
        """The folder of private records (resource store, bindings, receipts)."""
        return config.data_home(self.environ)

    def path(self, value: str) -> str:
        """``value`` as an absolute path, relative to the working directory."""
        return os.path.normpath(os.path.join(self.cwd, value))

    def read_input(self, value: str, *, limit: int = MAX_INPUT_BYTES) -> bytes:
        """The bytes of the file ``value``, or of stdin for ``-``.

        Raises UsageError past ``limit`` bytes, NotFound where there is no such file.
        """
        import sys

        if value == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            try:
                with open(self.path(value), "rb") as file:
                    data = file.read(limit + 1)
            except (FileNotFoundError, NotADirectoryError):
                raise NotFound(what="file", name=value, next="name an existing file, or - for stdin") from None
            except OSError as error:
                raise UsageError(message=f"{value} cannot be read: {error.strerror}") from None
        if len(data) > limit:
            raise UsageError(message=f"{'stdin' if value == '-' else value} is larger than {limit} bytes")
        return data
