"""The structure tables of ``index.db``: everything a command may ask about notes without reading the vault.

Other floors write SQL against these names; they stay stable. A changed column means a new SCHEMA_VERSION, and the next
call rebuilds the file. Text columns hold text exactly as in the vault; ``key`` columns hold it folded for comparing
(NFC, case-folded, see ``kbtasks.vault.resolve``). A path that is not UTF-8 on disk is stored as its raw bytes in a
TEXT column; connections of a View read it back with ``surrogateescape``. To look such a path up, bind it with
``bindable`` and compare with ``CAST(? AS TEXT)``, or ask ``View.note_id(path)``. Row ids differ between an incremental
refresh and a rebuild: never order by them, order by path.

note        one row per note that could be read
    rowid           its number in the other tables (their column ``note``) and in the search tables
    path, id        vault-relative with POSIX separators, as on disk; the same without ``.md``, NFC
    folder          the path's folder, '' at the top
    title           and title_source: frontmatter, heading, name
    type, status    front matter, or NULL
    summary         at most 180 characters
    size, revision  of the file's bytes; revision is 'sha256:' and 64 hex digits
    mtime_ns        time of the last change, nanoseconds since 1970
    encoding        utf-8, utf-16-le, utf-16-be, latin-1
    body_start      where the body begins, in bytes; body_line: its line, from 1
    meta            front matter as a JSON object
    aliases, tags   JSON lists of text, in order; tags without '#'
    generated       1 for the catalog page (its listing is derived), else 0
    facets          see facets.py

name        what a link may call a note: several rows per note
    key, kind       kind 'path': folded path without ``.md``; 'basename': folded file name without it; 'alias'; 'title'
    note

heading     (note, ordinal from 0): level 1 to 6, text, line, start_byte, end_byte of the heading line
section     (note, ordinal from 0): path (headings from the outermost, joined by newlines; '' before the first),
            line, end_line, start_byte, end_byte (its own heading line included)
block       (note, ordinal from 0): name (block id without '^'), line
tag         (note, ordinal from 0): name (letter case kept, no '#'), key (folded), source (inline, frontmatter), line,
            start_byte, end_byte. Tags nested below ``a``: key = 'a' OR (key > 'a/' AND key < 'a0')

scope       (scope, note): each text entry of the front matter field ``repository_scopes`` as written, at most 64 per
            note: which notes speak of a code path is a lookup by scope

link        a view: each link as written, with what it means now
    note, ordinal   the source note and the link's place in its order, from 0
    kind            wikilink, embed, markdown, image, reference, property, relation
    raw, target, fragment, label, predicate, line, start_byte, end_byte   as in ``kbtasks.model.note.Link``
    generated       1 when the link stands in the derived region of the catalog page: not a person's link
    state           ok, self (a bare #fragment), broken, ambiguous, external, attachment, missing-attachment
    how             id, relative, own-folder, shortest, case, percent, alias, title, ... ; NULL where nothing answered
    target_note     rowid of the note it leads to (its own for a self link), or NULL
    target_path     path of the attachment it leads to, or NULL
    fragment_ok     1 when the heading or block exists, 0 when not, NULL without fragment or target
    obsidian        1 when Obsidian itself would follow it, else 0
    candidates      JSON list of paths, or NULL where there are none
    Made of ``link_text`` (as written) and ``resolution`` (one row per source folder, kind, target and fragment).

problem     faults found while reading: path, line (0: the whole file), code, message, note (NULL where it is no note)
attachment  files that are not notes: path, kind (attachment, guide), key (folded path), basename (its last segment)
directory   what the sweep saw: path ('' is the root), entries, stats (see sweep.py). Only the sweep reads it.
meta        key, value: 'facet.*' and 'made.*' (see facets.py), 'settings' (kb.toml as JSON), 'settings.stat', 'ignore',
            'odd' (1: some text is not UTF-8), 'generation' (counts committed deltas)
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection

#: Counts up with every change of a table here, of the search tables, or of the rules that fill them.
SCHEMA_VERSION = 6

#: ``PRAGMA application_id`` of our databases: "kbtk". A file with another one is not ours.
APPLICATION_ID = 0x6B62746B

DDL = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE directory (path TEXT PRIMARY KEY, entries BLOB NOT NULL, stats BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE note (
    rowid INTEGER PRIMARY KEY, path TEXT NOT NULL, id TEXT NOT NULL, folder TEXT NOT NULL, title TEXT NOT NULL,
    title_source TEXT NOT NULL, type TEXT, status TEXT, summary TEXT NOT NULL, size INTEGER NOT NULL,
    revision TEXT NOT NULL, mtime_ns INTEGER NOT NULL, encoding TEXT NOT NULL, body_start INTEGER NOT NULL,
    body_line INTEGER NOT NULL,
    meta TEXT NOT NULL, aliases TEXT NOT NULL, tags TEXT NOT NULL, generated INTEGER NOT NULL, facets BLOB NOT NULL
);
CREATE TABLE name (
    key TEXT NOT NULL, kind TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (key, kind, note)
) WITHOUT ROWID;
CREATE TABLE heading (
    note INTEGER NOT NULL, ordinal INTEGER NOT NULL, level INTEGER NOT NULL, text TEXT NOT NULL, line INTEGER NOT NULL,
    start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL, PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE TABLE section (
    note INTEGER NOT NULL, ordinal INTEGER NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL,
    end_line INTEGER NOT NULL, start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL, PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE TABLE block (
    note INTEGER NOT NULL, ordinal INTEGER NOT NULL, name TEXT NOT NULL, line INTEGER NOT NULL,
    PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE TABLE tag (
    note INTEGER NOT NULL, ordinal INTEGER NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, source TEXT NOT NULL,
    line INTEGER NOT NULL, start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL, PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE TABLE scope (scope TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (scope, note)) WITHOUT ROWID;
CREATE TABLE resolution (
    rowid INTEGER PRIMARY KEY, scope TEXT NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, fragment TEXT,
    key TEXT NOT NULL, state TEXT NOT NULL, how TEXT, target_note INTEGER, target_path TEXT, fragment_ok INTEGER,
    obsidian INTEGER NOT NULL, candidates TEXT, facet BLOB NOT NULL
);
CREATE TABLE resolution_key (
    key TEXT NOT NULL, resolution INTEGER NOT NULL, PRIMARY KEY (key, resolution)
) WITHOUT ROWID;
CREATE TABLE link_text (
    note INTEGER NOT NULL, ordinal INTEGER NOT NULL, kind TEXT NOT NULL, raw TEXT NOT NULL, target TEXT NOT NULL,
    fragment TEXT, label TEXT, predicate TEXT, line INTEGER NOT NULL, start_byte INTEGER NOT NULL,
    end_byte INTEGER NOT NULL, generated INTEGER NOT NULL, resolution INTEGER NOT NULL, PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE VIEW link AS SELECT
    l.note AS note, l.ordinal AS ordinal, l.kind AS kind, l.raw AS raw, l.target AS target, l.fragment AS fragment,
    l.label AS label, l.predicate AS predicate, l.line AS line, l.start_byte AS start_byte, l.end_byte AS end_byte,
    l.generated AS generated, r.state AS state,
    r.how AS how, r.target_note AS target_note, r.target_path AS target_path, r.fragment_ok AS fragment_ok,
    r.obsidian AS obsidian, r.candidates AS candidates
    FROM link_text AS l JOIN resolution AS r ON r.rowid = l.resolution;
CREATE TABLE problem (
    rowid INTEGER PRIMARY KEY, path TEXT NOT NULL, line INTEGER NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,
    note INTEGER, folder TEXT
);
CREATE TABLE attachment (
    path TEXT PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, basename TEXT NOT NULL
) WITHOUT ROWID;
"""

