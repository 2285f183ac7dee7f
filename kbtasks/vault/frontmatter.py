"""The front matter of a note: where it ends, what it says, and where each word of it stands.

A block opens only on the first line and closes at the next line of exactly three dashes. What is not YAML costs no more
than the keys that hold it: the others are read one by one, and the body is never touched.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kbtasks.vault.plainyaml import read_plain
from kbtasks.vault.yamltree import Fault, Mapping, Node, Scalar, Sequence, compose, parser

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BLOCK = 1 << 18
_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_KEY_LINE = re.compile(r"""[^\s:#\-\[\]{}"',&*!|>%@`?][^:\n]*:(?=[ \t\r\n]|\Z)|"[^"\n]*":|'[^'\n]*':""")
_ITEM = re.compile(r"[ \t]*-[ \t]+(?=\S)")
# Everything YAML 1.2 allows but PyYAML refuses or reads as a line break, and what it may not hold at all, by YAML 5.1.
_ODD = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_PLACEHOLDER = re.compile(r"\{\{[^{}\n]*\}\}|<%[^%\n]*%>")
_HIDDEN = "{}[],:#\"'&*!|>%@`?\x85\u2028\u2029\ufeff"
_HIDE = {ord(letter): 0xFDD0 + number for number, letter in enumerate(_HIDDEN)}
_SHOW = {0xFDD0 + number: letter for number, letter in enumerate(_HIDDEN)}
_LEADING = re.compile(r"[ \t]*(?:-[ \t]+)*(?:[^\s:#\"'\[{][^:\n]*:(?=[ \t]))?[ \t]*")
_AFTER_MARK = re.compile(r"(?<=[,\[{])\t+")


class FrontMatter:
    """A note's front matter.

    tree: its keys with their nodes, places counted in the note's text; None where there is none.
    end: offset in the text where the body begins; 0 where there is no block.
    faults: what could not be read, offsets counted in the note's text.
    """

    __slots__ = ("end", "faults", "tree")

    def __init__(self, end: int = 0) -> None:
        self.tree: Mapping | None = None
        self.end = end
        self.faults: list[Fault] = []

    def values(self) -> dict[str, Any]:
        """The front matter as JSON values."""
        return self.tree.value() if self.tree is not None else {}


def read_frontmatter(text: str, *, pure: bool = False, plain: bool = True) -> FrontMatter:
    """The front matter of a note's text (without byte order mark); never raises on any text.

    pure: use PyYAML's own parser even where libyaml is there (the answers are the same).
    plain: use the short way for plain blocks (the answers are the same).
    """
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter()
    begin = opening.end()
    closing = _CLOSING.search(text, begin)
    if closing is None:
        return _unclosed(text, begin)
    block = text[begin : closing.start()]
    end = closing.end() + 1 if closing.end() < len(text) else len(text)
    found = FrontMatter(end)
    if plain and (tree := read_plain(block, begin)) is not None:
        found.tree = tree
        return found
    if len(block) > MAX_BLOCK:
        words = f"front matter is longer than {MAX_BLOCK} characters; it is not read"
        found.faults.append(Fault("frontmatter-large", words, 0))
        return found
    root, faults = read_block(block, parser(pure=pure))
    if isinstance(root, Mapping):
        found.tree = root
    elif not _looks_like_keys(block) and (root is None or isinstance(root, Scalar)) and block.strip():
        return FrontMatter()  # two thematic breaks around prose
    elif root is not None and not (isinstance(root, Scalar) and root.plain and root.value() is None):
        faults.append(Fault("frontmatter-not-mapping", "front matter is not a mapping of keys to values", 0))
    for fault in faults:
        fault.offset += begin
    if found.tree is not None:
        _shift(found.tree, begin)
    found.faults = faults
    return found


def _unclosed(text: str, begin: int) -> FrontMatter:
    """No closing line: the whole text is body; a fault only when the next line looks like a key, else a thematic break."""
    found = FrontMatter()
    line = text[begin : begin + 200]
    if _KEY_LINE.match(line):
        words = "front matter is not closed by a line of three dashes; all of the note is read as body"
        found.faults.append(Fault("frontmatter-unclosed", words, 0))
    return found


def _looks_like_keys(block: str) -> bool:
    """Whether the first line that is neither blank nor a comment is a key, an item or a flow collection."""
    for line in block.split("\n"):
        bare = line.strip()
        if bare and not bare.startswith("#"):
            return _KEY_LINE.match(bare) is not None or bare[0] in "{[" or bare.startswith("- ")
    return True


def read_block(block: str, make: Callable[[str], Any]) -> tuple[Node | None, list[Fault]]:
    """The tree of a block of YAML and its faults, places counted in the block; what is not YAML is read key by key.

    make: the event parser, see yamltree.parser.
    """
    faults: list[Fault] = []
    shown = _prepared(block, faults)
    try:
        root, found = compose(shown, make)
    except Fault as fault:
        root, found = _by_keys(shown, fault, make)
    faults.extend(found)
    if root is not None and shown != block:
        _restore(root)
        for one in faults:
            one.words = one.words.translate(_SHOW)
    return root, faults


def _prepared(block: str, faults: list[Fault]) -> str:
    """``block`` with every letter that PyYAML stumbles over replaced by one that it takes, one for one."""
    shown = block
    if "\t" in shown:
        shown = _without_tabs(shown, faults)
    if "{{" in shown or "<%" in shown:
        first = _PLACEHOLDER.search(shown)
        if first is not None:
            shown = _PLACEHOLDER.sub(lambda match: match.group().translate(_HIDE), shown)
            faults.append(Fault("template-placeholder", "front matter holds a template placeholder", first.start()))
    if _ODD.search(shown):
        shown = _ODD.sub(lambda match: chr(_HIDE.get(ord(match.group()), 0xFFFD)), shown)
    return shown


def _without_tabs(block: str, faults: list[Fault]) -> str:
    lines, offset = block.split("\n"), 0
    for number, line in enumerate(lines):
        if "\t" in line:
            lead = _LEADING.match(line)
            kept = lead.group() if lead else ""
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            if "\t" in indent and line.strip():
                faults.append(Fault("frontmatter-tab", "a tab indents front matter; it is read as a blank", offset))
            rest = line[len(kept) :]
            if '"' not in rest and "'" not in rest:
                rest = _AFTER_MARK.sub(lambda match: " " * len(match.group()), rest)
            bare = rest.rstrip(" \t\r")
            lines[number] = kept.replace("\t", " ") + bare + rest[len(bare) :].replace("\t", " ")
        offset += len(line) + 1
    return "\n".join(lines)


def _by_keys(block: str, fault: Fault, make: Callable[[str], Any]) -> tuple[Node | None, list[Fault]]:
    """Read each top-level key by itself: a fault in one leaves the others as they are."""
    if fault.code != "frontmatter-yaml":
        return (Mapping(0) if _looks_like_keys(block) else None), [fault]
    starts, offset = [], 0
    for line in block.split("\n"):
        if _KEY_LINE.match(line):
            starts.append(offset)
        offset += len(line) + 1
    if not starts:
        return None, [fault]
    whole, faults = Mapping(0), []
    if block[: starts[0]].strip():
        faults.append(fault)
    for begin, end in zip(starts, [*starts[1:], len(block)], strict=True):
        piece = block[begin:end]
        try:
            part, found = compose(piece, make)
        except Fault as broken:
            part, found = _as_written(piece, make), [broken]
        for one in found:
            one.offset += begin
        faults.extend(found)
        if isinstance(part, Mapping):
            _shift(part, begin)
            for key, (start, node) in part.entries.items():
                if key in whole.entries:
                    words = f"the key {key!r} is repeated; its first value is used"
                    faults.append(Fault("duplicate-key", words, start))
                else:
                    whole.entries[key] = (start, node)
    return whole, faults or [fault]


def _as_written(piece: str, make: Callable[[str], Any]) -> Mapping | None:
    """A key whose value is one line, or a list of one-line items, that YAML does not take: kept as the text it is."""
    match = _KEY_LINE.match(piece)
    if match is None:
        return None
    key = match.group()[:-1].strip("\"'")
    mapping = Mapping(0)
    lines = [
        line for line in piece[match.end() :].split("\n")[1:] if line.strip() and not line.lstrip().startswith("#")
    ]
    head = piece[match.end() :].split("\n", 1)[0]
    if not lines:
        text = _text_at(piece, match.end(), head)
        if text is None:
            return None
        mapping.entries[key] = (0, text)
        return mapping
    if head.strip() or not all(_ITEM.match(line) for line in lines):
        return None
    items, offset = Sequence(match.end()), match.end() + len(head) + 1
    for line in piece[offset:].split("\n"):
        item = _ITEM.match(line)
        if item is not None:
            node = _item_at(piece, offset + item.end(), line[item.end() :], make)
            if node is not None:
                items.items.append(node)
        offset += len(line) + 1
    mapping.entries[key] = (0, items)
    return mapping


def _item_at(piece: str, offset: int, written: str, make: Callable[[str], Any]) -> Node | None:
    try:
        node, _ = compose(written, make)
    except Fault:
        return _text_at(piece, offset, written)
    if node is not None:
        _shift(node, offset)
    return node


def _text_at(piece: str, offset: int, written: str) -> Scalar | None:
    """One line as text, unless it begins like something else than text (a quote, a list, an anchor)."""
    bare = written.strip()
    if not bare or bare[0] in "[{\"'&*!|>#":
        return None
    start = piece.index(bare, offset)
    return Scalar(bare, False, start, start + len(bare))


def _nodes(root: Node) -> list[Node]:
    """Every node below ``root``, each once however often an alias repeats it."""
    seen: dict[int, Node] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if isinstance(node, Sequence):
            pending.extend(node.items)
        elif isinstance(node, Mapping):
            pending.extend(value for _, value in node.entries.values())
    return list(seen.values())


def _shift(root: Node, by: int) -> None:
    """Count the places of a tree from ``by`` characters earlier."""
    for node in _nodes(root):
        node.start += by
        if isinstance(node, Scalar):
            node.end += by
        elif isinstance(node, Mapping):
            node.entries = {key: (start + by, value) for key, (start, value) in node.entries.items()}


def _restore(root: Node) -> None:
    """Put back the letters that were hidden from the parser."""
    for node in _nodes(root):
        if isinstance(node, Scalar):
            node.text = node.text.translate(_SHOW)
        elif isinstance(node, Mapping):
            node.entries = {key.translate(_SHOW): entry for key, entry in node.entries.items()}
