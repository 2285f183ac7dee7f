"""Pull: pages, resuming, what a source may not say, and how items meet what is stored."""

from __future__ import annotations

import json

import pytest
from support.resources import Memory, record

from kbtasks.resources import canonical
from kbtasks.resources.store import open_store

TWO_PAGES = """
if request["cursor"] is None and request["checkpoint"] is None:
    answer(items=[item(1), item(2)], nextCursor="p2", checkpoint="ignored")
if request["cursor"] == "p2":
    answer(items=[item(2), item(3)], checkpoint="c1")
if request["cursor"] is None and request["checkpoint"] == "c1":
    answer(items=[item(1, text="changed"), item(4)], checkpoint="c2")
answer(items=[], checkpoint=request["checkpoint"])
"""
CURSOR = {"pagination": "cursor", "incremental": "checkpoint"}


def identity(number: int | str) -> str:
    return canonical.resource_id("demo", str(number))


def distill_all(memory: Memory, **more: object) -> None:
    items = memory("resource.pending", "--limit", "100")["items"]
    reviews = [
        {
            **{name: item[name] for name in ("id", "sourceRevision", "resourceRevision")},
            "summary": "reviewed",
            "purpose": "p",
            "useWhen": [],
            "limitations": [],
            **more,
        }
        for item in items
    ]
    memory("resource.distill", "-", input=reviews)


def test_the_whole_walk(memory: Memory) -> None:
    config = memory.source(TWO_PAGES, **CURSOR)
    provider, target = memory.file_provider()
    first = memory.compat("resource.pull", "--source-config", config)
    assert first["pages"] == 2
    assert (first["received"], first["added"], first["unchanged"], first["state"]) == (4, 3, 1, "complete")
    assert first["coverage"] == "full"
    blocked = memory("sync", "--all", "--provider-config", provider, code=9)
    assert (blocked["skippedPending"], blocked["remoteSync"]) == (3, "blocked_pending_distillation")
    assert not target.exists()
    distill_all(memory)
    assert memory("sync", "--all", "--provider-config", provider)["confirmed"] == 3
    before = target.read_bytes()
    second = memory("resource.pull", "--source-config", config)
    assert (second["added"], second["updated"], second["pages"]) == (1, 1, 1)
    third = memory("resource.pull", "--source-config", config)
    assert (third["received"], third["added"]) == (0, 0)  # an empty delta of a checkpoint source is nothing odd
    assert memory("sync", "--all", "--provider-config", provider, code=9)["unchanged"] == 2
    assert target.read_bytes() == before
    stored = memory.get(identity(1))
    assert (stored["text"], stored["summary"]) == ("changed", "reviewed")
    assert memory("resource.status")["resources"] == 4


def test_a_rate_limited_page_keeps_what_came_and_goes_on(memory: Memory) -> None:
    flag = memory.folder / "open"
    code = f"""
if request["cursor"] is None:
    answer(items=[item(1)], nextCursor="p2")
if not os.path.exists({str(flag)!r}):
    answer(ok=False, code="rate_limited")
answer(items=[item(2)], checkpoint="c1")
"""
    config = memory.source(code, **CURSOR)
    failed = memory("resource.pull", "--source-config", config, code=9)
    assert (failed["state"], failed["added"], failed["errorCode"]) == ("failed", 1, "source-rate-limited")
    assert "no other source or account was tried" in failed["error"]
    assert memory("resource.status")["resumableSources"] == 1
    flag.touch()
    resumed = memory("resource.pull", "--source-config", config)
    assert (resumed["pages"], resumed["added"], resumed["state"]) == (1, 1, "complete")
    assert memory("resource.sources")["sources"][0]["hasCheckpoint"] is True


def test_an_expired_cursor_keeps_the_data_and_restart_begins_anew(memory: Memory) -> None:
    flag = memory.folder / "expired"
    code = f"""
if request["cursor"] is None: answer(items=[item(1)], nextCursor="p2")
if not os.path.exists({str(flag)!r}): answer(ok=False, code="cursor_expired")
answer(items=[item(2)])
"""
    config = memory.source(code, pagination="cursor")
    found = memory("resource.pull", "--source-config", config, code=9)
    assert (found["errorCode"], found["added"]) == ("source-cursor-expired", 1)
    assert "--restart" in found["error"]
    flag.touch()
    again = memory("resource.pull", "--source-config", config, "--restart")
    assert (again["unchanged"], again["added"], again["state"]) == (1, 1, "complete")


