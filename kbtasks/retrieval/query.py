"""A query: plain words and ``"quoted phrases"``. Nothing a person pastes is ever a syntax error.

Only balanced double quotes mean anything; a dash, a colon, AND or a star is text. A query without any letter or digit is
taken as it stands (``literal``): each run of symbols must occur as written.
"""

from __future__ import annotations

from kbtasks.errors import UsageError
from kbtasks.index import tokens

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Longest query in bytes, and most distinct words, that are looked at; the rest is cut and said so.
MAX_BYTES = 16 << 10
MAX_WORDS = 64
MAX_EXCLUDED = 64


class Query:
    """A parsed query.

    text: as asked, without surrounding space, at most MAX_BYTES. words: distinct folded words outside quotes, in order.
    phrases: folded phrases, runs of white space as one space. excluded: folded words or phrases that a hit must not hold.
    literal: there is no word in it; ``phrases`` then holds its runs of symbols. notes: what was cut, as sentences.
    """

    __slots__ = ("excluded", "literal", "notes", "phrases", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = []
        self.phrases: list[str] = []
        self.excluded: list[str] = []
        self.literal = False
        self.notes: list[str] = []

    @property
    def parts(self) -> list[str]:
        """Everything that must occur in exact mode: words, then phrases."""
        return self.words + self.phrases

    @property
    def all_words(self) -> list[str]:
        """Distinct words of the query and its phrases, in order: what keyword mode ranks by."""
        found = dict.fromkeys(self.words)
        for phrase in self.phrases:
            found.update(dict.fromkeys(tokens.words(phrase)))
        return list(found)

    @property
    def whole(self) -> str:
        """The query as one folded line, for comparing with titles and names."""
        return squeeze(tokens.fold(self.text)).strip('"')


def squeeze(text: str) -> str:
    """``text`` with each run of white space as one space, none at its ends."""
    return " ".join(text.split())


def parse(text: str, excluded: Sequence[str] = ()) -> Query:
    """The Query of ``text``; ``excluded`` are the values of ``--not``. UsageError where there is nothing in it."""
    text, cut = _bounded(text.replace("\0", " ").strip())
    if not text:
        raise UsageError(message="the query is empty", next="kb search WORDS, or kb list for every note")
    query = Query(text)
    if cut:
        query.notes.append(f"the query is longer than {MAX_BYTES} bytes; what follows was not looked at")
    plain, phrases = _quoted(text)
    query.words = list(dict.fromkeys(tokens.words(plain)))
    query.phrases = list(dict.fromkeys(filter(None, (squeeze(tokens.fold(phrase)) for phrase in phrases))))
    if not any(tokens.pieces(part) for part in query.parts):
        query.literal = True
        query.words = []
        query.phrases = query.phrases or list(dict.fromkeys(tokens.fold(plain).split()))[:MAX_WORDS]
    if len(excluded) > MAX_EXCLUDED:
        raise UsageError(message=f"--not may be given at most {MAX_EXCLUDED} times")
    for value in excluded:
        plain = value.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
        part = squeeze(tokens.fold(plain)).strip('"')
        if part:
            query.excluded.append(part)
    return query


def _bounded(text: str) -> tuple[str, bool]:
    """``text`` cut to MAX_BYTES at a space where there is one, and whether it was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_BYTES:
        return data.decode("utf-8"), False
    kept = data[:MAX_BYTES].decode("utf-8", "ignore")
    space = max(kept.rfind(" "), kept.rfind("\n"))
    return (kept[:space] if space > 0 else kept).strip(), True


def _quoted(text: str) -> tuple[str, list[str]]:
    """The text outside balanced double quotes, and the phrases inside them."""
    parts = text.split('"')
    if len(parts) % 2 == 0:  # the last quote has no partner: it is a character like any other
        parts[-2:] = [parts[-2] + '"' + parts[-1]]
    outside = [part for number, part in enumerate(parts) if number % 2 == 0]
    inside = [part for number, part in enumerate(parts) if number % 2]
    return " ".join(outside), inside


def occurs(part: str, text: str) -> bool:
    """Whether a folded word or phrase stands in folded ``text``, not inside a longer run of letters and digits."""
    return first_place(part, text, 0) is not None


def first_place(part: str, text: str, start: int) -> tuple[int, int] | None:
    """(start, end) in ``text`` of the first occurrence of ``part`` from ``start`` on, as ``occurs`` has it; or None.

    A space of a phrase meets any white space. Linear in the length of ``text`` for a word.
    """
    if " " in part:
        return _phrase_place(part, text, start)
    size = len(part)
    open_left, open_right = not tokens.is_letter(part[0]), not tokens.is_letter(part[-1])
    at = text.find(part, start)
    while at >= 0:
        end = at + size
        if (open_left or at == 0 or not tokens.is_letter(text[at - 1])) and (
            open_right or end == len(text) or not tokens.is_letter(text[end])
        ):
            return at, end
        at = text.find(part, at + 1)
    return None


def _phrase_place(part: str, text: str, start: int) -> tuple[int, int] | None:
    first, *rest = part.split(" ")
    at = text.find(first, start)
    while at >= 0:
        end: int | None = at + len(first)
        if not tokens.is_letter(part[0]) or at == 0 or not tokens.is_letter(text[at - 1]):
            for word in rest:
                end = _after_space(text, end or 0, word)
                if end is None:
                    break
            if end is not None and (
                not tokens.is_letter(part[-1]) or end == len(text) or not tokens.is_letter(text[end])
            ):
                return at, end
        at = text.find(first, at + 1)
    return None


def _after_space(text: str, at: int, word: str) -> int | None:
    """The end of ``word`` in ``text`` where it follows white space at ``at``, else None."""
    skip = at
    while skip < len(text) and text[skip].isspace():
        skip += 1
    return skip + len(word) if skip > at and text.startswith(word, skip) else None
