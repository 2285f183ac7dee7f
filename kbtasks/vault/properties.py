"""What the properties of a note mean: title, aliases, tags, typed relations and links, each with its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.model.note import Link, Place, Problem, Tag
from kbtasks.vault.inline import nfc
from kbtasks.vault.scan import shortened
from kbtasks.vault.yamltree import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbtasks.model.note import ParsedNote
    from kbtasks.vault.yamltree import Node

ALIAS_KEYS = ("aliases", "alias")
TAG_KEYS = ("tags", "tag")
MAX_LEAVES = 20_000
_PREDICATE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
_WIKILINK = re.compile(r"\s*+(\[\[)([^\[\]\n]*+(?:\](?!\])[^\[\]\n]*+)*+)\]\]\s*+\Z")
_WORD = re.compile(r"[^\s,]+")


def read_properties(note: ParsedNote, tree: Mapping) -> list[Problem]:
    """Fill a note from its front matter's tree (places in characters of ``note.text``); returns what could not be used.

    A bare string is one alias, but a list of tags at its commas and blanks; text of a number or date is its source
    text.
    """
    problems: list[Problem] = []
    reader = _Properties(note, problems)
    entries = tree.entries
    if "title" in entries:
        note.title = reader.one_text("title", *entries["title"], needed=True)
    if "description" in entries:
        note.summary = shortened(reader.one_text("description", *entries["description"]))
    if "type" in entries:
        note.type = reader.one_text("type", *entries["type"]) or None
    if "status" in entries:
        note.status = reader.one_text("status", *entries["status"]) or None
    for key in ALIAS_KEYS:
        if key in entries:
            reader.aliases(key, *entries[key])
    for key in TAG_KEYS:
        if key in entries:
            reader.tags(key, *entries[key])
    if "relations" in entries:
        reader.relations(*entries["relations"])
    if reader.added_links or "[[" in note.text[: note.body_start]:
        for key, (start, node) in entries.items():
            if key != "relations":
                reader.links(key, start, node)
        note.links.sort(key=lambda link: link.place.start)
    note.tags.sort(key=lambda tag: tag.place.start)
    return problems


def text_of(node: Node) -> str:
    """A scalar's source text, stripped; empty for null, lists and mappings."""
    if not isinstance(node, Scalar) or (node.plain and node.value() is None):
        return ""
    return node.text.strip()


