"""A short piece of a record around the words that were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

WIDTH = 240


def snippet(resource: dict[str, Any], matched: list[str]) -> str:
    """At most 240 characters of the summary, purpose or text, whichever holds the most words, around the first."""
    stems = [_stem(word) for word in matched]
    best, most, at = "", -1, 0
    for text in (resource["summary"], resource["purpose"], " ".join(resource["useWhen"]), resource["text"]):
        folded = text[:20_000].lower()
        places = [place for stem in stems if (place := folded.find(stem)) >= 0]
        if text and len(places) > most:
            best, most, at = text, len(places), min(places, default=0)
    if not best:
        return str(resource["title"])[:WIDTH]
    start = max(0, min(at, len(best)) - WIDTH // 4)
    if start:
        space = best.find(" ", start, start + 24)
        start = space + 1 if space >= 0 else start
    piece = " ".join(best[start : start + WIDTH].split())
    return ("… " if start else "") + piece + (" …" if start + WIDTH < len(best) else "")


def _stem(word: str) -> str:
    """The start of ``word`` that its other forms share."""
    return word[: max(4, len(word) - 3)] if word.isascii() else word
