"""``bind`` and ``bind.*``: one vault and one search program pinned to a project."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result
from kbtasks.tasks.place import PROJECT_HELP, STORE_HELP, binding_document, place_of, project_of, short, speaking_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.binding.stored import Place
    from kbtasks.command import Context

DRIFT = 6


@command(
    "bind",
    schema="bind",
    help={
        "vault": "The vault: a folder that you own and nobody else can write.",
        "project": PROJECT_HELP,
        "program": "The search program: an absolute path, or a name on PATH (default: kb-recall of this installation).",
        "revision": "To replace a binding: its present revision (0: there is none).",
        "override": "The reason why a refusing rule about places does not matter here; it is recorded.",
        "tree": "A further folder of files that the program loads, to be pinned as well.",
        "start": "How the program is started: from what was verified, by its path, or as fits it.",
        "store": STORE_HELP,
    },
    choices={"start": ("auto", "descriptor", "path")},
)
def bind(
    context: Context,
    vault: str,
    project: str = "",
    program: str = "",
    revision: int = 0,
    override: str = "",
    tree: list[str] = [],  # noqa: B006
    start: str = "auto",
    store: str = "",
) -> Result:
    """Pin one vault and one installed search program to a project.

    From then on the project's workers can search that vault and nothing else (bind.search, bind.serve), and a person
    can save notes back (promote). Everything pinned is verified before each call. The same bind again changes nothing;
    replacing a binding needs its revision.
    """
    from kbtasks.binding.binding import drop_unused, make_pin, store_binding

    place = place_of(context, store)
    chosen = project_of(context, place, project, bound=False)
    with place.registry(must_write=True) as registry:
        pin = make_pin(
            registry,
            place,
            chosen,
            vault=context.path(vault),
            program=program or own_launcher(),
            trees=[context.path(folder) for folder in tree],
            start=start,
            override=override,
        )
        binding, changed = store_binding(registry, chosen, pin, revision=revision or None, action="bind")
        drop_unused(registry)
    notes = [f"note: {item['message']}" for item in pin["warnings"]]
    notes += warm_index(place, pin)
    data = {**binding_document(binding), "changed": changed}
    return Result("bind", data, text=_binding_text, notes=notes)


def warm_index(place: Place, pin: dict[str, Any]) -> list[str]:
    """Build the private index that a bound kb-recall searches where the vault has none, so that no search has to.

    Returns what should be said about it. Another program gets none; a fault here is only a note.
    """
    import os

    from kbtasks.binding.pin import OWN_LAUNCHER
    from kbtasks.binding.private import INDEXES, private_folder, private_index
    from kbtasks.config import CACHE_FOLDER
    from kbtasks.errors import KbError
    from kbtasks.index.view import open_view

    vault = pin["vault"]["path"]
    present = os.path.exists(os.path.join(vault, CACHE_FOLDER, "index.db"))
    if os.path.basename(pin["program"]["path"]) != OWN_LAUNCHER or not pin["boot"] or present:
        return []
    try:
        private_folder(os.path.join(place.store, INDEXES), place.uid)
        cache = private_folder(private_index(place.store, vault), place.uid)
        with open_view(vault, cache, finish_writers=False):
            pass
    except KbError as error:
        return [f"note: the index for searches could not be made: {error.message}"]
    return []


def own_launcher() -> str:
    """Absolute path of ``kb-recall`` beside the running interpreter or command; UsageError where it is not installed."""
    import os
    import sys

    for folder in (os.path.dirname(os.path.abspath(sys.executable)), os.path.dirname(os.path.abspath(sys.argv[0]))):
        path = os.path.join(folder, "kb-recall")
        if os.path.isfile(path):
            return path
    raise UsageError(message="kb-recall is not installed beside kb", next="name a program with --program FILE")


def _binding_text(data: dict[str, Any]) -> str:
    from kbtasks.agent.frame import shown_path

    pin = data["pin"]
    lines = [
        f"{data['project']}  revision {data['revision']}" + ("" if data.get("changed", True) else "  (unchanged)"),
        f"  vault    {shown_path(pin['vault']['path'])}",
        f"  program  {shown_path(pin['program']['path'])}  {short(pin['program']['sha256'])}",
    ]
    lines += [f"  through  {item['written']}  {short(item['sha256'])}" for item in pin["interpreters"]]
    if pin["packages"]:
        lines.append(f"  packages {pin['packages']['files']} files  {short(pin['packages']['sha256'])}")
    if pin["override"]:
        lines.append(f"  override {', '.join(pin['override']['rules'])}: {pin['override']['reason']}")
    return "\n".join(lines)


@command("bind.status", schema="bind-status", help={"project": PROJECT_HELP, "store": STORE_HELP})
def bind_status(context: Context, project: str = "", store: str = "") -> Result:
    """Verify every pinned fact and say what is ok, changed or missing.

    Exit 6 when anything drifted (with the one command that helps), 4 when nothing is bound.
    """
    from kbtasks.binding.stored import overridden_rules, require_binding
    from kbtasks.binding.verify import verify

    place = place_of(context, store)
    chosen = project_of(context, place, project)
    with place.registry() as registry:
        binding = require_binding(registry, chosen)
        pin = binding["pin"]
        with verify(pin, uid=place.uid, memory=registry, allowed=overridden_rules(pin)) as outcome:
            facts = [fact.to_json() for fact in outcome.facts]
            ok = outcome.ok
    data = {
        "project": chosen,
        "revision": binding["revision"],
        "bound_at": binding["bound_at"],
        "changed_at": binding["changed_at"],
        "vault": pin["vault"]["path"],
        "program": pin["program"]["path"],
        "start": pin["start"],
        "ok": ok,
        "facts": facts,
        "total": len(facts),
        "truncated": False,
        "next": None if ok else speaking_of(next_command(facts), project, store),
        "warnings": pin["warnings"],
        "override": pin["override"],
    }
    return Result("bind-status", data, exit_code=0 if ok else DRIFT, text=_status_text, tail="facts")


def next_command(facts: list[dict[str, Any]]) -> str:
    """The one command that helps: mend what can be mended in place, else pin again."""
    drifted = [fact for fact in facts if fact["state"] != "ok"]
    mending = next((fact["next"] for fact in drifted if fact["next"]), None)
    if mending is not None:
        return str(mending)
    if any(fact["fact"] == "vault.identity" for fact in drifted):
        return "kb bind.rebind --accept-vault"
    return "kb bind.rebind"


def _status_text(data: dict[str, Any]) -> str:
    lines = [f"{data['project']}  revision {data['revision']}  {'ok' if data['ok'] else 'DRIFTED'}"]
    for fact in data["facts"]:
        line = f"  {fact['state']:8}{fact['fact']:20}{short(fact['old'])}"
        lines.append(line if fact["state"] == "ok" else f"{line}  ->  {short(fact['new'])}")
    if data["next"]:
        lines.append(f"  next: {data['next']}")
    return "\n".join(lines)


@command(
    "bind.rebind",
    schema="bind-rebind",
    help={
        "project": PROJECT_HELP,
        "revision": "Only if the binding still has this revision (0: whatever it has now).",
        "accept_vault": "Also accept that another folder stands at the vault's path.",
        "dry_run": "Show old and new, change nothing.",
        "store": STORE_HELP,
    },
)
def bind_rebind(
    context: Context,
    project: str = "",
    revision: int = 0,
    accept_vault: bool = False,
    dry_run: bool = False,
    store: str = "",
) -> Result:
    """Pin the same vault and program again after an upgrade, showing old and new."""
    from kbtasks.binding.binding import changes, drop_unused, rebind

    place = place_of(context, store)
    chosen = project_of(context, place, project)
    with place.registry(must_write=True) as registry:
        old, new, written = rebind(
            registry, place, chosen, revision=revision or None, accept_vault=accept_vault, dry_run=dry_run
        )
        if written:
            drop_unused(registry)
    found = changes(old["pin"], new["pin"])
    data = {
        **binding_document(new),
        "changed": written,
        "dry_run": dry_run,
        "changes": found,
        "total": len(found),
        "truncated": False,
    }
    return Result("bind-rebind", data, text=_rebind_text, tail="changes")


def _rebind_text(data: dict[str, Any]) -> str:
    lines = [
        f"  {item['fact']}: {short(_shown(item['old']))}  ->  {short(_shown(item['new']))}" for item in data["changes"]
    ]
    state = "dry run" if data["dry_run"] else "changed" if data["changed"] else "unchanged"
    return "\n".join([f"{data['project']}  revision {data['revision']}  ({state})", *lines])


def _shown(value: Any) -> str | None:
    return None if value is None else str(value)


@command(
    "bind.remove",
    schema="bind-remove",
    help={
        "project": PROJECT_HELP,
        "revision": "The binding's present revision.",
        "force": "Remove it whatever its revision, even a damaged one.",
        "store": STORE_HELP,
    },
)
def bind_remove(context: Context, project: str = "", revision: int = 0, force: bool = False, store: str = "") -> Result:
    """Forget a project's binding. Notes, receipts and the audit trail stay."""
    from kbtasks.binding.binding import drop_unused, remove_binding

    place = place_of(context, store)
    chosen = project_of(context, place, project)
    with place.registry(must_write=True) as registry:
        last = remove_binding(registry, chosen, revision or None, force=force)
        drop_unused(registry)
    return Result("bind-remove", {"project": chosen, "revision": last, "removed": True})


