"""A small FTS5 table in memory with the tokenizer of the index: stems of words, counts in a few rows, marked text.

SQLite does not tell how often a term stands in a row of a large table without reading all its rows; the candidates of one
search, put into a table of their own, answer in a few milliseconds, with exactly the same tokens.
"""

from __future__ import annotations

from kbtasks.index.search import COLUMNS, TOKENIZER

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection
    from typing import Any

_OPEN, _CLOSE = "\x01", "\x02"


class Scratch:
    """The table in memory. One per search; nothing of it is kept."""

    def __init__(self) -> None:
        self._made: Connection | None = None
        self._stems: dict[str, str] = {}

    @property
    def _connection(self) -> Connection:
        """Made on first use: a search for exact words needs none."""
        if self._made is None:
            from _sqlite3 import connect  # sqlite3 adds what is not used here, and is not cheap to load

            self._made = connect(":memory:", isolation_level=None)
            run = self._made.execute
            run("PRAGMA trusted_schema = ON")
            run(f"CREATE VIRTUAL TABLE asked USING fts5 (word, tokenize={TOKENIZER})")
            run("CREATE VIRTUAL TABLE asked_at USING fts5vocab ('asked', 'instance')")
            run(f"CREATE VIRTUAL TABLE piece USING fts5 ({', '.join(COLUMNS)}, tokenize={TOKENIZER})")
            run("CREATE VIRTUAL TABLE piece_at USING fts5vocab ('piece', 'instance')")
        return self._made

    def close(self) -> None:
        """Free the memory."""
        if self._made is not None:
            self._made.close()

    def stems(self, words: Iterable[str]) -> list[str]:
        """The stem of each of ``words`` (single tokens), in order; '' where the tokenizer sees no token."""
        wanted = list(words)
        new = [word for word in dict.fromkeys(wanted) if word not in self._stems]
        if new:
            run = self._connection.execute
            run("BEGIN")
            self._connection.executemany("INSERT INTO asked (rowid, word) VALUES (?, ?)", list(enumerate(new)))
            found: dict[int, str] = {}
            for row, term in run("SELECT doc, term FROM asked_at ORDER BY doc, offset"):
                found.setdefault(row, term)
            run("ROLLBACK")
            self._stems.update((word, found.get(number, "")) for number, word in enumerate(new))
        return [self._stems[word] for word in wanted]

    def load(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add ``rows``: each an id and the texts of COLUMNS."""
        places = ", ".join("?" * (len(COLUMNS) + 1))
        self._connection.execute("BEGIN")
        self._connection.executemany(f"INSERT INTO piece (rowid, {', '.join(COLUMNS)}) VALUES ({places})", rows)
        self._connection.execute("COMMIT")

    def counts(self, stems: Sequence[str]) -> dict[int, dict[str, dict[str, int]]]:
        """How often each of ``stems`` stands in the loaded rows: row -> stem -> column -> count."""
        found: dict[int, dict[str, dict[str, int]]] = {}
        places = ", ".join("?" * len(stems))
        sql = f"SELECT doc, term, col, count(*) FROM piece_at WHERE term IN ({places}) GROUP BY doc, term, col"
        for row, term, column, count in self._connection.execute(sql, list(stems)):
            found.setdefault(row, {}).setdefault(term, {})[column] = count
        return found

    def places(self, row: int, expression: str, column: int = 2) -> list[tuple[int, int]]:
        """(start, end) in characters of what ``expression`` matches in one loaded row's column (2: the body), in order."""
        sql = f"SELECT highlight(piece, ?, '{_OPEN}', '{_CLOSE}') FROM piece WHERE piece MATCH ? AND rowid = ?"
        found = self._connection.execute(sql, (column, expression, row)).fetchone()
        if found is None:
            return []
        return _marked(found[0], self._text(row, column))

    def _text(self, row: int, column: int) -> str:
        sql = f"SELECT {COLUMNS[column]} FROM piece WHERE rowid = ?"
        return str(self._connection.execute(sql, (row,)).fetchone()[0])


def _marked(marked: str, text: str) -> list[tuple[int, int]]:
    """The places between marks; a mark that stands in ``text`` itself is told from ours by walking both together."""
    found: list[tuple[int, int]] = []
    if _OPEN not in text and _CLOSE not in text:
        at = 0
        for number, part in enumerate(marked.replace(_CLOSE, _OPEN).split(_OPEN)):
            if number % 2:
                found.append((at, at + len(part)))
            at += len(part)
        return found
    at = start = 0
    inside = False
    for char in marked:
        if at < len(text) and char == text[at]:
            at += 1
        elif char == _OPEN and not inside:
            start, inside = at, True
        elif char == _CLOSE and inside:
            found.append((start, at))
            inside = False
    return found
