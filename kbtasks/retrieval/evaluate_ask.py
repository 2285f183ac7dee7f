"""One question asked as a search asks it, answered as ids that judgments speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.index.search import SHIFT
from kbtasks.retrieval.confidence import answerable
from kbtasks.retrieval.evaluate import Answer
from kbtasks.retrieval.hybrid import rank
from kbtasks.retrieval.keyword import Keyword
from kbtasks.retrieval.query import parse
from kbtasks.retrieval.scratch import Scratch
from kbtasks.retrieval.semantic import open_lane

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbtasks.index.view import View
    from kbtasks.retrieval.evaluate_collection import Places
    from kbtasks.retrieval.hybrid import Ranked

MODES = ("keyword", "semantic", "hybrid")
#: Ids kept of each answer: Recall@100 needs no more.
_KEPT = 100
_SECONDS = 30.0


def asker(view: View, places: Places | None) -> Callable[[str, str], Answer]:
    """The function that asks ``view`` a question in a mode.

    places: which document stands where, for a collection whose documents are sections; None: judgments name notes by
    id.
    """

    pieces = view.connection.execute("SELECT count(*) FROM search_text").fetchone()[0]

    def ask(text: str, mode: str) -> Answer:
        from time import monotonic, perf_counter, process_time

        started, used = perf_counter(), process_time()
        scratch = Scratch()
        try:
            query = parse(text)
            keyword = Keyword(view.connection, scratch, query) if mode != "semantic" else None
            semantic = None
            if mode != "keyword":
                semantic = open_lane(view.connection, view.cache, query.text, deadline=monotonic() + _SECONDS)
            ranked = rank(keyword, semantic if semantic is not None and semantic.status != "unavailable" else None)
        finally:
            scratch.close()
        found = answerable(ranked, pieces)
        spent = (perf_counter() - started) * 1000, (process_time() - used) * 1000
        return Answer(_ids(view, ranked, places), found, [], *spent)

    return ask


def _ids(view: View, ranked: list[Ranked], places: Places | None) -> list[str]:
    """Ids of the documents that hold the ranked pieces, each once, at its best piece."""
    sql = f"""SELECT n.id, CAST(n.path AS BLOB), t.start_byte FROM search_text AS t
        JOIN note AS n ON n.rowid = t.id >> {SHIFT} WHERE t.id = ?"""
    found: dict[str, None] = {}
    for one in ranked:
        note, path, start = view.connection.execute(sql, (one.piece,)).fetchone()
        found.setdefault(places.document(bytes(path).decode("utf-8", "surrogateescape"), start) if places else note)
        if len(found) >= _KEPT:
            break
    return list(found)
