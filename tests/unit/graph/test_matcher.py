"""Phrases are found in one pass, in any script, letter case and Unicode form, and never inside a longer word."""

from __future__ import annotations

import re
from unicodedata import normalize

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kbtasks.graph.matcher import MAX_WORDS, Phrases, fold_with_places, is_telling, words_pattern
from kbtasks.graph.prose import masked
from kbtasks.vault.names import fold


def found(text: str, *phrases: str) -> list[tuple[str, str]]:
    look = Phrases()
    for phrase in phrases:
        look.add(phrase, phrase)
    return [(text[start:end], owner) for start, end, owner in look.find(text)]


@pytest.mark.parametrize(
    ("text", "phrase", "hits"),
    [
        ("the Parser, parsers and PARSER.", "parser", ["Parser", "PARSER"]),
        ("我的笔记本和笔记", "笔记", ["笔记", "笔记"]),
        ("メモリとメモ", "メモ", ["メモ"]),
        ("STRASSE und Straße", "straße", ["STRASSE", "Straße"]),
        ("c++ note, c+ note, C++\nnote", "C++ Note", ["c++ note", "C++\nnote"]),
        ("two\n\nwords and two   words", "two words", ["two   words"]),
        (normalize("NFD", "un café noir"), "CAFÉ", [normalize("NFD", "café")]),
        (normalize("NFD", "한글은"), "한글", [normalize("NFD", "한글")]),
        ("foo-bar foo bar foo_bar", "foo-bar", ["foo-bar"]),
        ("x🙂y 🙂 done", "🙂 done", ["🙂 done"]),
        ("İstanbul'da", "i̇stanbul", ["İstanbul"]),
    ],
)
def test_what_is_found(text: str, phrase: str, hits: list[str]) -> None:
    assert [piece for piece, _ in found(text, phrase)] == hits


def test_the_longest_phrase_is_taken_and_none_overlap() -> None:
    hits = found("red kite bird red kite", "red kite", "kite bird red", "red", "red kite bird")
    assert hits == [("red kite bird", "red kite bird"), ("red kite", "red kite")]


def test_phrases_that_cannot_be_found_are_refused() -> None:
    look = Phrases()
    assert look.add("+++ 🙂", 1) is False
    assert look.add("w " * (MAX_WORDS + 1), 1) is False
    assert list(look.find("+++ 🙂 w w")) == []


@pytest.mark.parametrize(
    ("phrase", "telling"),
    [("abc", False), ("abcd", True), ("1234", False), ("笔", False), ("笔记", True), ("v1.2", True)],
)
def test_telling_phrases(phrase: str, telling: bool) -> None:
    assert is_telling(phrase) is telling


LETTERS = st.text(alphabet="ab AB-笔记メモßİé\u0301\n.🙂", max_size=40)


def brute(text: str, phrases: list[str]) -> list[tuple[int, int, str]]:
    """The same answer without a trie: at each word, every phrase is tried, the longest is taken."""
    folded, places = fold_with_places(text)
    starts = {match.start() for match in words_pattern().finditer(folded)}
    ends = {match.end() for match in words_pattern().finditer(folded)}
    answer = []
    free = 0
    for start in sorted(starts):
        best = None
        for phrase in phrases:
            key = fold(phrase.strip())
            words = [match.span() for match in words_pattern().finditer(key)]
            if not words or len(words) > MAX_WORDS:
                continue
            parts = [re.escape(part) for part in re.split(r"(\s+)", key)]
            pattern = "".join(
                (r"(?:[^\S\n]*\n[^\S\n]*|[^\S\n]+)" if "\n\n" not in part else re.escape("\n\n"))
                if re.fullmatch(r"(?:\\?\s)+", part)
                else part
                for part in parts
            )
            begin = start - words[0][0]
            match = re.compile(pattern).match(folded, begin) if begin >= free else None
            if match is None:
                continue
            inner = match.end() - (len(key) - words[-1][1])
            if inner not in ends or not _same_words(folded[start:inner], key[words[0][0] : words[-1][1]]):
                continue
            if best is None or match.end() > best[1] or (inner > best[2]):
                best = (begin, match.end(), inner, phrase)
        if best is not None:
            answer.append((best[0], best[1], best[3]))
            free = best[1]
    return answer if places is None else [(places[start], places[end], phrase) for start, end, phrase in answer]


def _same_words(one: str, other: str) -> bool:
    return words_pattern().findall(one) == words_pattern().findall(other)


@settings(max_examples=150, deadline=None)
@given(LETTERS, st.lists(st.text(alphabet="ab笔记メモßé-", min_size=1, max_size=6), max_size=5, unique_by=fold))
@example("a-b a b", ["a-b", "b"])
@example("笔记笔记", ["笔记", "记笔"])
def test_the_trie_agrees_with_trying_every_phrase(text: str, phrases: list[str]) -> None:
    look = Phrases()
    for phrase in phrases:
        look.add(phrase, phrase)
    assert [(start, end, fold(owner)) for start, end, owner in look.find(text)] == [
        (start, end, fold(phrase)) for start, end, phrase in brute(text, phrases)
    ]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_folding_with_places_folds_and_places(text: str) -> None:
    folded, places = fold_with_places(text)
    if places is None:
        assert folded == text.casefold()
    else:
        assert len(places) == len(folded) + 1
        assert places == sorted(places)
        assert places[-1] == len(text)


def test_prose_is_what_remains() -> None:
    text = (
        "Name `Name` [[Name]] [Name](x.md) ![[Name]] [r][Name] <b>Name</b> <!-- Name --> %%Name%% $$Name$$ #Name\n"
        "```\nName\n```\n~~~~\nName\n~~~\nName\n~~~~\nName\n\n    Name\n\n- item\n\n    Name in item\n"
        "``a ` Name`` https://x.example/Name <pre>\nName</pre>\n[ref]: Name\n> ```\n> Name\n> ```\nlast Name\n"
    )
    shown = [text[: match.start()].count("\n") + 1 for match in re.finditer("Name", masked(text))]
    assert shown == [1, 1, 10, 16, 23]
    assert len(masked(text)) == len(text)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="`~[]()<>!-%$# \n\tab", max_size=80))
def test_masking_keeps_every_place(text: str) -> None:
    shown = masked(text)
    assert len(shown) == len(text)
    assert all(one in (other, "\0") for one, other in zip(shown, text, strict=True))


@pytest.mark.parametrize(
    "piece", ["[", "`a", "<!--", "    a\n", "[[a", "<a ", "```\n", "$$ ", "[a](", "[a][", "%", "<pre", "``` `` "]
)
def test_hostile_text_is_masked_in_one_pass(piece: str) -> None:
    text = piece * (400_000 // len(piece))  # a second look at what was passed would take hours
    assert len(masked(text)) == len(text)
