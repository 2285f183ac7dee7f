"""The prose of a note: its body with everything masked in which a name is no mention (code, comments, formulas,
links, addresses).

The masking is by marks alone, one pass, linear in the text. Where a hostile text leaves it in doubt, it masks more
rather than less.
"""

from __future__ import annotations

import re
from bisect import bisect_left

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from sqlite3 import Connection

MASK = "\0"
_OPENING = re.compile(
    r"^[ ]{0,3}(?:>[ ]?){0,8}(?:[-*+][ ]{1,3})?(`{3,}|~{3,})"  # 1 fence
    r"|(`+)"  # 2 code span
    r"|(<!--|%%|\$\$)"  # 3 comment or formula
    r"|<(pre|code|script|style)\b"  # 4 code element
    r"|(!?\[\[[^\[\]\n]{0,1000}\]\]"  # 5 what is masked as it stands: links, footnote marks, addresses, tags, HTML tags
    r"|!?\[[^\[\]\n]{0,1000}\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)"
    r"|!?\[[^\[\]\n]{1,500}\]\[[^\[\]\n]{0,500}\]|\[\^[^\[\]\s]{1,200}\]"
    r"|^[ ]{0,3}\[[^\[\]\n]{1,500}\]:[^\n]*|\b(?:https?|ftp|file|obsidian)://[^\s<>)\]]+"
    r"|(?<![^\s(])\#[\w/-]+|</?[A-Za-z][^<>\n]{0,1000}>)",
    re.MULTILINE | re.IGNORECASE,
)
_CLOSING = {"<!--": "-->", "%%": "%%", "$$": "$$"}
_PARAGRAPH_END = re.compile(r"\n[ ]{0,3}(?:\n|`{3}|~{3})")
_TICKS = re.compile("`+")
_LIST = re.compile(r"[ ]{0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


class Body:
    """A note's body: its ``text``, and the line and byte of the file at which it begins."""

    __slots__ = ("_seen", "encoding", "line", "note", "start", "text")

    def __init__(self, note: int, line: int, start: int, encoding: str) -> None:
        self.note = note
        self.line = line
        self.start = start
        self.encoding = encoding
        self.text = ""
        self._seen = (0, line, start)

    def place(self, start: int, end: int) -> tuple[int, int, int]:
        """The line and the bytes of the file where characters ``start`` to ``end`` of the text stand.

        Quick when asked from left to right: only the text since the last question is counted.
        """
        seen, line, byte = self._seen if self._seen[0] <= start else (0, self.line, self.start)
        line += self.text.count("\n", seen, start)
        byte += self._bytes(seen, start)
        self._seen = (start, line, byte)
        return line, byte, byte + self._bytes(start, end)

    def _bytes(self, start: int, end: int) -> int:
        part = self.text[start:end]
        return len(part) if self.encoding == "utf-8" and part.isascii() else len(part.encode(self.encoding, "replace"))


def bodies(connection: Connection, wanted: set[int] | None = None) -> Iterator[Body]:
    """The bodies of all notes but the catalog page, or of the notes ``wanted``, by row number."""
    sql = (
        "SELECT note.rowid, piece.line, piece.start_byte, note.encoding, piece.body FROM search_text AS piece"
        " JOIN note ON note.rowid = piece.id >> 12 WHERE note.generated = 0"
    )
    if wanted is None:
        yield from _joined(connection.execute(f"{sql} ORDER BY piece.id"))
        return
    for note in sorted(wanted):
        bounds = (note << 12, (note + 1) << 12)
        yield from _joined(connection.execute(f"{sql} AND piece.id >= ? AND piece.id < ? ORDER BY piece.id", bounds))


def _joined(rows: Iterable[tuple[int, int, int, str, str]]) -> Iterator[Body]:
    """The bodies whose pieces ``rows`` hold in order."""
    current: Body | None = None
    parts: list[str] = []
    for note, line, start, encoding, body in rows:
        if current is None or current.note != note:
            if current is not None:
                current.text = "".join(parts)
                yield current
            current, parts = Body(note, line, start, encoding), []
        parts.append(body)
    if current is not None:
        current.text = "".join(parts)
        yield current


def masked(text: str) -> str:
    """``text`` with everything that is no prose replaced by as many NUL characters."""
    spans = [*_marked(text), *_indented(text)]
    if not spans:
        return text
    spans.sort()
    parts: list[str] = []
    done = 0
    for begin, end in spans:
        if end <= done:
            continue
        start = max(begin, done)
        parts += (text[done:start], MASK * (end - start))
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _marked(text: str) -> Iterator[tuple[int, int]]:
    ticks: dict[int, list[int]] | None = None
    absent: set[str] = set()
    paragraph_end = 0
    position = 0
    length = len(text)
    while match := _OPENING.search(text, position):
        start, position = match.start(), match.end()
        kind = match.lastindex
        if kind == 1:
            mark = match.group(1)
            closing = re.compile(rf"^[ >]{{0,12}}{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE)
            found = closing.search(text, position)
            position = found.end() if found else length
            yield match.start(1), position
        elif kind == 2:
            if ticks is None:
                ticks = {}
                for run in _TICKS.finditer(text):
                    ticks.setdefault(run.end() - run.start(), []).append(run.start())
            if paragraph_end < position:
                ended = _PARAGRAPH_END.search(text, position)
                paragraph_end = ended.start() if ended else length
            same = ticks.get(position - start, [])
            at = bisect_left(same, position)
            if at < len(same) and same[at] < paragraph_end:
                position = same[at] + position - start
                yield start, position
        elif kind in (3, 4):
            closing_mark = _CLOSING.get(match.group(3) or "", f"</{(match.group(4) or '').lower()}")
            if closing_mark in absent:
                continue
            end = text.find(closing_mark, position) if kind == 3 else _find_folded(text, closing_mark, position)
            if end < 0:
                absent.add(closing_mark)
                continue
            position = end + len(closing_mark)
            yield start, position
        elif kind == 5:
            yield start, position


def _find_folded(text: str, mark: str, position: int) -> int:
    match = re.compile(re.escape(mark), re.IGNORECASE).search(text, position)
    return match.start() if match else -1


def _indented(text: str) -> Iterator[tuple[int, int]]:
    """Blocks of indented code: lines of four blanks or a tab after a blank line, outside lists."""
    if "\n    " not in text and "\n\t" not in text:
        return
    position = 0
    in_list = False
    before_blank = True
    code = False
    for line in text.split("\n"):
        end = position + len(line)
        if not line.strip():
            before_blank = True
        elif line.startswith(("    ", "\t")):
            code = not in_list and (before_blank or code)
            if code:
                yield position, end
            before_blank = False
        else:
            in_list = bool(_LIST.match(line)) or (in_list and not before_blank)
            before_blank = code = False
        position = end + 1
