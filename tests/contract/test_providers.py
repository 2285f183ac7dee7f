"""The contract of a provider, held by all kinds and by the template; an adapter of your own is tested by adding its configuration here."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.resources import SERVICE, Memory, record

from kbtasks.resources import canonical
from kbtasks.resources.model import Reader, normal_resource
from kbtasks.resources.providers.base import Change, Provider
from kbtasks.resources.providers.config import load_provider

_names = itertools.count()
Make = Callable[[], Provider]


@pytest.fixture(params=["file", "command", "template", "postgresql"])
def make(request: pytest.FixtureRequest, memory: Memory) -> Make:
    """Makes a provider, each time for the same destination."""
    if request.param == "file":
        config, _ = memory.file_provider()
    elif request.param == "command":
        config = memory.command_provider(SERVICE, str(memory.folder / "service.json"))
    elif request.param == "template":
        template = Path(__file__).resolve().parents[2] / "examples" / "resources" / "memory_adapter.py"
        command = [sys.executable, str(template), str(memory.folder / "held")]
        config = memory.file({"kind": "command", "scope": "personal", "namespace": "n", "command": command})
    else:
        folder: Path = request.getfixturevalue("postgres")
        document = {
            "kind": "postgresql", "scope": "personal", "namespace": f"test-{next(_names)}", "host": str(folder), "dbname": "postgres",
            "user": "kb", "table": "kb_contract",
        }  # fmt: skip
        config = memory.file(document)

    def load() -> Provider:
        return load_provider(
            Path(config).read_bytes(), what=config, store_path=str(memory.store), environ={"PATH": "/usr/bin:/bin"}
        )

    if request.param == "postgresql":
        first = load()
        first.prepare()  # type: ignore[attr-defined]
        first.close()
    return load


def upsert(identity: str = "1", **changes: object) -> Change:
    resource = normal_resource(record(identity, **changes), Reader("x"))
    return Change(resource["id"], canonical.digest(resource), resource["updatedAt"], resource)


def deletion(change: Change, at: str) -> Change:
    return Change(change.id, canonical.digest({"id": change.id, "deletedAt": at}), at, None)


def states(provider: Provider, *changes: Change) -> list[str]:
    found: list[str] = []
    for start in range(0, len(changes), provider.batch):
        found += [outcome.state for outcome in provider.send(list(changes[start : start + provider.batch]))]
    return found


def test_a_confirmed_change_is_there(make: Make) -> None:
    provider = make()
    change = upsert("1", text="An owl 🪶 見る \u2028 'quoted' \\ text", title="")
    assert states(provider, change, upsert("2")) == ["confirmed"] * 2
    provider.close()
    other = make()
    assert other.key == provider.key
    (found,) = other.search("owl", 5)
    assert found == change.resource
    other.close()


def test_the_same_change_twice_is_one(make: Make) -> None:
    provider = make()
    change = upsert("1", text="owl")
    assert states(provider, change, change) == ["confirmed"] * 2
    assert states(provider, change) == ["confirmed"]
    assert len(provider.search("owl", 5)) == 1
    assert provider.count() in {1, None}
    provider.close()


def test_an_update_replaces_and_every_field_survives(make: Make) -> None:
    provider = make()
    design = {"status": "unanalyzed", "images": [{"url": "https://img.example/1", "observed": False}], "domains": [], "features": [],
              "styles": [], "analyzedAt": None, "reason": "r"}  # fmt: skip
    states(provider, upsert("1", text="owl"))
    newer = upsert(
        "1", text="jay", updatedAt="2026-06-01T00:00:00Z", design=design, useWhen=["a"], savedReason="because"
    )
    assert states(provider, newer) == ["confirmed"]
    assert provider.search("owl", 5) == []
    assert provider.search("jay", 5) == [newer.resource]
    provider.close()


def test_deletion_is_idempotent_and_ends_finding(make: Make) -> None:
    provider = make()
    change = upsert("1", text="owl")
    states(provider, change)
    gone = deletion(change, "2026-07-01T00:00:00.000Z")
    assert states(provider, gone, gone, deletion(upsert("never"), "2026-07-01T00:00:00.000Z")) == ["confirmed"] * 3
    assert provider.search("owl", 5) == []
    restored = upsert("1", text="owl again", updatedAt="2026-08-01T00:00:00Z")
    assert states(provider, restored) == ["confirmed"]
    assert provider.search("owl", 5) == [restored.resource]
    provider.close()


def test_search_is_bounded_and_never_doubles(make: Make) -> None:
    provider = make()
    states(provider, *(upsert(str(n), text="owl") for n in range(8)))
    found = provider.search("owl", 5)
    assert len({resource["id"] for resource in found}) == len(found) <= 5
    assert provider.search("nothing-like-it", 5) == []
    provider.close()


def test_read_back_tells_what_is_there(make: Make) -> None:
    provider = make()
    held, missing = upsert("1", title="held", text="owl"), upsert("2", title="missing")
    states(provider, held)
    found = provider.read_back([held, missing])
    assert found[held.id] == held.revision
    assert found[missing.id] in {None, "unknown"}
    provider.close()


def test_later_edits_there_are_not_overwritten(make: Make) -> None:
    provider = make()
    if provider.kind == "command":
        pytest.skip("a service of its own rules")
    later = upsert("1", text="later", updatedAt="2026-06-01T00:00:00Z")
    states(provider, later)
    assert states(provider, upsert("1", text="older")) == ["refused"]
    assert states(provider, upsert("1", text="other", updatedAt="2026-06-01T00:00:00Z")) == ["refused"]
    assert states(provider, deletion(later, "2026-05-01T00:00:00.000Z")) == ["refused"]
    assert provider.search("later", 5) == [later.resource]
    provider.close()
