"""``check``: all faults of a vault at once, each with its place and what would mend it."""

from __future__ import annotations

import json

from kbtasks.graph import linkcheck
from kbtasks.graph.finding import Finding
from kbtasks.graph.planlint import lint_plans
from kbtasks.graph.records import TERMINAL, field
from kbtasks.graph.relations import all_relations, relation_issues
from kbtasks.graph.scopes import FIELD, path_state, read_scopes

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection


def find_faults(connection: Connection, *, repository: str | None = None, obsidian: bool = False) -> list[Finding]:
    """Every fault and piece of advice, by path and line.

    repository: absolute path of the code; with it, current notes whose scopes are gone get advice. obsidian: also
    the links that Obsidian would not follow, as faults. The catalog is judged by the caller, who knows its page.
    """
    found = [
        *linkcheck.reading_problems(connection),
        *linkcheck.dead_links(connection),
        *linkcheck.bad_fragments(connection),
        *linkcheck.name_collisions(connection),
        *linkcheck.open_contradictions(connection),
        *_relation_faults(connection),
        *_scope_faults(connection, repository),
        *lint_plans(connection),
    ]
    if obsidian:
        found += linkcheck.beyond_obsidian(connection)
    return in_order(found)


def in_order(found: list[Finding]) -> list[Finding]:
    """Findings by path, place and code."""
    return sorted(
        found, key=lambda finding: (finding.path, finding.line, finding.start or 0, finding.code, finding.message)
    )


def select(found: list[Finding], *, codes: Sequence[str] = (), folder: str = "", severity: str = "") -> list[Finding]:
    """The findings with one of ``codes`` (a name, or whole words of it: ``plan``, ``link``), below ``folder``, of a
    ``severity``."""
    prefix = folder.strip("/")
    return [
        finding
        for finding in found
        if (not codes or any(f"-{code}-" in f"-{finding.code}-" for code in codes))
        and (not prefix or finding.path == prefix or finding.path.startswith(prefix + "/"))
        and (not severity or severity == ("advice" if finding.advice else "error"))
    ]


def counts(found: Sequence[Finding]) -> dict[str, int]:
    """How many findings of each code there are, by code."""
    totals: dict[str, int] = {}
    for finding in found:
        totals[finding.code] = totals.get(finding.code, 0) + 1
    return dict(sorted(totals.items()))


def _relation_faults(connection: Connection) -> list[Finding]:
    found = []
    for issue in relation_issues(connection, None, all_relations(connection)):
        code = issue["issue"] if issue["issue"].endswith("relation") else f"{issue['issue']}-relation"
        found.append(
            Finding(
                code, issue["path"], issue["message"], line=issue["line"], start=issue["start_byte"], end=issue["end_byte"],
                target=issue["written"], candidates=issue["candidates"],
            )
        )  # fmt: skip
    return found


def _scope_faults(connection: Connection, repository: str | None) -> list[Finding]:
    """Scopes that are not canonical paths (faults), and scopes of current notes that are not in the repository now (advice)."""
    rows = connection.execute(
        "SELECT path, type, status, meta FROM note WHERE instr(lower(meta), '\"repository_scopes\"') ORDER BY path"
    )
    found = []
    states: dict[str, str | None] = {}
    for path, kind, status, meta in rows:
        scopes, faults = read_scopes(field(json.loads(meta), FIELD))
        found += [Finding("bad-scope", path, fault) for fault in faults]
        if repository is None or ((kind or "").casefold() == "plan" and (status or "").casefold() in TERMINAL):
            continue
        for scope in scopes:
            if scope not in states:
                state = path_state(repository, scope)
                gone = {"absent": f"{state.missing} is not there", "invalid": str(state.reason)}
                states[scope] = gone.get(state.state)
            if states[scope] is not None:
                words = f"it speaks of {scope}, but {states[scope]}"
                found.append(Finding("vanished-scope", path, words, target=scope, advice=True))
    return found
