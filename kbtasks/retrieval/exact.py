"""The exact lane: a note matches when every word and every quoted phrase of the query occurs in its text, title, aliases,
path or tags, ignoring case and Unicode form.

To occur is to stand there literally, not inside a longer run of letters and digits: ``art`` is not in ``Start``, ``C`` is in
``C++``, and ``foo`` is in ``foo/bar``. The values of front matter are text, its keys and marks are not. The index only proposes
notes; the text of each is read before it counts, unless the query is plain words, of which the index knows who holds them. So the
answer is that of a person reading every file.
"""

from __future__ import annotations

from math import log

from kbtasks.index import tokens
from kbtasks.index.search import SHIFT
from kbtasks.retrieval.query import first_place
from kbtasks.retrieval.terms import best_rows, is_decided, json_list, notes_with, quoted

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from sqlite3 import Connection

    from kbtasks.retrieval.lanes import Lane
    from kbtasks.retrieval.query import Query

#: What a part of the query is worth where it stands; the body adds up to BODY by how often.
PLACES = {"title": 4.0, "alias": 3.5, "path": 2.5, "tags": 3.0, "heading": 2.0, "meta": 0.5}
BODY = 1.0
#: Occurrences in a body that are counted; more say nothing more.
_MAX_COUNT = 8
#: Where the index alone decides who matches, and more notes do, only this many are read and scored by place.
READ = 150
_FIELDS = ("title", "alias", "path", "tags", "meta")


class Match:
    """A note that holds all of the query: ``score`` by rarity and place, ``fields`` and ``parts`` (the query's) it met."""

    __slots__ = ("fields", "note", "parts", "score")

    def __init__(self, note: int, score: float, fields: set[str], parts: list[str]) -> None:
        self.note = note
        self.score = score
        self.fields = fields
        self.parts = parts


def find(connection: Connection, query: Query, allowed: Collection[int] | None, lane: Lane) -> list[Match]:
    """Every match of ``query`` among the notes ``allowed`` (None: all), best score first; ties in no order.

    Past the lane's deadline it stops, and the lane is degraded.
    """
    if not query.parts:
        return []
    rarity: dict[str, float] = {}
    among: set[int] | None = None
    total = max(1, connection.execute("SELECT count(*) FROM note").fetchone()[0])
    for part in query.parts:
        for word in tokens.words(part) or [part]:
            notes = notes_with(connection, word)
            held = total if notes is None else len(notes)
            rarity[part] = max(rarity.get(part, 0.0), log(1 + total / (1 + held)))
            if notes is not None:
                among = notes if among is None else among & notes
                if not among:
                    return []
    if allowed is not None:
        among = set(allowed) if among is None else among.intersection(allowed)
    found: list[Match] = []
    if among is not None and len(among) > READ and all(map(is_decided, query.parts)):
        first = _best_by_words(connection, query.parts, among)
        found = [Match(note, 0.0, set(), list(query.parts)) for note in among - first]
        among = first
    for number, (note, texts) in enumerate(_texts(connection, among, total)):
        match = _match(note, texts, query.parts, rarity)
        if match is not None:
            found.append(match)
        if number % 64 == 63 and lane.late():
            lane.worsen("degraded", f"stopped at its deadline after {number + 1} notes")
            break
    found.sort(key=lambda match: -match.score)
    return found


def _best_by_words(connection: Connection, parts: list[str], among: set[int]) -> set[int]:
    """About READ of the notes ``among``: those of the best pieces by SQLite's ranking of the words ``parts``."""
    expression = " OR ".join(map(quoted, parts))
    rows = best_rows(connection, "search", "bm25(4, 2, 1, 0, 3.5, 2.5, 3, 0.5)", expression, 2 * READ)
    return {row >> SHIFT for row in rows} & among


def holding(connection: Connection, part: str, among: Collection[int]) -> set[int]:
    """Those of the notes ``among`` in which the folded word or phrase ``part`` occurs."""
    left: set[int] = set(among)
    for word in tokens.words(part):
        notes = notes_with(connection, word)
        if notes is not None:
            left &= notes
    rarity = {part: 1.0}
    return {note for note, texts in _texts(connection, left, len(left)) if _match(note, texts, [part], rarity)}


def _match(note: int, texts: dict[str, str], parts: list[str], rarity: dict[str, float]) -> Match | None:
    score = 0.0
    fields: set[str] = set()
    for part in parts:
        worth = 0.0
        for field in _FIELDS:
            text = texts[field]
            if text and part.split(" ", 1)[0] in text and first_place(part, text, 0):
                worth = max(worth, PLACES[field])
                fields.add(field)
        count = _count(part, texts["body"])
        if count:
            fields.add("body")
            if part in texts["heading"]:
                worth = max(worth, PLACES["heading"])
                fields.add("heading")
            worth += BODY * (2 * count / (count + 1.5) if count > 1 else 0.8)
        if not worth:
            return None
        score += worth * rarity[part]
    return Match(note, score, fields, list(parts))


def _count(part: str, text: str) -> int:
    count = at = 0
    while count < _MAX_COUNT:
        place = first_place(part, text, at)
        if place is None:
            break
        count += 1
        at = place[1]
    return count


def _texts(connection: Connection, among: set[int] | None, total: int) -> Iterator[tuple[int, dict[str, str]]]:
    """(note, its folded texts by field) of the notes ``among``; the whole table is read once where they are many."""
    sql = "SELECT id, title, alias, path, tags, meta, heading, body FROM search_text"
    values: tuple[str, ...] = ()
    if among is not None and len(among) * 3 < total:
        sql = (
            f"SELECT t.id, t.title, t.alias, t.path, t.tags, t.meta, t.heading, t.body FROM json_each(?) AS a"
            f" JOIN search_text AS t ON t.id >= a.value << {SHIFT} AND t.id < (a.value + 1) << {SHIFT}"
        )
        values = (json_list(sorted(among)),)
        among = None
    note = -1
    fields: list[str] = []
    headings: list[str] = []
    bodies: list[str] = []
    for row, *texts in connection.execute(sql + (" ORDER BY t.id" if values else " ORDER BY id"), values):
        if row >> SHIFT != note:
            if bodies and (among is None or note in among):
                yield note, _folded(fields, headings, bodies)
            note, fields, headings, bodies = row >> SHIFT, texts[:5], [], []
        headings.append(texts[5])
        bodies.append(texts[6])
    if bodies and (among is None or note in among):
        yield note, _folded(fields, headings, bodies)


def _folded(fields: list[str], headings: list[str], bodies: list[str]) -> dict[str, str]:
    return {
        "title": tokens.fold(fields[0]),
        "alias": tokens.fold(fields[1]),
        "path": tokens.fold(fields[2]),
        "tags": tokens.fold(fields[3]),
        "meta": tokens.fold(fields[4]),
        "heading": tokens.fold("\n".join(dict.fromkeys(headings))),
        "body": "".join(map(tokens.fold, bodies)),
    }