@command("bind.list", schema="bind-list", help={"limit": "At most this many bindings.", "store": STORE_HELP})
def bind_list(context: Context, limit: int = 100, store: str = "") -> Result:
    """All bindings of this user, by project. Nothing is verified; see bind.status."""
    from kbtasks.binding.registry import decode
    from kbtasks.errors import KbError

    if limit < 1:
        raise UsageError(message="--limit is at least 1")
    with place_of(context, store).registry() as registry:
        rows = registry.rows("SELECT project, revision, payload FROM binding ORDER BY project")
    bindings, damaged = [], 0
    for project, revision, payload in rows:
        try:
            binding = decode(project, revision, payload)
        except KbError:
            damaged += 1
            continue
        pin = binding["pin"]
        bindings.append(
            {
                "project": project,
                "revision": revision,
                "vault": pin["vault"]["path"],
                "program": pin["program"]["path"],
                "changed_at": binding["changed_at"],
            }
        )
    data = {
        "bindings": bindings[:limit],
        "total": len(rows),
        "truncated": len(bindings) > limit,
        "damaged": damaged,
    }
    return Result("bind-list", data, text=_list_text, tail="bindings")


def _list_text(data: dict[str, Any]) -> str:
    from kbtasks.agent.frame import shown_path

    return "\n".join(
        f"{item['project']}  ->  {shown_path(item['vault'])}  (revision {item['revision']})"
        for item in data["bindings"]
    )


@command(
    "bind.log",
    schema="bind-log",
    help={"project": PROJECT_HELP, "all": "Of every project.", "limit": "At most this many.", "store": STORE_HELP},
)
def bind_log(context: Context, project: str = "", all: bool = False, limit: int = 50, store: str = "") -> Result:
    """The audit trail: when which binding was made, changed or removed, and what changed in it."""
    from kbtasks.binding.binding import audit_trail

    if limit < 1:
        raise UsageError(message="--limit is at least 1")
    place = place_of(context, store)
    chosen = None if all else project_of(context, place, project)
    with place.registry() as registry:
        entries, total = audit_trail(registry, chosen, limit)
    data = {"project": chosen, "entries": entries, "total": total, "truncated": total > len(entries)}
    return Result("bind-log", data, text=_log_text, tail="entries")


def _log_text(data: dict[str, Any]) -> str:
    lines = []
    for entry in data["entries"]:
        lines.append(f"{entry['time']}  {entry['action']:8} {entry['project']}  revision {entry['revision']}")
        if entry["action"] == "rebind":
            lines += [
                f"    {item['fact']}: {short(_shown(item['old']))}  ->  {short(_shown(item['new']))}"
                for item in entry["changes"]
            ]
    return "\n".join(lines)
