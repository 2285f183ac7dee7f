"""Metrics against values worked out by hand."""

from __future__ import annotations

from math import log2

import pytest

from kbtasks.retrieval.evaluate import holds
from kbtasks.retrieval.evaluate_metrics import bootstrap, judge, percentile


def test_a_ranking_judged_by_hand() -> None:
    found = judge(["x", "a", "y", "b"], {"a": 2, "b": 1, "c": 1})
    gained = 3 / log2(3) + 1 / log2(5)
    ideal = 3 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert found == {
        "success@1": 0.0,
        "mrr@10": 0.5,
        "ndcg@10": pytest.approx(gained / ideal),
        "recall@10": pytest.approx(2 / 3),
        "recall@100": pytest.approx(2 / 3),
    }
    assert judge([], {"a": 1})["mrr@10"] == 0
    assert judge(["z"] * 10 + ["a"], {"a": 1}) == {
        "success@1": 0, "mrr@10": 0, "ndcg@10": 0, "recall@10": 0, "recall@100": 1,
    }  # fmt: skip


def test_percentiles_are_nearest_rank() -> None:
    assert [percentile([4, 1, 3, 2], share) for share in (0.5, 0.75, 0.99)] == [2, 3, 4]
    assert percentile([], 0.5) == 0


def test_the_bootstrap_is_repeatable_and_brackets_the_mean() -> None:
    differences = [1.0] * 30 + [0.0] * 50 + [-1.0] * 10
    low, high = bootstrap(differences, resamples=500)
    assert (low, high) == bootstrap(differences, resamples=500)
    assert 0 < low < 20 / 90 < high
    assert bootstrap([0.0, 0.0]) == (0, 0)


def test_an_answer_is_found_across_line_ends() -> None:
    assert holds("so `MAX_RETRIES =\n 3` in", ["max_retries = 3"])
    assert not holds("nothing", ["something"])
