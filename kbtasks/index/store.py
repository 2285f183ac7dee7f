"""The file ``index.db``: opened, judged, thrown away when it is not ours or damaged, never in the way of a reader."""

from __future__ import annotations

import _sqlite3 as sqlite3  # what sqlite3 adds (dates, row types) is not used, and not cheap to load
import os

from kbtasks.config import CACHE_FOLDER
from kbtasks.index.tables import APPLICATION_ID, SCHEMA_VERSION, as_text

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection

NAME = "index.db"
#: Pages larger than SQLite's default make a bulk load a twentieth quicker.
PAGE_BYTES = 8192
#: Seconds that a reader waits for another process's write before it works on a copy in memory.
WAIT = 0.1

READY, ABSENT, OTHER_VERSION, FOREIGN = "ready", "absent", "other version", "foreign"
_UNUSABLE = frozenset(
    (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM)
)
_BUSY = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))
_IGNORE_ALL = b"# Derived by kb; may be deleted at any moment.\n*\n"


def kind_of(error: sqlite3.Error) -> str:
    """What an SQLite error means for us: ``busy``, ``unusable`` (the place, not the content) or ``damaged``."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return "damaged"
    if code & 0xFF in _BUSY:
        return "busy"
    return "unusable" if code & 0xFF in _UNUSABLE else "damaged"


def prepare(root: str, cache: str) -> None:
    """Make the folder ``cache`` (no more open than the vault) with its own ``.gitignore``; OSError where that fails.

    A folder of the user's that serves as cache is left as it is.
    """
    own = os.path.basename(cache) == CACHE_FOLDER
    if not os.path.isdir(cache):
        mode = os.stat(root).st_mode & 0o777
        os.makedirs(os.path.dirname(cache), exist_ok=True)
        try:
            os.mkdir(cache, mode | 0o700)
            own = True
        except FileExistsError:
            pass
    if own:
        try:
            with open(os.path.join(cache, ".gitignore"), "xb") as file:
                file.write(_IGNORE_ALL)
        except FileExistsError:
            pass


def connect(path: str, *, wait: float) -> Connection:
    """Open the database at ``path`` (made when absent), transactions by hand."""
    return sqlite3.connect(path, timeout=wait, isolation_level=None)


def connect_frozen(path: str) -> Connection:
    """Open a database in a folder that cannot be written, where nobody else can write it either (no WAL beside it)."""
    from urllib.parse import quote

    return sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1", uri=True, isolation_level=None)


def connect_reading(path: str, *, wait: float, log: bool) -> Connection:
    """Open an existing database so that nothing is written beside or in it. log: it has a write-ahead log in use."""
    from urllib.parse import quote

    if not log:
        return connect_frozen(path)
    return sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode=ro&readonly_shm=1", uri=True, timeout=wait, isolation_level=None
    )


def in_memory() -> Connection:
    """A new empty database in memory."""
    return sqlite3.connect(":memory:", isolation_level=None)


def state_of(connection: Connection) -> str:
    """READY, ABSENT (nothing in it), OTHER_VERSION or FOREIGN; sqlite3.DatabaseError where it is no database."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if owner == APPLICATION_ID:
        return READY if version == SCHEMA_VERSION else OTHER_VERSION
    if not owner and not version and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return ABSENT
    return FOREIGN


def mark(connection: Connection) -> None:
    """Write into the open transaction that the database is ours and of this version."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def clear(connection: Connection, *, only_search: bool = False) -> None:
    """Drop everything in the database (or only the search tables), inside the open transaction."""
    for only in ("CREATE VIRTUAL%", "%"):  # a virtual table takes its shadow tables with it
        rows = connection.execute(
            "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND sql LIKE ? ORDER BY type DESC",
            (only,),
        ).fetchall()
        for kind, name in rows:
            if not name.startswith("sqlite_") and (not only_search or name.startswith("search")):
                connection.execute(f'DROP {kind} IF EXISTS "{name}"')


def discard(cache: str) -> None:
    """Throw ``index.db`` away with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            os.unlink(os.path.join(cache, NAME + suffix))
        except FileNotFoundError:
            pass


def narrow(path: str, mode: int) -> None:
    """Let the database be read by no one who may not read every note: ``mode`` is what all notes grant."""
    for suffix in ("", "-wal", "-shm"):
        try:
            present = os.stat(path + suffix).st_mode & 0o777
            if present & ~mode & 0o077:
                os.chmod(path + suffix, present & (mode | 0o700))
        except OSError:
            pass


def read_odd_text(connection: Connection) -> None:
    """Let the connection read text that is not UTF-8, where the database holds any."""
    if connection.execute("SELECT 1 FROM meta WHERE key = 'odd'").fetchone() is not None:
        connection.text_factory = as_text


def discard_if_unsound(cache: str, *, sure: bool = False) -> None:
    """Throw index.db away unless another process has mended it meanwhile (``sure``: even so).

    OSError where the cache cannot be written, Busy where another process is at it.
    """
    from kbtasks.fsio import Lock

    with Lock(os.path.join(cache, "index.lock"), what="the index", wait=2.0):
        if not sure and _is_sound(os.path.join(cache, NAME)):
            return
        discard(cache)


def _is_sound(path: str) -> bool:
    try:
        connection = connect(path, wait=WAIT)
        try:
            if state_of(connection) == FOREIGN:
                return False
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        finally:
            connection.close()
    except sqlite3.Error as error:
        return kind_of(error) != "damaged"
