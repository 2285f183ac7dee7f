"""The vectors of a vault: which pieces need encoding, encoding them, and the rows a search may trust.

The file answers for the notes it was made from. A search compares the digest of all notes' bytes; where it differs,
rows of changed and removed notes are put aside and the changed notes' pieces are encoded at once, within a bound (see
Snapshot).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.errors import Busy
from kbtasks.fsio import Lock
from kbtasks.index import modelfile, sectiontext, vectorfile
from kbtasks.index.search import SHIFT
from kbtasks.index.vectorfile import Entry, Row, VectorFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.index.encoder import Encoder
    from kbtasks.index.sectiontext import Input
    from kbtasks.index.wordpiece import WordPiece

    Progress = Callable[[int, int], None]

LOCK = "vectors.lock"
#: Counts up when the file's layout or what its header holds changes.
FORMAT = 1
#: Tokens of changed pieces that a search encodes itself, about half a second of one core.
DELTA_TOKENS = 8_192
#: Changed notes whose pieces a search reads to find what is missing; with more, it only counts them.
DELTA_NOTES = 300
#: A search adds nothing to a journal longer than this many bytes: reading it would cost each search too much.
_MAX_JOURNAL = 4 << 20
#: Tokens encoded between two writes of the journal: what an interruption may lose.
SAVE_TOKENS = 16_384


class Report:
    """What a build did: ``encoded`` and ``reused`` rows, all ``rows`` and ``notes``, size of the file in ``bytes``."""

    __slots__ = ("bytes", "encoded", "notes", "reused", "rows")

    def __init__(self, encoded: int, reused: int, rows: int, notes: int, bytes: int) -> None:
        self.encoded = encoded
        self.reused = reused
        self.rows = rows
        self.notes = notes
        self.bytes = bytes

    def to_json(self) -> dict[str, int]:
        """The figures by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def digest(connection: Connection) -> str:
    """The digest of every note's path and bytes, as the index keeps it."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'facet.prose'").fetchone()
    return str(row[0]) if row else ""


def is_current(connection: Connection, folder: str) -> bool:
    """Whether the vectors in the cache ``folder`` were made from the notes as they are now, by the pinned model."""
    file = vectorfile.open_file(folder)
    return file is not None and _usable(file) and file.header.get("digest") == digest(connection)


def build(connection: Connection, folder: str, *, progress: Progress | None = None, threads: int = 1) -> Report:
    """Make ``vectors.bin`` in ``folder`` answer for the notes of ``connection``; encode only what is not encoded yet.

    progress: called with (pieces done, pieces to do). threads: encoders run side by side, from 1 on.
    What was encoded is in the journal every few seconds, so an interruption at any moment costs little.
    Raises MissingExtra or Unavailable (no model, or not the pinned one), Busy (another build runs).
    """
    path = modelfile.require()
    modelfile.verify(path)
    os.putenv("OPENBLAS_NUM_THREADS", "1")  # read when numpy is first imported: our own threads share the processors
    os.makedirs(folder, exist_ok=True)
    with Lock(os.path.join(folder, LOCK), what="the vectors of this vault"):
        file = vectorfile.open_file(folder)
        if file is not None and not _usable(file):
            file = None
        if file is not None and file.header.get("digest") == digest(connection):
            return Report(0, file.rows, file.rows, file.notes, os.path.getsize(file.path))
        tokenizer = _tokenizer()
        vectorfile.trim_journal(folder)
        kept = vectorfile.read_journal(folder)
        entries, rows, todo = _plan(connection, file, kept, tokenizer)
        reused = sum(len(entry.rows) for entry in entries) - len(todo)
        if todo:
            from kbtasks.index.encoder import Encoder

            _encode(Encoder(path), todo, folder, rows, progress, threads)
        header = {"format": FORMAT, "model": modelfile.NAME, "sha256": modelfile.SHA256, "recipe": sectiontext.RECIPE}
        header |= {"stamp": modelfile.stamp(path), "digest": digest(connection)}
        vectorfile.write_file(folder, entries, rows, header)
        vectorfile.drop_journal(folder)
        size = os.path.getsize(os.path.join(folder, vectorfile.FILE))
        return Report(len(todo), reused, sum(len(entry.rows) for entry in entries), len(entries), size)


def discard(folder: str) -> None:
    """Delete the vectors and the journal in ``folder``, so that the next build encodes everything."""
    for name in (vectorfile.FILE, vectorfile.JOURNAL):
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            pass


def processors() -> int:
    """Encoders worth running side by side: one for each processor this process may use, at most eight."""
    try:
        return min(8, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on this platform
        return min(8, os.cpu_count() or 1)


def _usable(file: VectorFile) -> bool:
    header = file.header
    return (
        header.get("format") == FORMAT
        and header.get("sha256") == modelfile.SHA256
        and header.get("recipe") == sectiontext.RECIPE
    )


def _tokenizer() -> WordPiece:
    from kbtasks.index.wordpiece import WordPiece

    return WordPiece()


def pieces_of(connection: Connection, note: int) -> list[tuple[int, str, str, str]]:
    """(ordinal, title, headings, body) of every piece of the note with row id ``note``, in order."""
    low = note << SHIFT
    rows = connection.execute(
        "SELECT id - ?, title, heading, body FROM search_text WHERE id >= ? AND id < ? ORDER BY id",
        (low, low, (note + 1) << SHIFT),
    )
    return rows.fetchall()


def _plan(
    connection: Connection, file: VectorFile | None, kept: Mapping[bytes, Row], tokenizer: WordPiece
) -> tuple[list[Entry], dict[bytes, Row], list[Input]]:
    """The notes as the new file will list them, the rows already encoded, and the inputs still to encode."""
    numbers = {path: number for number, path in enumerate(file.note_paths())} if file else {}
    known = _rows_by_key(file) if file else {}
    entries: list[Entry] = []
    rows: dict[bytes, Row] = {}
    todo: dict[bytes, Input] = {}
    for path, rowid, revision in notes_of(connection):
        number = numbers.get(path)
        if file is not None and number is not None and file.revision[number].tobytes() == revision:
            first, last = _note_rows(file, number)
            listed = [(int(file.ordinal[row]), file.key[row].tobytes()) for row in range(first, last)]
            for row, (_, key) in zip(range(first, last), listed, strict=True):
                if key not in rows:
                    rows[key] = file.row(row)
        else:
            listed = []
            for item in sectiontext.inputs(pieces_of(connection, rowid), tokenizer):
                listed.append((item.ordinal, item.key))
                if item.key in rows:
                    continue
                if item.key in kept:
                    rows[item.key] = kept[item.key]
                elif file is not None and item.key in known:
                    rows[item.key] = file.row(known[item.key])
                else:
                    todo[item.key] = item
        entries.append(Entry(path, revision, listed))
    return entries, rows, list(todo.values())


def notes_of(connection: Connection) -> list[tuple[bytes, int, bytes]]:
    """(raw bytes of the path, row id, the 32 bytes of the revision) of every note that is not derived, by path."""
    rows = connection.execute("SELECT CAST(path AS BLOB), rowid, substr(revision, 8) FROM note WHERE NOT generated")
    return sorted((bytes(path), int(rowid), bytes.fromhex(revision)) for path, rowid, revision in rows)


def _rows_by_key(file: VectorFile) -> dict[bytes, int]:
    blob = file.key.tobytes()
    width = vectorfile.KEY
    return {blob[row * width : (row + 1) * width]: row for row in range(file.rows)}


def _note_rows(file: VectorFile, number: int) -> tuple[int, int]:
    """Rows of the file's note ``number``: first and one past the last."""
    first, last = file.note.searchsorted((number, number + 1))
    return int(first), int(last)


