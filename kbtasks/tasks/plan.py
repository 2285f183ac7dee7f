"""``plan.*``: plans that grow in one file, from their outcome to what is to be remembered."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result
from kbtasks.tasks.note import new_path, path_of, title_of, written

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

_STATUSES = ("proposed", "accepted", "in-progress", "blocked", "completed", "superseded", "cancelled")
_PLAN_HELP = "The plan: ID, path, title or alias."
_ENTRY_HELP = {
    "deviation": "What was done otherwise than planned (dated; repeatable).",
    "evidence": "What was observed while it ran (dated; repeatable).",
    "review": "A finding of a review (dated; repeatable).",
    "result": "What came of it.",
    "durable_memory": "Where its lasting conclusions now live, or why there are none.",
    "expected_revision": "Write only if the plan still has this revision (sha256:...).",
}


@command(
    "plan.create",
    schema="note-written",
    positional="id",
    help={
        "id": "The plan's ID; without a folder it is made under plans/.",
        "outcome": "What is true when it is done.",
        "title": "Its title (default: the last part of the ID).",
        "description": "One sentence (default: the outcome's first line).",
        "area": "What it belongs to, lower-case words joined by hyphens.",
        "status": "Its status; plan.close ends it.",
        "scope": "A code path it changes, relative to the repository.",
        "tag": "A tag.",
        "assumption": "Something taken for granted.",
        "depends_on": "A note that must be done first.",
        "decision": "A constraint or decision.",
        "step": "A step of the work.",
        "verification": "How it will be known to be done.",
    },
    choices={"status": _STATUSES[:4]},
)
def plan_create(
    context: Context,
    id: str,
    outcome: str,
    title: str = "",
    description: str = "",
    area: str = "general",
    status: str = "proposed",
    scope: list[str] = [],  # noqa: B006
    tag: list[str] = [],  # noqa: B006
    assumption: list[str] = [],  # noqa: B006
    depends_on: list[str] = [],  # noqa: B006
    decision: list[str] = [],  # noqa: B006
    step: list[str] = [],  # noqa: B006
    verification: list[str] = [],  # noqa: B006
) -> Result:
    """Create a plan: one note under plans/ that will hold its decisions, its evidence and its result."""
    from kbtasks.vault.compose import check_kebab, check_tags, check_title
    from kbtasks.vault.plan import compose_plan
    from kbtasks.vault.writer import Writer

    if not outcome.strip():
        raise UsageError(message="a plan has an outcome: what is true when it is done")
    path = new_path(context, id if "/" in id else f"plans/{id}")
    title = check_title(title or title_of(path))
    needed = [path_of(context, each)[:-3] for each in depends_on]
    meta: dict[str, Any] = {
        "title": title,
        "description": check_title(description or outcome.strip().splitlines()[0].strip()[:300].strip(), "description"),
        "type": "plan",
        "area": check_kebab("area", area),
        "status": status,
        "tags": check_tags(tag),
        "repository_scopes": [check_title(each, "scope") for each in scope],
        "relations": {"depends-on": needed} if needed else {},
    }
    sections = {
        "Assumptions": assumption,
        "Constraints and decisions": decision,
        "Dependencies": [f"[[{each}]]" for each in needed],
        "Plan": step,
        "Verification": verification or ["To be named before the work starts."],
    }
    with Writer(context.vault) as writer:
        return written("plan.create", writer.create(path, compose_plan(meta, outcome, sections), parents=True))


@command("plan.add", schema="note-written", positional="plan", help={"plan": _PLAN_HELP, **_ENTRY_HELP})
def plan_add(
    context: Context,
    plan: str,
    deviation: list[str] = [],  # noqa: B006
    evidence: list[str] = [],  # noqa: B006
    review: list[str] = [],  # noqa: B006
    result: str = "",
    durable_memory: str = "",
    expected_revision: str = "",
) -> Result:
    """Add to a running plan: dated deviations, evidence and review findings, its result, its durable memory."""
    from kbtasks.vault.plan import add_entries
    from kbtasks.vault.writer import Writer

    entries = _entries(deviation, evidence, review, result, durable_memory)
    if not entries:
        raise UsageError(message="plan.add needs something to add", next="kb plan.add --help")
    path = path_of(context, plan)
    with Writer(context.vault) as writer:
        old = writer.read(path, expected_revision or None)
        return written("plan.add", writer.replace(path, old, add_entries(path, old, entries, today())))


@command(
    "plan.close",
    schema="note-written",
    positional="plan",
    help={"plan": _PLAN_HELP, "status": "How it ended.", **_ENTRY_HELP},
    choices={"status": _STATUSES[4:]},
)
def plan_close(
    context: Context,
    plan: str,
    status: str = "completed",
    deviation: list[str] = [],  # noqa: B006
    evidence: list[str] = [],  # noqa: B006
    review: list[str] = [],  # noqa: B006
    result: str = "",
    durable_memory: str = "",
    expected_revision: str = "",
) -> Result:
    """Close a plan as completed, superseded or cancelled; it must then have a result and durable memory."""
    from kbtasks.vault.plan import close
    from kbtasks.vault.writer import Writer

    entries = _entries(deviation, evidence, review, result, durable_memory)
    path = path_of(context, plan)
    with Writer(context.vault) as writer:
        old = writer.read(path, expected_revision or None)
        return written("plan.close", writer.replace(path, old, close(path, old, status, entries, today())))


@command(
    "plan.list",
    schema="plans",
    help={
        "status": "Only plans of this status (repeatable).",
        "area": "Only plans of this area.",
        "active": "Only plans that have not ended.",
        "limit": "At most this many.",
    },
)
def plan_list(
    context: Context,
    status: list[str] = [],  # noqa: B006
    area: str = "",
    active: bool = False,
    limit: int = 100,
) -> Result:
    """List plans: active ones first (in progress, accepted, proposed, blocked), then those that ended."""
    from kbtasks.graph.plans import list_plans
    from kbtasks.index.view import open_view

    if limit < 1:
        raise UsageError(message="--limit is at least 1")
    with open_view(context.vault, context.cache) as view:
        plans, total = list_plans(view.connection, status=status, area=area, active=active, limit=limit)
    data = {"plans": plans, "total": total, "truncated": total > len(plans)}
    said = [f"{len(plans)} of {total} plans"] if data["truncated"] else ["no plans"] if not total else []
    return Result("plans", data, text=_listed, notes=said, tail="plans")


def today() -> str:
    """Today's date in UTC, as ``2026-11-30``."""
    from time import gmtime, strftime

    return strftime("%Y-%m-%d", gmtime())


def _entries(
    deviation: list[str], evidence: list[str], review: list[str], result: str, durable_memory: str
) -> list[tuple[str, str]]:
    entries = [("deviation", each) for each in deviation]
    entries += [("evidence", each) for each in evidence]
    entries += [("review", each) for each in review]
    if result:
        entries.append(("result", result))
    if durable_memory:
        entries.append(("durable-memory", durable_memory))
    return entries


def _listed(data: dict[str, Any]) -> str:
    if not data["plans"]:
        return "No plans."
    return "\n".join(f"{plan['status'] or '-':<12} {plan['path']}  {plan['title']}" for plan in data["plans"])
