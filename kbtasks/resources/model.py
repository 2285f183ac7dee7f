"""The compatible record: one resource, normalised and hashed as every other agent of this format does it.

Field order is part of the revision. Bounds are UTF-16 code units of the text before trimming. Unknown fields are
dropped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.resources import canonical
from kbtasks.resources.faults import InvalidRecord
from kbtasks.resources.whatwg import parse_https

if TYPE_CHECKING:
    from typing import Any

TITLE, TEXT, SUMMARY, LIST_ITEM, LIST_ITEMS = 500, 50_000, 10_000, 2_000, 40
URL, PROVIDER, SOURCE_ID = 4_096, 64, 512

_PROVIDER = re.compile(r"[a-z0-9][a-z0-9_-]*", re.ASCII)
_RESOURCE_ID = re.compile(r"resource_[0-9a-f]{64}", re.ASCII)
_X_HOSTS = frozenset({"x.com", "www.x.com", "twitter.com", "www.twitter.com", "mobile.twitter.com"})
_X_PATH = re.compile(r"/(?:i/web|\w{1,15})/status/([0-9]+)(?:/(?:photo|video)/[0-9]+)?/?", re.ASCII)
_DIGITS = re.compile(r"[0-9]+", re.ASCII)


class Reader:
    """Reads fields of one document and says, by JSON pointer, what is wrong with it.

    what: how messages call the document. strict: lone surrogates, U+0000 and the year 9999 are refused (they are kept
    when a whole store is taken over, so that its revisions stay what they were).
    """

    def __init__(self, what: str, *, strict: bool = True) -> None:
        self.what = what
        self.strict = strict

    def refuse(self, pointer: str, rule: str) -> InvalidRecord:
        """The error for ``rule`` at ``pointer``."""
        return InvalidRecord(what=self.what, pointer=pointer, rule=rule)

    def mapping(self, value: Any, pointer: str) -> dict[str, Any]:
        """``value`` where it is an object."""
        if not isinstance(value, dict):
            raise self.refuse(pointer, f"an object is needed, not {kind(value)}")
        return value

    def text(self, document: dict[str, Any], name: str, bound: int, pointer: str = "", *, blank: bool = True) -> str:
        """The trimmed string ``document[name]`` of at most ``bound`` UTF-16 units; ``blank`` allows the empty one."""
        place = f"{pointer}/{name}"
        if name not in document:
            raise self.refuse(place, "it is missing; unknown text is the empty string")
        return self.string(document[name], bound, place, blank=blank)

    def string(self, value: Any, bound: int, place: str, *, blank: bool = True) -> str:
        """As text, for a value."""
        if not isinstance(value, str):
            raise self.refuse(place, f"text is needed, not {kind(value)}")
        if len(value) * 2 > bound and canonical.length(value) > bound:
            raise self.refuse(place, f"it is longer than {bound} characters (UTF-16 units)")
        if self.strict:
            if "\0" in value:
                raise self.refuse(place, "it holds U+0000")
            if canonical.has_surrogate(value):
                raise self.refuse(place, "it holds a lone surrogate (half of a character)")
        trimmed = canonical.trim(value)
        if not blank and not trimmed:
            raise self.refuse(place, "it is blank")
        return trimmed

    def texts(self, document: dict[str, Any], name: str, pointer: str = "") -> list[str]:
        """A list of texts, trimmed, blanks and repetitions dropped; its bound of 40 counts before dropping."""
        place = f"{pointer}/{name}"
        values = self.items(document, name, LIST_ITEMS, pointer)
        kept = dict.fromkeys(self.string(value, LIST_ITEM, f"{place}/{index}") for index, value in enumerate(values))
        return [value for value in kept if value]

    def items(self, document: dict[str, Any], name: str, bound: int, pointer: str = "", *, least: int = 0) -> list[Any]:
        """The array ``document[name]`` of ``least`` to ``bound`` items."""
        place = f"{pointer}/{name}"
        value = document.get(name)
        if not isinstance(value, list):
            raise self.refuse(place, f"an array is needed, not {kind(value) if name in document else 'nothing'}")
        if len(value) > bound or len(value) < least:
            raise self.refuse(place, f"it has {len(value)} items; {least} to {bound} are allowed")
        return value

    def time(self, value: Any, place: str) -> str:
        """A time, in canonical form."""
        if not isinstance(value, str):
            raise self.refuse(place, f"a time is needed, not {kind(value)}")
        try:
            return canonical.instant(value, canonical.LATEST_YEAR if self.strict else canonical.LATEST_YEAR + 1)
        except ValueError as error:
            raise self.refuse(place, f"{value[:60]!r}: {error}") from None

    def url(self, value: Any, place: str) -> str:
        """An https URL without credentials, as the URL standard prints it."""
        text = self.string(value, URL, place)
        try:
            href = parse_https(text).href
        except ValueError as error:
            raise self.refuse(place, f"{error}; an https URL without credentials is needed") from None
        if len(href) > URL:
            raise self.refuse(place, f"it is longer than {URL} characters once encoded")
        return href


def kind(value: Any) -> str:
    """What JSON calls the type of ``value``."""
    names: list[tuple[type | tuple[type, ...], str]] = [
        (bool, "a boolean"), (dict, "an object"), (list, "an array"), (str, "text"), ((int, float), "a number"),
    ]  # fmt: skip
    return next((name for types, name in names if isinstance(value, types)), "null")


def exact_id(value: Any) -> str | None:
    """The original id as text: a string, or an integer with every digit; None for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def is_provider(value: str) -> bool:
    """Whether ``value`` can name a source provider."""
    return len(value) <= PROVIDER and _PROVIDER.fullmatch(value) is not None


