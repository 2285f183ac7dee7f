"""The ranked mode: BM25 over weighted fields, as SQLite's FTS5 computes it, for the store and for remote answers alike.

score = sum over terms of idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average)), with k1 = 1.2, b = 0.75,
f the occurrences weighted by field, idf = ln((N - n + 0.5) / (n + 0.5)), at least 1e-6 (Robertson; SQLite's
fts5_aux.c). Remote answers are scored with the store's own N, n and average, so that both kinds of score may stand in
one list.
"""

from __future__ import annotations

import sqlite3
from math import log
from typing import TYPE_CHECKING

from kbtasks.resources import tables, terms
from kbtasks.resources.records import plain

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.resources.filters import Filters
    from kbtasks.resources.terms import Term

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6
#: Records taken from the index before coverage is judged.
CANDIDATES = 200
#: A term in more than this share of the records is left out of the matching where a rarer one is there.
COMMON_SHARE = 0.1
_WEIGHTS = ", ".join(map(str, tables.SEARCH_WEIGHTS.values()))


def needed(asked: int) -> int:
    """How many of the ``asked`` terms a record must hold: one, and two of four or more."""
    return 1 if asked < 4 else 2


def rank(connection: Connection, asked: list[Term], filters: Filters) -> list[tuple[int, float, list[str]]]:
    """Best records as (number, score, matched words), best first, at most 200 before coverage is judged."""
    held = {term.word: _holders(connection, term) for term in asked}
    known = [term for term in asked if held[term.word]]
    if not known:
        return []
    total = connection.execute("SELECT count(*) FROM record").fetchone()[0]
    common = max(1000, total * COMMON_SHARE)
    rare = [term for term in known if held[term.word] <= common] or known
    clause, values = filters.sql()
    join = (
        f" JOIN record r ON r.number = search.rowid WHERE search MATCH ?{clause}" if clause else " WHERE search MATCH ?"
    )
    rows = connection.execute(
        f"SELECT search.rowid, bm25(search, {_WEIGHTS}) AS score FROM search{join} ORDER BY score LIMIT {CANDIDATES}",
        [" OR ".join(term.match for term in rare), *values],
    ).fetchall()
    matched: dict[int, list[str]] = {number: [] for number, _ in rows}
    numbers = ", ".join(str(number) for number in matched)
    for term in known:
        for (number,) in connection.execute(
            f"SELECT rowid FROM search WHERE search MATCH ? AND rowid IN ({numbers})", (term.match,)
        ):
            matched[number].append(term.word)
    least = needed(len(asked))
    return [(number, _figure(-score), matched[number]) for number, score in rows if len(matched[number]) >= least]


def _figure(score: float) -> float:
    """Six significant digits: a score in a small store may be a millionth."""
    return float(f"{score:.6g}")


def _holders(connection: Connection, term: Term) -> int:
    """How many records hold ``term``."""
    return int(connection.execute("SELECT count(*) FROM search WHERE search MATCH ?", (term.match,)).fetchone()[0])


def rank_remote(
    connection: Connection, asked: list[Term], resources: list[dict[str, Any]]
) -> list[tuple[int, float, list[str]]]:
    """As rank, for resources that are not in the store: (position in ``resources``, score, matched words)."""
    total, average = _statistics(connection)
    memory = sqlite3.connect(":memory:")
    try:
        memory.execute(tables.DDL[-2])
        columns = list(tables.SEARCH_WEIGHTS)
        for position, resource in enumerate(resources):
            memory.execute(
                f"INSERT INTO search (rowid, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})",
                (position, *map(plain, terms.row(resource, None))),
            )
        lengths = {
            position: sum(text.count(" ") + 1 for text in texts if text)
            for position, *texts in memory.execute(f"SELECT rowid, {', '.join(columns)} FROM search")
        }
        marked = ", ".join(f"highlight(search, {index}, char(2), char(3))" for index in range(len(columns)))
        scores: dict[int, float] = {}
        matched: dict[int, list[str]] = {}
        for term in asked:
            held = _holders(connection, term)
            idf = max(log((total - held + 0.5) / (held + 0.5)) if total >= held else 0.0, LEAST_IDF)
            for position, *texts in memory.execute(
                f"SELECT rowid, {marked} FROM search WHERE search MATCH ?", (term.match,)
            ):
                found = sum(
                    weight * text.count("\x02")
                    for weight, text in zip(tables.SEARCH_WEIGHTS.values(), texts, strict=True)
                    if text
                )
                norm = K1 * (1 - B + B * lengths[position] / average)
                scores[position] = scores.get(position, 0.0) + idf * found * (K1 + 1) / (found + norm)
                matched.setdefault(position, []).append(term.word)
    finally:
        memory.close()
    least = needed(len(asked))
    return [
        (position, _figure(score), matched[position])
        for position, score in scores.items()
        if len(matched[position]) >= least
    ]


def _statistics(connection: Connection) -> tuple[int, float]:
    """Rows of the search table and their average length in words, from FTS5's own record (fts5_index.c, id 1)."""
    row = connection.execute("SELECT block FROM search_data WHERE id = 1").fetchone()
    numbers: list[int] = []
    value = 0
    for byte in row[0] if row else b"":
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    if not numbers or not numbers[0]:
        return 1, 50.0
    return numbers[0], max(sum(numbers[1:]) / numbers[0], 1.0)
