"""Bindings: made once, replaced only by who knows the present revision, removed, listed, every change on record."""

from __future__ import annotations

import json
import os

from kbtasks.binding.pin import find_named_program, pin_program, pin_vault, surrounding_rules
from kbtasks.binding.private import INDEXES, PYCACHE, PYCACHE_KEY, private_index
from kbtasks.binding.registry import Registry, decode
from kbtasks.binding.shape import fits
from kbtasks.binding.stored import Place, now_text, overridden_rules, require_binding
from kbtasks.binding.verify import OK, verify
from kbtasks.errors import Conflict, KbError, NotBound, Untrusted, UsageError

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

#: The rules that no reason overrides.
ABSOLUTE_RULES = ("vault-is-root",)
MAX_REASON = 500


def make_pin(
    registry: Registry,
    place: Place,
    project: str,
    *,
    vault: str,
    program: str,
    trees: Sequence[str],
    start: str,
    override: str,
) -> dict[str, Any]:
    """Pin the vault and the program as they are now. override: the reason why refusing rules are set aside, or empty.

    Raises NotFound, UsageError, Untrusted (each rule named, with the command that mends it).
    """
    for path in (vault, program):
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise UsageError(message=f"a path that is not UTF-8 cannot be bound: {path!r}") from None
    if len(override) > MAX_REASON or "\n" in override:
        raise UsageError(message=f"--override takes a reason of one line and at most {MAX_REASON} characters")
    pinned_vault = pin_vault(vault, place.uid)
    found = pin_program(
        find_named_program(program, place.search_path),
        uid=place.uid,
        search_path=place.search_path,
        trees=trees,
        start=start,
        memory=registry,
    )
    pin = {"vault": pinned_vault, **found.facts}
    warnings = list(found.warnings)
    overridden = []
    rules = surrounding_rules(pin, project, uid=place.uid, home=place.home, store=os.path.realpath(place.store))
    for rule, message, refuses, mend in rules:
        if refuses:
            if not override or rule in ABSOLUTE_RULES:
                hint = mend or "kb bind ... --override 'the reason why it is right here'"
                raise Untrusted(path=pin["vault"]["path"], what="a binding", rule=message, next=hint)
            overridden.append(rule)
        warnings.append({"rule": rule, "message": message})
    pin["warnings"] = warnings
    pin["asked"] = {"trees": list(trees), "start": start}
    pin["override"] = {"rules": sorted(set(overridden)), "reason": override} if overridden else None
    return pin


def store_binding(
    registry: Registry, project: str, pin: dict[str, Any], *, revision: int | None, action: str
) -> tuple[dict[str, Any], bool]:
    """Write ``pin`` as the binding of ``project``; return the binding and whether anything changed.

    revision: None for a first binding, else the present number. Raises Conflict where that is not so. An identical pin
    changes nothing, and needs no revision. The check and the write are one transaction: of two that race, one wins.
    """
    with registry.change() as connection:
        row = connection.execute("SELECT revision, payload FROM binding WHERE project = ?", (project,)).fetchone()
        present = decode(project, *row) if row else None
        if present is not None and present["pin"] == pin and revision in (None, present["revision"]):
            return present, False
        actual = present["revision"] if present else None
        if revision != actual:
            raise _revision_conflict(project, actual, revision)
        now = now_text()
        last = connection.execute("SELECT max(revision) FROM audit WHERE project = ?", (project,)).fetchone()[0]
        number = max(actual or 0, last or 0) + 1  # a removed binding's numbers are not given out again
        binding: dict[str, Any] = {
            "project": project,
            "revision": number,
            "bound_at": present["bound_at"] if present else now,
            "changed_at": now,
            "pin": pin,
        }
        text = json.dumps(binding, sort_keys=True)
        connection.execute("INSERT OR REPLACE INTO binding VALUES (?, ?, ?)", (project, number, text))
        record(connection, project, action, number, changes(present["pin"] if present else None, pin))
    return binding, True


def _revision_conflict(project: str, actual: int | None, given: int | None) -> Conflict:
    if actual is None:
        return Conflict(
            message=f"{project} is not bound, so it has no revision {given}", next="bind without --revision"
        )
    if given is None:
        message = f"{project} is bound already (revision {actual})"
        return Conflict(message=message, next=f"to replace it, add --revision {actual}", revision=actual)
    return Conflict(
        message=f"the binding of {project} has revision {actual}, not {given}", next="kb bind.status", revision=actual
    )


def record(connection: Any, project: str, action: str, revision: int, what: list[dict[str, Any]]) -> None:
    """Add a line to the audit trail, in the transaction of the change itself."""
    connection.execute(
        "INSERT INTO audit (project, time, action, revision, changes) VALUES (?, ?, ?, ?, ?)",
        (project, now_text(), action, revision, json.dumps(what)),
    )


