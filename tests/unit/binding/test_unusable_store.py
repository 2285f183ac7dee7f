"""A private store that its own user cannot enter, read or write: said by name with the command that mends it, as that user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import nobody
from support.foreign import Bench

from kbtasks.binding.promote import one_at_a_time, promote
from kbtasks.binding.promotion import Promotion
from kbtasks.errors import PrivateState

FINDER = '#!/bin/sh\necho "{\\"hits\\": []}"\n'


def test_every_command_says_so_for_a_user_without_rights() -> None:
    nobody.interpreter()
    with nobody.folder() as base:
        vault, work, home, tool, store = (base / name for name in ("vault 再", "project", "home", "finder", "store"))
        for path in (vault, work, work / ".git", home):
            path.mkdir()
        store.mkdir(mode=0o700)
        tool.write_text(FINDER)
        tool.chmod(0o755)
        (work / "note.md").write_text("A decision. 🪶\n")
        nobody.own(vault, work, work / ".git", home, tool, store, work / "note.md")
        at = ("--store", str(store))
        bind = ("bind", "--vault", str(vault), "--program", str(tool))
        commands = (
            ("bind.status",),
            ("bind.search", "x"),
            (*bind, "--revision", "1"),
            ("bind.list",),
            ("promote", "t", "--body-file", "note.md"),
            ("promote.receipts",),
            ("promote.recover",),
        )
        assert nobody.kb(*bind, *at, cwd=work, home=home)[0] == 0
        for path, mode, mend in ((store, 0o000, "chmod 700"), (store / "bindings.db", 0o200, "chmod 600")):
            usual = path.stat().st_mode & 0o7777
            path.chmod(mode)
            for words in commands:
                code, document = nobody.kb(*words, *at, cwd=work, home=home)
                assert (code, document["error"]["code"]) == (10, "private-state"), (path, words, document)
                assert document["error"]["next"].startswith(mend)
            path.chmod(usual)
        (store / "promotions").mkdir(mode=0o500)
        nobody.own(store / "promotions")
        for words in commands[4], commands[6]:
            code, document = nobody.kb(*words, *at, cwd=work, home=home)
            assert (code, document["error"]["code"]) == (10, "private-state"), document
        tool.chmod(0o111)
        code, document = nobody.kb(*bind, "--revision", "1", *at, cwd=work, home=home)
        assert (code, document["error"]["next"]) == (5, f"chmod u+r {tool}")


def test_a_lock_that_is_no_file_of_ours_is_refused_before_anything_starts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = Promotion(project=str(bench.project), task="t", session=None, note="再 🪶", title="T", tags=["x"])
    (bench.store / "promotions").mkdir(mode=0o700)
    lock = Path(one_at_a_time(bench.place, promotion.project).path)
    lock.unlink()
    lock.mkdir()
    with pytest.raises(PrivateState, match="not a regular file"):
        promote(bench.place, promotion)
    assert bench.calls == []


def test_a_store_whose_path_is_not_utf8_is_usable_or_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    bench.store = tmp_path / os.fsdecode(b"st\xffore")
    bench.place.store = str(bench.store)
    try:
        bench.bind()
    except PrivateState as error:
        assert "UTF-8" in error.message
    else:
        with bench.place.registry() as registry:
            assert registry.binding(str(bench.project)) is not None
