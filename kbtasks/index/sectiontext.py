"""What the embedding model is given for each piece of a note, and the name of that input.

A piece is a row of ``search_text``. Its input is ``title. heading. heading. `` and its body without Markdown's marks; a
short piece is read after the two pieces before it under the same heading, which give it its context (in chats and logs
a line alone says little). Only the piece's own words keep token vectors. A body longer than the model's window gives
several inputs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.index.encoder import MAX_TOKENS
from kbtasks.index.modelfile import SHA256
from kbtasks.index.wordpiece import CLS, SEP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbtasks.index.wordpiece import WordPiece

#: Counts up when the same piece would give other input or other vectors, so that old encodings are not used.
RECIPE = 1
#: A body of fewer tokens is read with the pieces before it; at most this many tokens of them.
SHORT = 60
NEIGHBOURS = 2
CONTEXT_TOKENS = 192
#: Title and headings keep at most this many tokens.
PREFIX_TOKENS = 64
#: Share of letters outside the Latin and Greek scripts above which the English model is not asked.
FOREIGN_SHARE = 0.3

_KNOWN_LETTERS = re.compile("[A-Za-z\u00aa-\u024f\u0370-\u03ff\u1e00-\u1fff]")
_MARKS = (
    (re.compile(r"<!--.{0,1000}?-->|%%.{0,1000}?%%", re.DOTALL), " "),
    (re.compile(r"!?\[\[([^\[\]|\n]{1,300})\|([^\[\]\n]{1,300})\]\]"), r"\2"),
    (re.compile(r"!?\[\[([^\[\]\n]{1,300})\]\]"), r"\1"),
    (re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,1000}\)"), r"\1"),
    (re.compile(r"https?://[^\s<>)\]]{1,1000}"), " "),
    (re.compile(r"^[ \t]{0,12}(?:```+|~~~+)[^\n]*$|^[ \t]{0,3}(?:[-*_][ \t]*){3,64}$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]{0,12}(?:#{1,6}[ \t]|>[ \t]?)", re.MULTILINE), ""),
    (re.compile(r"\*\*|__|`|==|~~"), ""),
)


class Input:
    """One input of the encoder: ``ids`` with [CLS] and [SEP], the ``own`` positions (two ranges), the 16-byte
    ``key``.
    """

    __slots__ = ("ids", "key", "ordinal", "own")

    def __init__(self, ordinal: int, ids: list[int], own: tuple[range, range], key: bytes) -> None:
        self.ordinal = ordinal
        self.ids = ids
        self.own = own
        self.key = key

    @property
    def size(self) -> int:
        """Tokens that are read."""
        return len(self.ids)

    @property
    def positions(self) -> list[int]:
        """Positions of the piece's own tokens (title, headings, body; not the context before it)."""
        return [*self.own[0], *self.own[1]]


def foreign_share(text: str) -> float:
    """Share of the letters of ``text`` in scripts that the English model does not know, 0 to 1."""
    if text.isascii():
        return 0.0
    letters = sum(map(str.isalpha, text))
    if not letters:
        return 0.0
    return max(0, letters - len(_KNOWN_LETTERS.findall(text))) / letters


def plain(body: str) -> str:
    """``body`` without Markdown's marks: what a reader would read aloud. Linear in the length of ``body``."""
    for pattern, replacement in _MARKS:
        body = pattern.sub(replacement, body)
    return body


def whole_text(title: str, heading: str, body: str) -> str:
    """Title, headings and body of a piece as one text without marks."""
    return f"{_prefix(title, heading)} {plain(_without_heading(body, heading)).strip()}"


def inputs(pieces: Sequence[tuple[int, str, str, str]], tokenizer: WordPiece) -> Iterator[Input]:
    """The inputs of one note's ``pieces``: (ordinal, title, headings joined by newlines, body), in order.

    Pieces mainly in a foreign script give none.
    """
    bodies = [tokenizer.encode(plain(_without_heading(body, heading))) for _, _, heading, body in pieces]
    for number, (ordinal, title, heading, body) in enumerate(pieces):
        if foreign_share(f"{title} {body}") > FOREIGN_SHARE:
            continue
        prefix = tokenizer.encode(_prefix(title, heading))[:PREFIX_TOKENS]
        own = bodies[number]
        context: list[int] = []
        if len(own) < SHORT:
            for before in _before(pieces, number):
                context = bodies[before] + context
            context = context[-CONTEXT_TOKENS:]
        room = MAX_TOKENS - 2 - len(prefix) - len(context)
        count = max(1, -(-len(own) // room))
        size = -(-len(own) // count)
        for part in range(count):
            yield _input(ordinal, prefix, context, own[part * size : (part + 1) * size])


def _input(ordinal: int, prefix: list[int], context: list[int], body: list[int]) -> Input:
    from array import array
    from hashlib import sha256

    start = 1 + len(prefix) + len(context)
    ids = [CLS, *prefix, *context, *body, SEP]
    name = f"{SHA256} {RECIPE} {len(prefix)} {len(context)} ".encode() + array("H", ids).tobytes()
    own = (range(1, 1 + len(prefix)), range(start, start + len(body)))
    return Input(ordinal, ids, own, sha256(name).digest()[:16])


def _prefix(title: str, heading: str) -> str:
    parts = list(dict.fromkeys(part.strip() for part in (title, *heading.split("\n")) if part.strip()))
    return " ".join(part if part.endswith((".", "?", "!")) else part + "." for part in parts)


def _without_heading(body: str, heading: str) -> str:
    """``body`` without its own heading line, which the prefix holds already."""
    if not heading:
        return body
    lines = body.split("\n", 2)
    own = heading.rsplit("\n", 1)[-1].strip()
    if lines[0].lstrip().startswith("#"):
        return body[len(lines[0]) :]
    if len(lines) > 1 and lines[0].strip() == own and lines[1].strip() and not lines[1].strip().strip("=-"):
        return lines[2] if len(lines) > 2 else ""
    return body


def _before(pieces: Sequence[tuple[int, str, str, str]], number: int) -> Iterator[int]:
    """Numbers of the pieces just before, nearest first, that stand under the same heading or are that heading's own
    text.
    """
    heading = pieces[number][2]
    parent = heading.rpartition("\n")[0]
    for before in range(number - 1, max(-1, number - 1 - NEIGHBOURS), -1):
        other = pieces[before][2]
        if other != heading and other.rpartition("\n")[0] != parent and other != parent:
            return
        yield before
