"""``task.note``: what a task came to, kept for the project's next workers."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.model.result import Result
from kbtasks.tasks.place import PROJECT_HELP, STORE_HELP, place_of, project_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from kbtasks.command import Context


@command(
    "task.note",
    schema="task-note",
    positional="id",
    help={
        "id": "The task: letters, digits and - _ . [ ], at most 160.",
        "title": "What it was, on one line.",
        "state": "How it stands.",
        "summary": "What it came to, on one line.",
        "session": "The session it ran in.",
        "project": PROJECT_HELP,
        "store": STORE_HELP,
    },
    choices={"state": ("queued", "running", "needs_input", "completed", "failed", "cancelled", "uncertain")},
)
def task_note(
    context: Context,
    id: str,
    title: str,
    state: str,
    summary: str = "",
    session: str = "",
    project: str = "",
    store: str = "",
) -> Result:
    """Record what a task came to; bind.recent tells it to the project's next workers.

    A later call for the same task takes the place of the earlier one. Nothing of it enters the vault.
    """
    from kbtasks.binding.worknotes import record

    place = place_of(context, store)
    chosen = project_of(context, place, project)
    with place.registry(must_write=True) as registry:
        entry = record(registry, chosen, task=id, title=title, state=state, summary=summary, session=session)
    return Result("task-note", entry)