def encode_input(hidden: Any, item: Input, tokenizer: WordPiece) -> Row:
    """The row of ``item`` from its token vectors ``hidden``: pooled over all it read, bits of its own content tokens.

    A piece without any content token keeps its first one.
    """
    import numpy as np

    from kbtasks.index.encoder import pool

    pooled, scale = vectorfile.quantise(pool(hidden))
    own = item.positions
    content = [position for position in own if tokenizer.kind(item.ids[position]) == 0] or own[:1]
    pieces = np.unique(np.array([item.ids[position] for position in own], dtype=np.uint16))
    return Row(pooled, scale, vectorfile.pack(hidden[content]), pieces)


def _batches(todo: Sequence[Input], size: int) -> Iterator[list[Input]]:
    batch: list[Input] = []
    total = 0
    for item in todo:
        if batch and total + len(item.ids) > size:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += len(item.ids)
    if batch:
        yield batch


def _encode(
    encoder: Encoder, todo: list[Input], folder: str, rows: dict[bytes, Row], progress: Progress | None, threads: int
) -> None:
    """Encode ``todo`` into ``rows``, appending to the journal as it goes; short inputs together, long ones together."""
    from concurrent.futures import ThreadPoolExecutor

    from kbtasks.index.encoder import BATCH_TOKENS

    tokenizer = _tokenizer()
    done = 0
    if progress:
        progress(done, len(todo))

    def run(batch: list[Input]) -> list[tuple[bytes, Row]]:
        hidden = encoder.tokens([item.ids for item in batch])
        return [(item.key, encode_input(one, item, tokenizer)) for one, item in zip(hidden, batch, strict=True)]

    with ThreadPoolExecutor(max(1, threads)) as pool:
        # A slice is encoded, written and shown before the next begins: that bounds memory, and Ctrl-C waits for it
        # only.
        for part in _batches(todo, SAVE_TOKENS):
            by_size = sorted(part, key=lambda item: len(item.ids))
            finished = [pair for pairs in pool.map(run, list(_batches(by_size, BATCH_TOKENS))) for pair in pairs]
            rows.update(finished)
            vectorfile.append_journal(folder, finished)
            done += len(part)
            if progress:
                progress(done, len(todo))


