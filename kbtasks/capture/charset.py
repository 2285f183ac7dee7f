"""From a page's bytes to its text, in the order of the WHATWG encoding standard: BOM, header, meta, then a guess."""

from __future__ import annotations

import codecs
import re

PRESCAN = 1024
MAX_GUESS = 200_000
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"<meta\s([^>]{0,1000})>?", re.IGNORECASE)
_CHARSET = re.compile(rb"""charset\s{0,8}=\s{0,8}["']?\s{0,8}([A-Za-z0-9_:.\-]{1,40})""", re.IGNORECASE)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_MARKUP = re.compile(
    rb"<(?:!doctype|!--|html|head|body|title|meta|script|div|p|h[1-6]|article|table|\?xml)\b", re.IGNORECASE
)
_XML = re.compile(rb"""^\s{0,8}<\?xml[^>]{0,200}?encoding\s{0,8}=\s{0,8}["']([A-Za-z0-9_.\-]{1,40})""")

#: Names that the detector uses and the standard does not, with the codec that holds all their characters.
_DETECTED = {
    "cp932": "cp932",
    "shift_jis_2004": "cp932",
    "shift_jisx0213": "cp932",
    "euc_jis_2004": "euc_jp",
    "euc_jisx0213": "euc_jp",
    "cp949": "cp949",
    "cp950": "big5hkscs",
    "big5hkscs": "big5hkscs",
    "cp874": "cp874",
}


class Decoded:
    """The text of a page, the ``encoding`` it was read in, ``how`` that was known, and how many bytes had no meaning in it."""

    __slots__ = ("encoding", "how", "lost", "text")

    def __init__(self, text: str, encoding: str, how: str, lost: int) -> None:
        self.text = text
        self.encoding = encoding
        self.how = how
        self.lost = lost


def codec_of(label: str) -> str | None:
    """The Python codec for a label of the WHATWG standard (``iso-8859-1`` means windows-1252), or None."""
    import webencodings

    found = webencodings.lookup(label.strip())
    if found is None:
        return None
    name = {
        "gbk": "gb18030",
        "shift_jis": "cp932",
        "euc-kr": "cp949",
        "big5": "big5hkscs",
        "x-user-defined": "cp1252",
    }.get(found.name, found.codec_info.name)
    return name if name != "replacement" else None


def header_charset(content_type: str) -> str | None:
    """The label of the charset parameter of a Content-Type header, or None."""
    found = _CHARSET.search(content_type.encode("ascii", "ignore"))
    return found.group(1).decode("ascii") if found else None


def meta_charset(data: bytes) -> str | None:
    """The label that a meta element (or an XML declaration) in the first 1024 bytes gives, or None."""
    head = data[:PRESCAN]
    found = _XML.match(head)
    if found:
        return found.group(1).decode("ascii")
    for meta in _META.finditer(head):
        attributes = meta.group(1)
        found = _CHARSET.search(attributes)
        if found:
            return found.group(1).decode("ascii")
    return None


def decode(data: bytes, content_type: str = "") -> Decoded:
    """The text of ``data``; bytes without meaning become U+FFFD and are counted."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], encoding, "bom")
    label = header_charset(content_type)
    if label and (codec := codec_of(label)):
        return _decode(data, codec, "header")
    label = meta_charset(data)
    if label and (codec := codec_of(label)):
        # A page that could be prescanned as ASCII is not UTF-16, whatever it says.
        return _decode(data, "utf-8" if codec.startswith("utf-16") else codec, "meta")
    return _guess(data)


def is_binary(data: bytes) -> bool:
    """Whether ``data`` is no text: bytes that text does not use near its start (WHATWG MIME sniffing, 5.1), and no markup."""
    head = data[:PRESCAN]
    if head.startswith(tuple(mark for mark, _ in _BOMS)) or _MARKUP.search(head):
        return False
    return _BINARY.search(head) is not None


def _guess(data: bytes) -> Decoded:
    try:
        return Decoded(data.decode("utf-8"), "utf-8", "detected", 0)
    except UnicodeDecodeError as error:
        if error.start > MAX_GUESS // 2 or _mostly_utf8(data):
            return _decode(data, "utf-8", "detected")
    from charset_normalizer import from_bytes

    best = from_bytes(data[:MAX_GUESS]).best()
    encoding = None
    if best is not None:  # the detector speaks in Python's names: cp932, euc_jp
        encoding = _DETECTED.get(best.encoding) or codec_of(best.encoding) or codec_of(best.encoding.replace("_", "-"))
    return _decode(data, encoding or "cp1252", "detected")


def _mostly_utf8(data: bytes) -> bool:
    """Whether the first part is UTF-8 with a few broken places: many multi-byte characters for each bad byte."""
    text = data[:MAX_GUESS].decode("utf-8", "replace")
    bad = text.count("�")
    return sum(char > "\x7f" for char in text) - bad > 10 * bad


def _decode(data: bytes, encoding: str, how: str) -> Decoded:
    text = data.decode(encoding, "kb-cp1252" if encoding == "cp1252" else "replace")
    return Decoded(text, encoding, how, text.count("�") - data.count(b"\xef\xbf\xbd"))


def _as_control(error: UnicodeError) -> tuple[str, int]:
    """The five bytes that windows-1252 leaves open stand for the control character of the same number (WHATWG)."""
    assert isinstance(error, UnicodeDecodeError)
    return "".join(chr(byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error("kb-cp1252", _as_control)
