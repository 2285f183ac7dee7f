"""The two lines of a ``dodo.py``: the same tasks for plain ``doit``, in any repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks import config
from kbtasks.build.creators import creators
from kbtasks.build.session import Build, state_path
from kbtasks.build.targets import TARGETS
from kbtasks.index import store

if TYPE_CHECKING:
    from typing import Any


def tasks_of(file: str, *, root: str = "") -> dict[str, Any]:
    """The names a ``dodo.py`` shall hold: ``task_*`` and ``DOIT_CONFIG``.

    file: its own ``__file__``. root: the vault, relative to that file; by default found upward from it.
    Raises NoVault or NotFound where there is none.
    """
    home = os.path.dirname(os.path.abspath(file))
    vault = config.named_folder("root", root, home) if root else config.find_vault(home)
    cache = os.path.join(vault, config.CACHE_FOLDER)
    store.prepare(vault, cache)
    names: dict[str, Any] = dict(creators(Build(vault, cache)))
    names["DOIT_CONFIG"] = {
        "backend": "sqlite3",
        "dep_file": state_path(cache),
        "default_tasks": [target.name for target in TARGETS if target.default],
    }
    return names
