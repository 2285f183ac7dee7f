"""JSON as RFC 8259 and RFC 7493 (I-JSON) want it: no NaN, no duplicate names, bounded depth, clear refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kbtasks.resources.canonical import has_surrogate
from kbtasks.resources.faults import NotJson

if TYPE_CHECKING:
    from typing import Any

MAX_DEPTH = 200


class _Refused(ValueError):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Refused(f"the name {name!r} stands twice in one object")
            seen.add(name)
    return document


def _constant(word: str) -> Any:
    raise _Refused(f"{word} is not JSON")


def _number(text: str) -> Any:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused(f"the number {text[:40]} is out of range")
    return value


def _integer(text: str) -> int:
    if len(text) > 400:
        raise _Refused("a number has more than 400 digits")
    return int(text)


def decode(data: bytes, *, what: str) -> str:
    """UTF-8 text of ``data`` without a byte order mark; NotJson names the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotJson(what=what, reason=f"byte {error.start} is not UTF-8") from None


def parse(text: str, *, what: str) -> Any:
    """The value of the JSON document ``text``; NotJson with the place and the fault itself.

    Integers keep every digit. Nesting beyond 200 levels is refused. what: how the message calls the document.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_number, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno} column {error.colno}: {error.msg}"
        if error.msg == "Extra data":
            reason = f"line {error.lineno} column {error.colno}: something follows the end of the document"
        elif not text.strip(" \t\r\n"):
            reason = "it is empty"
        raise NotJson(what=what, reason=reason) from None
    except _Refused as error:
        raise NotJson(what=what, reason=str(error)) from None
    except (RecursionError, MemoryError):
        raise NotJson(what=what, reason=f"it is nested deeper than {MAX_DEPTH} levels") from None
    if _depth(value) > MAX_DEPTH:
        raise NotJson(what=what, reason=f"it is nested deeper than {MAX_DEPTH} levels")
    return value


def _depth(value: Any) -> int:
    """Levels of nesting of ``value``, counted without recursion."""
    depth = 0
    layer = [value]
    while layer and depth <= MAX_DEPTH:
        deeper: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                deeper.extend(child for child in item.values() if isinstance(child, dict | list))
            elif isinstance(item, list):
                deeper.extend(child for child in item if isinstance(child, dict | list))
        layer = deeper
        depth += 1
    return depth


def parse_bytes(data: bytes, *, what: str) -> Any:
    """As parse, from UTF-8 bytes."""
    return parse(decode(data, what=what), what=what)


class Unreadable:
    """A line of JSON Lines that is not strict JSON, with the error that says why."""

    __slots__ = ("error",)

    def __init__(self, error: NotJson) -> None:
        self.error = error


def json_lines(text: str, *, what: str) -> list[Any] | None:
    """The documents of JSON Lines, with Unreadable for a broken line; None where ``text`` is one document.

    It is JSON Lines where its first line that is not blank is a whole object and another such line follows.
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2 or lines[0][1].lstrip()[:1] != "{" or lines[0][1].rstrip()[-1:] != "}":
        return None
    found: list[Any] = []
    for number, line in lines:
        try:
            found.append(parse(line, what=f"{what}, line {number}"))
        except NotJson as error:
            if not found:
                return None
            found.append(Unreadable(error))
    return found


def items(data: bytes, *, what: str, skip_bad: bool = False) -> list[Any]:
    """The items of a document that is one object, an array, or JSON Lines (one object a line, blank lines skipped).

    skip_bad: a broken line of JSON Lines stands in the list as Unreadable; else NotJson names it.
    """
    text = decode(data, what=what)
    found = json_lines(text, what=what)
    if found is None:
        value = parse(text, what=what)
        return value if isinstance(value, list) else [value]
    broken = next((item for item in found if isinstance(item, Unreadable)), None)
    if broken is not None and not skip_bad:
        raise broken.error
    return found


def unstorable(value: Any, pointer: str = "") -> tuple[str, str] | None:
    """The first text in ``value`` that may not be stored, as (JSON pointer, rule): a lone surrogate or U+0000."""
    stack = [(value, pointer)]
    while stack:
        item, place = stack.pop()
        if isinstance(item, str):
            if "\0" in item:
                return place, "it holds U+0000"
            if has_surrogate(item):
                return place, "it holds a lone surrogate (half of a character)"
        elif isinstance(item, dict):
            for name, child in reversed(item.items()):
                if "\0" in name or has_surrogate(name):
                    return place, "a name in it holds U+0000 or a lone surrogate"
                stack.append((child, f"{place}/{name.replace('~', '~0').replace('/', '~1')}"))
        elif isinstance(item, list):
            stack.extend((child, f"{place}/{index}") for index, child in reversed(list(enumerate(item))))
    return None
