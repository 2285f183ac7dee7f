"""Promotions killed at random steps and moments: one note or none, receipts that tell the truth, nothing left running."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kbtasks import fsio
from kbtasks.binding import receipts
from kbtasks.binding.binding import make_pin, store_binding
from kbtasks.binding.promote import promote
from kbtasks.binding.promotion import Promotion, normalised_note
from kbtasks.binding.recover import recover
from kbtasks.binding.stored import Place
from kbtasks.errors import KbError

#: How many steps an attempt announces, and some more: past the last one nobody is killed.
STEPS = 16
FOREIGN = """#!/bin/sh
id=$3
while [ $# -gt 0 ]; do
    case $1 in --body-file) body=$2;; --root) root=$2;; esac
    shift
done
new=$root/.new.$$
cat "$body" > "$new"
ln "$new" "$root/$id.md" 2>/dev/null || cmp -s "$new" "$root/$id.md" || { rm -f "$new"; echo exists >&2; exit 1; }
rm -f "$new"
sum=$(sha256sum "$root/$id.md")
printf '{"changed":true,"path":"%s.md","revision":"sha256:%s"}' "$id" "${sum%% *}"
"""
OWN = """#!{python}
import sys
sys.path.insert(0, {repository!r})
from kbtasks.recall import main
main()
"""


def torture(rounds: int, seed: int) -> dict[str, int]:
    """Promote ``rounds`` notes, each attempt but the last of a note killed; two programs take turns.

    Raises AssertionError at the first lie; returns how many attempts were killed, how many notes were there by then, and
    how often recovery decided either way.
    """
    choice = random.Random(seed)
    counts = {"rounds": rounds, "killed": 0, "finished": 0, "landed": 0, "recovered_there": 0, "recovered_not": 0}
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        places = [_bound(base / "foreign", FOREIGN), _bound(base / "own", _own_program())]
        for number in range(rounds):
            place, project, vault = places[number % 2]
            note = normalised_note(f"Decision {number} of {seed}. 決定 🪶\n".encode(), what="note")
            promotion = Promotion(project=project, task="t-1", session=None, note=note, title=f"D {number}", tags=["x"])
            for _ in range(choice.randrange(1, 5)):
                killed = _killed_attempt(place, promotion, choice)
                counts["killed" if killed else "finished"] += 1
                if not killed:
                    break
                there = _notes(vault, promotion)
                counts["landed"] += there
                if choice.random() < 0.4:
                    _check_recovery(place, project, promotion, vault, counts)
            receipt, _ = promote(place, promotion)
            assert receipt["status"] == receipts.CONFIRMED, receipt
            assert _notes(vault, promotion) == 1, f"round {number}: {os.listdir(vault)}"
            assert receipts.vault_state(receipt) == "present", receipt
            assert recover(place, project, "") == [], "a confirmed promotion is not open"
        for _, _, vault in places:
            names = [name for name in os.listdir(vault) if name.endswith(".md")]
            assert len(names) == len(set(names)) <= rounds
            assert _gone(str(vault)), "something still runs"
    return counts


def _own_program() -> str:
    repository = str(Path(fsio.__file__).resolve().parent.parent)
    return OWN.format(python=sys.executable, repository=repository)


def _bound(folder: Path, program: str) -> tuple[Place, str, Path]:
    vault, project, tool = folder / "vault", folder / "project", folder / "finder"
    for path in (vault, project):
        path.mkdir(parents=True)
    tool.write_text(program)
    tool.chmod(0o755)
    place = Place(uid=os.getuid(), home=str(folder / "home"), search_path="/usr/bin:/bin", store=str(folder / "store"))
    with place.registry(must_write=True) as registry:
        pin = make_pin(
            registry, place, str(project), vault=str(vault), program=str(tool), trees=(), start="auto", override=""
        )
        store_binding(registry, str(project), pin, revision=None, action="bind")
    return place, str(project), vault


def _killed_attempt(place: Place, promotion: Promotion, choice: random.Random) -> bool:
    """One attempt in a child, killed at a random step or after a random time; whether it was killed before it ended."""
    by_step = choice.random() < 0.6
    left = [choice.randrange(STEPS) if by_step else -1]
    delay = choice.random() * 0.15
    child = os.fork()
    if child == 0:

        def on_step(_name: str) -> None:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

        fsio.on_step = on_step
        code = 0
        try:
            promote(place, promotion)
        except KbError as error:
            code = error.exit_code
        except BaseException:
            code = 1
        os._exit(code)
    if not by_step:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, f"an attempt left with {os.WEXITSTATUS(status)}"
    return os.WIFSIGNALED(status)


def _notes(vault: Path, promotion: Promotion) -> int:
    found = [name for name in os.listdir(vault) if name.startswith(promotion.note_id)]
    assert len(found) <= 1, found
    return len(found)


def _check_recovery(place: Place, project: str, promotion: Promotion, vault: Path, counts: dict[str, int]) -> None:
    """What recovery decides must be so, and stay so."""
    decided: list[dict[str, Any]] = recover(place, project, "")
    assert len(decided) <= 1, decided
    for receipt in decided:
        data = receipts.note_in_vault(str(vault), promotion.path)
        if receipt["status"] == receipts.CONFIRMED:
            counts["recovered_there"] += 1
            assert data is not None
            assert fsio.revision(data) == receipt["revision"]
            assert receipts.holds_text(data, promotion.text)
        else:
            counts["recovered_not"] += 1
            assert (receipt["status"], data) == (receipts.NOT_STARTED, None), receipt
            time.sleep(0.05)
            assert _notes(vault, promotion) == 0, "it landed after it was said not to have"


def _gone(word: str) -> bool:
    """Whether no process names ``word`` in its command line within ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not any(word.encode() in line for line in _command_lines()):
            return True
        time.sleep(0.05)
    return False


def _command_lines() -> list[bytes]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                found.append(Path(f"/proc/{name}/cmdline").read_bytes())
            except OSError:
                continue
    return found
