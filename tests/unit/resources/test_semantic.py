"""The semantic lane: by meaning, where vectors were made; never for a text that has changed."""

from __future__ import annotations

import pytest
from support.resources import Memory, record

from kbtasks.index import modelfile

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