def test_secrets_in_urls_are_warned_of(memory: Memory) -> None:
    config = memory.source('answer(items=[item(1, url="https://a.example/?api_key=0123456789")])')
    (warning,) = memory("resource.pull", "--source-config", config)["warnings"]
    assert "api_key" in warning
    assert "0123456789" not in warning


def test_a_page_budget_pauses_and_restart_begins_anew(memory: Memory) -> None:
    code = """
n = int(request["cursor"] or 0)
answer(items=[item(n)], nextCursor=str(n + 1) if n < 5 else None, coverage="partial" if n == 2 else "full")
"""
    config = memory.source(code, pagination="cursor")
    paused = memory("resource.pull", "--source-config", config, "--max-pages", "2")
    assert (paused["state"], paused["pages"]) == ("paused", 2)
    again = memory("resource.pull", "--source-config", config, "--max-pages", "1", "--restart")
    assert (again["unchanged"], again["added"]) == (1, 0)
    rest = memory("resource.pull", "--source-config", config)
    assert (rest["state"], rest["coverage"], rest["pages"]) == ("complete", "partial", 5)
    assert memory("resource.status")["resources"] == 6


BAD_PAGES = {
    "another account": 'answer(account="@you")',
    "another provider": 'answer(provider="x")',
    "another protocol": 'answer(protocol="v2")',
    "no next cursor": 'print(json.dumps({"protocol": request["protocol"], "ok": True, "provider": "demo", "account": "@me",'
    ' "items": [], "checkpoint": None, "coverage": "full"}))',
    "cursor of a single source": 'answer(items=[item(1)], nextCursor="x")',
    "checkpoint of a rescan": 'answer(items=[item(1)], checkpoint="x")',
    "coverage": 'answer(coverage="most")',
    "too many items": "answer(items=[item(n) for n in range(101)])",
    "items": 'answer(items={"a": 1})',
    "not ok": 'answer(ok="yes")',
    "empty mark": 'answer(items=[item(1)], checkpoint="")',
    "no json": 'print("hello")',
    "nothing": "pass",
    "status": "print(1); sys.exit(3)",
    "killed": "os.kill(os.getpid(), 9)",
    "null": 'print("null")',
    "duplicate names": 'print(\'{"protocol": "xstash.source.v1", "ok": true, "ok": true}\')',
    "endless": 'sys.stdout.write("x" * (2 << 20))',
}


@pytest.mark.parametrize("fault", BAD_PAGES)
def test_a_page_that_breaks_the_protocol_changes_nothing(memory: Memory, fault: str) -> None:
    memory("resource.pull", "--source-config", memory.source("answer(items=[item(9)])"))
    found = memory("resource.pull", "--source-config", memory.source(BAD_PAGES[fault]), code=9)
    assert (found["state"], found["pages"]) == ("failed", 0)
    assert memory.titles() == ["Item 9"]
    assert memory.run("resource.pull", "--source-config", memory.source(BAD_PAGES[fault]), "--exit-compat")[0] == 1


def test_cursor_loops_end(memory: Memory) -> None:
    code = """
next = {None: "a", "a": "b", "b": "a"}[request["cursor"]]
answer(items=[item(next)], nextCursor=next)
"""
    config = memory.source(code, pagination="cursor")
    found = memory("resource.pull", "--source-config", config, code=9)
    assert found["pages"] == 2
    assert "seen before" in found["error"]
    same = memory.source('answer(nextCursor="a")', pagination="cursor")
    memory("resource.pull", "--source-config", same, "--max-pages", "1")
    assert "present one" in memory("resource.pull", "--source-config", same, code=9)["error"]


def test_a_checkpoint_source_must_end_with_one(memory: Memory) -> None:
    config = memory.source("answer(items=[item(1)])", **CURSOR)
    assert "no checkpoint" in memory("resource.pull", "--source-config", config, code=9)["error"]


