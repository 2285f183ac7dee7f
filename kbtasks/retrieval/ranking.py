"""The lanes of one search, run and joined into one order of notes."""

from __future__ import annotations

import os

from kbtasks.errors import KbError
from kbtasks.index.search import SHIFT
from kbtasks.retrieval.keyword import Keyword
from kbtasks.retrieval.lanes import Lane, within

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from sqlite3 import Connection

    from kbtasks.retrieval.keyword import Score
    from kbtasks.retrieval.query import Query
    from kbtasks.retrieval.request import Request
    from kbtasks.retrieval.scratch import Scratch
    from kbtasks.retrieval.semantic import Lane as Meaning

#: Seconds that a lane may take.
SECONDS = {"exact": 10.0, "keyword": 10.0, "semantic": 15.0, "graph": 5.0, "rerank": 8.0}


class Found:
    """A note on its way to being a hit: its best ``pieces``, ``score``, and what each lane knows.

    lanes: lane -> (rank, score). coverage: share of the query's words it holds, by rarity, 0 to 1. cosine, late: the semantic
    measures of its best piece, None without vectors. identity: the kind of name that the whole query is, or None.
    """

    __slots__ = (
        "cosine",
        "coverage",
        "fields",
        "identity",
        "lanes",
        "late",
        "match",
        "note",
        "pieces",
        "score",
        "terms",
        "weight",
    )

    def __init__(self, note: int) -> None:
        self.note = note
        self.score = 0.0
        self.pieces: list[int] = []
        self.lanes: dict[str, tuple[int, float]] = {}
        self.coverage = 0.0
        self.cosine: float | None = None
        self.late: float | None = None
        self.identity: str | None = None
        self.fields: set[str] = set()
        self.terms: list[str] = []
        self.match = "weak"
        self.weight: dict[str, float] = {}


class Ranking:
    """All candidates of one search in order, best first, with the lanes that found them. keyword: None in exact mode.

    pieces: ids of all candidate pieces, best first (several of one note may be among them).
    """

    def __init__(self) -> None:
        self.found: list[Found] = []
        self.pieces: list[int] = []
        self.lanes: list[Lane] = []
        self.keyword: Keyword | None = None
        self.meaning = False
        self.hint = ""
        self.values: dict[str, dict[int, float]] = {}
        self.total = 0


def exact(connection: Connection, query: Query, allowed: Collection[int] | None) -> Ranking:
    """Notes that hold every word and phrase, by rarity and place."""
    from kbtasks.retrieval import exact as lane_of

    ranking = Ranking()
    lane = Lane("exact", seconds=SECONDS["exact"])
    ranking.lanes.append(lane)
    matches = lane_of.find(connection, query, allowed, lane)
    ranking.values["exact"] = {match.note: match.score for match in matches}
    for match in matches:
        found = Found(match.note)
        found.score = match.score
        found.fields = match.fields
        found.terms = match.parts
        found.coverage = 1.0
        ranking.found.append(found)
    lane.done(len(matches))
    ranking.total = len(matches)
    return ranking


def ranked(
    connection: Connection, cache: str, query: Query, request: Request, allowed: Collection[int] | None, scratch: Scratch,
    named: Collection[int], near: dict[str, list[str]],
) -> Ranking:  # fmt: skip
    """Notes by the keyword and semantic lanes, as the mode says. named: notes to score whatever the lanes find."""
    ranking = Ranking()
    keyword = ranking.keyword = Keyword(connection, scratch, query, near=near)
    pieces: dict[int, None] = {}
    if request.mode != "semantic":
        lane = Lane("keyword", seconds=SECONDS["keyword"])
        ranking.lanes.append(lane)
        with within(lane, connection):
            pieces.update(dict.fromkeys(_enough(keyword, request, allowed)))
        lane.done(len(pieces))
    meaning = None
    if request.mode != "keyword":
        meaning = _meaning(connection, cache, query, request, ranking)
    by_meaning: list[tuple[int, float]] = []
    if meaning is not None:
        by_meaning = meaning.top(request.candidates, allowed)
        ranking.lanes[-1].done(len(by_meaning))
        pieces.update((piece, None) for piece, _ in by_meaning)
    pieces.update((note << SHIFT, None) for note in named)
    order = list(pieces)
    scores = keyword.score(order)
    _join(ranking, request, order, scores, meaning)
    return ranking