def is_resource_id(value: Any) -> bool:
    """Whether ``value`` has the form of a record id."""
    return isinstance(value, str) and _RESOURCE_ID.fullmatch(value) is not None


def canonical_url(provider: str, source_id: str, href: str) -> str:
    """The one spelling of an X post's URL where ``href`` is an alias of post ``source_id``; else ``href`` itself.

    Aliases are x.com and twitter.com (also www, and mobile.twitter.com) with /HANDLE/status/N or /i/web/status/N,
    where N is the id. The port takes no part. Any other provider keeps its URL.
    """
    if provider != "x" or not _DIGITS.fullmatch(source_id):
        return href
    parsed = parse_https(href)
    found = _X_PATH.fullmatch(parsed.path)
    if found and found[1] == source_id and parsed.host in _X_HOSTS:
        return f"https://x.com/i/web/status/{source_id}"
    return href


def normal_source(value: Any, reader: Reader, pointer: str = "/source") -> dict[str, str]:
    """The source object {provider, id, url}, normalised."""
    document = reader.mapping(value, pointer)
    provider = reader.text(document, "provider", PROVIDER, pointer).lower()
    if not _PROVIDER.fullmatch(provider):
        raise reader.refuse(f"{pointer}/provider", "a name of a-z, 0-9, _ and - is needed")
    given = exact_id(document.get("id"))
    if given is None:
        raise reader.refuse(
            f"{pointer}/id",
            f"text is needed, not {kind(document['id']) if 'id' in document else 'nothing'}: "
            "an id given as a fraction, an exponent or a boolean is not exact",
        )
    source_id = reader.string(given, SOURCE_ID, f"{pointer}/id", blank=False)
    href = reader.url(document.get("url"), f"{pointer}/url")
    return {"provider": provider, "id": source_id, "url": canonical_url(provider, source_id, href)}


def normal_resource(value: Any, reader: Reader) -> dict[str, Any]:
    """The normalised resource in the order of its revision; InvalidRecord with the pointer and rule it breaks."""
    document = reader.mapping(value, "")
    source = normal_source(document.get("source"), reader)
    identity = canonical.resource_id(source["provider"], source["id"])
    if "id" in document and document["id"] != identity:
        raise reader.refuse("/id", f"it is not the id of this source, which is {identity}; leave it out")
    if "savedReason" not in document:
        raise reader.refuse("/savedReason", "it is missing; an unknown reason is null")
    resource: dict[str, Any] = {
        "id": identity,
        "source": source,
        "title": reader.text(document, "title", TITLE),
        "text": reader.text(document, "text", TEXT),
        "summary": reader.text(document, "summary", SUMMARY),
        "purpose": reader.text(document, "purpose", SUMMARY),
        "useWhen": reader.texts(document, "useWhen"),
        "limitations": reader.texts(document, "limitations"),
        "savedReason": None if document["savedReason"] is None else reader.text(document, "savedReason", SUMMARY),
        "updatedAt": reader.time(document.get("updatedAt"), "/updatedAt"),
    }
    if "design" in document:
        from kbtasks.resources.design import normal_design

        resource["design"] = normal_design(document["design"], reader)
    return resource


def resource_of(provider: str, source_id: str, url: str, title: str, text: str) -> dict[str, Any]:
    """A new resource of normalised parts of which nothing else is known; ``updatedAt`` is still to be set."""
    return {
        "id": canonical.resource_id(provider, source_id),
        "source": {"provider": provider, "id": source_id, "url": url},
        "title": title,
        "text": text,
        "summary": "",
        "purpose": "",
        "useWhen": [],
        "limitations": [],
        "savedReason": None,
        "updatedAt": "",
    }


def revision(resource: dict[str, Any]) -> str:
    """The payload revision: digest of the normalised resource."""
    return canonical.digest(resource)


def tombstone(identity: str, deleted_at: str) -> dict[str, str]:
    """The compatible record of a deletion."""
    return {"id": identity, "deletedAt": deleted_at}


def with_limitation(resource: dict[str, Any], note: str) -> list[str]:
    """The limitations with ``note`` added, within their bound: the note replaces nothing unless 40 stand already."""
    kept = [item for item in resource["limitations"] if item != note]
    return [*kept[: LIST_ITEMS - 1], note]
