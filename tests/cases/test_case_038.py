"""Ordinary text that is syntax to a search engine is ordinary text: the right note, never an error, never everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.searching import MODES, Vault

if TYPE_CHECKING:
    from pathlib import Path

NOTES: dict[str, str | bytes] = {
    "Apos.md": "can't see the nest\n",
    "At.md": "mail @warden about 35% of p=q & r|s\n",
    "Cpp.md": "nest::site with {xylo} [y] ^z ~t `k` $v\n",
    "Or.md": "either OR neither AND both NOT near NEAR(by)\n",
    "Quote.md": 'he said "unpaired once\n',
    "Star.md": "reed* bird and title:xenops\n",
    "Status.md": "state: open and airy\n",
}
QUERIES = [
    ("can't", "Apos.md"), ("state: open", "Status.md"), ("either OR", "Or.md"), ("neither AND both", "Or.md"), ("NEAR(", "Or.md"),
    ("@warden", "At.md"), ("35%", "At.md"), ("p=q", "At.md"), ('"unpaired', "Quote.md"), ("nest::site", "Cpp.md"),
    ("reed*", "Star.md"), ("title:xenops", "Star.md"), ("{xylo}", "Cpp.md"), ("no'such\"thing", ""), ("body:nosuch", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    root: Path = tmp_path_factory.mktemp("operators")
    return Vault(root, NOTES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_each_query_is_text(vault: Vault, query: str, expected: str, mode: str) -> None:
    answer = vault.ask(query, mode)
    paths = [hit.path for hit in answer.hits]
    if mode == "hybrid":
        by_words = [hit.path for hit in answer.hits if hit.found.fields or hit.found.identity]
        assert by_words[:1] == ([expected] if expected else [])
        assert not expected or paths[0] == expected
    elif mode == "exact" or not expected:
        assert paths == ([expected] if expected else [])
    else:
        assert paths[0] == expected
