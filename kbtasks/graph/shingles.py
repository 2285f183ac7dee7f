"""Notes that say nearly the same, found without comparing every pair.

Each text becomes the set of its four-word shingles (A. Broder, "On the resemblance and containment of documents",
1997). Of the hashes of a set the SKETCH smallest are kept; two sets of resemblance r share about r of them. Only
notes that share MIN_SHARED kept hashes are compared in full. A hash that very many notes share is a template's and
proves nothing; it is left out.
"""

from __future__ import annotations

from array import array
from heapq import nsmallest
from itertools import groupby
from zlib import crc32

SKETCH = 32
MIN_SHARED = 6
#: Notes that may share a hash before it counts as a template's.
MAX_SHARING = 30
#: Fewer words than this are too little to call two notes alike.
MIN_WORDS = 40
MAX_WORDS = 50_000
MAX_PAIRS = 200_000
#: A packed entry holds 40 bits of a hash above 24 bits of the text's place.
_BITS = 24
_HASH = (1 << 40) - 1


class Sketches:
    """The sketches of many texts: SKETCH small integers per text, packed, whatever the texts' length."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._owners: list[int] = []
        self._packed = array("Q")
        self.truncated = False

    def add(self, owner: int, words: list[str]) -> None:
        """Take the folded words of a text; texts shorter than MIN_WORDS are left out."""
        if len(words) < MIN_WORDS:
            return
        place = len(self._owners)
        self._owners.append(owner)
        for value in nsmallest(SKETCH, self.shingles(words)):
            self._packed.append((value & _HASH) << _BITS | place)

    def shingles(self, words: list[str]) -> frozenset[int]:
        """The shingles of a text as hashes; of texts longer than MAX_WORDS those of their beginning."""
        known = self._numbers
        numbers = []
        for word in words[:MAX_WORDS]:
            number = known.get(word)
            if number is None:
                number = known[word] = crc32(word.encode("utf-8", "replace"))
            numbers.append(number)
        return frozenset(map(hash, zip(numbers, numbers[1:], numbers[2:], numbers[3:], strict=False)))

    def alike(self) -> list[tuple[int, int]]:
        """Pairs of owners whose sketches share at least MIN_SHARED hashes; ``truncated`` tells that pairs were left out."""
        shared: dict[tuple[int, int], int] = {}
        mask = (1 << _BITS) - 1
        for _, group in groupby(sorted(self._packed), key=lambda packed: packed >> _BITS):
            places = [packed & mask for packed in group]
            if not 1 < len(places) <= MAX_SHARING:
                continue
            for at, one in enumerate(places):
                for other in places[at + 1 :]:
                    shared[one, other] = shared.get((one, other), 0) + 1
            if len(shared) > MAX_PAIRS:
                self.truncated = True
                break
        return [
            (self._owners[one], self._owners[other]) for (one, other), count in shared.items() if count >= MIN_SHARED
        ]


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """The share of shingles that two sets have in common, of all that either has; 0 for two empty ones."""
    common = len(one & other)
    whole = len(one) + len(other) - common
    return common / whole if whole else 0.0
