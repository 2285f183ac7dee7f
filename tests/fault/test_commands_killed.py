"""Every writing command killed at every step: old or new bytes, and the next command, even a search, clears the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.kill import run_killed_at, steps
from support.writing import debris, files, run

from kbtasks import fsio
from kbtasks.index.view import open_view

REVISION = "{revision of n.md}"
VAULT = {
    "n.md": "---\ntitle: N 旧\ntags: [a]\n---\n\n# N\n\n## Log\n\n- one\n",
    "refs.md": "[[n]] [m](n.md) [[sub/o]] [[gone/o]]\n",
    "sub/o.md": "# O 🌊\n\n[[n]]\n",
    "sub/p.png": "x",
    "plans/p.md": "---\ntitle: P\ntype: plan\nstatus: accepted\n---\n\n# P\n\n## Outcome\n\nx\n",
}
COMMANDS = [
    ("note.create", "deep/er/new", "--parents", "--body", "neu 新"),
    ("note.set", "n", "--status", "active", "--tag", "b"),
    ("note.append", "n", "--heading", "Log", "--text", "- zwei 二"),
    ("note.replace", "n", "--expected-revision", REVISION, "--body", "neu"),
    ("note.move", "n", "--to", "else/where"),
    ("note.move", "sub", "--to", "moved/sub"),
    ("note.delete", "n", "--linked"),
    ("relation.add", "n", "--predicate", "informs", "--target", "o"),
    ("plan.create", "q", "--outcome", "It is done."),
    ("plan.add", "p", "--evidence", "seen", "--result", "good"),
    ("plan.close", "p", "--result", "good", "--durable-memory", "none"),
    ("check", "--fix"),
]


def written_out(folder: Path) -> Path:
    for name, text in VAULT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def words_of(command: tuple[str, ...]) -> list[str]:
    revision = fsio.revision(VAULT["n.md"].encode("utf-8"))
    return [word.replace(REVISION, revision) for word in command]


def folders(vault: Path) -> set[str]:
    return {
        path.relative_to(vault).as_posix()
        for path in vault.rglob("*")
        if path.is_dir() and ".kbtasks" not in path.relative_to(vault).parts
    }


CASES = [(command, True) for command in COMMANDS] + [(COMMANDS[number], False) for number in (0, 1, 5)]


@pytest.mark.parametrize(
    ("command", "renameat2"), CASES, ids=lambda value: str(value if value in (True, False) else " ".join(value[:2]))
)
def test_killed_at_every_step(
    command: tuple[str, ...], renameat2: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not renameat2:
        monkeypatch.setattr(fsio, "_renameat2", lambda *_: False)
    words = words_of(command)
    whole = written_out(tmp_path / "whole")
    run(whole, "list")  # the index is there, as on any day
    start = tmp_path / "start"
    shutil.copytree(whole, start)
    before = files(start)
    run(whole, *words)
    after = files(whole)
    assert after != before
    outcomes = []
    for number in steps():
        vault = tmp_path / str(number)
        shutil.copytree(start, vault)

        def action(vault: Path = vault) -> None:
            run(vault, *words)

        killed = run_killed_at(number, action)
        for name, data in files(vault).items():
            if not name.rpartition("/")[2].startswith(fsio.TEMPORARY_PREFIX):
                assert data in (*before.values(), *after.values()), f"step {number}: {name} is neither old nor new"
        with open_view(str(vault), str(vault / ".kbtasks")) as view:  # what a search does first
            listed = {path for (path,) in view.connection.execute("SELECT path FROM note")}
        left = files(vault)
        assert left in (before, after), f"step {number}"
        assert debris(vault) == [], f"step {number}"
        assert listed == {name for name in left if name.endswith(".md") and not name.startswith(".trash/")}
        if left == after:
            assert folders(vault) == folders(whole), f"step {number}"
        outcomes.append(left == after)
        shutil.rmtree(vault)
        if not killed:
            break
    assert outcomes == sorted(outcomes), "once the point of no return is passed, every kill leads to the new bytes"
    assert outcomes[0] is False and outcomes[-1] is True
