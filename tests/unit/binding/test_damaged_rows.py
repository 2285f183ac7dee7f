"""Rows of the private database with any part missing or of another kind: called damaged by name, never used, never a traceback."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.foreign import Bench

from kbtasks.binding import receipts, shape
from kbtasks.binding.binding import audit_trail, remove_binding
from kbtasks.binding.bound import command_line
from kbtasks.binding.promote import promote
from kbtasks.binding.promotion import Promotion
from kbtasks.binding.registry import decode
from kbtasks.binding.search import search
from kbtasks.binding.stored import overridden_rules
from kbtasks.binding.verify import verify
from kbtasks.binding.worknotes import recent, record
from kbtasks.errors import Conflict

LEFT_OUT = object()
OTHERS = (LEFT_OUT, None, 5, -1, True, "x", "/no\0where", "\ud800", [], {}, 1e308)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a JSON value but itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def damaged(document: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any, dict[str, Any]]]:
    """``document`` with one part left out or replaced, each part and each other value in turn."""
    for path in places(document):
        for other in OTHERS:
            changed = copy.deepcopy(document)
            inner: Any = changed
            for key in path[:-1]:
                inner = inner[key]
            if other is LEFT_OUT:
                del inner[path[-1]]
            elif inner[path[-1]] == other:
                continue
            else:
                inner[path[-1]] = other
            yield path, other, changed


def test_every_part_of_a_binding_that_is_read_is_checked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with bench.place.registry() as registry:
        whole = registry.binding(str(bench.project))
    assert whole is not None
    assert shape.is_binding(whole)
    seen = set()
    with bench.place.registry() as registry:
        for path, other, changed in damaged(whole):
            if shape.is_binding(
                changed
            ):  # of the right kind still: then it is only another fact, which does not verify
                assert other is not LEFT_OUT or isinstance(path[-1], int), path
                with verify(changed["pin"], uid=bench.place.uid, memory=registry) as outcome:
                    seen.add(outcome.ok)
                command_line(outcome, str(bench.store), ["search"])
                overridden_rules(changed["pin"])
                continue
            with pytest.raises(Conflict, match="damaged"):
                decode(str(bench.project), 1, json.dumps(changed))
    assert seen == {True, False}


def test_every_part_of_a_receipt_that_is_read_is_checked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = Promotion(
        project=str(bench.project), task="t", session=None, note="再試行 🪶", title="T", tags=["kb-promoted"]
    )
    whole, _ = promote(bench.place, promotion)
    assert shape.is_receipt(whole, promotion.request)
    for path in ("../../etc/passwd", "/etc/passwd", "retries.md"):
        assert not shape.is_receipt({**whole, "path": path}, promotion.request)
    with bench.place.registry(must_write=True) as registry:
        registry.connection.execute("PRAGMA synchronous = OFF")
        for _, _, changed in damaged(whole):
            with registry.change() as connection:
                connection.execute("UPDATE receipt SET payload = ?", (json.dumps(changed),))
            if shape.is_receipt(changed, promotion.request):
                receipts.vault_state(changed)
                receipts.process_of(changed)
                continue
            with pytest.raises(Conflict, match="damaged"):
                receipts.load(registry, promotion.request)
            assert receipts.listed(registry, str(bench.project), 10) == ([], 1, 1)


def test_a_damaged_binding_is_named_by_every_command_and_can_be_removed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with sqlite3.connect(bench.store / "bindings.db") as connection:
        text = connection.execute("SELECT payload FROM binding").fetchone()[0]
        document = json.loads(text)
        del document["pin"]["start"]
        connection.execute("UPDATE binding SET payload = ?", (json.dumps(document),))
    connection.close()
    with pytest.raises(Conflict) as caught:
        search(bench.place, str(bench.project), "retries")
    assert caught.value.next == "kb bind.remove --force"
    with pytest.raises(Conflict):
        bench.bind()
    with bench.place.registry(must_write=True) as registry:
        remove_binding(registry, str(bench.project), None, force=True)
    bench.bind()
    assert search(bench.place, str(bench.project), "retries")["hits"]


def test_a_damaged_line_of_the_trail_or_of_working_memory_hides_no_other(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.bind(1, vault=str(bench.folder / "home"), override="a test")
    project = str(bench.project)
    with bench.place.registry(must_write=True) as registry:
        for task in ("a", "b", "c"):
            record(registry, project, task=task, title="T", state="completed", summary="", session="")
        for damage in ("[", "5", '[{"fact": 5}]', "[" * 100_000):
            with registry.change() as connection:
                connection.execute("UPDATE audit SET changes = ? WHERE number = 1", (damage,))
                connection.execute("UPDATE task SET payload = ?, updated = 'x' WHERE id = 'b'", (damage,))
            entries, total = audit_trail(registry, project, 10)
            assert (total, len(entries[0]["changes"]) > 1) == (2, True)
            assert entries[1]["changes"] == [{"fact": "damaged", "old": None, "new": None}]
            told, count, unread = recent(registry, project, 1, "")
            assert ([entry["task"] for entry in told], count, unread) == (["c"], 2, 1)
        record(registry, project, task="d", title="T", state="completed", summary="", session="")
