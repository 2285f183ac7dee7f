"""What a search is asked, checked once: mode, bounds, filters and wishes."""

from __future__ import annotations

from kbtasks.errors import UsageError
from kbtasks.retrieval.filters import Filters
from kbtasks.retrieval.passages import DEFAULT_BYTES, MAX_BYTES

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODES = ("exact", "keyword", "semantic", "hybrid")
GRADES = ("weak", "strong", "identity")
MAX_HITS = 100
MAX_CANDIDATES = 500
MAX_RELATED = 5


class Request:
    """One search.

    query: the text. mode: of MODES; ``""`` is hybrid where there are vectors and keyword where not, without complaint.
    limit: hits, 1 to 100. candidates: pieces a lane may propose, limit to 500; 0 for max(100, 4 * limit). excluded: ``--not``.
    min_match: lowest grade that is returned, ``""`` for all. passage_bytes: 64 to 16384; 0 for no passages.
    current: leave out notes that are not current; prefer_current: put them after the others. repository: where declared
    code paths are looked for. fuzzy: words spelled alike count too. related: row ids of notes whose neighbours are wanted.
    graph: show the neighbours of the first hits. rerank: the environment for the
    reranker of kb.toml; None leaves it out.
    """

    def __init__(
        self,
        query: str,
        *,
        mode: str = "",
        limit: int = 10,
        candidates: int = 0,
        excluded: Sequence[str] = (),
        filters: Filters | None = None,
        min_match: str = "",
        passage_bytes: int = DEFAULT_BYTES,
        current: bool = False,
        prefer_current: bool = False,
        repository: str | None = None,
        fuzzy: bool = False,
        related: Sequence[int] = (),
        graph: bool = True,
        rerank: Mapping[str, str] | None = None,
    ) -> None:
        """Check the bounds; UsageError says which is broken and what is allowed."""
        if mode and mode not in MODES:
            raise UsageError(message=f"--mode takes one of {', '.join(MODES)}, not {mode!r}")
        if min_match and min_match not in GRADES:
            raise UsageError(message=f"--min-match takes one of {', '.join(GRADES)}, not {min_match!r}")
        if not 1 <= limit <= MAX_HITS:
            raise UsageError(message=f"--limit takes 1 to {MAX_HITS}, not {limit}")
        if candidates and not limit <= candidates <= MAX_CANDIDATES:
            raise UsageError(message=f"--candidates takes the limit ({limit}) to {MAX_CANDIDATES}, not {candidates}")
        if passage_bytes and not 64 <= passage_bytes <= MAX_BYTES:
            raise UsageError(message=f"--passage-bytes takes 64 to {MAX_BYTES}, or 0 for none, not {passage_bytes}")
        if len(related) > MAX_RELATED:
            raise UsageError(message=f"--related may be given at most {MAX_RELATED} times")
        self.query = query
        self.mode = mode
        self.limit = limit
        self.candidates = candidates or min(MAX_CANDIDATES, max(100, 4 * limit))
        self.excluded = excluded
        self.filters = filters or Filters()
        self.min_match = min_match
        self.passage_bytes = passage_bytes
        self.current = current
        self.prefer_current = prefer_current
        self.repository = repository
        self.fuzzy = fuzzy
        self.related = list(related)
        self.graph = graph
        self.rerank = rerank
