"""WordPiece tokens of BERT, uncased: the text the embedding model reads.

The rules are those of the BERT tokenizer (clean, put spaces around ideographs, strip accents, lower-case, split at
punctuation, then the longest known piece first); the vocabulary lies in ``data/`` with its notice.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING

from kbtasks.index.tokens import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

CLS, SEP, UNK = 101, 102, 100
VOCABULARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "bert-uncased-vocab.txt")
VOCABULARY_SIZE = 30_522

#: A word longer than this many characters is one unknown token, as in the reference implementation.
MAX_WORD = 100
#: Words remembered with their pieces; prose repeats itself, so nearly all words of a vault are found here.
CACHED_WORDS = 200_000

#: Control, format, private and surrogate characters vanish; unassigned ones stay, so that ids do not hang on the
#: Unicode version of the interpreter.
_REMOVED = frozenset(("Cc", "Cf", "Co", "Cs"))
_SPACE = re.compile(r"[ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")

#: Words that carry no subject, and what the tokenizer makes of "it's", "don't", "we'll": their tokens are not stored,
#: and count half in a query.
_STOPPED = STOP_WORDS | {"s", "t", "d", "ll", "m", "re", "ve"}


def _is_ideograph(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )


def _is_punctuation(char: str) -> bool:
    code = ord(char)
    if code < 128:
        return 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return unicodedata.category(char).startswith("P")


class WordPiece:
    """The tokenizer: vocabulary and a memory of words already cut.

    kinds: for each token id, 0 for content, 1 for punctuation and special tokens, 2 for a stop word.
    """

    def __init__(self, path: str = VOCABULARY) -> None:
        with open(path, encoding="utf-8") as file:
            self.pieces = file.read().split("\n")[:VOCABULARY_SIZE]
        self.ids = dict(zip(self.pieces, range(len(self.pieces)), strict=True))
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Ids of ``text``'s pieces, without [CLS] and [SEP]."""
        known = self._known
        found: list[int] = []
        for word in _SPACE.split(text):
            if not word:
                continue
            ids = known.get(word)
            if ids is None:
                ids = tuple(self._cut(word))
                if len(known) >= CACHED_WORDS:
                    known.clear()
                known[word] = ids
            found.extend(ids)
        return found

    def _cut(self, word: str) -> list[int]:
        if word.isascii() and word.isalnum():
            return self._pieces(word.lower())
        plain: list[str] = []
        for char in word:
            if char == "\ufffd" or unicodedata.category(char) in _REMOVED:
                continue
            plain.append(f" {char} " if _is_ideograph(ord(char)) else char)
        cleaned = unicodedata.normalize("NFD", "".join(plain))
        cleaned = "".join(char for char in cleaned if unicodedata.category(char) != "Mn").lower()
        spaced = "".join(f" {char} " if _is_punctuation(char) else char for char in cleaned)
        found: list[int] = []
        for part in spaced.split():
            found.extend(self._pieces(part))
        return found

    def _pieces(self, word: str) -> list[int]:
        length = len(word)
        if length > MAX_WORD:
            return [UNK]
        ids = self.ids
        whole = ids.get(word)
        if whole is not None:
            return [whole]
        found: list[int] = []
        start = 0
        while start < length:
            end = length
            prefix = "##" if start else ""
            while end > start:
                number = ids.get(prefix + word[start:end])
                if number is not None:
                    break
                end -= 1
            else:
                return [UNK]
            found.append(number)
            start = end
        return found

    def kind(self, number: int) -> int:
        """0: a content token; 1: punctuation or a special token; 2: a stop word."""
        piece = self.pieces[number]
        if piece in _STOPPED:
            return 2
        if number in (0, UNK, CLS, SEP, 103) or (len(piece) == 1 and _is_punctuation(piece)):
            return 1
        return 0

    def kinds(self, numbers: Sequence[int]) -> list[int]:
        """``kind`` of each of ``numbers``."""
        return [self.kind(number) for number in numbers]
