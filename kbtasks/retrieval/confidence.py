"""Whether what was found is good enough to be an answer, and how strongly a hit speaks for one.

The evidence for a hit is late + 1.5 * cosine + 0.5 * coverage, coverage being the share of the query's words that it holds,
weighted by rarity. The best of a large vault looks better than the best of a small one even for a question that has
nothing to do with either, since it is the largest of more values; so the threshold grows with the logarithm of the
number of pieces. It was set on foreign questions in four collections of 60 to 5,183 pieces (docs/search.md).
"""

from __future__ import annotations

from math import log

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Evidence(Protocol):
        """What is known of a hit: ``coverage`` 0 to 1; ``cosine`` and ``late``, None without vectors."""

        coverage: float
        cosine: float | None
        late: float | None


#: Results whose best features decide whether there is an answer.
LOOKED_AT = 10
#: Threshold: first + second * ln(pieces), at most the third, which is what the largest collection measured gave.
_BY_MEANING = (0.24, 0.112, 1.20)
_BY_WORDS = (0.07, 0.033, 0.36)
#: For words of scripts without spaces, which are asked by their pairs of characters: half of a question's pairs are its grammar.
_BY_PAIRS = (-0.01, 0.03, 0.26)
#: How far above the threshold a hit is strong: there two thirds of the relevant first hits lie, and few others.
_STRONG_MEANING = 0.5
_STRONG_WORDS = 0.3


def answerable(best: Sequence[Evidence], pieces: int, *, unspaced: bool = False) -> bool:
    """Whether the first LOOKED_AT of ``best`` (best first) hold an answer at all, in a vault of ``pieces`` pieces.

    unspaced: the query is mainly in a script without spaces. Each measure is the largest among the hits. It tells foreign
    questions, not those that the vault nearly answers.
    """
    looked = best[:LOOKED_AT]
    if not looked:
        return False
    coverage = max(one.coverage for one in looked)
    pairs = [(one.cosine, one.late) for one in looked if one.cosine is not None and one.late is not None]
    if not pairs:
        return coverage >= threshold(pieces, _BY_PAIRS if unspaced else _BY_WORDS)
    cosine, late = max(cosine for cosine, _ in pairs), max(late for _, late in pairs)
    return late + 1.5 * cosine + 0.5 * coverage >= threshold(pieces, _BY_MEANING)


def grade(one: Evidence, pieces: int, *, unspaced: bool = False) -> str:
    """``strong`` or ``weak``, in a vault of ``pieces`` pieces."""
    if one.cosine is None or one.late is None:
        least = threshold(pieces, _BY_PAIRS if unspaced else _BY_WORDS) + _STRONG_WORDS
        strong = one.coverage >= least
    else:
        total = one.late + 1.5 * one.cosine + 0.5 * one.coverage
        strong = total >= threshold(pieces, _BY_MEANING) + _STRONG_MEANING
    return "strong" if strong else "weak"


def threshold(pieces: int, rule: tuple[float, float, float] = _BY_MEANING) -> float:
    """The evidence from which there is an answer, in a vault of ``pieces`` pieces."""
    first, second, most = rule
    return min(most, first + second * log(max(2, pieces)))
