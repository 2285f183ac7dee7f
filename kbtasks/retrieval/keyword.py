"""The keyword lane: BM25 over pieces, with weights for where a word stands.

Candidates come from SQLite's own ranking; they are then scored exactly here, since SQLite fixes b at 0.75 and lets common words
weigh nothing:

    sum over stems of ln(1 + (N - n + 0.5) / (n + 0.5)) * tf * 2.2 / (tf + 1.2 * (0.6 + 0.4 * length / average))

(BM25 with k1 1.2, b 0.4; Robertson and Zaragoza, 2009), tf being the weighted count over the columns, N the pieces, n those that
hold the stem. Text in scripts without case is scored the same way over pairs of characters (b 0.75) and, at 0.4 of the weight,
over single characters, whose N and n are counted among the candidates; all are added.
"""

from __future__ import annotations

from math import log
from unicodedata import normalize

from kbtasks.index import tokens
from kbtasks.index.search import COLUMNS, SHIFT
from kbtasks.retrieval.terms import best_rows, document_count, json_list, quoted

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from sqlite3 import Connection

    from kbtasks.retrieval.query import Query
    from kbtasks.retrieval.scratch import Scratch

K1, B = 1.2, 0.4
GRAM_B = 0.75
#: How much one occurrence counts in each column of ``search``.
WEIGHTS = {
    "title": 3.0, "heading": 1.0, "body": 1.0, "words": 1.0, "alias": 3.0, "path": 1.5, "tags": 2.0, "meta": 0.5,
}  # fmt: skip
#: What a whole identifier of the query (``C++``, ``parser-v2``), its parts, and a whole hyphened word count, beside plain words.
IDENTIFIER, PART, HYPHENED = 2.0, 0.7, 0.3
#: What single characters of scripts without spaces count beside their pairs; their rarity is that among the candidates.
SINGLE = 0.4
#: The same for the title and the body of ``search_grams``.
GRAM_WEIGHTS = (3.0, 1.0)
#: Columns that only a note's first piece has: they count for each of its pieces.
_GRAM_COLUMNS = ("title", "heading", "body", "alias", "path", "tags", "meta")
_OF_NOTE = frozenset(("alias", "path", "tags", "meta"))
_RANK = f"bm25({', '.join(str(WEIGHTS[column]) for column in COLUMNS)})"
_GRAM_RANK = f"bm25({GRAM_WEIGHTS[0]}, {GRAM_WEIGHTS[1]})"


class Score:
    """What the lane knows of a piece: ``score``, and what met it: ``weight`` per query word, the ``fields`` it stands in."""

    __slots__ = ("fields", "score", "weight")

    def __init__(self) -> None:
        self.score = 0.0
        self.weight: dict[str, float] = {}
        self.fields: set[str] = set()


