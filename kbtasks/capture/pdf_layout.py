"""Words of a page in the order a person reads them: lines, columns, paragraphs."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbtasks.capture.pdf_read import Word

BULLET = re.compile(r"^(?:[•▪▫◦‣⁃●○■□–—]|[-*](?=\s))\s*")
NUMBERED = re.compile(r"^(?:\(?\d{1,3}[.)]|[a-z][.)])\s")
#: The end of a line in a table of contents: a row of dots, and mostly a page number.
LEADER = re.compile(r"(?:\.\s{0,3}){5}\S{0,6}(?: \S{1,4})?$")
_DOTS = re.compile(r"\s?(?:\.\s{0,3}){5,}")
#: A column of prose has lines of at least this many characters on average; narrower ones are cells of a table.
COLUMN_CHARACTERS = 16
MAX_DEPTH = 12


class Line:
    """A run of words in one line of one column."""

    __slots__ = ("bold", "bottom", "size", "text", "top", "words", "x0", "x1")

    def __init__(self, words: list[Word]) -> None:
        self.words = words
        self.text = " ".join(word.text for word in words)
        self.x0 = words[0].x0
        self.x1 = max(word.x1 for word in words)
        self.top = min(word.top for word in words)
        self.bottom = max(word.bottom for word in words)
        self.size = sorted(word.size for word in words)[len(words) // 2]
        self.bold = False


def lines_of(words: list[Word]) -> list[Line]:
    """Words as lines, split where a gap is wider than any blank between words of that size."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda item: (item.top + item.bottom, item.x0)):
        middle = (word.top + word.bottom) / 2
        for row in reversed(rows[-4:]):
            first = row[0]
            if first.top <= middle <= first.bottom and abs((first.top + first.bottom) / 2 - middle) < 0.6 * min(
                first.size, word.size
            ):
                row.append(word)
                break
        else:
            rows.append([word])
    lines = []
    for row in rows:
        row.sort(key=lambda item: item.x0)
        run = [row[0]]
        for word in row[1:]:
            if word.x0 - run[-1].x1 > 1.2 * max(word.size, run[-1].size):
                lines.append(Line(run))
                run = [word]
            else:
                run.append(word)
        lines.append(Line(run))
    return lines


def reading_order(lines: list[Line]) -> list[list[Line]]:
    """Lines as columns in reading order. A gutter parts columns; wide lines part the page into bands."""
    return _order(sorted(lines, key=lambda item: (item.top, item.x0)), 0)


def _order(lines: list[Line], depth: int) -> list[list[Line]]:
    if len(lines) < 3 or depth > MAX_DEPTH:
        return [lines] if lines else []
    groups = _columns(lines)
    if len(groups) > 1:
        return [part for group in groups for part in _order(group, depth + 1)]
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    wide = {id(line) for line in lines if line.x1 - line.x0 > 0.6 * (right - left)}
    narrow = [line for line in lines if id(line) not in wide]
    if not wide or len(narrow) < 4 or len(_columns(narrow)) < 2:
        return [lines]
    parts: list[list[Line]] = []
    for line in lines:
        if parts and (id(line) in wide) == (id(parts[-1][-1]) in wide):
            parts[-1].append(line)
        else:
            parts.append([line])
    return [part for band in parts for part in (_order(band, depth + 1) if id(band[0]) not in wide else [band])]


def _columns(lines: list[Line]) -> list[list[Line]]:
    """Groups of lines whose horizontal extents touch, left to right; one group where the gutters are not those of prose."""
    groups: list[list[Line]] = []
    edge = float("-inf")
    size = sorted(line.size for line in lines)[len(lines) // 2]
    for line in sorted(lines, key=lambda item: item.x0):
        if line.x0 > edge + 0.8 * size or not groups:
            groups.append([])
        groups[-1].append(line)
        edge = max(edge, line.x1)
    if len(groups) < 2:
        return groups
    for group in groups:
        if len(group) < 2 or sum(len(line.text) for line in group) / len(group) < COLUMN_CHARACTERS:
            return [lines]
    return [sorted(group, key=lambda item: (item.top, item.x0)) for group in groups]


def paragraphs(column: list[Line]) -> list[list[Line]]:
    """The lines of a column as paragraphs: parted by gaps, indents, bullets and sizes; rows of cells stay rows."""
    if not column:
        return []
    left = min(line.x0 for line in column)
    right = max(line.x1 for line in column)
    gaps = sorted(after.top - before.top for before, after in pairwise(column) if after.top - before.top > 1)
    leading = gaps[len(gaps) // 2] if gaps else column[0].size * 1.2
    found: list[list[Line]] = [[column[0]]]
    for line in column[1:]:
        last = found[-1][-1]
        same_row = abs(line.top - last.top) < 0.5 * min(line.size, last.size)
        new = (
            line.top - last.top > min(1.35 * leading, 2.2 * line.size)
            or line.top < last.top - line.size
            or abs(line.size - last.size) > 0.12 * max(line.size, last.size)
            or line.bold != last.bold
            or BULLET.match(line.text) is not None
            or LEADER.search(last.text) is not None
            or (NUMBERED.match(line.text) is not None and last.x1 < right - 2 * line.size)
            or (
                line.x0 > left + line.size
                and line.x0 > last.x0 + 0.8 * line.size
                and BULLET.match(found[-1][0].text) is None
            )
            or (last.x1 < right - 0.25 * (right - left) and last.text[-1:] in ".!?:。！？")
        )
        if (new and not same_row) or (
            not same_row and len(found[-1]) > 1 and abs(found[-1][-2].top - last.top) < 0.5 * last.size
        ):
            found.append([line])
        else:
            found[-1].append(line)
    return found


def join_lines(lines: list[Line], known: set[str]) -> str:
    """The text of a paragraph: line ends are blanks (none between CJK characters), hyphens at line ends mended.

    known: words of the document in lower case; a compound that stands whole elsewhere keeps its hyphen.
    """
    text = lines[0].text
    for line in lines[1:]:
        following = line.text
        if text.endswith("-") and len(text) > 2 and text[-2].isalpha() and following[:1].islower():
            head = text[:-1].rpartition(" ")[2]
            tail = re.split(r"[^\w]", following, maxsplit=1)[0]
            start = re.sub(r"^\W+", "", head).lower()
            if f"{start}-{tail}".lower() in known and f"{start}{tail}".lower() not in known:
                text += following
            else:
                text = text[:-1] + following
        elif _is_cjk(text[-1:]) and _is_cjk(following[:1]):
            text += following
        else:
            text += " " + following
    return _DOTS.sub(" … ", text).rstrip() if LEADER.search(text) else text


def _is_cjk(char: str) -> bool:
    return "\u3000" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef"
