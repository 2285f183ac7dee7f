"""The freshness sweep: what every directory of the vault holds now, compared with what the index saw last time.

A directory is one row: its names with their kinds, and a packed array of ``(size, mtime_ns, ctime_ns, inode)`` of its
notes. Only a directory whose row differs is looked at file by file. A change time cannot be set by a program, so equal
tuples mean equal bytes, unless the file changed twice within one tick of the file system's clock: a tuple that was
that young when it was taken is recorded with size -1 and never compares equal (Git's racy rule).
"""

from __future__ import annotations

import os
from time import time_ns

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kbtasks.model.note import Problem
    from kbtasks.vault.walk import Rules

    Tuple = tuple[int, int, int, int]
    Row = tuple[bytes, bytes]

#: Nanoseconds within which a file system's clock may stand still: its tick is 1 to 10 ms on Linux, we allow for five.
TICK_NS = 50_000_000
#: The same where all stamps are whole seconds (FAT counts in steps of two).
COARSE_TICK_NS = 2_100_000_000

UNTRUSTED = -1
_OPEN = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
#: Letters of the kinds of ``kbtasks.vault.walk``, which is imported only when something differs.
_LETTERS = {"note": "n", "attachment": "a", "guide": "g"}
_MASK = (1 << 63) - 1
#: The kinds of a directory that could not be listed: no directory's are equal to them.
_NOT_LISTED = b"!"


class Folder:
    """One directory that differs from its row: its entries' kinds and names, tuples of its notes, problems seen there.

    kinds: one letter per name: n note, a attachment, g guide, d directory to enter, x Markdown name that is no regular
        file, i j k a file, folder or other entry that we leave alone. stats: by name of note; a tuple with size
        UNTRUSTED never compares equal.
    """

    __slots__ = ("kinds", "names", "path", "problems", "stats", "unreadable")

    def __init__(self, path: str) -> None:
        self.path = path
        self.kinds: list[str] = []
        self.names: list[str] = []
        self.stats: dict[str, Tuple] = {}
        self.problems: list[Problem] = []
        self.unreadable = False

    def row(self) -> Row:
        """The row to record: kinds and names, and the packed tuples in the order of the names."""
        if self.unreadable:
            return _NOT_LISTED, b""
        numbers: list[int] = []
        for name, kind in zip(self.names, self.kinds, strict=True):
            if kind == "n":
                numbers += self.stats[name]
        return _packed_names("".join(self.kinds), self.names), _packed(numbers)


class Sweep:
    """What one sweep found.

    folders: the directories that differ, by path. gone: directories in the index that are no more.
    suspects: notes whose bytes must be read, path -> tuple now. removed: notes that are no more.
    files_added, files_removed: attachments and guides. settings: tuple of kb.toml, or None. notes: how many notes
    there are. started_ns: the clock when the sweep began.
    """

    __slots__ = (
        "files_added",
        "files_removed",
        "folders",
        "gone",
        "notes",
        "removed",
        "settings",
        "started_ns",
        "suspects",
    )

    def __init__(self, started_ns: int) -> None:
        self.started_ns = started_ns
        self.folders: dict[str, Folder] = {}
        self.gone: list[str] = []
        self.suspects: dict[str, Tuple] = {}
        self.removed: list[str] = []
        self.files_added: dict[str, str] = {}
        self.files_removed: list[str] = []
        self.settings: Tuple | None = None
        self.notes = 0

    @property
    def quiet(self) -> bool:
        """Whether every directory is as its row says."""
        return not self.folders and not self.gone


