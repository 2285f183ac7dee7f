"""The sentence around a place in a note's file, read from the file itself."""

from __future__ import annotations

import os
import re

MAX_SENTENCE = 300
_WINDOW = 1200
#: Where a sentence ends: a full stop, question or exclamation mark before a blank, the CJK ones anywhere.
_END = re.compile(r"[.!?…]['\")\]]*(?=\s)|[。！？｡]['」』）]*")
#: What begins a block of its own on a line: list marks, quotes, headings.
_BLOCK = re.compile(r"\s{0,12}(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?|>[ \t]?|#{1,6}[ \t]+)+")
#: Lines that belong to no paragraph around them: headings, table rows, fences, rules.
_ALONE = re.compile(r"\s{0,12}(?:#{1,6}[ \t]|\||```|~~~|---|===)")


def read_window(root: str, path: str, start: int, end: int) -> tuple[bytes, int] | None:
    """The bytes of a note around ``start`` to ``end``, and the offset at which they begin; None where it cannot be read."""
    begin = max(0, start - _WINDOW)
    try:
        descriptor = os.open(os.path.join(root, path), os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
    except (OSError, ValueError):
        return None
    try:
        return os.pread(descriptor, end + _WINDOW - begin, begin), begin
    except OSError:
        return None
    finally:
        os.close(descriptor)


def sentence_at(data: bytes, start: int, end: int, encoding: str = "utf-8") -> str:
    """The sentence in ``data`` that holds bytes ``start`` to ``end``, on one line, at most MAX_SENTENCE characters.

    It stays within the paragraph, list item, heading or table row; the marks of lists and quotes before it are left out.
    Bytes that are no text become U+FFFD.
    """
    if encoding.startswith("utf-16"):
        start, end = start - start % 2, end + end % 2
    before = _paragraph_before(_decode(data[:start], encoding))
    middle = _decode(data[start:end], encoding)
    after = _paragraph_after(_decode(data[end:], encoding), row=before.lstrip().startswith(("|", "#")))
    mark = _BLOCK.match(before)
    before = before[mark.end() :] if mark else before
    cut = 0
    for match in _END.finditer(before):
        cut = match.end()
    before = before[cut:].lstrip()
    stop = _END.search(after)
    if stop:
        after = after[: stop.end()]
    spare = max(MAX_SENTENCE - len(middle), 60)
    if len(before) + len(after) > spare:
        keep = max(spare // 2, spare - len(after))
        before = before if len(before) <= keep else "…" + before[-keep:]
        keep = max(spare - len(before), 0)
        after = after if len(after) <= keep else after[:keep].rstrip() + "…"
    return " ".join((before + middle[:MAX_SENTENCE] + after).split())


def _paragraph_before(text: str) -> str:
    """The end of ``text`` that belongs to the same paragraph, its soft line ends as line ends."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = len(lines) - 1
    while (
        first > 0 and lines[first - 1].strip() and not _BLOCK.match(lines[first]) and not _ALONE.match(lines[first - 1])
    ):
        first -= 1
    return "\n".join(lines[first:])


def _paragraph_after(text: str, *, row: bool) -> str:
    """The beginning of ``text`` that belongs to the same paragraph (of a table row or heading: to its line)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    last = 1
    while (
        not row
        and last < len(lines)
        and lines[last].strip()
        and not _BLOCK.match(lines[last])
        and not _ALONE.match(lines[last])
    ):
        last += 1
    return "\n".join(lines[:last])


def _decode(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "replace").lstrip("\ufffd")
