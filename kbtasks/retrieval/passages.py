"""The best passage of a note: one exact, contiguous piece of its body that holds most of what was asked, close together.

Cut at ends of lines and sentences; never front matter. Rare words weigh more than common ones, and words that stand near each
other more than words far apart.
"""

from __future__ import annotations

from unicodedata import normalize

from kbtasks.index import tokens
from kbtasks.index.search import SHIFT

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.retrieval.keyword import Keyword

#: Bytes of a passage: by default, at most.
DEFAULT_BYTES = 512
MAX_BYTES = 16 << 10
#: Pieces of one note that are looked at for its passage.
MAX_PIECES = 4
#: What ends sentences, and what may stand behind it: in text with spaces (only before a blank), in text without.
_STOPS, _CLOSERS = ".!?", "\"')]"
_FULL_STOPS, _FULL_CLOSERS = "。！？", "」』”’）"
_MAX_SEGMENTS = 4096
#: What a heading without text is behind the text of a later piece where neither holds a word of the query.
_BARE = 0.1


class Passage:
    """A passage: its ``text`` and place, the headings above, and ``marks``: (start, end) of what was asked, in characters."""

    __slots__ = ("clipped", "end_byte", "end_line", "headings", "line", "marks", "score", "start_byte", "text")

    def __init__(self, text: str, line: int, start_byte: int, end_byte: int) -> None:
        self.text = text
        self.line = line
        self.end_line = line + text.count("\n")
        self.start_byte = start_byte
        self.end_byte = end_byte
        self.headings: list[str] = []
        self.marks: list[tuple[int, int]] = []
        self.clipped = False
        self.score = 0.0

    def to_json(self) -> dict[str, Any]:
        """The passage as the result shows it."""
        return {
            "text": self.text,
            "line": self.line,
            "end_line": self.end_line,
            "start_byte": self.start_byte,
            "end_byte": self.end_byte,
            "headings": self.headings,
            "clipped": self.clipped,
        }


def best(
    connection: Connection,
    keyword: Keyword | None,
    pieces: Sequence[int],
    words: Sequence[str],
    encoding: str,
    limit: int,
) -> Passage | None:
    """The best passage of at most ``limit`` bytes among ``pieces`` (of one note, best first); None where they are empty.

    keyword: the lane that scored them, for stems and rarity; None looks for ``words`` (folded) only, as exact mode does.
    """
    chosen: Passage | None = None
    for rank, piece in enumerate(pieces[:MAX_PIECES]):
        row = connection.execute(
            "SELECT line, start_byte, end_byte, heading, body FROM search_text WHERE id = ?", (piece,)
        ).fetchone()
        if row is None or not row[4].strip():
            continue
        line, start_byte, end_byte, heading, body = row
        found = _window(body, _hits(keyword, piece, body, words), limit, encoding)
        passage = _cut(body, found, line, (start_byte, end_byte), encoding)
        passage.headings = [each for each in heading.split("\n") if each]
        if all(line.lstrip().startswith("#") or not line.strip() for line in passage.text.split("\n")):
            passage.score = passage.score * 0.5 - _BARE  # a heading alone says nothing
        passage.score -= 0.01 * rank
        if chosen is None or passage.score > chosen.score:
            chosen = passage
    return chosen


def first_pieces(connection: Connection, note: int) -> list[int]:
    """Ids of the first pieces of ``note`` that hold text, for a hit that no piece explains."""
    sql = "SELECT id FROM search_text WHERE id >= ? AND id < ? AND trim(body, ' \n\r\t') != '' ORDER BY id LIMIT 1"
    return [row for (row,) in connection.execute(sql, (note << SHIFT, (note + 1) << SHIFT))]


def _hits(keyword: Keyword | None, piece: int, body: str, words: Sequence[str]) -> list[tuple[int, int, str, float]]:
    """(start, end, what, weight) of everything in ``body`` that was asked, in order of place."""
    found: list[tuple[int, int, str, float]] = []
    if keyword is not None:
        for start, end in keyword.places(piece):
            word = tokens.fold(body[start:end])
            stem, weight = keyword.stem_weight(word)
            found.append((start, end, stem, weight))
        for gram in keyword.grams:
            found += _places(gram, body, keyword.rarity_of(gram))
    for word in words:
        if not found or " " in word or not word.isalnum():
            found += _places(word, body, 2.0)
    found.sort()
    return found


def _places(word: str, body: str, weight: float) -> list[tuple[int, int, str, float]]:
    """Where the folded ``word`` stands in ``body``; nothing where folding changes its length (places would be wrong)."""
    folded = body.lower() if body.isascii() else normalize("NFC", body).casefold()
    if len(folded) != len(body):
        folded = body.lower()
        if len(folded) != len(body):
            return []
    found: list[tuple[int, int, str, float]] = []
    at = folded.find(word)
    while at >= 0 and len(found) < 256:
        found.append((at, at + len(word), word, weight))
        at = folded.find(word, at + len(word))
    return found


