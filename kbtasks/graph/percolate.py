"""``percolate``: what a vault might still say, as a report. Nothing here writes."""

from __future__ import annotations

from kbtasks.graph.candidate import KINDS, Candidate
from kbtasks.graph.currency import relation_hygiene, stale_plans, superseded_links
from kbtasks.graph.mentions import near_duplicates, unlinked_mentions
from kbtasks.graph.nodes import all_nodes
from kbtasks.graph.suggest import missing_concepts, missing_relations

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from sqlite3 import Connection

    from kbtasks.graph.nodes import Node


class Report:
    """The candidates found, best first within their kind, and which analyses had to leave some out (``cut``)."""

    __slots__ = ("candidates", "cut")

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self.cut: list[str] = []

    def counts(self) -> dict[str, int]:
        """How many candidates of each kind there are."""
        return {kind: sum(each.kind == kind for each in self.candidates) for kind in KINDS}


def percolate(
    connection: Connection,
    *,
    today: date,
    note: Node | None = None,
    kinds: Sequence[str] = (),
    support: int = 2,
    similarity: float = 0.7,
    stale_days: int = 90,
    repository: str | None = None,
) -> Report:
    """All candidates of a vault, or with ``note`` those that concern it.

    kinds: some of KINDS; all when empty. support: tags or neighbours that must speak for a concept or relation, at
    least 2. similarity: the share of common wording from which two notes are near-duplicates, 0 to 1. stale_days:
    days after which an active plan is stale.
    repository: the code, to see whether plans' scopes still exist. today: the day that ages are counted from.
    """
    wanted = set(kinds) or set(KINDS)
    nodes = {node.rowid: node for node in all_nodes(connection)}
    report = Report()
    found = report.candidates
    if "relation-hygiene" in wanted:
        found += relation_hygiene(connection, nodes)
    if "superseded-link" in wanted:
        found += superseded_links(connection, nodes)
    if "stale-plan" in wanted:
        found += stale_plans(connection, nodes, days=stale_days, today=today, repository=repository)
    if "missing-concept" in wanted:
        found += missing_concepts(connection, nodes, support=max(2, support))
    if "missing-relation" in wanted:
        more, complete = missing_relations(connection, nodes, support=max(2, support))
        found += more
        if not complete:
            report.cut.append(
                "missing-relation: too many pairs of notes share something; only those with the rarest are shown"
            )
    if "unlinked-mention" in wanted:
        found += unlinked_mentions(connection, nodes, only=note)
    if "near-duplicate" in wanted:
        more, complete = near_duplicates(connection, nodes, threshold=similarity)
        found += more
        if not complete:
            report.cut.append("near-duplicate: too many notes share their wording; not all pairs were compared")
    if note is not None:
        concerned = note.path
        report.candidates = found = [
            each
            for each in found
            if any(node.rowid == note.rowid for node in each.notes)
            or any(item["path"] == concerned for item in each.evidence)
        ]
    order = {kind: at for at, kind in enumerate(KINDS)}
    found.sort(key=lambda each: (order[each.kind], each.key()))
    return report


def limited(report: Report, limit: int) -> list[Candidate]:
    """At most ``limit`` candidates of each kind, in the report's order."""
    taken = dict.fromkeys(KINDS, 0)
    shown = []
    for each in report.candidates:
        taken[each.kind] += 1
        if taken[each.kind] <= limit:
            shown.append(each)
    return shown
