"""What else happens while a note is saved: a rebind, a vault that goes, an attempt that ended without being reaped."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from support.foreign import Bench
from support.processes import appears

from kbtasks.binding import receipts
from kbtasks.binding.promote import promote
from kbtasks.binding.promotion import Promotion, normalised_note
from kbtasks.errors import Conflict, Uncertain


def made(bench: Bench, text: str = "再試行 🪶") -> Promotion:
    note = normalised_note(text.encode(), what="note")
    return Promotion(note=note, project=str(bench.project), task="t-1", session=None, title="T", tags=["kb-promoted"])


def notes(bench: Bench) -> list[str]:
    return sorted(name for name in os.listdir(bench.vault) if name.startswith("promoted-"))


def status_of(bench: Bench, promotion: Promotion) -> str:
    with bench.place.registry() as registry:
        found = receipts.load(registry, promotion.request)
    assert found is not None
    return str(found["status"])


def test_an_earlier_attempt_that_ended_unreaped_is_over(tmp_path: Path) -> None:
    from kbtasks.process import Identity, boot_identity
    from kbtasks.supervisor import start_identity

    other = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    found = Identity(other.pid, start_identity(other.pid), boot_identity())
    assert found.alive()
    assert other.stdin is not None
    other.stdin.close()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert not found.alive()
    other.wait()


def test_a_note_that_waited_its_turn_goes_where_the_project_is_bound_then(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    other = bench.folder / "other"
    other.mkdir()
    ready = bench.folder / "ready"
    go = bench.folder / "go"
    bench.mode(
        f"exec:open({str(ready)!r}, 'w').close(); [time.sleep(0.01) for _ in range(900) if not os.path.exists({str(go)!r})]"
    )
    threads = [threading.Thread(target=promote, args=(bench.place, made(bench, text))) for text in ("first", "second")]
    threads[0].start()
    assert appears(ready)
    threads[1].start()
    bench.mode("")
    bench.bind(1, vault=str(other))
    go.touch()
    for thread in threads:
        thread.join()
    assert notes(bench) == [made(bench, "first").path]
    assert os.listdir(other) == [made(bench, "second").path]


def test_a_binding_replaced_just_before_the_start_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    other = bench.folder / "other"
    other.mkdir()
    whole = receipts.new_receipt

    def meanwhile(*words: Any) -> dict[str, Any]:
        bench.bind(1, vault=str(other))
        return whole(*words)

    monkeypatch.setattr(receipts, "new_receipt", meanwhile)
    promotion = made(bench)
    with pytest.raises(Conflict, match="replaced meanwhile"):
        promote(bench.place, promotion)
    monkeypatch.undo()
    assert bench.calls == []
    assert status_of(bench, promotion) == "not_started"
    assert promote(bench.place, promotion)[0]["vault"] == str(other)


def test_a_vault_that_vanishes_while_it_is_saved_is_uncertain(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.mode("exec:import shutil; shutil.rmtree(root)")
    promotion = made(bench)
    with pytest.raises(Uncertain, match=r"vault\.identity"):
        promote(bench.place, promotion)
    assert status_of(bench, promotion) == "uncertain"
