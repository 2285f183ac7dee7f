"""The sentence around a place in a note's file, read from the file itself."""

from __future__ import annotations

import os
import re

MAX_SENTENCE = 300
_WINDOW = 1200
#: Where a sentence ends: a full stop, question or exclamation mark before a blank, the CJK ones anywhere.
_END = re.compile(r"[.!?…]['\")\]]*(?=\s)|[。！？｡]['」』）]*")
_BULLET = re.compile(r"\s{0,12}(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[.\]\s+)?|>\s?|#{1,6}\s+)+")


def read_window(root: str, path: str, start: int, end: int) -> tuple[bytes, int] | None:
    """The bytes of a note around ``start`` to ``end``, and the offset at which they begin; None where it cannot be
    read."""
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

    It stays within the paragraph's line; list marks and quotes before it are left out. Bytes that are no text become
    U+FFFD.
    """
    if encoding.startswith("utf-16"):
        start, end = start - start % 2, end + end % 2
    before = _decode(data[:start], encoding)
    middle = _decode(data[start:end], encoding)
    after = _decode(data[end:], encoding)
    before = before.rpartition("\n")[2].rpartition("\r")[2]
    after = re.split(r"[\r\n]", after, maxsplit=1)[0]
    before = before[_BULLET.match(before).end() :] if _BULLET.match(before) else before  # type: ignore[union-attr]
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


def _decode(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "replace").lstrip("\ufffd")
