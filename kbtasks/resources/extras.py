"""What a record carries beside its compatible part: author, times, tags, links, media, quote, thread.

Extras have their own digest and rule: they need no later time, a put that names none keeps them, null clears them,
and a capture refreshes what the source says (author, post time, links, media, quote, thread, language) while what a
person may have added (tags, note, folder, savedAt) is only added to. They are never sent to a provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.resources.canonical import digest

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.resources.model import Reader

FIELDS = (
    "author", "postedAt", "postedAtFrom", "savedAt", "tags", "note", "folder", "links", "media", "quote", "thread",
    "language",
)  # fmt: skip
_OWN = frozenset({"savedAt", "note", "folder"})
MAX_TAGS, MAX_LINKS, MAX_MEDIA = 100, 100, 40


def normal_extras(value: Any, reader: Reader) -> dict[str, Any] | None:
    """The normalised extras, fields in fixed order and empty ones left out; None where nothing stays.

    Unknown fields are dropped. InvalidRecord names the pointer and rule that is broken.
    """
    if value is None:
        return None
    document = reader.mapping(value, "/extras")
    found: dict[str, Any] = {}
    for name in FIELDS:
        item = document.get(name)
        if item is None:
            continue
        place = f"/extras/{name}"
        if name == "author":
            item = _author(item, reader, place)
        elif name in {"postedAt", "savedAt"}:
            item = reader.time(item, place)
        elif name == "tags":
            item = _texts(item, MAX_TAGS, 100, reader, place)
        elif name == "links":
            links = _list(item, MAX_LINKS, reader, place)
            item = list(dict.fromkeys(reader.url(link, f"{place}/{index}") for index, link in enumerate(links)))
        elif name == "media":
            entries = _list(item, MAX_MEDIA, reader, place)
            item = [_media(entry, reader, f"{place}/{index}") for index, entry in enumerate(entries)]
        elif name in {"quote", "thread"}:
            item = _reference(item, reader, place)
        else:
            item = reader.string(item, 10_000, place)
        if item:
            found[name] = item
    return found or None


def _list(value: Any, bound: int, reader: Reader, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise reader.refuse(place, "an array is needed")
    if len(value) > bound:
        raise reader.refuse(place, f"it has {len(value)} items; {bound} are allowed")
    return value


def _author(value: Any, reader: Reader, place: str) -> dict[str, str]:
    author = reader.mapping(value, place)
    return {key: reader.string(author[key], 200, f"{place}/{key}") for key in ("name", "handle") if author.get(key)}


def _reference(value: Any, reader: Reader, place: str) -> dict[str, str]:
    reference = reader.mapping(value, place)
    found = {}
    for key in ("id", "url", "text"):
        if given := reference.get(key):
            where = f"{place}/{key}"
            found[key] = reader.url(given, where) if key == "url" else reader.string(given, 50_000, where)
    return found


def _texts(value: Any, bound: int, each: int, reader: Reader, place: str) -> list[str]:
    items = _list(value, bound, reader, place)
    texts = (reader.string(item, each, f"{place}/{index}") for index, item in enumerate(items))
    return [text for text in dict.fromkeys(texts) if text]


def _media(value: Any, reader: Reader, place: str) -> dict[str, str]:
    entry = reader.mapping(value, place)
    item = {"url": reader.url(entry.get("url"), f"{place}/url")}
    for key in ("type", "alt"):
        if entry.get(key):
            item[key] = reader.string(entry[key], 1000, f"{place}/{key}")
    return item


def merged(old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any] | None:
    """``old`` refreshed by a capture's ``new``: source fields replaced where given, own fields kept, tags united."""
    if not old or not new:
        return new or old
    out: dict[str, Any] = {}
    # A post time that was only derived (from a snowflake id) never replaces one that was given.
    keep_posted = "postedAt" in old and (not old.get("postedAtFrom") or "postedAt" not in new)
    for name in FIELDS:
        if name == "tags":
            value: Any = list(dict.fromkeys([*old.get("tags", []), *new.get("tags", [])]))[:MAX_TAGS]
        elif name in _OWN:
            value = old.get(name) or new.get(name)
        elif name in {"postedAt", "postedAtFrom"}:
            value = (old if keep_posted and (new.get("postedAtFrom") or "postedAt" not in new) else new).get(name)
        else:
            value = new.get(name) or old.get(name)
        if value:
            out[name] = value
    return out or None


def extras_digest(extras: dict[str, Any] | None) -> str | None:
    """Digest of normalised extras; None without any."""
    return None if extras is None else digest(extras)
