"""Whether anything answers, and how strongly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtasks.retrieval.confidence import answerable, grade, threshold


class Seen:
    def __init__(self, coverage: float, cosine: float | None = None, late: float | None = None) -> None:
        self.coverage, self.cosine, self.late = coverage, cosine, late


def test_nothing_found_is_no_answer() -> None:
    assert not answerable([], 100)


def test_meaning_answers_where_words_do_not() -> None:
    assert answerable([Seen(0.0, 0.45, 0.35)], 60)
    assert not answerable([Seen(0.0, 0.15, 0.18)], 60)
    assert not answerable([Seen(0.0)], 60)
    assert answerable([Seen(0.9)], 60)


def test_only_the_first_ten_are_looked_at() -> None:
    weak = [Seen(0.0, 0.1, 0.1)] * 10
    assert not answerable([*weak, Seen(1.0, 0.9, 0.9)], 60)
    assert answerable([*weak[:9], Seen(1.0, 0.9, 0.9)], 60)


def test_pairs_of_characters_need_less() -> None:
    assert answerable([Seen(0.25)], 1_500, unspaced=True)
    assert not answerable([Seen(0.25)], 1_500)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_larger_vault_never_asks_for_less(one: int, two: int) -> None:
    low, high = sorted((one, two))
    assert threshold(low) <= threshold(high) <= 1.20


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [(Seen(1, 0.7, 0.7), "strong"), (Seen(0.3, 0.3, 0.3), "weak"), (Seen(1.0), "strong"), (Seen(0.2), "weak")],
)
def test_grades(seen: Seen, wanted: str) -> None:
    assert grade(seen, 500) == wanted
