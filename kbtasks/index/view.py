"""One true look at a vault: swept, the delta applied, and a connection to ask. Everything that reads goes through it.

The delta is applied to ``index.db`` under a short lock. Where the file cannot be written (another process holds the
lock, the cache or the vault is read-only) it is applied to a copy in memory, and the same queries run there.
"""

from __future__ import annotations

import _sqlite3 as sqlite3  # what sqlite3 adds (dates, row types) is not used, and not cheap to load
import os

from kbtasks.errors import Busy, NotFound, Unavailable
from kbtasks.index import store
from kbtasks.index.kept_settings import settings_of
from kbtasks.index.opener import OVERLAID, Opener, changed_since

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from types import TracebackType

    from kbtasks.config import Settings
    from kbtasks.index.names import IndexNames
    from kbtasks.index.opener import Fresh
    from kbtasks.model.note import Problem


class Overtaken(Busy):
    """{what} was written while it was read without a lock."""


class View:
    """A vault as it is now. Use it as a context manager, from one thread, and only for reading.

    connection: the database (tables in kbtasks.index.tables and kbtasks.index.search), one snapshot for the view's
    life. root, cache: absolute folders. fresh: what opening it did. persistent: whether the connection is to index.db
    itself.
    """

    def __init__(
        self,
        root: str,
        cache: str,
        connection: Connection,
        fresh: Fresh,
        *,
        persistent: bool,
        frozen: tuple[int, int] | None = None,
    ) -> None:
        self.root = root
        self.cache = cache
        self.connection = connection
        self.fresh = fresh
        self.persistent = persistent
        self._frozen = frozen
        self._settings: Settings | None = None
        self._names: IndexNames | None = None

    @property
    def settings(self) -> Settings:
        """The vault's settings, as kept in the index."""
        if self._settings is None:
            self._settings = settings_of(self.connection)
        return self._settings

    @property
    def names(self) -> IndexNames:
        """The vault's names, for kbtasks.vault.resolve."""
        if self._names is None:
            from kbtasks.index.names import IndexNames

            self._names = IndexNames(self.connection)
        return self._names

    @property
    def problems(self) -> list[Problem]:
        """All faults found while reading the vault, by path and line."""
        from kbtasks.model.note import Problem

        return [
            Problem(code, message, path, line)
            for path, line, code, message in self.connection.execute(
                "SELECT path, line, code, message FROM problem ORDER BY path, line, code"
            )
        ]

    def note_id(self, path: str) -> int | None:
        """Row id of the note at vault-relative ``path`` (exactly as on disk), or None."""
        from kbtasks.index.links import note_rowid

        return note_rowid(self.connection, path)

    def close(self) -> None:
        """End the snapshot and close the connection."""
        self.connection.close()

    def __enter__(self) -> View:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self._frozen is not None and changed_since(os.path.join(self.cache, store.NAME), self._frozen):
            # read without a lock, because nothing may be written beside it: what was read may be half old, half new
            raise Overtaken(what="the index", next="run the same command again") from value
        if isinstance(value, sqlite3.DatabaseError) and _is_corruption(value):
            if self.persistent:
                store.discard_if_unsound(self.cache)
            raise Unavailable(
                message="the index was damaged; it has been thrown away and the next call builds it again",
                next="run the same command again",
            ) from value


def open_view(
    root: str,
    cache: str,
    *,
    verify: bool = False,
    rebuild: bool = False,
    stat: Callable[[str, os.stat_result], os.stat_result] | None = None,
    clock: Callable[[], int] | None = None,
    wait: float = store.WAIT,
    progress: Callable[[int, int], None] | None = None,
    read_only: bool = False,
    finish_writers: bool = True,
) -> View:
    """The vault at ``root`` as it is at this moment, its derived files in ``cache`` (made when missing).

    verify: read and hash every note instead of trusting size, times and inode. rebuild: make the index from nothing.
    stat: what to believe of a file, given its path and true stat; clock: nanoseconds now (both for tests).
    read_only: leave the cache as it is, and work on a copy in memory where something changed. finish_writers: finish
    first what a killed writer began in the vault.
    wait: seconds to wait for another process's write before working on a copy in memory. progress: (notes done, in
    all). Raises NotFound where the vault is no folder, UsageError or InvalidInput where kb.toml is wrong.
    """
    if not os.path.isdir(root):
        raise NotFound(what="vault", name=root, next="name an existing folder with --root")
    if finish_writers and not read_only and os.path.isdir(os.path.join(root, ".kbtasks/journal")):
        _finish_killed_writer(root)
    opener = Opener(
        root, cache, verify=verify, stat=stat, clock=clock, wait=wait, progress=progress, read_only=read_only
    )
    try:
        connection, fresh = opener.open(rebuild=rebuild)
    except PermissionError as error:
        raise Unavailable(message=f"the vault {root} cannot be read: {error.strerror}") from None
    persistent = fresh.how != OVERLAID
    return View(root, cache, connection, fresh, persistent=persistent, frozen=opener.frozen if persistent else None)


def _finish_killed_writer(root: str) -> None:
    """Finish what a killed writer began, unless a writer is at work now (then its journal is its own)."""
    from kbtasks.errors import KbError
    from kbtasks.vault.writer import Writer

    try:
        with Writer(root, wait=0.0):
            pass
    except KbError:
        pass


def _is_corruption(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