class Snapshot:
    """The rows a search may trust: those of the file whose notes are unchanged, and freshly encoded ones beside them.

    file: the mapped file, or None. stale: numbers of the file's notes that may not be served. extra: (piece id, Row) of
    pieces encoded since. missing: pieces that have no row yet, for want of time.
    rowids: row id in the index of each of the file's notes, where all were compared; empty when the file is current.
    """

    __slots__ = ("extra", "file", "missing", "rowids", "stale")

    def __init__(self, file: VectorFile | None) -> None:
        self.file = file
        self.stale: set[int] = set()
        self.extra: list[tuple[int, Row]] = []
        self.missing = 0
        self.rowids: list[int] = []


def snapshot(
    connection: Connection,
    folder: str,
    encoder: Callable[[], Encoder],
    tokenizer: WordPiece,
    *,
    deadline: float | None = None,
) -> Snapshot:
    """The vectors of the notes of ``connection`` as they are now, from the cache ``folder`` and what must be added.

    encoder: makes the encoder, called only if something must be encoded. At most DELTA_TOKENS are, and none after
    ``deadline`` (of time.monotonic); pieces not reached are counted in ``missing`` (at least one for each note).
    Freshly encoded rows go to the journal when nobody holds the lock.
    """
    file = vectorfile.open_file(folder)
    if file is not None and not _usable(file):
        file = None
    found = Snapshot(file)
    if file is not None and file.header.get("digest") == digest(connection):
        return found
    numbers = {path: number for number, path in enumerate(file.note_paths())} if file else {}
    found.rowids = [-1] * len(numbers)
    changed = []
    for path, rowid, revision in notes_of(connection):
        number = numbers.get(path)
        if file is not None and number is not None and file.revision[number].tobytes() == revision:
            found.rowids[number] = rowid
        else:
            changed.append(rowid)
    found.stale = {number for number, rowid in enumerate(found.rowids) if rowid < 0}
    if len(changed) > DELTA_NOTES:
        found.missing = len(changed)
    elif changed:
        _add_changed(connection, folder, found, changed, encoder, tokenizer, deadline)
    return found


def _add_changed(
    connection: Connection,
    folder: str,
    found: Snapshot,
    changed: list[int],
    encoder: Callable[[], Encoder],
    tokenizer: WordPiece,
    deadline: float | None,
) -> None:
    """Give ``found`` the rows of the notes ``changed``: known ones by key, others encoded up to the bound."""
    from time import monotonic

    from kbtasks.index.encoder import BATCH_TOKENS

    file = found.file
    kept = vectorfile.read_journal(folder)
    known = _rows_by_key(file) if file else {}
    todo: list[tuple[int, Input]] = []
    room = DELTA_TOKENS
    for rowid in changed:
        for item in sectiontext.inputs(pieces_of(connection, rowid), tokenizer):
            piece = rowid << SHIFT | item.ordinal
            if item.key in kept:
                found.extra.append((piece, kept[item.key]))
            elif file is not None and item.key in known:
                found.extra.append((piece, file.row(known[item.key])))
            elif len(item.ids) <= room:
                todo.append((piece, item))
                room -= len(item.ids)
            else:
                room = 0
                found.missing += 1
    fresh: list[tuple[bytes, Row]] = []
    items = iter(todo)
    for batch in _batches([item for _, item in todo], BATCH_TOKENS):
        if deadline is not None and monotonic() > deadline:
            found.missing += len(todo) - len(fresh)
            break
        for hidden, (piece, item) in zip(encoder().tokens([item.ids for item in batch]), items, strict=False):
            row = encode_input(hidden, item, tokenizer)
            fresh.append((item.key, row))
            found.extra.append((piece, row))
    if fresh:
        _keep(folder, fresh)


def _keep(folder: str, fresh: Sequence[tuple[bytes, Row]]) -> None:
    """Put freshly encoded rows in the journal, if the cache can be written and nobody else is writing there."""
    path = os.path.join(folder, vectorfile.JOURNAL)
    try:
        if os.path.exists(path) and os.path.getsize(path) > _MAX_JOURNAL:
            return
        with Lock(os.path.join(folder, LOCK), what="the vectors of this vault"):
            vectorfile.trim_journal(folder)
            vectorfile.append_journal(folder, fresh)
    except (Busy, OSError):
        pass  # the next search encodes them again
