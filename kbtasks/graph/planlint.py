"""Plans held to their schema and their lifecycle: a legal status, a result when they end, no ring of dependencies."""

from __future__ import annotations

import json
import re

from kbtasks import schema
from kbtasks.graph.edges import BETWEEN
from kbtasks.graph.finding import Finding
from kbtasks.graph.nodes import COLUMNS, Node
from kbtasks.graph.records import ACTIVE, TERMINAL

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

SCHEMA = "plan-note"
STATUSES = (*ACTIVE, *TERMINAL)
#: Sections without which a plan is not a plan, and those it must have once it has ended.
CORE = ("outcome", "verification")
CLOSING = ("result", "durable memory")
#: Relations and properties by which a plan says what must be done before it.
DEPENDS = ("depends-on", "depends_on", "dependencies", "blocked-by")


def lint_plans(connection: Connection) -> list[Finding]:
    """The faults of every note of the type ``plan``, by path."""
    rows = connection.execute(
        f"SELECT {COLUMNS}, note.meta FROM note WHERE lower(type) = 'plan' ORDER BY path"
    ).fetchall()
    plans = {row[0]: (Node(*row[:7]), json.loads(row[7])) for row in rows}
    if not plans:
        return []
    found: list[Finding] = []
    sections = _sections(connection)
    superseded = {
        row[0]
        for row in connection.execute(
            f"SELECT target_note FROM link WHERE kind = 'relation' AND predicate = 'supersedes' AND {BETWEEN}"
        )
    }
    for node, meta in plans.values():
        found += _lint_one(node, meta, sections.get(node.rowid, {}), node.rowid in superseded)
    return found + _rings(connection, {rowid: node for rowid, (node, _) in plans.items()})


def _lint_one(node: Node, meta: dict[str, Any], sections: dict[str, bool], superseded: bool) -> list[Finding]:
    found = []
    status = (node.status or "").casefold()
    if status not in STATUSES:
        words = f"the status {node.status!r} is" if node.status else "there is no status; a plan's is"
        found.append(
            Finding(
                "plan-status",
                node.path,
                f"{words} {'not ' if node.status else ''}one of {', '.join(STATUSES)}",
                fix=f"kb note.set {node.id} --field status=proposed",
            )
        )
    for pointer, rule, _ in schema.problems(SCHEMA, meta)[:20]:
        if pointer != "/status" and "'status'" not in rule:
            found.append(Finding("plan-schema", node.path, f"front matter at {pointer or '/'}: {rule[:300]}"))
    if status in TERMINAL:
        missing = [name for name in CLOSING if not sections.get(name)]
        if missing:
            found.append(
                Finding(
                    "plan-unclosed",
                    node.path,
                    f"it is {status} but says nothing under {' and '.join(name.title() for name in missing)}",
                    fix=f"kb plan.add {node.id} --result TEXT --durable-memory TEXT",
                )
            )
    absent = [name for name in CORE if name not in sections]
    if absent:
        found.append(
            Finding(
                "plan-sections",
                node.path,
                f"it has no section {' or '.join(name.title() for name in absent)}",
                advice=True,
            )
        )
    if superseded and status in ACTIVE:
        found.append(
            Finding(
                "plan-superseded",
                node.path,
                f"another plan supersedes it, but its status is {status}",
                fix=f"kb plan.close {node.id} --status superseded",
            )
        )
    return found


def _sections(connection: Connection) -> dict[int, dict[str, bool]]:
    """Row number of a plan -> its section names in lower case -> whether there is text in them (or in a section below)."""
    rows = connection.execute(
        "SELECT section.note, section.path, section.end_byte - section.start_byte, heading.end_byte - heading.start_byte"
        " FROM note JOIN section ON section.note = note.rowid LEFT JOIN heading ON heading.note = section.note"
        " AND heading.start_byte = section.start_byte WHERE lower(note.type) = 'plan' AND section.path != ''"
    )
    found: dict[int, dict[str, bool]] = {}
    for note, path, size, heading in rows:
        names = [re.sub(r"[\W_]+", " ", part).strip().casefold() for part in path.split("\n")]
        filled = size - (heading or 0) > 2
        own = found.setdefault(note, {})
        for name in names:
            own[name] = own.get(name, False) or filled
    return found


def _rings(connection: Connection, plans: dict[int, Node]) -> list[Finding]:
    """A finding for each ring of plans that wait for one another (each strongly connected group once)."""
    marks = ",".join("?" * len(DEPENDS))
    rows = connection.execute(
        "SELECT note, target_note, line FROM link WHERE kind IN ('relation', 'property') AND state = 'ok'"
        f" AND predicate IN ({marks})",
        DEPENDS,
    )
    waits: dict[int, dict[int, int]] = {}
    for source, target, line in rows:
        if source in plans and target in plans:
            waits.setdefault(source, {}).setdefault(target, line)
    found = []
    for ring in strong_groups({source: list(targets) for source, targets in waits.items()}):
        members = sorted((plans[rowid] for rowid in ring), key=lambda node: node.path)
        first = members[0]
        line = min((line for target, line in waits[first.rowid].items() if target in ring), default=0)
        names = " → ".join(node.id for node in [*members, first])
        found.append(Finding("plan-cycle", first.path, f"plans wait for one another: {names}", line=line))
    return found


def strong_groups(graph: dict[int, list[int]]) -> list[set[int]]:
    """The groups of nodes that reach one another, and single nodes that point to themselves.

    R. Tarjan, "Depth-first search and linear graph algorithms", 1972, without recursion, so that a long chain needs
    no stack.
    """
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    groups = []
    for start in graph:
        if start in index:
            continue
        work = [(start, iter(graph.get(start, ())))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.add(member)
                        if member == node:
                            break
                    if len(group) > 1 or node in graph.get(node, ()):
                        groups.append(group)
    return groups
