"""A search from its request to its hits: filters, lanes, identity, grades, passages, and what was left out."""

from __future__ import annotations

from time import monotonic

from kbtasks.index import tokens
from kbtasks.retrieval import filters as filtering
from kbtasks.retrieval import grades, identity, passages, query, ranking
from kbtasks.retrieval.terms import has_unknown_word, json_list, rarest

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.index.view import View
    from kbtasks.retrieval.query import Query
    from kbtasks.retrieval.ranking import Found, Ranking
    from kbtasks.retrieval.request import Request


class Hit:
    """One hit: the note's row, its Found, its passage and currency; ``rank`` from 1."""

    __slots__ = ("_tags", "currency", "found", "id", "passage", "path", "rank", "revision", "status", "title", "type")

    def __init__(self, found: Found, row: tuple[Any, ...]) -> None:
        self.found = found
        self.path, self.id, self.title, self.revision, self.type, self.status, self._tags = row
        self.rank = 0
        self.passage: passages.Passage | None = None
        self.currency: Any = None

    @property
    def tags(self) -> list[str]:
        """The note's tags."""
        if self._tags == "[]":
            return []
        if "\\" not in self._tags:  # nothing escaped, so no quotes but those around each tag; json is not cheap to load
            return self._tags[2:-2].split('","')  # type: ignore[no-any-return]
        import json

        found: list[str] = json.loads(self._tags)
        return found

    def to_json(self) -> dict[str, Any]:
        """The hit as the result shows it."""
        found = self.found
        passage = (
            self.passage.to_json() | {"marks": [list(mark) for mark in self.passage.marks]} if self.passage else None
        )
        return {
            "rank": self.rank,
            "id": self.id,
            "path": self.path,
            "title": self.title,
            "revision": self.revision,
            "type": self.type,
            "status": self.status,
            "tags": self.tags[:32],
            "match": found.match,
            "identity": found.identity,
            "score": round(found.score, 4),
            "lanes": {
                name: {"rank": rank, "score": round(score, 4)} for name, (rank, score) in sorted(found.lanes.items())
            },
            "fields": sorted(found.fields),
            "terms": found.terms[:64],
            "coverage": round(found.coverage, 3),
            "passage": passage,
            "currency": self.currency.to_json() if self.currency else None,
        }


class Answer:
    """What a search found. ``answerable``: whether any of it is likely to answer; ``notes``: sentences for a person."""

    def __init__(self, asked: Query, mode: str) -> None:
        self.query = asked
        self.mode = mode
        self.hits: list[Hit] = []
        self.total = 0
        self.truncated = False
        self.answerable = False
        self.lanes: list[Any] = []
        self.notes: list[str] = []
        self.suggestions: list[dict[str, Any]] = []
        self.graph: dict[str, Any] | None = None
        self.milliseconds = 0.0

    @property
    def partial(self) -> bool:
        """Whether something that was asked for is missing."""
        return any(lane.partial for lane in self.lanes)

    def to_json(self) -> dict[str, Any]:
        """The result document, without its schema name."""
        return {
            "query": self.query.text,
            "mode": self.mode,
            "hits": [hit.to_json() for hit in self.hits],
            "total": self.total,
            "truncated": self.truncated,
            "answerable": self.answerable,
            "partial": self.partial,
            "lanes": [lane.to_json() for lane in self.lanes],
            "suggestions": self.suggestions,
            "graph": self.graph,
            "notes": self.notes,
            "milliseconds": round(self.milliseconds, 1),
        }


