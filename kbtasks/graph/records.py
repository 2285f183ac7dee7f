"""The notes that stand behind a code path, in the five groups an agent needs apart."""

from __future__ import annotations

import json
import re

from kbtasks.graph.nodes import COLUMNS, Node
from kbtasks.graph.scopes import FIELD, State, ancestors, path_state, read_scopes
from kbtasks.index.tables import bindable
from kbtasks.vault.names import fold

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

ACTIVE = ("in-progress", "accepted", "proposed", "blocked")
TERMINAL = ("completed", "superseded", "cancelled")
GROUPS = ("maintained_knowledge", "active_plans", "dated_research", "reports", "historical_plans")
_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")


class Record:
    """A note about a code path: its group, the scope that matched and how, the state of that scope, its date."""

    __slots__ = (
        "area",
        "date",
        "description",
        "group",
        "match",
        "matched",
        "meta",
        "node",
        "scope_state",
        "scopes",
        "summary",
    )

    def __init__(self, node: Node, summary: str, meta: dict[str, Any]) -> None:
        self.node = node
        self.summary = summary
        self.meta = meta
        self.group = ""
        self.scopes: list[str] = []
        self.matched = ""
        self.match = ""
        self.scope_state: State | None = None
        self.date: str | None = None
        self.area = _text(meta, "area")
        self.description = _text(meta, "description")

    def to_json(self) -> dict[str, Any]:
        """The record as ``context`` shows it."""
        assert self.scope_state is not None
        return {
            **self.node.to_json(),
            "summary": self.summary,
            "type": self.node.type,
            "status": self.node.status,
            "date": self.date,
            "area": self.area,
            FIELD: self.scopes,
            "matched_scope": self.matched,
            "match": self.match,
            "scope": self.scope_state.to_json(),
        }


class Records:
    """All records of one path. groups: by name, best first. invalid: notes whose declaration cannot be used.
    advisories: what vanished."""

    __slots__ = ("advisories", "groups", "invalid", "other")

    def __init__(self) -> None:
        self.groups: dict[str, list[Record]] = {name: [] for name in GROUPS}
        self.invalid: list[dict[str, Any]] = []
        self.advisories: list[dict[str, Any]] = []
        self.other = 0


def find_records(connection: Connection, repository: str, target: str, target_state: State) -> Records:
    """The notes whose ``repository_scopes`` contain ``target`` (a repository path, ``.`` for all of it).

    A folder's scope holds itself and all below it, a file's only that file. Each group is ordered by the nearest
    scope, then the newest date, status, title and path. A note that cannot be placed (no type, a plan without a
    known status, research or a report without its date) is in ``invalid``; a current note whose scope is gone is
    also in ``advisories``.
    """
    found = Records()
    lines = ancestors(target)
    states: dict[str, State] = {target: target_state}
    rows = connection.execute(
        f"SELECT {COLUMNS}, note.summary, note.meta FROM note WHERE rowid IN"
        f" (SELECT note FROM scope WHERE scope IN ({','.join(['CAST(? AS TEXT)'] * len(lines))})) ORDER BY note.path",
        [bindable(line) for line in lines],
    ).fetchall()
    for row in rows:
        meta = json.loads(row[8])
        record = Record(Node(*row[:7]), row[7], meta if isinstance(meta, dict) else {})
        record.scopes, faults = read_scopes(field(record.meta, FIELD))
        found.invalid += [_invalid(record, fault) for fault in faults]
        matching = [scope for scope in lines if scope in record.scopes]
        for scope in matching:
            state = states.get(scope) or states.setdefault(scope, path_state(repository, scope))
            if scope != target and state.kind == "file":
                continue  # a file's scope holds only that file
            record.matched, record.scope_state = scope, state
            record.match = "exact" if scope == target else "ancestor"
            break
        if record.scope_state is None:
            continue
        fault = _place(record)
        if fault:
            found.invalid.append(_invalid(record, fault))
        elif record.group:
            found.groups[record.group].append(record)
            if record.group != "historical_plans":
                found.advisories += _vanished(repository, record, states)
        else:
            found.other += 1
    _refuse_case_twins(found)
    for records in found.groups.values():
        records.sort(key=lambda record: (fold(record.node.title), record.node.path))
        records.sort(key=lambda record: _rank(record.node.status))
        records.sort(key=lambda record: record.date or "", reverse=True)
        records.sort(key=lambda record: _depth(record.matched), reverse=True)
    return found


