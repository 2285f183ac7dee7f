"""The first files of a vault, and the doors of a repository to its tasks."""

from __future__ import annotations

import os

from kbtasks import fsio
from kbtasks.errors import AlreadyExists, Refused, Unavailable

_INDEX = """---
type: index
---

# Knowledge base

What this project knows, and why. `kb refresh` keeps the list below; write above or below it as you like.

<!-- kb:catalog:start -->
<!-- kb:catalog:end -->
"""

_GUIDE = """# Contents

- `notes/` holds maintained explanations: one subject a note, revised when understanding changes.
- `articles/` holds captured evidence, as it was found; it is cited, not edited.
- `plans/` holds decisions and work, with status and result.
- `index.md` lists every note; its marked region is rewritten by `kb refresh`.

# Guidelines

- Search before writing: `kb search WORDS`. Read the notes found before concluding.
- Rules that must bind an edit belong in the `AGENTS.md` beside the code; reasons belong here.
- Write with `kb note.create`, `kb note.append` and `kb plan.create`, or edit the Markdown; then run `kb check`.
- A note that is overtaken gets a successor with `relations: {supersedes: ...}`; it is not silently rewritten.
"""

_TASKS = """from kbtasks.tasks.invoked import namespace
ns = namespace(__file__, root={vault!r})
"""

_DODO = """from kbtasks.build.dodo import tasks_of
globals().update(tasks_of(__file__, root={vault!r}))
"""

_MAKE = """# The knowledge base as make targets; include this file from your Makefile.
.PHONY: kb-refresh kb-check

kb-refresh:
\tkb --root {vault} refresh

kb-check:
\tkb --root {vault} check
"""

FOLDERS = ("articles", "notes", "plans")


def start_vault(root: str, repository: str | None) -> tuple[list[str], list[str]]:
    """Create what is missing of a vault at ``root``, and of the doors in ``repository``.

    Returns the paths created and the paths that existed and were kept, both absolute. Raises Refused for the root of
    the file system, Unavailable where a folder cannot be made.
    """
    if os.path.dirname(root) == root:
        raise Refused(message=f"{root} is the root of the file system; a vault needs a folder of its own")
    created: list[str] = []
    kept: list[str] = []
    for name in FOLDERS:
        _make_folder(os.path.join(root, name), created, kept)
    files = {os.path.join(root, "index.md"): _INDEX, os.path.join(root, "AGENTS.md"): _GUIDE}
    if repository is not None:
        if not os.path.isdir(repository):
            raise Refused(message=f"{repository} is not a folder", next="name the repository: --repo DIR")
        vault = os.path.relpath(root, repository).replace(os.sep, "/")
        files[os.path.join(repository, "tasks.py")] = _TASKS.format(vault=vault)
        files[os.path.join(repository, "dodo.py")] = _DODO.format(vault=vault)
        files[os.path.join(repository, "kb.mk")] = _MAKE.format(vault=vault)
    for path, text in files.items():
        try:
            fsio.create_exclusive(path, text.encode("utf-8"))
            created.append(path)
        except AlreadyExists:
            kept.append(path)
        except OSError as error:
            raise Unavailable(message=f"{path} cannot be written: {error.strerror}") from None
    return created, kept


def _make_folder(path: str, created: list[str], kept: list[str]) -> None:
    if os.path.isdir(path):
        kept.append(path)
        return
    try:
        os.makedirs(path)
    except OSError as error:
        raise Unavailable(message=f"{path} cannot be made: {error.strerror}") from None
    created.append(path)
