"""The tables of the resource store, one SQLite file.

record      one row per resource: ``body`` is the compact JSON whose digest is ``revision``; ``extras`` (JSON) beside it
            has its own digest and takes no part in the revision. ``seq`` grows with every write: the order of last
            write. ``dated`` is savedAt, else postedAt, else updatedAt.
label       what filters look up: kind (tag, author, domain, feature, style) and folded value
tombstone   deletions; ``detail`` (JSON, what was deleted) is dropped by gc, which marks the row ``collected``
receipt     last confirmed revision per provider and id          provider    every provider used, by key
source      progress per source, by key                           seen        digests of cursors of the running pull
capture     what a source last said of an item                    pending     records that wait for review
quarantine  items of a source that could not be taken             counter     numbers that only grow
vector      what the semantic lane compares, with the revision and model it was made from
search      FTS5 over words, stemmed                              lexical     FTS5 for the compatible lexical mode
"""

from __future__ import annotations

APPLICATION_ID = 0x6B625231  # "kbR1"
USER_VERSION = 1

#: Columns of ``search`` and their weights in BM25, in order.
SEARCH_WEIGHTS = {
    "title": 4.0, "purpose": 4.0, "usage": 4.0, "design": 4.0, "summary": 2.0, "body": 1.0, "extra": 2.0, "words": 1.0,
}  # fmt: skip
#: Columns of ``lexical`` and the weights of the compatible rule.
LEXICAL_WEIGHTS = {"design": 4, "title": 4, "purpose": 4, "usage": 4, "summary": 2, "body": 1}

_ORDINARY = """
CREATE TABLE record (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, provider TEXT NOT NULL, source_id TEXT NOT NULL,
    url TEXT NOT NULL, updated_at TEXT NOT NULL, revision TEXT NOT NULL, seq INTEGER NOT NULL, dated TEXT NOT NULL,
    analyzed INTEGER NOT NULL, body TEXT NOT NULL, extras TEXT, extras_digest TEXT);
CREATE INDEX record_seq ON record (seq);
CREATE INDEX record_url ON record (url);
CREATE INDEX record_source ON record (source_id);
CREATE INDEX record_dated ON record (dated);
CREATE TABLE label (
    kind TEXT NOT NULL, value TEXT NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (kind, value, number)) WITHOUT ROWID;
CREATE INDEX label_number ON label (number);
CREATE TABLE tombstone (
    id TEXT PRIMARY KEY, deleted_at TEXT NOT NULL, revision TEXT NOT NULL, seq INTEGER NOT NULL,
    collected INTEGER NOT NULL DEFAULT 0, detail TEXT) WITHOUT ROWID;
CREATE TABLE receipt (
    provider TEXT NOT NULL, id TEXT NOT NULL, revision TEXT NOT NULL, confirmed_at TEXT, kind TEXT NOT NULL,
    PRIMARY KEY (provider, id)) WITHOUT ROWID;
CREATE INDEX receipt_id ON receipt (id);
CREATE TABLE provider (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, config TEXT, first_used TEXT, last_used TEXT) WITHOUT ROWID;
CREATE TABLE source (
    key TEXT PRIMARY KEY, generation INTEGER NOT NULL, active INTEGER NOT NULL, cursor TEXT, checkpoint TEXT,
    coverage TEXT NOT NULL, config TEXT, received INTEGER NOT NULL DEFAULT 0, last_received INTEGER, last_at TEXT)
    WITHOUT ROWID;
CREATE TABLE seen (
    source TEXT NOT NULL, digest TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (source, digest)) WITHOUT ROWID;
CREATE TABLE capture (
    id TEXT PRIMARY KEY, title TEXT, revision TEXT NOT NULL, updated_at TEXT, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pending (
    id TEXT PRIMARY KEY, source_key TEXT NOT NULL, source_revision TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX pending_seq ON pending (seq);
CREATE TABLE quarantine (
    source TEXT NOT NULL, digest TEXT NOT NULL, reason TEXT NOT NULL, item TEXT, at TEXT NOT NULL,
    PRIMARY KEY (source, digest)) WITHOUT ROWID;
CREATE TABLE vector (
    number INTEGER PRIMARY KEY, revision TEXT NOT NULL, model TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counter VALUES ('seq', 0)
"""
_SEARCH = (
    f"""CREATE VIRTUAL TABLE search USING fts5 ({", ".join(SEARCH_WEIGHTS)},
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'")""",
    f"""CREATE VIRTUAL TABLE lexical USING fts5 ({", ".join(LEXICAL_WEIGHTS)}, content='', columnsize=0, detail=column,
    tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*'")""",
)
DDL = (*(statement for statement in _ORDINARY.strip().split(";\n")), *_SEARCH)
