"""From words to the search tables: the FTS5 expressions that find a word, and how rare it is."""

from __future__ import annotations

from kbtasks.index import tokens
from kbtasks.index.search import SHIFT

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from sqlite3 import Connection

    from kbtasks.retrieval.scratch import Scratch


#: Shorter words are never taken for misspelt: too many others are one letter away.
MIN_MISSPELT = 4


def quoted(token: str) -> str:
    """``token`` as an FTS5 string."""
    return '"' + token.replace('"', '""') + '"'


def phrase_expression(word: str) -> tuple[str, str] | None:
    """(table, FTS5 expression) whose rows include every row that holds the folded ``word``; None where no index can tell."""
    if tokens.is_unspaced(word):
        if len(word) == 1:
            return "search_grams", quoted(word) + " *"
        return "search_grams", quoted(" ".join(word[at : at + 2] for at in range(len(word) - 1)))
    pieces = tokens.pieces(word)
    if not pieces:
        return None
    if all(tokens.is_plain(piece) for piece in pieces):
        return "search_whole", " AND ".join(map(quoted, pieces))
    longest = max(pieces, key=len)
    if tokens.grams(longest):
        return ("search_grams", quoted(longest)) if tokens.grams(longest) == longest else None
    return "search", quoted(longest)


def is_decided(word: str) -> bool:
    """Whether ``notes_with`` is exact for the folded ``word``: one run of plain letters and digits."""
    return tokens.pieces(word) == [word] and tokens.is_plain(word) and not tokens.is_unspaced(word)


def notes_with(connection: Connection, word: str) -> set[int] | None:
    """Rowids of a superset of the notes that hold the folded ``word``; None where the index cannot tell (then: any note)."""
    found = phrase_expression(word)
    if found is None:
        return None
    table, expression = found
    note = "rowid" if table == "search_whole" else f"DISTINCT rowid >> {SHIFT}"
    rows = connection.execute(f"SELECT {note} FROM {table} WHERE {table} MATCH ?", (expression,))
    return {note for (note,) in rows}


def json_list(numbers: Iterable[int]) -> str:
    """Whole numbers as a JSON list, to be bound and read with ``json_each``."""
    return "[" + ",".join(map(str, numbers)) + "]"


def rarest(connection: Connection, scratch: Scratch, words: list[str], limit: int, *, keep_unknown: bool) -> list[str]:
    """The ``limit`` rarest of ``words``, in their order.

    keep_unknown: a word that no note holds counts as the rarest (a note must hold every word); else it counts as the last.
    """
    if len(words) <= limit:
        return words
    counts = [_count(connection, scratch, word) for word in words]
    order = sorted(range(len(words)), key=lambda at: (counts[at] == 0 and not keep_unknown, counts[at], at))
    return [words[at] for at in sorted(order[:limit])]


def _count(connection: Connection, scratch: Scratch, word: str) -> int:
    """The number of rows that hold the rarest piece of ``word``."""
    if tokens.is_unspaced(word):
        table, terms = "search_grams_row", [word[at : at + 2] for at in range(max(1, len(word) - 1))]
    else:
        table, terms = "search_row", scratch.stems(tokens.pieces(word))
    return min((document_count(connection, table, term) for term in terms), default=0)


def document_count(connection: Connection, table: str, term: str) -> int:
    """The number of rows whose term in the vocabulary ``table`` (``search_row`` or ``search_grams_row``) is ``term``."""
    row = connection.execute(f"SELECT doc FROM {table} WHERE term = ?", (term,)).fetchone()
    return int(row[0]) if row else 0


def has_unknown_word(connection: Connection, scratch: Scratch, words: Iterable[str]) -> bool:
    """Whether some word of ``words`` (folded) that could be a slip of the pen stands in no note of the vault.

    Words shorter than four letters, identifiers with marks in them and scripts without spaces are never taken for slips.
    """
    for word in words:
        if (
            len(word) >= MIN_MISSPELT
            and word.isalnum()
            and not tokens.grams(word)
            and not is_known(connection, scratch, word)
        ):
            return True
    return False


def is_known(connection: Connection, scratch: Scratch, word: str) -> bool:
    """Whether some note holds the folded ``word`` by its stem."""
    stem = scratch.stems([word])[0]
    return bool(stem) and document_count(connection, "search_row", stem) > 0


def best_rows(
    connection: Connection,
    table: str,
    rank: str,
    expression: str,
    limit: int,
    allowed: Collection[int] | None = None,
) -> list[int]:
    """Rows of the FTS5 ``table`` that match ``expression``, at most ``limit``, best by ``rank``; only of notes ``allowed``.

    Of rows that are equally good at the cut, those of the first paths are taken: row ids differ after a rebuild.
    """
    matching = f"{table} MATCH ? AND rank MATCH ?"
    values: list[str | int] = [expression, rank]
    if allowed is not None:
        matching += f" AND ({table}.rowid >> {SHIFT}) IN (SELECT value FROM json_each(?))"
        values.append(json_list(allowed))
    sql = f"SELECT rowid, rank FROM {table} WHERE {matching} ORDER BY rank, rowid LIMIT ?"
    rows = connection.execute(sql, [*values, limit + 1]).fetchall()
    if len(rows) <= limit or rows[limit][1] != rows[limit - 1][1]:
        return [row for row, _ in rows[:limit]]
    worst = rows[limit][1]
    kept = [row for row, how_good in rows[:limit] if how_good != worst]
    sql = (
        f"SELECT found.row FROM (SELECT {table}.rowid AS row, +rank AS worth FROM {table} WHERE {matching}) AS found"
        f" JOIN note ON note.rowid = found.row >> {SHIFT} WHERE found.worth = ? ORDER BY note.path, found.row LIMIT ?"
    )
    return kept + [row for (row,) in connection.execute(sql, [*values, worst, limit - len(kept)])]
