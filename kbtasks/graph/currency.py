"""What has gone out of date: superseded notes that are still linked, plans that nobody moved, relations that do not hold."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime

from kbtasks.graph.candidate import Candidate, add_relation, line_of, word
from kbtasks.graph.edges import BETWEEN, INVERSES
from kbtasks.graph.planlint import strong_groups
from kbtasks.graph.records import ACTIVE, field
from kbtasks.graph.relations import all_relations, predicate_fault, relation_issues
from kbtasks.graph.scopes import FIELD, path_state, read_scopes

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection

    from kbtasks.graph.nodes import Node

SUPERSEDES = "supersedes"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def superseded_links(connection: Connection, nodes: dict[int, Node]) -> list[Candidate]:
    """Notes that another note supersedes and that notes other than it still link to: per linking note, its lines."""
    successor: dict[int, int] = dict(
        connection.execute(
            f"SELECT target_note, note FROM link WHERE kind = 'relation' AND predicate = ? AND {BETWEEN}", (SUPERSEDES,)
        )
    )
    found: dict[tuple[int, int], Candidate] = {}
    for old, new in successor.items():
        rows = connection.execute(
            f"SELECT note, line, kind, predicate FROM link WHERE target_note = ? AND {BETWEEN} ORDER BY note, ordinal",
            (old,),
        )
        for source, line, kind, predicate in rows:
            if source in (old, new) or source in successor or predicate == SUPERSEDES or nodes[source].generated:
                continue
            known = found.get((source, old))
            if known is not None:
                known.evidence.append(line_of(nodes[source], line, link=kind))
                known.support += 1
                continue
            found[source, old] = Candidate(
                "superseded-link",
                f"it links to {nodes[old].path}, which {nodes[new].path} supersedes",
                [nodes[source], nodes[old], nodes[new]],
                support=1,
                evidence=[line_of(nodes[source], line, link=kind)],
                accept=add_relation(nodes[source], "informed-by", nodes[new]),
                successor=nodes[new].path,
            )
    return list(found.values())


def stale_plans(
    connection: Connection, nodes: dict[int, Node], *, days: int, today: date, repository: str | None
) -> list[Candidate]:
    """Active plans that nobody changed for ``days`` days, or whose every scope is gone.

    The age is that of the front matter's ``updated`` (or ``date``), else of the file.
    """
    marks = ",".join("?" * len(ACTIVE))
    rows = connection.execute(
        f"SELECT rowid, meta, mtime_ns FROM note WHERE lower(type) = 'plan' AND lower(status) IN ({marks}) ORDER BY path",
        ACTIVE,
    ).fetchall()
    found = []
    for rowid, text, mtime_ns in rows:
        node, meta = nodes[rowid], json.loads(text)
        reasons = []
        dated = next((value for name in ("updated", "date") if (value := _day(field(meta, name)))), None)
        age = (today - (dated or datetime.fromtimestamp(mtime_ns / 1e9, UTC).date())).days
        if age >= days:
            reasons.append(f"untouched for {age} days by its {'front matter' if dated else 'file time'}")
        scopes, _ = read_scopes(field(meta, FIELD))
        if repository and scopes and all(path_state(repository, scope).state != "present" for scope in scopes):
            reasons.append(f"none of its scopes exists ({', '.join(scopes[:3])})")
        if reasons:
            words = f"the plan is {node.status}, but {' and '.join(reasons)}"
            found.append(
                Candidate(
                    "stale-plan",
                    words,
                    [node],
                    support=len(reasons) + max(age, 0) / 100_000,
                    evidence=[line_of(node, 1)],
                    accept=f"kb plan.close {word(node.id)} --status cancelled --result TEXT --durable-memory TEXT",
                    age_days=age,
                    reasons=reasons,
                )
            )
    return found


def _day(value: object) -> date | None:
    match = _DATE.match(value) if isinstance(value, str) else None
    try:
        return date.fromisoformat(match.group()) if match else None
    except ValueError:
        return None


def relation_hygiene(connection: Connection, nodes: dict[int, Node]) -> list[Candidate]:
    """Relations that are malformed, broken, ambiguous, to their own note, written twice or from both sides, and
    rings of supersession."""
    relations = all_relations(connection)
    found = []
    by_path = {node.path: node for node in nodes.values()}
    for issue in relation_issues(connection, None, relations):
        node = by_path.get(issue["path"])
        if node is None:
            continue
        accept = None
        if issue["predicate"] and issue["written"] is not None:
            accept = _remove(node, issue["predicate"], issue["written"])
        found.append(
            Candidate(
                "relation-hygiene",
                issue["message"],
                [node],
                support=3,
                evidence=[line_of(node, issue["line"])],
                accept=accept,
                problem=issue["issue"],
                candidates=issue["candidates"],
            )
        )
    good = [
        item
        for item in relations
        if item.state == "ok" and item.target != item.source and not predicate_fault(item.predicate)
    ]
    first: dict[tuple[int, str, int], int] = {}
    for item in good:
        assert item.target is not None
        key = (item.source, item.predicate, item.target)
        source, target = nodes[item.source], nodes[item.target]
        if key in first:
            found.append(
                Candidate(
                    "relation-hygiene",
                    f"{item.predicate} {target.path} is written twice",
                    [source, target],
                    support=2,
                    evidence=[line_of(source, first[key]), line_of(source, item.line)],
                    accept=_remove(source, item.predicate, item.written),
                    problem="duplicate-relation",
                    candidates=[],
                )
            )
        first.setdefault(key, item.line)
    for (begin, predicate, end), line in first.items():
        inverse = INVERSES.get(predicate)
        for other in {predicate, inverse} - {None}:
            back = first.get((end, str(other), begin))
            if back is None or (end, str(other)) < (begin, predicate):
                continue
            one, two = nodes[begin], nodes[end]
            words = (
                f"{predicate} is written from both sides; the inverse is computed"
                if other == inverse
                else f"{predicate} is written both ways, and both cannot hold"
            )
            found.append(
                Candidate(
                    "relation-hygiene",
                    words,
                    [two, one],
                    support=2,
                    evidence=[line_of(one, line), line_of(two, back)],
                    accept=_remove(two, str(other), one.id),
                    problem="reciprocal-relation",
                    candidates=[],
                )
            )
    return found + _supersession_rings(good, nodes)


def _supersession_rings(good: list, nodes: dict[int, Node]) -> list[Candidate]:  # type: ignore[type-arg]
    graph: dict[int, list[int]] = {}
    lines: dict[int, int] = {}
    for item in good:
        if item.predicate == SUPERSEDES:
            graph.setdefault(item.source, []).append(item.target)
            lines.setdefault(item.source, item.line)
    found = []
    for ring in strong_groups(graph):
        members = sorted((nodes[rowid] for rowid in ring), key=lambda node: node.path)
        words = f"{len(members)} notes supersede one another in a ring"
        evidence = [line_of(node, lines[node.rowid]) for node in members]
        last = members[-1]
        target = next(nodes[rowid] for rowid in graph[last.rowid] if rowid in ring)
        found.append(
            Candidate(
                "relation-hygiene",
                words,
                members,
                support=3,
                evidence=evidence,
                accept=_remove(last, SUPERSEDES, target.id),
                problem="supersession-ring",
                candidates=[],
            )
        )
    return found


def _remove(node: Node, predicate: str, written: str) -> str:
    return f"kb relation.remove {word(node.id)} --predicate {word(predicate)} --target {word(written)}"
