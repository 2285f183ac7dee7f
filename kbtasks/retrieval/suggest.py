"""Help with spelling: titles, tags and words of the vault that are written almost like what was asked."""

from __future__ import annotations

from kbtasks.index import tokens
from kbtasks.retrieval.terms import MIN_MISSPELT, is_known

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.retrieval.query import Query
    from kbtasks.retrieval.scratch import Scratch

MAX_SUGGESTIONS = 5
#: Terms and names that are compared.
_MAX_TERMS = 200_000
#: In a vault of more pieces than this only terms that begin with the first or second letter of what was typed are compared:
#: reading the terms costs as much as all the text they stand in.
_FEW_PIECES = 10_000
_CLOSE = 78.0


def near_words(connection: Connection, scratch: Scratch, words: Sequence[str], limit: int = 3) -> dict[str, list[str]]:
    """For each of ``words``, at most ``limit`` stems of the vault spelled almost like it, the nearest first.

    Words shorter than four letters, and words of scripts without spaces, have none.
    """
    from rapidfuzz import fuzz, process

    wanted = {
        word: scratch.stems([word])[0]
        for word in words
        if len(word) >= MIN_MISSPELT and word.isalnum() and not tokens.grams(word)
    }
    if not wanted:
        return {}
    known = _terms(connection, set(wanted.values()))
    found = {}
    for word, stem in wanted.items():
        close = process.extract(stem, known, scorer=fuzz.ratio, limit=limit + 1, score_cutoff=_CLOSE)
        near = [term for term, _, _ in close if term != stem and abs(len(term) - len(stem)) <= 2][:limit]
        if near:
            found[word] = near
    return found


def _terms(connection: Connection, stems: set[str]) -> list[str]:
    """The stems of the vault that ``stems`` are compared with: all, or in a large vault those that begin like them."""
    sql = "SELECT term FROM search_row WHERE length(term) BETWEEN 3 AND 40"
    pieces = connection.execute("SELECT count(*) FROM search_docsize").fetchone()[0]
    if pieces <= _FEW_PIECES:
        rows = connection.execute(f"{sql} LIMIT ?", (_MAX_TERMS,)).fetchall()
    else:
        rows = []
        for letter in sorted({letter for stem in stems for letter in stem[:2]}):
            asked = (letter, letter + chr(0x10FFFF), _MAX_TERMS - len(rows))
            rows += connection.execute(f"{sql} AND term >= ? AND term < ? LIMIT ?", asked).fetchall()
    return [term for (term,) in rows if term.isalpha()]


def suggestions(connection: Connection, scratch: Scratch, asked: Query) -> list[dict[str, Any]]:
    """What may have been meant, nearest first: titles, aliases and tags like the whole query, words like its unknown ones."""
    whole = asked.whole
    if len(whole) < MIN_MISSPELT or len(whole) > 200:
        return []
    from rapidfuzz import fuzz, process

    rows = connection.execute(
        "SELECT key, kind FROM name WHERE kind IN ('title', 'alias', 'basename') UNION SELECT key, 'tag' FROM tag LIMIT ?",
        (_MAX_TERMS,),
    ).fetchall()
    close = process.extract(
        whole, [str(key) for key, _ in rows], scorer=fuzz.ratio, limit=4 * MAX_SUGGESTIONS, score_cutoff=_CLOSE
    )
    found: dict[str, dict[str, Any]] = {}
    for key, score, at in sorted(close, key=lambda item: (-item[1], item[0], item[2])):
        if key != whole:
            found.setdefault(key, {"text": key, "kind": rows[at][1], "likeness": round(score / 100, 2)})
    unknown = [word for word in asked.all_words if not is_known(connection, scratch, word)]
    for word, near in near_words(connection, scratch, unknown).items():
        for term in near:
            surface = _surface(connection, term)
            found.setdefault(
                surface, {"text": surface, "kind": "word", "likeness": round(fuzz.ratio(word, surface) / 100, 2)}
            )
    ordered = sorted(found.values(), key=lambda each: (-each["likeness"], each["text"]))
    return ordered[:MAX_SUGGESTIONS]


def _surface(connection: Connection, stem: str) -> str:
    """A word of the vault with this stem, as written there (folded); the stem where none is found quickly."""
    sql = """SELECT body, title, alias, path, tags, meta FROM search_text
        WHERE id IN (SELECT rowid FROM search WHERE search MATCH ? LIMIT 3)"""
    start = stem[:-1] if len(stem) > 3 else stem
    seen: dict[str, int] = {}
    for texts in connection.execute(sql, (f'"{stem}"',)):
        for text in texts:
            for word in tokens.pieces(tokens.fold(text[:20_000])):
                if word.startswith(start) and len(word) <= len(stem) + 4:
                    seen[word] = seen.get(word, 0) + 1
    return min(seen, key=lambda word: (-seen[word], word)) if seen else stem
