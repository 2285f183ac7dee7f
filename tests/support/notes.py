"""A small vault written out, read by the vault floor alone, and its links resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.vault.parse import parse_note
from kbtasks.vault.resolve import DictNames, Fragments, Resolution, resolve
from kbtasks.vault.walk import Rules, walk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kbtasks.model.note import Link, ParsedNote


class SmallVault:
    """Notes by path, and what their links mean."""

    def __init__(self, notes: dict[str, ParsedNote], files: list[str]) -> None:
        self.notes = notes
        self.files = files
        self.names = DictNames(
            [(n.path, n.aliases, None if n.title_source == "name" else n.title) for n in notes.values()],
            files,
            {
                n.path: Fragments([(h.level, h.text) for h in n.headings], [block for block, _ in n.blocks])
                for n in notes.values()
            },
        )

    def meanings(self, path: str) -> list[tuple[Link, Resolution]]:
        return [(link, resolve(link, path, self.names)) for link in self.notes[path].links]

    def targets(self, path: str) -> list[str | None]:
        return [meaning.target for _, meaning in self.meanings(path)]

    def backlinks(self, path: str) -> list[str]:
        return sorted(source for source in self.notes if source != path and path in self.targets(source))

    def unresolved(self, path: str) -> list[str]:
        lost = ("broken", "missing-attachment", "ambiguous")
        return [link.target for link, meaning in self.meanings(path) if meaning.state in lost]


def small_vault(files: Mapping[str, str | bytes]) -> SmallVault:
    """A vault from texts in memory; what is no note is an attachment."""
    rules, notes, others = Rules(), {}, []
    for path, content in files.items():
        data = content.encode("utf-8") if isinstance(content, str) else content
        kind = rules.admits(path)
        if kind == "note":
            notes[path] = parse_note(path, data)
        elif kind is not None:
            others.append(path)
    return SmallVault(notes, others)


def read_vault(root: Path, ignore: tuple[str, ...] = ()) -> SmallVault:
    """A vault from a folder."""
    notes, others = {}, []
    for found in walk(str(root), Rules(ignore)):
        if found.kind == "note":
            notes[found.path] = parse_note(found.path, (root / found.path).read_bytes())
        else:
            others.append(found.path)
    return SmallVault(notes, others)


def tag_names(note: ParsedNote) -> list[str]:
    """Distinct tags in order of first use, letter case ignored."""
    seen: dict[str, str] = {}
    for tag in note.tags:
        seen.setdefault(tag.name.casefold(), tag.name)
    return list(seen.values())


def codes(note: ParsedNote) -> list[str]:
    return [problem.code for problem in note.problems]
