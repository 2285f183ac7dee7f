"""Links, tags and block IDs in a piece of prose: one search per construct, leftmost first.

Code spans, HTML, comments, formulas and escapes are passed over. Brackets are matched on a stack as CommonMark
does, with its bounds (labels of 999 characters, 32 nested parentheses), so that hostile text costs no more than
long text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import normalize

from kbtasks.model.note import Link, Place, Tag
from kbtasks.vault.blocks import Definition, reference_key
from kbtasks.vault.html import HTML_TAG
from kbtasks.vault.names import percent_decoded

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PARENTHESES = 32
_PUNCTUATION = r"!-/:-@\[-`{-~"
# A tag runs over letters, digits, marks, emoji, hyphen, underscore and slash. Obsidian ends it at ASCII punctuation
# and the blocks 2000-206F and 2E00-2E7F; here CJK punctuation ends it too, and the joiner of emoji does not.
TAG_LETTERS = (
    r"[^\s\x00-\x20!-,.:-@\[-\^`{-\xa0\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030"
    r"\uff01-\uff0c\uff0e\uff1a-\uff20\uff3b-\uff3e\uff40\uff5b-\uff65\ufffc-\uffff]"
)
_WIKI = r"([^\[\]\n]*+(?:\](?!\])[^\[\]\n]*+)*+)\]\]"
_SIMPLE = r"((?!\^)[^\[\]\\`<\n$#]*+)\]\((<[^<>\n\\]++>|[^()\s<>\\]++)(?: ++\"[^\"\n\\]*+\")?\)"
# Each branch begins with one literal character, so that the search skips over prose as fast as memory is read.
_TOKEN = re.compile(
    rf"\[\[{_WIKI}"  # 1: a wikilink
    rf"|!\[\[{_WIKI}"  # 2: an embed
    rf"|\[{_SIMPLE}"  # 3, 4: a link without anything special in it
    rf"|!\[{_SIMPLE}"  # 5, 6: such an image
    rf"|#(?<![^\s(\[|>*_~\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]#)({TAG_LETTERS}++)"  # 7: a tag
    rf"|\\[{_PUNCTUATION}]"
    r"|`(`*+)"  # 8
    r"|\[(\^[^\]\s\[]{1,200}+\])"  # 9: a footnote mark
    r"|\[()"  # 10
    r"|!\[()"  # 11
    r"|\]()"  # 12
    r"|<()"  # 13
    r"|\$(\$?)"  # 14
    r"|%(%)"  # 15
    r"|\^(?<!\S\^)([A-Za-z0-9\-]++)(?=[ \t\r]*+$)",  # 16: a block ID
    re.MULTILINE,
)
_RUNS = re.compile(r"`+")
_MATH = re.compile(r"\$(?=[^\s$])(?:[^$\n\\]|\\.)*+(?<=[^\s\\])\$(?!\d)")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.\-]{1,31}:[^\s<>\x00-\x1f]*+)>")
_EMAIL = re.compile(r"<([\w.!#$%&'*+/=?^`{|}~\-]++@[A-Za-z0-9.\-]++)>", re.ASCII)
_CODE_ELEMENT = re.compile(r"code|pre|script|style|textarea|kbd|samp", re.IGNORECASE)
_ENDINGS = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>"}
_REFERENCE = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999})\]", re.DOTALL)
_ANGLED = re.compile(r"<((?:[^<>\n\\]|\\.)*+)>")
_BARE = re.compile(rf"[^\s()\\\x00-\x1f\x7f]++|\\[{_PUNCTUATION}]|[()\\]")
_TITLE = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)", re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*+")
_ESCAPED = re.compile(rf"\\([{_PUNCTUATION}])")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ANY_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,31}:|//")
_DIGITS = re.compile(r"[0-9/]+\Z")


class Inline:
    """Collects what the prose of one note holds; places count characters of the text until parse turns them into bytes."""

    __slots__ = ("blocks", "definitions", "links", "tags", "text")

    def __init__(self, text: str, definitions: Mapping[str, Definition]) -> None:
        self.text = text
        self.definitions = definitions
        self.links: list[Link] = []
        self.tags: list[Tag] = []
        self.blocks: list[tuple[str, int]] = []

    def read(self, start: int, end: int, line: int) -> None:
        """Read the prose from ``start`` to ``end``, which begins on line ``line``. Linear in its length; never raises."""
        text, search = self.text, _TOKEN.search
        openers: list[tuple[int, int, bool, int]] = []  # start of the mark and of the label, whether an image, line
        dead = 0  # openers below this count are links no more, since a link inside them closed
        bracket = -1  # where the last bracket that was not an opener on its own stood
        runs: dict[int, list[int]] | None = None
        absent: set[str] = set()
        counted = start
        position = start
        while match := search(text, position, end):
            kind = match.lastindex
            at, position = match.start(), match.end()
            if kind is None:
                continue
            if kind == 12:
                if openers:
                    position, dead, bracket = self.close(openers, dead, bracket, at, end)
                else:
                    bracket = at
                continue
            if text.find("\n", counted, at) >= 0:
                line += text.count("\n", counted, at)
            counted = at
            if kind <= 2:
                self.wikilink(kind == 2, match.group(kind), Place(line, at, position))
                bracket = position
            elif kind <= 6:
                written = match.group(kind)
                raw = text[match.start(kind) : position - 1]
                place = Place(line, at, position)
                name = "markdown" if kind == 4 else "image"
                if written[:4] == "http" and written[4:7] in ("://", "s:/") and "&" not in written:
                    self.links.append(Link(name, written, place, label=match.group(kind - 1), raw=raw))
                else:
                    destination = written[1:-1] if written[0] == "<" else written
                    destination = unescaped(destination) if "&" in written else destination
                    self.add(name, destination, match.group(kind - 1), raw, place)
                if kind == 4:
                    dead = len(openers)
                bracket = position
            elif kind == 7:
                self.tag(match.group(7), line, at)
            elif kind == 8:
                if runs is None:
                    runs = _runs(text, position, end)
                length = position - at
                same = runs.get(length)
                while same and same[-1] < position:
                    same.pop()
                if same:
                    position = same.pop() + length
            elif kind in (10, 11):
                openers.append((at, position, kind == 11, line))
            elif kind == 13:
                position = self.angle(at, end, line, absent)
            elif kind == 14:
                position = self.marked("$" + match.group(14), at, end, absent)
            elif kind == 15:
                position = self.marked("%%", at, end, absent)
            elif kind == 16:
                self.blocks.append((match.group(16), line))

    def tag(self, written: str, line: int, at: int) -> None:
        """Take an inline tag that begins at ``at``; digits alone are none."""
        name = written.rstrip("/")
        if name and not _DIGITS.match(name):
            self.tags.append(Tag(nfc(name.lstrip("/")), "inline", Place(line, at, at + 1 + len(name))))

    def wikilink(self, embed: bool, raw: str, place: Place) -> None:
        """Take what stands between double brackets; nothing when it names neither a note nor a part of one."""
        target, bar, label = raw.partition("|")
        if bar and target.endswith("\\"):  # a table needs the bar escaped
            target = target[:-1]
        name, mark, fragment = target.partition("#")
        name = name.strip()
        fragment = fragment.strip()
        if not name and not fragment:
            return
        self.links.append(
            Link(
                "embed" if embed else "wikilink",
                name,
                place,
                fragment=fragment if mark and fragment else None,
                label=label.strip() if bar else None,
                raw=raw,
            )
        )

    def add(self, kind: str, destination: str, label: str | None, raw: str, place: Place) -> None:
        """Take a Markdown link with its destination already free of escapes; an empty one is none."""
        target, fragment = split_destination(destination)
        if target or fragment:
            self.links.append(Link(kind, target, place, fragment=fragment, label=label, raw=raw))

    def close(
        self, openers: list[tuple[int, int, bool, int]], dead: int, bracket: int, at: int, end: int
    ) -> tuple[int, int, int]:
        """Take a closing bracket: an inline link, a reference, or only a bracket. Returns position, dead and bracket."""
        text = self.text
        start, label_start, image, begun = openers.pop()
        alive = image or len(openers) >= dead
        simple = bracket <= label_start
        dead = min(dead, len(openers))
        if not alive:
            return at + 1, dead, at
        following = text[at + 1 : at + 2]
        if following == "(" and (found := _inline_destination(text, at + 2, end)) is not None:
            destination, close = found
            place = Place(begun, start, close + 1)
            kind = "image" if image else "markdown"
            self.add(kind, destination, text[label_start:at], text[at + 2 : close], place)
            return close + 1, dead if image else len(openers), close
        if self.definitions:
            position, raw, key = at + 1, None, None
            if following == "[" and (match := _REFERENCE.match(text, at + 1, end)):
                position, raw = match.end(), match.group(1)
                key = reference_key(raw) if raw.strip() else None
            if key is None and simple and at - label_start <= 999:
                raw = raw or text[label_start:at]
                key = reference_key(text[label_start:at])
            definition = self.definitions.get(key) if key else None
            if definition is not None:
                destination = unescaped(definition.address.strip("<>"))
                place = Place(begun, start, position)
                self.add("reference", destination, text[label_start:at], raw or "", place)
                return position, dead if image else len(openers), position
        return at + 1, dead, at

    def angle(self, at: int, end: int, line: int, absent: set[str]) -> int:
        """Take what begins with ``<``: an address, or markup that is passed over. Returns where to go on."""
        text = self.text
        following = text[at + 1 : at + 2]
        if following.isalpha() and (match := _AUTOLINK.match(text, at, end)):
            self.add("markdown", match.group(1), None, match.group(1), Place(line, at, match.end()))
            return match.end()
        if following in ("!", "?"):
            for opening, closing in _ENDINGS.items():
                if text.startswith(opening, at):
                    return _after(text, closing, at + len(opening), end, absent) or at + 1
            return at + 1
        match = HTML_TAG.match(text, at, end)
        if match is None:
            email = _EMAIL.match(text, at, end)
            if email is None:
                return at + 1
            self.add("markdown", "mailto:" + email.group(1), None, email.group(1), Place(line, at, email.end()))
            return email.end()
        name = match.group(1)
        if name and text[match.end() - 2] != "/" and _CODE_ELEMENT.fullmatch(name):
            closing = f"</{name}"
            inside = _after(text, closing, match.end(), end, absent)
            if inside is not None:
                return inside
        return match.end()

    def marked(self, mark: str, at: int, end: int, absent: set[str]) -> int:
        """Take ``%%`` (a comment), ``$$`` or ``$`` (a formula): passed over when it is closed in the same paragraph."""
        if mark == "$":
            match = _MATH.match(self.text, at, end)
            return match.end() if match else at + 1
        return _after(self.text, mark, at + 2, end, absent) or at + 2


def _after(text: str, mark: str, start: int, end: int, absent: set[str]) -> int | None:
    """Where the text goes on after the next ``mark``, or None; a mark once not found is not searched for again."""
    if mark in absent:
        return None
    at = text.find(mark, start, end)
    if at < 0:
        absent.add(mark)
        return None
    return at + len(mark)


def _runs(text: str, start: int, end: int) -> dict[int, list[int]]:
    """Where each run of backticks begins, by its length, last first."""
    runs: dict[int, list[int]] = {}
    for match in _RUNS.finditer(text, start, end):
        runs.setdefault(match.end() - match.start(), []).append(match.start())
    for places in runs.values():
        places.reverse()
    return runs


def _inline_destination(text: str, start: int, end: int) -> tuple[str, int] | None:
    """The destination that begins after ``](`` and the offset of its closing parenthesis; None where it is no link."""
    at = _skip_blanks(text, start, end)
    if text.startswith("<", at):
        match = _ANGLED.match(text, at, end)
        if match is None:
            return None
        destination, at = match.group(1), match.end()
    else:
        begin, depth = at, 0
        while match := _BARE.match(text, at, end):
            piece = match.group()
            if piece == "(":
                depth += 1
                if depth > MAX_PARENTHESES:
                    return None
            elif piece == ")":
                if depth == 0:
                    break
                depth -= 1
            at = match.end()
        if depth:
            return None
        destination = text[begin:at]
    blank = _skip_blanks(text, at, end)
    if blank > at and (match := _TITLE.match(text, blank, end)):
        blank = _skip_blanks(text, match.end(), end)
    if blank >= end or text[blank] != ")":
        return None
    return unescaped(destination), blank


def _skip_blanks(text: str, start: int, end: int) -> int:
    match = _BLANKS.match(text, start, end)
    return match.end() if match else start


def unescaped(text: str) -> str:
    """``text`` with backslash escapes and character references read, as CommonMark 2.4 and 2.5 say for destinations."""
    if "&" in text:
        from html import unescape

        text = _ENTITY.sub(lambda match: unescape(match.group()), text)
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def split_destination(destination: str) -> tuple[str, str | None]:
    """A destination as target and fragment, percent escapes read after the split; an address with a scheme stays whole."""
    if _ANY_SCHEME.match(destination):
        return destination, None
    path, mark, fragment = destination.partition("#")
    return percent_decoded(path), (percent_decoded(fragment) or None) if mark else None


def nfc(text: str) -> str:
    """``text`` in NFC."""
    return text if text.isascii() else normalize("NFC", text)
