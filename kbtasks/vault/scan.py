"""One pass over a note's Markdown: headings, links, tags, blocks, footnotes, sections and the first words.

Places count characters of the text; parse turns them into bytes of the file. Masked, so that nothing in them
counts: code (fenced, indented, inline, HTML), comments (``<!-- -->`` and Obsidian's ``%% %%``) and formulas (``$
    $`` and ``$$ $$``).
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING

from kbtasks.model.note import Heading, Place, Section
from kbtasks.vault.blocks import find_blocks
from kbtasks.vault.inline import Inline

if TYPE_CHECKING:
    from kbtasks.model.note import Link, Tag
    from kbtasks.vault.blocks import Definition

MAX_SUMMARY = 180
_BY_PLACE = attrgetter("place.start")
_MAX_HEADING = 1000
_MARKUP = re.compile(r"[\[\]<*_`~=%\\&^]")
_COMMENT = re.compile(r"%%[^%]*+%%|<!--(?:[^-]|-(?!->))*+-->")
_WIKILINK = re.compile(r"!?\[\[([^\[\]|\\]*+)(?:\\?\|([^\[\]]*+))?\]\]")
_LINK = re.compile(r"!?\[([^\[\]]*+)\](?:\([^()\s]*+(?:\s[^()]*+)?\)|\[[^\[\]]*+\])")
_FOOTNOTE = re.compile(r"\[\^[^\]\s\[]*+\]")
_TAG = re.compile(r"</?[A-Za-z][^<>]*+>")
_EMPHASIS = re.compile(r"(?<!\\)(?:\*+|~~|==|`+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w))")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_INK = re.compile(r"\S")
_BLOCK_ID = re.compile(r"\s\^[A-Za-z0-9\-]+$")


class Scan:
    """What the Markdown of one note holds, in the order of the text; see model.note for the classes."""

    __slots__ = ("blocks", "definitions", "footnotes", "headings", "links", "prose", "sections", "tags")

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.tags: list[Tag] = []
        self.blocks: list[tuple[str, int]] = []
        self.footnotes: list[tuple[str, int]] = []
        self.sections: list[Section] = []
        self.definitions: dict[str, Definition] = {}
        self.prose: tuple[int, int] | None = None


def scan_markdown(text: str, start: int = 0, line: int = 1) -> Scan:
    """Scan a note's text from offset ``start``, where line number ``line`` begins; linear in the text, never raises."""
    found = find_blocks(text, start, line)
    scan = Scan()
    if found.regions:
        inline = Inline(text, found.definitions)
        for region in found.regions:
            inline.read(*region)
        inline.links.sort(key=_BY_PLACE)
        scan.links, scan.tags, scan.blocks = inline.links, inline.tags, inline.blocks
    scan.definitions = found.definitions
    scan.footnotes = found.footnotes
    scan.prose = found.prose
    for level, text_start, text_end, number, begin, end in found.headings:
        words = plain_text(text[text_start : min(text_end, text_start + _MAX_HEADING)])
        scan.headings.append(Heading(level, words, Place(number, begin, end)))
    scan.sections = _sections(text, start, line, found.last_line, scan.headings)
    return scan


def _sections(text: str, start: int, line: int, last_line: int, headings: list[Heading]) -> list[Section]:
    """The pieces between headings of any level; the heading itself is the last of its section's path."""
    sections: list[Section] = []
    first = headings[0].place.start if headings else len(text)
    if _INK.search(text, start, first):
        end_line = headings[0].place.line - 1 if headings else last_line
        sections.append(Section((), line, max(end_line, line), start, first))
    above: list[tuple[int, str]] = []
    for number, heading in enumerate(headings):
        while above and above[-1][0] >= heading.level:
            above.pop()
        above.append((heading.level, heading.text))
        following = headings[number + 1].place if number + 1 < len(headings) else None
        end = following.start if following else len(text)
        end_line = following.line - 1 if following else last_line
        path = tuple([words for _, words in above])
        sections.append(Section(path, heading.place.line, end_line, heading.place.start, end))
    return sections


def plain_text(markup: str) -> str:
    """The words of a short piece of Markdown without its marks: labels of links, no emphasis, comments or block ID."""
    if not _MARKUP.search(markup):
        return " ".join(markup.split())
    words = markup
    if "%%" in words or "<" in words:
        words = _TAG.sub("", _COMMENT.sub("", words))
    if "[" in words:
        words = _WIKILINK.sub(lambda match: match.group(2) or match.group(1), words)
        words = _FOOTNOTE.sub("", _LINK.sub(r"\1", words))
    if "*" in words or "_" in words or "`" in words or "~~" in words or "==" in words:
        words = _EMPHASIS.sub("", words)
    if "\\" in words:
        words = _ESCAPE.sub(r"\1", words)
    if "^" in words:
        words = _BLOCK_ID.sub("", words.rstrip())
    return " ".join(words.split())


def shortened(words: str, limit: int = MAX_SUMMARY) -> str:
    """``words`` of at most ``limit`` characters, cut at a blank near the end with an ellipsis."""
    words = " ".join(words.split())
    if len(words) <= limit:
        return words
    cut = words.rfind(" ", limit * 2 // 3, limit)
    return words[: cut if cut > 0 else limit - 1].rstrip(" ,;:.-") + "…"
