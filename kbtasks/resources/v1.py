"""The compatible JSON store, version 1: read whole and checked whole, written within its limits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.errors import Refused
from kbtasks.resources import canonical
from kbtasks.resources.faults import InvalidRecord
from kbtasks.resources.model import Reader, is_resource_id, kind, normal_resource
from kbtasks.resources.strictjson import parse_bytes

if TYPE_CHECKING:
    from typing import Any

    Resource = dict[str, Any]

MAX_BYTES = 20 << 20
MAX_RECORDS = 10_000
MAX_SOURCES = 100
#: Every program of the format counts exactly up to here (IEEE 754 doubles).
MAX_NUMBER = 1 << 53
INSTEAD = "use a bigger home for it: resource.export --format jsonl, or a postgresql provider"
_HEX = re.compile("[0-9a-f]{64}", re.ASCII)


class V1Store:
    """The parts of a version 1 store. ``resources`` stand in the order of their last write.

    receipts: provider key -> {id: revision}. sources, captures, pending: the parts of ``ingestion``. respelt: ids of records
    whose URL stands in the file in an older spelling than in ``resources``.
    """

    __slots__ = ("captures", "pending", "receipts", "resources", "respelt", "sources", "tombstones")

    def __init__(self) -> None:
        self.resources: list[Resource] = []
        self.tombstones: dict[str, str] = {}
        self.receipts: dict[str, dict[str, str]] = {}
        self.sources: dict[str, dict[str, Any]] = {}
        self.captures: dict[str, dict[str, Any]] = {}
        self.pending: dict[str, dict[str, str]] = {}
        self.respelt: set[str] = set()

    def to_json(self) -> dict[str, Any]:
        """The document as the format has it."""
        return {
            "version": 1,
            "resources": self.resources,
            "tombstones": [{"id": identity, "deletedAt": at} for identity, at in self.tombstones.items()],
            "receipts": self.receipts,
            "ingestion": {"sources": self.sources, "captures": self.captures, "pending": self.pending},
        }

    @staticmethod
    def check_counts(resources: int, tombstones: int) -> None:
        """Refuse more records than the format holds."""
        counted = resources + tombstones
        if counted > MAX_RECORDS:
            raise Refused(message=f"a version 1 store holds {MAX_RECORDS} records at most, not {counted}", next=INSTEAD)

    def to_bytes(self) -> bytes:
        """The file's bytes; Refused beyond the format's limits, with what to use instead."""
        instead = INSTEAD
        self.check_counts(len(self.resources), len(self.tombstones))
        for name, held in (("captures", self.captures), ("pending", self.pending)):
            if len(held) > MAX_RECORDS:
                raise Refused(message=f"a version 1 store holds {MAX_RECORDS} {name} at most", next=instead)
        if len(self.sources) > MAX_SOURCES:
            raise Refused(message=f"a version 1 store holds {MAX_SOURCES} sources at most", next=instead)
        data = canonical.pretty(self.to_json()).encode("utf-8")
        if len(data) > MAX_BYTES:
            raise Refused(message=f"a version 1 store has {MAX_BYTES} bytes at most, not {len(data)}", next=instead)
        return data


def parse_v1(data: bytes, *, what: str) -> V1Store:
    """The store in ``data``; all or nothing: NotJson, InvalidRecord or Refused name the fault and its place."""
    if len(data) > MAX_BYTES:
        raise Refused(message=f"{what} has more than {MAX_BYTES} bytes, the limit of a version 1 store")
    reader = Reader(what, strict=False)
    document = reader.mapping(parse_bytes(data, what=what), "")
    if document.get("version") != 1 or isinstance(document.get("version"), bool):
        raise reader.refuse("/version", "a resource store of version 1 is needed")
    store = V1Store()
    places: dict[str, str] = {}
    for index, item in enumerate(reader.items(document, "resources", MAX_RECORDS)):
        place = f"/resources/{index}"
        try:
            resource = normal_resource(item, reader)
        except InvalidRecord as error:
            raise reader.refuse(place + error.pointer.rstrip("/"), error.rule) from None
        _once(resource["id"], place, places, reader)
        store.resources.append(resource)
        if item["source"]["url"] != resource["source"]["url"]:
            store.respelt.add(resource["id"])
    for index, item in enumerate(reader.items(document, "tombstones", MAX_RECORDS)):
        place = f"/tombstones/{index}"
        entry = reader.mapping(item, place)
        if not is_resource_id(entry.get("id")):
            raise reader.refuse(f"{place}/id", "a record id is needed")
        _once(entry["id"], place, places, reader)
        store.tombstones[entry["id"]] = reader.time(entry.get("deletedAt"), f"{place}/deletedAt")
    if len(places) > MAX_RECORDS:
        raise reader.refuse("/resources", f"resources and tombstones are more than {MAX_RECORDS}")
    receipts = reader.mapping(document.get("receipts"), "/receipts")
    for key, entries in receipts.items():
        place = f"/receipts/{key[:70]}"
        _hex(key, place, reader)
        for identity, revision in reader.mapping(entries, place).items():
            _identity(identity, f"{place}/{identity[:80]}", reader)
            _hex(revision, f"{place}/{identity[:80]}", reader)
        store.receipts[key] = dict(entries)
    if document.get("ingestion") is not None:
        _read_ingestion(reader.mapping(document["ingestion"], "/ingestion"), store, reader)
    return store


def _once(identity: str, place: str, places: dict[str, str], reader: Reader) -> None:
    if identity in places:
        raise reader.refuse(place, f"the id {identity} stands at {places[identity]} already")
    places[identity] = place


def _hex(value: Any, place: str, reader: Reader) -> str:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise reader.refuse(place, "64 lower-case hex digits are needed")
    return value


def _identity(value: Any, place: str, reader: Reader) -> str:
    if not is_resource_id(value):
        raise reader.refuse(place, "a record id is needed")
    return str(value)


def _mark(entry: dict[str, Any], name: str, place: str, reader: Reader) -> str | None:
    value = entry.get(name)
    if value is None:
        return None
    text = reader.string(value, 4096, f"{place}/{name}") if isinstance(value, str) else ""
    if not text or canonical.length(value) > 4096 or canonical.has_surrogate(value):
        raise reader.refuse(f"{place}/{name}", f"text of 1 to 4096 characters or null is needed, not {kind(value)}")
    return str(value)


def _read_ingestion(document: dict[str, Any], store: V1Store, reader: Reader) -> None:
    parts = {}
    for name, bound in (("sources", MAX_SOURCES), ("captures", MAX_RECORDS), ("pending", MAX_RECORDS)):
        parts[name] = reader.mapping(document.get(name, {}), f"/ingestion/{name}")
        if len(parts[name]) > bound:
            raise reader.refuse(f"/ingestion/{name}", f"it has more than {bound} entries")
    for key, value in parts["sources"].items():
        place = f"/ingestion/sources/{key[:70]}"
        _hex(key, place, reader)
        entry = reader.mapping(value, place)
        generation = entry.get("generation", 0)
        if not isinstance(generation, int) or isinstance(generation, bool) or not 0 <= generation < MAX_NUMBER:
            raise reader.refuse(f"{place}/generation", f"a whole number from 0 to {MAX_NUMBER - 1} is needed")
        if not isinstance(entry.get("active"), bool) or entry.get("coverage") not in ("partial", "full"):
            raise reader.refuse(place, "active (a boolean) and coverage (partial or full) are needed")
        seen = reader.items(entry, "seen", MAX_RECORDS, place)
        store.sources[key] = {
            "generation": generation,
            "active": entry["active"],
            "cursor": _mark(entry, "cursor", place, reader),
            "checkpoint": _mark(entry, "checkpoint", place, reader),
            "seen": [_hex(item, f"{place}/seen/{index}", reader) for index, item in enumerate(seen)],
            "coverage": entry["coverage"],
        }
    for key, value in parts["captures"].items():
        place = f"/ingestion/captures/{key[:80]}"
        entry = reader.mapping(value, place)
        _identity(key, place, reader)
        capture: dict[str, Any] = {}
        if "title" in entry:
            capture["title"] = reader.text(entry, "title", 500, place)
        capture["revision"] = _hex(entry.get("revision"), f"{place}/revision", reader)
        at = entry.get("updatedAt")
        capture["updatedAt"] = None if at is None else reader.time(at, f"{place}/updatedAt")
        store.captures[key] = capture
    for key, value in parts["pending"].items():
        place = f"/ingestion/pending/{key[:80]}"
        entry = reader.mapping(value, place)
        _identity(key, place, reader)
        store.pending[key] = {
            name: _hex(entry.get(name), f"{place}/{name}", reader) for name in ("sourceKey", "sourceRevision")
        }