def test_bad_items_are_set_aside_and_come_back_when_good(memory: Memory) -> None:
    flag = memory.folder / "mended"
    code = f"""
good = os.path.exists({str(flag)!r})
late = "2999-01-01T00:00:00Z"
answer(items=[item(1), item(2, title=None) if not good else item(2), "tombstone", item(3, url="http://a/"), item(4, updatedAt=late),
  item(5, text="a"), item(5, text="b"), item(6, text="\\ud83e half"), item(7, id=True), item(1), item(8, id=1893456789012345671)])
"""
    config = memory.source(code)
    found = memory("resource.pull", "--source-config", config, code=9)
    assert (found["added"], found["unchanged"], found["received"]) == (2, 1, 11)
    assert [bad["item"] for bad in found["quarantined"]] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert "ahead of this machine's clock" in found["quarantined"][3]["reason"]
    assert memory("resource.status")["quarantined"] == 8
    listed = memory("resource.sources", "--quarantine")
    assert len(listed["quarantine"]) == 8
    assert "quarantine: none" not in memory.run("resource.sources")[1]
    flag.touch()
    assert memory("resource.pull", "--source-config", config, code=9)["added"] == 1
    assert memory("resource.status")["quarantined"] == 7
    memory.get(canonical.resource_id("demo", "1893456789012345671"))


def test_one_time_for_two_contents_is_set_aside_not_fatal(memory: Memory) -> None:
    flag = memory.folder / "changed"
    code = f"""
text = "other" if os.path.exists({str(flag)!r}) else "first"
answer(items=[item(1, text=text, updatedAt="2026-01-02T00:00:00Z"), item(2)])
"""
    config = memory.source(code)
    memory("resource.pull", "--source-config", config)
    flag.touch()
    found = memory("resource.pull", "--source-config", config, code=9)
    assert (found["unchanged"], len(found["quarantined"])) == (1, 1)
    assert memory.get(identity(1))["text"] == "first"


def test_older_and_deleted_items_are_skipped(memory: Memory) -> None:
    code = """
answer(items=[item(1, updatedAt=sys.argv[1]), item(2)])
"""
    new = memory.source(code, "2026-02-01T00:00:00Z")
    memory("resource.pull", "--source-config", new)
    memory("resource.delete", identity(2))
    config = memory.read(new)
    config["command"][1] = "2026-01-01T00:00:00Z"
    found = memory("resource.pull", "--source-config", memory.file(config))
    assert (found["skippedOlder"], found["skippedDeleted"]) == (1, 1)
    assert memory("resource.status")["resources"] == 1


def test_an_empty_answer_never_deletes_and_is_reported(memory: Memory) -> None:
    flag = memory.folder / "empty"
    config = memory.source(f"answer(items=[] if os.path.exists({str(flag)!r}) else [item(n) for n in range(5)])")
    memory("resource.pull", "--source-config", config)
    flag.touch()
    found = memory("resource.pull", "--source-config", config, code=9)
    assert "no items" in found["error"]
    assert found["errorCode"] == "mass-change"
    allowed = memory("resource.pull", "--source-config", config, "--allow-empty")
    assert "Only 0 items came" in allowed["note"]
    assert memory("resource.status")["resources"] == 5


def test_put_then_pull_keeps_titles_and_reviews(memory: Memory) -> None:
    memory.put(record("1", title="My own title", summary="mine", text="Text of item 1"))
    config = memory.source("answer(items=[item(1)])")
    assert memory("resource.pull", "--source-config", config)["unchanged"] == 1
    stored = memory.get(identity(1))
    assert (stored["title"], stored["summary"]) == ("My own title", "mine")
    changed = memory.source('answer(items=[item(1, text="new text", title="Item 1b")])')
    assert memory("resource.pull", "--source-config", changed)["updated"] == 1
    assert memory.get(identity(1))["title"] == "My own title"


def test_a_stale_review_is_refused_whole(memory: Memory) -> None:
    memory("resource.pull", "--source-config", memory.source("answer(items=[item(1), item(2)])"))
    items = memory("resource.pending")["items"]
    reviews = [
        {name: item[name] for name in ("id", "sourceRevision", "resourceRevision")}
        | {"summary": "s", "purpose": "", "useWhen": [], "limitations": []}
        for item in items
    ]
    changed = memory.source('answer(items=[item(1), item(2, text="moved on")])')
    memory("resource.pull", "--source-config", changed)
    assert "Stale" in memory("resource.distill", "-", input=reviews, code=5)["error"]["message"]
    assert memory("resource.pending")["pending"] == 2
    assert memory("resource.distill", "-", input=reviews[0])["pending"] == 1
    assert "Stale" in memory("resource.distill", "-", input=reviews[0], code=5)["error"]["message"]
    memory("resource.distill", "-", input=[reviews[1], reviews[1]], code=5)
    memory("resource.distill", "-", input={"id": "x"}, code=2)