def _enough(keyword: Keyword, request: Request, allowed: Collection[int] | None) -> list[int]:
    """Candidate pieces; more of them where the first belong to too few notes."""
    from kbtasks.retrieval.request import MAX_CANDIDATES

    pieces = keyword.candidates(request.candidates, allowed)
    if len({piece >> SHIFT for piece in pieces}) < request.limit and len(pieces) >= request.candidates < MAX_CANDIDATES:
        pieces = keyword.candidates(MAX_CANDIDATES, allowed)
    return pieces


def _meaning(connection: Connection, cache: str, query: Query, request: Request, ranking: Ranking) -> Meaning | None:
    """The semantic lane, or None where it has nothing to say; a lane that was asked for and is missing is named."""
    wanted = request.mode in ("semantic", "hybrid")
    if not request.mode and not os.path.exists(os.path.join(cache, "vectors.bin")):
        ranking.hint = "by words alone: there are no vectors yet (kb refresh --only vectors, with the extra semantic)"
        return None
    from kbtasks.retrieval import semantic  # not cheap to load, and there are vectors to ask or the caller wants them

    lane = Lane("semantic", seconds=SECONDS["semantic"], wanted=wanted)
    ranking.lanes.append(lane)
    try:
        meaning = semantic.open_lane(connection, cache, query.text, deadline=lane.deadline)
    except KbError as error:
        lane.worsen("unavailable", error.message)
        lane.done(0)
        return None
    if meaning.status != "ready":
        lane.worsen(meaning.status, meaning.message)
    if meaning.status == "unavailable":
        lane.done(0)
        return None
    ranking.meaning = True
    return meaning


def _join(
    ranking: Ranking, request: Request, order: list[int], scores: dict[int, Score], meaning: Meaning | None
) -> None:
    """Fuse the scores of the pieces ``order`` and keep, for each note, its best pieces."""
    from kbtasks.retrieval import fusion

    lexical = [scores[piece].score for piece in order]
    cosine: list[float | None] = [None] * len(order)
    late: list[float | None] = [None] * len(order)
    fused = lexical
    if meaning is not None:
        measured = meaning.score(order)
        cosine, late = measured.cosine, measured.late
        known = late if any(value is not None for value in late) else None
        if request.mode == "semantic":
            kept = [at for at in range(len(order)) if cosine[at] is not None]
            order, lexical = [order[at] for at in kept], [0.0] * len(kept)
            cosine, late = [cosine[at] for at in kept], [late[at] for at in kept]
            known = late if known is not None else None
        fused = fusion.fuse(lexical, cosine, known)
    notes: dict[int, Found] = {}
    assert ranking.keyword is not None
    total = ranking.keyword.total or 1.0
    for at in sorted(range(len(order)), key=lambda at: (-fused[at], order[at])):
        piece = order[at]
        if meaning is None and not lexical[at] and not scores[piece].weight:
            continue
        ranking.pieces.append(piece)
        found = notes.get(piece >> SHIFT)
        if found is None:
            found = notes[piece >> SHIFT] = Found(piece >> SHIFT)
            found.score, found.cosine, found.late = fused[at], cosine[at], late[at]
        found.pieces.append(piece)
        score = scores[piece]
        for word, weight in score.weight.items():
            found.weight[word] = max(weight, found.weight.get(word, 0.0))
        found.fields |= score.fields
    for found in notes.values():
        found.coverage = min(1.0, sum(found.weight.values()) / total)
        found.terms = sorted(found.weight, key=lambda word: (-found.weight[word], word))
    ranking.found = list(notes.values())
    ranking.total = len(notes)
    ranking.values["keyword"] = _best(order, lexical)
    if meaning is not None:
        ranking.values["semantic"] = _best(order, cosine)


def _best(order: list[int], values: Sequence[float | None]) -> dict[int, float]:
    """The best positive value of each note's pieces."""
    best: dict[int, float] = {}
    for piece, value in zip(order, values, strict=True):
        if value is not None and value > 0:
            best[piece >> SHIFT] = max(value, best.get(piece >> SHIFT, 0.0))
    return best


def rank_lanes(ranking: Ranking, paths: dict[int, str]) -> None:
    """Give each note its rank in every lane that has it; equal values rank by path."""
    by_note = {found.note: found for found in ranking.found}
    for lane, values in ranking.values.items():
        order = sorted((note for note in values if note in by_note), key=lambda note: (-values[note], paths[note]))
        for rank, note in enumerate(order, 1):
            by_note[note].lanes[lane] = (rank, values[note])
