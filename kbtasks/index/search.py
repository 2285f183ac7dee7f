"""The search tables of ``index.db``: one row per piece of a note, read by SQLite's FTS5 as external content.

search_text  one row per piece: a heading-bounded section, or part of one longer than PIECE characters
    id              note rowid * 4096 + ordinal, so that ``id >> 12`` is the note; every note has an ordinal 0
    line, start_byte, end_byte   where the piece stands in the file; these bytes are ``body`` in the note's encoding
    title           the note's title                  heading   the headings above, its own last, one a line
    body            the piece exactly as written      words     whole identifiers and more, see ``tokens.identifiers``
    alias, path, tags, meta   of the note, only at ordinal 0; meta: values of the other front matter, without keys
    grams           1 where the row has text for search_grams
search       FTS5 over the eight text columns, porter and unicode61 restricted to letters of cased scripts and digits
search_grams FTS5 over the bigrams and words of uncased scripts (``tokens.grams``), computed by a view
search_whole  FTS5 of the unstemmed words of each note (rowid: the note's), without places: who holds a word, exactly
search_row, search_grams_row   fts5vocab of each: term, doc (rows that hold it), cnt

SQLite 3.40 cannot delete from a contentless table, so the text is kept: a row is deleted with its old values first.
"""

from __future__ import annotations

from unicodedata import normalize

from kbtasks.index import tokens

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.model.note import ParsedNote

    Piece = tuple[int, int, int, str, str]

#: Longest piece in characters before a section is cut, at a blank line, a line end, or else a space.
PIECE = 4000
#: Bits of a row's id that number the pieces of a note.
SHIFT = 12
_MAX_PIECES = (1 << SHIFT) - 1
_MAX_META = 1 << 16
#: Characters of notes that are held before they are written together.
_BATCH = 1 << 20
_OWN_COLUMNS = frozenset(("title", "aliases", "alias", "tags", "tag"))

#: The FTS columns in order; ranking gives their weights in this order.
COLUMNS = ("title", "heading", "body", "words", "alias", "path", "tags", "meta")
_LIST = ", ".join(COLUMNS)

#: Cased letters and digits only: other scripts are served by ``search_grams``. (Its categories do not know Han and Hangul,
#: which would be one huge token a sentence; ``tokens.spaced`` takes them away before.)
TOKENIZER = "\"porter unicode61 remove_diacritics 2 categories 'Lu Ll Lt N* Co'\""

DDL = f"""
CREATE TABLE search_text (
    id INTEGER PRIMARY KEY, line INTEGER NOT NULL, start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL,
    grams INTEGER NOT NULL, {", ".join(f"{column} TEXT NOT NULL" for column in COLUMNS)}
);
CREATE VIEW search_plain_text AS SELECT id, {", ".join(f"kb_spaced({column}) AS {column}" for column in COLUMNS)}
    FROM search_text;
CREATE VIEW search_grams_text AS SELECT id, kb_grams(title || ' ' || alias) AS title,
    kb_grams(heading || ' ' || body || ' ' || path || ' ' || tags || ' ' || meta) AS body
    FROM search_text WHERE grams = 1;
CREATE VIRTUAL TABLE search USING fts5 ({_LIST}, content='search_plain_text', content_rowid='id',
    tokenize={TOKENIZER});
CREATE VIRTUAL TABLE search_grams USING fts5 (title, body, content='search_grams_text', content_rowid='id',
    tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*'");
CREATE VIRTUAL TABLE search_whole USING fts5 (text, content='', detail=none, columnsize=0,
    tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co'");
CREATE VIRTUAL TABLE search_row USING fts5vocab ('search', 'row');
CREATE VIRTUAL TABLE search_grams_row USING fts5vocab ('search_grams', 'row');
INSERT INTO search (search, rank) VALUES ('hashsize', 4194304);
"""


def create(connection: Connection) -> None:
    """Create the search tables in an empty database, inside the open transaction."""
    for statement in DDL.split(";\n"):
        if statement.strip():
            connection.execute(statement)


