"""Names of notes and files: how they are folded for comparing, and what resolution may ask about them.

Resolution is a pure function over the protocol ``Names``; the index backs it with its tables, tests with ``DictNames``.
"""

from __future__ import annotations

from unicodedata import normalize

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from kbtasks.model.note import Link
    from kbtasks.vault.fragments import Fragments
else:
    Protocol = object

NOTE_SUFFIX = ".md"
FOLDER_NOTES = ("index", "readme")


def fold(text: str) -> str:
    """The form in which two names are the same name: canonical caseless matching (Unicode 3.13, D145), then NFC."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFD", text).casefold())


def note_id(path: str) -> str:
    """A note's ID: its vault-relative path without ``.md`` (any letter case), in NFC."""
    stem = without_note_suffix(path)
    return stem if stem.isascii() else normalize("NFC", stem)


def without_note_suffix(path: str) -> str:
    """``path`` without a last ``.md`` in any letter case; other extensions are part of the name."""
    return path[: -len(NOTE_SUFFIX)] if path[-3:].lower() == NOTE_SUFFIX else path


def base_name(path: str) -> str:
    """The last segment of a path with POSIX separators."""
    return path[path.rfind("/") + 1 :]


def names_folder(target: str) -> bool:
    """Whether a link target can only be a folder: it ends in a slash, or in a segment ``.`` or ``..``."""
    return target.endswith("/") or base_name(target) in (".", "..")


def percent_decoded(text: str) -> str:
    """``text`` with percent escapes decoded once as UTF-8, except ``%2F`` and ``%00``: those never become separators.

    Escapes that are not UTF-8 stay as they are written.
    """
    if "%" not in text:
        return text
    from urllib.parse import unquote

    guarded = text.replace("%2F", "%252F").replace("%2f", "%252f").replace("%00", "%2500")
    try:
        return unquote(guarded, errors="strict")
    except UnicodeDecodeError:
        return text


def spellings(target: str) -> list[tuple[str, str | None]]:
    """The ways a link target is read, best first, each with the name of the reading (None: as written)."""
    readings: list[tuple[str, str | None]] = [(target, None)]
    if "%" in target and (decoded := percent_decoded(target)) != target:
        readings.append((decoded, "percent"))
    if "\\" in target:
        readings.append((target.replace("\\", "/"), "separator"))
    return readings


def note_keys(path: str, aliases: Iterable[str] = (), title: str | None = None) -> set[str]:
    """Folded keys under which links may find this note: its file name, each alias, its title.

    A link whose ``link_keys`` share none of them resolves the same with and without this note.
    """
    keys = {fold(without_note_suffix(base_name(path))), *map(fold, aliases)}
    if title:
        keys.add(fold(title))
    return keys


def file_keys(path: str) -> set[str]:
    """Folded keys under which links may find this attachment: its file name with extension."""
    return {fold(base_name(path))}


def link_keys(link: Link) -> set[str]:
    """Folded keys that decide what this link means: it needs resolving again only when a name with one of them changed.

    The check of a heading or block fragment depends on the target's own text besides.
    """
    keys: set[str] = set()
    for target, _ in spellings(link.target):
        base = base_name(target.rstrip("/"))
        if names_folder(target):
            keys.update(FOLDER_NOTES)
        keys.update((fold(base), fold(without_note_suffix(base)), fold(target)))
    keys.discard("")
    return keys


class Names(Protocol):
    """What resolution asks of a vault. Every ``key`` is folded; every answer holds paths exactly as on disk.

    Lists are ordered by ``(len(path), path)``, so that the shortest path stands first.
    """

    def notes_at(self, key: str) -> Sequence[str]:
        """Notes whose folded ID (path without ``.md``) is ``key``."""

    def notes_named(self, key: str, folder: str = "") -> Sequence[str]:
        """Notes whose folded file name without ``.md`` is ``key``, in a folder named ``folder`` if that is given."""

    def notes_aliased(self, key: str) -> Sequence[str]:
        """Notes with an alias that folds to ``key``."""

    def notes_titled(self, key: str) -> Sequence[str]:
        """Notes with a title that folds to ``key``."""

    def files_at(self, key: str) -> Sequence[str]:
        """Attachments whose folded path is ``key``."""

    def files_named(self, key: str, folder: str = "") -> Sequence[str]:
        """Attachments whose folded file name is ``key``, in a folder named ``folder`` if that is given."""

    def fragments(self, path: str) -> Fragments | None:
        """The headings and blocks of a note, or None where they are not known (then a fragment is not checked)."""


class DictNames:
    """A ``Names`` held in dictionaries: one pass to build, constant-time answers."""

    def __init__(
        self,
        notes: Iterable[tuple[str, Iterable[str], str | None]] = (),
        files: Iterable[str] = (),
        fragments: Mapping[str, Fragments] | None = None,
    ) -> None:
        """Take the vault's names.

        notes: ``(path, aliases, title)`` of each note; title None where it is only the file's name.
        files: paths of attachments.
        fragments: headings and blocks by note path; a note that is missing here gets no fragment check.
        """
        self._notes_at: dict[str, list[str]] = {}
        self._notes_named: dict[str, list[str]] = {}
        self._aliased: dict[str, list[str]] = {}
        self._titled: dict[str, list[str]] = {}
        self._files_at: dict[str, list[str]] = {}
        self._files_named: dict[str, list[str]] = {}
        self._fragments = fragments or {}
        for path, aliases, title in sorted(notes, key=lambda note: (len(note[0]), note[0])):
            self._add(path, fold(without_note_suffix(path)), self._notes_at, self._notes_named)
            for key in dict.fromkeys(map(fold, aliases)):
                self._aliased.setdefault(key, []).append(path)
            if title:
                self._titled.setdefault(fold(title), []).append(path)
        for path in sorted(files, key=lambda path: (len(path), path)):
            self._add(path, fold(path), self._files_at, self._files_named)

    @staticmethod
    def _add(path: str, key: str, at: dict[str, list[str]], named: dict[str, list[str]]) -> None:
        at.setdefault(key, []).append(path)
        folder, _, name = key.rpartition("/")
        named.setdefault(name, []).append(path)
        if folder:
            named.setdefault(f"{base_name(folder)}/{name}", []).append(path)

    def notes_at(self, key: str) -> Sequence[str]:
        return self._notes_at.get(key, ())

    def notes_named(self, key: str, folder: str = "") -> Sequence[str]:
        return self._notes_named.get(f"{folder}/{key}" if folder else key, ())

    def notes_aliased(self, key: str) -> Sequence[str]:
        return self._aliased.get(key, ())

    def notes_titled(self, key: str) -> Sequence[str]:
        return self._titled.get(key, ())

    def files_at(self, key: str) -> Sequence[str]:
        return self._files_at.get(key, ())

    def files_named(self, key: str, folder: str = "") -> Sequence[str]:
        return self._files_named.get(f"{folder}/{key}" if folder else key, ())

    def fragments(self, path: str) -> Fragments | None:
        return self._fragments.get(path)
