"""Filters: which notes a search or a list may return at all. Applied inside every lane, so they are exact in their effect.

``--where "status = accepted"``, with ``= != < <= > >= ~ in``; several are all required. A name is a front matter key (dotted for
nested ones, a number for a place in a list; letter case does not matter), or one of the note's own: title, path, id, type,
status, folder, size, modified, tag. ``~`` is "contains"; ``in`` takes a list ``a, b``. A list meets a condition when one of its
members does; ``!=`` when none is equal, or the key is absent.
"""

from __future__ import annotations

from kbtasks.errors import UsageError
from kbtasks.index.tables import bindable
from kbtasks.index.tokens import fold

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from sqlite3 import Connection
    from typing import Any

MAX_FILTERS = 64
MAX_VALUES = 256
MAX_BYTES = 64 << 10
_MAX_DEPTH = 32
_CONDITION = r"(?s)\s*([^\s=!<>~]+)\s*(!=|<=|>=|==|=|<|>|~|\s[iI][nN]\s)\s*(.*?)\s*$"
_NUMBER = r"[+-]?(?:\d{1,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?$"
#: Names that are columns of ``note``. Front matter of the same name comes first.
_OWN = ("title", "path", "id", "type", "status", "folder", "size", "summary", "modified", "tag", "tags")


class Condition:
    """One ``--where``: dotted ``name`` in parts, ``operator``, the ``values`` it compares with (several for ``in``)."""

    __slots__ = ("name", "operator", "values")

    def __init__(self, name: list[str], operator: str, values: list[Any]) -> None:
        self.name = name
        self.operator = operator
        self.values = values


class Filters:
    """All filters of one call; see ``eligible``. type, path: at least one must fit; where, has, tag: all; scope: one."""

    __slots__ = ("before", "has", "path", "scope", "since", "tag", "times", "type", "where")

    def __init__(
        self,
        *,
        where: Sequence[str] = (),
        has: Sequence[str] = (),
        tag: Sequence[str] = (),
        type: Sequence[str] = (),
        path: Sequence[str] = (),
        scope: Sequence[str] = (),
        since: str = "",
        before: str = "",
        now: float | None = None,
        times: Mapping[str, int] | None = None,
    ) -> None:
        """Read the texts of the flags; UsageError with the form that works. now: seconds since 1970, for ages (tests).

        times: path -> nanoseconds since 1970, in place of file times; a note without one keeps its file time.
        """
        self.times = times
        given = [*where, *has, *tag, *type, *path, *scope]
        if len(given) > MAX_FILTERS or sum(len(text) for text in given) > MAX_BYTES:
            raise UsageError(message=f"at most {MAX_FILTERS} filters and {MAX_BYTES} characters of them")
        self.where = [parse_condition(text) for text in where]
        self.has = [name_of(text, f"--has {text!r}") for text in has]
        self.tag = [fold(text.strip().removeprefix("#").strip("/")) for text in tag]
        self.type = [fold(text.strip()) for text in type]
        self.path = [text.strip() for text in path]
        self.scope = [text.strip().removeprefix("./").rstrip("/") for text in scope]
        for flag, values in (("tag", self.tag), ("type", self.type), ("path", self.path), ("scope", self.scope)):
            if not all(values):
                raise UsageError(message=f"--{flag} needs a value")
        self.since = parse_time(since, "since", now) if since else None
        self.before = parse_time(before, "before", now) if before else None

    @property
    def empty(self) -> bool:
        """Whether every note is eligible."""
        return not (
            self.where or self.has or self.tag or self.type or self.path or self.scope
            or self.since is not None or self.before is not None
        )  # fmt: skip


def parse_condition(text: str) -> Condition:
    """The Condition in ``text``; UsageError where it is none."""
    import re  # here and below: most searches have no filter, and it is not cheap to load

    match = re.match(_CONDITION, text)
    if match is None:
        raise UsageError(
            message=f"--where {text!r} is not a condition",
            next="--where 'status = accepted' (NAME OP VALUE, OP being = != < <= > >= ~ or in)",
        )
    name, operator, value = match.group(1), match.group(2).strip().lower(), match.group(3)
    if value[:1] in ("=", "<", ">", "~") or value[:2] == "!=":
        raise UsageError(
            message=f"--where {text!r} has no known operator: = != < <= > >= ~ or in",
            next=f"--where '{name} {operator} \"{value}\"', if that is meant: a value in quotes may hold anything",
        )
    operator = "=" if operator == "==" else operator
    if operator == "in":
        values = [_typed(each) for each in _list_items(value)]
        if not values or len(values) > MAX_VALUES:
            raise UsageError(message=f"--where {text!r}: in takes 1 to {MAX_VALUES} values, separated by commas")
    else:
        values = [_typed(value)]
        if value == "" and operator not in ("=", "!="):
            raise UsageError(message=f"--where {text!r} has no value")
        if operator in "<=>=" and operator != "=" and not isinstance(values[0], str | int | float):
            raise UsageError(message=f"--where {text!r}: {operator} compares numbers or text")
    return Condition(name_of(name, f"--where {text!r}"), operator, values)


