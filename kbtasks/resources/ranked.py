"""The ranked mode: BM25 over weighted fields, as SQLite's FTS5 computes it, for the store and for remote answers alike.

score = sum over terms of idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average)), with k1 = 1.2, b = 0.75,
f the occurrences weighted by field, idf = ln((N - n + 0.5) / (n + 0.5)), at least 1e-6 (Robertson; SQLite's
fts5_aux.c).

The index proposes: the best records for the rarest terms, so that the work stays bounded however common a word is.
Those, and what a provider answered, are then scored for all terms in one small table in memory, with the store's N, n
and average.
"""

from __future__ import annotations

import sqlite3
from math import log
from typing import TYPE_CHECKING

from kbtasks.resources import tables, terms
from kbtasks.resources.canonical import plain

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.resources.filters import Filters
    from kbtasks.resources.terms import Term

    Scored = tuple[int, float, list[str]]

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6
#: Rows of the index that proposals may cost, per term and in all.
BUDGET = 20_000
#: Proposals that are scored in full at a time, and at most.
CHUNK, CANDIDATES = 60, 240
#: Newest records looked at to guess how common a very common term is.
SAMPLE = 4_000
_COLUMNS = tuple(tables.SEARCH_WEIGHTS)
_WEIGHTS = tuple(tables.SEARCH_WEIGHTS.values())
_BM25 = f"bm25(search, {', '.join(map(str, _WEIGHTS))})"
_INTO = f"INSERT INTO search (rowid, {', '.join(_COLUMNS)}) VALUES (?{', ?' * len(_COLUMNS)})"
_MARKED = ", ".join(f"highlight(search, {index}, char(2), char(3))" for index in range(len(_COLUMNS)))
_TITLES = "{title purpose usage}"


def needed(asked: int) -> int:
    """How many of the ``asked`` terms a record must hold: one, and two of four or more."""
    return 1 if asked < 4 else 2


class Ranking:
    """One search in the ranked mode: the terms, how common each is, and the store's statistics."""

    def __init__(self, connection: Connection, asked: list[Term]) -> None:
        self.connection = connection
        self.asked = asked
        self.total, self.average = _statistics(connection)
        self.last = connection.execute("SELECT max(number) FROM record").fetchone()[0] or 0
        self.held = {term.word: self._holders(term) for term in asked}

    def _holders(self, term: Term) -> int:
        """How many records hold ``term``: counted up to the budget, guessed from the newest records beyond it."""
        counted = self.connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)", (term.match, BUDGET)
        ).fetchone()[0]
        if counted < BUDGET:
            return int(counted)
        newest = self.connection.execute(
            "SELECT count(*) FROM search WHERE search MATCH ? AND rowid > ?", (term.match, self.last - SAMPLE)
        ).fetchone()[0]
        return max(BUDGET, int(newest) * self.total // SAMPLE)

    def idf(self, term: Term) -> float:
        """The weight of ``term``: the rarer, the heavier."""
        held = self.held[term.word]
        return max(log((self.total - held + 0.5) / (held + 0.5)) if self.total >= held else 0.0, LEAST_IDF)

    def local(self, filters: Filters, limit: int) -> list[Scored]:
        """The best records as (number, score, matched words), best first, at least ``limit`` where so many answer."""
        numbers = self._proposals(filters)
        found: list[Scored] = []
        for start in range(0, len(numbers), CHUNK):
            chunk = numbers[start : start + CHUNK]
            rows = [
                self.connection.execute(
                    f"SELECT rowid, {', '.join(_COLUMNS)} FROM search WHERE rowid = ?", (number,)
                ).fetchone()
                for number in chunk
            ]
            found += self.score([row for row in rows if row])
            if len(found) >= limit:
                break
        return sorted(found, key=lambda scored: -scored[1])

    def _proposals(self, filters: Filters) -> list[int]:
        """Numbers of the records that the rarest terms rank highest, at most 240."""
        known = sorted((term for term in self.asked if self.held[term.word]), key=lambda term: self.held[term.word])
        if not known:
            return []
        chosen, cost = [known[0]], self.held[known[0].word]
        for term in known[1:]:
            if cost + self.held[term.word] > BUDGET:
                break
            chosen.append(term)
            cost += self.held[term.word]
        match = " OR ".join(term.match for term in chosen)
        clause, values = filters.sql()
        join = " JOIN record r ON r.number = search.rowid" if clause else ""
        if cost <= BUDGET:
            query = f"SELECT search.rowid FROM search{join} WHERE search MATCH ?{clause} ORDER BY {_BM25} LIMIT {CANDIDATES}"
            return [row[0] for row in self.connection.execute(query, [match, *values])]
        # Every word is very common, so their rarity tells nothing: the newest records that name them in their title or
        # purpose are proposed, then the newest that name them at all.
        found: dict[int, None] = {}
        query = f"SELECT search.rowid FROM search{join} WHERE search MATCH ?{clause} ORDER BY search.rowid DESC LIMIT ?"
        for words, most in ((f"{_TITLES} : ({match})", CANDIDATES // 2), (match, CANDIDATES)):
            found.update((row[0], None) for row in self.connection.execute(query, [words, *values, most]))
        return list(found)[:CANDIDATES]

    def remote(self, resources: list[dict[str, Any]]) -> list[Scored]:
        """As local, for resources that are not in the store: (position in ``resources``, score, matched words)."""
        return self.score([(n, *map(plain, terms.row(resource, None))) for n, resource in enumerate(resources)])

    def score(self, rows: list[tuple[Any, ...]]) -> list[Scored]:
        """The rows (number and the texts of the search columns) that hold enough of the terms, scored for all of them."""
        if not rows:
            return []
        memory = sqlite3.connect(":memory:")
        try:
            memory.execute(tables.DDL[-2])
            memory.executemany(_INTO, rows)
            lengths = {row[0]: sum(text.count(" ") + 1 for text in row[1:] if text) for row in rows}
            scores: dict[int, float] = {}
            matched: dict[int, list[str]] = {}
            for term in self.asked:
                idf = self.idf(term)
                for number, *texts in memory.execute(
                    f"SELECT rowid, {_MARKED} FROM search WHERE search MATCH ?", (term.match,)
                ):
                    times = sum(
                        weight * text.count("\x02") for weight, text in zip(_WEIGHTS, texts, strict=True) if text
                    )
                    norm = K1 * (1 - B + B * lengths[number] / self.average)
                    scores[number] = scores.get(number, 0.0) + idf * times * (K1 + 1) / (times + norm)
                    matched.setdefault(number, []).append(term.word)
        finally:
            memory.close()
        least = needed(len(self.asked))
        # Six significant digits: a score in a small store may be a millionth.
        return [(n, float(f"{score:.6g}"), matched[n]) for n, score in scores.items() if len(matched[n]) >= least]


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
