"""The derived region of the catalog page: where it lies between its two marks, as bytes of the file."""

from __future__ import annotations

import re

from kbtasks.errors import Conflict

START, END = b"<!-- kb:catalog:start -->", b"<!-- kb:catalog:end -->"
_OFF_LINE = re.compile(rb"[^\r\n]")
_MARK = re.compile(rb"^[ \t]*<!--[ \t]*kb:catalog:(start|end)[ \t]*-->[ \t]*\r?$", re.MULTILINE)
_ANY = re.compile(rb"(?<!\\)<!--[ \t]*kb:catalog:(?!digest)")


class MalformedCatalog(Conflict):
    """{path}: {fault}; the page was left as it is."""

    code = "malformed-catalog"


def find_region(data: bytes) -> tuple[int, int] | None:
    """Byte range between the marks (marks excluded), or None where there is not exactly one pair in order."""
    try:
        return region(data, path="")
    except MalformedCatalog:
        return None


def blanked(data: bytes, derived: tuple[int, int] | None) -> bytes:
    """``data`` with blanks for the text of its ``derived`` region; its lines and all places stay what they are."""
    start, end = derived or (0, 0)
    return data[:start] + _OFF_LINE.sub(b" ", data[start:end]) + data[end:]


def region(data: bytes, *, path: str) -> tuple[int, int] | None:
    """Byte range between the marks (marks excluded), None where there are no marks at all.

    Each mark must stand alone on its line, once. Raises MalformedCatalog for anything else: one mark, two of a kind,
    the end before the start, a mark that is cut short.
    """
    marks = [(match[1], match.start(), match.end()) for match in _MARK.finditer(data)]
    count = sum(1 for _ in _ANY.finditer(data))
    if not count:
        return None
    starts = [mark for mark in marks if mark[0] == b"start"]
    ends = [mark for mark in marks if mark[0] == b"end"]
    fault = ""
    if len(marks) != count:
        fault = "a kb:catalog mark does not stand whole and alone on its line"
    elif len(starts) != 1 or len(ends) != 1:
        fault = f"{len(starts)} kb:catalog:start and {len(ends)} kb:catalog:end marks, where one of each belongs"
    elif ends[0][1] < starts[0][1]:
        fault = "kb:catalog:end stands before kb:catalog:start"
    if fault:
        raise MalformedCatalog(
            path=path, fault=fault, next="leave one line with each mark, start first, and run: kb refresh"
        )
    return data.index(b"\n", starts[0][2]) + 1, ends[0][1]
