"""Search: local records and, where asked, a provider's answers, in one labelled list."""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from kbtasks.errors import KbError, UsageError
from kbtasks.resources import lexical, ranked, records, semantic, terms
from kbtasks.resources.canonical import plain
from kbtasks.resources.faults import DamagedStore
from kbtasks.resources.model import is_resource_id
from kbtasks.resources.snippet import snippet
from kbtasks.resources.tables import LEXICAL_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.resources.filters import Filters

    Resource = dict[str, Any]
    RemoteSearch = Callable[[str, int], list[Resource]]
    Found = tuple["Hit", float]

MAX_QUERY, MAX_LIMIT, MAX_REMOTE = 2000, 20, 50
_FUSION = 60
GUIDANCE = "These are candidates. Judge useWhen, limitations and how fresh the source is before use, and cite the original URL."


class Hit:
    """A record that answers: where from, how well, which words."""

    __slots__ = ("extras", "grade", "matched", "newer_remote", "origin", "resource", "score")

    def __init__(
        self, resource: Resource, extras: dict[str, Any] | None, score: float, matched: list[str], *, origin: str
    ) -> None:
        self.resource = resource
        self.extras = extras
        self.score = score
        self.matched = matched
        self.origin = origin
        self.grade = "weak"
        self.newer_remote = False

    def citation(self) -> dict[str, str]:
        """What to cite: the record's id, the original URL, the record's time."""
        return {
            "id": self.resource["id"],
            "url": self.resource["source"]["url"],
            "updatedAt": self.resource["updatedAt"],
        }

    def to_json(self, *, full: bool) -> dict[str, Any]:
        """The hit as emitted; the whole resource only with ``full``."""
        resource = self.resource
        found: dict[str, Any] = {
            "id": resource["id"],
            "title": resource["title"],
            "snippet": snippet(resource, self.matched),
            "score": self.score,
            "matched": self.matched,
            "match": self.grade,
            "origin": self.origin,
            "citation": self.citation(),
        }
        if self.newer_remote:
            found["remoteIsNewer"] = True
        if full:
            found["resource"] = resource
            if self.extras:
                found["extras"] = self.extras
        return found


class Answer:
    """The hits of one search with the state of every lane that was asked."""

    __slots__ = ("hits", "lanes", "truncated")

    def __init__(self, hits: list[Hit], lanes: list[dict[str, str]], *, truncated: bool) -> None:
        self.hits = hits
        self.lanes = lanes
        self.truncated = truncated

    @property
    def partial(self) -> bool:
        """Whether a lane that was asked for is not ready."""
        return any(lane["state"] != "ready" for lane in self.lanes)


def search(
    connection: Connection, query: str, filters: Filters, *, limit: int, mode: str, remote: RemoteSearch | None = None
) -> Answer:
    """Records that answer ``query``, best first, at most ``limit`` (1 to 20).

    mode: ``ranked`` or ``lexical`` (the compatible rule). remote: asks a provider; where it fails the local hits stay
    and its lane is degraded. Local tombstones hide remote answers, the local record wins a tie of ids.
    """
    if len(query) > MAX_QUERY:
        raise UsageError(message=f"the query is longer than {MAX_QUERY} characters")
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError(message=f"--limit takes 1 to {MAX_LIMIT}, not {limit}")
    lanes = [{"name": "local", "state": "ready"}]
    answers, from_remote = _ask(connection, query, filters, limit, remote, lanes) if remote else ([], {})
    by_identity = _identity(connection, query, filters)
    if by_identity:
        hits = by_identity
    elif mode == "lexical":
        hits = _lexical(connection, query, filters, limit + 1, answers)
    else:
        hits = _ranked(connection, query, filters, limit + 1, answers, lanes)
    for hit in hits:
        if hit.origin == "local" and from_remote.get(hit.resource["id"], "") > hit.resource["updatedAt"]:
            hit.newer_remote = True
    return Answer(hits[:limit], lanes, truncated=len(hits) > limit)


def _ask(
    connection: Connection,
    query: str,
    filters: Filters,
    limit: int,
    remote: RemoteSearch,
    lanes: list[dict[str, str]],
) -> tuple[list[Resource], dict[str, str]]:
    """Remote answers that may be shown, and the times of all of them by id."""
    try:
        answers = remote(query, MAX_REMOTE if filters else limit)
    except KbError as error:
        lanes.append({"name": "provider", "state": "degraded", "reason": error.message})
        return [], {}
    lanes.append({"name": "provider", "state": "ready"})
    shown = [
        resource
        for resource in answers
        if filters.accepts(resource)
        and records.deleted_at(connection, resource["id"]) is None
        and records.find(connection, resource["id"]) is None
    ]
    return shown, {resource["id"]: resource["updatedAt"] for resource in answers}


def _identity(connection: Connection, query: str, filters: Filters) -> list[Hit]:
    """Records whose id, original id or URL is the query itself."""
    text = plain(query.strip())
    if not text or any(character.isspace() for character in text):
        return []
    column = "id" if is_resource_id(text) else "url" if text.lower().startswith("https:") else "source_id"
    if column == "url":
        from kbtasks.resources.whatwg import parse_https

        try:
            text = parse_https(text).href
        except ValueError:
            return []
        status = text.rstrip("/").rpartition("/status/")[2]
        if "/status/" in text and status.isdigit():
            column, text = "source_id", status
    elif column == "source_id" and len(text) < 4:
        return []  # too short to mean one record
    clause, values = filters.sql()
    rows = connection.execute(
        f"SELECT body, revision, extras FROM record r WHERE {column} = ?{clause} ORDER BY id LIMIT {MAX_LIMIT + 1}",
        [text, *values],
    )
    hits = [_stored(row, 1.0, [query.strip()]) for row in rows]
    for hit in hits:
        hit.grade = "identity"
    return hits


