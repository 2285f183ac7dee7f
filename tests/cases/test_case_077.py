"""Case 077: one broken record or one failing adapter among several costs only itself."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from support.resources import Memory


@pytest.mark.parametrize("order", list(permutations(range(3)))[::2])
def test_the_good_ones_are_kept(tmp_path: Path, order: tuple[int, ...]) -> None:
    memory = Memory(tmp_path)
    configs = [
        memory.source("answer(items=[item(i) for i in range(3)])", provider="good"),
        memory.source(
            'answer(items=[item(1), {"id": "2", "title": None, "url": 5}, item(3), "tombstone", item(4)])',
            provider="items",
        ),
        memory.source('raise SystemExit("token expired")', provider="crash"),
    ]
    words = [word for index in order for word in ("--source-config", configs[index])]
    found = memory("resource.pull", *words, code=9)
    assert memory("resource.status")["resources"] == 6
    assert (found["ok"], found["failed"]) == (2, 1)
    by_config = {entry["config"]: entry for entry in found["sources"]}
    assert [bad["item"] for bad in by_config[configs[1]]["quarantined"]] == [1, 3]
    assert by_config[configs[2]]["state"] == "failed"
    code, _, err = memory.run("resource.pull", *words)
    assert code == 9
    assert "2 of 3 sources ok" in err
    assert configs[2] in err
    assert "token expired" not in err
    assert memory("resource.status")["resources"] == 6
