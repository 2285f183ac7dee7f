"""What stands beside the records in a JSON Lines export, checked field by field before it enters a store.

A value that a store of ours could never hold would come to light only later, as a fault of a pull or a sync.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from kbtasks.resources.model import is_resource_id, kind
from kbtasks.resources.v1 import MAX_NUMBER

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.resources.model import Reader

_HEX = re.compile("[0-9a-f]{64}", re.ASCII)
MARK, TITLE, TEXT = 4096, 500, 4 << 20
#: kind -> field -> what it holds; ``?`` behind it: or null.
FIELDS = {
    "tombstone": {"id": "id", "deletedAt": "time", "collected": "flag", "detail": "object?"},
    "provider": {"key": "digest", "kind": "word", "firstUsed": "time?", "lastUsed": "time?"},
    "receipt": {"provider": "digest", "id": "id", "revision": "digest", "confirmedAt": "time?", "kind": "operation?"},
    "source": {
        "key": "digest", "generation": "number", "active": "flag", "cursor": "mark?", "checkpoint": "mark?",
        "coverage": "coverage", "config": "object?", "received": "number", "lastReceived": "number?", "lastAt": "time?",
    },
    "seen": {"source": "digest", "digest": "digest"},
    "capture": {"id": "id", "title": "title?", "revision": "digest", "updatedAt": "time?"},
    "pending": {"id": "id", "sourceKey": "digest", "sourceRevision": "digest"},
    "quarantine": {"source": "digest", "digest": "digest", "reason": "text", "item": "text?", "at": "time"},
}  # fmt: skip
_CHOICES = {
    "operation": ("upsert", "delete"),
    "coverage": ("partial", "full"),
    "word": ("file", "command", "postgresql", "unknown"),
}


def checked(name: str, entry: dict[str, Any], reader: Reader) -> dict[str, Any]:
    """The fields of a part called ``name``; InvalidRecord with the pointer of one that is missing or not valid."""
    found = {}
    for field, form in FIELDS[name].items():
        place = f"/{name}/{field}"
        if field not in entry:
            raise reader.refuse(place, "it is missing")
        value = entry[field]
        found[field] = None if value is None and form.endswith("?") else _value(value, form.rstrip("?"), place, reader)
    return found


def _value(value: Any, form: str, place: str, reader: Reader) -> Any:
    """``value`` as a store holds it, where it has the ``form``."""
    if form == "time":
        return reader.time(value, place)
    if form in _CHOICES:
        fits, rule = value in _CHOICES[form], f"one of {', '.join(_CHOICES[form])} is needed"
    elif form == "digest":
        fits, rule = isinstance(value, str) and _HEX.fullmatch(value) is not None, "64 lower-case hex digits are needed"
    elif form == "id":
        fits, rule = is_resource_id(value), "a record id is needed"
    elif form == "flag":
        fits, rule = isinstance(value, int) and value in (0, 1), "0 or 1 is needed"
    elif form == "number":
        fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_NUMBER
        rule = f"a whole number from 0 to {MAX_NUMBER - 1} is needed"
    elif form == "object":
        fits, rule = _is_object(value), "the text of a JSON object is needed"
    else:
        reader.string(value, {"mark": MARK, "title": TITLE}.get(form, TEXT), place, blank=form != "mark")
        return value
    if not fits:
        raise reader.refuse(place, f"{rule}, not {kind(value)}" if not isinstance(value, str) else rule)
    return value


def _is_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
