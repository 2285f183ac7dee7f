"""The part of a link after ``#``: whether a note has that heading path or block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable

# Obsidian compares headings with these read as blanks; the underscore is ours: a heading's text has no emphasis marks.
_PUNCTUATION = re.compile(r"""[!"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\_\s]+""")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]+")


def heading_key(text: str) -> str:
    """The form in which a heading and a fragment are the same: caseless, punctuation and blanks read as one blank."""
    key = _PUNCTUATION.sub(" ", normalize("NFC", text).casefold()).strip()
    return key or text.strip()


def heading_slug(text: str) -> str:
    """The anchor that GitHub gives a heading: lower case, punctuation dropped, blanks as hyphens."""
    return _NOT_IN_SLUG.sub("", text.strip().lower()).replace(" ", "-")


class Fragments:
    """The headings and blocks of one note, prepared for many checks."""

    __slots__ = ("_blocks", "_keys", "_levels", "_positions", "_slugs", "_texts")

    def __init__(self, headings: Iterable[tuple[int, str]] = (), blocks: Iterable[str] = ()) -> None:
        """Take ``headings`` as ``(level, text)`` in the note's order, and the IDs of its ``blocks`` (and footnotes)."""
        listed = list(headings)
        self._levels = [level for level, _ in listed]
        self._texts = [text for _, text in listed]
        self._keys = [heading_key(text) for text in self._texts]
        self._positions = frozenset(self._keys)
        self._blocks = frozenset(block.lower() for block in blocks)
        self._slugs: frozenset[str] | None = None

    def has(self, fragment: str, *, slug: bool = False) -> bool:
        """Whether the note has this fragment.

        fragment: ``^block``, a heading, or a path of headings joined by ``#``, each below the one before it.
        slug: also accept the anchor that GitHub would give a heading (for Markdown links).
        """
        parts = [part for part in fragment.split("#") if part.strip()]
        if not parts:
            return True
        if parts[-1].lstrip().startswith("^"):
            return parts[-1].strip()[1:].lower() in self._blocks
        keys = [heading_key(part) for part in parts]
        if len(keys) == 1:
            if keys[0] in self._positions:
                return True
        elif self._has_path(keys):
            return True
        return slug and fragment.strip().lower() in self._anchors()

    def _has_path(self, keys: list[str]) -> bool:
        found, level = 0, 0
        for key, depth in zip(self._keys, self._levels, strict=True):
            if key == keys[found] and depth > level:
                found, level = found + 1, depth
                if found == len(keys):
                    return True
        return False

    def _anchors(self) -> frozenset[str]:
        if self._slugs is None:
            seen: dict[str, int] = {}
            slugs: set[str] = set()
            for text in self._texts:
                slug = heading_slug(text)
                times = seen.get(slug, 0)
                seen[slug] = times + 1
                slugs.add(f"{slug}-{times}" if times else slug)
            self._slugs = frozenset(slugs)
        return self._slugs
