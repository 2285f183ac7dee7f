"""The graph of targets: what runs, what does not, and why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from json import loads
from pathlib import Path

import pytest
from support.indexed import write

from kbtasks import schema
from kbtasks.build.run import run_build
from kbtasks.errors import KbError, Unavailable, UsageError

FILES = {
    "index.md": "# Home\n\n<!-- kb:catalog:start -->\n<!-- kb:catalog:end -->\n",
    "a.md": "# A\n\nFirst.\n\nText [[b]].\n",
    "b.md": "# B\n\nSecond.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write(tmp_path / "vault", FILES)


def ran(vault: Path, **more: object) -> list[str]:
    build = run_build(str(vault), str(vault / ".kbtasks"), **more)  # type: ignore[arg-type]
    schema.check("refresh", {"schema": "kbtasks/refresh/1", "dry_run": False, **build.summary()}, what="the result")
    return [outcome.name for outcome in build.outcomes.values() if outcome.state in ("ran", "would-run")]


def test_each_kind_of_edit_runs_what_depends_on_it(vault: Path) -> None:
    assert ran(vault) == ["scan", "structure", "links", "search", "catalog", "backlinks"]
    assert ran(vault) == ["scan"]
    page = (vault / "index.md").stat().st_mtime_ns
    (vault / "a.md").write_text("# A\n\nFirst.\n\nOther words [[b]].\n", encoding="utf-8")
    assert ran(vault) == ["scan", "structure", "search"]
    assert (vault / "index.md").stat().st_mtime_ns == page
    (vault / "a.md").write_text("# A\n\nFirst.\n\nOther words [[b]] [[c]].\n", encoding="utf-8")
    assert ran(vault) == ["scan", "structure", "links", "search", "backlinks"]
    (vault / "b.md").rename(vault / "c.md")
    assert {"links", "catalog", "backlinks"} <= set(ran(vault))
    assert "[[c|B]]" in (vault / "index.md").read_text(encoding="utf-8")
    assert ran(vault) == ["scan"]


def test_backlinks_view(vault: Path) -> None:
    ran(vault)
    document = loads((vault / ".kbtasks/views/backlinks.json").read_bytes())
    schema.check("backlinks-view", document, what="the view")
    assert document["notes"] == [
        {"id": "b", "path": "b.md", "backlinks": [{"id": "a", "path": "a.md", "kind": "wikilink", "count": 1}]}
    ]


def test_losing_doits_state_rebuilds_nothing(vault: Path) -> None:
    ran(vault)
    (vault / ".kbtasks/doit.db").unlink()
    assert ran(vault) == ["scan"]
    (vault / ".kbtasks/doit.db").write_bytes(b"not a database at all, only some words" * 20)
    assert ran(vault) == ["scan"]


def test_losing_the_cache_rebuilds_it_and_leaves_the_page(vault: Path) -> None:
    ran(vault)
    before = (vault / "index.md").read_bytes()
    shutil.rmtree(vault / ".kbtasks")
    assert ran(vault) == ["scan", "structure", "links", "search", "backlinks"]
    assert (vault / "index.md").read_bytes() == before


def test_only_force_and_dry_run(vault: Path) -> None:
    assert ran(vault, dry_run=True) == ["scan", "structure", "links", "search", "catalog", "backlinks"]
    assert not (vault / ".kbtasks").exists()
    assert ran(vault, only=["links"]) == ["scan", "structure", "links"]
    assert ran(vault, only=["search"], force=True) == ["scan", "search"]
    assert ran(vault, only=["links"], force=True) == ["scan", "links"]
    assert ran(vault, force=True) == ["scan", "structure", "links", "search", "catalog", "backlinks"]
    with pytest.raises(UsageError):
        ran(vault, only=["serach"])


def test_a_malformed_page_fails_after_the_rest_has_run(vault: Path) -> None:
    (vault / "index.md").write_text("<!-- kb:catalog:start -->\n", encoding="utf-8")
    with pytest.raises(KbError) as raised:
        ran(vault)
    assert raised.value.code == "malformed-catalog"
    assert (vault / ".kbtasks/views/backlinks.json").exists()


def test_a_cache_that_cannot_be_made(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(Unavailable):
        run_build(str(vault), str(tmp_path / "file" / "cache"))


def test_plain_doit_runs_the_same_graph_without_touching_our_output(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "dodo.py").write_text(
        "from kbtasks.build.dodo import tasks_of\nglobals().update(tasks_of(__file__, root='vault'))\n",
        encoding="utf-8",
    )

    def doit(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "doit", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "HOME": str(tmp_path)},
        )
        return done.stdout

    assert "catalog" in doit("list")
    assert ".  catalog" in doit()
    assert "[[b|B]]" in (vault / "index.md").read_text(encoding="utf-8")
    assert "-- catalog" in doit()
    assert ran(vault) == ["scan"]


@pytest.mark.parametrize("how", [(), ("-P", "thread")])
def test_plain_doit_in_several_processes_or_threads(vault: Path, tmp_path: Path, how: tuple[str, ...]) -> None:
    """SQLite forbids a connection to be used by another thread, or after a fork."""
    done = plain_doit(tmp_path, "-n", "3", *how, "structure", "links", "search", "catalog", "backlinks")
    assert done.returncode == 0, done.stdout + done.stderr
    (vault / "c.md").write_text("# C\n\n[[b]]\n", encoding="utf-8")
    done = plain_doit(tmp_path, "-n", "3", *how, "structure", "links", "search", "catalog", "backlinks")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[[c|C]]" in (vault / "index.md").read_text(encoding="utf-8")
    assert '"c.md"' in (vault / ".kbtasks/views/backlinks.json").read_text(encoding="utf-8") or ran(vault) == ["scan"]


def test_plain_doit_says_why_a_target_failed(vault: Path, tmp_path: Path) -> None:
    (vault / "a.md").write_text("[[nowhere]]\n", encoding="utf-8")
    done = plain_doit(tmp_path, "run", "check")
    assert done.returncode == 1
    assert "The vault has 1 faults." in done.stdout
    assert "next: kb check" in done.stdout


def plain_doit(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (home / "dodo.py").write_text(
        "from kbtasks.build.dodo import tasks_of\nglobals().update(tasks_of(__file__, root='vault'))\n",
        encoding="utf-8",
    )
    env = {**os.environ, "HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "doit", *words], cwd=home, capture_output=True, text=True, check=False, env=env
    )