def test_a_concurrent_pull_makes_the_slow_page_fail(memory: Memory) -> None:
    code = f"""
import subprocess
if not os.path.exists({str(memory.folder / "busy")!r}):
    open({str(memory.folder / "busy")!r}, "w").close()
    subprocess.run([{sys_executable()!r}, "-m", "kbtasks", "resource.pull", "--source-config", {str(memory.folder / "self.json")!r},
                    "--store", {str(memory.store)!r}], check=True, cwd={repository()!r}, stdout=2)
answer(items=[item(1)])
"""
    config = memory.read(memory.source(code))
    path = memory.file(config, "self.json")
    found = memory("resource.pull", "--source-config", path, code=9)
    assert "another pull advanced this source" in found["error"]
    assert memory("resource.status")["resources"] == 1


def sys_executable() -> str:
    import sys

    return sys.executable


def repository() -> str:
    from pathlib import Path

    return str(Path(__file__).resolve().parents[3])


def test_several_sources_are_independent(memory: Memory) -> None:
    good, crash = memory.source("answer(items=[item('g')])"), memory.source('raise SystemExit("token expired")')
    found = memory("resource.pull", "--source-config", crash, "--source-config", good, code=9)
    assert (found["ok"], found["failed"], found["added"]) == (1, 1, 1)
    code, _, err = memory.run("resource.pull", "--source-config", crash, "--source-config", good)
    assert code == 9
    assert "1 of 2 sources ok" in err
    assert "token expired" not in err


def test_sources_can_be_removed(memory: Memory) -> None:
    memory("resource.pull", "--source-config", memory.source("answer(items=[item(1), 5])"), code=9)
    key = memory("resource.sources")["sources"][0]["key"]
    assert memory("resource.sources", "--remove", key)["removed"] == key
    assert memory("resource.status")["quarantined"] == 0
    memory("resource.sources", "--remove", key, code=4)
    assert memory("resource.status")["resources"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "organization"}, {"scope": None}, {"command": ["relative"]}, {"command": []}, {"provider": "X"}, {"account": " "},
        {"timeoutMs": 999}, {"pagination": "both"}, {"kind": "file"}, {"env": ["A=B"]}, {"command": ["/x"] * 11},
    ],
)  # fmt: skip
def test_source_configurations_are_checked(memory: Memory, change: dict) -> None:
    config = memory.read(memory.source("answer()")) | change
    if config["scope"] is None:
        del config["scope"]
    code, _, err = memory.run("resource.pull", "--source-config", memory.file(config))
    assert code in {2, 5}, err
    assert not memory.store.exists()


def test_timeout_is_kept(memory: Memory) -> None:
    config = memory.source("time.sleep(60)", timeoutMs=1000)
    assert "did not answer" in memory("resource.pull", "--source-config", config, code=9)["error"]
    with open_store(str(memory.store)) as connection:
        assert connection.execute("SELECT count(*) FROM source").fetchone()[0] == 0


def test_the_environment_is_an_allow_list(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_TOKEN", "LD_LIBRARY_PATH", "PYTHONPATH", "NAMED", "LC_TIME"):
        monkeypatch.setenv(name, "/nowhere")
    seen = memory.folder / "seen"
    code = f"json.dump(sorted(os.environ), open({str(seen)!r}, 'w')); answer()"
    plain, named = memory.source(code), memory.source(code, env=["NAMED"])
    memory("resource.pull", "--source-config", plain)
    found = set(json.loads(seen.read_text()))
    assert {"HOME", "PATH", "LC_TIME"} <= found
    assert not {"SECRET_TOKEN", "LD_LIBRARY_PATH", "PYTHONPATH", "NAMED"} & found
    memory("resource.pull", "--source-config", named)
    assert "NAMED" in json.loads(seen.read_text())
