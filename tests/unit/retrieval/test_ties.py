"""Where equally good pieces stand at the cut of the candidates, an index that grew and one made anew take the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.searching import Vault

from kbtasks.index.search import SHIFT
from kbtasks.index.view import open_view
from kbtasks.retrieval.terms import best_rows

if TYPE_CHECKING:
    from pathlib import Path

RANK = "bm25(1, 1, 1, 1, 1, 1, 1, 1)"


def best(root: Path, cache: str, limit: int, allowed: set[str] | None = None) -> list[str]:
    with open_view(str(root), str(root.parent / cache)) as view:
        paths = dict(view.connection.execute("SELECT rowid, path FROM note"))
        chosen = None if allowed is None else [row for row, path in paths.items() if path in allowed]
        return [paths[row >> SHIFT] for row in best_rows(view.connection, "search", RANK, '"owl"', limit, chosen)]


def test_ties_at_the_cut_are_broken_by_path(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "v", {"z.md": "owl owl owl\n", "n5.md": "An owl here.\n"})
    best(vault.root, "grown", 1)
    for name in ("n9", "n3", "n7", "n1"):  # the row ids of the grown index follow this order
        vault.write(f"{name}.md", "An owl here.\n")
        best(vault.root, "grown", 1)
    for limit in range(1, 8):
        expected = ["z.md", "n1.md", "n3.md", "n5.md", "n7.md", "n9.md"][:limit]
        for cache in ("grown", f"anew{limit}"):
            assert sorted(best(vault.root, cache, limit)) == sorted(expected)
    assert best(vault.root, "grown", 2, {"n9.md", "n5.md", "n7.md"}) == ["n5.md", "n7.md"]
