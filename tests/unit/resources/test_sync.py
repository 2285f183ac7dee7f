"""Sync: explicit selection, receipts as they come, failures that stay pending, and what is refused without a word."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.resources import EXAMPLE, EXAMPLE_ID, SERVICE, Memory, modes, record

from kbtasks.resources import canonical


def ids(memory: Memory) -> list[str]:
    return [item["id"] for item in memory("resource.list", "--limit", "1000")["resources"]]


def test_without_a_provider_nothing_is_sent(memory: Memory) -> None:
    memory.put(EXAMPLE)
    error = memory("sync", "--all", code=10)["error"]
    assert error["code"] == "not-configured"
    assert "unsynced" in error["message"]
    assert memory.run("sync", "--all", "--exit-compat")[0] == 1


def test_selection_is_explicit(memory: Memory) -> None:
    config, target = memory.file_provider()
    memory.put(record("1"), record("2"))
    memory("sync", "--provider-config", config, code=2)
    memory("sync", "--all", "--id", EXAMPLE_ID, "--provider-config", config, code=2)
    error = memory("sync", "--id", "all", "--provider-config", config, code=4)["error"]
    assert "all" in error["message"]
    assert not target.exists()
    first, second = ids(memory)
    assert memory("sync", "--id", first, "--provider-config", config)["confirmed"] == 1
    assert memory("sync", "--id", first, "--id", second, "--id", first, "--provider-config", config)["confirmed"] == 1


def test_file_provider_walk(memory: Memory) -> None:
    config, target = memory.file_provider()
    memory.put(EXAMPLE)
    assert memory.compat("sync", "--all", "--provider-config", config) == {
        "provider": "file", "confirmed": 1, "unchanged": 0, "failures": [], "skippedPending": 0, "remoteSync": "confirmed_for_selection",
    }  # fmt: skip
    assert modes(target) == [0o600]
    assert memory.read(target)["resources"] == [{"id": EXAMPLE_ID, **EXAMPLE}]
    assert memory("sync", "--all", "--provider-config", config)["unchanged"] == 1
    newer = {**EXAMPLE, "summary": "newer", "updatedAt": canonical.after(EXAMPLE["updatedAt"])}
    memory.put(newer)
    assert memory("resource.status", "--provider-config", config)["remoteSync"] == "pending"
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 1
    assert memory("resource.status", "--provider-config", config)["remoteSync"] == "last_sync_confirmed"
    empty = ("--store", str(memory.folder / "empty.db"))
    (hit,) = memory("resource.search", "dialog", "--provider-config", config, *empty, store=False)["results"]
    assert (hit["origin"], hit["citation"]["url"]) == ("remote", EXAMPLE["source"]["url"])
    memory("resource.delete", EXAMPLE_ID)
    assert (
        memory("resource.search", "dialog", "--provider-config", config)["total"] == 0
    )  # hidden by the local deletion
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 1
    document = memory.read(target)
    assert document["resources"] == []
    assert document["tombstones"][0]["id"] == EXAMPLE_ID
    assert "Stale" in memory.put(newer, code=5)["error"]["message"]


def test_partial_failure_keeps_receipts_and_retries_only_the_rest(memory: Memory) -> None:
    log = memory.folder / "log"
    code = f"""
