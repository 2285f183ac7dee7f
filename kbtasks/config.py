"""Where the vault and the repository are, and the settings of ``kb.toml``."""

from __future__ import annotations

import os

from kbtasks.errors import NotFound, NoVault, Unavailable, UsageError

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SETTINGS_FILE = "kb.toml"
CACHE_FOLDER = ".kbtasks"
VAULT_MARKS = (SETTINGS_FILE, CACHE_FOLDER, ".obsidian")
MAX_SETTINGS_BYTES = 1 << 20


def find_repository(start: str) -> str | None:
    """The nearest folder at or above ``start`` that holds ``.git`` (a folder or a worktree's file), or None."""
    folder = os.path.abspath(start)
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def find_vault(start: str) -> str:
    """The vault of ``start``: nearest folder upward with kb.toml, .kbtasks or .obsidian, else kb/ of its repository.

    Where there is no repository, kb/ in ``start`` itself. Raises NoVault.
    """
    folder = os.path.abspath(start)
    while True:
        if any(os.path.exists(os.path.join(folder, mark)) for mark in VAULT_MARKS):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    beside = os.path.join(find_repository(start) or os.path.abspath(start), "kb")
    if os.path.isdir(beside):
        return beside
    raise NoVault(what="vault", name=start, start=start, next="name it with --root DIR, or make one with: kb init kb")


def named_folder(flag: str, value: str, cwd: str) -> str:
    """The absolute folder that a flag names, relative to ``cwd``; NotFound unless it is a folder."""
    path = os.path.normpath(os.path.join(cwd, value))
    if not os.path.isdir(path):
        raise NotFound(what=f"folder (--{flag})", name=value, next="name an existing folder")
    return path


def data_home(environ: Mapping[str, str]) -> str:
    """The folder of private records: ``$XDG_DATA_HOME/kbtasks``, by default ``~/.local/share/kbtasks``."""
    base = environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(base):  # the XDG base directory specification says to ignore a relative value
        home = environ.get("HOME") or os.path.expanduser("~")
        base = os.path.join(home, ".local", "share")
    return os.path.join(base, "kbtasks")


class Settings:
    """The settings of one vault: the tables of its ``kb.toml``, checked against the schema ``kb-toml``.

    table: the parsed document, empty where there is no file. Floors read their own table from it.
    """

    __slots__ = ("table",)

    def __init__(self, table: dict[str, Any] | None = None) -> None:
        self.table = table or {}

    @property
    def ignore(self) -> list[str]:
        """Globs of vault-relative paths that are not notes (``[vault] ignore``)."""
        return list(self.table.get("vault", {}).get("ignore", []))

    @property
    def index_note(self) -> str:
        """Vault-relative path of the catalog page (``[vault] index``, default ``index.md``)."""
        return str(self.table.get("vault", {}).get("index", "index.md"))


def parse_settings(data: bytes, *, what: str) -> Settings:
    """Settings from the bytes of a ``kb.toml``; UsageError where it is not TOML, InvalidInput where the schema says no."""
    import tomllib

    from kbtasks import schema

    if len(data) > MAX_SETTINGS_BYTES:
        raise UsageError(message=f"{what} is larger than {MAX_SETTINGS_BYTES} bytes")
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(message=f"{what} is not valid TOML: {error}", next=f"mend {what}") from None
    try:
        schema.check("kb-toml", table, what=what)
    except ModuleNotFoundError:  # a pinned kb-recall can import nothing but what it is pinned with
        _check_vault_table(table, what=what)
    return Settings(table)


def _check_vault_table(table: Mapping[str, Any], *, what: str) -> None:
    """Refuse a ``[vault]`` that the schema would refuse, without the library that reads schemas."""
    vault = table.get("vault", {})
    ignore = vault.get("ignore", []) if isinstance(vault, dict) else None
    fits = (
        isinstance(ignore, list)
        and all(isinstance(glob, str) and glob for glob in ignore)
        and isinstance(vault.get("index", ""), str)
        and set(vault) <= {"ignore", "index"}
    )
    if not fits:
        raise UsageError(
            message=f"{what}: [vault] takes ignore, a list of globs, and index, a path", next=f"mend {what}"
        )


def load_settings(root: str) -> Settings:
    """Settings of the vault at ``root``, from its ``kb.toml``; defaults where there is none."""
    path = os.path.join(root, SETTINGS_FILE)
    from kbtasks.fsio import read_regular

    try:
        data = read_regular(path, MAX_SETTINGS_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except OSError as error:
        raise Unavailable(message=f"{path} cannot be read: {error.strerror}", next=f"mend {path}") from None
    return parse_settings(data, what=path)