#: Made after a bulk load of notes, when the rows are there to be sorted once.
NOTE_INDEXES = """
CREATE UNIQUE INDEX note_path ON note (path);
CREATE INDEX name_note ON name (note);
CREATE INDEX tag_key ON tag (key);
CREATE INDEX scope_note ON scope (note);
CREATE INDEX problem_path ON problem (path);
CREATE INDEX problem_note ON problem (note);
CREATE INDEX attachment_basename ON attachment (basename);
CREATE INDEX attachment_key ON attachment (key);
"""

#: Made after the links are resolved.
LINK_INDEXES = """
CREATE INDEX link_resolution ON link_text (resolution);
CREATE INDEX resolution_asked ON resolution (target, scope);
CREATE INDEX resolution_main ON resolution (key);
CREATE INDEX resolution_target ON resolution (target_note);
CREATE INDEX resolution_file ON resolution (target_path);
CREATE INDEX resolution_key_of ON resolution_key (resolution);
"""


def create(connection: Connection) -> None:
    """Create all structure tables in an empty database, without their indexes."""
    run(connection, DDL)


def run(connection: Connection, script: str) -> None:
    """Run each statement inside the open transaction; ``executescript`` would commit it first."""
    for statement in script.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def bindable(text: str) -> str | bytes:
    """``text`` as SQLite can take it: itself, or its raw bytes where it holds surrogates.

    Compare with ``CAST(? AS TEXT)``, which leaves text as it is and reads bytes as text.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass" if _has_pairs(text) else "surrogateescape")
    return text


def as_text(data: bytes) -> str:
    """The text of a TEXT value in a database that holds some that is not UTF-8 (a ``text_factory``)."""
    return data.decode("utf-8", "surrogateescape")


def _has_pairs(text: str) -> bool:
    """Whether ``text`` holds surrogates that do not come from a file name's bytes."""
    return any("\ud800" <= char <= "\udfff" and not "\udc80" <= char <= "\udcff" for char in text)
