"""The compatible form: every command answers with exactly the format's own keys, and exit codes 0 and 1."""

from __future__ import annotations

import json

import pytest
from support.resources import COMPAT, EXAMPLE, EXAMPLE_ID, Memory

COUNTS = ["added", "updated", "unchanged", "total", "remoteSync"]


def test_keys_of_every_command(memory: Memory) -> None:
    provider, _ = memory.file_provider()
    source = memory.source("answer(items=[item(1)])")
    assert list(memory.compat("resource.put", "-", input=EXAMPLE)) == COUNTS
    assert memory.compat("resource.get", EXAMPLE_ID) == {"id": EXAMPLE_ID, **EXAMPLE}
    assert list(memory.compat("resource.inspect", EXAMPLE_ID)) == ["resource", "resourceRevision"]
    found = memory.compat("resource.search", "dialog")
    assert list(found) == ["mode", "provider", "results", "guidance"]
    assert list(found["results"][0]) == ["resource", "score", "matched", "citation"]
    assert found["mode"] == "lexical_candidates"
    assert found["results"][0]["score"] == 9
    assert memory.compat("resource.search", "")["results"] == []
    capture = memory.compat("resource.capture", "--bookmarks", memory.file([{"id": "9", "text": "t"}]))
    assert list(capture) == [*COUNTS, "skippedDeleted"]
    pull = memory.compat("resource.pull", "--source-config", source)
    assert list(pull) == [
        "pages", "received", "added", "updated", "unchanged", "skippedDeleted", "skippedOlder", "state", "coverage", "sourceKey",
        "remoteSync", "note",
    ]  # fmt: skip
    pending = memory.compat("resource.pending")
    assert list(pending) == ["pending", "items"]
    assert list(pending["items"][0]) == ["id", "sourceRevision", "resourceRevision", "resource"]
    item = {name: pending["items"][0][name] for name in ("id", "sourceRevision", "resourceRevision")}
    review = {**item, "summary": "", "purpose": "", "useWhen": [], "limitations": []}
    assert list(memory.compat("resource.distill", "-", input=review)) == ["distilled", "pending", "remoteSync"]
    sync = memory.compat("sync", "--all", "--provider-config", provider, code=1)
    assert list(sync) == ["provider", "confirmed", "unchanged", "failures", "skippedPending", "remoteSync"]
    assert sync["remoteSync"] == "blocked_pending_distillation"
    assert list(memory.compat("resource.status", "--provider-config", provider)) == [
        "resources", "tombstones", "pendingDistillation", "resumableSources", "provider", "pending", "remoteSync", "note",
    ]  # fmt: skip
    revision = memory.compat("resource.inspect", EXAMPLE_ID)["resourceRevision"]
    design = {
        "status": "unanalyzed",
        "images": [],
        "domains": [],
        "features": [],
        "styles": [],
        "analyzedAt": None,
        "reason": "r",
    }
    analysis = {"id": EXAMPLE_ID, "resourceRevision": revision, "design": design}
    assert list(memory.compat("resource.analyze", "-", input=analysis)) == [*COUNTS, "analysis"]
    assert list(memory.compat("resource.delete", EXAMPLE_ID)) == ["deleted", "remoteSync"]


@pytest.mark.parametrize(
    "words",
    [
        ("resource.put", "none.json"), ("resource.get", EXAMPLE_ID), ("resource.inspect", "x"), ("resource.search", "x" * 3000),
        ("resource.search", "x", "--limit", "0"), ("resource.capture",), ("sync", "--all"), ("resource.pull",),
        ("resource.pending", "--limit", "0"), ("resource.distill", "none.json"), ("resource.analyze", "none.json"),
        ("resource.status", "--provider-config", "none.json"),
    ],
)  # fmt: skip
def test_faults_are_one_line_and_exit_code_1(memory: Memory, words: tuple[str, ...]) -> None:
    code, out, err = memory.run(*words, COMPAT)
    assert (code, out) == (1, "")
    assert err.startswith("kb: ")


def test_json_and_compat_go_together(memory: Memory) -> None:
    memory.put(EXAMPLE)
    _, out, _ = memory.run("resource.delete", EXAMPLE_ID, "--json", COMPAT)
    assert json.loads(out) == {"deleted": True, "remoteSync": "pending_explicit_sync"}
    assert memory.run("resource.status", COMPAT, "--validate")[0] == 2


def test_what_has_no_key_there_is_said_on_stderr(memory: Memory) -> None:
    down = memory.command_provider("sys.exit(3)")
    memory.put(EXAMPLE)
    failed = memory.compat("sync", "--all", "--provider-config", down, code=1)["failures"]
    assert [list(item) for item in failed] == [["id", "error"]]
    found = memory.compat("resource.search", "dialog", "--provider-config", down, code=1)
    assert [hit["resource"]["id"] for hit in found["results"]] == [EXAMPLE_ID]
    rows = memory.file([{"id": "9", "text": "t"}, {"text": "猫"}])
    secret = {
        **EXAMPLE,
        "source": {**EXAMPLE["source"], "id": "2", "url": "https://example.com/?api_key=0123456789abcdef"},
    }
    for words, said in (
        (("resource.search", "dialog", "--provider-config", down), "degraded"),
        (("resource.capture", "--bookmarks", rows), "row 1"),
        (("resource.put", memory.file(secret)), "api_key"),
    ):
        _, out, err = memory.run(*words, COMPAT)
        assert said in err
        assert said not in out
