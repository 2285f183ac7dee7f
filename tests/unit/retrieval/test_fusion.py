"""Fusion of scores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtasks.retrieval.fusion import fuse, standard

NUMBERS = st.lists(st.floats(-100, 100), min_size=1, max_size=30)


@given(NUMBERS)
def test_standard_scores_have_mean_zero_and_keep_the_order(values: list[float]) -> None:
    scores = standard(values)
    assert sum(scores) == pytest.approx(0, abs=1e-5)
    for (a, x), (b, y) in zip(
        zip(values, scores, strict=True), list(zip(values, scores, strict=True))[1:], strict=False
    ):
        assert (a - b) * (x - y) >= -1e-9


def test_what_is_missing_neither_helps_nor_harms() -> None:
    assert standard([1.0, None, 3.0]) == [-1.0, 0.0, 1.0]
    assert standard([None, None]) == [0.0, 0.0]
    assert standard([]) == []


def test_all_three_count() -> None:
    assert fuse([1, 0], [0.1, 0.9], [0.2, 0.8])[1] > fuse([1, 0], [0.1, 0.9], [0.8, 0.2])[1]
    pooled = fuse([1, 0], [0.1, 0.9], None)
    assert pooled[0] == pytest.approx(pooled[1])
