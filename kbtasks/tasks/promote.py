"""``promote`` and ``promote.*``: a note saved back by a person, with proof."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result
from kbtasks.tasks.place import PROJECT_HELP, STORE_HELP, place_of, project_of, speaking_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

#: Twice the note's limit: line ends are normalised before it is measured.
MAX_INPUT = 16_384


@command(
    "promote",
    schema="promote",
    positional="task",
    help={
        "task": "The task that produced the note.",
        "body_file": "A file with the note, or - for stdin; at most 8 KiB of UTF-8.",
        "project": PROJECT_HELP,
        "session": "The session of the task.",
        "title": "The note's title (default: one that names the task).",
        "tag": "A tag, in place of kb-promoted.",
        "dry_run": "Show name, text and command; save nothing.",
        "again": "Save it also where it was saved before and has been deleted since.",
        "store": STORE_HELP,
    },
)
def promote(
    context: Context,
    task: str,
    body_file: str,
    project: str = "",
    session: str = "",
    title: str = "",
    tag: list[str] = [],  # noqa: B006
    dry_run: bool = False,
    again: bool = False,
    store: str = "",
) -> Result:
    """Save a note in the bound vault, naming the task it comes from.

    Its name is a hash of the note, task, session and project, so the same save twice is one note. A receipt is written
    first; success is said only when the program answered with the expected path and revision and the file read back
    agrees. Exit 5 when the program refused, 7 when the outcome is uncertain, 10 when nothing was started.
    """
    from kbtasks.binding import promotion as promotions
    from kbtasks.binding.promote import plan
    from kbtasks.binding.promote import promote as save

    promotions.check_id("the task", task)
    if session:
        promotions.check_id("the session", session)
    what = "the note on stdin" if body_file == "-" else body_file
    note = promotions.normalised_note(context.read_input(body_file, limit=MAX_INPUT), what=what)
    place = place_of(context, store)
    promotion = promotions.Promotion(
        project=project_of(context, place, project),
        task=task,
        session=session or None,
        note=note,
        title=promotions.check_title(title, task),
        tags=promotions.check_tags(tag),
    )
    if dry_run:
        found = plan(place, promotion)
        data: dict[str, Any] = {
            "dry_run": True,
            "saved": False,
            "path": found.path,
            "text": found.text,
            "command": found.command,
            "receipt": found.receipt,
        }
    else:
        receipt, new = save(place, promotion, again=again)
        data = {
            "dry_run": False,
            "saved": new,
            "path": promotion.path,
            "text": promotion.text,
            "command": None,
            "receipt": receipt,
        }
    return Result("promote", data, text=_promote_text)


def _promote_text(data: dict[str, Any]) -> str:
    if data["dry_run"]:
        words = ["..." if "\n" in word else word for word in data["command"]]  # the code that starts a pinned launcher
        return f"{data['path']}\n\n{data['text']}\n" + " ".join(words)
    receipt = data["receipt"]
    return f"{'saved' if data['saved'] else 'saved before'}: {receipt['path']}  {receipt['revision']}"


@command(
    "promote.receipts",
    schema="promote-receipts",
    help={"project": PROJECT_HELP, "limit": "At most this many.", "store": STORE_HELP},
)
def promote_receipts(context: Context, project: str = "", limit: int = 50, store: str = "") -> Result:
    """The receipts of this project's promotions, newest first, and how each note stands in the vault now.

    A confirmed note is present, changed (edited since) or missing (deleted since), each with what can be done.
    """
    from kbtasks.binding import receipts

    if limit < 1:
        raise UsageError(message="--limit is at least 1")
    place = place_of(context, store)
    chosen = project_of(context, place, project)
    with place.registry() as registry:
        found, total, damaged = receipts.listed(registry, chosen, limit)
    shown = []
    for receipt in found:
        state = receipts.vault_state(receipt) if receipt["status"] == receipts.CONFIRMED else None
        shown.append({**receipt, "vault_state": state, "next": speaking_of(_next_step(receipt, state), project, store)})
    data = {
        "project": chosen,
        "receipts": shown,
        "total": total,
        "truncated": total - damaged > len(shown),
        "damaged": damaged,
    }
    return Result("promote-receipts", data, text=_receipts_text, tail="receipts")


def _next_step(receipt: dict[str, Any], state: str | None) -> str | None:
    if receipt["status"] in {"prepared", "uncertain"}:
        return f"kb promote.recover {receipt['request'][:16]}"
    if receipt["status"] == "not_started":
        return "promote the note again"
    if state == "missing":
        return "to create it again, promote the same note with --again"
    if state == "changed":
        return f"it was edited since; look at {receipt['path']}"
    return None


def _receipts_text(data: dict[str, Any]) -> str:
    lines = []
    for item in data["receipts"]:
        state = f" ({item['vault_state']})" if item["vault_state"] else ""
        lines.append(f"{item['updated_at']}  {item['status']}{state}  {item['path']}  task {item['task']}")
        if item["next"]:
            lines.append(f"    next: {item['next']}")
    return "\n".join(lines) or "No promotions."


@command(
    "promote.recover",
    schema="promote-recover",
    positional="request",
    optional=True,
    help={
        "request": "One request, by its id or the beginning of it (default: all that are open).",
        "project": PROJECT_HELP,
        "store": STORE_HELP,
    },
)
def promote_recover(context: Context, request: str = "", project: str = "", store: str = "") -> Result:
    """Decide what unfinished promotions came to, by looking into the vault.

    A note that stands there with exactly the text is confirmed, a different one makes it refused, none at all means
    that nothing was written and it may be tried again.
    """
    from kbtasks.binding.recover import recover

    place = place_of(context, store)
    chosen = project_of(context, place, project)
    decided = recover(place, chosen, request)
    data = {"project": chosen, "receipts": decided, "total": len(decided), "truncated": False}
    return Result("promote-recover", data, text=_recover_text, tail="receipts")


def _recover_text(data: dict[str, Any]) -> str:
    lines = [f"{item['status']}  {item['path']}  {item['reason'] or item['revision']}" for item in data["receipts"]]
    return "\n".join(lines) or "No promotion is open."
