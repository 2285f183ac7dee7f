"""Plans as notes that grow: composed with their sections, extended by dated entries, closed with a result."""

from __future__ import annotations

from kbtasks.errors import Refused, UsageError

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ACTIVE = ("proposed", "accepted", "in-progress", "blocked")
TERMINAL = ("completed", "superseded", "cancelled")
STATUSES = ACTIVE + TERMINAL

#: What may be added while a plan runs: kind -> heading. Entries of the first three are dated list items.
GROWTH = {
    "deviation": "Deviations",
    "evidence": "Execution evidence",
    "review": "Review findings",
    "result": "Result",
    "durable-memory": "Durable memory",
}
DATED = ("deviation", "evidence", "review")


def compose_plan(meta: dict[str, Any], outcome: str, sections: Mapping[str, Sequence[str]]) -> bytes:
    """A new plan.

    meta: front matter (title, description, type, area, status ...). outcome: its first section's text.
    sections: heading -> list items; an empty list leaves the section out.
    """
    from kbtasks.vault.compose import compose

    parts = [f"# {meta['title']}", "## Outcome", outcome.strip()]
    for heading, items in sections.items():
        if items:
            parts += [f"## {heading}", "\n".join(f"- {_item(item)}" for item in items)]
    return compose(meta, "\n\n".join(parts).encode("utf-8"))


def add_entries(path: str, old: bytes, entries: Sequence[tuple[str, str]], day: str) -> bytes:
    """``old`` with ``entries`` of (kind of GROWTH, text) added under their headings, made where they are missing.

    day: the calendar date of dated entries (``2026-11-30``).
    """
    from kbtasks.vault.compose import append

    _check_is_plan(path, old)
    new = old
    for kind, text in entries:
        if not text.strip():
            raise UsageError(message=f"the text of --{kind} is blank")
        words = f"- {day}: {_item(text)}" if kind in DATED else text.strip()
        new = append(path, new, words.encode("utf-8"), heading=GROWTH[kind], create_level=2)
    return new


def close(path: str, old: bytes, status: str, entries: Sequence[tuple[str, str]], day: str) -> bytes:
    """``old`` with a terminal ``status`` and its last entries; Refused unless it then has result and durable memory."""
    from kbtasks.vault.writer import with_fields

    if status not in TERMINAL:
        raise UsageError(message=f"a plan is closed as {', '.join(TERMINAL)}, not {status!r}")
    new = with_fields(path, add_entries(path, old, entries, day), {("status",): status})
    missing = [kind for kind in ("result", "durable-memory") if not _has_text_under(path, new, GROWTH[kind])]
    if missing:
        flags = " ".join(f"--{kind} TEXT" for kind in missing)
        raise Refused(
            message=f"{path} cannot be closed without {' and '.join(GROWTH[kind] for kind in missing)}",
            next=f"kb plan.close {path[:-3]} {flags}",
        )
    return new


def _check_is_plan(path: str, data: bytes) -> None:
    from kbtasks.vault.writer import editable

    note = editable(path, data)
    if (note.type or "").casefold() != "plan":
        raise Refused(message=f"{path} is not a plan (its type is {note.type or 'not set'})", next="kb plan.list")


def _has_text_under(path: str, data: bytes, heading: str) -> bool:
    """Whether there is text in the section, or in one below it (as ``check`` looks at it)."""
    from kbtasks.vault.writer import editable

    note = editable(path, data)
    ends = {each.place.start: each.place.end for each in note.headings}
    return any(
        heading.casefold() in (part.casefold() for part in section.path)
        and data[ends.get(section.start, section.start) : section.end].strip(b" \t\r\n=-")
        for section in note.sections
    )


def _item(text: str) -> str:
    """``text`` as one list item: its further lines are indented below the first."""
    import re

    return re.sub(r"\r?\n(?=.)", "\n  ", text.strip())
