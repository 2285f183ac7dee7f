"""How a view is opened: the sweep, the lock, the delta, and what is done when ``index.db`` cannot be used as it is."""

from __future__ import annotations

import _sqlite3 as sqlite3  # what sqlite3 adds (dates, row types) is not used, and not cheap to load
import os
from stat import S_ISREG

from kbtasks.errors import Busy
from kbtasks.index import store
from kbtasks.index.kept_settings import NewSettings, joined, load, settings_of, settings_text
from kbtasks.index.sweep import sweep, trusted

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from kbtasks.index.sweep import Row, Sweep
    from kbtasks.index.update import Counts, Delta
    from kbtasks.vault.walk import Rules

    StatHook = Callable[[str, os.stat_result], os.stat_result]
    Opened = tuple[Connection, "Fresh"]

#: How often an index that fails is made anew before the answer comes from memory.
_TRIES = 3

#: How a view came to be.
UNCHANGED, APPLIED, OVERLAID, BUILT, REBUILT = "unchanged", "applied", "overlaid", "built", "rebuilt"


class Fresh:
    """What opening the view did.

    how: ``unchanged`` (nothing but the sweep), ``applied`` (the delta is in index.db), ``overlaid`` (it is in memory
        only), ``built`` (index.db was made from nothing), ``rebuilt`` (what was there was of another version, foreign
        or damaged).
    reason: why it was overlaid or rebuilt, else empty. counts: the delta, or None where there was none.
    """

    __slots__ = ("counts", "how", "reason")

    def __init__(self, how: str, reason: str = "", counts: Counts | None = None) -> None:
        self.how = how
        self.reason = reason
        self.counts = counts


