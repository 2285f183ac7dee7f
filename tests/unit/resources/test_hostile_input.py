"""Configurations, texts and files of bookmarks as a careless or hostile hand writes them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from support.resources import EXAMPLE, EXAMPLE_ID, Memory, record

from kbtasks.resources import canonical
from kbtasks.resources.importers import netscape
from kbtasks.resources.strictjson import items
from kbtasks.resources.whatwg import secret_names

NUL, HALF = "a\0b", "a\ud800b"
HEAD = "url,title,time_added\n"
HTML = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>"


def provider(kind: str, **parts: Any) -> dict[str, Any]:
    return {"kind": kind, "scope": "personal", **parts}


@pytest.mark.parametrize(
    "config",
    [
        provider("file", path="/tmp/" + NUL),
        provider("file", path="/tmp/" + HALF),
        provider("command", namespace="n", command=["/bin/true", NUL]),
        provider("command", namespace="n", command=["/bin/" + HALF]),
        provider("command", namespace="n\n", command=["/bin/true"]),
        provider("command", namespace="n", command=["/bin/true"], env=["HOME\n"]),
        provider("postgresql", namespace="n", host="/tmp/" + HALF, dbname="d", user="u"),
        provider("postgresql", namespace="n", host="/tmp", dbname="d", user=NUL),
    ],
    ids=lambda config: f"{config['kind']}",
)
def test_a_configuration_that_cannot_be_meant_is_refused(memory: Memory, config: dict[str, Any]) -> None:
    if config["kind"] == "postgresql":
        pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    memory.put(EXAMPLE)
    name = memory.file(config)
    for words in (["sync", "--all"], ["resource.search", "dialog"], ["sync.verify"], ["resource.status"]):
        code, _, err = memory.run(*words, "--provider-config", name)
        assert (code, "Traceback" in err) == (2, False), err


def test_a_file_name_may_hold_any_byte(memory: Memory) -> None:
    memory.put(EXAMPLE)
    target = os.fsencode(memory.folder) + b"/caf\xe9.json"
    config = memory.file(provider("file", path=os.fsdecode(target)))
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 1
    assert os.path.exists(target)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", ".sync-0123456789abcdef.lock"])
def test_no_file_of_the_store_is_a_destination(memory: Memory, suffix: str) -> None:
    config = memory.file(provider("file", path=str(memory.store) + suffix))
    memory.put(EXAMPLE)
    assert memory.run("sync", "--all", "--provider-config", config)[0] == 5
    assert memory("resource.doctor")["ok"] is True


def test_the_last_hours_of_time_poison_nothing(memory: Memory) -> None:
    memory.put({**EXAMPLE, "updatedAt": "9998-12-31T23:59:59.999Z"}, record("2"))
    assert memory("resource.delete", EXAMPLE_ID)["deletedAt"] == "9999-01-01T00:00:00.000Z"
    config, _ = memory.file_provider()
    for _ in range(2):
        memory("sync", "--all", "--provider-config", config)
    assert memory("sync.verify", "--provider-config", config)["verified"] == 2
    for form in ("v1", "jsonl"):
        file = str(memory.folder / f"copy.{form}")
        memory("resource.export", file, "--format", form)
        copy = ("--store", str(memory.folder / f"{form}.db"))
        assert memory("resource.import", file, *copy, store=False)["tombstones"] == 1
    memory.put({**EXAMPLE, "updatedAt": "9999-01-02T00:00:00Z"}, code=2)
    assert canonical.after("9999-12-31T23:59:59.999Z") == "9999-12-31T23:59:59.999Z"


@pytest.mark.parametrize("generation", [1 << 53, 1 << 63, 10**30])
def test_a_number_that_no_store_can_hold(memory: Memory, generation: int) -> None:
    source = {
        "generation": generation,
        "active": False,
        "cursor": None,
        "checkpoint": None,
        "seen": [],
        "coverage": "full",
    }
    ingestion = {"sources": {"a" * 64: source}, "captures": {}, "pending": {}}
    store = {"version": 1, "resources": [], "tombstones": [], "receipts": {}, "ingestion": ingestion}
    code, _, err = memory.run("resource.import", memory.file(store))
    assert code == 2
    assert "generation" in err


def test_one_broken_line_is_set_aside(memory: Memory) -> None:
    text = f"{json.dumps(record('1'))}\n\n{{broken}}\n{json.dumps(record('2'))}\n{json.dumps(record('3'))[:40]}"
    code, _, err = memory.run("resource.put", "-", input=text.encode())
    assert code == 2
    assert "line 3" in err
    done = memory("resource.put", "-", "--skip-bad", input=text.encode(), code=9)
    assert (done["added"], [bad["item"] for bad in done["skipped"]]) == (2, [1, 3])
    rows = '{"id": "1893456789012345672", "text": "one"}\n{"id": "18934567890123\n{"id": "1893456789012345673", "text": "二"}\n'
    taken = memory("resource.capture", "--bookmarks", memory.file(rows), code=9)
    assert (taken["added"], [problem["row"] for problem in taken["problems"]]) == (2, [1])
    assert items(b'{"a":\n{}\n}', what="x") == [{"a": {}}]


def test_what_a_source_says_of_its_faults_is_bounded(memory: Memory) -> None:
    source = memory.source('answer(items=[{"k" * 500000: "\\0"}, item(1)])')
    pulled = memory("resource.pull", "--source-config", source, code=9)
    assert pulled["added"] == 1
    assert len(pulled["quarantined"][0]["reason"]) <= 500
    (aside,) = memory("resource.sources", "--quarantine")["quarantine"]
    assert len(aside["reason"]) <= 500


def test_a_title_is_one_line_in_lists(memory: Memory) -> None:
    memory.put({**EXAMPLE, "title": "Dialog\r\nresource_forged\u2028line \x1b[31mred 猫"})
    for words in (["resource.search", "dialog"], ["resource.list"]):
        _, out, _ = memory.run(*words)
        (line,) = [line for line in out.splitlines() if "forged" in line]
        assert "Dialog resource_forged line" in line
        assert "\x1b" not in line


def test_a_misspelt_provider_key_is_an_error(memory: Memory) -> None:
    memory.put(EXAMPLE)
    for more in ([], ["--dry-run"]):
        answer = memory("resource.gc", "--abandon", "0" * 64, *more, code=4)
        assert answer["error"]["code"] == "not-found"


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("https://a/#access_token=abcdefgh1&state=1", ["access_token"]),
        ("https://a/?refreshToken=abcdefgh1", ["refreshToken"]),
        ("https://a/?access%5Ftoken=abcdefgh1", ["access_token"]),
        ("https://a/?x=ghp_16C7e42F292c6912E7710c838347Ae178B4a", ["x"]),
        ("https://a/?x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk", ["x"]),
        ("https://a/?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE", ["AWSAccessKeyId"]),
        ("https://a/?q=keyboard-focus&monkey=gibbons-here&page=token", []),
        ("https://a/#section-on-tokens", []),
    ],
)
def test_secrets_are_known_by_name_and_by_look(url: str, names: list[str]) -> None:
    assert secret_names(url) == names


@pytest.mark.parametrize("broken", ['https://b.example/,"abc"def,1\n', 'https://b.example/,"abc,1\n', "a,b\n"])
def test_a_broken_row_hides_no_other(memory: Memory, broken: str) -> None:
    rows = [f"https://a.example/{n},Title 標題 {n},1700000000\n" for n in range(4)]
    table = HEAD + rows[0] + broken + "".join(rows[1:])
    for data in (table.encode(), table.replace("\n", "\r\n").encode("utf-8-sig"), table.encode("utf-16")):
        taken = memory("resource.capture", "--bookmarks", memory.file(data), code=9)
        assert (taken["rows"], taken["taken"], len(taken["problems"])) == (5, 4, 1)
        assert taken["problems"][0]["row"] == 1


def test_a_table_of_broken_quotes_ends_soon(memory: Memory) -> None:
    table = HEAD + 'a",b,"c\n' * 100_000  # each line opens a quote that stays open to the end of the file
    taken = memory("resource.capture", "--bookmarks", memory.file(table), code=9)
    assert taken["added"] == 0
    assert "nothing from here on" in taken["problems"][-1]["reason"]


def test_other_bytes_are_named_for_what_they_are(memory: Memory) -> None:
    code, _, err = memory.run(
        "resource.capture", "--bookmarks", memory.file((HEAD + "https://a/é,b,1").encode("latin-1"))
    )
    assert code == 2
    assert "JSON" not in err
    page = HTML + '<DT><A HREF="https://a.example/">猫</A></DL>'
    assert memory("resource.capture", "--bookmarks", memory.file(page.encode("utf-16")))["shape"] == "netscape-html"


def cost(text: str) -> int:
    """Lines of Python that reading ``text`` runs: steps, not time."""
    lines = 0

    def trace(frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        netscape.rows_of(text)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize(
    "piece", ["<!--", "<a ", "<![", "<?", "</a ", "<script></", "x='", 'x="', "<a x=", "<", "&#", "<DL><H3>f", "= "]
)
def test_bookmark_pages_cost_what_their_length_says(piece: str) -> None:
    small, large = (cost(HTML + "<a " + piece * number) for number in (200, 3_200))
    assert large < 40 * small + 2_000  # 16 times the text; a quadratic walk takes 256 times as many


def test_a_damaged_page_keeps_its_links() -> None:
    page = (
        f'{HTML}<!-- never closed <DT><A HREF="https://a.example/?a=1&amp;b=2" TAGS=x,y>A &lt; B</A>\n<![ <? '
        "<DT><H3 FOLDED>Birds/Owls</H3><DL><DT><a href='https://b.example/' href=https://c.example/>&#"
        + "9" * 5000
        + ";猫</a><DD>Said\n of it</DL><DT><A HREF=https://d.example/>D"
    )
    found = netscape.rows_of(page)
    assert [row["href"] for row in found] == ["https://a.example/?a=1&b=2", "https://b.example/", "https://d.example/"]
    assert [row["title"] for row in found] == ["A < B", "\ufffd猫", "D"]
    assert [row["folder"] for row in found] == ["", "Birds Owls", ""]
    assert found[1]["text"] == "Said of it"


def test_words_of_an_archive_inside_a_text_are_only_words(memory: Memory) -> None:
    post = {"like": {"tweetId": "1893456789012345672", "fullText": "see window.YTD.like.part1 = x"}}
    other = {"like": {"tweetId": "1893456789012345673", "fullText": "二"}}
    text = f"window.YTD.like.part0 = {json.dumps([post])}window.YTD.like.part1 = {json.dumps([other])}"
    assert memory("resource.capture", "--bookmarks", memory.file(text))["added"] == 2


def test_altered_bytes_of_a_record_are_never_shown(memory: Memory) -> None:
    memory.put(EXAMPLE, record("2"))
    whole = memory.store.read_bytes()
    for old, new in ((b'"title":"Fict', b'"title":"Fact'), (b'"title":"Fict', b'"title";"Fict')):
        memory.store.write_bytes(whole.replace(old, new))
        copy = str(memory.folder / "copy")
        config, _ = memory.file_provider()
        for words in (
            ["resource.search", "dialog"], ["resource.search", "dialog", "--mode", "lexical"], ["resource.list"],
            ["resource.get", EXAMPLE_ID], ["resource.export", copy], ["resource.export", copy, "--format", "v1"],
            ["sync", "--all", "--provider-config", config, "--dry-run"],
        ):  # fmt: skip
            code, out, err = memory.run(*words)
            assert (code, "damaged" in err, "Fact" in out) == (10, True, False), (words, out, err)
        assert not os.path.exists(copy)
        assert memory("resource.doctor", code=3)["total"] >= 1
        memory("resource.delete", EXAMPLE_ID)
        assert len(memory("resource.list")["resources"]) == 1


ODD = [None, True, -1, 1.5, 10**30, "", "x" * 5000, "a\0b", HALF, [], {}, "a" * 64, "9999-12-31T23:59:59.999Z"]


def test_what_an_import_takes_can_be_used_and_exported(memory: Memory) -> None:
    code = (
        'answer(items=[item(50), {"bad": 1}], nextCursor=None if request["cursor"] else "a",'
        ' checkpoint="c" if request["cursor"] else None)'
    )
    source = memory.source(code, pagination="cursor", incremental="checkpoint")
    memory.put(EXAMPLE)
    memory("resource.pull", "--source-config", source, "--max-pages", "1", code=9)
    memory("sync", "--id", EXAMPLE_ID, "--provider-config", memory.file_provider()[0])
    memory("resource.delete", EXAMPLE_ID)
    file = memory.folder / "all.jsonl"
    memory("resource.export", str(file))
    header, *lines = file.read_text().splitlines()
    parts = {next(iter(json.loads(line))): json.loads(line) for line in lines}
    assert len(parts) == 9
    del parts["resource"]
    with_odd = [
        (f"{kind}/{field} {value!r:.20}", {kind: {**part[kind], field: value}})
        for kind, part in parts.items()
        for field in part[kind]
        for value in ODD
    ]
    taken = 0
    for name, document in with_odd:
        copy = Memory(memory.folder / f"copy-{taken}")
        copy.folder.mkdir(exist_ok=True)
        copy.store.unlink(missing_ok=True)
        if copy.run("resource.import", "-", input=f"{header}\n{json.dumps(document)}\n".encode())[0] == 2:
            assert not copy.store.exists() or copy("resource.status")["resources"] == 0
            continue
        taken += 1
        for words in (["resource.sources", "--quarantine"], ["resource.list", "--deleted"], ["resource.status"]):
            assert copy.run(*words)[0] == 0, name
        v1 = str(copy.folder / "v1.json")
        copy("resource.export", v1, "--format", "v1")
        assert copy.run("resource.import", v1, "--store", str(copy.folder / "again.db"), store=False)[0] == 0, name
    assert 10 < taken < len(with_odd) // 3


@pytest.mark.parametrize("store", ["/dev/null/x.db", "/proc/nowhere/x.db", "/tmp/" + "y" * 260])
def test_a_store_that_can_be_nowhere(memory: Memory, store: str) -> None:
    config, _ = memory.file_provider()
    source = memory.source("answer(items=[item(1)])")
    for words in (
        ["sync", "--all", "--provider-config", config], ["sync.verify", "--provider-config", config],
        ["resource.put", "-"], ["resource.pull", "--source-config", source],
    ):  # fmt: skip
        code, _, err = memory.run(*words, "--store", store, store=False, input=EXAMPLE)
        assert code == 10, (words, err)


def test_a_store_in_a_closed_folder_is_not_an_empty_one(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.put(EXAMPLE)
    config, _ = memory.file_provider()
    see = os.lstat

    def closed(path: Any, *more: Any, **named: Any) -> os.stat_result:
        if str(path) == str(memory.store):  # what another user's 0700 folder answers
            raise PermissionError(13, "Permission denied")
        return see(path, *more, **named)

    monkeypatch.setattr(os, "lstat", closed)
    for words in (
        ["resource.status"], ["resource.list"], ["resource.doctor"], ["resource.gc"], ["resource.vectors"], ["resource.search", "x"],
        ["sync", "--all", "--provider-config", config],
    ):  # fmt: skip
        code, _, err = memory.run(*words)
        assert (code, "cannot be reached" in err) == (10, True), (words, err)
