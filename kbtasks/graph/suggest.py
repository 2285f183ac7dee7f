"""Suggestions from what notes share: tags that deserve a note of their own, and pairs of notes that deserve a relation."""

from __future__ import annotations

import re

from kbtasks.graph.candidate import MAX_EVIDENCE, Candidate, add_relation, line_of, word
from kbtasks.graph.edges import BETWEEN
from kbtasks.vault.names import fold

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection

    from kbtasks.graph.nodes import Node

CONCEPT = "concept"
#: Notes that may share a tag or a neighbour before it says nothing about any two of them.
MAX_SHARING = 12
MAX_PAIRS = 250_000
#: Links of a note beyond which it is a list of others, whose company proves nothing.
MAX_LINKS = 60


def missing_concepts(connection: Connection, nodes: dict[int, Node], *, support: int) -> list[Candidate]:
    """Tags on at least ``support`` notes (concepts themselves not counted) for which there is no note of that name,
    title or alias."""
    names = {_loose(key) for (key,) in connection.execute("SELECT DISTINCT key FROM name WHERE kind != 'path'")}
    paths = {key for (key,) in connection.execute("SELECT key FROM name WHERE kind = 'path'")}
    rows = connection.execute(
        "SELECT tag.key, min(tag.name), count(DISTINCT tag.note) AS notes FROM tag JOIN note ON note.rowid = tag.note"
        " WHERE coalesce(lower(note.type), '') != ? AND note.generated = 0 GROUP BY tag.key HAVING notes >= ?",
        (CONCEPT, support),
    ).fetchall()
    found = []
    for key, name, count in rows:
        last = key.rpartition("/")[2]
        if _loose(key) in names or _loose(last) in names:
            continue
        evidence = [
            line_of(nodes[note], line, tag=name)
            for note, line in connection.execute(
                "SELECT tag.note, min(tag.line) FROM tag JOIN note ON note.rowid = tag.note WHERE tag.key = ?"
                " GROUP BY tag.note ORDER BY note.path LIMIT ?",
                (key, MAX_EVIDENCE),
            )
            if note in nodes
        ]
        slug = re.sub(r"[^\w]+", "-", name.rpartition("/")[2].lower()).strip("-_") or "concept"
        suggested = f"notes/{slug}" if fold(f"notes/{slug}") not in paths else f"notes/{slug}-concept"
        title = name.rpartition("/")[2].replace("-", " ").replace("_", " ")
        accept = f"kb note.create {word(suggested)} --title {word(title)} --type {CONCEPT} --tag {word(name)} --parents"
        words = f"#{name} is on {count} notes, and no note says what it is"
        found.append(
            Candidate(
                "missing-concept",
                words,
                [],
                support=count,
                evidence=evidence,
                accept=accept,
                tag=name,
                suggested_id=suggested,
                notes_tagged=count,
            )
        )
    return found


def _loose(key: str) -> str:
    """A folded name without the difference of hyphens, underscores and blanks."""
    return re.sub(r"[\s_-]+", " ", key).strip()


def missing_relations(connection: Connection, nodes: dict[int, Node], *, support: int) -> tuple[list[Candidate], bool]:
    """Pairs of notes that no link joins and that share at least ``support`` rare tags or neighbours; and whether
    pairs were left out.

    A tag or neighbour shared by more than MAX_SHARING notes proves nothing and is passed over, so the work grows
    with the number of links and tags, never with the square of the notes.
    """
    signals = _signals(connection, nodes)
    shared: dict[tuple[int, int], list[int]] = {}
    complete = True
    for number, (_, places) in enumerate(signals):
        members = sorted(places)
        for at, first in enumerate(members):
            for second in members[at + 1 :]:
                shared.setdefault((first, second), []).append(number)
        if len(shared) > MAX_PAIRS:
            complete = False
            break
    joined = {
        (min(pair), max(pair)) for pair in connection.execute(f"SELECT note, target_note FROM link WHERE {BETWEEN}")
    }
    found = []
    for pair, numbers in shared.items():
        if len(numbers) < support or pair in joined:
            continue
        one, other = sorted((nodes[pair[0]], nodes[pair[1]]), key=lambda node: node.path)
        evidence = []
        for number in numbers:
            words, places = signals[number]
            evidence += [line_of(node, places[node.rowid], signal=words) for node in (one, other)]
        weight = len(numbers) + sum(1 / len(signals[number][1]) for number in numbers) / 100
        found.append(
            Candidate(
                "missing-relation", f"they share {len(numbers)} tags or neighbours, and no link joins them", [one, other],
                support=weight, evidence=evidence, accept=add_relation(one, "related-to", other), shared=len(numbers),
            )
        )  # fmt: skip
    return found, complete


def _signals(connection: Connection, nodes: dict[int, Node]) -> list[tuple[str, dict[int, int]]]:
    """What few notes share: words for it, and row number of each note that has it -> the line where."""
    found: dict[tuple[str, object], dict[int, int]] = {}
    eligible = {
        rowid for rowid, node in nodes.items() if not node.generated and (node.type or "").casefold() != CONCEPT
    }
    for note, key, line in connection.execute("SELECT note, key, min(line) FROM tag GROUP BY note, key"):
        if note in eligible:
            found.setdefault(("tag", key), {})[note] = line
    links = dict(
        connection.execute(f"SELECT note, count(DISTINCT target_note) FROM link WHERE {BETWEEN} GROUP BY note")
    )
    for note, target, line in connection.execute(
        f"SELECT note, target_note, min(line) FROM link WHERE {BETWEEN} GROUP BY note, target_note"
    ):
        if note in eligible and target in nodes and links.get(note, 0) <= MAX_LINKS:
            found.setdefault(("link", target), {})[note] = line
    signals = []
    for (kind, what), places in found.items():
        if 2 <= len(places) <= MAX_SHARING:
            words = f"#{what}" if kind == "tag" else f"link to {nodes[what].path}"  # type: ignore[index]
            signals.append((words, places))
    return sorted(signals, key=lambda signal: (len(signal[1]), signal[0]))