class Opener:
    """The steps of open_view, with what they share."""

    def __init__(
        self,
        root: str,
        cache: str,
        *,
        verify: bool,
        stat: StatHook | None,
        clock: Callable[[], int] | None,
        wait: float,
        progress: Callable[[int, int], None] | None,
        read_only: bool = False,
    ) -> None:
        self.root = root
        self.cache = cache
        self.verify = verify
        self.stat = stat
        self.clock = clock
        self.wait = wait
        self.progress = progress
        self.read_only = read_only
        self.path = os.path.join(cache, store.NAME)
        self._replaced = 0
        #: What the file was when it was opened without any lock, as it must still be when the view is closed.
        self.frozen: tuple[int, int] | None = None

    def open(self, *, rebuild: bool) -> Opened:
        try:
            status = os.stat(self.path)
        except OSError:
            status = None
        if status is not None and not S_ISREG(status.st_mode) and not self.read_only:
            self._replaced += 1  # SQLite calls it out of reach, not unsound
            return self._replace("something that is no file stood in its place")
        if status is None or not status.st_size:
            return self._build(BUILT, "")
        try:
            connection = self._connect()
        except sqlite3.Error as error:
            return self._after(error)
        try:
            state = store.state_of(connection)
            if state == store.READY and not rebuild:
                view = self._refresh(connection)
                if view is not None:
                    return view
                state = store.OTHER_VERSION
            if state in (store.READY, store.OTHER_VERSION) and not self.read_only:
                return self._rebuild(connection, "asked for" if rebuild else "its rules are of another version")
        except sqlite3.Error as error:
            connection.close()
            return self._after(error)
        except BaseException:
            connection.close()
            raise
        connection.close()
        if state == store.FOREIGN and not self.read_only:
            return self._replace("it was not an index of kb")
        return self._build(BUILT, "")

    def _connect(self) -> Connection:
        if self.read_only:
            log = _has_log(self.path)
            self.frozen = None if log else _stamp(self.path)
            return store.connect_reading(self.path, wait=self.wait, log=log)
        connection = store.connect(self.path, wait=self.wait)
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if store.kind_of(error) != "unusable" or _has_log(self.path):
                raise
            self.frozen = _stamp(self.path)
            connection = store.connect_frozen(self.path)
        return connection

    def _after(self, error: sqlite3.Error) -> Opened:
        """What is left when the database cannot be used as it is."""
        kind = store.kind_of(error)
        if kind == "damaged" and not self.read_only:
            return self._replace(f"it was damaged ({error})")
        return self._memory_build(f"index.db is {'in use' if kind == 'busy' else 'out of reach'} ({error})")

    def _replace(self, reason: str) -> Opened:
        self._replaced += 1
        try:
            # what looks sound and fails all the same lacks a table, or holds what contradicts itself
            store.discard_if_unsound(self.cache, sure=self._replaced > 1)
        except (OSError, Busy):
            return self._memory_build(reason)
        if self._replaced > _TRIES:
            return self._memory_build(reason)
        return self._build(REBUILT, reason)

    def _sweep(self, connection: Connection) -> tuple[dict[str, Row], Sweep]:
        store.read_odd_text(connection)
        rows = {
            path: (entries, stats)
            for path, entries, stats in connection.execute("SELECT path, entries, stats FROM directory")
        }

        def rules() -> Rules:
            from kbtasks.vault.walk import Rules

            row = connection.execute("SELECT value FROM meta WHERE key = 'ignore'").fetchone()
            return Rules(row[0].split("\n") if row is not None and row[0] else ())

        return rows, sweep(self.root, rows, rules, verify=self.verify, stat=self.stat, clock=self.clock)

    def _refresh(self, connection: Connection) -> Opened | None:
        """A view of a sound database brought up to date; None where other rules apply and all must be read again."""
        connection.execute("BEGIN")
        rows, found = self._sweep(connection)
        settings = self._new_settings(connection, found)
        if settings is not None and settings.rules_differ:
            connection.execute("ROLLBACK")
            return None
        if found.quiet and settings is None:
            return self._view(connection, Fresh(UNCHANGED))
        delta = self._delta(connection, found, settings)
        differs = delta.precheck(connection)
        if not differs and not delta.stale_rows(rows):
            return self._view(connection, Fresh(UNCHANGED))
        generation = _generation(connection)
        connection.execute("ROLLBACK")
        try:
            if self.read_only:
                raise sqlite3.OperationalError("it may not be written")
            connection.execute("PRAGMA journal_mode = WAL")  # a build that was killed at its very end lacks it
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if store.kind_of(error) == "damaged" and not self.read_only:
                raise
            connection.execute("BEGIN")
            if not differs:  # only the directories' tuples would be recorded: the next call will
                return self._view(connection, Fresh(UNCHANGED))
            return self._overlay(connection, delta, generation, str(error))
        try:
            if _generation(connection) != generation:  # another process was here between
                _, found = self._sweep(connection)
                delta = self._delta(connection, found, self._new_settings(connection, found))
                differs = delta.precheck(connection)
            if differs:
                delta.apply(connection, fresh=False)
                store.narrow(self.path, delta.mode)
            else:
                delta.touch(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        connection.execute("BEGIN")
        return self._view(connection, Fresh(APPLIED if differs else UNCHANGED, "", delta.counts if differs else None))

    def _delta(self, connection: Connection, found: Sweep, settings: NewSettings | None) -> Delta:
        from kbtasks.index.update import Delta

        delta = Delta(self.root, found, index_note=settings_of(connection).index_note)
        delta.progress = self.progress
        if settings is not None:
            delta.meta = {"settings": settings.table, "settings.stat": settings.seen}
            delta.meta_differs = settings.differs
        return delta

    def _overlay(self, connection: Connection, delta: Delta, generation: object, reason: str) -> Opened:
        """A copy in memory with the delta applied."""
        memory = store.in_memory()
        connection.backup(memory)
        connection.close()
        memory.execute("BEGIN")
        if _generation(memory) != generation:
            _, found = self._sweep(memory)
            delta = self._delta(memory, found, self._new_settings(memory, found))
        else:
            store.read_odd_text(memory)
        delta.apply(memory, fresh=False)
        memory.execute("COMMIT")
        store.read_odd_text(memory)
        return memory, Fresh(OVERLAID, reason, delta.counts)

    def _view(self, connection: Connection, fresh: Fresh) -> Opened:
        store.read_odd_text(connection)
        return connection, fresh

    def _new_settings(self, connection: Connection, found: Sweep) -> NewSettings | None:
        """What kb.toml says now, when its tuple is another than the recorded one; None when it is the same."""
        row = connection.execute("SELECT value FROM meta WHERE key = 'settings.stat'").fetchone()
        now = "" if found.settings is None else joined(found.settings)
        if row is not None and row[0] == now:
            return None
        before = settings_of(connection)
        return NewSettings(before, load(self.root), found)

    # --- from nothing ---

    def _build(self, how: str, reason: str) -> Opened:
        """Make index.db where there is none: one transaction in an empty file, undone by SQLite itself when killed."""
        if self.read_only:
            return self._memory_build("it may not be written")
        try:
            store.prepare(self.root, self.cache)
            connection = store.connect(self.path, wait=self.wait)
        except (OSError, sqlite3.Error) as error:
            return self._memory_build(str(error))
        try:
            os.chmod(self.path, 0o600)
        except OSError as error:  # the cache may be thrown away at any moment
            connection.close()
            return self._memory_build(str(error))
        try:
            connection.execute(f"PRAGMA page_size = {store.PAGE_BYTES}")
            connection.execute("BEGIN EXCLUSIVE")
            if store.state_of(connection) != store.ABSENT:  # another process made it meanwhile
                connection.execute("ROLLBACK")
                connection.close()
                return self.open(rebuild=False)
            delta = self._fill(connection)
            connection.execute("COMMIT")
            _give_back(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._widen(delta.mode)
            connection.execute("BEGIN")
            return self._view(connection, Fresh(how, reason, delta.counts))
        except sqlite3.Error as error:
            connection.close()
            if store.kind_of(error) == "damaged":
                raise
            return self._memory_build(str(error))
        except BaseException:
            connection.close()
            raise

    def _rebuild(self, connection: Connection, reason: str) -> Opened:
        """Fill the database anew in one transaction: until it commits, everyone else has the old one."""
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            connection.close()
            if store.kind_of(error) == "damaged":
                raise
            return self._memory_build(str(error))
        try:
            store.clear(connection)
            delta = self._fill(connection)
            connection.execute("COMMIT")
            _give_back(connection)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        store.narrow(self.path, delta.mode)
        connection.execute("BEGIN")
        return self._view(connection, Fresh(REBUILT, reason, delta.counts))

    def _memory_build(self, reason: str) -> Opened:
        connection = store.in_memory()
        connection.execute("BEGIN")
        delta = self._fill(connection)
        connection.execute("COMMIT")
        store.read_odd_text(connection)
        return connection, Fresh(OVERLAID, reason, delta.counts)

    def _fill(self, connection: Connection) -> Delta:
        """Create all tables in the open transaction and read the whole vault into them."""
        from kbtasks.index import search, tables
        from kbtasks.vault.walk import Rules

        connection.execute("PRAGMA cache_size = -10000")
        store.mark(connection)
        tables.create(connection)
        search.create(connection)
        settings = load(self.root)
        connection.execute("INSERT INTO meta VALUES ('settings', ?)", (settings_text(settings),))
        connection.execute("INSERT INTO meta VALUES ('ignore', ?)", ("\n".join(settings.ignore),))
        found = sweep(
            self.root, {}, lambda: Rules(settings.ignore), verify=self.verify, stat=self.stat, clock=self.clock
        )
        seen = "" if found.settings is None else joined(trusted(found.settings, found.started_ns))
        connection.execute("INSERT INTO meta VALUES ('settings.stat', ?)", (seen,))
        delta = self._delta(connection, found, None)
        delta.apply(connection, fresh=True)
        return delta

    def _widen(self, mode: int) -> None:
        """Let those read a new index.db who may read the folder it lies in and every note."""
        try:
            os.chmod(self.path, (os.stat(self.cache).st_mode & mode & 0o066) | 0o600)
        except OSError:
            pass


def _generation(connection: Connection) -> object:
    row = connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    return None if row is None else row[0]


def _give_back(connection: Connection) -> None:
    """Return the page cache of a bulk load to the system."""
    connection.execute("PRAGMA cache_size = -2000")
    connection.execute("PRAGMA shrink_memory")


def _stamp(path: str) -> tuple[int, int]:
    """Time and size of the database file."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise sqlite3.OperationalError(f"it went while it was opened: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size


def changed_since(path: str, stamp: tuple[int, int]) -> bool:
    """Whether another process wrote the database file since ``stamp`` was taken."""
    try:
        return _stamp(path) != stamp
    except sqlite3.Error:
        return True


def _has_log(path: str) -> bool:
    """Whether a write-ahead log with content lies beside the database: then it may not be read without it."""
    try:
        return os.path.getsize(path + "-wal") > 0
    except OSError:
        return False