def search(view: View, request: Request) -> Answer:
    """Answer ``request`` for the vault of ``view`` as it is now. UsageError where the query is empty."""
    from kbtasks.retrieval.scratch import Scratch

    started = monotonic()
    connection = view.connection
    asked = query.parse(request.query, request.excluded)
    scratch = Scratch()
    try:
        _shorten(connection, scratch, asked, request)
        allowed = _allowed(connection, asked, request)
        near = _near(connection, scratch, asked, request)
        named = identity.find(connection, asked, allowed)
        if request.mode == "exact" or asked.literal:
            found = ranking.exact(connection, asked, allowed)
            _add_named(found, named)
        else:
            found = ranking.ranked(connection, view.cache, asked, request, allowed, scratch, named, near)
        answer = Answer(asked, _mode_of(request, asked, found))
        answer.lanes = found.lanes
        _assemble(view, request, answer, found, named)
        named_first = bool(answer.hits and answer.hits[0].found.identity)
        if (
            not answer.hits
            or not answer.answerable
            or (not named_first and has_unknown_word(connection, scratch, asked.all_words))
        ):
            from kbtasks.retrieval.suggest import suggestions

            answer.suggestions = suggestions(connection, scratch, asked)
    finally:
        scratch.close()
    _explain(answer, request, found)
    if request.graph and (answer.hits or request.related):
        from kbtasks.retrieval.neighbours import neighbours

        answer.graph, lane = neighbours(connection, request.related, [hit.found.note for hit in answer.hits], allowed)
        answer.lanes.append(lane)
    answer.milliseconds = (monotonic() - started) * 1000
    return answer


