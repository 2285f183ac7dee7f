"""The compatible ground: compact JSON, digests, JavaScript's trim, lengths and times, byte for byte.

Every function here answers as ECMAScript does, because record ids and revisions are hashes of its output.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

#: What ``String.prototype.trim`` removes (ECMA-262 WhiteSpace and LineTerminator).
TRIMMED = "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"

#: Digest of ``null``: the progress of a source that has none.
NOTHING = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"

_SURROGATE = re.compile("[\ud800-\udfff]")
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,30}))?)?(?:(Z)|([+-])(\d\d):?(\d\d))?", re.ASCII
)
_FORM = "%Y-%m-%dT%H:%M:%S"
LATEST_YEAR = 9998
#: The last moment that can be told; what follows a revision of the last accepted year still fits below it.
_LAST = "9999-12-31T23:59:59.999Z"


def trim(text: str) -> str:
    """``text`` without the white space that JavaScript's trim removes at both ends."""
    return text.strip(TRIMMED)


def length(text: str) -> int:
    """Length in UTF-16 code units: code points above U+FFFF count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, units: int) -> str:
    """The longest start of ``text`` within ``units`` UTF-16 code units that splits no character."""
    if len(text) * 2 <= units or (text.isascii() and len(text) <= units):
        return text
    used = 0
    for position, character in enumerate(text):
        used += 2 if character > "\uffff" else 1
        if used > units:
            return text[:position]
    return text


def has_surrogate(text: str) -> bool:
    """Whether ``text`` holds a lone surrogate, which UTF-8 cannot carry."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def plain(text: str) -> str:
    """``text`` as SQLite can take it: a lone surrogate becomes a question mark (only in columns that are searched)."""
    return text.encode("utf-8", "replace").decode("utf-8") if has_surrogate(text) else text


def compact(value: Any) -> str:
    """``JSON.stringify(value)`` for strings, lists, mappings, booleans and null: insertion order, no spaces.

    Lone surrogates become six-character escapes (ECMA-262 QuoteJSONString), so the text is always UTF-8.
    """
    return _escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def pretty(value: Any) -> str:
    """``JSON.stringify(value, null, 2)`` and a line end."""
    return _escaped(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def _escaped(text: str) -> str:
    if text.isascii() or not _SURROGATE.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", joined)


def digest(value: Any) -> str:
    """SHA-256, 64 hex digits, of the compact JSON of ``value``."""
    return text_digest(compact(value))


def text_digest(text: str) -> str:
    """SHA-256, 64 hex digits, of ``text`` that is compact JSON already."""
    return sha256(text.encode("utf-8")).hexdigest()


def resource_id(provider: str, source_id: str) -> str:
    """The record id of a normalised provider and original id; title, URL and times take no part."""
    return "resource_" + digest([provider, source_id])


def content_revision(provider: str, source_id: str, title: str, text: str, url: str) -> str:
    """Digest of what a source says of an item; ``url`` is the canonical one."""
    return digest({"provider": provider, "id": source_id, "title": title, "text": text, "url": url})


def instant(text: str, latest: int = LATEST_YEAR) -> str:
    """A time as ECMAScript's toISOString prints it: UTC, three decimals, ``Z``.

    Accepts ``YYYY-MM-DDTHH:MM[:SS[.f]]`` with ``Z`` or an offset; decimals past the third are cut; ``T24:00:00`` is
    the next day's start. Raises ValueError with the reason for anything else, also where JavaScript would guess: no
    zone (it takes the machine's), a day that does not exist (it rolls over), and years after ``latest`` (nothing could
    be later). Stored documents may hold times of the year 9999: what was made after a record of the last hours of 9998.
    """
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError("it is not a time of the form 2026-01-31T12:00:00.000Z")
    year, month, day, hour, minute = (int(part) for part in found.group(1, 2, 3, 4, 5))
    second = int(found[6] or 0)
    millisecond = int((found[7] or "0")[:3].ljust(3, "0"))
    if not found[8] and not found[9]:
        raise ValueError("it has no zone, so it would mean another time on another machine; end it with Z or an offset")
    next_day = hour == 24 and minute == second == 0 and not (found[7] or "").strip("0")
    try:
        moment = datetime(year, month, day, 0 if next_day else hour, minute, second, millisecond * 1000, tzinfo=UTC)
        if next_day:
            moment += timedelta(days=1)
        if found[9]:
            if int(found[10]) > 23 or int(found[11]) > 59:
                raise ValueError
            offset = timedelta(hours=int(found[10]), minutes=int(found[11]))
            moment = moment - offset if found[9] == "+" else moment + offset
    except (ValueError, OverflowError):
        raise ValueError("no such day or hour exists") from None
    if moment.year > latest:
        raise ValueError(f"years after {latest} are refused: no later revision could follow")
    return _print(moment)


def _print(moment: datetime) -> str:
    return f"{moment.year:04d}{moment.strftime(_FORM)[-15:]}.{moment.microsecond // 1000:03d}Z"


def moment_of(text: str) -> datetime:
    """The datetime of a time in canonical form."""
    return datetime(
        int(text[:4]), int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16]), int(text[17:19]),
        int(text[20:23]) * 1000, tzinfo=UTC,
    )  # fmt: skip


def now() -> str:
    """This moment in canonical form."""
    return _print(datetime.now(UTC))


def after(text: str, milliseconds: int = 1) -> str:
    """The time ``milliseconds`` after the canonical ``text``; never past the end of the year 9999."""
    try:
        return _print(moment_of(text) + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return _LAST


def later_than(text: str | None) -> str:
    """Now, or one millisecond after ``text`` where now is not later: the time of a revision made here."""
    present = now()
    return present if text is None or present > text else after(text)
