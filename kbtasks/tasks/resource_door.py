"""What the resource tasks share: the store they mean, and the two forms in which they answer."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING

from kbtasks.command import lookup
from kbtasks.errors import KbError, NotFound, UsageError
from kbtasks.model.result import Result

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.resources.providers.base import Provider

STORE_HELP = "The resource store (default: resources.db in the user's data folder)."
COMPAT_HELP = "Answer exactly as the compatible format's own program: its keys only, exit code 0 or 1."
PROVIDER_HELP = "The memory provider's configuration (JSON)."


def store_path(context: Context, store: str) -> str:
    """The absolute path of the store: ``--store``, else the user's own."""
    from kbtasks.resources.store import default_path

    return context.path(store) if store else default_path(context.data_home)


class CompatResult(Result):
    """A result in the compatible form: only the format's own keys, always JSON with two spaces."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """The document without our schema's name."""
        return self.data


class CompatError(KbError):
    """{message}"""

    exit_code = 1

    def __init__(self, error: KbError) -> None:
        super().__init__(message=error.message)
        self.code = error.code


def compatible(name: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Above ``@command(name)``: with ``exit_compat`` every fault of the task leaves with exit code 1."""

    def wrap(function: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(function)
        def call(context: Context, *args: Any, **values: Any) -> Result:
            if not values.get("exit_compat"):
                return function(context, *args, **values)
            if context.validate:
                raise UsageError(message="--validate checks our own documents; it cannot go with --exit-compat")
            try:
                return function(context, *args, **values)
            except KbError as error:
                raise CompatError(error) from None

        lookup(name).function = call
        return call

    return wrap


def answer(
    kind: str,
    data: dict[str, Any],
    *,
    compat: dict[str, Any] | None,
    exit_code: int = 0,
    text: Callable[[dict[str, Any]], str] | None = None,
    notes: list[str] | None = None,
    tail: str | None = None,
) -> Result:
    """The result ``data``, or where ``compat`` is given that document alone with exit code 0 or 1; notes go with both."""
    if compat is None:
        return Result(kind, data, exit_code=exit_code, text=text, notes=notes, tail=tail)
    from kbtasks.resources.canonical import pretty

    return CompatResult(kind, compat, exit_code=min(exit_code, 1), raw=pretty(compat).encode("utf-8"), notes=notes)


def load_provider(context: Context, config: str, store: str) -> Provider:
    """The provider that the file ``config`` names; nothing is contacted yet."""
    from kbtasks.resources.providers.config import MAX_CONFIG
    from kbtasks.resources.providers.config import load_provider as load

    data = context.read_input(config, limit=MAX_CONFIG)
    return load(data, what=config, store_path=store, environ=context.environ)


@contextmanager
def progress_bar(context: Context, title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr where a person watches it, else a function that does nothing; it is gone on leaving."""
    import sys

    if context.quiet or context.plain or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def open_input(context: Context, value: str) -> Iterator[io.BufferedReader]:
    """The file ``value``, or stdin for ``-``, to be read piece by piece; NotFound or UsageError where it cannot be."""
    import sys

    if value == "-":
        yield sys.stdin.buffer  # type: ignore[misc]
        return
    try:
        file = open(context.path(value), "rb")  # noqa: SIM115
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(what="file", name=value, next="name an existing file, or - for stdin") from None
    except OSError as error:
        raise UsageError(message=f"{value} cannot be read: {error.strerror}") from None
    with file:
        yield file


def private_output(path: str, parts: Iterable[bytes]) -> tuple[int, str]:
    """Write ``parts`` to ``path`` as a private file (0600), whole or not at all: its size and SHA-256."""
    from hashlib import sha256
    from secrets import token_hex

    from kbtasks import fsio

    folder = os.path.dirname(path) or "."
    temporary = os.path.join(folder, f"{fsio.TEMPORARY_PREFIX}{os.getpid()}-{token_hex(6)}")
    digest, size = sha256(), 0
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for part in parts:
                file.write(part)
                digest.update(part)
                size += len(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise UsageError(message=f"{path} cannot be written: {error.strerror}") from None
    finally:
        try:
            os.unlink(temporary)
        except OSError:
            pass
    fsio.sync_directory(folder)
    return size, digest.hexdigest()
