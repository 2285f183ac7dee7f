"""Upper and lower case do not matter in any script, in any mode."""

from __future__ import annotations

import pytest
from support.searching import MODES, Vault

NOTES: dict[str, str | bytes] = {
    "De.md": "Die Hauptstraße. Ägypten und ÄNTEN.\n",
    "Gr.md": "ΟΔΟΣ των πουλιών\n",
    "Ru.md": "# Чёрная Цапля\n\nЧЕРНОГУЗИК летит.\n",
    "Tr.md": "Istanbul ve İzmir\n",
    "Tag.md": "---\ntags: [ЧЁРНОЕ]\naliases: [Große Straße]\n---\n",
}
QUERIES = [
    ("черногузик", "Ru.md"), ("чёрная цапля", "Ru.md"), ("ЧЁРНАЯ", "Ru.md"), ("οδος", "Gr.md"), ("ägypten", "De.md"),
    ("änten", "De.md"), ("HAUPTSTRASSE", "De.md"), ("hauptstraße", "De.md"), ("istanbul", "Tr.md"), ("чёрное", "Tag.md"),
    ("GROSSE STRASSE", "Tag.md"),
]  # fmt: skip


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("folding"), NOTES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("query", "path"), QUERIES)
def test_case_is_folded(vault: Vault, query: str, path: str, mode: str) -> None:
    assert vault.paths(query, mode)[:1] == [path]


def test_accents_count_in_exact_mode_only(vault: Vault) -> None:
    assert vault.paths("οδός", "keyword")[:1] == ["Gr.md"]
    assert vault.paths("οδός", "exact") == []


def test_a_query_in_another_normal_form_is_the_same(vault: Vault) -> None:
    from unicodedata import normalize

    for mode in MODES:
        assert vault.paths(normalize("NFD", "ägypten"), mode)[:1] == ["De.md"]
