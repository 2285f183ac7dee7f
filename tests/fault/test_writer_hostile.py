"""Surroundings that a writer meets: other devices, foreign journals, hard links, modes, folders without rights, editors."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import nobody
from support.devices import split
from support.kill import run_killed_at, steps
from support.writing import debris, files, run

from kbtasks import fsio
from kbtasks.errors import AlreadyExists, KbError, Refused, RevisionConflict, Unavailable
from kbtasks.index.view import open_view
from kbtasks.vault import journal
from kbtasks.vault.journal import Change
from kbtasks.vault.writer import Writer

OLD = "# Alt 旧\n".encode()
NEW = "# Neu 新 🌊\n".encode()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    (vault / "disk").mkdir(parents=True)
    (vault / "a.md").write_bytes(OLD)
    (vault / "disk/b.md").write_bytes(OLD)
    return vault


def across(vault: Path) -> None:
    with Writer(str(vault)) as writer:
        writer.commit(
            [
                Change("create", "disk/deep/c.md", data=NEW),
                Change("replace", "disk/b.md", data=NEW, expected=fsio.revision(OLD)),
                Change("move", "disk/b.md", to="b.md", expected=fsio.revision(NEW)),
                Change("move", "a.md", to="disk/a.md", expected=fsio.revision(OLD)),
            ]
        )


BEFORE = {"a.md": OLD, "disk/b.md": OLD}
AFTER = {"b.md": NEW, "disk/a.md": OLD, "disk/deep/c.md": NEW}


@pytest.mark.parametrize("renameat2", [True, False])
def test_a_folder_on_another_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renameat2: bool) -> None:
    if not renameat2:
        monkeypatch.setattr(fsio, "_renameat2", lambda *_: False)
    outcomes = []
    for number in steps():
        vault = tmp_path / str(number)
        (vault / "disk").mkdir(parents=True)
        (vault / "a.md").write_bytes(OLD)
        (vault / "disk/b.md").write_bytes(OLD)
        with pytest.MonkeyPatch.context() as patch:
            split(patch, str(vault / "disk"))
            killed = run_killed_at(number, lambda vault=vault: across(vault))  # type: ignore[misc]
            with open_view(str(vault), str(vault / ".kbtasks")):
                pass
        left = files(vault)
        assert left in (BEFORE, AFTER), f"step {number}"
        assert debris(vault) == [], f"step {number}"
        outcomes.append(left == AFTER)
        if not killed:
            break
    assert outcomes == sorted(outcomes) and outcomes[0] is False and outcomes[-1] is True


def test_a_conflict_across_devices_undoes_everything(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split(monkeypatch, str(vault / "disk"))
    changes = [
        Change("create", "disk/deep/c.md", data=NEW),
        Change("replace", "disk/b.md", data=NEW, expected=fsio.revision(OLD)),
        Change("move", "disk/b.md", to="b.md", expected=fsio.revision(NEW)),
        Change("replace", "a.md", data=NEW, expected=fsio.revision(b"other")),
    ]
    with Writer(str(vault)) as writer, pytest.raises(RevisionConflict):
        writer.commit(changes)

    assert files(vault) == BEFORE and debris(vault) == []


@pytest.mark.parametrize("other_device", [False, True])
@pytest.mark.parametrize("then_killed", [False, True])
def test_an_editor_that_saves_in_the_same_moment(
    vault: Path, monkeypatch: pytest.MonkeyPatch, other_device: bool, then_killed: bool
) -> None:
    """Its bytes come back, even if the writer is killed between taking and giving them back."""
    if other_device:
        split(monkeypatch, str(vault / "disk"))
    theirs = "# gerade gesichert 今\n".encode()

    def step(name: str) -> None:
        if name == "before-exchange":
            (vault / "disk/save").write_bytes(theirs)
            os.rename(vault / "disk/save", vault / "disk/b.md")
        elif name == "after-exchange" and then_killed:
            os._exit(9)

    child = os.fork()
    if child == 0:
        fsio.on_step = step
        try:
            with Writer(str(vault)) as writer:
                writer.replace("disk/b.md", OLD, NEW)
        except RevisionConflict:
            os._exit(5)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (9 if then_killed else 5)
    with open_view(str(vault), str(vault / ".kbtasks")):
        pass

    assert files(vault) == {"a.md": OLD, "disk/b.md": theirs}
    assert debris(vault) == []


def test_killed_while_undoing_everything_is_undone(tmp_path: Path) -> None:
    for number in steps():
        vault = tmp_path / str(number)
        vault.mkdir()
        (vault / "a.md").write_bytes(OLD)
        (vault / "b.md").write_bytes(OLD)

        def conflict(vault: Path = vault) -> None:
            changes = [
                Change("create", "c.md", data=NEW),
                Change("replace", "a.md", data=NEW, expected=fsio.revision(OLD)),
                Change("move", "a.md", to="d.md", expected=fsio.revision(NEW)),
                Change("create", "b.md", data=NEW),
            ]
            with Writer(str(vault)) as writer, pytest.raises(AlreadyExists):
                writer.commit(changes)

        killed = run_killed_at(number, conflict)
        with Writer(str(vault)) as writer:
            assert files(vault) == {"a.md": OLD, "b.md": OLD}, f"step {number}"
            assert writer.left in ([], ["b.md"])
        assert debris(vault) == []
        if not killed:
            break


def foreign_journal(vault: Path, entries: object, data: bytes = NEW) -> None:
    folder = vault / ".kbtasks/journal/evil"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(entries))
    (folder / "0").write_bytes(data)


def entry(**more: object) -> dict[str, object]:
    whole = {"number": 0, "kind": "create", "path": "x.md", "to": None, "expected": None, "new": fsio.revision(NEW)}
    return {**whole, **more}


@pytest.mark.parametrize(
    "entries",
    [
        [entry(path="../out.md")],
        [entry(path="/tmp/out.md")],
        [entry(path=".git/hooks/post-checkout")],
        [entry(path="a\0.md")],
        [entry(path=7)],
        [entry(number="../../../a.md")],
        [entry(kind="move", path="a.md", to=".git/x", expected=fsio.revision(OLD))],
        [entry(kind="move", path="a.md", to=".trash/../../x", expected=fsio.revision(OLD))],
        [entry(kind="replace", path="a.md", expected=fsio.revision(OLD), new="sha256:0")],
        [entry(kind="explode")],
        {"a": 1},
        "x",
        [None],
    ],
)
def test_a_journal_that_came_with_a_foreign_vault_is_cleared(vault: Path, entries: object) -> None:
    before = files(vault)
    outside = sorted(path.name for path in vault.parent.iterdir())
    foreign_journal(vault, entries)
    with open_view(str(vault), str(vault / ".kbtasks")):
        pass

    assert files(vault) == before and debris(vault) == []
    assert not (vault / ".git").exists()
    assert sorted(path.name for path in vault.parent.iterdir()) == outside


def test_links_in_the_journal_lead_nowhere(vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(OLD)
    (vault / ".kbtasks/journal").mkdir(parents=True)
    (vault / ".kbtasks/journal/link").symlink_to(outside)
    with Writer(str(vault)):
        pass
    assert (outside / "precious").read_bytes() == OLD and debris(vault) == []
    (vault / ".kbtasks/journal").symlink_to(outside)
    assert not journal.is_pending(str(vault))


def test_hard_links_are_not_parted(vault: Path) -> None:
    os.link(vault / "a.md", vault / "same.md")
    for words in (["note.append", "a", "--text", "x"], ["note.set", "a", "--status", "x"]):
        with pytest.raises(Refused, match="hard links"):
            run(vault, *words)
    run(vault, "note.move", "a", "--to", "moved")

    assert (vault / "moved.md").stat().st_nlink == 2 and (vault / "same.md").read_bytes() == OLD


def test_modes(vault: Path) -> None:
    (vault / "a.md").chmod(0o640)
    run(vault, "note.append", "a", "--text", "x")
    old = os.umask(0o027)
    try:
        run(vault, "note.create", "deep/new", "--parents")
    finally:
        os.umask(old)

    assert stat.S_IMODE((vault / "a.md").stat().st_mode) == 0o640
    assert stat.S_IMODE((vault / "deep/new.md").stat().st_mode) == 0o640
    assert stat.S_IMODE((vault / "deep").stat().st_mode) == 0o750


def test_the_owner_stays() -> None:
    if os.getuid() != 0:
        pytest.skip("only root may give files away")
    with nobody.folder() as home:
        (home / "a.md").write_bytes(OLD)
        nobody.own(home / "a.md")
        run(home, "note.append", "a", "--text", "x")

        assert (home / "a.md").stat().st_uid == nobody.UID


def test_links_are_not_followed_by_any_command(vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_bytes(OLD)
    (vault / "link").symlink_to(outside)
    (vault / "n.md").symlink_to(outside / "x.md")
    for words in (
        ["note.create", "link/new"],
        ["note.create", "n", "--title", "N"],
        ["note.move", "a", "--to", "link/a"],
        ["plan.create", "link/p", "--outcome", "x"],
        ["note.append", "n", "--text", "x"],
    ):
        with pytest.raises(KbError) as caught:
            run(vault, *words)
        assert caught.value.exit_code in (4, 5)

    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"x.md": OLD}
    assert files(vault) == BEFORE


@pytest.fixture
def home() -> Iterator[Path]:
    nobody.interpreter()
    with nobody.folder() as folder:
        yield folder


def test_without_rights_nothing_changes(home: Path) -> None:
    vault = home / "vault"
    (vault / "locked").mkdir(parents=True)
    (vault / ".kbtasks").mkdir()
    (vault / "locked/a.md").write_bytes(OLD)
    (vault / "b.md").write_bytes(b"[[a]]\n")
    nobody.own(vault, vault / "b.md", vault / ".kbtasks")
    before = files(vault)
    for words in (
        ["note.append", "a", "--text", "x"],
        ["note.move", "a", "--to", "c"],
        ["note.delete", "a", "--linked"],
        ["note.create", "locked/new"],
    ):
        code, document = nobody.kb(*words, cwd=vault, home=home)
        assert (code, document["error"]["code"]) == (10, "unavailable"), document
        assert "nothing was changed" in document["error"]["message"]
        assert files(vault) == before and debris(vault) == []
    (vault / ".kbtasks").chmod(0o755)
    nobody.own(vault / ".kbtasks", uid=0)
    code, document = nobody.kb("note.append", "b", "--text", "x", cwd=vault, home=home)
    assert (code, document["error"]["code"]) == (10, "unavailable")
    code, _ = nobody.kb("list", cwd=vault, home=home)
    assert code == 0 and files(vault) == before


def test_no_read_is_unbounded(vault: Path) -> None:
    with open(vault / "big.md", "wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(Refused, match="larger than"), Writer(str(vault)) as writer:
        writer.read("big.md")
    with Writer(str(vault)) as writer:
        writer.trash("big.md")

    assert (vault / ".trash/big.md").stat().st_size == (16 << 20) + 1


def test_a_deleted_note_of_the_longest_name_can_be_deleted_again(vault: Path) -> None:
    name = "名" * 84  # 252 bytes and .md
    for body in ("one", "two"):
        run(vault, "note.create", name, "--body", body)
        run(vault, "note.delete", name)

    trashed = sorted((vault / ".trash").iterdir())
    assert len(trashed) == 2 and all(path.name.endswith(".md") for path in trashed)


def test_a_full_disk_in_the_middle_of_many_files(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def full(name: str) -> None:
        seen.append(name)
        if name == "staging" and seen.count(name) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(fsio, "on_step", full)
    with Writer(str(vault)) as writer, pytest.raises(Unavailable, match="No space left"):
        writer.commit([Change("create", f"c{number}.md", data=NEW) for number in range(3)])

    assert files(vault) == BEFORE and debris(vault) == []