def name_of(text: str, what: str) -> list[str]:
    """The folded parts of a dotted name; UsageError, naming it as ``what``, where it is none."""
    parts = [fold(part) for part in text.strip().split(".")]
    if not all(parts) or len(parts) > _MAX_DEPTH or len(text) > 1024:
        raise UsageError(message=f"{what} has no proper name: dotted keys, at most {_MAX_DEPTH} deep")
    return parts


def _list_items(text: str) -> list[str]:
    import re

    text = text.strip()
    if text[:1] in "[(" and text[-1:] in "])":
        text = text[1:-1]
    return [part.strip() for part in re.findall(r'\s*("[^"]*"|\'[^\']*\'|[^,]+)\s*(?:,|$)', text) if part.strip()]


def _typed(text: str) -> Any:
    """true, false, null and plain numbers as such; the rest text, without its quotes."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    import re

    if re.match(_NUMBER, text):
        if re.match(r"[+-]?0\d", text):  # text in front matter too
            return text
        return int(text) if re.fullmatch(r"[+-]?\d{1,300}", text) else float(text)
    return text


def parse_time(text: str, flag: str, now: float | None = None) -> int:
    """Nanoseconds since 1970 of a date (UTC midnight), a date and time, or an age like ``7d``, ``12h``, ``2w``."""
    import re
    from datetime import UTC, datetime
    from time import time

    text = text.strip()
    age = re.fullmatch(r"(\d{1,6})([hdwmy])", text)
    if age:
        hours = {"h": 1, "d": 24, "w": 168, "m": 730, "y": 8766}[age.group(2)]
        return int(((time() if now is None else now) - int(age.group(1)) * hours * 3600) * 1e9)
    try:
        when = datetime.fromisoformat(text)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return round(when.timestamp() * 1e6) * 1000
    except (ValueError, OverflowError):
        raise UsageError(
            message=f"--{flag} takes a date, a time or an age, not {text!r}",
            next=f"--{flag} 2026-01-31, or --{flag} 7d",
        ) from None


def eligible(connection: Connection, filters: Filters) -> set[int] | None:
    """Row ids of the notes that pass all ``filters``; None where there are none, so that every note does."""
    if filters.empty:
        return None
    sets: list[set[int]] = []

    def select(sql: str, values: Iterable[Any] = ()) -> set[int]:
        return {row[0] for row in connection.execute(sql, tuple(values))}

    for tag in filters.tag:
        low, high, exact = bindable(tag + "/"), bindable(tag + "0"), bindable(tag)
        sql = "SELECT note FROM tag WHERE key = CAST(? AS TEXT) OR (key > CAST(? AS TEXT) AND key < CAST(? AS TEXT))"
        sets.append(select(sql, (exact, low, high)))
    if filters.type:
        rows = connection.execute("SELECT rowid, type FROM note WHERE type IS NOT NULL")
        sets.append({rowid for rowid, kind in rows if fold(kind) in filters.type})
    if filters.path:
        fits = _path_test(filters.path)
        sets.append({rowid for rowid, path in connection.execute("SELECT rowid, path FROM note") if fits(path)})
    if filters.since is not None or filters.before is not None:
        since, before, times = filters.since or -(1 << 62), filters.before, filters.times or {}
        rows = connection.execute("SELECT rowid, path, mtime_ns FROM note")
        when = {rowid: times.get(path, mtime) for rowid, path, mtime in rows}
        sets.append({rowid for rowid, time in when.items() if time >= since and (before is None or time < before)})
    sets += [{note for note, values in values_of(connection, name).items() if values} for name in filters.has]
    if filters.scope:
        sets.append(_in_scope(connection, filters.scope))
    sets += [_meeting(connection, condition) for condition in filters.where]
    sets.sort(key=len)
    return set.intersection(*sets)


def _path_test(patterns: list[str]) -> Callable[[str], bool]:
    """Whether a path fits one of ``patterns``: a folder or note (prefix at a slash), or a glob with * ? and **."""
    import re

    whole: list[re.Pattern[str]] = []
    prefixes: list[str] = []
    for pattern in patterns:
        key = fold(pattern.removeprefix("./"))
        if any(char in key for char in "*?"):
            if key.count("*") > 16:
                raise UsageError(message=f"--path {pattern!r} has more than 16 stars")
            source = "".join(
                {"**/": r"(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
                for part in re.split(r"(\*\*/|\*\*|\*|\?)", key)
            )
            whole.append(re.compile(source, re.DOTALL))
        elif key.rstrip("/") in ("", "."):
            return lambda _: True  # the vault itself
        else:
            prefixes.append(key.rstrip("/"))

    def fits(path: str) -> bool:
        key = fold(path)
        if any(key == prefix or key.startswith(prefix + "/") or key == prefix + ".md" for prefix in prefixes):
            return True
        return any(pattern.fullmatch(key) for pattern in whole)

    return fits


def _in_scope(connection: Connection, scopes: list[str]) -> set[int]:
    """Notes whose ``repository_scopes`` name one of ``scopes`` or something inside it."""
    found = set()
    for note, values in values_of(connection, ["repository_scopes"]).items():
        for value in _flat(values):
            declared = str(value).strip().removeprefix("./").rstrip("/")
            if any(declared == scope or declared.startswith(scope + "/") or scope == "." for scope in scopes):
                found.add(note)
    return found


def _meeting(connection: Connection, condition: Condition) -> set[int]:
    values = values_of(connection, condition.name)
    if condition.operator == "!=":
        wanted = condition.values[0]
        equal = {note for note, each in values.items() if any(_equal(value, wanted) for value in _flat(each))}
        return {row[0] for row in connection.execute("SELECT rowid FROM note")} - equal
    test = _TESTS[condition.operator]
    return {
        note
        for note, each in values.items()
        if any(test(value, wanted) for value in _flat(each) for wanted in condition.values)
    }


def values_of(connection: Connection, name: list[str]) -> dict[int, list[Any]]:
    """What ``name`` is in each note that has it: front matter first, else the note's own column."""
    found: dict[int, list[Any]] = {}
    sql = (
        "SELECT note.rowid, e.key, e.type, e.value FROM note, json_each(note.meta) AS e"
        " WHERE note.meta != '{}' AND length(e.key) <= ?"
    )
    for note, key, kind, value in connection.execute(sql, (4 * len(name[0]) + 8,)):
        if key != name[0] and fold(str(key)) != name[0]:
            continue
        whole: Any = value
        if kind in ("object", "array"):
            import json

            whole = json.loads(value)
        elif kind in ("true", "false"):
            whole = kind == "true"
        for each in _inside(whole, name[1:]):
            found.setdefault(note, []).append(each)
    if len(name) == 1 and name[0] in _OWN:
        for note, each in _own(connection, name[0]):
            if note not in found or name[0] in ("tag", "tags"):
                found.setdefault(note, []).append(each)
    return found


