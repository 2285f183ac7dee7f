"""Two devices in one vault, without rights to mount: links and renames between ``inside`` and the rest fail with EXDEV."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

from kbtasks import fsio


def split(patch: pytest.MonkeyPatch, inside: str) -> None:
    """From now on, what lies at or below the absolute folder ``inside`` is on a device of its own."""

    def device(path: Any, folder: int | None) -> bool:
        name = os.fsdecode(path)
        if folder is not None and folder >= 0 and not name.startswith("/"):
            name = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
        return os.path.abspath(name).startswith(inside + "/")

    def guarded(call: Callable[..., None]) -> Callable[..., None]:
        def checked(source: Any, target: Any, **more: Any) -> None:
            if device(source, more.get("src_dir_fd")) != device(target, more.get("dst_dir_fd")):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), source)
            call(source, target, **more)

        return checked

    real = fsio._renameat2

    def renameat2(source: str, source_folder: int, target: str, target_folder: int, flags: int) -> bool:
        crosses = device(source, source_folder) != device(target, target_folder)
        return not crosses and real(source, source_folder, target, target_folder, flags)

    patch.setattr(os, "link", guarded(os.link))
    patch.setattr(os, "rename", guarded(os.rename))
    patch.setattr(os, "replace", guarded(os.replace))
    patch.setattr(fsio, "_renameat2", renameat2)
