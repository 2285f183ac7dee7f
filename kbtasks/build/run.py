"""The build, run inside this process by doit."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING

from kbtasks.build.creators import creators
from kbtasks.build.session import Build, state_path
from kbtasks.build.targets import TARGETS
from kbtasks.errors import Busy, KbError, Unavailable, UsageError
from kbtasks.index import store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kbtasks.build.session import Progress


class Quiet:
    """A doit reporter that prints nothing: outcomes are kept by the actions themselves."""

    desc = "keep silent"

    def __init__(self, outstream: object, options: object) -> None:
        del outstream, options

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_args, **_more: None


def run_build(
    root: str,
    cache: str,
    *,
    only: Sequence[str] = (),
    force: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Build:
    """Make what is out of date of the vault at ``root``; what happened is in the Build returned.

    only: names of targets (what must come before them is made as well). force: make even what is up to date.
    dry_run: write nothing, only say what would run. Raises UsageError for an unknown name, the first error of a target
    after the others have run, Busy when another process holds doit's state.
    """
    known = [target.name for target in TARGETS]
    for name in only:
        if name not in known:
            raise UsageError(message=f"there is no target {name!r}", next=f"one of: {', '.join(known)}")
    build = Build(root, cache, force=force, only=tuple(only), dry_run=dry_run, progress=progress)
    names = list(only) or [target.name for target in TARGETS if target.default]
    try:
        if dry_run:
            _rehearse(build, names)
        else:
            _run_doit(build, names)
    finally:
        build.close()
    for error in build.errors.values():
        raise error
    return build


def _rehearse(build: Build, names: list[str]) -> None:
    """Ask every target in order, run none."""
    from kbtasks.build.creators import act, is_current
    from kbtasks.build.targets import closure

    for target in TARGETS:
        if target.name in closure(names):
            if target.state is None:
                act(target, build)
            else:
                is_current(None, None, target, build)


def _run_doit(build: Build, names: list[str]) -> None:
    from doit.cmd_base import ModuleTaskLoader  # type: ignore[import-untyped]
    from doit.doit_cmd import DoitMain  # type: ignore[import-untyped]

    try:
        store.prepare(build.root, build.cache)
    except OSError as error:
        raise Unavailable(message=f"{build.cache} cannot be made: {error.strerror}", next="--cache DIR") from None
    namespace: dict[str, Any] = dict(creators(build))
    namespace["DOIT_CONFIG"] = {
        "backend": "sqlite3",
        "dep_file": state_path(build.cache),
        "reporter": Quiet,
        "outfile": sys.stderr,
        "verbosity": 0,
        "continue": True,
    }
    _clear_unusable_state(build.cache)
    main = DoitMain(ModuleTaskLoader(namespace), config_filenames=())
    main.BIN_NAME = "kb refresh"
    try:
        with redirect_stderr(StringIO()) as said:
            code = main.run(["run", *names])
    except KbError:
        raise
    except Exception as error:
        if "locked" in str(error) or "corrupted" in str(error):
            raise Busy(what="doit's state", next="try again in a moment") from None
        raise
    if code and not build.errors:
        _forget_state(build.cache)
        last = said.getvalue().strip().rpartition("\n")[2]
        raise Unavailable(
            message=f"doit could not run (code {code}; {last[:300]}); its state was reset", next="kb refresh"
        )


def _clear_unusable_state(cache: str) -> None:
    """Take away what doit could not read as its state; Unavailable where that cannot be taken away either."""
    import sqlite3
    from stat import S_ISREG

    path = state_path(cache)
    try:
        usable = S_ISREG(os.stat(path).st_mode)
    except OSError:
        usable = not os.path.lexists(path)
    if usable and os.path.exists(path):
        connection = sqlite3.connect(path, timeout=1.0)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.DatabaseError as error:
            usable = store.kind_of(error) == "busy"
        finally:
            connection.close()
    if not usable:
        try:
            os.unlink(path)
        except OSError as error:
            raise Unavailable(
                message=f"doit's state cannot be kept in {path}: {error.strerror}", next="take away what lies there"
            ) from None


def _forget_state(cache: str) -> None:
    """Throw doit's own state away: targets record their inputs themselves, so nothing is lost."""
    try:
        os.unlink(state_path(cache))
    except OSError:
        pass
