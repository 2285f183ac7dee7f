"""How the lanes' scores become one order: standard scores over the candidates, added with fixed weights.

The weights were measured on three development collections (docs/search.md); any within .1 of them does nearly as well.
"""

from __future__ import annotations

from math import sqrt

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Weight of the lexical score, the pooled cosine and the late interaction.
LEXICAL, COSINE, LATE = 0.3, 0.3, 0.4
#: Weights where the model gives one vector a piece and no token vectors.
LEXICAL_POOLED, COSINE_POOLED = 0.5, 0.5


def standard(values: Sequence[float | None]) -> list[float]:
    """Each value as its distance from the mean in standard deviations; 0 for a missing one, and where all are equal."""
    known = [value for value in values if value is not None]
    if not known:
        return [0.0] * len(values)
    mean = sum(known) / len(known)
    spread = sqrt(sum((value - mean) ** 2 for value in known) / len(known))
    if spread < 1e-9:
        return [0.0] * len(values)
    return [0.0 if value is None else (value - mean) / spread for value in values]


def fuse(lexical: Sequence[float], cosine: Sequence[float | None], late: Sequence[float | None] | None) -> list[float]:
    """One score per candidate from its lexical score, cosine and late interaction (None: the model has none).

    All three lists are over the same candidates, in the same order. A candidate without vectors is neither helped nor
    harmed by them.
    """
    if late is None:
        pairs = zip(standard(lexical), standard(cosine), strict=True)
        return [LEXICAL_POOLED * lex + COSINE_POOLED * cos for lex, cos in pairs]
    triples = zip(standard(lexical), standard(cosine), standard(late), strict=True)
    return [LEXICAL * lex + COSINE * cos + LATE * token for lex, cos, token in triples]
