"""The short form of ``inv torture notes``."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_racing_and_killed_writers_lose_nothing() -> None:
    path = Path(__file__).resolve().parents[2] / "bench" / "torture_notes.py"
    spec = importlib.util.spec_from_file_location("torture_notes", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    counts = module.torture(12, 7)

    assert counts["confirmed"] > 40
    assert counts["killed"] > 5