def _own(connection: Connection, name: str) -> Iterable[tuple[int, Any]]:
    if name in ("tag", "tags"):
        return connection.execute("SELECT note, name FROM tag")
    if name == "modified":
        from datetime import UTC, datetime

        rows = connection.execute("SELECT rowid, mtime_ns FROM note")
        return [(note, datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="seconds")) for note, ns in rows]
    return connection.execute(f"SELECT rowid, {name} FROM note WHERE {name} IS NOT NULL")


def first_inside(value: Any, names: list[str]) -> Any:
    """What ``names`` lead to inside ``value``: None for nothing, a list where there are several."""
    found = list(_inside(value, names))
    return found[0] if len(found) == 1 else found or None


def _inside(value: Any, names: list[str]) -> Iterable[Any]:
    if not names:
        return [value]
    if isinstance(value, dict):
        return [deep for key, each in value.items() if fold(str(key)) == names[0] for deep in _inside(each, names[1:])]
    if isinstance(value, list):
        if names[0].isdecimal():
            place = int(names[0]) if len(names[0]) < 9 else len(value)
            return _inside(value[place], names[1:]) if place < len(value) else []
        return [deep for each in value if isinstance(each, dict) for deep in _inside(each, names)]
    return []


def _flat(values: list[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list):
            yield from (each for each in value if not isinstance(each, dict | list))
            if not value:
                yield None
        elif not isinstance(value, dict):
            yield value


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, bool) or wanted is None or isinstance(value, bool) or value is None:
        return value is wanted or (isinstance(value, str) and wanted is None and value == "")
    if isinstance(wanted, str) and isinstance(value, str):
        return fold(value) == fold(wanted)
    if isinstance(wanted, int | float) and isinstance(value, int | float):
        return value == wanted
    return fold(str(value)) == fold(str(wanted))


def _ordered(value: Any, wanted: Any) -> int | None:
    """-1, 0 or 1: numbers by size, text by folded text; None where the two cannot be compared."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(wanted, int | float) and isinstance(value, str):
        import re

        if re.match(_NUMBER, value):
            value = float(value)
    if isinstance(wanted, int) and 1000 <= wanted <= 9999 and isinstance(value, str) and re.match(r"\d{4}-\d\d", value):
        wanted = str(wanted)  # a year against a date
    if isinstance(wanted, int | float) != isinstance(value, int | float):
        return None
    if isinstance(value, int | float):
        return int(value > wanted) - int(value < wanted)
    one, two = fold(str(value)), fold(str(wanted))
    return int(one > two) - int(one < two)


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": _equal,
    "in": _equal,
    "<": lambda value, wanted: _ordered(value, wanted) == -1,
    "<=": lambda value, wanted: _ordered(value, wanted) in (-1, 0),
    ">": lambda value, wanted: _ordered(value, wanted) == 1,
    ">=": lambda value, wanted: _ordered(value, wanted) in (0, 1),
    "~": lambda value, wanted: value is not None and fold(str(wanted)) in fold(str(value)),
}
