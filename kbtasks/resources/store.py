"""The resource store: one private SQLite file, opened with care.

A file that is not a whole store of ours is refused and left as it is. Reading a store that does not exist answers as
an empty one and creates nothing. A writer that finds the store busy fails at once; the lock is SQLite's own and dies
with its process.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.errors import Busy, Unavailable
from kbtasks.resources import tables
from kbtasks.resources.faults import DamagedStore, ForeignStore

if TYPE_CHECKING:
    from collections.abc import Iterator

STORE_NAME = "resources.db"
MAGIC = b"SQLite format 3\0"
#: Milliseconds a command waits for another writer before it says Busy.
BUSY_MILLISECONDS = 250
#: Looks at a file whose size does not fit its header before it is called damaged.
_LOOKS = 5


def default_path(data_home: str) -> str:
    """The user's store below the folder of private records."""
    return os.path.join(data_home, STORE_NAME)


def exists(path: str) -> bool:
    """Whether there is something at ``path``; Unavailable where that cannot be seen: a closed folder is not an empty store."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise Unavailable(message=f"the resource store {path} cannot be reached: {error.strerror}") from None
    return True


@contextmanager
def open_store(path: str, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """The store at ``path`` as a connection in autocommit mode; a missing one is created only to ``write``.

    Raises DamagedStore, ForeignStore, Busy and Unavailable; a fault inside SQLite while the store is open becomes one
    of them too.
    """
    path = os.path.realpath(path)
    connection = None
    try:
        if exists(path):
            _check_file(path)
            connection = _connect(path, write=write)
            _check_tables(connection, path)
        elif write:
            _create(path)
            connection = _connect(path, write=True)
        else:
            connection = sqlite3.connect(":memory:", isolation_level=None)
            _make_tables(connection)
        yield connection
    except sqlite3.Error as error:
        raise _translated(error, path) from None
    finally:
        if connection is not None:
            connection.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: committed whole, or rolled back on any exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        fsio.step("before-commit")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    fsio.step("after-commit")


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One consistent view of the store for several reads."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def next_seq(connection: sqlite3.Connection) -> int:
    """The next number in the order of writes; inside a transaction."""
    row = connection.execute("UPDATE counter SET value = value + 1 WHERE name = 'seq' RETURNING value").fetchone()
    return int(row[0])


def _check_file(path: str) -> None:
    """Refuse what is not a whole store of ours. The file is only read."""
    from time import sleep

    restore = "restore it from a copy, or name another with --store"
    for attempt in range(_LOOKS):
        head, size = _look(path)
        if not head:
            raise DamagedStore(path=path, reason="it is empty", next=restore)
        if not head.startswith(MAGIC) or len(head) < 100:
            if not head.strip(b"\0"):
                raise DamagedStore(path=path, reason="it does not begin as a store does", next=restore)
            if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in b"{[":
                take = "take a JSON store over with: kb resource.import FILE"
                raise ForeignStore(path=path, reason="it looks like JSON", next=take)
            raise ForeignStore(path=path, reason="it is not a SQLite file", next="name another with --store")
        if int.from_bytes(head[68:72], "big") != tables.APPLICATION_ID:
            raise ForeignStore(
                path=path, reason="it is a SQLite file of another program", next="name another with --store"
            )
        page = int.from_bytes(head[16:18], "big")
        expected = int.from_bytes(head[28:32], "big") * (65536 if page == 1 else page)
        # The size is only told where the header is of the last write and no log holds later pages.
        if size == expected or head[24:28] != head[92:96] or _has_log(path):
            return
        if attempt < _LOOKS - 1:
            sleep(0.02)  # another process may be writing its log back and removing it at this moment
    how = "shorter" if size < expected else "longer"
    raise DamagedStore(path=path, reason=f"it is {how} than its header says ({size} bytes, {expected})", next=restore)


def _look(path: str) -> tuple[bytes, int]:
    try:
        if not os.path.isfile(path):
            raise ForeignStore(path=path, reason="it is not a regular file")
        with open(path, "rb") as file:
            return file.read(100), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise Unavailable(message=f"the resource store {path} cannot be read: {error.strerror}") from None


def _has_log(path: str) -> bool:
    try:
        return os.path.getsize(path + "-wal") > 0
    except OSError:
        return False


def _check_tables(connection: sqlite3.Connection, path: str) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > tables.USER_VERSION:
        raise ForeignStore(
            path=path, reason=f"its format {version} is newer than this program's", next="update kbtasks"
        )


def _connect(path: str, *, write: bool) -> sqlite3.Connection:
    from urllib.parse import quote

    if write:
        _make_private(path)
    uri = "file:" + quote(os.fsencode(path))
    connection = _open(uri, "rw" if write else "ro")
    if not write:
        try:
            connection.execute("SELECT 1 FROM counter").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if "unable to open" not in str(error) and "readonly" not in str(error):
                raise
            # A folder that cannot be written has no place for the shared-memory file. With no write-ahead log there is
            # nothing in it either, so the file may be read as it is.
            if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
                raise
            connection = _open(uri, "ro&immutable=1")
    if write:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = OFF")
    return connection


def _open(uri: str, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{uri}?mode={mode}", uri=True, isolation_level=None, timeout=BUSY_MILLISECONDS / 1000, cached_statements=256
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    if fsio.on_step is not None:
        connection.set_trace_callback(lambda sql: fsio.step("sql:" + sql[:40]))
    return connection


def _make_private(path: str) -> None:
    """0600 for the store and the files SQLite keeps beside it, where an earlier hand left them wider."""
    for name in (path, path + "-wal", path + "-shm"):
        try:
            if os.stat(name).st_mode & 0o077:
                os.chmod(name, 0o600)
        except FileNotFoundError:
            pass
        except PermissionError:
            raise Unavailable(message=f"{name} is open to others and not ours to close") from None


def _create(path: str) -> None:
    """Create an empty store whole or not at all: made under another name, then linked into place."""
    from secrets import token_hex

    folder = os.path.dirname(path)
    try:
        fsio.make_private_directory(folder)
        temporary = os.path.join(folder, f"{fsio.TEMPORARY_PREFIX}{os.getpid()}-{token_hex(6)}")
        os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise Unavailable(message=f"the resource store {path} cannot be created: {error.strerror}") from None
    try:
        fsio.step("store:temporary")
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            _make_tables(connection)
        finally:
            connection.close()
        fsio.step("store:made")
        handle = os.open(temporary, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass  # someone else was first; theirs is as empty as ours
        except OSError as error:
            raise Unavailable(message=f"the resource store {path} cannot be created: {error.strerror}") from None
        fsio.step("store:linked")
    finally:
        for name in (temporary, temporary + "-wal", temporary + "-shm", temporary + "-journal"):
            try:
                os.unlink(name)
            except FileNotFoundError:
                pass
    fsio.sync_directory(folder)


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in tables.DDL:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {tables.APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {tables.USER_VERSION}")
    connection.execute("COMMIT")


def _translated(error: sqlite3.Error, path: str) -> Exception:
    words = str(error)
    if "locked" in words or "busy" in words:
        return Busy(what=f"the resource store {path}", next="try again in a moment")
    if isinstance(error, sqlite3.OperationalError) and (
        "unable to open" in words or "readonly" in words or "disk I/O" in words or "full" in words
    ):
        return Unavailable(message=f"the resource store {path} cannot be used: {words}")
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.IntegrityError | sqlite3.ProgrammingError
    ):
        return DamagedStore(path=path, reason=words, next="look closer with: kb resource.doctor")
    return error