def _stored(row: tuple[Any, ...], score: float, matched: list[str]) -> Hit:
    body, revision, extras = row
    return Hit(records.resource_in(body, revision), records.extras_in(extras), score, matched, origin="local")


def _local(connection: Connection, number: int, score: float, matched: list[str]) -> Hit:
    row = connection.execute("SELECT body, revision, extras FROM record WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise DamagedStore(
            path="in use",
            reason="its search tables name a record that is not there",
            next="kb resource.doctor --rebuild",
        )
    return _stored(row, score, matched)


def _everything(connection: Connection, filters: Filters, limit: int, answers: list[Resource]) -> list[Hit]:
    """What passes the filters where no words were asked for, by id, each with score 1."""
    clause, values = filters.sql()
    rows = connection.execute(
        f"SELECT body, revision, extras FROM record r WHERE 1{clause} ORDER BY id LIMIT ?", [*values, limit]
    ).fetchall()
    hits = [_stored(row, 1, []) for row in rows]
    hits += [Hit(resource, None, 1, [], origin="remote") for resource in answers]
    return sorted(hits, key=lambda hit: str(hit.resource["id"]))[:limit]


def _ranked(
    connection: Connection,
    query: str,
    filters: Filters,
    limit: int,
    answers: list[Resource],
    lanes: list[dict[str, str]],
) -> list[Hit]:
    asked = terms.query_terms(query)
    if not asked:
        return _everything(connection, filters, limit, answers) if filters else []
    ranking = ranked.Ranking(connection, asked)
    hits = [_local(connection, *scored) for scored in ranking.local(filters, 2 * limit)[: 2 * limit + len(answers)]]
    for position, score, matched in ranking.remote(answers):
        hits.append(Hit(answers[position], None, score, matched, origin="remote"))
    hits.sort(key=lambda hit: (-hit.score, hit.resource["id"]))
    for hit in hits:
        hit.grade = "strong" if len(hit.matched) >= 0.6 * len(asked) else "weak"
    alike = semantic.nearest(connection, query, filters, 2 * limit, lanes)
    return _fused(connection, hits, alike)[:limit] if alike else hits[:limit]


def _fused(connection: Connection, hits: list[Hit], alike: list[tuple[int, float]]) -> list[Hit]:
    """Hits by words and by meaning in one order: reciprocal rank fusion (Cormack and others, 2009) with k = 60."""
    by_id = {hit.resource["id"]: hit for hit in hits}
    scores = {identity: 1 / (_FUSION + place) for place, identity in enumerate(by_id, 1)}
    for place, (number, _) in enumerate(alike, 1):
        identity = connection.execute("SELECT id FROM record WHERE number = ?", (number,)).fetchone()[0]
        if identity not in by_id:
            by_id[identity] = _local(connection, number, 0.0, [])
        scores[identity] = scores.get(identity, 0.0) + 1 / (_FUSION + place)
    for identity, hit in by_id.items():
        hit.score = float(f"{scores[identity]:.6g}")
    return sorted(by_id.values(), key=lambda hit: (-hit.score, hit.resource["id"]))


def _lexical(connection: Connection, query: str, filters: Filters, limit: int, answers: list[Resource]) -> list[Hit]:
    asked = lexical.terms(query)
    if not asked:
        return _everything(connection, filters, limit, answers) if filters else []
    hits = []
    for number in _lexical_numbers(connection, asked, filters, limit):
        hit = _local(connection, number, 0, [])
        hit.score, hit.matched = lexical.score(asked, hit.resource)
        hits.append(hit)
    for resource in answers:
        points, matched = lexical.score(asked, resource)
        hits.append(Hit(resource, None, points, matched, origin="remote"))
    hits = [hit for hit in hits if hit.score > 0]
    hits.sort(key=lambda hit: (-hit.score, hit.resource["id"]))
    for hit in hits:
        hit.grade = "strong" if len(hit.matched) >= 0.6 * len(asked) else "weak"
    return hits[:limit]


def _lexical_numbers(connection: Connection, asked: list[str], filters: Filters, limit: int) -> list[int]:
    """The numbers of the best records by the compatible rule; ties by id."""
    by_weight: dict[int, Counter[int]] = {}
    covered: Counter[int] = Counter()
    for term in asked:
        held: set[int] = set()
        for column, weight in LEXICAL_WEIGHTS.items():
            rows = connection.execute(
                "SELECT rowid FROM lexical WHERE lexical MATCH ?", (f"{column} : {lexical.phrase(term)}",)
            )
            numbers = list(chain.from_iterable(rows))
            by_weight.setdefault(weight, Counter()).update(numbers)
            held.update(numbers)
        covered.update(held)
    kept = [number for number, terms_held in covered.items() if terms_held / len(asked) >= lexical.COVERAGE]
    points = {number: sum(weight * counts[number] for weight, counts in by_weight.items()) for number in kept}
    clause, values = filters.sql()
    if clause:
        allowed = {row[0] for row in connection.execute(f"SELECT number FROM record r WHERE 1{clause}", values)}
        kept = [number for number in kept if number in allowed]
    if len(kept) > limit:
        least = heapq.nlargest(limit, (points[number] for number in kept))[-1]
        kept = [number for number in kept if points[number] >= least]
    identity = dict(_identities(connection, kept))
    return heapq.nsmallest(limit, identity, key=lambda number: (-points[number], identity[number]))


def _identities(connection: Connection, numbers: list[int]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for start in range(0, len(numbers), 10_000):
        chunk = ", ".join(map(str, numbers[start : start + 10_000]))
        found += connection.execute(f"SELECT number, id FROM record WHERE number IN ({chunk})").fetchall()
    return found
