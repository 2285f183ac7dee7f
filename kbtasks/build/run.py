"""The build, run inside this process by doit."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kbtasks.build.creators import creators
from kbtasks.build.session import Build, state_path
from kbtasks.build.targets import TARGETS
from kbtasks.errors import Busy, KbError, Unavailable, UsageError
from kbtasks.index import store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


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
    progress: Callable[[int, int], None] | None = None,
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
    main = DoitMain(ModuleTaskLoader(namespace), config_filenames=())
    main.BIN_NAME = "kb refresh"
    try:
        code = main.run(["run", *names])
    except KbError:
        raise
    except Exception as error:
        if "locked" in str(error) or "corrupted" in str(error):
            raise Busy(what="doit's state", next="try again in a moment") from None
        raise
    if code and not build.errors:
        _forget_state(build.cache)
        raise Unavailable(message=f"doit could not run (code {code}); its state was reset", next="kb refresh")


def _forget_state(cache: str) -> None:
    """Throw doit's own state away: targets record their inputs themselves, so nothing is lost."""
    try:
        os.unlink(state_path(cache))
    except OSError:
        pass
