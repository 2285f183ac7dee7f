"""Case 075: ids above 2**53 keep every digit; an id that is no exact text is reported."""

from __future__ import annotations

from pathlib import Path

from support.resources import Memory, record

BIG = """[{"id": 1893456789012345671, "source": "demo", "title": "a", "url": "https://birds.example/a"},
 {"id": 1893456789012345672, "source": "demo", "title": "b", "url": "https://birds.example/b"},
 {"id": 1893456789012345600, "id_str": "1893456789012345673", "source": "demo", "title": "c", "url": "https://birds.example/c"},
 {"id": "00071", "source": "demo", "title": "d", "url": "https://birds.example/d"},
 {"id": 1e18, "source": "demo", "title": "bad"}, {"id": true, "source": "demo", "title": "bad"}]"""
IDS = ["00071", "1893456789012345671", "1893456789012345672", "1893456789012345673"]


def test_capture_keeps_every_digit(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    found = memory("resource.capture", "--bookmarks", memory.file(BIG), "--provider", "demo", code=9)
    assert (found["added"], found["problemCount"]) == (4, 2)
    listed = memory("resource.list")["resources"]
    assert sorted(item["sourceId"] for item in listed) == IDS
    for item in listed:
        assert memory.get(item["id"])["source"]["id"] == item["sourceId"]
        assert memory("resource.search", item["sourceId"])["total"] == 1


def test_pull_keeps_every_digit(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    code = """
answer(items=[item(1, id=1893456789012345671), item(1, id=1893456789012345672), item(1, id="1893456789012345673"), item("00071"),
              item(1, id=1e18), item(1, id=True)])
"""
    found = memory("resource.pull", "--source-config", memory.source(code), code=9)
    assert (found["added"], len(found["quarantined"])) == (4, 2)
    assert sorted(item["sourceId"] for item in memory("resource.list")["resources"]) == IDS


def test_put_refuses_the_batch_and_names_both(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    batch = [
        record("1", source={"provider": "demo", "id": value, "url": "https://birds.example/a"})
        for value in (IDS[1], 1e18, True)
    ]
    message = memory("resource.put", "-", input=batch, code=2)["error"]["message"]
    assert "/1/source/id" in message
    assert "/2/source/id" in message
    assert not memory.store.exists()