class Keyword:
    """The lane for one query.

    total: the sum of the weights (inverse document frequencies) of the query's words. words: what it asks, by stem or gram.
    """

    def __init__(
        self, connection: Connection, scratch: Scratch, query: Query, *, near: dict[str, list[str]] | None = None
    ) -> None:
        """Read the statistics of the query's words. near: words spelled alike that also count, at half weight (``--fuzzy``)."""
        self._connection = connection
        self._scratch = scratch
        self._loaded: set[int] = set()
        self._rows, self._average = _statistics(connection)
        self._stem_word: dict[str, str] = {}
        self._grams: dict[str, str] = {}
        self._singles: dict[str, None] = {}
        self._factor: dict[str, float] = {}
        self._prefix: set[str] = set()
        self._names: list[str] = []
        words = query.all_words
        for word in words:
            self._take(word, 1.0, stop=False)
        if not self._stem_word and not self._grams:  # all of it is stop words: then they are what is asked
            for word in words:
                self._take(word, 1.0, stop=True)
        for word, others in (near or {}).items():
            for other in others:
                self._take(other, 0.5, stop=True, under=word)
        self._phrases = [quoted(" ".join(tokens.pieces(phrase))) for phrase in query.phrases if tokens.pieces(phrase)]
        self._idf = {stem: self._rarity("search_row", stem) for stem in self._stem_word}
        self._gram_idf = {gram: self._rarity("search_grams_row", gram) for gram in self._grams}
        self.total = sum(self._idf.values()) + sum(self._gram_idf.values())

    def _take(self, word: str, factor: float, *, stop: bool, under: str = "") -> None:
        """Note the stems and grams of ``word``; of stop words only where ``stop``."""
        asked = under or word
        if tokens.is_unspaced(word):
            grams = tokens.grams(word).split()
            if len(word) == 1:
                self._prefix.add(word)
            else:
                self._singles.update(dict.fromkeys(normalize("NFC", word)))
            for gram in grams if len(word) == 1 else grams[:-1]:
                self._grams.setdefault(gram, asked)
            return
        uncased = tokens.grams(word)
        for gram in uncased.split():
            self._grams.setdefault(gram, asked)
        plain = [piece for piece in tokens.pieces(word) if stop or piece not in tokens.STOP_WORDS]
        name = tokens.whole(word)
        strong = bool(name) and not name.replace("-", "").isalpha()  # an identifier, not a hyphened word of prose
        plain += [stripped for piece in plain if (stripped := tokens.bare(piece)) != piece]
        for stem in self._scratch.stems(plain):
            if stem and stem not in self._stem_word:
                self._stem_word[stem] = asked
                self._factor[stem] = factor * (PART if strong else 1.0)
        for stem in self._scratch.stems([tokens.coded(name)] if name else []):
            self._stem_word[stem] = asked
            self._factor[stem] = factor * (IDENTIFIER if strong else HYPHENED)
            if strong:
                self._names.append(stem)

    def _rarity(self, table: str, term: str) -> float:
        held = document_count(self._connection, table, term)
        return log(1 + (self._rows - held + 0.5) / (held + 0.5)) if self._rows else 0.0

    @property
    def rows(self) -> int:
        """Pieces in the whole vault."""
        return self._rows

    @property
    def expression(self) -> str:
        """What ``search`` is asked, as an FTS5 expression; '' where nothing."""
        return " OR ".join([*map(quoted, self._stem_word), *self._phrases])

    @property
    def _gram_expression(self) -> str:
        return " OR ".join(quoted(gram) + (" *" if gram in self._prefix else "") for gram in self._grams)

    @property
    def empty(self) -> bool:
        """Whether the query holds nothing that this lane could look for."""
        return not self._stem_word and not self._grams

    def candidates(self, limit: int, allowed: Collection[int] | None) -> list[int]:
        """Ids of at most ``limit`` pieces from each table, SQLite's best first; only of notes in ``allowed``."""
        found: dict[int, None] = {}
        asked = [("search", _RANK, self.expression), ("search_grams", _GRAM_RANK, self._gram_expression)]
        if self._names:  # rare and telling, but outweighed by their common parts in SQLite's ranking
            asked.insert(0, ("search", _RANK, " OR ".join(map(quoted, self._names))))
        for table, rank, expression in asked:
            if not expression:
                continue
            rows = best_rows(self._connection, table, rank, expression, limit, allowed)
            found.update((row, None) for row in rows)
        return list(found)

    def score(self, pieces: Iterable[int]) -> dict[int, Score]:
        """The Score of each of ``pieces``, computed exactly; 0 for one that holds none of the words."""
        wanted = list(dict.fromkeys(pieces))
        found = {piece: Score() for piece in wanted}
        if self._stem_word and wanted:
            self._score_stems(wanted, found)
        if self._grams and wanted:
            self._score_grams(wanted, found)
        return found

    def _score_stems(self, wanted: list[int], found: dict[int, Score]) -> None:
        self._load({*wanted, *(piece >> SHIFT << SHIFT for piece in wanted)})
        counts = self._scratch.counts(list(self._stem_word))
        lengths = self._lengths(wanted)
        for piece in wanted:
            own = counts.get(piece, {})
            first = counts.get(piece >> SHIFT << SHIFT, {})
            norm = K1 * (1 - B + B * lengths.get(piece, 0) / self._average)
            result = found[piece]
            for stem, word in self._stem_word.items():
                tf = 0.0
                columns = own.get(stem, {})
                for column, count in columns.items():
                    if column not in _OF_NOTE:
                        tf += WEIGHTS[column] * count
                        result.fields.add(column)
                for column, count in first.get(stem, {}).items():
                    if column in _OF_NOTE:
                        tf += WEIGHTS[column] * count
                        result.fields.add(column)
                if tf:
                    part = self._idf[stem] * self._factor[stem]
                    result.score += part * tf * (K1 + 1) / (tf + norm)
                    result.weight[word] = result.weight.get(word, 0.0) + part

    def _score_grams(self, wanted: list[int], found: dict[int, Score]) -> None:
        """Add BM25 over grams: they are counted in the text itself, which is quick for the few candidates."""
        lengths = self._lengths(wanted)
        sql = f"SELECT id, {', '.join(_GRAM_COLUMNS)} FROM search_text WHERE id IN (SELECT value FROM json_each(?))"
        singles: dict[int, dict[str, float]] = {}
        norms: dict[int, float] = {}
        for piece, *texts in self._connection.execute(sql, (json_list(wanted),)):
            result = found[piece]
            norm = K1 * (1 - GRAM_B + GRAM_B * lengths.get(piece, 0) / self._average)
            columns = [
                (name, normalize("NFC", text))
                for name, text in zip(_GRAM_COLUMNS, texts, strict=True)
                if not text.isascii()
            ]
            for gram, word in self._grams.items():
                tf = 0.0
                for name, text in columns:
                    count = text.count(gram)
                    if count:
                        tf += WEIGHTS[name] * count
                        result.fields.add(name)
                if tf:
                    part = self._gram_idf[gram]
                    result.score += part * tf * (K1 + 1) / (tf + norm)
                    result.weight[word] = result.weight.get(word, 0.0) + part
            norms[piece] = norm
            counts = ((char, sum(WEIGHTS[name] * text.count(char) for name, text in columns)) for char in self._singles)
            singles[piece] = {char: tf for char, tf in counts if tf}
        for char in self._singles:
            held = sum(char in counted for counted in singles.values())
            part = SINGLE * log(1 + (len(singles) - held + 0.5) / (held + 0.5))
            for piece, counted in singles.items():
                if tf := counted.get(char, 0.0):
                    found[piece].score += part * tf * (K1 + 1) / (tf + norms[piece])

    def _load(self, pieces: set[int]) -> None:
        new = pieces - self._loaded
        if not new:
            return
        sql = f"SELECT id, {', '.join(COLUMNS)} FROM search_text WHERE id IN (SELECT value FROM json_each(?))"
        rows = self._connection.execute(sql, (json_list(sorted(new)),))
        self._scratch.load(
            [(row, *[text if text.isascii() else tokens.spaced(text) for text in texts]) for row, *texts in rows]
        )
        self._loaded |= new

    def _lengths(self, pieces: Sequence[int]) -> dict[int, int]:
        """Tokens in title and body of each piece, as FTS5 keeps them (a varint per column in its table ``docsize``)."""
        found = dict.fromkeys(pieces, 0)
        asked = json_list(pieces)
        for table, columns in (("search", (0, 2)), ("search_grams", (0, 1))):
            sql = f"SELECT id, sz FROM {table}_docsize WHERE id IN (SELECT value FROM json_each(?))"
            for piece, size in self._connection.execute(sql, (asked,)):
                numbers = _varints(size)
                found[piece] += sum(numbers[column] for column in columns)
        return found

    def places(self, piece: int) -> list[tuple[int, int]]:
        """(start, end) in characters of what the query's stems match in the body of ``piece``, in order."""
        if not self._stem_word:
            return []
        self._load({piece})
        return self._scratch.places(piece, self.expression)

    def stem_weight(self, word: str) -> tuple[str, float]:
        """(stem, rarity) of a folded ``word`` of the text; rarity 0 where its stem is not asked."""
        stem = self._scratch.stems([word])[0]
        return stem, self._idf.get(stem, 0.0)

    def rarity_of(self, gram: str) -> float:
        """How much a gram of the query weighs."""
        return self._gram_idf.get(gram, 0.0)

    @property
    def grams(self) -> list[str]:
        """The grams that the query asks for."""
        return list(self._grams)


def _statistics(connection: Connection) -> tuple[int, float]:
    """(pieces, average tokens of title and body), from the totals that FTS5 keeps in row 1 of its table ``data``."""
    rows, total = 0, 0
    for table, columns in (("search", (1, 3)), ("search_grams", (1, 2))):
        row = connection.execute(f"SELECT block FROM {table}_data WHERE id = 1").fetchone()
        numbers = _varints(row[0]) if row and row[0] else []
        if len(numbers) > columns[1]:
            rows = max(rows, numbers[0])
            total += sum(numbers[column] for column in columns)
    return rows, max(1.0, total / rows) if rows else 1.0


def _varints(data: bytes) -> list[int]:
    """SQLite's variable-length integers: seven bits a byte, most significant first, eight in a ninth byte."""
    found: list[int] = []
    value = length = 0
    for byte in data:
        length += 1
        if length == 9:
            found.append(value << 8 | byte)
            value = length = 0
            continue
        value = value << 7 | (byte & 0x7F)
        if byte < 0x80:
            found.append(value)
            value = length = 0
    return found
