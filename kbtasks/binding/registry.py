"""The private database of bindings, their history, promotions and task summaries: one immediate transaction per change."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import contextmanager

from kbtasks.binding.private import check_private_file, private_folder
from kbtasks.binding.shape import is_binding
from kbtasks.errors import Busy, Conflict, KbError, PrivateState

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

NAME = "bindings.db"
#: ``PRAGMA application_id`` of the file: "kbtb".
APPLICATION_ID = 0x6B627462
VERSION = 1
MAX_PAYLOAD = 1 << 20
BUSY_SECONDS = 5.0
REMOVE_DAMAGED = "kb bind.remove --force"

_DDL = """
CREATE TABLE binding (project TEXT PRIMARY KEY, revision INTEGER NOT NULL, payload TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, time TEXT NOT NULL, action TEXT NOT NULL,
    revision INTEGER NOT NULL, changes TEXT NOT NULL
);
CREATE INDEX audit_project ON audit (project, number);
CREATE TABLE receipt (
    request TEXT PRIMARY KEY, project TEXT NOT NULL, task TEXT NOT NULL, updated TEXT NOT NULL, payload TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX receipt_project ON receipt (project, updated);
CREATE TABLE task (
    project TEXT NOT NULL, id TEXT NOT NULL, updated TEXT NOT NULL, payload TEXT NOT NULL, PRIMARY KEY (project, id)
) WITHOUT ROWID;
CREATE TABLE hash (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;
"""


class Registry:
    """The open database. ``writable`` is False where the store cannot be written: then it is read as it stands.

    store: absolute folder, made 0700 where missing. uid: the caller's real user id. must_write: the caller is going to
    change something, so a store that cannot be written is PrivateState now and not half way.
    """

    def __init__(self, store: str, *, uid: int, must_write: bool) -> None:
        self.store = store
        self.path = os.path.join(store, NAME)
        if must_write or os.path.lexists(store):
            private_folder(store, uid)
            for name in (self.path, self.path + "-journal"):
                check_private_file(name, uid)
        self.writable = os.access(store, os.W_OK | os.X_OK) and (must_write or os.access(self.path, os.W_OK))
        if must_write and not self.writable:
            raise PrivateState(path=store, rule="it is read-only")
        try:
            if must_write and not os.path.exists(self.path):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            self.connection = self._open()
        except OSError as error:
            raise PrivateState(path=self.path, rule=f"it cannot be opened ({error.strerror})") from None

    def _open(self) -> sqlite3.Connection:
        if not os.path.exists(self.path):  # nothing was ever bound here, and a reader makes no store
            name = ":memory:"
        else:
            quoted = self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            name = f"file:{quoted}?mode={'rw' if self.writable else 'ro'}"
        try:
            with _translated(self.path):
                connection = sqlite3.connect(name, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
        except UnicodeEncodeError:
            raise PrivateState(path=self.path, rule="its path is not UTF-8") from None
        try:
            with _translated(self.path):
                if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                    self._create(connection)
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                if version != VERSION:
                    raise PrivateState(
                        path=self.path,
                        rule=f"it has version {version}, this program knows {VERSION}",
                        next="update kbtasks",
                    )
                connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                    raise PrivateState(path=self.path, rule="it is some other program's database")
                for statement in _DDL.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def __enter__(self) -> Registry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """One immediate transaction: committed at the end, undone by any exception. Busy after five seconds."""
        with _translated(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def rows(self, sql: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with _translated(self.path):
            return self.connection.execute(sql, values).fetchall()

    def binding(self, project: str) -> dict[str, Any] | None:
        """The binding of ``project``, or None. Raises Conflict for a row that contradicts itself."""
        rows = self.rows("SELECT revision, payload FROM binding WHERE project = ?", (project,))
        return decode(project, *rows[0]) if rows else None

    def recall_hash(self, path: str, stamp: str) -> str | None:
        """The hash remembered for ``path`` with exactly this stamp."""
        rows = self.rows("SELECT sha256 FROM hash WHERE path = ? AND stamp = ?", (path, stamp))
        return str(rows[0][0]) if rows else None

    def remember_hash(self, path: str, stamp: str, sha256: str) -> None:
        """Keep a hash; a store that cannot be written, or is busy, keeps nothing."""
        if self.writable:
            try:
                self.connection.execute("INSERT OR REPLACE INTO hash VALUES (?, ?, ?)", (path, stamp, sha256))
            except sqlite3.Error:
                pass


def decode(project: str, revision: int, payload: str) -> dict[str, Any]:
    """The binding in a row; Conflict where its parts contradict each other."""
    try:
        if len(payload) > MAX_PAYLOAD:
            raise ValueError
        binding = json.loads(payload)
        if not is_binding(binding) or binding["project"] != project or binding["revision"] != revision:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise Conflict(
            message=f"the binding of {project} is damaged; it can be removed, and made again", next=REMOVE_DAMAGED
        ) from None
    return dict(binding)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except KbError:
        raise
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise Busy(what="the store of bindings", next="try again in a moment") from None
        raise PrivateState(path=path, rule=f"it cannot be used ({error})") from None
    except sqlite3.DatabaseError as error:
        raise PrivateState(
            path=path, rule=f"it is damaged ({error})", next=f"move {path} away, then bind again"
        ) from None
