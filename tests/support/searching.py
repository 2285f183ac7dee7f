"""A small vault written out and searched through the product's own index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.index.view import open_view
from kbtasks.retrieval.request import Request
from kbtasks.retrieval.search import search

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from kbtasks.retrieval.search import Answer

MODES = ("exact", "keyword", "hybrid")


class Vault:
    """Notes by path, asked in process. Every call opens the vault afresh, as a command does."""

    def __init__(self, root: Path, notes: dict[str, str | bytes]) -> None:
        self.root = root
        for path, text in notes.items():
            self.write(path, text)

    def write(self, path: str, text: str | bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))

    def ask(self, query: str, mode: str = "keyword", **wishes: Any) -> Answer:
        with open_view(str(self.root), str(self.root / ".kbtasks")) as view:
            return search(view, Request(query, mode=mode, **{"graph": False, **wishes}))

    def paths(self, query: str, mode: str = "keyword", **wishes: Any) -> list[str]:
        return [hit.path for hit in self.ask(query, mode, **wishes).hits]
