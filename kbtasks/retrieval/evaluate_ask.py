"""One question asked as a search asks it, answered as ids that judgments speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.index import tokens
from kbtasks.index.search import SHIFT
from kbtasks.retrieval import confidence, ranking
from kbtasks.retrieval.evaluate import Answer
from kbtasks.retrieval.query import parse
from kbtasks.retrieval.request import Request
from kbtasks.retrieval.scratch import Scratch
from kbtasks.retrieval.search import search

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbtasks.index.view import View
    from kbtasks.retrieval.evaluate_collection import Places

#: Ids kept of each answer: Recall@100 needs no more.
_KEPT = 100


def asker(view: View, places: Places | None, *, passages: bool) -> Callable[[str, str], Answer]:
    """The function that asks ``view`` a question in a mode, as a search does.

    places: which document stands where, for a collection; None: judgments name notes by id. passages: show those of the
    first ten hits (only without ``places``).
    """

    def ask(text: str, mode: str) -> Answer:
        from time import perf_counter, process_time

        started, used = perf_counter(), process_time()
        if places is not None and places.grouped:
            ids, found = _sections(view, text, mode, places)
            shown = []
        else:
            request = Request(
                text,
                mode=mode,
                limit=_KEPT,
                candidates=_KEPT,
                passage_bytes=512 if passages else 0,
                graph=False,
                min_match="weak",
            )
            answer = search(view, request)
            ids = [places.document(hit.path, 0) if places is not None else hit.id for hit in answer.hits]
            found = answer.answerable
            shown = [hit.passage.text if hit.passage else "" for hit in answer.hits[:10]]
        spent = (perf_counter() - started) * 1000, (process_time() - used) * 1000
        return Answer(ids, found, shown, *spent)

    return ask


def _sections(view: View, text: str, mode: str, places: Places) -> tuple[list[str], bool]:
    """Documents that are sections of files, ranked by the same lanes, one by one instead of a file at a time."""
    scratch = Scratch()
    try:
        asked = parse(text)
        request = Request(text, mode=mode, limit=_KEPT, candidates=_KEPT)
        found = ranking.ranked(view.connection, view.cache, asked, request, None, scratch, (), {})
    finally:
        scratch.close()
    sql = f"""SELECT CAST(n.path AS BLOB), t.start_byte FROM search_text AS t
        JOIN note AS n ON n.rowid = t.id >> {SHIFT} WHERE t.id = ?"""
    ids: dict[str, None] = {}
    for piece in found.pieces:
        path, start = view.connection.execute(sql, (piece,)).fetchone()
        ids.setdefault(places.document(bytes(path).decode("utf-8", "surrogateescape"), start))
        if len(ids) >= _KEPT:
            break
    unspaced = tokens.unspaced_share(text) > 0.5
    pieces = found.keyword.rows if found.keyword else 0
    return list(ids), confidence.answerable(found.found, pieces, unspaced=unspaced)
