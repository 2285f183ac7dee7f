"""Finding many phrases in a text in one pass: a trie of words, at most MAX_WORDS steps per word of the text.

Words are runs of letters, digits, underscores and combining marks. Scripts written without blanks between words
(Han, Hiragana, Hangul, Thai and their neighbours) give one word per character, so a phrase in them is found
anywhere; a run of Katakana is one word. Letter case and Unicode form do not count. Between two words of a phrase the
text must hold what the phrase holds, where any blanks (at most one line end among them) equal one blank.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from unicodedata import category, is_normalized

from kbtasks.vault.names import fold

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

MAX_WORDS = 32

#: Scripts without blanks between words: Thai, Lao, Myanmar, Khmer, Hiragana, Bopomofo, Han, Yi, Hangul, and the
#: planes of further Han.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u309f\u3100-\u318f\u31a0-\u31bf"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_UNSPACED_ONE = re.compile(f"[{UNSPACED}]")


@lru_cache(maxsize=1)
def _marks() -> str:
    """The combining marks of the first plane, as the inside of a character class."""
    ranges: list[list[int]] = []
    for code in range(0x300, 0x10000):
        if category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges)


@lru_cache(maxsize=1)
def words_pattern() -> re.Pattern[str]:
    """The pattern of one word."""
    return re.compile(f"[{UNSPACED}]|[{KATAKANA}]+|(?:[^\\W{UNSPACED}{KATAKANA}]|[{_marks()}])+")


@lru_cache(maxsize=1)
def _clusters() -> re.Pattern[str]:
    """A character with everything that may compose with it (marks, and the vowels and finals of Hangul)."""
    return re.compile(f"(?s).[{_marks()}\u1160-\u11ff]*")


def fold_with_places(text: str) -> tuple[str, list[int] | None]:
    """``fold(text)`` and, per folded character and for the end, its place in ``text``; None where places are the same."""
    if is_normalized("NFC", text):
        folded = text.casefold()
        if len(folded) == len(text):
            return folded, None
    parts: list[str] = []
    places: list[int] = []
    for match in _clusters().finditer(text):
        part = fold(match.group())
        parts.append(part)
        places.extend([match.start()] * len(part))
    places.append(len(text))
    return "".join(parts), places


def is_telling(phrase: str) -> bool:
    """Whether ``phrase`` says enough to be looked for: two characters of an unspaced script, or four characters with a letter."""
    if len(_UNSPACED_ONE.findall(phrase)) >= 2:
        return True
    return len(phrase.strip()) >= 4 and any(char.isalpha() for char in phrase)


def squeeze(gap: str) -> str:
    """What stands between two words, with blanks as one blank; a blank line stays one, so that phrases do not run over it."""
    if gap == " " or not gap:
        return gap
    if gap.count("\n") > 1:
        return "\n\n"
    return re.sub(r"\s+", " ", gap)


class Phrases:
    """Phrases to look for, each with an owner (any value)."""

    def __init__(self) -> None:
        self._root: dict[Any, Any] = {}
        self.count = 0

    def add(self, phrase: str, owner: Any) -> bool:
        """Look for ``phrase`` too; False (and nothing done) where it has no word or more than MAX_WORDS."""
        folded = fold(phrase.strip())
        spans = [match.span() for match in words_pattern().finditer(folded)]
        if not spans or len(spans) > MAX_WORDS:
            return False
        gaps = tuple(squeeze(folded[end:start]) for (_, end), (start, _) in pairwise(spans))
        node = self._root
        for start, end in spans:
            node = node.setdefault(folded[start:end], {})
        node.setdefault("", []).append((folded[: spans[0][0]], gaps, folded[spans[-1][1] :], owner))
        self.count += 1
        return True

    def find(self, text: str) -> Iterator[tuple[int, int, Any]]:
        """The phrases in ``text`` as (start, end, owner), left to right, the longest at each place, never overlapping.

        start, end: characters of ``text``.
        """
        folded, places = fold_with_places(text)
        pattern = words_pattern()
        words = pattern.findall(folded)
        root = self._root
        if root.keys().isdisjoint(words):
            return
        spans = [match.span() for match in pattern.finditer(folded)]
        position, count, free = 0, len(words), 0
        while position < count:
            node = root.get(words[position])
            if node is None:
                position += 1
                continue
            best: tuple[int, int, int, Any] | None = None
            step = position
            while True:
                step += 1
                if "" in node:
                    best = self._verify(folded, spans, position, step, node[""], free) or best
                if step >= count:
                    break
                node = node.get(words[step])
                if node is None:
                    break
            if best is None:
                position += 1
                continue
            start, free, position, owner = best
            yield (start, free, owner) if places is None else (places[start], places[free], owner)

    @staticmethod
    def _verify(
        folded: str, spans: Sequence[tuple[int, int]], first: int, after: int, ends: list[Any], free: int
    ) -> tuple[int, int, int, Any] | None:
        """The longest of the phrases that end here and stand in the text letter for letter: (start, end, next word, owner)."""
        begin, finish = spans[first][0], spans[after - 1][1]
        gaps = None
        found = None
        for lead, wanted, tail, owner in ends:
            if gaps is None and wanted:
                gaps = tuple(squeeze(folded[spans[at][1] : spans[at + 1][0]]) for at in range(first, after - 1))
            if wanted and gaps != wanted:
                continue
            start, end = begin - len(lead), finish + len(tail)
            if start < free or folded[start:begin] != lead or folded[finish:end] != tail:
                continue
            if found is None or end - start > found[1] - found[0]:
                found = (start, end, after, owner)
        return found
