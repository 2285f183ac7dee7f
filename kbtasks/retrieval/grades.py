"""How good a hit is, for callers who need a threshold: identity, strong or weak; and whether anything answers at all.

The measure is in ``confidence``; its thresholds were set on three development collections against questions from the others
(docs/search.md has the figures). What the query names is an answer whatever the measure says.
"""

from __future__ import annotations

from kbtasks.retrieval import confidence

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kbtasks.retrieval.ranking import Found


def grade(found: Sequence[Found], *, exact: bool, pieces: int, unspaced: bool) -> bool:
    """Set ``match`` of every candidate (best first); return whether the query is answerable.

    exact: all of them hold the whole query. pieces: how many the whole vault has. unspaced: the query is mainly in a
    script without spaces.
    """
    for each in found:
        if each.identity:
            each.match = "identity"
        elif exact:
            each.match = "strong"
        else:
            each.match = confidence.grade(each, pieces, unspaced=unspaced)
    if exact or any(each.identity for each in found[: confidence.LOOKED_AT]):
        return bool(found)
    return confidence.answerable(found, pieces, unspaced=unspaced)


def at_least(found: Sequence[Found], lowest: str) -> list[Found]:
    """The candidates whose grade is ``lowest`` or better; all where it is empty or ``weak``."""
    if lowest in ("", "weak"):
        return list(found)
    grades = ("identity",) if lowest == "identity" else ("identity", "strong")
    return [each for each in found if each.match in grades]