class _Properties:
    """Reads one note's properties into it."""

    __slots__ = ("_line", "_offset", "added_links", "note", "problems")

    def __init__(self, note: ParsedNote, problems: list[Problem]) -> None:
        self.note = note
        self.problems = problems
        self.added_links = False
        self._line = 1
        self._offset = 0

    def line(self, offset: int) -> int:
        """The line of an offset; asked in nearly ascending order, so it counts from the last one."""
        if offset < self._offset:
            self._line, self._offset = 1, 0
        self._line += self.note.text.count("\n", self._offset, offset)
        self._offset = offset
        return self._line

    def problem(self, code: str, words: str, offset: int) -> None:
        self.problems.append(Problem(code, words, self.note.path, self.line(offset)))

    def one_text(self, key: str, start: int, node: Node, *, needed: bool = False) -> str:
        """The text of a property that holds one; a problem where it is a list or mapping, or nothing though needed."""
        words = text_of(node)
        if not words and (needed or not isinstance(node, Scalar)):
            self.problem(f"frontmatter-{key}", f"{key} is not a text; it is not used", start)
        return words

    def aliases(self, key: str, start: int, node: Node) -> None:
        """Take aliases: null is none, a string is one, each item of a list is one."""
        if isinstance(node, Mapping):
            self.problem("frontmatter-aliases", f"{key} is a mapping; it is not used", start)
            return
        known = set(self.note.aliases)
        for item in node.items if isinstance(node, Sequence) else [node]:
            words = text_of(item)
            if words and words not in known:
                known.add(words)
                self.note.aliases.append(nfc(words))
            elif not isinstance(item, Scalar):
                self.problem("frontmatter-aliases", f"{key} holds something that is not text", item.start)

    def tags(self, key: str, start: int, node: Node) -> None:
        """Take tags: a string is split at commas and blanks, each item of a list is one."""
        if isinstance(node, Mapping):
            self.problem("frontmatter-tags", f"{key} is a mapping; it is not used", start)
            return
        if isinstance(node, Scalar):
            if text_of(node):
                for match in _WORD.finditer(node.text):
                    self.tag(match.group(), node)
            return
        for item in node.items:
            words = text_of(item)
            if words:
                self.tag(words, item)
            elif not isinstance(item, Scalar):
                self.problem("frontmatter-tags", f"{key} holds something that is not text", item.start)

    def tag(self, words: str, node: Node) -> None:
        name = words.lstrip("#").strip("/")
        if name:
            self.note.tags.append(Tag(nfc(name), "frontmatter", self.place(name, node)))

    def place(self, words: str, node: Node) -> Place:
        """Where ``words`` stand in a scalar, or the whole scalar where it is written otherwise (escapes, folded lines)."""
        if not isinstance(node, Scalar):
            return Place(self.line(node.start), node.start, node.start)
        at = self.note.text.find(words, node.start, node.end)
        start, end = (at, at + len(words)) if at >= 0 else (node.start, node.end)
        return Place(self.line(start), start, end)

    def relations(self, start: int, node: Node) -> None:
        """Take typed relations: predicate to one target or a list; a malformed one is named, the others count."""
        if not isinstance(node, Mapping):
            if not isinstance(node, Scalar) or node.value() is not None:
                self.problem("relation-malformed", "relations is not a mapping of predicates to targets", start)
            return
        for predicate, (at, value) in node.entries.items():
            if not _PREDICATE.match(predicate):
                words = f"the predicate {predicate!r} is not lower-case words joined by hyphens"
                self.problem("relation-malformed", words, at)
                continue
            for item in value.items if isinstance(value, Sequence) else [value]:
                words = text_of(item)
                if not words:
                    self.problem("relation-malformed", f"a target of {predicate} is not text", max(item.start, at))
                    continue
                match = _WIKILINK.match(words)
                self.link("relation", match.group(2) if match else words, item, predicate, wiki=match is not None)
        self.added_links = True

    def links(self, key: str, start: int, node: Node) -> None:
        """Take every string of a property that is a wikilink as a whole; a nested list from missing quotes is named."""
        if isinstance(node, Sequence) and self.note.text.startswith("[[", node.start):
            words = f"{key} holds [[...]] without quotes, which YAML reads as a list in a list: quote it"
            self.problem("frontmatter-unquoted-link", words, start)
        for leaf in _leaves(node):
            if "[[" in leaf.text and (match := _WIKILINK.match(leaf.text)):
                self.link("property", match.group(2), leaf, key, wiki=True)

    def link(self, kind: str, raw: str, node: Node, predicate: str, *, wiki: bool) -> None:
        target, bar, label = raw.partition("|")
        name, mark, fragment = target.partition("#") if wiki else (target, "", "")
        if not name.strip() and not fragment.strip():
            return
        self.note.links.append(
            Link(
                kind,
                name.strip(),
                self.place(f"[[{raw}]]" if wiki else raw, node),
                fragment=fragment.strip() if mark and fragment.strip() else None,
                label=label.strip() if bar else None,
                predicate=predicate,
                raw=raw,
            )
        )


def _leaves(root: Node) -> Iterator[Scalar]:
    """The scalars below a node in order, repeated where an alias repeats them, at most MAX_LEAVES."""
    pending: list[Node] = [root]
    left = MAX_LEAVES
    while pending and left:
        node = pending.pop()
        if isinstance(node, Scalar):
            left -= 1
            yield node
        elif isinstance(node, Sequence):
            pending.extend(reversed(node.items))
        else:
            pending.extend(value for _, value in reversed(node.entries.values()))
