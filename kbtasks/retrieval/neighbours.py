"""Notes around the first hits: linked or related, never mixed into the ranking."""

from __future__ import annotations

from kbtasks.retrieval.lanes import Lane, within
from kbtasks.retrieval.terms import json_list

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from sqlite3 import Connection
    from typing import Any

#: First hits whose neighbours are shown, neighbours of each, and notes in all.
SEEDS = 5
PER_SEED = 3
MAX_NOTES = 20
_MAX_LINKS = 2_000
_MAX_EVIDENCE = 8


def neighbours(
    connection: Connection, related: Sequence[int], hits: Sequence[int], allowed: Collection[int] | None
) -> tuple[dict[str, Any], Lane]:
    """Neighbours of the notes ``related`` and of the first ``hits``, as a document part, and the lane that found them.

    Order: how many seeds a note is next to, whether by a typed relation, the best seed's rank, path. Notes that are hits
    themselves and notes not ``allowed`` are left out.
    """
    lane = Lane("graph", seconds=5.0)
    seeds = list(dict.fromkeys([*related, *hits[:SEEDS]]))
    left_out = {*seeds, *hits}
    found: dict[int, list[dict[str, Any]]] = {}
    with within(lane, connection):
        for rank, seed in enumerate(seeds, 1):
            _around(connection, seed, rank, left_out, allowed, found)
    order: list[tuple[int, bool, int, str, int]] = []
    notes = _notes(connection, [*found, *seeds])
    for note, evidence in found.items():
        count = len({each["seed"] for each in evidence})
        typed = any(each["kind"] == "relation" for each in evidence)
        order.append((-count, not typed, min(each["rank"] for each in evidence), notes[note]["path"], note))
    order.sort()
    taken: dict[int, int] = {}
    shown = []
    for *_, note in order:
        first = min(each["rank"] for each in found[note])
        taken[first] = taken.get(first, 0) + 1
        if taken[first] <= PER_SEED:
            shown.append(note)
    items = [
        {**notes[note], "evidence": [_evidence(each, notes) for each in found[note][:_MAX_EVIDENCE]]}
        for note in shown[:MAX_NOTES]
    ]
    lane.done(len(found))
    document = {
        "seeds": [notes[seed]["id"] for seed in seeds if seed in notes],
        "related": items,
        "total": len(found),
        "truncated": len(items) < len(found),
    }
    return document, lane


def _around(
    connection: Connection, seed: int, rank: int, left_out: Collection[int], allowed: Collection[int] | None,
    found: dict[int, list[dict[str, Any]]],
) -> None:  # fmt: skip
    sql = """SELECT target_note, kind, predicate, line, 'out' FROM link
        WHERE note = ? AND target_note IS NOT NULL AND target_note != note AND generated = 0
        UNION ALL SELECT note, kind, predicate, line, 'in' FROM link
        WHERE target_note = ? AND note != target_note AND generated = 0 LIMIT ?"""
    for other, kind, predicate, line, direction in connection.execute(sql, (seed, seed, _MAX_LINKS)):
        if other in left_out or (allowed is not None and other not in allowed):
            continue
        found.setdefault(other, []).append(
            {"seed": seed, "rank": rank, "kind": kind, "predicate": predicate, "line": line, "direction": direction}
        )


def _notes(connection: Connection, notes: Sequence[int]) -> dict[int, dict[str, Any]]:
    sql = "SELECT rowid, id, path, title FROM note WHERE rowid IN (SELECT value FROM json_each(?))"
    rows = connection.execute(sql, (json_list(notes),))
    return {rowid: {"id": name, "path": path, "title": title} for rowid, name, path, title in rows}


def _evidence(each: dict[str, Any], notes: dict[int, dict[str, Any]]) -> dict[str, Any]:
    return {
        "seed": notes[each["seed"]]["id"],
        "direction": each["direction"],
        "kind": each["kind"],
        "predicate": each["predicate"],
        "line": each["line"],
    }
