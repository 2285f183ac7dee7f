"""Random vaults, random moves: every link leads where it led, Obsidian follows what it followed, a refusal changes nothing."""

from __future__ import annotations

import os
import random
from pathlib import Path
from urllib.parse import quote

import pytest
from support.writing import debris, files, run

from kbtasks.errors import KbError
from kbtasks.index.view import open_view

NAMES = ["a", "b", "A1", "x y", "é", "e\u0301x", "日", "q'r", "z (1)", "m.n", "100%", "r&s", "%20", 'say "x"']
FOLDERS = ["", "p/", "p/q/", "日/", "p q/"]


def link_to(choice: random.Random, path: str, target: str) -> str:
    base = target.rsplit("/", 1)[-1]
    relative = os.path.relpath(target, os.path.dirname(path) or ".")
    forms = [
        f"[[{base}]]", f"[[{target}]]", f"[[{target}|label]]", f"![[{base}#h]]", f"[x](/{quote(target)})",
        f"[[{relative if relative.startswith('..') else './' + relative}]]", f"[{base}]({quote(relative)}.md 'title')",
        f"[x](<{relative.replace('%', '%25')}.md#h>)", f"[x]({quote(target)}.md)",
    ]  # fmt: skip
    return choice.choice(forms)


def random_vault(choice: random.Random, vault: Path) -> list[str]:
    paths: dict[str, str] = {}
    for _ in range(7):
        path = choice.choice(FOLDERS) + choice.choice(NAMES)
        paths.setdefault(path.lower(), path)
    notes = list(paths.values())
    for path in notes:
        text = " ".join(link_to(choice, path, choice.choice(notes)) for _ in range(5)) + "\n"
        if choice.random() < 0.5:
            value = choice.choice(notes).replace('"', '\\"')
            text = f'---\nrelations:\n  p: "{value}"\nup: "[[{value}]]"\n---\n{text}'
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / f"{path}.md").write_text(text, encoding="utf-8")
    return notes


def meanings(vault: Path) -> dict[str, list[tuple[str, str, int]]]:
    found: dict[str, list[tuple[str, str, int]]] = {}
    with open_view(str(vault), str(vault / ".kbtasks")) as view:
        rows = view.connection.execute(
            "SELECT source.path, link.state, coalesce(target.path, link.target_path, ''), link.obsidian FROM link"
            " JOIN note AS source ON source.rowid = link.note LEFT JOIN note AS target ON target.rowid = link.target_note"
            " ORDER BY source.path, link.ordinal"
        )
        for path, *meaning in rows:
            found.setdefault(path, []).append(tuple(meaning))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_moves_keep_meaning(seed: int, tmp_path: Path) -> None:
    choice = random.Random(seed)
    for number in range(12):
        vault = tmp_path / str(number)
        vault.mkdir()
        notes = random_vault(choice, vault)
        before, bytes_before = meanings(vault), files(vault)
        target = choice.choice(FOLDERS) + choice.choice([*NAMES, "new", "ü n"])
        try:
            document = run(vault, "note.move", choice.choice(notes) + ".md", "--to", target)
        except KbError as error:
            assert error.exit_code in (2, 5), error.message
            assert files(vault) == bytes_before
            continue
        moved = {each["from"]: each["to"] for each in document["moves"]}
        after = meanings(vault)
        assert debris(vault) == []
        for path, links in before.items():
            for old, new in zip(links, after[moved.get(path, path)], strict=True):
                if old[0] in ("ok", "attachment"):
                    assert new[:2] == (old[0], moved.get(old[1], old[1])), (path, moved)
                    assert new[2] >= old[2], (path, moved)