def sweep(
    root: str,
    rows: Mapping[str, Row],
    rules: Callable[[], Rules],
    *,
    verify: bool = False,
    stat: Callable[[str, os.stat_result], os.stat_result] | None = None,
    clock: Callable[[], int] | None = None,
) -> Sweep:
    """Compare the vault at ``root`` with ``rows`` (path -> entries and stats); OSError only when the root itself is
    gone.

    rules: gives what is a note, asked only when something differs; the rows must have been made with the same ones.
    verify: treat every note as a suspect. stat: what to believe of a file, given its vault-relative path and its true
    stat (tests). clock: nanoseconds now.
    """
    found = Sweep((clock or time_ns)())
    root_handle = os.open(root, _OPEN & ~getattr(os, "O_NOFOLLOW", 0))
    seen: set[str] = set()
    known: Rules | None = None
    try:
        found.settings = settings_tuple(root_handle)
        pending = [""]
        while pending:
            path = pending.pop()
            seen.add(path)
            row = rows.get(path)
            try:
                handle = os.open(path, _OPEN, dir_fd=root_handle) if path else os.dup(root_handle)
            except OSError as error:
                if not _went(path, error):
                    _unreadable_folder(found, path, row, error)
                else:
                    seen.discard(path)
                    found.folders.pop(path, None)
                continue
            try:
                below = None
                if row is not None and not verify:
                    below = _unchanged(path, handle, row, stat, found)
                if below is None:
                    known = known or rules()
                    with os.scandir(handle) as listing:
                        entries = list(listing)
                    below = _look(path, entries, row, known, stat, found, verify=verify)
                pending += below
            except OSError as error:
                if not _went(path, error):
                    _unreadable_folder(found, path, row, error)
                else:
                    seen.discard(path)
                    found.folders.pop(path, None)
            finally:
                os.close(handle)
    finally:
        os.close(root_handle)
    if len(seen) != len(rows) or found.folders:
        for path in rows:
            if path not in seen:
                found.gone.append(path)
                _forget(found, path, rows[path], ())
    return found


def settings_tuple(root_handle: int) -> Tuple | None:
    """The tuple of ``kb.toml`` in the open root, or None where there is none."""
    try:
        status = os.stat("kb.toml", dir_fd=root_handle)
    except OSError:
        return None
    return tuple_of(status)


