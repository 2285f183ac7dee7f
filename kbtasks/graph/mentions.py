"""What notes say without a link: mentions of other notes by name, and whole passages that another note has too."""

from __future__ import annotations

import json
import re
from math import log2

from kbtasks.graph.candidate import MAX_EVIDENCE, Candidate, add_relation, line_of
from kbtasks.graph.edges import BETWEEN
from kbtasks.graph.matcher import UNSPACED, Phrases, is_telling
from kbtasks.graph.prose import bodies, masked
from kbtasks.graph.shingles import Sketches, jaccard
from kbtasks.vault.names import fold

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection

    from kbtasks.graph.nodes import Node


_UNSPACED = re.compile(f"[{UNSPACED}]")


def telling_names(connection: Connection, nodes: dict[int, Node]) -> dict[str, int]:
    """Folded name -> the only note that has it as file name, title or alias; names of several notes are left out."""
    owners: dict[str, set[int]] = {}
    for rowid, aliases in connection.execute("SELECT rowid, aliases FROM note WHERE generated = 0 ORDER BY path"):
        node = nodes[rowid]
        for name in (node.title, node.id.rpartition("/")[2], *json.loads(aliases)):
            if isinstance(name, str) and is_telling(name):
                key = fold(" ".join(name.split()))
                owners.setdefault(key, set()).add(rowid)
    return {key: next(iter(notes)) for key, notes in owners.items() if len(notes) == 1}


class Mention:
    """The mentions of one note in another: their places, how many in all, the first phrase as written there."""

    __slots__ = ("count", "phrase", "places")

    def __init__(self, phrase: str) -> None:
        self.phrase = phrase
        self.places: list[tuple[int, int, int]] = []
        self.count = 0


def find_mentions(
    connection: Connection, nodes: dict[int, Node], *, only: Node | None = None
) -> dict[tuple[int, int], Mention]:
    """(source, target) -> mentions, for every pair that no link joins in either direction.

    only: just the pairs that this note is part of. At each place in the prose the longest name is taken, and names
    never overlap.
    """
    names = telling_names(connection, nodes)
    phrases = Phrases()
    for key, owner in names.items():
        phrases.add(key, owner)
    own = [" ".join(key.split()) for key, owner in names.items() if only is not None and owner == only.rowid]
    joined = {
        (min(pair), max(pair)) for pair in connection.execute(f"SELECT note, target_note FROM link WHERE {BETWEEN}")
    }
    found: dict[tuple[int, int], Mention] = {}
    for body in bodies(connection):
        if only is not None and body.note != only.rowid:
            folded = " ".join(fold(body.text).split())
            if not any(key in folded for key in own):
                continue
        for start, end, owner in phrases.find(masked(body.text)):
            if owner == body.note or (min(owner, body.note), max(owner, body.note)) in joined:
                continue
            if only is not None and only.rowid not in (owner, body.note):
                continue
            mention = found.get((body.note, owner))
            if mention is None:
                mention = found[body.note, owner] = Mention(" ".join(body.text[start:end].split()))
            mention.count += 1
            if len(mention.places) < MAX_EVIDENCE:
                mention.places.append(body.place(start, end))
    return found


def unlinked_mentions(connection: Connection, nodes: dict[int, Node], *, only: Node | None = None) -> list[Candidate]:
    """A candidate per pair of notes of which one names the other and no link joins them.

    A name that few notes mention, and one of several words, speaks for itself: support is the logarithm (base 2) of
    the number of notes per mentioning note, times the square root of the number of words in the name.
    """
    found = find_mentions(connection, nodes, only=only)
    mentioning: dict[int, int] = {}
    for _, target in found:
        mentioning[target] = mentioning.get(target, 0) + 1
    candidates = []
    for (source, target), mention in found.items():
        one, other = nodes[source], nodes[target]
        support = log2(1 + len(nodes) / mentioning[target]) * len(mention.phrase.split()) ** 0.5
        evidence = [
            line_of(one, line, start_byte=start, end_byte=end, phrase=mention.phrase)
            for line, start, end in mention.places
        ]
        candidates.append(
            Candidate(
                "unlinked-mention", f"it names {other.path} ({mention.phrase}) without a link", [one, other], support=support,
                evidence=evidence, accept=add_relation(one, "mentions", other), occurrences=mention.count,
                notes_mentioning=mentioning[target], edit=f"[[{other.id}|{mention.phrase}]]",
            )
        )  # fmt: skip
    return candidates


def near_duplicates(
    connection: Connection, nodes: dict[int, Node], *, threshold: float
) -> tuple[list[Candidate], bool]:
    """Pairs of notes that share at least ``threshold`` of their wording, and whether all pairs that might were compared."""
    sketches = Sketches()
    for body in bodies(connection):
        sketches.add(body.note, words_of(body.text))
    alike = sketches.alike()
    wanted = {note for pair in alike for note in pair}
    shingles = {body.note: sketches.shingles(words_of(body.text)) for body in bodies(connection, wanted)}
    found = []
    for first, second in alike:
        share = round(jaccard(shingles[first], shingles[second]), 3)
        if share < threshold:
            continue
        one, other = sorted((nodes[first], nodes[second]), key=lambda node: node.path)
        found.append(
            Candidate(
                "near-duplicate",
                f"they share {share:.0%} of their wording",
                [one, other],
                support=share,
                evidence=[line_of(one, 1), line_of(other, 1)],
                accept=add_relation(one, "supersedes", other),
                resemblance=share,
            )
        )
    return found, not sketches.truncated


def words_of(text: str) -> list[str]:
    """The words of a text for comparing its wording; one per character where it is in a script without blanks."""
    folded = fold(text)
    if not folded.isascii() and 3 * len(_UNSPACED.findall(folded)) > len(folded):
        return [char for char in folded if not char.isspace()]
    return folded.split()