def _shorten(connection: Connection, scratch: Any, asked: Query, request: Request) -> None:
    """Keep the rarest words of a query that has too many."""
    count = len(asked.parts)
    if count <= query.MAX_WORDS:
        return
    keep = request.mode == "exact"
    asked.phrases = asked.phrases[: query.MAX_WORDS // 2]
    asked.words = rarest(connection, scratch, asked.words, query.MAX_WORDS - len(asked.phrases), keep_unknown=keep)
    asked.notes.append(f"the query has {count} different words; the {len(asked.parts)} rarest were looked for")


def _allowed(connection: Connection, asked: Query, request: Request) -> set[int] | None:
    """Row ids of the notes that may be hits; None where all may."""
    allowed = filtering.eligible(connection, request.filters)
    if request.current:
        from kbtasks.retrieval.currency import judge

        known = judge(connection, allowed, request.repository)
        allowed = {note for note, currency in known.items() if currency.state == "current"}
    if asked.excluded:
        from kbtasks.retrieval.exact import holding

        if allowed is None:
            allowed = {row[0] for row in connection.execute("SELECT rowid FROM note")}
        for part in asked.excluded:
            allowed = allowed - holding(connection, part, allowed)
    return allowed


def _near(connection: Connection, scratch: Any, asked: Query, request: Request) -> dict[str, list[str]]:
    if not request.fuzzy or request.mode == "exact":
        return {}
    from kbtasks.retrieval.suggest import near_words

    return near_words(connection, scratch, asked.all_words)


def _add_named(found: Ranking, named: dict[int, str]) -> None:
    """Notes that the query names, though it does not occur in them word for word (an ID without its suffix, say)."""
    held = {each.note for each in found.found}
    for note in named:
        if note not in held:
            extra = ranking.Found(note)
            extra.coverage = 1.0
            found.found.append(extra)
            found.total += 1


def _mode_of(request: Request, asked: Query, found: Ranking) -> str:
    if asked.literal or request.mode == "exact":
        return "exact"
    if request.mode:
        return request.mode
    return "hybrid" if found.meaning else "keyword"


def _assemble(view: View, request: Request, answer: Answer, found: Ranking, named: dict[int, str]) -> None:
    """Order, grade and cut the candidates; make the hits."""
    connection = view.connection
    paths = dict(
        connection.execute(
            "SELECT rowid, path FROM note WHERE rowid IN (SELECT value FROM json_each(?))",
            (json_list(each.note for each in found.found),),
        )
    )
    ranking.rank_lanes(found, paths)
    for each in found.found:
        kind = named.get(each.note)
        if kind != "tag" or answer.mode == "exact":
            each.identity = kind
    found.found.sort(key=lambda each: (_identity_rank(each), -each.score, paths[each.note]))
    answer.answerable = grades.grade(
        found.found,
        exact=answer.mode == "exact",
        pieces=found.keyword.rows if found.keyword else 0,
        unspaced=tokens.unspaced_share(answer.query.text) > 0.5,
    )
    kept = grades.at_least(found.found, request.min_match)
    if not answer.answerable and not request.min_match and answer.mode == "hybrid":
        kept = _without_meaning_only(answer, kept)
    answer.total = len(kept)
    if request.current or request.prefer_current:
        kept = _prefer(connection, request, kept)
    if request.rerank is not None:
        kept = _rerank(view, request, answer, kept)
    chosen = kept[: request.limit]
    answer.truncated = len(kept) > len(chosen)
    answer.hits = _hits(connection, request, answer, found, chosen)


def _without_meaning_only(answer: Answer, kept: list[Found]) -> list[Found]:
    """Where nothing answers, only the notes that share a word with the query; how many others there were is said."""
    worded = [each for each in kept if each.coverage or each.identity]
    if len(worded) < len(kept):
        left = len(kept) - len(worded)
        answer.query.notes.append(f"{left} notes near in meaning only are left out (--min-match weak)")
    return worded


def _identity_rank(each: Found) -> int:
    return identity.KINDS.index(each.identity) if each.identity else len(identity.KINDS)


def _prefer(connection: Connection, request: Request, kept: list[Found]) -> list[Found]:
    """Current notes first, the order otherwise unchanged."""
    from kbtasks.retrieval.currency import judge

    known = judge(connection, [each.note for each in kept], request.repository)
    return sorted(kept, key=lambda each: known[each.note].state != "current")


def _rerank(view: View, request: Request, answer: Answer, kept: list[Found]) -> list[Found]:
    from kbtasks.retrieval.rerank import rerank

    assert request.rerank is not None
    order, lane = rerank(view, answer.query.text, [(each.note, each.pieces[:1]) for each in kept], request.rerank)
    answer.lanes.append(lane)
    by_note = {each.note: each for each in kept}
    named = [each for each in kept if each.identity]
    return named + [by_note[note] for note in order if not by_note[note].identity]


def _hits(connection: Connection, request: Request, answer: Answer, found: Ranking, chosen: list[Found]) -> list[Hit]:
    from kbtasks.retrieval.currency import judge

    sql = """SELECT rowid, encoding, path, id, title, revision, type, status, tags FROM note
        WHERE rowid IN (SELECT value FROM json_each(?))"""
    rows = {row[0]: row[1:] for row in connection.execute(sql, (json_list(each.note for each in chosen),))}
    currency = judge(connection, [each.note for each in chosen], request.repository)
    hits = []
    for rank, each in enumerate(chosen, 1):
        encoding, *row = rows[each.note]
        hit = Hit(each, tuple(row))
        hit.rank = rank
        hit.currency = currency.get(each.note)
        if request.passage_bytes:
            pieces = each.pieces
            if answer.mode == "exact":
                pieces = passages.pieces_with(connection, each.note, answer.query.parts)
            words = answer.query.parts if answer.mode == "exact" else answer.query.phrases
            hit.passage = passages.best(connection, found.keyword, pieces, words, encoding, request.passage_bytes)
            if hit.passage is None:
                first = passages.first_pieces(connection, each.note)
                hit.passage = passages.best(connection, found.keyword, first, words, encoding, request.passage_bytes)
        hits.append(hit)
    return hits


def _explain(answer: Answer, request: Request, found: Ranking) -> None:
    """Sentences about what was cut, missing or doubtful."""
    answer.notes = list(answer.query.notes)
    asked = answer.query
    if asked.literal:
        words = "there is no word in the query; it was looked for as it stands"
        answer.notes.append(words if asked.parts else "there is nothing to look for in the query")
    elif found.keyword is not None and found.keyword.empty and not answer.hits:
        answer.notes.append("there is no word in the query to look for")
    for lane in answer.lanes:
        if lane.status != "ready" and lane.message:
            answer.notes.append(f"{lane.name} search is {lane.status}: {lane.message}")
    if found.hint:
        answer.notes.append(found.hint)
    if request.mode == "hybrid" and not found.meaning and answer.mode != "exact":
        answer.notes.append("answered by keyword alone")
    if answer.hits and not answer.answerable:
        answer.notes.append("nothing here is likely to answer this")