class Loader:
    """Adds notes to the search tables, many at a time: the work of one kind stays together, which is kind to caches.

    What was added stands in the tables after ``flush``.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held: list[tuple[int, tuple[str, str, str, str, str], list[Piece]]] = []
        self._size = 0

    def add(self, rowid: int, note: ParsedNote, *, derived: tuple[int, int] | None = None) -> None:
        """Take the pieces of ``note``, whose row in the table ``note`` is ``rowid``.

        derived: byte range that is no text to be found (the catalog's region, already blank in ``note``).
        """
        title = _clean(note.title)
        alias = _clean("\n".join(note.aliases))
        path = _clean(normalize("NFC", note.path))
        tags = _clean("\n".join(dict.fromkeys(tag.name for tag in note.tags)))
        meta = _clean(_meta_text(note.meta))
        self._held.append((rowid, (title, alias, path, tags, meta), list(_pieces(note, derived))))
        self._size += len(note.text)
        if self._size >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what was taken."""
        names = [
            [tokens.identifiers("\n".join(beside)), *[tokens.identifiers(piece[4]) for piece in pieces]]
            for _, beside, pieces in self._held
        ]
        texts: list[tuple[int | str, ...]] = []
        plain: list[tuple[int | str, ...]] = []
        in_grams: list[tuple[int, str, str]] = []
        whole: list[tuple[int, str]] = []
        for (rowid, beside, pieces), (first, *own) in zip(self._held, names, strict=True):
            title, alias, path, tags, meta = beside
            bodies: list[str] = []
            for ordinal, (line, start, end, heading, body) in enumerate(pieces):
                row = rowid << SHIFT | ordinal
                words = own[ordinal]
                values: tuple[str, ...] = (title, heading, body, words, "", "", "", "")
                seen_by_grams = f"{heading} {body}"
                if ordinal == 0:
                    values = (title, heading, body, f"{first} {words}".strip(), alias, path, tags, meta)
                    seen_by_grams = f"{heading} {body} {path} {tags} {meta}"
                in_title = tokens.grams(f"{title} {values[4]}")
                in_body = tokens.grams(seen_by_grams)
                grams = 1 if in_title or in_body else 0
                if grams:
                    in_grams.append((row, in_title, in_body))
                texts.append((row, line, start, end, grams, *values))
                seen = [text if text.isascii() else tokens.spaced(text) for text in values]
                bodies.append(seen[2])
                plain.append((row, *seen))
            whole.append((rowid, _whole([*map(tokens.spaced, beside)], bodies)))
        self._held.clear()
        self._size = 0
        many = self._connection.executemany
        many("INSERT INTO search_text VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", texts)
        many(f"INSERT INTO search (rowid, {_LIST}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", plain)
        many("INSERT INTO search_grams (rowid, title, body) VALUES (?, ?, ?)", in_grams)
        many("INSERT INTO search_whole (rowid, text) VALUES (?, ?)", whole)


def add(connection: Connection, rowid: int, note: ParsedNote, *, derived: tuple[int, int] | None = None) -> None:
    """Add the pieces of one ``note``, see Loader."""
    loader = Loader(connection)
    loader.add(rowid, note, derived=derived)
    loader.flush()


def remove(connection: Connection, rowid: int) -> None:
    """Remove the pieces of the note ``rowid``; nothing happens where it has none."""
    low, high = rowid << SHIFT, (rowid + 1) << SHIFT
    rows = connection.execute(
        f"SELECT id, grams, {_LIST} FROM search_text WHERE id >= ? AND id < ?", (low, high)
    ).fetchall()
    bodies: list[str] = []
    beside: list[str] = []
    for row, grams, *values in rows:
        seen = tuple(map(tokens.spaced, values))
        bodies.append(seen[2])
        beside = beside or [seen[0], *seen[4:]]
        connection.execute(
            f"INSERT INTO search (search, rowid, {_LIST}) VALUES ('delete', ?, ?, ?, ?, ?, ?, ?, ?, ?)", (row, *seen)
        )
        if grams:
            title, heading, body, _, alias, path, tags, meta = values
            old = (tokens.grams(f"{title} {alias}"), tokens.grams(f"{heading} {body} {path} {tags} {meta}"))
            connection.execute(
                "INSERT INTO search_grams (search_grams, rowid, title, body) VALUES ('delete', ?, ?, ?)", (row, *old)
            )
    if rows:
        sql = "INSERT INTO search_whole (search_whole, rowid, text) VALUES ('delete', ?, ?)"
        connection.execute(sql, (rowid, _whole(beside, bodies)))
    connection.execute("DELETE FROM search_text WHERE id >= ? AND id < ?", (low, high))


def _whole(beside: list[str], bodies: list[str]) -> str:
    """What ``search_whole`` is given for a note: everything of it, folded, since unicode61 folds letters one by one only."""
    return tokens.fold("\n".join((*beside, "".join(bodies))))


def optimize(connection: Connection) -> None:
    """Merge the FTS segments after a bulk load: smaller, and quicker to ask."""
    for table in ("search", "search_grams", "search_whole"):
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def faults(connection: Connection) -> list[str]:
    """What an integrity check of the search tables against their text finds wrong, as sentences; empty when sound."""
    from sqlite3 import DatabaseError, OperationalError

    for name, function in (("kb_grams", tokens.grams), ("kb_spaced", tokens.spaced)):
        try:
            connection.execute(f"SELECT {name}('')")
        except OperationalError:  # not known here yet; one that is may be in use by FTS5 and cannot be replaced
            connection.create_function(name, 1, function, deterministic=True)
    found = []
    for table in ("search", "search_grams", "search_whole"):
        try:
            connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
        except DatabaseError as error:
            found.append(f"{table} does not agree with its text: {error}")
    return found


def _clean(text: str) -> str:
    """``text`` as SQLite can hold it: bytes that are not UTF-8 become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


def _meta_text(meta: dict[str, Any]) -> str:
    """The text values of front matter other than title, aliases and tags, one a line, bounded."""
    out: list[str] = []
    size = 0
    left: list[Any] = [value for key, value in reversed(meta.items()) if key.lower() not in _OWN_COLUMNS]
    while left and size < _MAX_META:
        value = left.pop()
        if isinstance(value, dict):
            left.extend(reversed(value.values()))
        elif isinstance(value, list):
            left.extend(reversed(value))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            text = str(value)[:_MAX_META]
            size += len(text) + 1
            out.append(text)
    return "\n".join(out)


def _pieces(note: ParsedNote, derived: tuple[int, int] | None) -> Iterator[Piece]:
    """(line, start byte, end byte, headings, text) of each piece of the body without ``derived``; at least one."""
    if note.text.isascii() and note.encoding == "utf-8" and derived is None:
        yield from _plain_pieces(note)
        return
    errors = {"utf-8": "surrogateescape", "latin-1": "replace"}.get(note.encoding, "surrogatepass")
    data = (note.text if note.exact is None else note.exact).encode(note.encoding, errors)
    mark = note.skipped  # a byte order mark is no part of the text
    from kbtasks.vault.decode import shown

    sections = _sections(note)
    if derived is not None and derived[0] < derived[1]:
        sections = _outside(sections, derived, data, mark)
    sections, limit = _few(note, sections)
    one_byte = note.encoding == "latin-1"
    for first, start, end, heading in sections:
        text = data[start - mark : end - mark].decode(note.encoding, errors)
        at, line = start, first
        for part in cut(text, limit):
            plain = one_byte or (part.isascii() and note.encoding == "utf-8")
            size = len(part) if plain else len(part.encode(note.encoding, errors))
            yield line, at, at + size, _clean(heading), _clean(part if note.exact is None else shown(part))
            at += size
            line += part.count("\n")


def _plain_pieces(note: ParsedNote) -> Iterator[Piece]:
    """The same where each character is one byte."""
    text = note.text
    mark = note.skipped
    sections, limit = _few(note, _sections(note))
    for first, start, end, heading in sections:
        at, line = start, first
        for part in cut(text[start - mark : end - mark], limit):
            yield line, at, at + len(part), _clean(heading), part
            at += len(part)
            line += part.count("\n")


def _sections(note: ParsedNote) -> list[tuple[int, int, int, str]]:
    """(line, start byte, end byte, headings) of the note's sections, or of its whole body where it has none."""
    if not note.sections:
        return [(note.body_line, note.body_start, note.size, "")]
    return [(s.line, s.start, s.end, "\n".join(s.path)) for s in note.sections]


def _few(note: ParsedNote, sections: list[tuple[int, int, int, str]]) -> tuple[list[tuple[int, int, int, str]], int]:
    """The sections to cut and the longest piece: of a huge file, one section in larger pieces."""
    total = sum(max(end - start, 0) for _, start, end, _ in sections)
    if len(sections) + total // PIECE * 2 <= _MAX_PIECES:
        return sections, PIECE
    # (a derived region in it is blank all the same)
    return [(note.body_line, note.body_start, note.size, "")], max(PIECE, total // (_MAX_PIECES // 4))


def _outside(
    sections: list[tuple[int, int, int, str]], derived: tuple[int, int], data: bytes, mark: int
) -> list[tuple[int, int, int, str]]:
    """What of each section lies before and after the range ``derived``; never nothing."""
    low, high = derived
    kept: list[tuple[int, int, int, str]] = []
    for line, start, end, heading in sections:
        if start < min(end, low) or not kept:
            kept.append((line, start, max(start, min(end, low)), heading))
        after = max(start, high)
        if after < end:
            kept.append((line + data.count(b"\n", start - mark, after - mark), after, end, heading))
    return kept


def cut(text: str, limit: int) -> Iterator[str]:
    """``text`` in parts of about ``limit`` characters at most, never cut inside a word; joined they are ``text``."""
    start = 0
    while len(text) - start > limit:
        end = text.rfind("\n\n", start + limit // 2, start + limit)
        end = end + 2 if end >= 0 else text.rfind("\n", start + limit // 2, start + limit) + 1
        if end <= 0:
            end = _gap(text, start + limit)
        yield text[start:end]
        start = end
    if start < len(text) or not text:
        yield text[start:]


def _gap(text: str, wanted: int) -> int:
    """The first place from ``wanted`` on where no word is cut; the end of ``text`` where there is none."""
    end = wanted
    while end < len(text) and not text[end - 1].isspace() and text[end - 1] not in "。！？；，、":
        end += 1
    return end
