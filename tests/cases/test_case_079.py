"""Case 079: NaN, duplicate names, half characters, U+0000, deep nesting, trailing commas and Latin-1 are one clear error each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.resources import Memory, record

GOOD = json.dumps(record("1", title='🪶 é \u2028 "q" \\'))
BAD = {
    "nan": (GOOD[:-1] + ', "score": NaN}', "NaN is not JSON"),
    "infinity": (GOOD[:-1] + ', "score": -Infinity}', "-Infinity is not JSON"),
    "overflow": (GOOD[:-1] + ', "score": 1e999}', "out of range"),
    "dup": (GOOD[:-1] + ', "title": "x"}', "stands twice"),
    "surrogate": (GOOD.replace("Text of", "\\ud83e half"), "lone surrogate"),
    "nul": (GOOD.replace("Text of", "a\\u0000b"), "U+0000"),
    "nul in an unknown field": (GOOD[:-1] + ', "x": ["\\u0000"]}', "U+0000"),
    "deep": ("[" * 100_000 + "]" * 100_000, "nested deeper"),
    "deep object": ('{"a":' * 100_000, "nested deeper"),
    "deep unclosed": ("[" * 100_000, "nested deeper"),
    "comma": ('[{"id": "1",}]', "line 1 column"),
    "latin1": (b'[{"id": "1", "title": "\xe9"}]', "is not UTF-8"),
    "empty": ("", "it is empty"),
    "two": (GOOD + " " + GOOD, "something follows"),
}


@pytest.mark.parametrize("name", BAD)
def test_each_fault_is_named(tmp_path: Path, name: str) -> None:
    memory = Memory(tmp_path)
    memory.put(record("9"))
    content, words = BAD[name]
    path = memory.file(content)
    for task in (
        ("resource.put", path),
        ("resource.import", path),
        ("resource.distill", path),
        ("resource.analyze", path),
    ):
        error = memory(*task, code=2)["error"]
        if task[0] == "resource.put" or name not in {"surrogate", "nul", "nul in an unknown field"}:
            assert words in error["message"], task
    assert memory.titles() == ["Item 9"]


def test_the_good_one_is_read_back_equal(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory("resource.put", memory.file(GOOD))
    (item,) = memory("resource.list")["resources"]
    assert memory.get(item["id"])["title"] == '🪶 é \u2028 "q" \\'


@pytest.mark.parametrize("name", BAD)
def test_capture_and_configurations_are_as_strict(tmp_path: Path, name: str) -> None:
    memory = Memory(tmp_path)
    path = memory.file(BAD[name][0])
    code, _, err = memory.run("sync", "--all", "--provider-config", path)
    assert code == 2, err
    code, _, err = memory.run("resource.pull", "--source-config", path)
    assert code == 2, err
    code, _, err = memory.run("resource.capture", "--bookmarks", path)
    assert code in {2, 9}, err
    assert memory("resource.status")["resources"] == 0
