"""Figures of a ranking against judgments: Success@1, MRR@10, nDCG@10, Recall@10 and @100, and how sure a difference
is.
"""

from __future__ import annotations

from math import ceil, log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

METRICS = ("success@1", "mrr@10", "ndcg@10", "recall@10", "recall@100")
RESAMPLES = 10_000
_SEED = 20_180_502


def judge(ranked: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """The metrics of one question, each 0 to 1.

    ranked: ids of what was found, best first. relevant: grade (1 or more) of each id judged relevant; at least one.
    nDCG has gain 2^grade - 1 and discount log2(rank + 1) (Järvelin and Kekäläinen, 2002).
    """
    first = next((rank for rank, found in enumerate(ranked[:10], 1) if found in relevant), 0)
    gained = sum((2 ** relevant.get(found, 0) - 1) / log2(rank + 1) for rank, found in enumerate(ranked[:10], 1))
    ideal = sorted(relevant.values(), reverse=True)[:10]
    possible = sum((2**grade - 1) / log2(rank + 1) for rank, grade in enumerate(ideal, 1))
    return {
        "success@1": float(first == 1),
        "mrr@10": 1 / first if first else 0.0,
        "ndcg@10": gained / possible,
        "recall@10": len(relevant.keys() & set(ranked[:10])) / len(relevant),
        "recall@100": len(relevant.keys() & set(ranked[:100])) / len(relevant),
    }


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of ``values``: the smallest that is not below ``share`` (0 to 1) of them; 0 of
    nothing.
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def bootstrap(differences: Sequence[float], *, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The 95 % interval of the mean of paired ``differences``, by percentile bootstrap (Efron, 1979) with a fixed
    seed.
    """
    from random import Random

    if not differences:
        return 0.0, 0.0
    if not any(differences):
        return 0.0, 0.0
    draw = Random(_SEED)  # noqa: S311 - statistics, not secrets
    size = len(differences)
    means = sorted(sum(draw.choices(differences, k=size)) / size for _ in range(resamples))
    return means[int(0.025 * resamples)], means[min(resamples - 1, int(0.975 * resamples))]
