"""How a command is run and answered, the same behind both doors."""

from __future__ import annotations

import errno
import os
import sys

from kbtasks.command import Context, complete
from kbtasks.errors import Busy, Interrupted, KbError, Unavailable, UsageError
from kbtasks.tasks.emit import emit, emit_error

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kbtasks.command import Command
    from kbtasks.model.result import Result


#: Faults of a disk or a quota, which no program can mend.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
#: How often a read is made where, without a lock, it sees the index being written.
TRIES = 3
#: Commands that only read, so that they may be made again.
# fmt: off
READS = frozenset((
    "search", "list", "show", "tags", "links", "backlinks", "graph", "stats", "context", "percolate", "inbox", "catalog", "check",
    "history", "history.search", "relation.list", "plan.list",
))
# fmt: on


def run(command: Command, values: dict[str, Any], common: dict[str, Any]) -> int:
    """Call ``command`` with ``values`` (defaults are added) and print its result; return the exit code."""

    def call() -> int:
        try:
            context = Context(cwd=_working_directory(), environ=os.environ, common=common)
            result = _called(command, context, complete(command, values))
        except KbError as error:
            if isinstance(error, UsageError):
                error.next = error.next or f"kb {command.name} --help"
            if error.next and (values.get("project") or values.get("store")):
                from kbtasks.tasks.place import speaking_of

                error.next = speaking_of(error.next, str(values.get("project", "")), str(values.get("store", "")))
            raise
        return emit(result, context)

    return guarded(call, json=bool(common.get("json")))


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise Unavailable(
            message=f"the working directory cannot be used: {error.strerror}", next="cd to a folder that exists"
        ) from None


def _called(command: Command, context: Context, values: dict[str, Any]) -> Result:
    """The command's result; a read is made again where it saw the index being written. (``-`` is stdin, read once only.)"""
    again = command.name in READS and "-" not in values.values() and not values.get("fix")
    for left in reversed(range(TRIES if again else 1)):
        try:
            return command.function(context, **values)
        except Busy as error:
            from kbtasks.index.view import Overtaken

            if not left or not isinstance(error, Overtaken):
                raise
    raise AssertionError("unreachable")


def guarded(call: Callable[[], int], *, json: bool) -> int:
    """The exit code of ``call``; every fault leaves as one error document or one line, never as a traceback.

    A reader that closed our stdout early (``| head``) has what it wanted: exit code 0, nothing said.
    """
    try:
        code = call()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KbError as error:
        return emit_error(error, json=json)
    except KeyboardInterrupt:
        return emit_error(Interrupted(), json=json)
    except Exception as error:  # a full disk, or a bug of ours
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            place = f" ({error.filename})" if error.filename else ""
            return emit_error(Unavailable(message=f"the system takes no more: {error.strerror}{place}"), json=json)
        if os.environ.get("KB_DEBUG"):
            raise
        return emit_error(
            Bug(kind=type(error).__name__, words=str(error)[:500], next="KB_DEBUG=1 shows where"), json=json
        )


class Bug(KbError):
    """This is a bug in kbtasks: {kind}: {words}."""

    code, exit_code = "bug", 1
