"""Case 073: an adapter that returns nothing, or an empty list, after a failure deletes nothing and is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.resources import Memory

CODE = """
m = open(sys.argv[1]).read()
full = [item(i) for i in range(1, 6)]
if m == "full": answer(items=full)
elif m == "four": answer(items=full[:4])
elif m == "two": answer(items=full[:2])
elif m == "emptylist": answer(items=[])
elif m == "nothing": pass
elif m == "fail": print(json.dumps({"ok": True, "items": full[:1]})); sys.exit(1)
elif m == "null": print("null")
elif m == "error": print(json.dumps({"error": "login required"}))
elif m == "half": sys.stdout.write(json.dumps(full)[:150])
elif m == "killed": sys.stdout.write("["); sys.stdout.flush(); os.kill(os.getpid(), 9)
"""


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path)
    (tmp_path / "mode").write_text("full")
    (tmp_path / "config").write_text(Path(memory.source(CODE, str(tmp_path / "mode"))).read_text())
    memory("resource.pull", "--source-config", str(tmp_path / "config"))
    return memory


@pytest.mark.parametrize("mode", ["emptylist", "nothing", "fail", "null", "error", "half", "killed"])
def test_what_is_no_complete_answer_changes_nothing(memory: Memory, mode: str) -> None:
    (memory.folder / "mode").write_text(mode)
    found = memory("resource.pull", "--source-config", str(memory.folder / "config"), code=9)
    assert found["state"] == "failed"
    assert found["error"]
    assert memory("resource.status")["resources"] == 5
    assert memory("resource.status")["tombstones"] == 0


def test_absence_never_deletes_and_half_is_warned_of(memory: Memory) -> None:
    config = str(memory.folder / "config")
    (memory.folder / "mode").write_text("four")
    assert "Only" not in memory("resource.pull", "--source-config", config)["note"]
    (memory.folder / "mode").write_text("full")
    memory("resource.pull", "--source-config", config)
    (memory.folder / "mode").write_text("two")
    assert "Only 2 items came, where there were 5 before" in memory("resource.pull", "--source-config", config)["note"]
    assert memory("resource.status")["resources"] == 5
