"""YAML as a tree of texts with places, from the events of libyaml or of PyYAML's own parser: the same tree from both.

The tree is built without recursion. What aliases add to it is counted, so that a few lines can never become gigabytes.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 64
MAX_ALIASED = 100_000
SAFE_INTEGER = 2**53 - 1

_WORDS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,15})\Z|0x[0-9a-fA-F]{1,13}\Z|0o[0-7]{1,17}\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")


class Scalar:
    """A text as YAML reads it, from ``start`` to ``end``; ``plain`` where it may mean a number, a truth value or null."""

    __slots__ = ("end", "plain", "start", "text")

    def __init__(self, text: str, plain: bool, start: int, end: int) -> None:
        self.text = text
        self.plain = plain
        self.start = start
        self.end = end

    def value(self) -> Any:
        """The scalar's JSON value by the YAML 1.2 core schema; dates, ``no``, ``10:30`` and ``0123`` stay text."""
        return core_value(self.text) if self.plain else self.text


class Sequence:
    """A list of nodes."""

    __slots__ = ("items", "start")

    def __init__(self, start: int) -> None:
        self.items: list[Node] = []
        self.start = start

    def value(self) -> list[Any]:
        """The list's JSON value."""
        return [item.value() for item in self.items]


class Mapping:
    """Keys as text, each with its place and its node; of a repeated key the first is kept."""

    __slots__ = ("entries", "start")

    def __init__(self, start: int) -> None:
        self.entries: dict[str, tuple[int, Node]] = {}
        self.start = start

    def value(self) -> dict[str, Any]:
        """The mapping's JSON value."""
        return {key: node.value() for key, (_, node) in self.entries.items()}


Node = Scalar | Sequence | Mapping


class Fault(Exception):
    """Something in the block that is not YAML, or more than we read: a code, a sentence, an offset in the block."""

    def __init__(self, code: str, words: str, offset: int) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.offset = offset


def core_value(text: str) -> Any:
    """What a plain scalar means by the YAML 1.2.2 core schema (10.3.2), except where JSON could not hold it exactly.

    Decimal numbers with a leading zero, integers beyond 2^53 - 1 and numbers that are not finite stay text.
    """
    first = text[:1]
    if first in "-+.0123456789" and first:
        if _INTEGER.match(text):
            number = int(text, 0)
            return number if -SAFE_INTEGER <= number <= SAFE_INTEGER else text
        if len(text) <= 64 and _FLOAT.match(text):
            real = float(text)
            return real if math.isfinite(real) else text
        return text
    return _WORDS.get(text, text) if len(text) <= 5 else text


def parser(*, pure: bool = False) -> Callable[[str], Any]:
    """A maker of event parsers: libyaml's where PyYAML was built with it, else PyYAML's own."""
    import yaml

    if not pure and yaml.__with_libyaml__:
        return yaml.cyaml.CParser  # type: ignore[attr-defined, no-any-return, unused-ignore]
    return _pure_parser()


def _pure_parser() -> Callable[[str], Any]:
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class PureParser(Reader, Scanner, Parser):
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)

    return PureParser


def compose(block: str, make: Callable[[str], Any]) -> tuple[Node | None, list[Fault]]:
    """The tree of one YAML document, and the faults that cost no more than a key; raises Fault where it is not YAML.

    block: text of at most the caller's limit, all of it printable. Time and memory are linear in it.
    """
    from yaml import YAMLError

    try:
        return _compose(make(block).get_event)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        offset = mark.index if mark is not None else int(getattr(error, "position", 0) or 0)
        words = getattr(error, "problem", None) or getattr(error, "reason", None) or "is not YAML"
        raise Fault("frontmatter-yaml", str(words), min(offset, len(block))) from None


