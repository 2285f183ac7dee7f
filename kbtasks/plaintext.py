"""Text from outside made safe to show: no control characters, no bidirectional tricks, no half characters."""

from __future__ import annotations

#: Bidirectional embeddings, overrides and isolates: they reorder what a reader sees, far beyond themselves.
OVERRIDES = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
#: All bidirectional controls: OVERRIDES, and the marks ALM, LRM and RLM, which honest right-to-left text may hold.
BIDI = (0x061C, 0x200E, 0x200F, *OVERRIDES)
#: Control characters other than tab and newline (C0, DEL, C1), and BIDI.
HIDDEN = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *BIDI))


def plain(text: str) -> str:
    """``text`` without control and bidirectional characters; tabs and newlines stay, lone surrogates become U+FFFD."""
    return text.translate(HIDDEN).encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, limit: int) -> str:
    """``text`` on one line of at most ``limit`` characters: plain, white space collapsed, ``…`` where cut."""
    line = " ".join(plain(text[: limit * 8]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def tail_of(data: bytes, limit: int = 2000) -> str:
    """The last ``limit`` characters of a program's stderr, plain; bytes that are not UTF-8 are shown as ``\\xNN``."""
    return plain(data[-4 * limit :].decode("utf-8", "backslashreplace")).strip()[-limit:]
