"""The names of a vault as they will be after a move, for asking what each link will then mean."""

from __future__ import annotations

from kbtasks.vault.names import base_name, fold, without_note_suffix

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kbtasks.vault.fragments import Fragments
    from kbtasks.vault.names import Names


class MovedNames:
    """A ``Names`` (see kbtasks.vault.names) over another, with notes and files under new paths.

    names: the vault as it is. notes, files: old path -> new path of what moves.
    """

    def __init__(self, names: Names, notes: Mapping[str, str], files: Mapping[str, str]) -> None:
        self._names = names
        self._notes = dict(notes)
        self._files = dict(files)
        self._old = {new: old for old, new in notes.items()}
        self._notes_at, self._notes_named = _keys(notes.values(), without_note_suffix)
        self._files_at, self._files_named = _keys(files.values(), lambda path: path)

    def notes_at(self, key: str) -> Sequence[str]:
        """Notes whose folded ID will be ``key``."""
        return self._merged(self._names.notes_at(key), self._notes, self._notes_at.get(key, ()))

    def notes_named(self, key: str, folder: str = "") -> Sequence[str]:
        """Notes whose folded file name will be ``key``."""
        new = self._notes_named.get(f"{folder}/{key}" if folder else key, ())
        return self._merged(self._names.notes_named(key, folder), self._notes, new)

    def notes_aliased(self, key: str) -> Sequence[str]:
        """Notes with that alias, under their new paths."""
        return _ordered(self._notes.get(path, path) for path in self._names.notes_aliased(key))

    def notes_titled(self, key: str) -> Sequence[str]:
        """Notes with that title, under their new paths."""
        return _ordered(self._notes.get(path, path) for path in self._names.notes_titled(key))

    def files_at(self, key: str) -> Sequence[str]:
        """Attachments whose folded path will be ``key``."""
        return self._merged(self._names.files_at(key), self._files, self._files_at.get(key, ()))

    def files_named(self, key: str, folder: str = "") -> Sequence[str]:
        """Attachments whose folded file name will be ``key``."""
        new = self._files_named.get(f"{folder}/{key}" if folder else key, ())
        return self._merged(self._names.files_named(key, folder), self._files, new)

    def fragments(self, path: str) -> Fragments | None:
        """The headings and blocks of the note that will stand at ``path``."""
        return self._names.fragments(self._old.get(path, path))

    @staticmethod
    def _merged(old: Sequence[str], moves: Mapping[str, str], new: Sequence[str]) -> Sequence[str]:
        if not new and not any(path in moves for path in old):
            return old
        return _ordered([*(path for path in old if path not in moves), *new])


def _keys(paths: Iterable[str], stem: Callable[[str], str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    at: dict[str, list[str]] = {}
    named: dict[str, list[str]] = {}
    for path in paths:
        key = fold(stem(path))
        at.setdefault(key, []).append(path)
        folder, _, name = key.rpartition("/")
        named.setdefault(name, []).append(path)
        if folder:
            named.setdefault(f"{base_name(folder)}/{name}", []).append(path)
    return at, named


def _ordered(paths: Iterable[str]) -> list[str]:
    return sorted(set(paths), key=lambda path: (len(path), path))
