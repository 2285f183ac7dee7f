"""Names that differ only by letter case or Unicode form: folded alike, told apart where both are there."""

from __future__ import annotations

import pytest
from support.notes import small_vault

from kbtasks.vault.names import fold, note_id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Reed Bed", "reed bed"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("数据库", "数据库"),
    ],
)
def test_folding(one: str, other: str) -> None:
    assert fold(one) == fold(other)
    assert fold(fold(one)) == fold(one)


def test_two_spellings_side_by_side() -> None:
    vault = small_vault({"a/Heron.md": "", "a/heron.md": "", "I.md": "[[a/heron]] [[a/Heron]] [[a/HERON]]"})
    meanings = [meaning for _, meaning in vault.meanings("I.md")]
    assert [meaning.target for meaning in meanings] == ["a/heron.md", "a/Heron.md", None]
    assert meanings[2].state == "ambiguous"
    assert meanings[2].candidates == ["a/Heron.md", "a/heron.md"]


def test_decomposed_names_are_found() -> None:
    vault = small_vault({"cafe\u0301.md": "", "I.md": "[[caf\u00e9]] [[Caf\u00e9]]"})
    assert vault.targets("I.md") == ["cafe\u0301.md", "cafe\u0301.md"]
    assert [meaning.how for _, meaning in vault.meanings("I.md")] == ["unicode", "case"]
    assert note_id("cafe\u0301.md") == "caf\u00e9"
