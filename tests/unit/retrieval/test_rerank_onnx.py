"""The ONNX form of the reranker hook, with a tiny model: the score is the largest token number of query and document."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from support.cli import kb_json

pytest.importorskip("onnxruntime", reason="the extra fast is not installed")
pytest.importorskip("numpy", reason="the extra semantic is not installed")

#: Cast(input_ids) then ReduceMax: opset 13, IR 8.
MODEL = "CAg6fQofCglpbnB1dF9pZHMSAWYiBENhc3QqCQoCdG8YAaABAgonCgFmEgZsb2dpdHMiCVJlZHVjZU1heCoPCghrZWVwZGltcxgAoAECEgFnWhwKCWlucHV0X2lkcxIPCg0IBxIJCgIIAQoDEgFuYhAKBmxvZ2l0cxIGCgQIARIAQgQKABAN"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "kb.toml").write_text('[rerank]\nonnx = "model.onnx"\n', encoding="utf-8")
    (tmp_path / "a.md").write_text("# A\n\nharbour harbour harbour of the\n", encoding="utf-8")
    (tmp_path / "b.md").write_text(
        "# B\n\nharbour and an enigmatic note 霧 🌊 of many plain words about nothing much at all\n", encoding="utf-8"
    )
    return tmp_path


def order(vault: Path, *flags: str) -> tuple[list[str], dict[str, str]]:
    document = kb_json("search", "harbour", "--mode", "keyword", "--no-graph", *flags, cwd=vault)
    lanes = {lane["name"]: lane["status"] for lane in document["lanes"]}
    return [hit["path"] for hit in document["hits"]], lanes


def test_a_model_file_reorders(vault: Path) -> None:
    (vault / "model.onnx").write_bytes(base64.b64decode(MODEL))

    assert order(vault)[0] == ["a.md", "b.md"]
    paths, lanes = order(vault, "--rerank")
    assert paths == ["b.md", "a.md"]
    assert lanes["rerank"] == "ready"


def test_a_damaged_model_keeps_the_order_and_says_so(vault: Path) -> None:
    (vault / "model.onnx").write_bytes(base64.b64decode(MODEL)[:40])
    paths, lanes = order(vault, "--rerank")

    assert paths == ["a.md", "b.md"]
    assert lanes["rerank"] == "unavailable"
