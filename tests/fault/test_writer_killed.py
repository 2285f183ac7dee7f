"""A writer killed at every step of every write leaves old or new bytes, and nothing that the next writer does not clear."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.kill import run_killed_at, steps

from kbtasks import fsio
from kbtasks.vault import journal
from kbtasks.vault.journal import Change
from kbtasks.vault.writer import Writer

OLD = "# Alt 旧\n\nalt\n".encode()
NEW = "# Neu 新 🌊\n\nneu\n".encode()


def vault_at(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.md").write_bytes(OLD)
    (folder / "b.md").write_bytes(OLD)
    (folder / "sub").mkdir()
    return folder


def contents(vault: Path) -> dict[str, bytes]:
    """Every file of the vault but the derived folder's .gitignore."""
    found = {}
    for path in vault.rglob("*"):
        name = path.relative_to(vault).as_posix()
        if path.is_file() and name != ".kbtasks/.gitignore":
            found[name] = path.read_bytes()
    return found


def create(vault: Path) -> None:
    with Writer(str(vault)) as writer:
        writer.create("sub/deeper/c.md", NEW, parents=True)


def replace(vault: Path) -> None:
    with Writer(str(vault)) as writer:
        writer.replace("a.md", OLD, NEW)


def trash(vault: Path) -> None:
    with Writer(str(vault)) as writer:
        writer.trash("a.md")


def move(vault: Path) -> None:
    with Writer(str(vault)) as writer:
        writer.commit(
            [
                Change("replace", "b.md", data=NEW, expected=fsio.revision(OLD)),
                Change("replace", "a.md", data=NEW, expected=fsio.revision(OLD)),
                Change("move", "a.md", to="sub/moved.md", expected=fsio.revision(NEW)),
            ]
        )


BEFORE = {"a.md": OLD, "b.md": OLD}
AFTER: list[tuple[Callable[[Path], None], dict[str, bytes]]] = [
    (create, {**BEFORE, "sub/deeper/c.md": NEW}),
    (replace, {"a.md": NEW, "b.md": OLD}),
    (trash, {"b.md": OLD, ".trash/a.md": OLD}),
    (move, {"b.md": NEW, "sub/moved.md": NEW}),
]


@pytest.mark.parametrize(("action", "after"), AFTER, ids=lambda value: getattr(value, "__name__", ""))
def test_killed_at_every_step(action: Callable[[Path], None], after: dict[str, bytes], tmp_path: Path) -> None:
    seen = set()
    for number in steps():
        vault = vault_at(tmp_path / str(number))
        killed = run_killed_at(number, lambda vault=vault: action(vault))  # type: ignore[misc]
        for name, data in contents(vault).items():
            if not name.startswith(".kbtasks/"):
                assert data in (OLD, NEW), f"step {number}: {name} is neither old nor new"
        with Writer(str(vault)) as writer:
            assert writer.left == []
        left = contents(vault)

        assert left in (BEFORE, after), f"step {number}"
        assert not journal.is_pending(str(vault))
        seen.add(left == after)
        if not killed:
            assert left == after
            break
    assert seen == {True, False}, "some kills came before the point of no return, some after"


def test_a_conflict_undoes_everything(tmp_path: Path) -> None:
    vault = vault_at(tmp_path / "vault")
    changes = [
        Change("create", "new.md", data=NEW),
        Change("replace", "a.md", data=NEW, expected=fsio.revision(OLD)),
        Change("move", "a.md", to="sub/moved.md", expected=fsio.revision(NEW)),
        Change("replace", "b.md", data=NEW, expected=fsio.revision(b"something else")),
    ]

    from kbtasks.errors import RevisionConflict

    with Writer(str(vault)) as writer, pytest.raises(RevisionConflict):
        writer.commit(changes)

    assert contents(vault) == BEFORE


def test_an_editor_that_saves_in_the_same_moment_gets_its_file_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = vault_at(tmp_path / "vault")
    theirs = b"# saved by an editor\n"

    def save_between(name: str) -> None:
        if name == "before-exchange":
            (vault / "editor").write_bytes(theirs)
            os.replace(vault / "editor", vault / "a.md")

    monkeypatch.setattr(fsio, "on_step", save_between)
    from kbtasks.errors import RevisionConflict

    with Writer(str(vault)) as writer, pytest.raises(RevisionConflict):
        writer.replace("a.md", OLD, NEW)

    assert contents(vault) == {"a.md": theirs, "b.md": OLD}


def test_without_renameat2_the_same_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsio, "_renameat2", lambda *_: False)
    for action, after in AFTER:
        vault = vault_at(tmp_path / action.__name__)
        action(vault)

        assert contents(vault) == after


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = vault_at(tmp_path / "vault")

    def full(name: str) -> None:
        if name == "temporary-created":
            raise OSError(28, "No space left on device")

    from kbtasks.errors import Unavailable

    with Writer(str(vault)) as writer:
        monkeypatch.setattr(fsio, "on_step", full)
        with pytest.raises(Unavailable, match="No space left"):
            writer.replace("a.md", OLD, NEW)
    monkeypatch.setattr(fsio, "on_step", None)
    with Writer(str(vault)):
        pass

    assert contents(vault) == BEFORE


def test_links_are_not_followed(tmp_path: Path) -> None:
    vault = vault_at(tmp_path / "vault")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_bytes(OLD)
    (vault / "link").symlink_to(outside)
    (vault / "note.md").symlink_to(outside / "x.md")
    from kbtasks.errors import Refused, UsageError

    with Writer(str(vault)) as writer:
        with pytest.raises(Refused):
            writer.create("link/new.md", NEW)
        with pytest.raises(Refused):
            writer.read("note.md")
        for bad in (
            "../x.md",
            "/x.md",
            "a/../x.md",
            ".hidden.md",
            "a//b.md",
            "a\nb.md",
            "x" * 300 + ".md",
            "",
            "b /c.md",
        ):
            with pytest.raises(UsageError):
                writer.create(bad, NEW)

    assert sorted(path.name for path in outside.iterdir()) == ["x.md"]
    assert (outside / "x.md").read_bytes() == OLD
