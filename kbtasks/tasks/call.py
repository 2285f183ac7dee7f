"""How a command is run and answered, the same behind both doors."""

from __future__ import annotations

import os
import sys

from kbtasks.command import Context, complete
from kbtasks.errors import Interrupted, KbError
from kbtasks.tasks.emit import emit, emit_error

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kbtasks.command import Command


def run(command: Command, values: dict[str, Any], common: dict[str, Any]) -> int:
    """Call ``command`` with ``values`` (defaults are added) and print its result; return the exit code."""

    def call() -> int:
        context = Context(cwd=os.getcwd(), environ=os.environ, common=common)
        return emit(command.function(context, **complete(command, values)), context)

    return guarded(call, json=bool(common.get("json")))


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
    except Exception as error:  # a bug of ours
        if os.environ.get("KB_DEBUG"):
            raise
        return emit_error(
            Bug(kind=type(error).__name__, words=str(error)[:500], next="KB_DEBUG=1 shows where"), json=json
        )


class Bug(KbError):
    """This is a bug in kbtasks: {kind}: {words}."""

    code, exit_code = "bug", 1