def field(meta: dict[str, Any], name: str) -> Any:
    """A front matter value by its name, exact first, then the only key that differs by letter case."""
    if name in meta:
        return meta[name]
    near = [key for key in meta if key.casefold() == name]
    return meta[near[0]] if len(near) == 1 else None


def _text(meta: dict[str, Any], name: str) -> str | None:
    value = field(meta, name)
    return value if isinstance(value, str) and value.strip() else None


def _place(record: Record) -> str | None:
    """Set the record's group (empty: a type that context does not speak of) and date; a sentence when it cannot be placed."""
    kind, status = (record.node.type or "").casefold(), (record.node.status or "").casefold()
    if not kind:
        return "it declares repository_scopes but no type"
    if kind in ("note", "concept", "decision"):
        record.group = "maintained_knowledge"
        record.date = _date(record.meta, "updated") or _date(record.meta, "date")
    elif kind == "plan":
        if status in ACTIVE:
            record.group = "active_plans"
        elif status in TERMINAL:
            record.group = "historical_plans"
        else:
            return f"it is a plan whose status is {record.node.status!r}, not one of {', '.join(ACTIVE + TERMINAL)}"
        record.date = _date(record.meta, "updated") or _date(record.meta, "date")
    elif kind in ("market-research", "research"):
        record.date = _date(record.meta, "as_of")
        if record.date is None:
            return f"it is {kind} without a valid as_of date (YYYY-MM-DD)"
        record.group = "dated_research"
    elif kind == "report":
        record.date = _date(record.meta, "generated")
        if record.date is None:
            return "it is a report without a valid generated date (YYYY-MM-DD)"
        record.group = "reports"
    return None


def _date(meta: dict[str, Any], name: str) -> str | None:
    value = field(meta, name)
    match = _DATE.match(value) if isinstance(value, str) else None
    return match.group() if match else None


def _rank(status: str | None) -> int:
    order = ACTIVE + TERMINAL
    status = (status or "").casefold()
    return order.index(status) if status in order else len(order)


def _depth(scope: str) -> int:
    return 0 if scope == "." else scope.count("/") + 1


def _vanished(repository: str, record: Record, states: dict[str, State]) -> list[dict[str, Any]]:
    gone = []
    for scope in record.scopes:
        state = states.get(scope) or states.setdefault(scope, path_state(repository, scope))
        if state.state != "present":
            what = f"{state.missing} is not there" if state.state == "absent" else str(state.reason)
            gone.append(
                {
                    "kind": "absent-current-scope" if state.state == "absent" else "invalid-scope",
                    **record.node.to_json(),
                    "scope": scope,
                    "message": f"the note speaks of {scope}, but {what}; mend the note or close it",
                }
            )
    return gone


def _invalid(record: Record, reason: str) -> dict[str, Any]:
    return {**record.node.to_json(), "reason": reason}


def _refuse_case_twins(found: Records) -> None:
    """Two notes that declare one scope in two letter cases cannot both be right: both leave their groups."""
    spelled: dict[str, set[str]] = {}
    for records in found.groups.values():
        for record in records:
            for scope in record.scopes:
                spelled.setdefault(scope.casefold(), set()).add(scope)
    twins = {scope for forms in spelled.values() if len(forms) > 1 for scope in forms}
    if not twins:
        return
    for name, records in found.groups.items():
        wrong = [record for record in records if twins.intersection(record.scopes)]
        found.groups[name] = [record for record in records if record not in wrong]
        for record in wrong:
            pair = sorted(twins.intersection(record.scopes))[0]
            found.invalid.append(
                _invalid(record, f"its scope {pair} is spelled in another letter case by another note")
            )
