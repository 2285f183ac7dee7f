"""Any sequence of put, delete, pull, review, sync and gc with flaky adapters: nothing lost, receipts true, no resurrection."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.resource_world import FAULTS, World
from support.resources import record

from kbtasks.resources import canonical

NAMES = st.sampled_from(["1", "2", "3", "4"])
WORDS = st.sampled_from(["owl", "jay", "猫の本", "crow 🪶"])


def identity(name: str) -> str:
    return canonical.resource_id("demo", name)


class Machine(RuleBasedStateMachine):
    """The model: what each name holds (its text and time) or when it was deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="kb-machine-"))
        self.world = World(self.folder)
        self.memory = self.world.memory
        self.live: dict[str, dict[str, Any]] = {}
        self.gone: dict[str, str] = {}
        self.day = 0

    def teardown(self) -> None:
        try:
            if self.memory.store.exists():
                self.world.converge()
        finally:
            shutil.rmtree(self.folder)

    @rule(name=NAMES, word=WORDS, ahead=st.sampled_from([1, 1, 1, 0, -3]))
    def put(self, name: str, word: str, ahead: int) -> None:
        self.day += 1
        at = canonical.after("2200-01-01T00:00:00.000Z", (self.day + ahead) * 1000)
        resource = record(name, text=word, updatedAt=at)
        held = self.live.get(name)
        stale = (held is not None and at < held["updatedAt"]) or at <= self.gone.get(name, "")
        clash = held is not None and at == held["updatedAt"] and held != {"id": identity(name), **resource}
        self.memory.put(resource, code=5 if stale or clash else 0)
        if not stale and not clash:
            self.live[name] = {"id": identity(name), **resource}
            self.gone.pop(name, None)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        found = self.memory("resource.delete", identity(name))
        assert found["deleted"] == (name in self.live)
        if self.live.pop(name, None) is not None:
            self.gone[name] = found["deletedAt"]

    @rule(
        names=st.lists(NAMES, unique=True, max_size=4),
        word=WORDS,
        fault=st.sampled_from(FAULTS),
        pages=st.sampled_from(["1", "10"]),
    )
    def pull(self, names: list[str], word: str, fault: str, pages: str) -> None:
        items = [
            {"id": n, "url": f"https://birds.example/{n}", "title": f"Item {n}", "text": word, "updatedAt": None}
            for n in names
        ]
        self.world.set_items(items)
        self.world.set_source_fault(fault)
        code, _, _ = self.memory.run(
            "resource.pull", "--source-config", self.world.source, "--max-pages", pages, "--restart"
        )
        assert code in {0, 9}
        for name in ["1", "2", "3", "4"]:
            if name in self.gone:
                self.memory("resource.get", identity(name), code=4)  # no resurrection
                continue
            code, _out, _ = self.memory.run("resource.get", identity(name), "--json")
            if name in self.live:
                assert code == 0  # nothing lost
            if code == 0:
                self.live[name] = self.memory.get(identity(name))

    @rule(fault=st.sampled_from(FAULTS))
    def sync(self, fault: str) -> None:
        self.world.set_fault(fault)
        code, _, _ = self.memory.run("sync", "--all", "--allow-mass-change", "--provider-config", self.world.provider)
        assert code in {0, 9}

    @rule()
    def review(self) -> None:
        self.world.review()
        for name in self.live:
            self.live[name] = self.memory.get(identity(name))

    @rule()
    def collect(self) -> None:
        self.memory("resource.gc")

    @invariant()
    def the_store_is_whole_and_holds_the_model(self) -> None:
        self.world.check()
        listed = {item["sourceId"] for item in self.memory("resource.list")["resources"]}
        assert listed == set(self.live)
        for name, expected in self.live.items():
            assert self.memory.get(identity(name)) == expected
        if self.memory.store.exists():
            graves = {item["id"]: item["deletedAt"] for item in self.memory("resource.list", "--deleted")["resources"]}
            assert graves == {identity(name): at for name, at in self.gone.items()}


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=8, stateful_step_count=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
