"""The table of tasks: name -> module of kbtasks.tasks, imported on use."""

from __future__ import annotations

from kbtasks import command

#: One line per task; the module registers it with ``@command``.
TABLE: dict[str, str] = {
    "init": "init",
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
}


def resolve(name: str) -> command.Command:
    """The Command called ``name`` (KeyError where the table has none), importing its module only."""
    from importlib import import_module

    import_module(f"kbtasks.tasks.{TABLE[name]}")
    return command.lookup(name)


def all_commands() -> list[command.Command]:
    """Every Command, in the table's order; imports all task modules."""
    return [resolve(name) for name in TABLE]
