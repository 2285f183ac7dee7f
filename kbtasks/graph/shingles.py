"""Notes that say nearly the same, found without comparing every pair.

Each text becomes the set of its four-word shingles (A. Broder, "On the resemblance and containment of documents",
1997). Of the hashes of a set the SKETCH smallest are kept; two sets of resemblance r share about r of them. Only
notes that share MIN_SHARED kept hashes are compared in full. A hash that very many notes share is a template's and
proves nothing; it is left out.
"""

from __future__ import annotations

from heapq import nsmallest
from zlib import crc32

SKETCH = 32
MIN_SHARED = 6
#: Notes that may share a hash before it counts as a template's.
MAX_SHARING = 30
#: Fewer words than this are too little to call two notes alike.
MIN_WORDS = 40
MAX_WORDS = 50_000
MAX_PAIRS = 200_000


class Sketches:
    """The sketches of many texts, and their shingles for the final comparison (one integer each)."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sets: dict[int, frozenset[int]] = {}
        self._owners: dict[int, list[int]] = {}
        self.truncated = False

    def add(self, owner: int, words: list[str]) -> None:
        """Take the folded words of a text; texts shorter than MIN_WORDS are left out, longer than MAX_WORDS read so far."""
        if len(words) < MIN_WORDS:
            return
        known = self._numbers
        numbers = []
        for word in words[:MAX_WORDS]:
            number = known.get(word)
            if number is None:
                number = known[word] = crc32(word.encode("utf-8", "replace"))
            numbers.append(number)
        shingles = frozenset(map(hash, zip(numbers, numbers[1:], numbers[2:], numbers[3:], strict=False)))
        self._sets[owner] = shingles
        for value in nsmallest(SKETCH, shingles):
            self._owners.setdefault(value, []).append(owner)

    def similar(self, threshold: float) -> list[tuple[int, int, float]]:
        """Pairs (smaller owner, larger owner, resemblance) of at least ``threshold`` (0 to 1), in no order."""
        shared: dict[tuple[int, int], int] = {}
        for owners in self._owners.values():
            if len(owners) > MAX_SHARING:
                continue
            for at, one in enumerate(owners):
                for other in owners[at + 1 :]:
                    pair = (one, other) if one < other else (other, one)
                    shared[pair] = shared.get(pair, 0) + 1
            if len(shared) > MAX_PAIRS:
                self.truncated = True
                break
        found = []
        for (one, other), count in shared.items():
            if count < MIN_SHARED:
                continue
            resemblance = jaccard(self._sets[one], self._sets[other])
            if resemblance >= threshold:
                found.append((one, other, resemblance))
        return found


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """The share of shingles that two sets have in common, of all that either has; 0 for two empty ones."""
    common = len(one & other)
    whole = len(one) + len(other) - common
    return common / whole if whole else 0.0
