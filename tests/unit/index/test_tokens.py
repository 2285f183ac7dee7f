"""Words, folding, identifiers and grams."""

from __future__ import annotations

import pytest

from kbtasks.index import tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parser-v2 snake_case v1.2.3 C++ node_modules", ["parser-v2", "snake_case", "v1.2.3", "c++", "node_modules"]),
        ("使用API接口", ["使用", "api", "接口"]),
        ("can't NEAR(by)", ["can", "t", "near", "by"]),
        ("Straße ΟΔΟΣ", ["strasse", "οδοσ"]),
        ("cafe\u0301", ["caf\u00e9"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("🎉 party", ["party"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert tokens.words(text) == expected


def test_identifiers_are_kept_whole_and_camel_case_in_parts() -> None:
    found = tokens.identifiers("parser-v2, parseNote snake_case. v1.2.3 C++ HTTPServer plain words.").split()
    for name in ("parser-v2", "snake_case", "v1.2.3", "c++"):
        assert tokens.coded(name) in found
    assert {"parse", "note", "http", "server"} <= set(found)
    assert "plain" not in found
    assert tokens.coded("words.") not in found


def test_a_long_run_is_no_identifier() -> None:
    assert tokens.identifiers("x/" * 200) == ""
    assert tokens.identifiers("https://example.com/a/b") == ""


def test_words_that_sqlite_would_fold_otherwise_are_kept_folded() -> None:
    assert "hauptstrasse" in tokens.identifiers("Hauptstraße").split()
    assert "οδοσ" in tokens.identifiers("οδός").split()


def test_grams_of_unspaced_runs_end_in_their_last_character() -> None:
    assert tokens.grams("数据库API 猫 שלום") == "数据 据库 库 猫 שלום"
    assert tokens.grams("plain text") == ""


def test_spaced_keeps_every_place() -> None:
    text = "新巴82线 runs"
    assert tokens.spaced(text) == "  82  runs"
    assert len(tokens.spaced(text)) == len(text)


def test_letters_end_words_only_in_spaced_scripts() -> None:
    assert tokens.is_letter("a")
    assert tokens.is_letter("ж")
    assert tokens.is_letter("\u0301")
    assert not tokens.is_letter("数")
    assert not tokens.is_letter("-")
