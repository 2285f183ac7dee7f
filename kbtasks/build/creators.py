"""doit's task creators, made from the table of targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doit.exceptions import TaskFailed  # type: ignore[import-untyped]

from kbtasks.build.session import Outcome
from kbtasks.build.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kbtasks.build.session import Build
    from kbtasks.build.targets import Target

UP_TO_DATE, RAN, WOULD_RUN, FAILED = "up-to-date", "ran", "would-run", "failed"


def creators(build: Build) -> dict[str, Callable[[], dict[str, Any]]]:
    """``task_<name>`` functions for doit's loaders, all sharing ``build``."""
    return {f"task_{target.name}": _creator(target, build) for target in TARGETS}


def _creator(target: Target, build: Build) -> Callable[[], dict[str, Any]]:
    def create() -> dict[str, Any]:
        task: dict[str, Any] = {
            "actions": [(act, [target, build])],
            "task_dep": list(target.after),
            "doc": target.summary,
            "verbosity": 0,
        }
        if target.state is not None:
            task["uptodate"] = [(is_current, [target, build])]
        return task

    return create


def is_current(task: object, values: object, target: Target, build: Build) -> bool:
    """Whether the input digest recorded inside the target is the digest now; doit asks when it reaches the task."""
    del task, values
    assert target.state is not None
    try:
        why = target.state(build)
    except Exception as error:  # noqa: BLE001 (kept, and raised again by the run)
        build.errors[target.name] = error
        build.outcomes[target.name] = Outcome(target.name, FAILED, str(error))
        return False
    state = WOULD_RUN if why else UP_TO_DATE
    build.outcomes[target.name] = Outcome(target.name, state, why or "its inputs are the same")
    return not why


def act(target: Target, build: Build) -> bool | TaskFailed:
    """The action of every task: make the target, keep what happened. A TaskFailed tells doit why it failed."""
    if target.name in build.errors:
        return _failed(build.errors[target.name])
    try:
        if build.dry_run and target.name != "scan":
            return True
        did = target.make(build)
    except Exception as error:  # noqa: BLE001
        build.errors[target.name] = error
        build.outcomes[target.name] = Outcome(target.name, FAILED, str(error))
        return _failed(error)
    before = build.outcomes.get(target.name)
    build.outcomes[target.name] = Outcome(target.name, RAN, before.why if before else "it always runs", did)
    return True


def _failed(error: Exception) -> TaskFailed:
    """What plain ``doit`` prints of an error: the sentence, and what to type next."""
    hint = getattr(error, "next", None)
    return TaskFailed(str(error) + (f"\n  next: {hint}" if hint else ""), report=True)
