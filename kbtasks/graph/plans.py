"""The plans of a vault, in the order of attention."""

from __future__ import annotations

import json

from kbtasks.errors import UsageError
from kbtasks.vault.plan import ACTIVE, STATUSES

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

#: What asks for attention first.
ORDER = ("in-progress", "accepted", "proposed", "blocked", "completed", "superseded", "cancelled")


def list_plans(
    connection: Connection, *, status: list[str], area: str, active: bool, limit: int
) -> tuple[list[dict[str, Any]], int]:
    """The notes of type ``plan``, and how many there are before ``limit``.

    status: any of these (UsageError for a word that is no status). area: exactly this area, letter case aside.
    active: only those that have not ended. A plan with an illegal status is listed last.
    """
    for each in status:
        if each not in STATUSES:
            raise UsageError(message=f"{each!r} is no status of a plan; they are {', '.join(STATUSES)}")
    rows = connection.execute(
        "SELECT path, id, title, status, summary, revision, meta FROM note WHERE lower(type) = 'plan'"
    )
    plans = []
    for path, identity, title, state, summary, revision, meta in rows:
        fields = json.loads(meta)
        own_area = fields.get("area") if isinstance(fields.get("area"), str) else None
        if (status and state not in status) or (active and state not in ACTIVE):
            continue
        if area and (own_area or "").casefold() != area.casefold():
            continue
        scopes = fields.get("repository_scopes")
        plans.append(
            {
                "id": identity,
                "path": path,
                "title": title,
                "status": state,
                "area": own_area,
                "summary": summary,
                "repository_scopes": [each for each in scopes if isinstance(each, str)]
                if isinstance(scopes, list)
                else [],
                "revision": revision,
            }
        )
    rank = {name: number for number, name in enumerate(ORDER)}
    plans.sort(key=lambda plan: (rank.get(plan["status"] or "", len(rank)), plan["path"]))
    return plans[:limit], len(plans)
