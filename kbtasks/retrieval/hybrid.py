"""Pieces ranked by words and meaning together.

Candidates are the best pieces of each lane; every candidate is then scored exactly by all lanes, and the scores are fused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.retrieval.fusion import fuse, standard

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kbtasks.retrieval.keyword import Keyword, Score
    from kbtasks.retrieval.semantic import Lane

#: Candidates asked of each lane. Twice as many or half change nothing on the development collections.
CANDIDATES = 100


class Ranked:
    """A piece with its ``score`` (orders one list only) and what it is made of.

    lexical: BM25. cosine, late: of the semantic lane, None where the piece has no vectors or the lane was not asked.
    coverage: share of the query's words, weighted by rarity, that the piece holds. words: the keyword lane's Score.
    """

    __slots__ = ("cosine", "coverage", "late", "lexical", "piece", "score", "words")

    def __init__(
        self, piece: int, words: Score | None, coverage: float, cosine: float | None, late: float | None
    ) -> None:
        self.piece = piece
        self.words = words
        self.lexical = words.score if words else 0.0
        self.coverage = coverage
        self.cosine = cosine
        self.late = late
        self.score = 0.0


def rank(
    keyword: Keyword | None,
    semantic: Lane | None,
    *,
    candidates: int = CANDIDATES,
    allowed: Collection[int] | None = None,
) -> list[Ranked]:
    """All candidates, best first; ties by piece id are the caller's to break by path.

    keyword: None for the semantic mode. semantic: None where there are no vectors or only words are asked.
    candidates: of each lane, at most 500. allowed: row ids of the notes that may be found; None for all.
    """
    pieces: dict[int, None] = {}
    if keyword is not None:
        pieces.update(dict.fromkeys(keyword.candidates(candidates, allowed)))
    if semantic is not None:
        pieces.update((piece, None) for piece, _ in semantic.top(candidates, allowed))
    ids = list(pieces)
    scores = keyword.score(ids) if keyword is not None else {}
    total = keyword.total if keyword is not None else 0.0
    meant = semantic.score(ids) if semantic is not None else None
    found = []
    for number, piece in enumerate(ids):
        words = scores.get(piece)
        coverage = min(1.0, sum(words.weight.values()) / total) if words and total > 0 else 0.0
        cosine = meant.cosine[number] if meant else None
        late = meant.late[number] if meant else None
        found.append(Ranked(piece, words, coverage, cosine, late))
    for one, score in zip(found, _fused(found, keyword is not None, semantic is not None), strict=True):
        one.score = score
    return sorted(found, key=lambda one: (-one.score, one.piece))


def _fused(found: Sequence[Ranked], by_words: bool, by_meaning: bool) -> list[float]:
    lexical = [one.lexical for one in found]
    if not by_meaning:
        return lexical
    cosine = [one.cosine for one in found]
    late = [one.late for one in found]
    known = any(value is not None for value in late)
    if by_words:
        return fuse(lexical, cosine, late if known else None)
    pairs = zip(standard(cosine), standard(late), strict=True)
    return [0.3 * pooled + 0.4 * token for pooled, token in pairs]
