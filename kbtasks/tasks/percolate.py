"""``percolate`` and ``inbox``: what a person might still write down."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

_KINDS = (
    "relation-hygiene, superseded-link, stale-plan, near-duplicate, unlinked-mention, missing-relation, missing-concept"
)


@command(
    "percolate",
    schema="percolate",
    positional="note",
    optional=True,
    help={
        "note": "Only what concerns this note (default: the whole vault).",
        "kind": f"Only this kind: {_KINDS} (repeatable).",
        "limit": "At most this many candidates of each kind, 1 to 1000.",
        "min_support": "Tags or neighbours that must speak for a concept or relation, 2 to 1000.",
        "similarity": "Share of common wording from which two notes are near-duplicates, 0.3 to 1.",
        "stale_days": "Days after which an active plan that nobody touched is stale.",
    },
)
def percolate(
    context: Context,
    note: str = "",
    kind: list[str] = [],  # noqa: B006
    limit: int = 25,
    min_support: int = 2,
    similarity: float = 0.7,
    stale_days: int = 90,
) -> Result:
    """Suggest what the notes might still say: a report, never a change.

    Mentions that are no links, tags without a note, notes that share rare tags or neighbours, relations that do not
    hold, near-duplicates, links to superseded notes, stale plans. Each candidate cites its lines and gives the
    command that would accept it.
    """
    from datetime import UTC, datetime

    from kbtasks.graph import percolate as graph
    from kbtasks.graph.candidate import KINDS
    from kbtasks.graph.lookup import find_note
    from kbtasks.index.view import open_view

    unknown = [each for each in kind if each not in KINDS]
    if unknown:
        raise UsageError(message=f"--kind takes one of {', '.join(KINDS)}, not {unknown[0]!r}")
    _check("--limit", limit, 1, 1000)
    _check("--min-support", min_support, 2, 1000)
    _check("--similarity", similarity, 0.3, 1)
    _check("--stale-days", stale_days, 0, 100_000)
    with open_view(context.vault, context.cache) as view:
        node = find_note(view.connection, note, root=context.vault, cwd=context.cwd) if note else None
        report = graph.percolate(
            view.connection, today=datetime.now(UTC).date(), note=node, kinds=kind, support=min_support, similarity=similarity,
            stale_days=stale_days, repository=context.repository,
        )  # fmt: skip
    shown = graph.limited(report, limit)
    data = {
        "note": node.to_json() if node else None,
        "counts": report.counts(),
        "candidates": [each.to_json() for each in shown],
        "total": len(report.candidates),
        "truncated": len(shown) < len(report.candidates) or bool(report.cut),
        "cut": report.cut,
    }
    notes = [f"{len(report.candidates)} candidates, {len(shown)} shown", *report.cut]
    return Result("percolate", data, text=_text, tail="candidates", notes=notes)


def _check(flag: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(message=f"{flag} takes {low} to {high}, not {value}")


def _text(data: dict[str, Any]) -> str:
    lines = []
    kind = None
    for each in data["candidates"]:
        if each["kind"] != kind:
            kind = each["kind"]
            lines.append(f"{kind} ({data['counts'][kind]})")
        names = " | ".join(node["path"] for node in each["notes"])
        lines.append(f"  {names + ': ' if names else ''}{each['message']}")
        places = ", ".join(f"{item['path']}:{item['line']}" for item in each["evidence"][:3])
        more = each["evidence_total"] - 3
        lines.append(f"      at {places}" + (f" and {more} more" if more > 0 else ""))
        if each["accept"]:
            lines.append(f"      {each['accept']}")
    return "\n".join(lines) or "Nothing to suggest."


@command(
    "inbox",
    schema="inbox",
    help={
        "folder": "A folder of captures (default: articles; repeatable).",
        "plans": "A link from a plan settles a capture too.",
        "limit": "At most this many captures, 0 to 1000.",
    },
)
def inbox(context: Context, folder: list[str] = [], plans: bool = False, limit: int = 100) -> Result:  # noqa: B006
    """Captures that no maintained note has taken up yet, the newest first.

    A capture is settled when a note under notes/ (or of the type note, concept, decision or report) links or relates
    to it.
    """
    from kbtasks.graph.inbox import SOURCE_FOLDERS, find_inbox
    from kbtasks.index.view import open_view

    _check("--limit", limit, 0, 1000)
    with open_view(context.vault, context.cache) as view:
        data = find_inbox(view.connection, folders=folder or SOURCE_FOLDERS, plans=plans, limit=limit)
    notes = [f"{data['total']} of {data['sources']} captures wait"]
    return Result("inbox", data, text=_inbox_text, tail="inbox", notes=notes)


def _inbox_text(data: dict[str, Any]) -> str:
    lines = [f"{each['clipped'] or 'undated   '}  {each['path']}  {each['title']}" for each in data["inbox"]]
    return "\n".join(lines) or "Nothing waits."
