"""Empty, blank, symbol-only and stop-word queries: a clear answer, never everything, never a traceback."""

from __future__ import annotations

import pytest
from support.cli import kb, kb_json
from support.searching import MODES, Vault

from kbtasks.errors import UsageError

NOTES: dict[str, str | bytes] = {
    "A.md": "to be or not to be\n",
    "B.md": "the heron of the marsh and the reeds\n",
    "C.md": "plain text\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("empty"), NOTES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["", " ", "\t\n"])
def test_a_blank_query_is_a_usage_error_in_every_mode(vault: Vault, query: str, mode: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        vault.ask(query, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["-", "***", '""', "()", ":", '"'])
def test_symbols_that_stand_nowhere_find_nothing_and_say_why(vault: Vault, query: str, mode: str) -> None:
    answer = vault.ask(query, mode)
    assert answer.hits == []
    assert answer.notes


@pytest.mark.parametrize("mode", MODES)
def test_stop_words_find_the_notes_that_hold_them(vault: Vault, mode: str) -> None:
    assert vault.paths("the of and", mode)[0] == "B.md"
    assert vault.paths("to be or not", mode)[0] == "A.md"


def test_exact_mode_finds_the_phrase(vault: Vault) -> None:
    assert vault.paths("to be or not", "exact") == ["A.md"]
    assert vault.paths('"to be or not"', "exact") == ["A.md"]
    assert vault.paths('"or be"', "exact") == []


def test_exit_status_of_nothing_differs_from_failure(vault: Vault) -> None:
    assert kb_json("search", "--mode", "exact", "--query=***", cwd=vault.root, code=0)["hits"] == []
    assert kb("search", "--query=", cwd=vault.root).returncode == 2
    assert kb_json("search", "-", cwd=vault.root, input="-")["hits"] == []