def tuple_of(status: os.stat_result) -> Tuple:
    """``(size, mtime_ns, ctime_ns, inode)``, each within 63 bits."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino & _MASK


def trusted(seen: Tuple, started_ns: int) -> Tuple:
    """``seen`` as it may be recorded: with size UNTRUSTED if the file could still change within the same tick.

    started_ns: the clock before the tuple was taken. A time ahead of the clock is never old enough.
    """
    _, mtime, ctime, inode = seen
    coarse = not mtime % 1_000_000_000 and not ctime % 1_000_000_000
    if max(mtime, ctime) >= started_ns - (COARSE_TICK_NS if coarse else TICK_NS):
        return UNTRUSTED, mtime, ctime, inode
    return seen


def _unchanged(
    path: str,
    handle: int,
    row: Row,
    stat: Callable[[str, os.stat_result], os.stat_result] | None,
    found: Sweep,
) -> list[str] | None:
    """The folders below when everything is as the row says, else None."""
    kinds, _, listed = row[0].partition(b"\0")
    if kinds == _NOT_LISTED:
        return None
    letters = kinds.decode("ascii")
    names = listed.decode("utf-8", "surrogateescape").split("\0") if letters else []
    below: list[str] = []
    stored = _tuples(row[1])
    notes = 0
    with os.scandir(handle) as listing:
        try:
            # one entry at a time, so that the memory of each serves the next
            for name, letter, entry in zip(names, letters, listing, strict=True):
                if entry.name != name:
                    return None
                if letter == "n":
                    status = entry.stat(follow_symlinks=False)
                    if stat is not None:
                        status = stat(f"{path}/{name}" if path else name, status)
                    size, mtime, ctime, inode = next(stored)
                    if (
                        status.st_mtime_ns != mtime
                        or status.st_size != size
                        or status.st_ctime_ns != ctime
                        or (status.st_ino != inode and status.st_ino & _MASK != inode)
                    ):
                        return None
                    notes += 1
                elif letter in "dj":
                    if not entry.is_dir(follow_symlinks=False):
                        return None
                    if letter == "d":
                        below.append(f"{path}/{name}" if path else name)
                elif entry.is_file(follow_symlinks=False) is not (letter in "agi") or entry.is_dir(
                    follow_symlinks=False
                ):
                    return None
        except (ValueError, StopIteration):  # more or fewer entries than before
            return None
    found.notes += notes
    return below


def _look(
    path: str,
    entries: list[os.DirEntry[str]],
    row: Row | None,
    rules: Rules,
    stat: Callable[[str, os.stat_result], os.stat_result] | None,
    found: Sweep,
    *,
    verify: bool,
) -> list[str]:
    """Look at every entry of a directory that differs; the folders below."""
    from kbtasks.vault.walk import not_regular

    folder = Folder(path)
    kinds_before, stats_before = unpacked(row) if row is not None else ({}, {})
    below: list[str] = []
    prefix = f"{path}/" if path else ""
    files: set[str] = set()
    for entry in entries:
        name = entry.name
        full = prefix + name
        letter = _letter(entry, full, rules)
        if letter == "n":
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat is not None:
                status = stat(full, status)
            now = tuple_of(status)
            folder.stats[name] = now
            found.notes += 1
            if verify or stats_before.get(name) != now:
                found.suspects[full] = now
        elif letter == "d":
            below.append(full)
        elif letter in "ag":
            files.add(name)
            if kinds_before.get(name) != letter:
                found.files_added[full] = "attachment" if letter == "a" else "guide"
        elif letter == "x":
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except FileNotFoundError:
                continue
            folder.problems.append(not_regular(full, mode))
        folder.kinds.append(letter)
        folder.names.append(name)
    found.folders[path] = folder
    if row is not None:
        _forget(found, path, row, folder.stats.keys() | files)
    return below


def _letter(entry: os.DirEntry[str], full: str, rules: Rules) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "d" if rules.descends(full, entry.name) else "j"
    kind = rules.kind(full, entry.name)
    if entry.is_file(follow_symlinks=False):
        return "i" if kind is None else _LETTERS[kind]
    return "x" if kind in ("note", "guide") else "k"


def _forget(found: Sweep, path: str, row: Row, kept: Iterable[str]) -> None:
    """Report the notes and files of ``row`` that are not ``kept``."""
    kept = set(kept)
    prefix = f"{path}/" if path else ""
    for name, letter in unpacked(row)[0].items():
        if name not in kept:
            if letter == "n":
                found.removed.append(prefix + name)
            elif letter in "ag":
                found.files_removed.append(prefix + name)


def _went(path: str, error: OSError) -> bool:
    """Whether a folder went while we looked (never the root); its parent is seen to differ next time."""
    return bool(path) and isinstance(error, FileNotFoundError | NotADirectoryError)


def _unreadable_folder(found: Sweep, path: str, row: Row | None, error: OSError) -> None:
    """Record a directory that cannot be listed: empty, and never equal to what it is next time."""
    from kbtasks.vault.walk import unreadable

    folder = Folder(path)
    folder.unreadable = True
    folder.problems.append(unreadable(path or ".", error))
    found.folders[path] = folder
    if row is not None:
        _forget(found, path, row, ())


def unpacked(row: Row) -> tuple[dict[str, str], dict[str, Tuple]]:
    """A row's kinds by name, and the tuples of its notes by name."""
    letters, _, rest = row[0].partition(b"\0")
    names = rest.decode("utf-8", "surrogateescape").split("\0")
    kinds = dict(zip(names, letters.decode("ascii"), strict=False))
    tuples = _tuples(row[1])
    return kinds, {name: next(tuples) for name, kind in kinds.items() if kind == "n"}


def _tuples(stats: bytes) -> Iterator[Tuple]:
    values = iter(memoryview(stats).cast("q"))
    return zip(values, values, values, values, strict=True)


def _packed_names(kinds: str, names: list[str]) -> bytes:
    return (kinds + "\0" + "\0".join(names)).encode("utf-8", "surrogateescape")


def _packed(numbers: list[int]) -> bytes:
    from array import array  # needed only to record what differs

    try:
        return array("q", numbers).tobytes()
    except OverflowError:
        return array("q", [number & _MASK for number in numbers]).tobytes()
