"""What a put takes: one resource, an array or JSON Lines, checked whole before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.errors import UsageError
from kbtasks.resources.extras import normal_extras
from kbtasks.resources.faults import InvalidRecord, NotJson
from kbtasks.resources.model import Reader, normal_resource
from kbtasks.resources.strictjson import Unreadable, items, unstorable
from kbtasks.resources.whatwg import secret_names

if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 10 << 20
MAX_ITEMS = 1000


class Intake:
    """The items of one input. taken: (position, resource, whether extras were given, extras); bad: position and reason."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, dict[str, Any], bool, dict[str, Any] | None]] = []
        self.bad: list[dict[str, Any]] = []
        self.warnings: list[str] = []


def read_resources(data: bytes, *, what: str, skip_bad: bool) -> Intake:
    """The resources in ``data``, 1 to 1,000 of them.

    skip_bad: set bad items aside with their reasons instead of refusing the whole input. Raises NotJson, InvalidRecord
    (naming every bad item, not only the first) and UsageError.
    """
    found = items(data, what=what, skip_bad=skip_bad)
    if not 1 <= len(found) <= MAX_ITEMS:
        raise UsageError(message=f"{what} holds {len(found)} resources; a put takes 1 to {MAX_ITEMS}")
    intake = Intake()
    several = len(found) > 1
    for position, item in enumerate(found):
        place = f"/{position}" if several else ""
        if isinstance(item, Unreadable):
            intake.bad.append({"item": position, "pointer": place, "reason": item.error.message})
            continue
        try:
            intake.taken.append((position, *read_one(item, what=what)))
        except (InvalidRecord, NotJson) as error:
            pointer = place + error.details.get("pointer", "").rstrip("/")
            rule = error.details.get("rule", error.message)
            intake.bad.append({"item": position, "pointer": pointer or "/", "reason": rule})
            continue
        names = secret_names(intake.taken[-1][1]["source"]["url"])
        if names:
            intake.warnings.append(
                f"item {position}: its URL carries what looks like a secret ({', '.join(names)}); store it without"
            )
    if intake.bad and not skip_bad:
        first = intake.bad[0]
        rest = "".join(f"; {bad['pointer']}: {bad['reason']}" for bad in intake.bad[1:20])
        more = f"; and {len(intake.bad) - 20} more" if len(intake.bad) > 20 else ""
        raise InvalidRecord(
            what=what, pointer=first["pointer"], rule=first["reason"] + rest + more, next="mend it, or add --skip-bad"
        )
    return intake


def read_one(item: Any, *, what: str) -> tuple[dict[str, Any], bool, dict[str, Any] | None]:
    """One resource with its extras, (resource, whether extras were given, extras); InvalidRecord where it is bad."""
    fault = unstorable(item)
    if fault is not None:
        raise InvalidRecord(what=what, pointer=fault[0], rule=fault[1])
    reader = Reader(what)
    resource = normal_resource(item, reader)
    return resource, "extras" in item, normal_extras(item.get("extras"), reader)