with open({str(log)!r}, "a") as file: file.write(request["id"] + "\\n")
if request["id"] == open({str(memory.folder / "bad")!r}).read(): sys.exit("secret words")
answer()
"""
    config = memory.command_provider(code)
    memory.put(record("1"), record("2"))
    bad = ids(memory)[0]
    (memory.folder / "bad").write_text(bad)
    found = memory("sync", "--all", "--provider-config", config, code=9)
    assert (found["confirmed"], [failure["id"] for failure in found["failures"]]) == (1, [bad])
    assert found["failures"][0]["state"] == "uncertain"
    assert "secret" not in json.dumps(found)
    assert found["remoteSync"] == "incomplete"
    (memory.folder / "bad").write_text("")
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 1
    assert len(log.read_text().split()) == 3


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("answer(id='other')", "uncertain"), ("answer(revision='0' * 64)", "uncertain"), ("answer(ok=False)", "refused"),
        ("answer(protocol='x')", "uncertain"), ("answer(ok=1)", "uncertain"), ("pass", "uncertain"), ("print('{}')", "uncertain"),
        ("sys.stdout.write('x' * (2 << 20))", "uncertain"), ("sys.exit(1)", "uncertain"), ("os.kill(os.getpid(), 9)", "uncertain"),
        ("print('[]')", "uncertain"), ("answer(); print(2)", "confirmed"), ("sys.stderr.write('x' * (1 << 20)); answer()", "confirmed"),
    ],
)  # fmt: skip
def test_what_is_not_exactly_confirmed_stays_pending(memory: Memory, code: str, state: str) -> None:
    memory.put(EXAMPLE)
    config = memory.command_provider(code)
    found = memory("sync", "--all", "--provider-config", config, code=0 if state == "confirmed" else 9)
    assert [failure["state"] for failure in found["failures"]] == ([] if state == "confirmed" else [state])
    assert memory("resource.status", "--provider-config", config)["pending"] == (0 if state == "confirmed" else 1)


def test_the_adapter_gets_the_protocol_and_no_shell(memory: Memory) -> None:
    seen = memory.folder / "seen"
    shell = "$(touch /tmp/never); `id` '\""
    config = memory.command_provider(
        f"json.dump([request, sys.argv[1:], sorted(os.environ)], open({str(seen)!r}, 'w')); answer()", shell
    )
    memory.put({**EXAMPLE, "text": shell})
    memory("sync", "--all", "--provider-config", config)
    request, arguments, environment = json.loads(seen.read_text())
    assert arguments == [shell]
    assert list(request) == ["protocol", "namespace", "operation", "id", "revision", "resource"]
    assert request["resource"]["text"] == shell
    assert canonical.digest(request["resource"]) == request["revision"]
    assert set(environment) <= {"HOME", "PATH", "LANG", "LANGUAGE", "TZ", "LC_CTYPE"} | {
        n for n in environment if n.startswith("LC_")
    }
    from kbtasks import schema

    assert schema.problems("memory-request", request) == []


def test_command_provider_round_trip(memory: Memory) -> None:
    config = memory.command_provider(SERVICE, str(memory.folder / "service.json"))
    memory.put(EXAMPLE)
    memory("sync", "--all", "--provider-config", config)
    assert memory("sync.verify", "--provider-config", config)["verified"] == 1
    empty = ("--store", str(memory.folder / "empty.db"))
    assert memory("resource.search", "keyboard", "--provider-config", config, *empty, store=False)["total"] == 1
    memory("resource.delete", EXAMPLE_ID)
    memory("sync", "--all", "--provider-config", config)
    assert memory.read(memory.folder / "service.json") == {}


def test_dry_run_lists_and_sends_nothing(memory: Memory) -> None:
    config, target = memory.file_provider()
    memory.put(EXAMPLE)
    found = memory("sync", "--all", "--provider-config", config, "--dry-run")
    assert (found["total"], found["changes"][0]["url"]) == (1, EXAMPLE["source"]["url"])
    assert not target.exists()
    assert memory("resource.status", "--provider-config", config)["pending"] == 1


def test_another_configuration_is_another_key(memory: Memory) -> None:
    first, _ = memory.file_provider("a.json")
    second, _ = memory.file_provider("b.json")
    memory.put(EXAMPLE)
    memory("sync", "--all", "--provider-config", first)
    assert memory("resource.status", "--provider-config", second)["pending"] == 1
    assert memory("sync", "--all", "--provider-config", second)["confirmed"] == 1
    with_env = memory.command_provider("answer()", env=["A"])
    document = memory.read(with_env)
    del document["env"]
    keys = [
        memory("resource.status", "--provider-config", config)["key"] for config in (with_env, memory.file(document))
    ]
    assert keys[0] == keys[1]


def test_scopes_and_the_own_store_are_refused(memory: Memory) -> None:
    memory.put(EXAMPLE)
    for scope in ("organization", "team", 5):
        config = memory.file({"kind": "file", "scope": scope, "path": "/x.json"})
        assert "personal" in memory("resource.status", "--provider-config", config, code=5)["error"]["message"]
    link = memory.folder / "link"
    link.symlink_to(memory.store)
    for path in (memory.store, link, memory.store.parent / ".." / "private" / "store.db"):
        config = memory.file({"kind": "file", "scope": "personal", "path": str(path)})
        assert "local store itself" in memory("sync", "--all", "--provider-config", config, code=5)["error"]["message"]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 2}', '{"version": 1}', "\0" * 500, "SQLite format 3\0"]
)
def test_a_broken_target_is_left_as_it_is(memory: Memory, content: str) -> None:
    config, target = memory.file_provider()
    target.write_text(content)
    memory.put(EXAMPLE)
    found = memory("sync", "--all", "--provider-config", config, code=9)
    assert found["failures"][0]["state"] == "not_started"
    assert target.read_text() == content


def test_a_target_that_is_no_file_is_refused(memory: Memory) -> None:
    config, target = memory.file_provider()
    memory.put(EXAMPLE)
    os.mkfifo(target)
    found = memory("sync", "--all", "--provider-config", config, code=9)
    assert "not a regular file" in found["failures"][0]["error"]
    target.unlink()
    target.mkdir()
    memory("sync", "--all", "--provider-config", config, code=9)


def test_locks(memory: Memory) -> None:
    config, target = memory.file_provider()
    memory.put(EXAMPLE)
    lock = Path(str(target) + ".lock")
    lock.touch()  # as another program of the format holds it
    found = memory("sync", "--all", "--provider-config", config, code=9)
    assert "in use" in found["failures"][0]["error"]
    assert lock.exists()
    lock.write_text("kbtasks 999999999\n")  # left behind by a dead process of ours
    memory("sync", "--all", "--provider-config", config)
    assert not lock.exists()
    from kbtasks.resources.sync import provider_lock

    with provider_lock(str(memory.store), found["key"]):
        assert memory("sync", "--all", "--provider-config", config, code=8)["error"]["code"] == "busy"
        memory.put(record("5"))  # the store itself is free


def test_an_emptied_destination_is_not_filled_unasked(memory: Memory) -> None:
    config, target = memory.file_provider()
    memory.put(EXAMPLE)
    memory("sync", "--all", "--provider-config", config)
    target.unlink()
    error = memory("sync", "--all", "--provider-config", config, code=5)["error"]
    assert error["code"] == "mass-change"
    assert memory("sync.verify", "--provider-config", config, code=3)["missing"] == [EXAMPLE_ID]
    assert memory("sync", "--all", "--provider-config", config, "--allow-empty")["confirmed"] == 1


def test_mass_deletion_and_mass_change_need_a_word(memory: Memory) -> None:
    config, target = memory.file_provider()
    memory.put(*(record(str(n)) for n in range(30)))
    memory("sync", "--all", "--provider-config", config)
    for identity in ids(memory)[:16]:
        memory("resource.delete", identity)
    before = target.read_bytes()
    assert "delete 16 of the 30" in memory("sync", "--all", "--provider-config", config, code=5)["error"]["message"]
    assert target.read_bytes() == before
    assert memory("sync", "--all", "--provider-config", config, "--allow-mass-change")["confirmed"] == 16
    memory.put(*(record(f"n{n}") for n in range(16)))
    memory("sync", "--all", "--provider-config", config)
    memory.put(*(record(f"n{n}", summary="x", updatedAt="2026-06-01T00:00:00Z") for n in range(16)))
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 16  # few enough
    everything = [memory.get(identity) for identity in ids(memory)]
    memory.put(*({**item, "summary": "all", "updatedAt": "2026-07-01T00:00:00Z"} for item in everything))
    assert "overwrite 30 of the 30" in memory("sync", "--all", "--provider-config", config, code=5)["error"]["message"]


def test_limits_of_the_target_refuse_only_what_does_not_fit(memory: Memory) -> None:
    from kbtasks.resources.v1 import V1Store

    config, target = memory.file_provider()
    full = V1Store()
    full.tombstones = {f"resource_{n:064x}": "2026-01-01T00:00:00.000Z" for n in range(9_999)}
    target.write_bytes(full.to_bytes())
    memory.put(record("1"), record("2"))
    found = memory("sync", "--all", "--provider-config", config, code=9)
    assert (found["confirmed"], len(found["failures"])) == (1, 1)
    assert "10000 records at most" in found["failures"][0]["error"]


def test_a_deletion_after_the_plan_is_sent_as_one(memory: Memory) -> None:
    from kbtasks.resources import records, sync
    from kbtasks.resources.providers.config import load_provider
    from kbtasks.resources.store import open_store, transaction

    config, target = memory.file_provider()
    memory.put(EXAMPLE)
    provider = load_provider(Path(config).read_bytes(), what=config, store_path=str(memory.store), environ={})
    with open_store(str(memory.store), write=True) as connection:
        plan = sync.make_plan(connection, provider.key, None)
        with transaction(connection):
            records.delete(connection, EXAMPLE_ID)
        assert sync.run(connection, provider, plan)["confirmed"] == 1
    assert memory.read(target)["resources"] == []
    assert memory("resource.status", "--provider-config", config)["pending"] == 0
