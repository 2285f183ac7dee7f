"""The store itself: damaged and foreign files, locks, doctor, gc, export and import."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from support.resources import EXAMPLE, EXAMPLE_ID, Memory, modes, record

from kbtasks.resources import canonical
from kbtasks.resources.store import open_store, transaction


def small(memory: Memory) -> bytes:
    memory.put(*(record(str(n)) for n in range(5)))
    assert sorted(os.listdir(memory.store.parent)) == ["store.db"]
    return memory.store.read_bytes()


COMMANDS = (
    ("resource.list",),
    ("resource.search", "item"),
    ("resource.put", "-"),
    ("resource.doctor",),
    ("resource.gc",),
    ("resource.pending",),
)


@pytest.mark.parametrize("damage", ["cut", "empty", "tail", "nulls", "text", "json", "garbage", "other", "header"])
def test_a_damaged_or_foreign_file_is_refused_and_left(memory: Memory, damage: str) -> None:
    whole = small(memory)
    other = sqlite3.connect(memory.folder / "other.db")
    other.execute("CREATE TABLE t (a)")
    other.close()
    broken = {
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "tail": whole + b'"}\n]\n' * 100,
        "nulls": b"\0" * len(whole),
        "text": b"hello",
        "json": b'{"version": 1}',
        "garbage": os.urandom(4096),
        "other": (memory.folder / "other.db").read_bytes(),
        "header": whole[:100],
    }[damage]
    memory.store.write_bytes(broken)
    bookmarks = memory.file([{"id": "1", "text": "a"}])
    source = memory.source("answer(items=[item(1)])")
    provider, _ = memory.file_provider()
    more = (
        ("resource.capture", "--bookmarks", bookmarks),
        ("resource.pull", "--source-config", source),
        ("sync", "--all", "--provider-config", provider),
    )
    for words in (*COMMANDS, *more):
        error = memory(*words, code=10, input=EXAMPLE)["error"]
        assert error["code"] in {"damaged-store", "foreign-store"}, words
        assert str(memory.store) in error["message"]
    assert memory.store.read_bytes() == broken
    assert memory("resource.list", "--store", str(memory.folder / "second.db"), store=False)["total"] == 0


def test_damage_inside_is_found(memory: Memory) -> None:
    small(memory)
    connection = sqlite3.connect(memory.store)
    connection.execute("UPDATE record SET body = replace(body, 'Item 3', 'Item X')")
    connection.execute("INSERT INTO pending VALUES ('resource_gone', 'k', 'r', 9)")
    connection.execute("DELETE FROM search WHERE rowid = 1")
    connection.commit()
    connection.close()
    found = memory("resource.doctor", code=3)
    assert {finding["kind"] for finding in found["findings"]} == {"record", "relation", "search"}
    bad = next(finding["id"] for finding in found["findings"] if finding["kind"] == "record")
    assert memory("resource.get", bad, code=10)["error"]["code"] == "damaged-store"
    assert "search" not in {f["kind"] for f in memory("resource.doctor", "--rebuild", code=3)["findings"]}
    memory("resource.delete", bad)


def test_a_record_that_is_no_json_any_more_can_be_deleted(memory: Memory) -> None:
    memory.put(EXAMPLE)
    connection = sqlite3.connect(memory.store)
    connection.execute("UPDATE record SET body = '{broken'")
    connection.commit()
    connection.close()
    assert memory("resource.get", EXAMPLE_ID, code=10)["error"]["code"] == "damaged-store"
    assert memory("resource.delete", EXAMPLE_ID)["deleted"] is True
    assert memory("resource.doctor")["ok"] is True


def test_overwritten_pages_are_a_clear_error(memory: Memory) -> None:
    whole = bytearray(small(memory))
    whole[4096 : len(whole)] = os.urandom(len(whole) - 4096)
    memory.store.write_bytes(bytes(whole))
    for words in COMMANDS[:3]:
        assert memory(*words, code=10, input=EXAMPLE)["error"]["code"] == "damaged-store"
    assert memory.run("resource.doctor")[0] in {3, 10}
    assert memory.store.read_bytes() == bytes(whole)


def test_a_busy_store_fails_promptly_and_reading_goes_on(memory: Memory) -> None:
    memory.put(EXAMPLE)
    holder = sqlite3.connect(memory.store, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    for words in (("resource.put", "-"), ("resource.delete", EXAMPLE_ID)):
        assert memory(*words, input=record("2"), code=8)["error"]["code"] == "busy"
    assert memory.run("resource.put", "-", "--exit-compat", input=record("2"))[0] == 1
    assert memory("resource.list")["total"] == 1
    holder.close()
    assert memory.put(record("2"))["added"] == 1


def test_a_store_of_another_user_or_folder(memory: Memory) -> None:
    small(memory)
    folder = memory.folder / "adir"
    folder.mkdir()
    assert memory("resource.list", "--store", str(folder), store=False, code=10)["error"]["code"] == "foreign-store"
    assert memory("resource.put", "-", "--store", str(memory.file("x") + "/a.db"), input=EXAMPLE, store=False, code=10)
    link = memory.folder / "link.db"
    link.symlink_to(memory.store)
    assert memory("resource.list", "--store", str(link), store=False)["total"] == 5
    memory("resource.put", "-", "--store", str(link), input=EXAMPLE, store=False)
    assert link.is_symlink()
    assert memory("resource.status")["resources"] == 6


def test_a_future_format_is_refused(memory: Memory) -> None:
    small(memory)
    connection = sqlite3.connect(memory.store)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "newer" in memory("resource.list", code=10)["error"]["message"]


def test_gc_keeps_the_ledger_and_waits_for_every_provider(memory: Memory) -> None:
    first, _ = memory.file_provider("a.json")
    second, _ = memory.file_provider("b.json")
    bookmarks = memory.file([{"id": "123", "text": "secretword " * 10}])
    memory("resource.capture", "--bookmarks", bookmarks)
    identity = canonical.resource_id("x", "123")
    (item,) = memory("resource.pending")["items"]
    review = {name: item[name] for name in ("id", "sourceRevision", "resourceRevision")}
    memory("resource.distill", "-", input={**review, "summary": "", "purpose": "", "useWhen": [], "limitations": []})
    for config in (first, second):
        memory("sync", "--all", "--provider-config", config)
    memory("resource.delete", identity)
    memory("sync", "--all", "--provider-config", first)
    waiting = memory("resource.gc")
    assert (waiting["collected"], waiting["waiting"]) == (0, 1)
    key = memory("resource.status", "--provider-config", second)["key"]
    assert waiting["waitingFor"] == [{"key": key, "kind": "file", "unconfirmed": 1}]
    assert memory("resource.gc", "--abandon", key, "--dry-run")["collected"] == 1
    memory("sync", "--all", "--provider-config", second)
    assert memory("resource.gc")["collected"] == 1
    assert memory("resource.list", "--deleted")["resources"] == [
        {"id": identity, "deletedAt": memory("resource.list", "--deleted")["resources"][0]["deletedAt"]}
    ]
    assert memory("resource.capture", "--bookmarks", bookmarks)["skippedDeleted"] == 1
    third, _ = memory.file_provider("c.json")
    assert memory("sync", "--all", "--provider-config", third)["confirmed"] == 0
    assert b"secretword" not in b"".join(path.read_bytes() for path in memory.store.parent.iterdir())
    assert memory("resource.gc")["collected"] == 0


def test_gc_removes_what_dead_processes_left(memory: Memory) -> None:
    memory.put(EXAMPLE)
    left = memory.store.parent / ".kbtasks-tmp-999999999-abc"
    left.write_text("private")
    kept = memory.store.parent / f".kbtasks-tmp-{os.getpid()}-abc"
    kept.write_text("in use")
    assert memory("resource.doctor", code=3)["findings"][0]["kind"] == "left-behind"
    memory("resource.gc")
    assert not left.exists()
    assert kept.exists()


def full_store(memory: Memory) -> None:
    config = memory.source(
        'answer(items=[item(1, updatedAt="2026-01-01T00:00:00Z"), item(2), 5], nextCursor="n")', pagination="cursor"
    )
    memory("resource.pull", "--source-config", config, "--max-pages", "1", code=9)
    memory.put({**EXAMPLE, "extras": {"tags": ["t"], "note": "n"}}, record("3"), record("4"))
    provider, _ = memory.file_provider()
    memory("sync", "--id", EXAMPLE_ID, "--provider-config", provider)
    memory("resource.delete", canonical.resource_id("demo", "4"))


def test_v1_round_trip_is_lossless(memory: Memory) -> None:
    full_store(memory)
    first = memory.folder / "first.json"
    found = memory("resource.export", str(first), "--format", "v1")
    assert (found["resources"], found["tombstones"]) == (4, 1)
    assert modes(first) == [0o600]
    other = Memory(memory.folder / "other")
    other.folder.mkdir()
    taken = other("resource.import", str(first))
    assert (taken["format"], taken["added"], taken["tombstones"], taken["receipts"]) == ("v1", 4, 1, 1)
    second = memory.folder / "second.json"
    other("resource.export", str(second), "--format", "v1")
    assert second.read_bytes() == first.read_bytes()
    assert other("resource.import", str(first))["unchanged"] == 4
    assert other("resource.doctor")["ok"] is True
    memory("resource.export", str(first), code=5)
    memory("resource.export", str(first), "--force")


def test_lines_carry_everything(memory: Memory) -> None:
    full_store(memory)
    first, second = (str(memory.folder / name) for name in ("a.jsonl", "b.jsonl"))
    memory("resource.export", first)
    other = Memory(memory.folder / "other")
    other.folder.mkdir()
    assert other("resource.import", first)["format"] == "jsonl"
    other("resource.export", second)
    assert Path(first).read_bytes() == Path(second).read_bytes()
    assert other("resource.list", "--tag", "t")["total"] == 1
    assert other("resource.doctor")["ok"] is True


def test_an_import_keeps_what_is_later(memory: Memory) -> None:
    memory.put(record("1", title="old"), record("2"), record("3", title="later here", updatedAt="2026-09-01T00:00:00Z"))
    path = memory.folder / "x.json"
    other = Memory(memory.folder / "other")
    other.folder.mkdir()
    other.put(record("1", title="new", updatedAt="2026-08-01T00:00:00Z"), record("3", title="older"), record("4"))
    memory("resource.delete", canonical.resource_id("demo", "2"))
    other.put(record("2"))
    other("resource.export", str(path), "--format", "v1")
    found = memory("resource.import", str(path))
    assert (found["added"], found["updated"], found["skippedOlder"]) == (1, 1, 2)
    assert sorted(memory.titles()) == ["Item 4", "later here", "new"]


def test_a_legacy_alias_is_sent_once_more_and_queues_nothing(memory: Memory) -> None:
    url = "https://x.com/i/web/status/123"
    resource = {**EXAMPLE, "source": {"provider": "x", "id": "123", "url": url}}
    memory.put(resource)
    identity = canonical.resource_id("x", "123")
    alias = {
        "id": identity,
        **resource,
        "source": {"provider": "x", "id": "123", "url": "https://twitter.com/a/status/123"},
    }
    provider, target = memory.file_provider()
    key = memory("resource.status", "--provider-config", provider)["key"]
    v1 = {"version": 1, "resources": [alias], "tombstones": [], "receipts": {key: {identity: canonical.digest(alias)}}}
    target.write_text(canonical.pretty({**v1, "receipts": {}}))
    old = Memory(memory.folder / "old")
    old.folder.mkdir()
    old("resource.import", old.file(v1))
    assert old.get(identity)["source"]["url"] == url
    status = old("resource.status", "--provider-config", provider)
    assert (status["pending"], status["pendingDistillation"]) == (1, 0)
    assert old("sync", "--all", "--provider-config", provider)["confirmed"] == 1
    assert [held["source"]["url"] for held in memory.read(target)["resources"]] == [url]
    assert old("sync", "--all", "--provider-config", provider)["unchanged"] == 1


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"version": 2}, "/version"), ({"version": True}, "/version"), ({"resources": {}}, "/resources"), ({"resources": [5]}, "/resources/0"),
        ({"tombstones": [{"id": "x", "deletedAt": "2026-01-01T00:00:00Z"}]}, "/tombstones/0/id"), ({"receipts": []}, "/receipts"),
        ({"receipts": {"k": {}}}, "/receipts/k"), ({"ingestion": {"pending": {"x": {}}}}, "/ingestion/pending/x"),
        ({"ingestion": {"sources": {"0" * 64: {"active": 1}}}}, "/ingestion/sources/" + "0" * 64),
        ({"resources": [{**record("1")}, {**record("1")}]}, "/resources/1"),
    ],
)  # fmt: skip
def test_a_v1_store_is_read_whole_or_not_at_all(memory: Memory, change: dict, pointer: str) -> None:
    v1 = {"version": 1, "resources": [], "tombstones": [], "receipts": {}, **change}
    assert memory("resource.import", "-", input=v1, code=2)["error"]["details"]["pointer"] == pointer
    assert not memory.store.exists()


def test_v1_limits_are_kept(memory: Memory) -> None:
    with open_store(str(memory.store), write=True) as connection, transaction(connection):
        connection.executemany(
            "INSERT INTO tombstone (id, deleted_at, revision, seq) VALUES (?, '2026-01-01T00:00:00.000Z', 'x', 1)",
            [(f"resource_{n:064x}",) for n in range(10_001)],
        )
    error = memory("resource.export", str(memory.folder / "x.json"), "--format", "v1", code=5)["error"]
    assert "10000" in error["message"]
    assert "jsonl" in error["next"]
    assert not (memory.folder / "x.json").exists()


def test_half_characters_of_another_program_survive(memory: Memory) -> None:
    half = {**record("1"), "title": "cut \ud83e", "text": "nul \0 here"}
    v1 = {"version": 1, "resources": [half], "tombstones": [], "receipts": {}}
    memory("resource.import", "-", input=v1)
    path = memory.folder / "out.json"
    memory("resource.export", str(path), "--format", "v1")
    assert memory.read(path)["resources"][0]["title"] == "cut \ud83e"
    assert memory("resource.search", "item cut here")["total"] == 1
    assert memory("resource.doctor")["ok"] is True


@pytest.mark.parametrize(
    "line",
    ["5", "{}", "[", '{"receipt": {}}', '{"receipt": 5}', '{"seen": {"source": {}, "digest": "x"}}', '{"what": {"a": 1}}', '{"resource": {}}',
     '{"tombstone": {"id": "x"}}', '{"seen": {"source": "\\ud800", "digest": "x"}}', '{"provider": {"key": null, "kind": 1, "firstUsed": 1, "lastUsed": 2}}',
     '{"source": {"key": "k"}}', '{"quarantine": {"source": 1e400}}'],
)  # fmt: skip
def test_bad_lines_are_refused_or_reported(memory: Memory, line: str) -> None:
    text = '{"format":"kbtasks-resources","version":1}\n' + line + "\n"
    assert memory("resource.import", memory.file(text), code=2)["error"]["code"] in {"not-json", "invalid-record"}
    assert memory("resource.import", memory.file(text), "--skip-bad", code=9)["problemCount"] == 1
