"""kill -9 at every step of put, pull and sync, one after another, and a short random walk (the long one is in bench/)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.kill import run_killed_at, steps
from support.resource_torture import held_of, item, torture
from support.resource_world import World
from support.resources import record

from kbtasks.resources import canonical


def put(world: World, day: int) -> tuple[str, ...]:
    at = canonical.after("2200-01-01T00:00:00.000Z", day)
    return ("resource.put", world.memory.file([record(name, text=f"owl {day}", updatedAt=at) for name in "123"]))


def pull(world: World, day: int) -> tuple[str, ...]:
    world.set_items([item(name, f"jay {day}") for name in "1234"])
    return ("resource.pull", "--source-config", world.source, "--restart")


def sync(world: World, day: int) -> tuple[str, ...]:
    at = canonical.after("2200-01-01T00:00:00.000Z", day)
    world.memory.put(*(record(name, text=f"owl {day}", updatedAt=at) for name in "12"))
    return ("sync", "--all", "--allow-mass-change", "--provider-config", world.provider)


def file_sync(world: World, day: int) -> tuple[str, ...]:
    sync(world, day)
    config, _ = world.memory.file_provider()
    return ("sync", "--all", "--allow-mass-change", "--provider-config", config)


@pytest.mark.parametrize(("action", "stride"), [(put, 1), (pull, 4), (sync, 3), (file_sync, 2)])
def test_every_step(tmp_path: Path, action: Callable[[World, int], tuple[str, ...]], stride: int) -> None:
    """Every ``stride``-th step, the first and last ones included; which ones turns with the day's parity in the long form."""
    world = World(tmp_path)
    for number in steps():
        before = held_of(world)
        words = action(world, number + 1)
        if not run_killed_at(number * stride if number > 3 else number, lambda words=words: world.memory.run(*words)):  # type: ignore[misc]
            break
        after = held_of(world)
        world.check()
        assert before.keys() <= after.keys()
        if action is put:
            assert len({world.memory.get(identity)["text"] for identity in after}) <= 1
    assert number > 5
    world.converge()


def test_a_short_random_walk() -> None:
    killed = torture(25, seed=7)
    assert sum(killed.values()) >= 5
