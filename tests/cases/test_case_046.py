"""A pasted page as a query, and a very long word in a note or a query."""

from __future__ import annotations

import pytest
from support.cli import kb_json
from support.searching import MODES, Vault

NOTES: dict[str, str | bytes] = {"Token.md": "z" * 100_000 + " pintail\n", "Two.md": "w17 w18 here\n"}
PAGE = " ".join(f"w{number}" for number in range(5000))


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("long"), NOTES)


@pytest.mark.parametrize("mode", MODES)
def test_the_word_after_a_huge_one_is_found(vault: Vault, mode: str) -> None:
    assert vault.paths("pintail", mode)[:1] == ["Token.md"]
    passage = vault.ask("pintail", mode).hits[0].passage
    assert passage is not None
    assert "pintail" in passage.text
    assert len(passage.text) <= 512


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_page_is_cut_to_its_rarest_words_and_says_so(vault: Vault, mode: str) -> None:
    answer = vault.ask(PAGE, mode)
    assert [hit.path for hit in answer.hits if hit.found.fields] == ["Two.md"]
    assert any("rarest" in note for note in answer.notes)
    assert any("16384 bytes" in note for note in answer.notes)


def test_exact_mode_wants_every_word_of_the_page(vault: Vault) -> None:
    answer = vault.ask(PAGE, "exact")
    assert answer.hits == []
    assert any("rarest" in note for note in answer.notes)


def test_one_long_word_is_no_error(vault: Vault) -> None:
    for mode in MODES:
        assert any("16384 bytes" in note for note in vault.ask("z" * 100_000, mode).notes)


def test_long_queries_come_by_argument_and_by_stdin(vault: Vault) -> None:
    by_argument = kb_json("search", "--mode", "keyword", PAGE, cwd=vault.root)
    by_stdin = kb_json("search", "--mode", "keyword", "-", cwd=vault.root, input=PAGE)
    assert [hit["path"] for hit in by_argument["hits"]] == [hit["path"] for hit in by_stdin["hits"]] == ["Two.md"]
