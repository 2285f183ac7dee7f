"""Provider configurations: read, checked, keyed. Nothing is chosen for the user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.errors import Refused, UsageError
from kbtasks.resources import canonical
from kbtasks.resources.canonical import digest
from kbtasks.resources.strictjson import parse_bytes, unstorable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kbtasks.resources.providers.base import Provider

MAX_CONFIG = 16_000
_POSTGRES_KEY = ("kind", "namespace", "host", "port", "dbname", "user", "service", "schema", "table", "scope")


def read_config(data: bytes, schema_name: str, *, what: str) -> dict[str, Any]:
    """The JSON configuration in ``data``, checked against its schema; any scope but ``personal`` is refused."""
    from kbtasks import schema

    if len(data) > MAX_CONFIG:
        raise UsageError(message=f"{what} is larger than {MAX_CONFIG} bytes")
    config = parse_bytes(data, what=what)
    _refuse_unusable(config, what)
    if isinstance(config, dict) and config.get("scope", "personal") != "personal":
        raise Refused(
            message=f"{what} has the scope {str(config['scope'])[:40]!r}; only personal memory is supported",
            next='use a destination of your own and "scope": "personal"',
        )
    schema.check(schema_name, config, what=what)
    found: dict[str, Any] = config
    return found


def _refuse_unusable(config: Any, what: str) -> None:
    """Refuse text that neither a path, nor an argument, nor a server's name can hold."""
    if not isinstance(config, dict):
        return
    for name, value in config.items():
        for text in value if isinstance(value, list) else [value]:
            fault = unstorable(text)
            if fault is None:
                continue
            # Names of files may hold any byte; those that are not UTF-8 stand as half characters in Python.
            try:
                usable = name in {"path", "command"} and b"\0" not in os.fsencode(text)
            except (UnicodeEncodeError, TypeError):
                usable = False
            if not usable:
                raise UsageError(message=f"{what} is not valid: at /{canonical.plain(name)[:60]}: {fault[1]}")


def load_provider(data: bytes, *, what: str, store_path: str, environ: Mapping[str, str]) -> Provider:
    """The provider that the configuration in ``data`` names; nothing is contacted yet.

    Raises UsageError, InvalidInput, Refused (another scope, the local store itself), MissingExtra.
    """
    config = read_config(data, "provider-config", what=what)
    if config["kind"] == "file":
        from kbtasks.resources.providers.file import FileProvider

        path = os.path.realpath(config["path"])
        store = os.path.realpath(store_path)
        beside = path.startswith((store + "-", store + ".sync-"))  # SQLite's own files, and our locks
        if path == store or beside or _same(path, store_path):
            raise Refused(
                message="the provider's file is the local store itself", next="name another file in the configuration"
            )
        return FileProvider(path, digest({"kind": "file", "path": path, "scope": "personal"}))
    if config["kind"] == "command":
        from kbtasks.resources.providers.command import CommandProvider

        identity = {name: config[name] for name in ("kind", "command", "namespace", "scope")}
        return CommandProvider(config, digest(identity), environ)
    from kbtasks.resources.providers.postgresql import PostgresqlProvider

    identity = {name: config[name] for name in _POSTGRES_KEY if name in config}
    return PostgresqlProvider(config, digest(identity))


def _same(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False
