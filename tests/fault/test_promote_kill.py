"""Promotions killed at random steps and moments: the short seeded form of ``bench/torture_promote.py``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "torture_promote.py"


@pytest.mark.parametrize("seed", [3, 4])
def test_killed_promotions_converge_on_one_note(seed: int) -> None:
    spec = importlib.util.spec_from_file_location("torture_promote", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    counts = module.torture(10, seed)
    assert counts["killed"] > 5
