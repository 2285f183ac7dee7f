"""Promotions killed at random steps and moments: the short seeded form of ``bench/torture_promote.py``."""

from __future__ import annotations

import importlib.util
import os
import signal
from pathlib import Path
from types import ModuleType

import pytest
from support.foreign import Bench

from kbtasks import fsio
from kbtasks.binding.promote import promote
from kbtasks.binding.promotion import Promotion
from kbtasks.binding.recover import recover

BENCH = Path(__file__).resolve().parents[2] / "bench" / "torture_promote.py"


def harness() -> ModuleType:
    spec = importlib.util.spec_from_file_location("torture_promote", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [3, 4])
def test_killed_promotions_converge_on_one_note(seed: int) -> None:
    assert harness().torture(10, seed)["killed"] > 5


#: The steps an attempt announces: the text's file, the receipt, the child, the outcome.
STEPS = ["temporary-created", "temporary-written", "temporary-synced", "before-rename", "after-rename",
         "receipt-prepared-before", "receipt-prepared-after", "receipt-prepared-before", "receipt-prepared-after",
         "child-recorded", "child-ended", "receipt-confirmed-before", "receipt-confirmed-after"]  # fmt: skip


def test_a_crash_at_each_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def promotion(number: int) -> Promotion:
        return Promotion(
            project=str(bench.project), task="t", session=None, note=f"Note {number}.", title="T", tags=["x"]
        )

    def killed(number: int) -> None:
        child = os.fork()
        if child == 0:
            seen: list[str] = []

            def on_step(name: str) -> None:
                seen.append(name)
                if len(seen) == number + 1:
                    assert name == STEPS[number]
                    os.kill(os.getpid(), signal.SIGKILL)

            fsio.on_step = on_step
            try:
                promote(bench.place, promotion(number))
            finally:
                os._exit(1)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), STEPS[number]

    def there(number: int) -> bool:
        return (bench.vault / promotion(number).path).exists()

    for number, name in enumerate(STEPS):
        killed(number)
        decided = recover(bench.place, str(bench.project), "")
        if number <= 5:
            assert decided == [], f"{name}: no receipt yet, so nothing was started"
            assert not there(number)
        elif number < 12:
            [receipt] = decided
            assert (receipt["status"] == "confirmed") == there(number), name
            assert receipt["status"] in {"confirmed", "not_started"}
            if number < 9:
                assert receipt["status"] == "not_started", f"{name}: the child waits for its receipt"
            if number > 9:
                assert receipt["status"] == "confirmed", name
        assert promote(bench.place, promotion(number))[0]["status"] == "confirmed"
        assert there(number)
    assert len([path for path in bench.vault.iterdir() if path.name.startswith("promoted-")]) == len(STEPS)


def test_an_interruption_before_the_start_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path)
    made = Promotion(project=str(bench.project), task="t", session=None, note="Note.", title="T", tags=["x"])
    for step in STEPS[:9]:

        def interrupt(name: str, wanted: str = step) -> None:
            if name == wanted:
                raise KeyboardInterrupt

        monkeypatch.setattr(fsio, "on_step", interrupt)
        with pytest.raises(KeyboardInterrupt):
            promote(bench.place, made)
    monkeypatch.setattr(fsio, "on_step", None)
    assert bench.calls == []
    assert all(receipt["status"] == "not_started" for receipt in recover(bench.place, str(bench.project), ""))
    assert promote(bench.place, made)[0]["status"] == "confirmed"
