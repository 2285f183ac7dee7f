"""When each note was last committed: one reading of Git's log, for filters by age that must not trust file times."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kbtasks.errors import Unavailable
from kbtasks.graph.git import DEADLINE, Git

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIME = re.compile(rb"\n?\x01(\d{1,12})\Z")


def last_commits(root: str, *, environ: Mapping[str, str], deadline: float = DEADLINE) -> dict[str, int]:
    """Vault-relative path -> time of the newest commit that touched it, in nanoseconds since 1970.

    deadline: seconds. Raises Unavailable where there is no repository, no commit, or Git does not answer in time and bounds.
    """
    try:
        git = Git(root, environ=environ, deadline=deadline)
    except Unavailable as error:
        raise Unavailable(message=error.message, next="leave out --age git to go by the files' own times") from None
    fields = git.ask(
        "log", "-z", "--format=%x01%ct", "--name-only", "--no-renames", "--no-color", "--", git.prefix or "."
    )
    found: dict[str, int] = {}
    time = 0
    for field in fields.split(b"\0"):
        match = _TIME.match(field)
        if match:
            time = int(match.group(1)) * 10**9
            continue
        path = os.fsdecode(field.lstrip(b"\n"))
        if path.startswith(git.prefix) and path:
            found.setdefault(path[len(git.prefix) :], time)
    return found
