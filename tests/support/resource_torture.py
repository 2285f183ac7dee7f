"""kill -9 at the steps of put, pull, sync and their kin: the store opens after each, and every invariant holds.

The steps are those of kbtasks.fsio: every SQL statement, both sides of every commit, every step of a file written.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from kbtasks.resources import canonical
from kbtasks.resources.store import open_store
from support.kill import run_killed_at
from support.resource_world import FAULTS, World
from support.resources import record


def item(name: str, text: str) -> dict[str, object]:
    """An item of the world's source."""
    return {
        "id": name,
        "url": f"https://birds.example/{name}",
        "title": f"Item {name}",
        "text": text,
        "updatedAt": None,
    }


def held_of(world: World) -> dict[str, str]:
    """Revision by id of everything in the store; opens it as any command does."""
    if not world.memory.store.exists():
        return {}
    with open_store(str(world.memory.store)) as connection:
        return dict(connection.execute("SELECT id, revision FROM record").fetchall())


def actions(world: World, rng: random.Random, day: int) -> tuple[str, Callable[[], object]]:
    """One random command of the world."""
    memory = world.memory
    at = canonical.after("2200-01-01T00:00:00.000Z", day * 1000)
    names = rng.sample([str(n) for n in range(12)], rng.randint(1, 5))
    word = rng.choice(["owl", "jay 猫の本", "crow 🪶"]) + f" {day}"
    kind = rng.choice(["put", "put", "pull", "pull", "sync", "sync", "file", "delete", "capture", "gc"])
    if kind == "put":
        path = memory.file([record(name, text=word, updatedAt=at) for name in names])
        return kind, lambda: memory.run("resource.put", path)
    if kind == "pull":
        world.set_items([item(name, word) for name in names])
        world.set_source_fault(rng.choice(FAULTS))
        return kind, lambda: memory.run("resource.pull", "--source-config", world.source, "--restart")
    if kind == "sync":
        world.set_fault(rng.choice(FAULTS))
        return kind, lambda: memory.run("sync", "--all", "--allow-mass-change", "--provider-config", world.provider)
    if kind == "file":
        config, _ = memory.file_provider()
        return kind, lambda: memory.run(
            "sync", "--all", "--allow-mass-change", "--allow-empty", "--provider-config", config
        )
    if kind == "delete":
        target = canonical.resource_id("demo", names[0])
        return kind, lambda: memory.run("resource.delete", target)
    if kind == "capture":
        path = memory.file([{"id": name, "text": word, "url": f"https://birds.example/{name}"} for name in names])
        return kind, lambda: memory.run("resource.capture", "--bookmarks", path, "--provider", "demo")
    return kind, lambda: memory.run("resource.gc")


def torture(rounds: int, seed: int, *, say: Callable[[str], None] = lambda line: None) -> dict[str, int]:
    """Run ``rounds`` random commands, each killed at a random step (or not), and check everything after each.

    Returns how many rounds were killed, by command. Raises AssertionError where an invariant broke.
    """
    rng = random.Random(seed)
    killed: dict[str, int] = {}
    folder = Path(tempfile.mkdtemp(prefix="kb-torture-"))
    try:
        world = World(folder)
        for day in range(1, rounds + 1):
            before = held_of(world)
            kind, action = actions(world, rng, day)
            where = int(2 ** rng.uniform(0, 9.5)) - 1
            if run_killed_at(where, action):  # type: ignore[arg-type]
                killed[kind] = killed.get(kind, 0) + 1
            after = held_of(world)
            world.check()
            if kind == "put" and after != before:
                changed = {identity for identity in after if after[identity] != before.get(identity)}
                wanted = {
                    canonical.resource_id("demo", entry["source"]["id"]) for entry in world.memory.read(_latest(world))
                }
                assert changed == wanted, "half a batch was stored"
            if kind not in {"delete", "put"}:
                assert before.keys() <= after.keys(), "a record was lost"
            if day % 25 == 0:
                world.converge()
                say(f"{day} of {rounds} rounds, killed {sum(killed.values())}")
        world.converge()
    finally:
        shutil.rmtree(folder)
    return killed


def _latest(world: World) -> Path:
    return world.folder / f"input-{world.memory.files}.json"
