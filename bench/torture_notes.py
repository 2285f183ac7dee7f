"""Racing writers of one vault, some of them killed: what was confirmed is there, and every note is old or new."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from pathlib import Path

from kbtasks import fsio
from kbtasks.errors import KbError
from kbtasks.vault import compose, journal
from kbtasks.vault.journal import Change
from kbtasks.vault.writer import Writer

WRITERS = 8


def torture(rounds: int, seed: int) -> dict[str, int]:
    """Run ``rounds`` of 8 writers each: appends, field changes and moves of shared notes, replacements at one known
    revision (of which one wins), a third of the writers killed.

    Raises AssertionError at the first thing lost; returns how many writes were confirmed, killed and refused.
    """
    choice = random.Random(seed)
    counts = {"rounds": rounds, "confirmed": 0, "killed": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        confirmed: set[str] = set()
        (root / "log.md").write_text("---\ntitle: Log\n---\n\n# Log 記\n", encoding="utf-8")
        (root / "wanders.md").write_text("# Wanders\n", encoding="utf-8")
        (root / "contested.md").write_text("nobody\n", encoding="utf-8")
        with Writer(folder) as writer:  # load here, once, what every child needs
            writer.set_fields("log.md", {("last",): "none"})
        for number in range(rounds):
            running = {}
            winners = []
            known = (root / "contested.md").read_bytes()
            for writer in range(WRITERS):
                line = f"- {number}.{writer} 行"
                kill_at = choice.randrange(40) if choice.random() < 0.34 else -1
                action = choice.choice(("append", "append", "append", "set", "move", "contest", "contest"))
                running[_start(root, action, line, kill_at, known)] = (action, line)
            while running:
                child, status = os.wait()
                action, line = running.pop(child)
                if os.WIFSIGNALED(status):
                    counts["killed"] += 1
                elif os.WEXITSTATUS(status) == 0:
                    counts["confirmed"] += 1
                    if action == "append":
                        confirmed.add(line)
                    elif action == "contest":
                        winners.append(line)
                else:
                    assert os.WEXITSTATUS(status) == 5, f"round {number}: {action} left with {os.WEXITSTATUS(status)}"
                    counts["refused"] += 1
            _check(root, confirmed, number)
            _check_contest(root, winners, known, number)
            if number % 50 == 49:  # keep the note small; what was confirmed so far has been seen
                (root / "log.md").write_text("---\ntitle: Log\n---\n\n# Log 記\n", encoding="utf-8")
                confirmed.clear()
    return counts


def _start(root: Path, action: str, line: str, kill_at: int, known: bytes) -> int:
    child = os.fork()
    if child:
        return child
    left = [kill_at]

    def on_step(_: str) -> None:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1

    fsio.on_step = on_step
    try:
        with Writer(str(root)) as writer:
            if action == "append":
                old = writer.read("log.md")
                writer.replace("log.md", old, compose.append("log.md", old, line.encode("utf-8")))
            elif action == "set":
                writer.set_fields("log.md", {("last",): line})
            elif action == "contest":
                old = writer.read("contested.md", fsio.revision(known))
                writer.replace("contested.md", old, line.encode("utf-8"))
            else:
                here = "wanders.md" if (root / "wanders.md").exists() else "else/wanders.md"
                there = "else/wanders.md" if here == "wanders.md" else "wanders.md"
                old = writer.read("log.md")
                new = compose.append("log.md", old, f"moved to [[{there[:-3]}]] by {line}".encode())
                moved = Change("move", here, to=there, expected=fsio.revision(writer.read(here)))
                writer.commit([Change("replace", "log.md", data=new, expected=fsio.revision(old)), moved])
        os._exit(0)
    except KbError as error:
        os._exit(error.exit_code)
    except BaseException:
        os._exit(99)


def _check_contest(root: Path, winners: list[str], known: bytes, number: int) -> None:
    """Of those who knew the same revision one at most won, and what stands is what the winner wrote."""
    assert len(winners) <= 1, f"round {number}: {winners} all won"
    now = (root / "contested.md").read_bytes()
    if winners:
        assert now.decode("utf-8") == winners[0], f"round {number}: {winners} won, but {now!r} stands"
    else:
        assert now == known or now.decode("utf-8").startswith(f"- {number}."), f"round {number}: {now!r} stands"


def _check(root: Path, confirmed: set[str], number: int) -> None:
    with Writer(str(root)) as writer:
        assert writer.left == [], f"round {number}: left {writer.left}"
    assert not journal.is_pending(str(root)), f"round {number}: a journal is left"
    text = (root / "log.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    lost = sorted(confirmed - set(lines))
    assert not lost, f"round {number}: lost {lost}"
    assert text.startswith("---\ntitle: Log\n"), f"round {number}: the front matter is damaged"
    places = [path for path in ("wanders.md", "else/wanders.md") if (root / path).exists()]
    assert len(places) == 1, f"round {number}: the moved note is at {places}"
    debris = [path for path in root.rglob("*") if path.name.startswith(fsio.TEMPORARY_PREFIX)]
    assert not debris, f"round {number}: debris {debris}"
