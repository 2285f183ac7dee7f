"""The semantic lane: by meaning, where vectors were made; never for a text that has changed."""

from __future__ import annotations

import pytest
from support.resources import Memory, record

from kbtasks.index import modelfile
from kbtasks.resources import semantic
from kbtasks.resources.store import open_store

pytest.importorskip("numpy", reason="the extra semantic is not installed")
pytestmark = pytest.mark.skipif(modelfile.find() is None, reason="the extra semantic is not installed")

OWL = "Owls hunt mice in the dark by ear alone."


def test_meaning_finds_what_words_do_not(memory: Memory) -> None:
    memory.put(record("1", title="", text=OWL), record("2", title="", text="How to bake a sourdough bread"))
    query = "nocturnal birds catching rodents"
    assert memory("resource.search", query)["results"] == []
    assert memory("resource.vectors") == {"schema": "kbtasks/resource-vectors/1", "made": 2, "total": 2}
    found = memory("resource.search", query)
    assert [hit["snippet"] for hit in found["results"]] == [OWL]
    assert found["results"][0]["match"] == "weak"
    assert found["lanes"][-1] == {"name": "semantic", "state": "ready"}
    assert memory("resource.search", "tax law of Iceland")["results"] == []
    assert memory("resource.search", query, "--provider", "web")["results"] == []
    assert memory("resource.search", query, "--mode", "lexical")["results"] == []
    assert memory("resource.vectors")["made"] == 0


def test_changed_and_deleted_texts_have_no_vector(memory: Memory) -> None:
    memory.put(record("1", title="", text=OWL), record("2", title="", text="Barn owls catch rodents at night"))
    memory("resource.vectors")
    memory.put(record("1", title="", text="A bread recipe", updatedAt="2026-06-01T00:00:00Z"))
    found = memory("resource.search", "nocturnal birds catching mice")
    assert [hit["citation"]["url"] for hit in found["results"]] == ["https://birds.example/2"]
    assert found["partial"] is True
    assert found["lanes"][-1]["state"] == "degraded"
    assert memory("resource.vectors")["made"] == 1
    for item in memory("resource.list")["resources"]:
        memory("resource.delete", item["id"])
    assert memory("resource.search", "nocturnal birds")["lanes"] == [{"name": "local", "state": "ready"}]


def test_a_missing_extra_leaves_the_words(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.put(record("1", text=OWL))
    memory("resource.vectors")
    monkeypatch.setattr(modelfile, "find", lambda: None)
    found = memory("resource.search", "owls hunt")
    assert found["total"] == 1
    assert found["lanes"][-1]["state"] == "unavailable"
    assert memory("resource.vectors", code=10)["error"]["code"] == "missing-extra"


def test_a_script_the_model_does_not_know_costs_nothing(memory: Memory) -> None:
    memory.put(record("1", title="", text=OWL), record("2", title="", text="猫は図書館で静かに眠っている。" * 20))
    made = memory("resource.vectors")
    assert (made["made"], made["total"]) == (2, 1)
    assert memory("resource.vectors")["made"] == 0
    found = memory("resource.search", "nocturnal birds catching rodents")
    assert found["lanes"][-1] == {"name": "semantic", "state": "ready"}
    assert len(found["results"]) == 1


def test_what_is_read_of_a_record() -> None:
    text = "Owls hunt https://t.co/" + "x" * 40 + " at night. " + "word " * 9000
    given = {**record("1", text=text, title="Owls hunt"), "purpose": "birds"}
    read = semantic.text_of(given)
    assert read.startswith("birds\nOwls hunt  ")
    assert "t.co" not in read
    assert len(read) <= semantic.RECORD


def test_a_run_that_was_stopped_goes_on(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "BATCH", 2)
    memory.put(*(record(str(n), title="", text=f"{OWL} {n}") for n in range(5)))
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 4:
            raise KeyboardInterrupt

    with open_store(str(memory.store), write=True) as connection, pytest.raises(KeyboardInterrupt):
        semantic.build(connection, progress=stop)
    assert seen == [(2, 5), (4, 5)]
    assert memory("resource.vectors")["made"] == 1