def _compose(get_event: Callable[[], Any]) -> tuple[Node | None, list[Fault]]:
    from yaml import events

    scalar_event, alias_event = events.ScalarEvent, events.AliasEvent
    faults: list[Fault] = []
    root: Node | None = None
    open_nodes: list[Sequence | Mapping] = []
    pending: list[tuple[str | None, int]] = []  # for each open mapping: the key that waits for its value
    anchors: dict[str, Node] = {}
    sizes: dict[int, int] = {}
    aliased = documents = 0
    while True:
        event = get_event()
        kind = type(event)
        node: Node
        if kind is scalar_event:
            tag = event.tag
            plain = event.implicit[0] and tag is None
            if tag is not None and not plain:  # an explicit tag: only !!str and ! change what a plain scalar means
                plain = not event.style and tag not in ("!", "tag:yaml.org,2002:str")
            node = Scalar(event.value, plain, event.start_mark.index, event.end_mark.index)
            if event.anchor is not None:
                anchors[event.anchor] = node
        elif kind is alias_event:
            offset = event.start_mark.index
            if event.anchor not in anchors:
                raise Fault("frontmatter-yaml", f"alias *{event.anchor} has no anchor", offset)
            node = anchors[event.anchor]
            if any(node is holder for holder in open_nodes):
                raise Fault("frontmatter-alias", f"alias *{event.anchor} holds itself", offset)
            aliased += _size(node, sizes)
            if aliased > MAX_ALIASED:
                raise Fault("frontmatter-alias", f"aliases stand for more than {MAX_ALIASED} characters", offset)
        elif kind is events.SequenceStartEvent or kind is events.MappingStartEvent:
            offset = event.start_mark.index
            if len(open_nodes) >= MAX_DEPTH:
                raise Fault("frontmatter-deep", f"is nested more than {MAX_DEPTH} deep", offset)
            holder: Sequence | Mapping = Sequence(offset) if kind is events.SequenceStartEvent else Mapping(offset)
            if event.anchor is not None:
                anchors[event.anchor] = holder
            open_nodes.append(holder)
            pending.append((None, -1))
            continue
        elif kind is events.SequenceEndEvent or kind is events.MappingEndEvent:
            node = open_nodes.pop()
            pending.pop()
        elif kind is events.DocumentStartEvent:
            documents += 1
            if documents > 1:
                words = "holds more than one YAML document; only the first is read"
                faults.append(Fault("frontmatter-yaml", words, event.start_mark.index))
                return root, faults
            continue
        elif event is None or kind is events.StreamEndEvent:
            return root, faults
        else:
            continue
        if not open_nodes:
            root = node
        else:
            above = open_nodes[-1]
            if isinstance(above, Sequence):
                above.items.append(node)
            else:
                pending[-1] = _into_mapping(above, pending[-1], node, event.start_mark.index, faults)


def _into_mapping(
    mapping: Mapping, waiting: tuple[str | None, int], node: Node, offset: int, faults: list[Fault]
) -> tuple[str | None, int]:
    """Take a node as the next key, or as the value of the key that waits; returns what waits now."""
    key, start = waiting
    if start < 0:
        if isinstance(node, Scalar):
            return node.text, node.start if node.start <= offset else offset
        faults.append(Fault("frontmatter-key", "a key is not text; it is left out with its value", node.start))
        return None, node.start
    if key is not None:
        if key in mapping.entries:
            words = f"the key {key!r} is repeated; its first value is used"
            faults.append(Fault("duplicate-key", words, start))
        else:
            mapping.entries[key] = (start, node)
    return None, -1


def _size(node: Node, sizes: dict[int, int]) -> int:
    """How much a node stands for, aliases inside it written out: characters and nodes."""
    known = sizes.get(id(node))
    if known is not None:
        return known
    # children are complete when a node is aliased, so sizes of aliased children are known; depth is at most MAX_DEPTH
    if isinstance(node, Scalar):
        size = 1 + len(node.text)
    elif isinstance(node, Sequence):
        size = 1 + sum(_size(item, sizes) for item in node.items)
    else:
        size = 1 + sum(1 + len(key) + _size(value, sizes) for key, (_, value) in node.entries.items())
    sizes[id(node)] = size
    return size
