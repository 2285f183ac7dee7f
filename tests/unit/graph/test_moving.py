"""A move rewrites every link that would lead elsewhere, in its own form, and touches no other byte."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from kbtasks.errors import AlreadyExists, NotFound, UsageError
from kbtasks.graph.movement import apply_move
from kbtasks.graph.moving import MovePlan, plan_move, plan_moves
from kbtasks.index.view import open_view
from kbtasks.vault.writer import Writer

FORMS = """---
title: Forms
up: "[[alt]]"
relations:
  refines: a/alt
  informed-by: ["a/alt", 'a/alt']
---

[[alt]] [[alt|label]] [[a/alt#Teil|x]] ![[alt]] [[alt#^b1]] [[ALT]] [[Alias 旧]]
[m](a/alt.md) [m](<a/alt.md#Teil> "title # with hash") [m]( ./a/alt.md 'x' ) [r][ref] [ref] [m](/a/alt.md)
| [[alt\\|cell]] |

[ref]: a/alt.md "Alt"

`[[alt]]` stays, and [[other]] too.
"""
ALT = """---
aliases: [Alias 旧]
---

# Alt

## Teil

text ^b1

[[other]] [up](../forms.md) [near](near.md) ![](../img/p.png) [[#Teil]]
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline="")
    return root


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    files = {"forms.md": FORMS, "a/alt.md": ALT, "other.md": "# Other\n", "a/near.md": "[[alt]]\n", "img/p.png": "x"}
    return write(tmp_path / "vault", files)


def move(vault: Path, source: str, target: str) -> MovePlan:
    cache = str(vault / ".kbtasks")
    with Writer(str(vault)) as writer:
        with open_view(str(vault), cache) as view:
            plan = plan_move(view.connection, str(vault), source, target)
        apply_move(writer, plan)
    return plan


def states(vault: Path) -> dict[str, list[tuple[str, str]]]:
    """Per note, the meaning of its links: (state, where it leads)."""
    with open_view(str(vault), str(vault / ".kbtasks")) as view:
        rows = view.connection.execute(
            "SELECT source.path, link.state, coalesce(target.path, link.target_path, '') FROM link"
            " JOIN note AS source ON source.rowid = link.note LEFT JOIN note AS target ON target.rowid = link.target_note"
            " ORDER BY source.path, link.ordinal"
        ).fetchall()
    found: dict[str, list[tuple[str, str]]] = {}
    for path, state, target in rows:
        found.setdefault(path, []).append((state, target))
    return found


def test_every_form_follows(vault: Path) -> None:
    before = states(vault)
    move(vault, "a/alt.md", "b/neu 新")

    assert (vault / "forms.md").read_text(encoding="utf-8") == FORMS.replace(
        'up: "[[alt]]"', 'up: "[[neu 新]]"'
    ).replace("refines: a/alt", "refines: b/neu 新").replace(
        "[\"a/alt\", 'a/alt']", "[\"b/neu 新\", 'b/neu 新']"
    ).replace(
        "[[alt]] [[alt|label]] [[a/alt#Teil|x]] ![[alt]] [[alt#^b1]] [[ALT]] [[Alias 旧]]",
        "[[neu 新]] [[neu 新|label]] [[b/neu 新#Teil|x]] ![[neu 新]] [[neu 新#^b1]] [[neu 新]] [[Alias 旧]]",
    ).replace(
        "[m](a/alt.md) [m](<a/alt.md#Teil> \"title # with hash\") [m]( ./a/alt.md 'x' ) [r][ref] [ref] [m](/a/alt.md)",
        "[m](b/neu%20新.md) [m](<b/neu 新.md#Teil> \"title # with hash\") [m]( ./b/neu%20新.md 'x' ) [r][ref] [ref] [m](/b/neu%20新.md)",
    ).replace("[[alt\\|cell]]", "[[neu 新\\|cell]]").replace('[ref]: a/alt.md "Alt"', '[ref]: b/neu%20新.md "Alt"')
    assert (vault / "b/neu 新.md").read_text(encoding="utf-8") == ALT.replace("(near.md)", "(../a/near.md)")
    assert not (vault / "a/alt.md").exists()
    after = states(vault)
    renamed = {
        path.replace("a/alt.md", "b/neu 新.md"): [(s, t.replace("a/alt.md", "b/neu 新.md")) for s, t in links]
        for path, links in before.items()
    }
    assert after == renamed


def test_a_new_name_does_not_capture_links_to_others(tmp_path: Path) -> None:
    vault = write(tmp_path / "vault", {"deep/foo.md": "# Foo\n", "bar.md": "# Bar\n", "x.md": "[[foo]] [[bar]]\n"})
    move(vault, "bar.md", "foo")

    assert (vault / "x.md").read_text() == "[[deep/foo]] [[foo]]\n"
    assert states(vault)["x.md"] == [("ok", "deep/foo.md"), ("ok", "foo.md")]


def test_a_folder_moves_with_its_files(tmp_path: Path) -> None:
    vault = write(
        tmp_path / "vault",
        {
            "p/a.md": "[[b]] ![](pic.png) [b](b.md)\n",
            "p/b.md": "[[a]]\n",
            "p/pic.png": "x",
            "q.md": "[[p/a]] ![[p/pic.png]]\n",
        },
    )
    move(vault, "p", "r/s")

    assert (vault / "q.md").read_text() == "[[r/s/a]] ![[r/s/pic.png]]\n"
    assert (vault / "r/s/a.md").read_text() == "[[b]] ![](pic.png) [b](b.md)\n"
    assert (vault / "r/s/pic.png").read_text() == "x"


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("a/alt.md", "other", AlreadyExists),
        ("a/alt.md", "../out", UsageError),
        ("a/alt.md", "b/x#y", UsageError),
        ("a/alt.md", "a/alt", UsageError),
        ("a", "a/b", UsageError),
        ("nowhere", "x", NotFound),
    ],
)
def test_what_cannot_be_moved_changes_nothing(vault: Path, source: str, target: str, error: type[Exception]) -> None:
    before = {path: path.read_bytes() for path in vault.rglob("*.md")}
    with pytest.raises(error):
        move(vault, source, target)

    assert {path: path.read_bytes() for path in vault.rglob("*.md")} == before


def taken_back(data: bytes, plan: MovePlan, path: str) -> bytes:
    """``data`` with the edits that ``plan`` made in the note ``path`` undone, looking only where the plan says they are."""
    parts: list[bytes] = []
    position = shift = 0
    for edit in (edit for edit in plan.edits if edit.path == path):
        old, new = os.fsencode(edit.old), os.fsencode(edit.new)
        at = data.rindex(new, edit.start + shift, edit.end + shift + len(new) - len(old))
        parts += [data[position:at], old]
        position = at + len(new)
        shift += len(new) - len(old)
    return b"".join([*parts, data[position:]])


@pytest.mark.corpora
def test_fifty_moves_break_nothing(shared: Path, tmp_path: Path) -> None:
    """On a real vault of 6,591 notes: each link of each note leads where it led, and no byte changes but in the
    planned edits: undoing those gives the bytes of before."""
    vault = tmp_path / "vault"
    shutil.copytree(
        shared / "corpora" / "obsidian-hub", vault, ignore=shutil.ignore_patterns(".git"), copy_function=shutil.copyfile
    )
    for folder in [vault, *(path for path in vault.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)
    choice = random.Random(20261130)
    linked = "SELECT DISTINCT path FROM link JOIN note ON note.rowid = link.target_note WHERE link.state = 'ok' ORDER BY path"
    with open_view(str(vault), str(vault / ".kbtasks")) as view:
        paths = [path for (path,) in view.connection.execute(linked)]
    meant = states(vault)
    before = {path.relative_to(vault).as_posix(): path.read_bytes() for path in vault.rglob("*.md")}
    where: dict[str, str] = {}
    plans: list[MovePlan] = []
    chosen = choice.sample(paths, 50)
    batches = [[path] for path in chosen[:5]] + [chosen[start : start + 9] for start in range(5, 50, 9)]
    for batch in batches:  # some one by one, as a person does; some many at once, as a folder goes
        targets = {}
        for path in batch:
            number = chosen.index(path)
            stem = path.rsplit("/", 1)[-1][:-3] if number % 3 == 0 else f"moved note {number} 移"
            target = f"Moved/{number}/{stem}" if number % 2 else f"{path.rsplit('/', 1)[0]}/{stem} {number}"
            targets[path] = target + ".md"
        with Writer(str(vault)) as writer:
            with open_view(str(vault), str(vault / ".kbtasks")) as view:
                if len(batch) == 1:
                    plan = plan_move(view.connection, str(vault), batch[0], targets[batch[0]])
                else:
                    plan = plan_moves(view.connection, str(vault), targets, {})
            apply_move(writer, plan)
        assert plan.unsolved == [] and plan.notes == targets
        where.update(targets)
        plans.append(plan)
    renamed = {
        where.get(path, path): [(state, where.get(target, target)) for state, target in links]
        for path, links in meant.items()
    }
    assert states(vault) == renamed
    now = {path.relative_to(vault).as_posix(): path.read_bytes() for path in vault.rglob("*.md")}
    for plan in reversed(plans):
        back = {new: old for old, new in plan.notes.items()}
        now = {back.get(path, path): data for path, data in now.items()}
        for path in {edit.path for edit in plan.edits}:
            now[path] = taken_back(now[path], plan, path)
    assert now.keys() == before.keys()
    assert [path for path in before if now[path] != before[path]] == []
