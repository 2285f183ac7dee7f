"""A bookmark as every importer hands it over, and the small facts they all need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.resources import canonical
from kbtasks.resources.model import TEXT, TITLE

if TYPE_CHECKING:
    from typing import Any

_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
_STATUS = re.compile(
    r"https?://(?:www\.|mobile\.|m\.)?(?:x|twitter)\.com/(?:i/web|i|[A-Za-z0-9_]{1,20})/status(?:es)?/([0-9]{1,25})",
    re.IGNORECASE,
)
_ID_FORMS = re.compile(r"(?:tweet-|bookmark_[0-9A-Za-z]+_)?([0-9]{1,25})", re.ASCII)
_HANDLE = re.compile(r"\w{1,50}", re.ASCII)
_TWITTER_DATE = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d{2}) (\d{2}:\d{2}:\d{2}) ([+-]\d{4}) (\d{4})", re.ASCII)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
#: Milliseconds at which X began to count its ids (snowflake), and the first id counted so.
_EPOCH, _FIRST = 1288834974657, 1 << 41
TITLE_UNITS = 120


class BadRow(Exception):
    """A row that is no bookmark, with the reason."""


class Bookmark:
    """One saved post or page. text and title are clean; ``extras`` and ``images`` are still to be checked field by field."""

    __slots__ = ("extras", "id", "images", "provider", "summary", "text", "title", "url")

    def __init__(self, provider: str, identity: str, url: str, *, title: str = "", text: str = "") -> None:
        self.provider = provider
        self.id = identity
        self.url = url
        self.text = clean(text, TEXT)
        self.title = clean(title, TITLE) or first_words(self.text)
        self.summary = ""
        self.images: list[str] = []
        self.extras: dict[str, Any] = {}


def clean(text: Any, units: int) -> str:
    """``text`` without control characters (tab and line ends stay), trimmed, cut to ``units`` UTF-16 units.

    Half characters, which some exporters leave behind a cut, become U+FFFD.
    """
    if not isinstance(text, str):
        return ""
    text = text.translate(_CONTROLS)
    if canonical.has_surrogate(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return canonical.trim(canonical.cut(canonical.trim(text), units))


def first_words(text: str) -> str:
    """The title of a text that has none: its first 120 UTF-16 units, never half a character."""
    return canonical.trim(canonical.cut(text, TITLE_UNITS))


def status_id(url: Any) -> str | None:
    """The post's id in an X or Twitter status URL."""
    found = _STATUS.match(url.strip()) if isinstance(url, str) else None
    return found[1] if found else None


def post_id(value: Any) -> str | None:
    """The digits of a post id in any of its forms: ``123``, ``tweet-123``, ``bookmark_9_123``, or an exact whole number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value) if value >= 0 else None
    found = _ID_FORMS.fullmatch(value.strip()) if isinstance(value, str) else None
    return found[1] if found else None


def is_rounded(value: int) -> bool:
    """Whether ``value`` is printed so by a program that keeps numbers as floats: digits past 2**53 are lost then."""
    return 1 << 53 < value < 1 << 80 and _shortest(value) == value


def _shortest(value: int) -> int:
    digits, _, exponent = repr(float(value)).partition("e+")
    if not exponent:
        return int(float(value))
    whole, _, part = digits.partition(".")
    return int((whole + part).ljust(int(exponent) + 1, "0"))


def handle(value: Any) -> str:
    """A handle without its @, or nothing where it is none."""
    text = value.strip().removeprefix("@") if isinstance(value, str) else ""
    return text if _HANDLE.fullmatch(text) else ""


def time_of(value: Any) -> str | None:
    """A time in canonical form from ISO with zone, X's own form, or seconds since 1970; None where it says less."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _from_seconds(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return _from_seconds(int(text)) if len(text) <= 16 else None
    found = _TWITTER_DATE.fullmatch(text)
    if found and found[1] in _MONTHS:
        text = f"{found[5]}-{_MONTHS[found[1]]:02d}-{found[2]}T{found[3]}{found[4]}"
    elif text[10:11] == " ":
        text = text[:10] + "T" + text[11:].replace(" UTC", "Z").replace(" ", "")
    try:
        return canonical.instant(text)
    except ValueError:
        return None


def _from_seconds(seconds: int) -> str | None:
    if seconds > 10**14:
        seconds //= 1_000_000
    elif seconds > 10**11:
        seconds //= 1000
    return canonical.after("1970-01-01T00:00:00.000Z", seconds * 1000) if 0 < seconds < 10**11 else None


def posted_by_id(identity: str) -> str | None:
    """When a post was made, from the time inside its snowflake id; None for ids older than that scheme."""
    number = int(identity) if identity.isascii() and identity.isdigit() and len(identity) <= 19 else 0
    return canonical.after("1970-01-01T00:00:00.000Z", (number >> 22) + _EPOCH) if number >= _FIRST else None


def texts_of(value: Any) -> list[str]:
    """The texts in a list, or in one text joined by commas."""
    if isinstance(value, str):
        value = value.split(",")
    found = [item.strip() for item in value if isinstance(item, str)] if isinstance(value, list) else []
    return [item for item in found if item]


def page(url: str, *, title: str = "", text: str = "") -> Bookmark:
    """A bookmark of a web page: a post of X where the URL is one, else a page whose id is its URL."""
    from kbtasks.resources.model import SOURCE_ID
    from kbtasks.resources.whatwg import parse_https

    post = status_id(url)
    if post:
        return Bookmark("x", post, f"https://x.com/i/web/status/{post}", title=title, text=text)
    try:
        href = parse_https(url).href
    except ValueError as error:
        raise BadRow(f"{url[:100]!r}: {error}") from None
    identity = href if canonical.length(href) <= SOURCE_ID else "sha256:" + canonical.text_digest(href)
    return Bookmark("web", identity, href, title=title, text=text)
