"""A small world around one store: a flaky provider, a flaky source, and the invariants that must always hold.

The adapters are real programs. They keep their state in files, so that it survives whatever happens to the command
that started them, and they fail on demand: before acting, after acting (the outcome is then uncertain), or by lying.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kbtasks.resources import canonical, care, records
from kbtasks.resources.store import open_store
from support.resources import Memory

FAULTS = ("none", "refuse", "before", "after", "lie", "garbage")

_PROVIDER = """
folder = sys.argv[1]
held_path = os.path.join(folder, "held.json")
held = json.load(open(held_path)) if os.path.exists(held_path) else {}
fault = open(os.path.join(folder, "fault")).read()
if fault == "before": sys.exit(1)
if fault == "refuse": answer(ok=False)
if fault != "lie" and request["operation"] == "upsert": held[request["id"]] = request["resource"]
elif fault != "lie" and request["operation"] == "delete": held.pop(request["id"], None)
elif request["operation"] == "search": answer(resources=[])
with open(held_path + ".tmp", "w") as file: json.dump(held, file)
os.replace(held_path + ".tmp", held_path)
with open(os.path.join(folder, "log"), "a") as file: file.write(request["operation"] + " " + request["id"] + "\\n")
if fault == "after": sys.exit(1)
if fault == "garbage": print("{{{"); sys.exit(0)
if fault == "lie": answer(revision="0" * 64)
answer()
"""
_SOURCE = """
folder = sys.argv[1]
items = json.load(open(os.path.join(folder, "items.json")))
fault = open(os.path.join(folder, "source-fault")).read()
start = int(request["cursor"] or 0)
if fault == "before" or (fault == "after" and start): answer(ok=False, code="rate_limited")
if fault == "garbage" and start: print("x"); sys.exit(0)
if fault == "lie": answer(account="@other")
page = items[start:start + 2]
answer(items=page, nextCursor=str(start + 2) if start + 2 < len(items) else None)
"""


class World:
    """One store in ``folder`` with one provider and one source."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = Memory(folder)
        self.set_fault("none")
        self.set_source_fault("none")
        self.items: list[dict[str, Any]] = []
        self.set_items([])
        self.provider = self.memory.command_provider(_PROVIDER, str(folder))
        self.source = self.memory.source(_SOURCE, str(folder), pagination="cursor")

    def set_fault(self, fault: str) -> None:
        """How the provider fails from now on."""
        (self.folder / "fault").write_text(fault)

    def set_source_fault(self, fault: str) -> None:
        """How the source fails from now on."""
        (self.folder / "source-fault").write_text(fault)

    def set_items(self, items: list[dict[str, Any]]) -> None:
        """What the source tells from now on."""
        self.items = items
        (self.folder / "items.json").write_text(json.dumps(items))

    @property
    def held(self) -> dict[str, Any]:
        """What the provider really holds."""
        path = self.folder / "held.json"
        return json.loads(path.read_text()) if path.exists() else {}  # type: ignore[no-any-return]

    @property
    def held_in_file(self) -> dict[str, Any]:
        """What the file provider's target really holds."""
        path = self.folder / "target.json"
        document = json.loads(path.read_text()) if path.exists() else {"resources": []}
        return {resource["id"]: resource for resource in document["resources"]}

    def check(self) -> None:
        """Every invariant of the store, and the truth of every receipt."""
        if not self.memory.store.exists():
            return
        with open_store(str(self.memory.store)) as connection:
            checked, findings = care.examine(connection, str(self.memory.store))
            found = [finding for finding in findings if finding["kind"] != "left-behind"]
            assert found == [], found
            assert checked == records.count(connection)
            there = {"command": self.held, "file": self.held_in_file}
            for where, identity, revision, kind in connection.execute(
                "SELECT p.kind, c.id, c.revision, c.kind FROM receipt c JOIN provider p ON p.key = c.provider"
            ):
                held = there[where]
                stored = records.find(connection, identity)
                settled = stored is not None and stored.revision == revision
                if settled and kind == "upsert":
                    assert canonical.digest(held[identity]) == revision, "a receipt for what is not there"
                gone = connection.execute("SELECT revision FROM tombstone WHERE id = ?", (identity,)).fetchone()
                if gone is not None and gone[0] == revision:
                    assert identity not in held, "a receipt for a deletion that was not done"

    def converge(self) -> None:
        """With healthy adapters one review and one sync bring both sides together; the next sends nothing."""
        self.set_fault("none")
        memory = self.memory
        self.review()
        memory("sync", "--all", "--allow-mass-change", "--provider-config", self.provider)
        log = self.folder / "log"
        before = log.read_text() if log.exists() else ""
        memory("sync", "--all", "--provider-config", self.provider)
        assert (log.read_text() if log.exists() else "") == before
        with open_store(str(memory.store)) as connection:
            stored = {row[0]: json.loads(row[1]) for row in connection.execute("SELECT id, body FROM record")}
        assert self.held == stored
        self.check()

    def review(self) -> None:
        """Review everything that waits."""
        while items := self.memory("resource.pending", "--limit", "100")["items"]:
            reviews = [
                {name: item[name] for name in ("id", "sourceRevision", "resourceRevision")}
                | {"summary": "seen", "purpose": "", "useWhen": [], "limitations": []}
                for item in items
            ]
            self.memory("resource.distill", "-", input=reviews)
