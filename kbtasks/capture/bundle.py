"""Bundles on disk: staged beside their place, put there whole by one rename, and found again."""

from __future__ import annotations

import os
import shutil
import sys
from secrets import token_hex
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.capture import manifest as manifests
from kbtasks.capture.slug import fold, suffix, taken_names
from kbtasks.errors import AlreadyExists, Refused, Unavailable, UsageError

if TYPE_CHECKING:
    from typing import Any

STAGING = ".kbtasks-capture-"
OLD = ".kbtasks-replaced-"
MAX_BUNDLES = 50_000


class AlreadyCaptured(AlreadyExists):
    """{path} is an earlier capture of the same source; it was left as it is."""

    code = "already-captured"


class BundleFile:
    """A file of a bundle in the making: bundle-relative ``path`` (POSIX), its ``data``, its ``role``, media type, and origin."""

    __slots__ = ("data", "media_type", "path", "role", "source")

    def __init__(self, path: str, data: bytes, *, role: str, media_type: str, source: str | None = None) -> None:
        self.path = path
        self.data = data
        self.role = role
        self.media_type = media_type
        self.source = source


def existing(folder: str, identity: str) -> list[str]:
    """Names of the bundles in ``folder`` that hold a capture of the same source, oldest name first."""
    found = []
    try:
        entries = sorted(
            entry.name for entry in os.scandir(folder) if not entry.name.startswith(".") and entry.is_dir()
        )
    except (FileNotFoundError, NotADirectoryError):
        return []
    mark = f'"identity": "{identity}"'.encode()
    for name in entries[:MAX_BUNDLES]:
        try:
            with open(os.path.join(folder, name, manifests.NAME), "rb") as file:
                if mark in file.read(4096):
                    found.append(name)
        except OSError:
            continue
    return found


def choose_name(folder: str, wanted: str, identity: str, *, force: bool, beside: bool = False) -> tuple[str, bool]:
    """The bundle's name in ``folder`` and whether it replaces one there.

    A name taken by something else (under case folding and NFC) gets a suffix made from ``identity``. A capture of the same
    source is refused (AlreadyExists), replaced with ``force``, or with ``beside`` given a name of its own.
    """
    same = existing(folder, identity)
    if same and not beside:
        if not force:
            path = os.path.join(folder, same[0])
            raise AlreadyCaptured(
                path=path, next=f"kb capture.refresh {same[0]} to capture again beside it, or --force to replace it"
            )
        return (wanted if wanted in same else same[0]), True
    taken = taken_names(folder)
    candidates = [
        wanted,
        f"{wanted}-{suffix(identity)}",
        *(f"{wanted}-{suffix(identity)}-{number}" for number in range(2, 1000)),
    ]
    for name in candidates:
        if fold(name) not in taken:
            return name, False
    raise AlreadyExists(path=os.path.join(folder, wanted))


def _swap(first: str, second: str) -> bool:
    """Exchange two directories in one step where the system can; False where it cannot."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_cwd, exchange = -100, 2
    return bool(rename(at_cwd, os.fsencode(first), at_cwd, os.fsencode(second), exchange) == 0)


def recover(folder: str) -> None:
    """Finish or undo what a killed capture left in ``folder``: an old bundle set aside comes back, half-made ones go."""
    try:
        names = [name for name in os.listdir(folder) if name.startswith((STAGING, OLD))]
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        process = name.split("-")[2] if name.count("-") >= 3 else ""
        if process.isdigit() and _is_alive(int(process)):
            continue
        if name.startswith(OLD):
            place = os.path.join(folder, name.split("-", 4)[4]) if name.count("-") >= 4 else ""
            if place and not os.path.lexists(place):
                os.rename(path, place)
                continue
        shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OSError):
        return True
    return True


def write(folder: str, name: str, files: list[BundleFile], document: dict[str, Any], *, replace: bool) -> str:
    """Write the bundle ``name`` into ``folder`` whole or not at all; return its path.

    document: the manifest, completed here with every file's size and hash and checked against its schema.
    replace: exchange it with the bundle of that name, which stays until the new one is whole. Only a bundle is ever replaced.
    """
    place = os.path.join(folder, name)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(message=f"the folder {folder} cannot be made: {error.strerror}") from None
    recover(folder)
    if replace and not os.path.isfile(os.path.join(place, manifests.NAME)):
        raise Refused(message=f"{place} is not a capture bundle; it is not replaced")
    if not replace and os.path.lexists(place):
        raise AlreadyExists(path=place, next="--force to replace it")
    data = manifests.complete(document, files)
    staging = os.path.join(folder, f"{STAGING}{os.getpid()}-{token_hex(6)}")
    try:
        os.mkdir(staging, 0o755)
        fsio.step("staging-created")
        for file in files:
            _write_file(staging, file.path, file.data)
            fsio.step("file-written")
        _write_file(staging, manifests.NAME, data)
        fsio.step("manifest-written")
        for inside, _, _ in os.walk(staging):
            fsio.sync_directory(inside)
        if replace:
            _replace(staging, place, folder, name)
        else:
            fsio.step("before-rename")
            os.rename(staging, place)
            fsio.step("after-rename")
    except OSError as error:
        if os.path.lexists(place) and not replace:
            raise AlreadyExists(path=place) from None
        raise Unavailable(message=f"the bundle {place} could not be written: {error.strerror}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    fsio.sync_directory(folder)
    return place


def _replace(staging: str, place: str, folder: str, name: str) -> None:
    fsio.step("before-swap")
    if _swap(staging, place):
        fsio.step("after-swap")
        return
    aside = os.path.join(folder, f"{OLD}{os.getpid()}-{token_hex(6)}-{name}")
    os.rename(place, aside)
    fsio.step("old-aside")
    try:
        os.rename(staging, place)
    except BaseException:
        os.rename(aside, place)
        raise
    fsio.step("new-in-place")
    shutil.rmtree(aside, ignore_errors=True)


def _write_file(staging: str, path: str, data: bytes) -> None:
    parts = path.split("/")
    assert parts and all(part not in ("", ".", "..") for part in parts), path
    place = os.path.join(staging, *parts)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)