def _segments(body: str, limit: int, encoding: str) -> list[tuple[int, int, int]]:
    """(start, end, bytes) of the sentences and lines of ``body``, none longer than ``limit`` bytes."""
    ends = _ends(body)
    if not ends or ends[-1] != len(body):
        ends.append(len(body))
    found: list[tuple[int, int, int]] = []
    start = 0
    for end in ends:
        while start < end and len(found) < _MAX_SEGMENTS:
            stop = end
            size = _size(body[start:stop], encoding)
            while size > limit:
                stop = start + max(1, (stop - start) * limit // (size + 1))
                space = max(body.rfind(" ", start + 1, stop), body.rfind("，", start + 1, stop))
                if space > start + (stop - start) // 2:
                    stop = space + 1
                size = _size(body[start:stop], encoding)
                if stop - start == 1:
                    break
            found.append((start, stop, size))
            start = stop
    return found


def _ends(body: str) -> list[int]:
    """Where the lines and sentences of ``body`` end: what follows them (line feeds, closing marks, blanks) is theirs."""
    places: list[int] = []
    for mark in "\n" + _STOPS + ("" if body.isascii() else _FULL_STOPS):
        at = body.find(mark)
        while at >= 0:
            places.append(at)
            at = body.find(mark, at + 1)
    places.sort()
    ends: list[int] = []
    end = 0
    for at in places:
        if at < end:
            continue
        mark = body[at]
        if mark == "\n":
            end = _past(body, at, mark)
        elif mark in _STOPS:
            close = _past(body, _past(body, at, _STOPS), _CLOSERS)
            blank = _past(body, close, " \t")
            if blank == close:
                continue
            end = blank
        else:
            end = _past(body, _past(body, at, _FULL_STOPS), _FULL_CLOSERS)
        ends.append(end)
    return ends


def _past(body: str, at: int, marks: str) -> int:
    """The first place from ``at`` on where none of ``marks`` stands."""
    size = len(body)
    while at < size and body[at] in marks:
        at += 1
    return at


def _size(text: str, encoding: str) -> int:
    if encoding == "latin-1" or (encoding == "utf-8" and text.isascii()):
        return len(text)
    return len(text.encode(encoding, "replace"))


def _window(
    body: str, hits: list[tuple[int, int, str, float]], limit: int, encoding: str
) -> tuple[int, int, float, list[tuple[int, int]]]:
    """(start, end, score, marks) of the best run of segments within ``limit`` bytes."""
    segments = _segments(body, limit, encoding)
    per: list[list[tuple[int, int, str, float]]] = [[] for _ in segments]
    at = 0
    for hit in hits:
        while at + 1 < len(segments) and hit[0] >= segments[at][1]:
            at += 1
        per[at].append(hit)
    best_score, best_range = -1.0, (0, 0)
    last = 0
    size = 0
    for first in range(len(segments)):
        if first:
            size -= segments[first - 1][2]
        last = max(last, first)
        size = max(size, 0) if last > first else 0
        while last < len(segments) and size + segments[last][2] <= limit:
            size += segments[last][2]
            last += 1
        if last == first:
            last = first + 1
            size = segments[first][2]
        if not per[first] and best_score >= 0:
            continue
        score = _worth([hit for segment in per[first:last] for hit in segment])
        if score > best_score + 1e-9:
            best_score, best_range = score, (first, last)
    first, last = best_range
    if not segments:
        return 0, 0, 0.0, []
    first = _room_before(segments, first, last, per, limit)
    start, end = segments[first][0], segments[last - 1][1]
    return start, end, best_score, [(a, b) for a, b, _, _ in hits if start <= a and b <= end]


def _room_before(
    segments: list[tuple[int, int, int]],
    first: int,
    last: int,
    per: list[list[tuple[int, int, str, float]]],
    limit: int,
) -> int:
    """Where a window that has room left may begin earlier: one segment of context, when it fits."""
    size = sum(segment[2] for segment in segments[first:last])
    if first and per[first] and size + segments[first - 1][2] <= limit:
        return first - 1
    return first


def _worth(hits: list[tuple[int, int, str, float]]) -> float:
    """Weight of the distinct words, a little for repeats, and up to half as much again for pairs that stand close together."""
    if not hits:
        return 0.0
    weight: dict[str, float] = {}
    repeats = near = 0.0
    before: tuple[int, int, str, float] | None = None
    for hit in hits:
        if hit[2] in weight:
            repeats += 0.05 * hit[3]
        else:
            weight[hit[2]] = hit[3]
        if before is not None and before[2] != hit[2]:
            near += min(before[3], hit[3]) / (1 + max(0, hit[0] - before[1]) / 8)
        before = hit
    total = sum(weight.values())
    return total + min(repeats, 0.2 * total) + min(0.3 * near, 0.3 * total)


def _cut(
    body: str, found: tuple[int, int, float, list[tuple[int, int]]], line: int, place: tuple[int, int], encoding: str
) -> Passage:
    start, end, score, marks = found
    while start < end and body[start].isspace():
        start += 1
    while end > start and body[end - 1].isspace():
        end -= 1
    text = body[start:end]
    # where bytes that are no text stand in it as U+FFFD, each of these is one byte of the file, not three
    unshown = encoding == "utf-8" and "�" in body and _size(body, encoding) > place[1] - place[0]
    before, size = (_size(part, encoding) - 2 * (part.count("�") if unshown else 0) for part in (body[:start], text))
    at = place[0] + before
    passage = Passage(text, line + body.count("\n", 0, start), at, at + size)
    passage.marks = [(max(a, start) - start, min(b, end) - start) for a, b in marks if b > start and a < end]
    passage.clipped = start > len(body) - len(body.lstrip()) or end < len(body.rstrip())
    passage.score = score
    return passage


def pieces_with(connection: Connection, note: int, parts: Sequence[str]) -> list[int]:
    """The pieces of ``note`` that hold most of ``parts`` (folded), best first; only those that hold any."""
    from kbtasks.retrieval.query import first_place

    ranked = []
    sql = "SELECT id, body FROM search_text WHERE id >= ? AND id < ? ORDER BY id"
    for piece, body in connection.execute(sql, (note << SHIFT, (note + 1) << SHIFT)):
        text = tokens.fold(body)
        held = sum(first_place(part, text, 0) is not None for part in parts)
        if held:
            ranked.append((-held, piece))
    ranked.sort()
    return [piece for _, piece in ranked]
