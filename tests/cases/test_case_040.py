"""C++, C#, .NET and A+ keep the symbols that carry their meaning."""

from __future__ import annotations

import pytest
from support.searching import Vault

NOTES: dict[str, str | bytes] = {
    "Cpp.md": "# C++ idioms\n\nC++ templates.\n",
    "Csharp.md": "# C# notes\n",
    "Grade.md": "An A+ grade\n",
    "Net.md": "The .NET runtime\n",
    "Net2.md": "a net for fishing\n",
    "Vitamin.md": "# Vitamin C\n\nVitamin C, C major, plan C. c c c c c c\n",
}
RIGHT = [("C++", "Cpp.md"), ("c++", "Cpp.md"), ("C#", "Csharp.md"), (".NET", "Net.md"), ("A+", "Grade.md")]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("symbols"), NOTES)


@pytest.mark.parametrize(("query", "path"), RIGHT)
def test_exact_mode_matches_the_literal_string(vault: Vault, query: str, path: str) -> None:
    assert vault.paths(query, "exact") == [path]


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize(("query", "path"), RIGHT)
def test_the_note_with_the_literal_string_is_first(vault: Vault, query: str, path: str, mode: str) -> None:
    assert vault.paths(query, mode)[0] == path


def test_symbols_alone_are_matched_as_they_stand_and_said_so(vault: Vault) -> None:
    for mode in ("exact", "keyword", "hybrid"):
        answer = vault.ask("++", mode)
        assert [hit.path for hit in answer.hits] == ["Cpp.md"]
        assert any("no word" in note for note in answer.notes)


def test_a_plain_letter_finds_the_note_about_it(vault: Vault) -> None:
    assert "Vitamin.md" in vault.paths("C", "keyword")
