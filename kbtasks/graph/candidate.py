"""One suggestion of ``percolate``: what might be written, the lines that speak for it, and the command that would accept it."""

from __future__ import annotations

from shlex import quote

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.graph.nodes import Node

#: The kinds of candidates in the order of the report, faults first.
KINDS = (
    "relation-hygiene",
    "superseded-link",
    "stale-plan",
    "near-duplicate",
    "unlinked-mention",
    "missing-relation",
    "missing-concept",
)
MAX_EVIDENCE = 20


class Candidate:
    """A suggestion. notes: the notes it concerns, the one to change first. support: how much speaks for it (orders
    within a kind).

    evidence: places, each ``{path, line, ...}``; only the first MAX_EVIDENCE are shown. accept: the command that
    would write it.
    """

    __slots__ = ("accept", "details", "evidence", "kind", "message", "notes", "support")

    def __init__(
        self, kind: str, message: str, notes: list[Node], *, support: float, evidence: list[dict[str, Any]], accept: str | None,
        **details: Any,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.message = message
        self.notes = notes
        self.support = support
        self.evidence = evidence
        self.accept = accept
        self.details = details

    def key(self) -> tuple[float, list[str], str]:
        """What candidates of one kind are ordered by: most support, then paths, then words."""
        return (-self.support, [node.path for node in self.notes], self.message)

    def to_json(self) -> dict[str, Any]:
        """The candidate as ``percolate`` shows it."""
        return {
            "kind": self.kind, "message": self.message, "notes": [node.to_json() for node in self.notes],
            "support": round(self.support, 4), "evidence": self.evidence[:MAX_EVIDENCE],
            "evidence_total": len(self.evidence), "accept": self.accept, "details": self.details,
        }  # fmt: skip


def line_of(node: Node, line: int, **more: Any) -> dict[str, Any]:
    """A piece of evidence: a line of a note."""
    return {"path": node.path, "line": line, **more}


def add_relation(source: Node, predicate: str, target: Node) -> str:
    """The command that writes a relation."""
    return f"kb relation.add {word(source.id)} --predicate {predicate} --target {word(target.id)}"


def word(text: str) -> str:
    """``text`` as one word of a shell, also when it begins with a dash."""
    return quote(text if not text.startswith("-") else "./" + text)
