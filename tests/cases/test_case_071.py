"""Case 071: a store file cut short, emptied, followed by an older tail, of another shape, or all NULs is an error, never "no data"."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.resources import Memory, record


@pytest.mark.parametrize("damage", ["cut", "empty", "tail", "wrongshape", "nulls"])
def test_a_broken_store_is_an_error_and_stays_on_disk(tmp_path: Path, damage: str) -> None:
    memory = Memory(tmp_path)
    memory.put(*(record(str(n)) for n in range(1, 6)))
    assert memory("resource.list")["total"] == 5
    whole = memory.store.read_bytes()
    broken = {
        "cut": whole[: len(whole) * 3 // 5],
        "empty": b"",
        "tail": whole + whole[-400:],
        "wrongshape": b'{"items": 3}',
        "nulls": b"\0" * 512,
    }[damage]
    memory.store.write_bytes(broken)
    provider, target = memory.file_provider()
    source = memory.source("answer(items=[item(1)])")
    bookmarks = memory.file([{"id": "1", "text": "t"}])
    for words in (
        ("resource.list",),
        ("resource.put", "-"),
        ("resource.capture", "--bookmarks", bookmarks),
        ("resource.pull", "--source-config", source),
        ("sync", "--all", "--provider-config", provider),
    ):
        message = memory(*words, code=10, input=record("6"))["error"]["message"]
        assert str(memory.store) in message
    assert memory.store.read_bytes() == broken
    assert not target.exists()
    other = ("--store", str(tmp_path / "other.db"))
    memory("resource.put", "-", *other, input=record("7"), store=False)
    assert memory("resource.list", *other, store=False)["total"] == 1


GOOD = '[\n {"id": "1", "source": "demo", "url": "https://birds.example/1", "title": "Item 1"},\n {"id": "2", "url": "https://birds.example/2"}\n]\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut", GOOD[:60]),
        ("empty", ""),
        ("tail", GOOD + '"}\n]\n'),
        ("wrongshape", '{"items": 3}'),
        ("nulls", "\0" * 512),
    ],
)
def test_broken_json_stores_of_a_provider_are_not_overwritten(tmp_path: Path, name: str, content: str) -> None:
    memory = Memory(tmp_path)
    memory.put(record("1"))
    provider, target = memory.file_provider(name)
    target.write_text(content)
    found = memory("sync", "--all", "--provider-config", provider, code=9)
    assert str(target) in found["failures"][0]["error"]
    assert target.read_text() == content
