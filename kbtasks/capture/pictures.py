"""The pictures of a page: which address of the many a page offers is the real one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.capture.page import absolute, tag_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LAZY = (
    "data-src",
    "data-original",
    "data-lazy-src",
    "data-lazy",
    "data-url",
    "data-actualsrc",
    "data-hi-res-src",
    "data-full-src",
    "data-image",
)
LAZY_SETS = ("srcset", "data-srcset", "data-lazy-srcset")
MAX_WIDTH = 2400
_SIZE = re.compile(r"^\s*(\d{1,5})(?:px)?\s*$")


class Picture:
    """A picture of the page: absolute address (or ``data:``), alternative words, order; ``media``: sound or film."""

    __slots__ = ("alt", "media", "number", "url")

    def __init__(self, number: int, url: str, alt: str, *, media: bool = False) -> None:
        self.media = media
        self.number = number
        self.url = url
        self.alt = alt


def parse_srcset(value: str) -> list[tuple[str, float]]:
    """The (address, width) pairs of a ``srcset``; a density counts as a width of 1000 per step, no descriptor as 1x."""
    found: list[tuple[str, float]] = []
    at = 0
    value = value[:100_000]
    while at < len(value) and len(found) < 100:
        while at < len(value) and (value[at].isspace() or value[at] == ","):
            at += 1
        start = at
        while at < len(value) and not value[at].isspace():
            at += 1
        url = value[start:at]
        words = ""
        if not url.endswith(","):
            end = value.find(",", at)
            end = len(value) if end < 0 else end
            words, at = value[at:end], end
        width = 1000.0
        for word in words.split():
            try:
                width = float(word[:-1]) * (1 if word[-1] == "w" else 1000)
            except ValueError:
                continue
            break
        if url.strip(","):
            found.append((url.rstrip(","), width))
    return found


def _largest(value: str) -> str:
    candidates = parse_srcset(value)
    fitting = [item for item in candidates if item[1] <= MAX_WIDTH] or candidates[:1]
    return max(fitting, key=lambda item: item[1], default=("", 0.0))[0]


def is_placeholder(src: str) -> bool:
    """Whether ``src`` only keeps the place of a lazily loaded picture."""
    lower = src.lower()
    if lower.startswith("data:"):
        return len(src) < 400
    return not src or any(
        mark in lower
        for mark in (
            "placeholder",
            "spacer.",
            "blank.gif",
            "lazy.",
            "loading.gif",
            "pixel.gif",
            "transparent.",
            "grey.gif",
        )
    )


def address_of(image: HtmlElement, base: str) -> str:
    """The best address of an ``img``: largest of its srcset up to 2400 wide, else lazy, else ``src``; absolute or ``data:``."""
    src = (image.get("src") or "").strip()
    lazy = next((value for name in LAZY if (value := (image.get(name) or "").strip())), "")
    found = [_largest(image.get(name) or "") for name in LAZY_SETS if image.get(name)]
    parent = image.getparent()
    while parent is not None and tag_of(parent) == "source":  # the parser does not know that source is empty
        parent = parent.getparent()
    if not any(found) and is_placeholder(src) and not lazy and parent is not None and tag_of(parent) == "picture":
        for source in parent.iter("source"):
            found += [_largest(source.get(name) or "") for name in LAZY_SETS if source.get(name)]
    order = [*found, lazy, src] if lazy or is_placeholder(src) else [*found, src, lazy]
    for address in order:
        if not address:
            continue
        if address[:5].lower() == "data:" or address[:4].lower() == "cid:":  # cid: a part of the same archive
            return address
        joined = absolute(address, base)
        if joined and joined.startswith("http"):
            return joined
    return ""


def is_tracker(image: HtmlElement) -> bool:
    """Whether the picture is one or two pixels: made to be counted, not seen."""
    for name in ("width", "height"):
        size = _SIZE.match(image.get(name) or "")
        if size and int(size.group(1)) <= 2:
            return True
    return False
