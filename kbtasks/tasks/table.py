"""The table of tasks: name -> module of kbtasks.tasks, imported on use."""

from __future__ import annotations

from kbtasks import command

#: One line per task; the module registers it with ``@command``.
TABLE: dict[str, str] = {
    "init": "init",
    "search": "search",
    "list": "list",
    "show": "show",
    "tags": "list",
    "refresh": "refresh",
    "doctor": "doctor",
    "links": "links",
    "backlinks": "links",
    "relation.list": "links",
    "graph": "graph",
    "stats": "graph",
    "context": "context",
    "agents.check": "context",
    "agents.identity": "context",
    "history": "history",
    "history.search": "history",
    "percolate": "percolate",
    "check": "check",
    "catalog": "catalog",
    "inbox": "percolate",
    "note.create": "note",
    "note.set": "note",
    "note.append": "note",
    "note.replace": "note",
    "note.move": "move",
    "note.delete": "move",
    "relation.add": "relation",
    "relation.remove": "relation",
    "plan.create": "plan",
    "plan.add": "plan",
    "plan.close": "plan",
    "plan.list": "plan",
    "clip": "clip",
    "pdf": "pdf",
    "capture.show": "capture",
    "capture.verify": "capture",
    "capture.diff": "capture",
    "capture.refresh": "capture",
    "resource.put": "resource",
    "resource.get": "resource",
    "resource.inspect": "resource",
    "resource.delete": "resource",
    "resource.status": "resource",
    "resource.search": "resource_find",
    "resource.list": "resource_find",
    "resource.pending": "resource_review",
    "resource.distill": "resource_review",
    "resource.analyze": "resource_review",
    "resource.pull": "resource_pull",
    "resource.sources": "resource_pull",
    "sync": "sync",
    "sync.verify": "sync",
    "sync.prepare": "sync",
    "bind": "bind",
    "bind.status": "bind",
    "bind.search": "recall",
    "bind.rebind": "bind",
    "bind.remove": "bind",
    "bind.list": "bind",
    "bind.log": "bind",
    "bind.serve": "recall",
    "bind.recent": "recall",
    "promote": "promote",
    "promote.receipts": "promote",
    "promote.recover": "promote",
    "task.note": "task",
    "evaluate": "evaluate",
    "resource.capture": "resource_capture",
    "resource.gc": "resource_care",
    "resource.doctor": "resource_care",
    "resource.export": "resource_care",
    "resource.import": "resource_care",
    "resource.vectors": "resource_care",
}


def resolve(name: str) -> command.Command:
    """The Command called ``name`` (KeyError where the table has none), importing its module only."""
    from importlib import import_module

    import_module(f"kbtasks.tasks.{TABLE[name]}")
    return command.lookup(name)


def all_commands() -> list[command.Command]:
    """Every Command, in the table's order; imports all task modules."""
    return [resolve(name) for name in TABLE]
