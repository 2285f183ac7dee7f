"""A capture killed at every step: the bundle is whole, old or new, or not there; the next capture clears what was left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.captures import article
from support.kill import run_killed_at, steps

from kbtasks.capture import bundle, kept, manifest
from kbtasks.capture.bundle import BundleFile

EXAMPLE = json.loads(
    (Path(__file__).resolve().parent.parent.parent / "schemas" / "capture-manifest.json").read_bytes()
)["examples"][0]


def write(folder: Path, text: str, *, replace: bool) -> None:
    files = [
        BundleFile("salt-mill.md", text.encode(), role="markdown", media_type="text/markdown"),
        BundleFile("assets/a.png", b"png " + text.encode(), role="asset", media_type="image/png"),
    ]
    document = {key: value for key, value in EXAMPLE.items() if key not in ("files", "document", "seal")}
    bundle.write(str(folder), "salt-mill", files, document, replace=replace)


def state(folder: Path) -> str:
    """``absent``, or the text of a whole bundle; anything half is a failure."""
    place = folder / "salt-mill"
    visible = [path.name for path in folder.iterdir() if not path.name.startswith(".")] if folder.exists() else []
    assert set(visible) <= {"salt-mill"}
    if not place.exists():
        return "absent"
    _, problems = kept.verify(str(place))
    assert problems == []
    return (place / "salt-mill.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("swap", [True, False])
@pytest.mark.parametrize("replace", [False, True])
def test_killed_at_every_step(tmp_path: Path, replace: bool, swap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not swap:  # systems that cannot exchange two folders in one step
        monkeypatch.setattr(bundle, "_swap", lambda first, second: False)
    for number in steps():
        folder = tmp_path / str(number)
        if replace:
            write(folder, "old 旧", replace=False)
        if not run_killed_at(number, lambda folder=folder: write(folder, "new 新", replace=replace)):  # type: ignore[misc]
            break
        if replace and not swap:
            bundle.recover(str(folder))  # what any later capture does first
        found = state(folder)
        assert found in ({"old 旧", "new 新"} if replace else {"absent", "new 新"})
        write(folder, "last 終", replace=found != "absent")
        assert state(folder) == "last 終"
        assert [path.name for path in folder.iterdir()] == ["salt-mill"], "leftovers stay"
    assert number >= 5
    assert state(tmp_path / str(number)) == "new 新"


def test_a_whole_clip_killed(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura", reason="the extra capture is not installed")
    from kbtasks.command import Context
    from kbtasks.tasks.clip import clip

    (tmp_path / "page.html").write_bytes(article("<h1>Reeds 葦</h1><p>x</p>"))
    for number in (0, 2, 3, 4):
        vault = tmp_path / f"vault{number}"
        vault.mkdir()
        context = Context(cwd=str(tmp_path), environ=os.environ, common={"root": str(vault)})
        assert run_killed_at(number, lambda context=context: clip(context, "page.html"))  # type: ignore[misc]
        visible = [path for path in (vault / "articles").iterdir() if not path.name.startswith(".")]
        assert all((path / manifest.NAME).is_file() for path in visible)


def test_two_at_once(tmp_path: Path) -> None:
    """Of two captures that race for a name one wins and the other says so."""
    from concurrent.futures import ThreadPoolExecutor

    from kbtasks.errors import KbError

    def one(number: int) -> str:
        try:
            write(tmp_path, f"text {number}", replace=False)
        except KbError as error:
            return error.code
        return "written"

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(8)))
    assert found.count("written") == 1 and set(found) == {"written", "already-exists"}
    assert state(tmp_path).startswith("text")


def test_only_a_bundle_is_replaced(tmp_path: Path) -> None:
    from kbtasks.errors import Refused

    (tmp_path / "salt-mill").mkdir()
    (tmp_path / "salt-mill" / "mine.md").write_text("mine")
    with pytest.raises(Refused):
        write(tmp_path, "x", replace=True)
    assert (tmp_path / "salt-mill" / "mine.md").read_text() == "mine"
