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
from kbtasks.index import modelfile, models, vectorfile
from kbtasks.index.search import SHIFT
from kbtasks.index.vectorfile import Entry, Row, VectorFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from kbtasks.index.models import Model, Task

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

    def add(self, other: Report) -> None:
        """Count another model's build in."""
        for name in ("encoded", "reused", "rows", "bytes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.notes = max(self.notes, other.notes)

    def to_json(self) -> dict[str, int]:
        """The figures by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def digest(connection: Connection) -> str:
    """The digest of every note's path and bytes, as the index keeps it."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'facet.prose'").fetchone()
    return str(row[0]) if row else ""


def is_current(connection: Connection, folder: str) -> bool:
    """Whether the vectors in the cache ``folder`` were made from the notes as they are now, by every installed
    model.
    """
    now = digest(connection)
    found = models.installed()
    for model in found:
        file = open_vectors(folder, model)
        if file is None or file.header.get("digest") != now:
            return False
    return bool(found)


def open_vectors(folder: str, model: Model) -> VectorFile | None:
    """The vectors that ``model`` made, in the cache ``folder``; None where there are none that can be used."""
    file = vectorfile.open_file(os.path.join(folder, model.folder))
    if file is None or any(file.header.get(name) != value for name, value in _identity(model).items()):
        return None
    return file


def _identity(model: Model) -> dict[str, str | int]:
    return {"format": FORMAT, "model": model.name, "sha256": model.sha256, "recipe": model.recipe}


def build(connection: Connection, folder: str, *, progress: Progress | None = None, threads: int = 1) -> Report:
    """Make the vectors in ``folder`` answer for the notes of ``connection``; encode only what is not encoded yet.

    progress: called with (pieces done, pieces to do). threads: encoders run side by side, from 1 on.
    What was encoded is in the journal every few seconds, so an interruption at any moment costs little.
    Raises MissingExtra or Unavailable (no model, or not the pinned one), Busy (another build runs).
    """
    modelfile.require()
    os.putenv("OPENBLAS_NUM_THREADS", "1")  # read when numpy is first imported: our own threads share the processors
    whole = Report(0, 0, 0, 0, 0)
    for model in models.installed():
        model.verify()
        home = os.path.join(folder, model.folder)
        os.makedirs(home, exist_ok=True)
        with Lock(os.path.join(home, LOCK), what="the vectors of this vault"):
            whole.add(_build(connection, folder, home, model, progress, threads))
    return whole


def _build(
    connection: Connection, folder: str, home: str, model: Model, progress: Progress | None, threads: int
) -> Report:
    now = digest(connection)
    file = open_vectors(folder, model)
    if file is not None and file.header.get("digest") == now:
        return Report(0, file.rows, file.rows, file.notes, os.path.getsize(file.path))
    vectorfile.trim_journal(home)
    kept = vectorfile.read_journal(home)
    entries, rows, todo = _plan(connection, file, kept, model)
    reused = sum(len(entry.rows) for entry in entries) - len(todo)
    _encode(model, todo, home, rows, progress, threads)
    path = model.path()
    assert path is not None
    header = _identity(model) | {"stamp": modelfile.stamp(path), "digest": now}
    vectorfile.write_file(home, entries, rows, header)
    vectorfile.drop_journal(home)
    size = os.path.getsize(os.path.join(home, vectorfile.FILE))
    return Report(len(todo), reused, sum(len(entry.rows) for entry in entries), len(entries), size)


def discard(folder: str) -> None:
    """Delete all vectors and journals in the cache ``folder``, so that the next build encodes everything."""
    for model in (models.ENGLISH, models.MULTILINGUAL):
        for name in (vectorfile.FILE, vectorfile.JOURNAL):
            try:
                os.unlink(os.path.join(folder, model.folder, name))
            except FileNotFoundError:
                pass


def processors() -> int:
    """Encoders worth running side by side: one for each processor this process may use, at most eight."""
    try:
        return min(8, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on this platform
        return min(8, os.cpu_count() or 1)


def pieces_of(connection: Connection, note: int) -> list[tuple[int, str, str, str]]:
    """(ordinal, title, headings, body) of every piece of the note with row id ``note``, in order."""
    low = note << SHIFT
    rows = connection.execute(
        "SELECT id - ?, title, heading, body FROM search_text WHERE id >= ? AND id < ? ORDER BY id",
        (low, low, (note + 1) << SHIFT),
    )
    return rows.fetchall()


def _plan(
    connection: Connection, file: VectorFile | None, kept: Mapping[bytes, Row], model: Model
) -> tuple[list[Entry], dict[bytes, Row], list[Task]]:
    """The notes as the new file will list them, the rows already encoded, and the inputs still to encode."""
    numbers = {path: number for number, path in enumerate(file.note_paths())} if file else {}
    known = _rows_by_key(file) if file else {}
    entries: list[Entry] = []
    rows: dict[bytes, Row] = {}
    todo: dict[bytes, Task] = {}
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
            for item in model.inputs(pieces_of(connection, rowid)):
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


def _batches(todo: Sequence[Task], size: int) -> Iterator[list[Task]]:
    batch: list[Task] = []
    total = 0
    for task in todo:
        if batch and total + task.size > size:
            yield batch
            batch, total = [], 0
        batch.append(task)
        total += task.size
    if batch:
        yield batch


def _encode(
    model: Model, todo: list[Task], home: str, rows: dict[bytes, Row], progress: Progress | None, threads: int
) -> None:
    """Encode ``todo`` into ``rows``, appending to the journal as it goes; short inputs together, long ones together."""
    if not todo:
        return
    from concurrent.futures import ThreadPoolExecutor

    done = 0
    if progress:
        progress(done, len(todo))

    def run(batch: list[Task]) -> list[tuple[bytes, Row]]:
        return [(task.key, row) for task, row in zip(batch, model.rows(batch), strict=True)]  # type: ignore[arg-type]

    rows.update(run(todo[:1]))  # the model is loaded before threads share it
    with ThreadPoolExecutor(max(1, threads)) as pool:
        # A slice is encoded, written and shown before the next begins: that bounds memory, and Ctrl-C waits for it
        # only.
        for part in _batches(todo, SAVE_TOKENS):
            by_size = sorted(part, key=lambda task: task.size)
            finished = [pair for pairs in pool.map(run, list(_batches(by_size, model.batch))) for pair in pairs]
            rows.update(finished)
            vectorfile.append_journal(home, finished)
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


def snapshot(connection: Connection, folder: str, model: Model, *, deadline: float | None = None) -> Snapshot:
    """The vectors of the notes of ``connection`` as they are now, from the cache ``folder`` and what must be added.

    At most DELTA_TOKENS are encoded, and none after ``deadline`` (of time.monotonic); pieces not reached are counted in
    ``missing`` (at least one for each note). Freshly encoded rows go to the journal when nobody holds the lock.
    """
    file = open_vectors(folder, model)
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
        _add_changed(connection, os.path.join(folder, model.folder), found, changed, model, deadline)
    return found


def _add_changed(
    connection: Connection, home: str, found: Snapshot, changed: list[int], model: Model, deadline: float | None
) -> None:
    """Give ``found`` the rows of the notes ``changed``: known ones by key, others encoded up to the bound."""
    from time import monotonic

    file = found.file
    kept = vectorfile.read_journal(home)
    known = _rows_by_key(file) if file else {}
    todo: list[tuple[int, Task]] = []
    room = DELTA_TOKENS
    for rowid in changed:
        for task in model.inputs(pieces_of(connection, rowid)):
            piece = rowid << SHIFT | task.ordinal
            if task.key in kept:
                found.extra.append((piece, kept[task.key]))
            elif file is not None and task.key in known:
                found.extra.append((piece, file.row(known[task.key])))
            elif task.size <= room:
                todo.append((piece, task))
                room -= task.size
            else:
                room = 0
                found.missing += 1
    fresh: list[tuple[bytes, Row]] = []
    places = iter(todo)
    for batch in _batches([task for _, task in todo], model.batch):
        if deadline is not None and monotonic() > deadline:
            found.missing += len(todo) - len(fresh)
            break
        for row, (piece, task) in zip(model.rows(batch), places, strict=False):  # type: ignore[arg-type]
            fresh.append((task.key, row))
            found.extra.append((piece, row))
    if fresh:
        _keep(home, fresh)


def _keep(folder: str, fresh: Sequence[tuple[bytes, Row]]) -> None:
    """Put freshly encoded rows in the journal, if the cache can be written and nobody else is writing there."""
    path = os.path.join(folder, vectorfile.JOURNAL)
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > _MAX_JOURNAL:
            return
        with Lock(os.path.join(folder, LOCK), what="the vectors of this vault"):
            vectorfile.trim_journal(folder)
            vectorfile.append_journal(folder, fresh)
    except (Busy, OSError):
        pass  # the next search encodes them again
