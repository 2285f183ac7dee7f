"""Tasks that copy records to a provider: sync, sync.verify, sync.prepare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.tasks.resource_door import (
    COMPAT_HELP,
    PROVIDER_HELP,
    STORE_HELP,
    answer,
    compatible,
    load_provider,
    progress_bar,
    store_path,
)

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.model.result import Result


@compatible("sync")
@command(
    "sync",
    schema="sync",
    help={
        "id": "A record's id; may be given several times.",
        "all": "Everything: all records and deletions.",
        "provider_config": PROVIDER_HELP,
        "dry_run": "Only list what would be sent; nothing is contacted.",
        "allow_mass_change": "Delete or overwrite most of what the provider holds.",
        "allow_empty": "Fill a destination again that is empty though it confirmed records before.",
        "store": STORE_HELP,
        "exit_compat": COMPAT_HELP,
    },
)
def sync(
    context: Context,
    id: list[str] = [],  # noqa: B006
    all: bool = False,
    provider_config: str = "",
    dry_run: bool = False,
    allow_mass_change: bool = False,
    allow_empty: bool = False,
    store: str = "",
    exit_compat: bool = False,
) -> Result:
    """Send chosen records and deletions to the memory provider of a configuration, and remember each confirmation.

    Name what is sent with --id or --all. Records that wait for review are held back. What fails stays pending (exit
    9); the next run sends only that.
    """
    from kbtasks.errors import UsageError
    from kbtasks.resources import sync as work
    from kbtasks.resources.faults import NotConfigured
    from kbtasks.resources.store import open_store, snapshot

    if not provider_config:
        raise NotConfigured(next="kb sync --all --provider-config FILE")
    if bool(id) == all:
        raise UsageError(message="say what to send: --id ID (repeatable), or --all", next="kb resource.list")
    path = store_path(context, store)
    provider = load_provider(context, provider_config, path)
    if dry_run:
        with open_store(path) as connection, snapshot(connection):
            plan = work.make_plan(connection, provider.key, None if all else id)
            items = work.preview(connection, plan)
        data = {
            "provider": provider.kind,
            "confirmed": 0,
            "unchanged": plan.unchanged,
            "failures": [],
            "skippedPending": len(plan.skipped),
            "remoteSync": "not_attempted",
            "dryRun": True,
            "changes": items,
            "total": len(items),
            "truncated": False,
            "key": provider.key,
        }
        return answer("sync", data, compat=data if exit_compat else None, tail="changes", text=_render_plan)
    try:
        with work.provider_lock(path, provider.key), open_store(path, write=True) as connection:
            work.check_emptied(connection, provider, allow_empty=allow_empty)
            plan = work.make_plan(connection, provider.key, None if all else id)
            if all and not allow_mass_change:
                work.check_mass(connection, provider.key, plan)
            with progress_bar(context, "sync") as show:
                done = work.run(connection, provider, plan, progress=show)
    finally:
        provider.close()
    left = len(done["failures"]) + done["skippedPending"]
    full = {**done, "dryRun": False, "left": left, "pendingIds": plan.skipped[:100], "key": provider.key}
    compat = None
    if exit_compat:
        compat = {**done, "failures": [{"id": bad["id"], "error": bad["error"]} for bad in done["failures"]]}
    return answer("sync", full, compat=compat, exit_code=9 if left else 0, tail="failures", text=_render)


def _render(data: dict[str, Any]) -> str:
    lines = [f"{data['confirmed']} confirmed, {data['unchanged']} unchanged"]
    lines += [f"failed ({failure['state']}): {failure['id']}: {failure['error']}" for failure in data["failures"]]
    if data["skippedPending"]:
        lines.append(f"{data['skippedPending']} held back until reviewed (kb resource.pending)")
    return "\n".join(lines)


def _render_plan(data: dict[str, Any]) -> str:
    lines = [f"{item['operation']}  {item['id']}  {item.get('url', '')}" for item in data["changes"]]
    return "\n".join(
        [*lines, f"{data['total']} would be sent, {data['unchanged']} unchanged, {data['skippedPending']} held back"]
    )


@command(
    "sync.verify",
    schema="sync-verify",
    help={
        "provider_config": PROVIDER_HELP,
        "repair": "Forget the confirmations of what is missing or changed, so that the next sync sends it again.",
        "store": STORE_HELP,
    },
)
def sync_verify(context: Context, provider_config: str, repair: bool = False, store: str = "") -> Result:
    """Read back from the provider what it has confirmed, and report what is missing or changed there (exit 3).

    A command adapter can only be searched, so a record it does not find is reported as unknown.
    """
    from kbtasks.model.result import Result
    from kbtasks.resources import receipts
    from kbtasks.resources import sync as work
    from kbtasks.resources.store import open_store, transaction

    path = store_path(context, store)
    provider = load_provider(context, provider_config, path)
    try:
        with work.provider_lock(path, provider.key), open_store(path, write=repair) as connection:
            data = work.verify(connection, provider)
            wrong = data["missing"] + data["changed"]
            if repair and wrong:
                with transaction(connection):
                    receipts.forget(connection, provider.key, wrong)
    finally:
        provider.close()
    data["repaired"] = len(wrong) if repair else 0
    return Result("sync-verify", data, exit_code=3 if wrong else 0)


@command(
    "sync.prepare",
    schema="sync-prepare",
    help={"provider_config": PROVIDER_HELP, "store": STORE_HELP},
)
def sync_prepare(context: Context, provider_config: str, store: str = "") -> Result:
    """Make the table and full-text index of a postgresql provider; other kinds need nothing."""
    from kbtasks.model.result import Result

    provider = load_provider(context, provider_config, store_path(context, store))
    made = False
    if provider.kind == "postgresql":
        try:
            made = provider.prepare()  # type: ignore[attr-defined]
        finally:
            provider.close()
    return Result("sync-prepare", {"provider": provider.kind, "key": provider.key, "made": made})
