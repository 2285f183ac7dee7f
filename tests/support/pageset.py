"""The saved pages of many kinds under tests/cases/pages, and how well a reading of them keeps the article and drops the rest."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "cases" / "pages"


def expectations() -> dict[str, dict[str, list[str]]]:
    """By page: the phrases that belong to it (``keep``) and those of the furniture around it (``drop``)."""
    found: dict[str, dict[str, list[str]]] = json.loads((FOLDER / "expected.json").read_bytes())
    return found


def page(name: str) -> bytes:
    """The bytes of a page."""
    return (FOLDER / f"{name}.html").read_bytes()


def plain(text: str) -> str:
    """``text`` with escapes undone and white space collapsed, for looking phrases up."""
    import re

    return " ".join(re.sub(r"\\(?=[^\w\s])", "", text).split())


def score(name: str, text: str) -> tuple[list[str], list[str]]:
    """Phrases that are missing, and phrases that should not be there."""
    wanted = expectations()[name]
    shown = plain(text)
    return [item for item in wanted["keep"] if plain(item) not in shown], [
        item for item in wanted["drop"] if plain(item) in shown
    ]
