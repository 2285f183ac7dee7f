"""put, get, delete, status: what the compatible program's own tests claim, and where this one is stricter."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.resources import EXAMPLE, EXAMPLE_ID, Memory, modes, record

from kbtasks.resources import canonical


def later(resource: dict, milliseconds: int = 1, **changes: object) -> dict:
    return {**resource, "updatedAt": canonical.after(resource["updatedAt"], milliseconds), **changes}


def test_put_and_get(memory: Memory) -> None:
    assert memory.compat("resource.put", memory.file(EXAMPLE)) == {
        "added": 1,
        "updated": 0,
        "unchanged": 0,
        "total": 1,
        "remoteSync": "not_attempted",
    }
    assert memory.get(EXAMPLE_ID) == {"id": EXAMPLE_ID, **EXAMPLE}
    assert memory("resource.inspect", EXAMPLE_ID)["resourceRevision"].startswith("5069de4b")


def test_stable_ids_deduplicate_and_newer_updates_apply(memory: Memory) -> None:
    memory.put(EXAMPLE)
    assert memory.put(EXAMPLE)["unchanged"] == 1
    changed = later(EXAMPLE, title="Another title", summary="x")
    assert memory.put(changed)["updated"] == 1
    assert memory.get(EXAMPLE_ID)["title"] == "Another title"
    assert memory.put(later(changed))["updated"] == 1  # a later time alone is a new revision


@pytest.mark.parametrize(
    ("batch", "word"),
    [
        ([EXAMPLE], "Stale"),
        ([later(EXAMPLE, 1, title="other")], "Conflicting"),
        ([record("1"), record("2"), record("1")], "Duplicate"),
        ([record("3"), EXAMPLE], "Stale"),
    ],
)
def test_a_refused_batch_changes_nothing(memory: Memory, batch: list, word: str) -> None:
    memory.put(later(EXAMPLE))
    before = memory("resource.export", str(memory.folder / "a.jsonl"))["sha256"]
    code, out, err = memory.run("resource.put", "-", input=batch)
    assert code in {2, 5}
    assert word in err
    assert out == ""
    assert memory("resource.export", str(memory.folder / "b.jsonl"))["sha256"] == before
    assert memory.run("resource.put", "-", "--exit-compat", input=batch)[0] == 1


def test_the_store_is_private_and_parents_keep_their_mode(memory: Memory) -> None:
    memory.folder.chmod(0o755)
    memory.put(EXAMPLE)
    assert modes(memory.folder, memory.store.parent, memory.store) == [0o755, 0o700, 0o600]
    assert sorted(os.listdir(memory.store.parent)) == ["store.db"]
    memory.store.chmod(0o644)
    from kbtasks.resources.store import open_store, transaction

    with open_store(str(memory.store), write=True) as connection, transaction(connection):
        connection.execute("UPDATE counter SET value = value + 1")
        files = [memory.store.parent / name for name in os.listdir(memory.store.parent)]
        assert len(files) == 3
        assert modes(*files) == [0o600] * 3


def test_put_takes_object_array_and_lines(memory: Memory) -> None:
    assert memory.put(record("1"))["added"] == 1
    assert memory.put(record("2"), record("3"))["added"] == 2
    lines = "\n".join(json.dumps(record(str(n))) for n in range(4, 7)) + "\n\n"
    assert memory("resource.put", memory.file(lines))["added"] == 3
    assert memory("resource.put", "-", input=[], code=2)["error"]["code"] == "usage"
    memory("resource.put", "-", input=[record(str(n)) for n in range(1001)], code=2)
    assert memory("resource.status")["resources"] == 6


def test_unknown_fields_are_dropped_and_lists_cleaned(memory: Memory) -> None:
    memory.put(
        {
            **record("1"),
            "extra": 1,
            "useWhen": [" a ", "", "a", "b"],
            "source": {**record("1")["source"], "provider": " DEMO ", "x": 1},
        }
    )
    (item,) = memory("resource.list")["resources"]
    found = memory.get(item["id"])
    assert found["useWhen"] == ["a", "b"]
    assert found["source"]["provider"] == "demo"
    assert "extra" not in found


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"title": None}, "/title"),
        ({"title": "x" * 501}, "/title"),
        ({"title": "🪶" * 251}, "/title"),
        ({"text": "x" * 50_001}, "/text"),
        ({"useWhen": "a"}, "/useWhen"),
        ({"useWhen": ["a"] * 41}, "/useWhen"),
        ({"limitations": ["a", 1]}, "/limitations/1"),
        ({"savedReason": 1}, "/savedReason"),
        ({"updatedAt": "2026-05-01T08:00:00"}, "/updatedAt"),
        ({"updatedAt": 5}, "/updatedAt"),
        ({"id": "resource_1"}, "/id"),
        ({"id": None}, "/id"),
        ({"source": []}, "/source"),
        ({"source": {"provider": "a b", "id": "1", "url": "https://a/"}}, "/source/provider"),
        ({"source": {"provider": "a", "id": " ", "url": "https://a/"}}, "/source/id"),
        ({"source": {"provider": "a", "id": "x" * 513, "url": "https://a/"}}, "/source/id"),
        ({"source": {"provider": "a", "id": 1.5, "url": "https://a/"}}, "/source/id"),
        ({"source": {"provider": "a", "id": True, "url": "https://a/"}}, "/source/id"),
        ({"source": {"provider": "a", "id": "1", "url": "http://a/"}}, "/source/url"),
        ({"source": {"provider": "a", "id": "1", "url": "https://u:p@a/"}}, "/source/url"),
        ({"design": None}, "/design"),
        ({"extras": {"tags": "a"}}, "/extras/tags"),
        ({"extras": {"postedAt": "yesterday"}}, "/extras/postedAt"),
    ],
)
def test_bad_fields_are_named_by_pointer(memory: Memory, change: dict, pointer: str) -> None:
    error = memory("resource.put", "-", input={**record("1"), **change}, code=2)["error"]
    assert error["details"]["pointer"] == pointer
    assert not memory.store.exists()


def test_a_missing_reason_is_refused_and_null_kept(memory: Memory) -> None:
    without = record("1")
    del without["savedReason"]
    assert memory.put(without, code=2)["error"]["details"]["pointer"] == "/savedReason"
    memory.put(record("1"))


def test_skip_bad_sets_rows_aside(memory: Memory) -> None:
    memory.put(later(record("9")))
    batch = [
        record("1"),
        "tombstone",
        {**record("2"), "title": 5},
        record("1", title="again"),
        record("9", title="old"),
        record("3"),
    ]
    found = memory("resource.put", "-", "--skip-bad", input=batch, code=9)
    assert found["added"] == 2
    assert [bad["item"] for bad in found["skipped"]] == [1, 2, 3, 4]
    assert "Stale" in found["skipped"][3]["reason"]
    assert memory("resource.put", "-", input=batch, code=2)["error"]["message"].count("/") >= 3


def test_exact_whole_numbers_are_ids(memory: Memory) -> None:
    big = 1893456789012345671
    memory.put({**record("1"), "source": {"provider": "demo", "id": big, "url": "https://birds.example/a"}})
    assert memory("resource.list")["resources"][0]["sourceId"] == str(big)


def test_secrets_in_urls_are_warned_of(memory: Memory) -> None:
    secret = {
        **record("1"),
        "source": {"provider": "demo", "id": "1", "url": "https://a.example/?access_token=abcdefgh12"},
    }
    assert "access_token" in memory.put(secret)["warnings"][0]


def test_delete_leaves_a_mark_and_restore_needs_a_later_time(memory: Memory) -> None:
    memory.put(EXAMPLE)
    assert memory.compat("resource.delete", EXAMPLE_ID) == {"deleted": True, "remoteSync": "pending_explicit_sync"}
    assert memory.compat("resource.delete", EXAMPLE_ID) == {"deleted": False, "remoteSync": "not_attempted"}
    assert memory("resource.get", EXAMPLE_ID, code=4)["error"]["code"] == "not-found"
    assert memory.run("resource.get", "nonsense", "--exit-compat")[0] == 1
    (gone,) = memory("resource.list", "--deleted")["resources"]
    assert gone["title"] == EXAMPLE["title"]
    assert "Stale" in memory.put(EXAMPLE, code=5)["error"]["message"]
    at = {**EXAMPLE, "updatedAt": gone["deletedAt"]}
    assert "Stale" in memory.put(at, code=5)["error"]["message"]
    assert memory.put(later(at))["added"] == 1
    assert memory("resource.list", "--deleted")["total"] == 0


def test_a_far_future_record_can_still_be_deleted(memory: Memory) -> None:
    memory.put(record("1", updatedAt="9998-12-30T00:00:00Z"))
    memory.put(record("2", updatedAt="9999-12-31T23:59:59.999Z"), code=2)
    identity = memory("resource.list")["resources"][0]["id"]
    assert memory("resource.delete", identity)["deletedAt"] == "9998-12-30T00:00:00.001Z"


def test_status_without_a_store_creates_nothing(memory: Memory) -> None:
    assert memory.compat("resource.status") == {
        "resources": 0, "tombstones": 0, "pendingDistillation": 0, "resumableSources": 0, "provider": None, "pending": 0,
        "remoteSync": "not_configured", "note": "No memory provider is configured; nothing leaves this store.",
    }  # fmt: skip
    memory("resource.list")
    memory("resource.search", "x")
    memory("resource.pending")
    assert memory("resource.delete", EXAMPLE_ID)["deleted"] is False
    assert memory("resource.doctor")["exists"] is False
    assert memory("resource.gc")["collected"] == 0
    assert not memory.store.parent.exists()


def test_extras_have_their_own_rule(memory: Memory) -> None:
    memory.put({**EXAMPLE, "extras": {"tags": ["a", "a", " b "], "author": {"handle": "me"}, "unknown": 1, "note": ""}})
    assert memory.get(EXAMPLE_ID)["extras"] == {"author": {"handle": "me"}, "tags": ["a", "b"]}
    assert memory.put(EXAMPLE)["extrasUpdated"] == 0  # none named: kept
    found = memory.put({**EXAMPLE, "extras": {"tags": ["c"]}})
    assert (found["unchanged"], found["extrasUpdated"]) == (1, 1)
    assert memory("resource.list", "--tag", "C")["total"] == 1
    assert memory("resource.list", "--tag", "a")["total"] == 0
    assert memory("resource.inspect", EXAMPLE_ID)["resourceRevision"].startswith("5069de4b")
    memory.put({**EXAMPLE, "extras": None})
    assert "extras" not in memory.get(EXAMPLE_ID)


def test_the_default_store_is_in_the_data_folder(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    memory("resource.put", "-", input=EXAMPLE, store=False)
    assert (tmp_path / "data" / "kbtasks" / "resources.db").is_file()
    assert memory("resource.status", store=False)["resources"] == 1