def changes(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What differs between two pins: ``{fact, old, new}`` per value, by dotted name."""
    before, after = _flat(old or {}), _flat(new or {})
    return [
        {"fact": name, "old": before.get(name), "new": after.get(name)}
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        items: list[tuple[str, Any]] = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        items = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {name: value}
    flat: dict[str, Any] = {}
    for key, item in items:
        flat.update(_flat(item, f"{name}.{key}" if name else key))
    return flat


def rebind(
    registry: Registry, place: Place, project: str, *, revision: int | None, accept_vault: bool, dry_run: bool
) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Pin the same vault and program again after an upgrade: (old binding, new binding, whether it was written).

    accept_vault: also accept that the folder at the vault's path is another one than before; refused otherwise.
    revision: the number the caller saw, or None for the present one. Raises Conflict and what ``make_pin`` raises.
    """
    present = require_binding(registry, project)
    if revision is not None and revision != present["revision"]:
        raise _revision_conflict(project, present["revision"], revision)
    pin = present["pin"]
    if not accept_vault:
        with verify(pin, uid=place.uid, memory=registry, allowed=overridden_rules(pin)) as outcome:
            for fact in outcome.facts:
                if fact.name == "vault.identity" and fact.state != OK:
                    raise Conflict(
                        message=f"{pin['vault']['path']} is another folder than the one that was bound",
                        next="look into it, then: kb bind.rebind --accept-vault",
                    )
    new = make_pin(
        registry,
        place,
        project,
        vault=pin["vault"]["path"],
        program=pin["program"]["named"],
        trees=pin["asked"]["trees"],
        start=pin["asked"]["start"],
        override=(pin["override"] or {}).get("reason", ""),
    )
    if dry_run:
        return present, {**present, "pin": new}, False
    binding, changed = store_binding(registry, project, new, revision=present["revision"], action="rebind")
    return present, binding, changed


def remove_binding(registry: Registry, project: str, revision: int | None, *, force: bool) -> int:
    """Forget the binding of ``project``; return its last revision. force: also a damaged row, without a revision."""
    with registry.change() as connection:
        row = connection.execute("SELECT revision, payload FROM binding WHERE project = ?", (project,)).fetchone()
        if row is None:
            raise NotBound(project=project)
        try:
            pin = decode(project, *row)["pin"]
        except KbError:
            if not force:
                raise
            pin = None
        if not force and revision != row[0]:
            if revision is None:
                raise UsageError(message="bind.remove needs --revision", next=f"kb bind.remove --revision {row[0]}")
            raise _revision_conflict(project, row[0], revision)
        connection.execute("DELETE FROM binding WHERE project = ?", (project,))
        record(connection, project, "remove", row[0], changes(pin, None))
    return int(row[0])


def drop_unused(registry: Registry) -> None:
    """Delete private indexes and compiled files that no binding speaks of any more; what cannot be deleted stays."""
    import shutil

    indexes, compiled = set(), set()
    for project, revision, payload in registry.rows("SELECT project, revision, payload FROM binding"):
        try:
            pin = decode(project, revision, payload)["pin"]
        except KbError:  # it may speak of any of them
            return
        indexes.add(os.path.basename(private_index(registry.store, pin["vault"]["path"])))
        if pin["packages"]:
            compiled.add(pin["packages"]["sha256"][:PYCACHE_KEY])
    for folder, used in ((INDEXES, indexes), (PYCACHE, compiled)):
        path = os.path.join(registry.store, folder)
        try:
            names = os.listdir(path)
        except OSError:
            continue
        for name in names:
            if name not in used:
                shutil.rmtree(os.path.join(path, name), ignore_errors=True)


def audit_trail(registry: Registry, project: str | None, limit: int) -> tuple[list[dict[str, Any]], int]:
    """The newest changes first, of ``project`` or of all: (entries, total)."""
    where, values = ("WHERE project = ?", (project,)) if project else ("", ())
    rows = registry.rows(
        f"SELECT number, project, time, action, revision, changes FROM audit {where} ORDER BY number DESC LIMIT ?",
        (*values, limit),
    )
    total = registry.rows(f"SELECT count(*) FROM audit {where}", values)[0][0]
    names = ("number", "project", "time", "action", "revision", "changes")
    entries = [{**dict(zip(names, row, strict=True)), "changes": _read_changes(row[5])} for row in rows]
    return entries, int(total)


def _read_changes(text: str) -> list[dict[str, Any]]:
    """The changes in a line of the trail; a damaged one says so and hides no other."""
    try:
        found = json.loads(text)
        if fits(found, [{"fact": str}]) and all({"fact", "old", "new"} == set(item) for item in found):
            return list(found)
    except (ValueError, TypeError, RecursionError):
        pass
    return [{"fact": "damaged", "old": None, "new": None}]
