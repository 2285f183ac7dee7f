"""The law of freshness: any edits, then an incremental refresh, give what a rebuild from nothing gives."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.indexed import assert_sound, assert_true, opened, write

NAMES = ["a.md", "A.md", "b.md", "sub/a.md", "sub/b.md", "sub/deep/a.md", "日本 語.md", "sub/é.md", "x.png", "sub/x.png",
         "README.md", "sub/index.md", "AGENTS.md", "odd[1]#.md", "v1.2.md", ".hidden/a.md", "node_modules/a.md"]  # fmt: skip
LINKS = ["[[a]]", "[[A]]", "[[b#One]]", "[[b#^blk]]", "[[sub/a|label]]", "[[deep/a]]", "![[x.png]]", "[t](b.md)", "[t](sub/a.md#one)",
         "[t](../a.md)", "[[日本 語]]", "[[é]]", "[[the alias]]", "[[A Title]]", "[[#Two]]", "[[nowhere]]", "[u](https://e.test/)", "[[v1.2]]",
         "[[sub/]]", "[[README]]", "![i](x%20y.png)", "[[AGENTS.md]]", "[[..]]", "[d](sub/)", "[[odd[1]#]]"]  # fmt: skip
HEADS = ["", "---\naliases: [the alias]\n---\n", "---\ntitle: A Title\ntags: [t/u]\n---\n", "---\ntitle: [broken\n---\n",
         "---\nrelated: '[[a]]'\nrelations:\n  supersedes: '[[b]]'\n---\n", "---\nrepository_scopes: [src/x]\n---\n"]  # fmt: skip
BODIES = ["word alpha\n", "# One\n\ntext ^blk\n", "# Two\n## One\n#tag 中文 字\n", "", "x\n" * 50]

#: Where every sequence begins: notes that between them hold every link, so that any edit changes what some link means.
BASE = {
    "a.md": HEADS[1] + BODIES[1] + " ".join(LINKS[::2]),
    "sub/b.md": HEADS[2] + BODIES[2] + " ".join(LINKS[1::2]),
    "sub/deep/c.md": " ".join(LINKS),
    "x.png": "",
    "b.md": "# One\n\ntext ^blk\n",
}

note_text = st.builds(
    lambda head, body, links: head + body + " ".join(links) + "\n",
    st.sampled_from(HEADS),
    st.sampled_from(BODIES),
    st.lists(st.sampled_from(LINKS), max_size=4),
)
names = st.sampled_from(NAMES)
edits = st.one_of(
    st.tuples(st.just("write"), names, note_text),
    st.tuples(st.just("write"), names, note_text),
    st.tuples(st.just("same-size"), names, st.just("")),
    st.tuples(st.just("delete"), names, st.just("")),
    st.tuples(st.just("rename"), names, names),
    st.tuples(
        st.just("move-folder"),
        st.sampled_from(["sub", "sub/deep", "other"]),
        st.sampled_from(["sub", "other", "other/deep"]),
    ),
    st.tuples(st.just("touch"), names, st.just("")),
    st.tuples(st.just("link"), names, names),
    st.tuples(st.just("bytes"), names, st.sampled_from(["\\xff\\xfe", "caf\\xe9 [[a]]", "\\x00"])),
    st.tuples(
        st.just("settings"),
        st.just(""),
        st.sampled_from(["", '[vault]\nignore = ["sub"]\n', '[vault]\nindex = "b.md"\n']),
    ),
)


def apply(root: Path, edit: tuple[str, str, str]) -> None:
    """Do one edit; what the file system refuses is not done."""
    kind, name, other = edit
    path = root / name
    try:
        if kind == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(other, encoding="utf-8")
        elif kind == "same-size":
            before = path.stat()
            path.write_bytes(bytes(path.read_bytes()).replace(b"alpha", b"bravo").replace(b"One", b"Two"))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif kind == "delete":
            path.unlink()
        elif kind == "rename":
            (root / other).parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, root / other)
        elif kind == "move-folder":
            if (root / other).exists():
                shutil.rmtree(root / other)
            (root / other).parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, root / other)
        elif kind == "touch":
            os.utime(path, ns=(10**18, 10**18 + 5))
        elif kind == "link":
            path.symlink_to(root / other)
        elif kind == "bytes":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(other.encode("ascii").decode("unicode_escape").encode("latin-1"))
        elif kind == "settings":
            (root / "kb.toml").write_text(other, encoding="utf-8")
    except OSError:
        pass


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edits")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(st.lists(st.lists(edits, min_size=1, max_size=4), min_size=2, max_size=6))
def test_incremental_equals_rebuild(place: Path, rounds: list[list[tuple[str, str, str]]]) -> None:
    root = place / "vault"
    for folder in (root, place / "vault.cache"):
        shutil.rmtree(folder, ignore_errors=True)
    write(root, BASE)
    for number, batch in enumerate(rounds):
        for edit in batch:
            apply(root, edit)
        with opened(root) as view:
            assert view.persistent
            assert view.fresh.how != "rebuilt" or any(kind == "settings" for kind, _, _ in batch), view.fresh.reason
            assert_true(root, view)
            if number == len(rounds) - 1:
                assert_sound(view)
