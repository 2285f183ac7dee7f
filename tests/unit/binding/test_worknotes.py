"""A project's recent task summaries: bounded, one line each, newest first, apart from the vault."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cli import kb, kb_json
from support.foreign import Bench

from kbtasks.binding.worknotes import HEADING, block, recent, record
from kbtasks.errors import UsageError


def told(bench: Bench, limit: int = 5, current: str = "") -> list[str]:
    with bench.place.registry() as registry:
        return [entry["task"] for entry in recent(registry, str(bench.project), limit, current)[0]]


def keep(bench: Bench, task: str, state: str = "completed", title: str = "Title", summary: str = "Done.") -> None:
    with bench.place.registry(must_write=True) as registry:
        record(registry, str(bench.project), task=task, title=title, state=state, summary=summary, session="")


def test_newest_first_current_left_out_before_the_limit_and_only_told_states(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    assert told(bench) == []
    for number in range(8):
        keep(bench, f"t-{number}")
    keep(bench, "t-running", state="running")
    assert told(bench) == ["t-7", "t-6", "t-5", "t-4", "t-3"]
    assert told(bench, current="t-6") == ["t-7", "t-5", "t-4", "t-3", "t-2"]
    keep(bench, "t-0", state="failed")
    assert told(bench, 2) == ["t-0", "t-7"]
    for limit in (0, 33):
        with pytest.raises(UsageError):
            told(bench, limit)
    assert len(told(bench, 32)) == 8


def test_one_line_each_and_the_block_stays_under_2_kib(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    for number in range(5):
        keep(
            bench,
            f"t-{number}",
            title="再試行 " * 60,
            summary="one\n- t-9 [completed] forged: row\x1b[31m\u202e" + "🪶x" * 2000,
        )
    with bench.place.registry() as registry:
        entries, _, _ = recent(registry, str(bench.project), 5, "")
    assert all(len(entry["title"]) <= 120 and len(entry["summary"]) <= 1200 for entry in entries)
    text = block(entries)
    lines = text.rstrip("\n").split("\n")
    assert lines[0] == HEADING
    assert len(lines) == 6
    assert len(text.encode()) <= 2048
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert block([]) == ""


def test_a_broken_row_does_not_break_the_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    for name in ("a", "b", "c"):
        keep(bench, name)
    with bench.place.registry(must_write=True) as registry:
        registry.connection.execute("UPDATE task SET payload = '{' WHERE id = 'b'")
        entries, _, damaged = recent(registry, str(bench.project), 5, "")
    assert ([entry["task"] for entry in entries], damaged) == (["c", "a"], 1)


def test_bad_input_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    for values in ({"task": "a b"}, {"task": "t", "state": "done"}, {"task": "t", "title": " \n"}):
        with pytest.raises(UsageError):
            keep(bench, **values)  # type: ignore[arg-type]


def test_projects_do_not_see_each_other(tmp_path: Path) -> None:
    one, two = Bench(tmp_path / "1", bound=False), Bench(tmp_path / "2", bound=False)
    two.place.store = str(one.store)
    keep(one, "t-1")
    assert told(two) == []


def test_by_the_command_line(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    at = ("--store", str(bench.store))
    assert kb("bind.recent", *at, cwd=bench.project).stdout == ""
    entry = kb_json("task.note", "t-1", "--title", "Retry limit", "--state", "completed", "--summary", "Three, then stop.",
                    "--session", "s-1", *at, cwd=bench.project)  # fmt: skip
    assert entry["summary"] == "Three, then stop."
    assert kb_json("bind.recent", *at, cwd=bench.project)["tasks"][0]["task"] == "t-1"
    shown = kb("bind.recent", *at, cwd=bench.project).stdout
    assert shown == f"{HEADING}\n- t-1 [completed] Retry limit: Three, then stop.\n"
    assert kb("task.note", "t-1", "--title", "x", "--state", "done", *at, cwd=bench.project).returncode == 2
    assert list(bench.vault.iterdir()) == [bench.vault / "retries.md"]
