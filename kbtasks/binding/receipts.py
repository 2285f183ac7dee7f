"""Receipts: what was about to be saved, written before the program starts, and what is known of the outcome."""

from __future__ import annotations

import json
import os
import stat

from kbtasks.binding.shape import is_receipt
from kbtasks.binding.stored import now_text
from kbtasks.errors import Ambiguous, Conflict, NotFound
from kbtasks.fsio import revision, step
from kbtasks.process import Identity

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.binding.promotion import Promotion
    from kbtasks.binding.registry import Registry

PREPARED, CONFIRMED, REFUSED, UNCERTAIN, NOT_STARTED = "prepared", "confirmed", "refused", "uncertain", "not_started"
#: Outcomes still to be decided: only looking into the vault, or trying again, tells.
OPEN = (PREPARED, UNCERTAIN)
ABSENT = "absent"
MAX_READ_BACK = 1 << 20


def new_receipt(promotion: Promotion, vault: str, before: str, earlier: dict[str, Any] | None) -> dict[str, Any]:
    """The receipt of an attempt that is about to start. before: the note's revision in the vault now, or ``absent``."""
    now = now_text()
    return {
        "request": promotion.request,
        "note": promotion.note_id,
        "path": promotion.path,
        "project": promotion.project,
        "vault": vault,
        "task": promotion.task,
        "session": promotion.session,
        "title": promotion.title,
        "tags": promotion.tags,
        "status": PREPARED,
        "reason": None,
        "process": None,
        "ended": True,
        "before": before,
        "revision": None,
        "recovered": False,
        "attempts": (earlier["attempts"] if earlier else 0) + 1,
        "created_at": earlier["created_at"] if earlier else now,
        "updated_at": now,
    }


def save(registry: Registry, receipt: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Write ``receipt`` with ``values`` changed, durably; return it."""
    receipt = {**receipt, **values, "updated_at": now_text()}
    step(f"receipt-{receipt['status']}-before")
    with registry.change() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO receipt VALUES (?, ?, ?, ?, ?)",
            (
                receipt["request"],
                receipt["project"],
                receipt["task"],
                receipt["updated_at"],
                json.dumps(receipt, sort_keys=True),
            ),
        )
    step(f"receipt-{receipt['status']}-after")
    return receipt


def load(registry: Registry, request: str) -> dict[str, Any] | None:
    """The receipt of ``request``, or None; Conflict where the row contradicts itself."""
    rows = registry.rows("SELECT payload FROM receipt WHERE request = ?", (request,))
    return _decode(request, rows[0][0]) if rows else None


def _decode(request: str, payload: str) -> dict[str, Any]:
    try:
        receipt = json.loads(payload)
        if not is_receipt(receipt, request):
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise Conflict(message=f"the receipt of {request} is damaged", next="look for the note in the vault") from None
    return dict(receipt)


def find(registry: Registry, project: str, prefix: str) -> dict[str, Any]:
    """The receipt of ``project`` whose request (or note id) begins with ``prefix``; NotFound, Ambiguous."""
    wanted = prefix.removeprefix("promoted-")
    rows = registry.rows("SELECT request, payload FROM receipt WHERE project = ? ORDER BY request", (project,))
    found = [row for row in rows if wanted and row[0].startswith(wanted)]
    if not found:
        raise NotFound(what="promotion request", name=prefix, next="kb promote.receipts")
    if len(found) > 1:
        raise Ambiguous(what="promotion request", name=prefix, candidates=", ".join(row[0] for row in found[:5]))
    return _decode(*found[0])


def listed(registry: Registry, project: str, limit: int) -> tuple[list[dict[str, Any]], int, int]:
    """The newest receipts of ``project``: (receipts, total, how many rows could not be read)."""
    rows = registry.rows(
        "SELECT request, payload FROM receipt WHERE project = ? ORDER BY updated DESC, request", (project,)
    )
    receipts: list[dict[str, Any]] = []
    damaged = 0
    for row in rows:
        try:
            receipts.append(_decode(*row))
        except Conflict:
            damaged += 1
    return receipts[:limit], len(rows), damaged


def process_of(receipt: dict[str, Any]) -> Identity | None:
    """The process of the last attempt, where one was recorded."""
    value = receipt["process"]
    return Identity(int(value["pid"]), str(value["start"]), str(value["boot"])) if value else None


def note_in_vault(vault: str, path: str) -> bytes | None:
    """The bytes of the note at ``path``; None where there is none, empty where something else stands there.

    No symbolic link is followed; at most 1 MiB is read.
    """
    try:
        handle = os.open(os.path.join(vault, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        data = b""
        while len(data) <= MAX_READ_BACK and (chunk := os.read(handle, 1 << 16)):
            data += chunk
        return data
    finally:
        os.close(handle)


def revision_in_vault(vault: str, path: str) -> str:
    """The revision of the note at ``path``, or ``absent``."""
    data = note_in_vault(vault, path)
    return ABSENT if data is None else revision(data)


def holds_text(data: bytes, text: str) -> bool:
    """Whether a note's bytes end with exactly ``text``, begun on a line of its own (line ends and the last one aside)."""
    have = data.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")
    want = text.rstrip("\n")
    return have == want or have.endswith("\n" + want)


def vault_state(receipt: dict[str, Any]) -> str:
    """``present``, ``changed`` or ``missing``: the note of a confirmed receipt as it stands in the vault now."""
    now = revision_in_vault(receipt["vault"], receipt["path"])
    if now == ABSENT:
        return "missing"
    return "present" if now == receipt["revision"] else "changed"
