"""From a file's bytes to text and back to places in the bytes: nothing is fatal, and every oddity is named.

Text and bytes differ in three ways (byte order mark, UTF-16, characters longer than one byte); ``Source`` answers
for all of them, so that every place in a note speaks of the file's own bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NOTE_BYTES = 16 << 20
_SAMPLE = 512
_UNSHOWN = re.compile("[\x00\ud800-\udfff]")


class Source:
    """The text of one note and how it lies in the bytes.

    text: decoded, without byte order mark; bytes that are no text, and NUL, stand in it as U+FFFD, one each. Where
        carriage returns alone end the lines, they stand in it as line feeds.
    exact: the same with what could not be shown as it was decoded: NUL, and a lone surrogate for each byte that is no
        text. As long as ``text``, character by character; encoded again it has the length of the file's bytes.
    encoding: ``utf-8``, ``utf-16-le``, ``utf-16-be`` or ``latin-1``.
    skipped: bytes before the text (a byte order mark).
    faults: ``(code, message, line)``; line 0 when the whole file is meant.
    """

    __slots__ = ("_errors", "encoding", "exact", "faults", "plain", "skipped", "text")

    def __init__(self, text: str, encoding: str, skipped: int, *, errors: str = "strict", plain: bool = False) -> None:
        if "\r" in text and "\n" not in text:  # lines of the old Macintosh
            text = text.replace("\r", "\n")
        self.exact = text
        self._errors = errors
        self.encoding = encoding
        self.skipped = skipped
        self.plain = plain  # one byte for each character, so that places need no counting
        self.faults: list[tuple[str, str, int]] = []
        self.text = text if plain and "\0" not in text else shown(text)

    def byte_offsets(self, offsets: Iterable[int]) -> dict[int, int]:
        """The byte offset in the file of each character offset in ``text``: one pass, linear in the text."""
        table: dict[int, int] = {}
        done, at, exact = 0, self.skipped, self.exact
        encoding, errors = self.encoding, self._errors
        utf8 = encoding == "utf-8"
        for offset in sorted(set(offsets)):
            if offset > done:
                piece = exact[done:offset]
                at += len(piece) if utf8 and piece.isascii() else len(piece.encode(encoding, errors))
                done = offset
            table[offset] = at
        return table

    def line_of(self, offset: int) -> int:
        """The line, from 1, that holds the character at ``offset``."""
        return self.text.count("\n", 0, offset) + 1


def shown(text: str) -> str:
    """``text`` with U+FFFD for each NUL and each lone surrogate."""
    return _UNSHOWN.sub("�", text)


def decode(data: bytes, *, limit: int = MAX_NOTE_BYTES) -> Source:
    """The text of a note's bytes, read as far as possible; never raises.

    data: the file's bytes, or as many of them as were read; what lies past ``limit`` bytes is left out and said so.

    A byte order mark decides; without one the bytes are UTF-8. Where some are not, each of them becomes U+FFFD,
    unless none of the others is a UTF-8 letter either: then the file is taken as Latin-1.
    """
    cut = len(data) > limit
    if cut:
        data = data[: limit - limit % 4]
        while data and 0x80 <= data[-1] < 0xC0:  # never cut inside a UTF-8 character
            data = data[:-1]
        if data and data[-1] >= 0xC0:
            data = data[:-1]
    source = _decode(data)
    if cut:
        source.faults.append(("too-large", f"is larger than {limit} bytes; only the beginning is read", 0))
    if "\0" in source.exact:
        line = source.line_of(source.exact.index("\0"))
        source.faults.append(("nul-byte", "holds NUL bytes; each is read as U+FFFD", line))
    return source


def _decode(data: bytes) -> Source:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _utf16(data, "utf-16-le" if data[0] == 0xFF else "utf-16-be", 2)
    skipped = 3 if data[:3] == b"\xef\xbb\xbf" else 0
    body = data[skipped:] if skipped else data
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        first = error.start
    else:
        if "\0" in text and (guess := _unmarked_utf16(data)) is not None:
            return _utf16(data, guess, 0)
        return Source(text, "utf-8", skipped, plain=len(text) == len(body))
    if (guess := _unmarked_utf16(data)) is not None:
        return _utf16(data, guess, 0)
    line = body.count(b"\n", 0, first) + 1
    text = body.decode("utf-8", "surrogateescape")
    if any(ord(letter) > 0x7F and not 0xDC80 <= ord(letter) <= 0xDCFF for letter in set(text)):
        source = Source(text, "utf-8", skipped, errors="surrogateescape")
        words = "holds bytes that are not UTF-8; each is read as U+FFFD, and the file is not to be rewritten"
    else:
        source = Source(body.decode("latin-1"), "latin-1", skipped, plain=True)
        words = "is not UTF-8; it is read as Latin-1, and the file is not to be rewritten"
    source.faults.append(("not-utf-8", words, line))
    return source


def _utf16(data: bytes, encoding: str, skipped: int) -> Source:
    whole = data[skipped : len(data) - (len(data) - skipped) % 2]
    source = Source(whole.decode(encoding, "surrogatepass"), encoding, skipped, errors="surrogatepass")
    words = "is UTF-16; it is read, but other tools may not read it"
    if len(whole) + skipped != len(data):
        words = "is UTF-16 with half a character at its end, which is left out"
    source.faults.append(("utf-16", words, 0))
    return source


def _unmarked_utf16(data: bytes) -> str | None:
    """UTF-16 without a byte order mark, when nearly every second byte of its beginning is zero and no other is."""
    sample = data[:_SAMPLE]
    if len(sample) < 8 or b"\0" not in sample:
        return None
    even, odd = sample[0::2], sample[1::2]
    for encoding, zeros, letters in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros.count(0) >= 0.8 * len(zeros) and letters.count(0) == 0:
            return encoding
    return None
