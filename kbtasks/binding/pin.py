"""Making a pin: everything about a vault and a program that must still be so at every later call.

A pin is a JSON object (``schemas/binding.json``, member ``pin``); ``verify`` compares it with the disk.
"""

from __future__ import annotations

import os

from kbtasks.binding import launcher, pythonenv, trust
from kbtasks.binding.bound import FIXED_ENV
from kbtasks.binding.hashing import MAX_SCRIPT_BYTES, hash_of, read_and_hash
from kbtasks.binding.identity import folder_identity
from kbtasks.binding.tree import manifest
from kbtasks.errors import NotFound, Untrusted, UsageError

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from kbtasks.binding.hashing import Memory

#: What our own launcher loads beside the standard library; its boot code lets nothing else in.
OWN_LAUNCHER = "kb-recall"
OWN_REQUIREMENTS = ["pyyaml"]


def pin_vault(named: str, uid: int) -> dict[str, Any]:
    """The pin of the vault ``named`` (absolute; symbolic links on the way are resolved now). Raises as bind does."""
    path = os.path.realpath(named)
    if not os.path.isdir(path):
        raise NotFound(what="folder (--vault)", name=named, next="name an existing folder")
    path.encode("utf-8")
    found = trust.require_vault(path, uid)
    return {
        "path": path,
        "owner": found.st_uid,
        "mode": f"{found.st_mode & 0o7777:04o}",
        **folder_identity(path, found),
    }


def find_named_program(named: str, search_path: str) -> str:
    """The absolute path that ``--program`` means: a bare name is looked up once in the absolute entries of PATH.

    Raises UsageError for a relative path, NotFound.
    """
    if os.path.isabs(named):
        return named
    if os.sep in named:
        raise UsageError(
            message=f"--program takes an absolute path or a bare name, not the relative path {named!r}",
            next=f"--program {os.path.abspath(named)}",
        )
    from kbtasks.process import find_program

    found = find_program(named, search_path)
    if found is None:
        raise NotFound(what="program in the absolute entries of PATH", name=named, next="name it by its absolute path")
    return found


class ProgramPin:
    """The pinned half that speaks of the program, and what the person should know about it."""

    __slots__ = ("facts", "warnings")

    def __init__(self, facts: dict[str, Any], warnings: list[dict[str, str]]) -> None:
        self.facts = facts
        self.warnings = warnings


def pin_program(
    named: str, *, uid: int, search_path: str, trees: Sequence[str], start: str, memory: Memory
) -> ProgramPin:
    """The pin of the program ``named`` (absolute) with its interpreters, environment and package tree.

    search_path: the caller's PATH, used here only. trees: further folders to pin. start: ``auto``, ``descriptor``
    (what runs is the open file or a sealed copy of its bytes) or ``path`` (checked before and after instead).
    Raises NotFound and Untrusted with the rule and the command that mends it.
    """
    path = os.path.realpath(named)
    warnings: list[dict[str, str]] = []
    accept = acceptor(uid)
    accept(path)
    head, digest, script = _read_program(path)
    chain, skipped = launcher.interpreters_of(
        path, lambda file: head if file == path else _head(file), search_path, accept
    )
    warnings += [{"rule": "interpreter-skipped", "message": message} for message in skipped]
    if len(chain) > 1:
        message = f"{chain[0].written} is itself a script; what it starts is not pinned"
        warnings.append({"rule": "interpreter-is-script", "message": message})
    interpreters = [
        {
            "written": item.written,
            "path": item.path,
            "arguments": item.arguments,
            "sha256": _hash(item.path, memory),
        }
        for item in chain
    ]
    facts: dict[str, Any] = {
        "program": {"named": named, "path": path, "sha256": digest},
        "interpreters": interpreters,
        "environment": None,
        "packages": None,
        "start": "descriptor",
        "boot": False,
    }
    roots = [os.path.realpath(tree) for tree in trees]
    for root in roots:
        if not os.path.exists(root):
            raise NotFound(what="folder (--tree)", name=root)
    reason = launcher.starts_by_path(chain, script, os.path.dirname(path)) if chain and script is not None else None
    if chain and pythonenv.is_python(chain[0].written) and not chain[0].arguments:
        reason = _pin_python(facts, chain[0].written, path, roots, memory) or reason
    if roots:
        tree = manifest(sorted(set(roots)), memory)
        facts["packages"] = {"roots": sorted(set(roots)), "sha256": tree.sha256, "files": tree.files}
        if tree.loose:
            warnings.append(
                {
                    "rule": "loose-packages",
                    "message": f"{tree.loose} files of the package tree can be written by others",
                }
            )
    elif chain:
        warnings.append(
            {"rule": "packages-not-pinned", "message": "files that the program loads are not pinned (see --tree)"}
        )
    if start == "path" or (start == "auto" and reason is not None and not facts["boot"]):
        facts["start"] = "path"
        warnings.append({"rule": "started-by-path", "message": reason or "asked for with --start path"})
    return ProgramPin(facts, warnings)


def _pin_python(facts: dict[str, Any], written: str, path: str, roots: list[str], memory: Memory) -> str | None:
    """Pin a Python launcher's environment and packages; the reason to start it by path, or None."""
    config = pythonenv.configuration(written)
    if config is not None:
        facts["environment"] = {"path": config, "sha256": _hash(os.path.realpath(config), memory)}
    only = OWN_REQUIREMENTS if os.path.basename(path) == OWN_LAUNCHER else None
    found = pythonenv.ask(written, path, only, FIXED_ENV)
    if found.owner is None:
        return None
    roots += found.roots
    facts["boot"] = found.version >= (3, 8)
    return None


def acceptor(uid: int) -> Callable[[str], None]:
    """A check that raises NotFound or Untrusted for a real path that may not be run."""

    def accept(path: str) -> None:
        try:
            handle = trust.open_regular(path)
        except FileNotFoundError:
            raise NotFound(what="program", name=path, next="name an existing program") from None
        except OSError as error:
            mend = f"chmod u+r {trust.quote(path)}" if isinstance(error, PermissionError) else None
            rule = f"it cannot be read ({error.strerror})"
            raise Untrusted(path=path, what="a program", rule=rule, next=mend) from None
        try:
            trust.require_program(os.fstat(handle), path, uid, "a program")
        finally:
            os.close(handle)

    return accept


def _head(path: str) -> bytes:
    handle = trust.open_regular(path)
    try:
        return os.pread(handle, 512, 0)
    finally:
        os.close(handle)


def _read_program(path: str) -> tuple[bytes, str, bytes | None]:
    """First bytes, SHA-256, and all bytes of a script of up to 16 MiB, from one descriptor."""
    handle = trust.open_regular(path)
    try:
        head = os.pread(handle, 512, 0)
        digest, data = read_and_hash(handle, path, keep=MAX_SCRIPT_BYTES if head.startswith(b"#!") else 0)
        return head, digest, data
    finally:
        os.close(handle)


def _hash(path: str, memory: Memory) -> str:
    handle = trust.open_regular(path)
    try:
        return hash_of(handle, path, memory)
    finally:
        os.close(handle)


def surrounding_rules(
    pin: Mapping[str, Any], project: str, *, uid: int, home: str, store: str = ""
) -> list[tuple[str, str, bool, str | None]]:
    """Rules about where things lie: (rule, message, whether it refuses, command that mends it).

    A refusing rule can be overridden with a reason, which the binding records; ``vault-is-root`` cannot.
    """
    vault, program = pin["vault"]["path"], pin["program"]["path"]
    rules: list[tuple[str, str, bool, str | None]] = []
    if vault == "/":
        rules.append(("vault-is-root", "the vault is the root of the file system", True, None))
    elif trust.inside(home, vault):
        rules.append(("vault-is-home", "the vault is the home folder or holds it", True, None))
    if store and trust.inside(store, vault):
        message = "the store of bindings lies in the vault, so private records would be among the notes"
        rules.append(("store-in-vault", message, True, None))
    if trust.inside(project, vault):
        rules.append(
            ("project-in-vault", "the project lies in the vault, so searches see the project's own files", False, None)
        )
    elif trust.inside(vault, project):
        message = "the vault lies in the project, so a worker's file tools can write notes"
        rules.append(("vault-in-project", message, False, None))
    if trust.inside(program, vault):
        rules.append(("program-in-vault", "the program lies in the vault it searches", True, None))
    elif trust.inside(program, project):
        rules.append(("program-in-project", "the program lies in the project, so a worker can change it", False, None))
    for folder, why, mend in trust.weak_parents(vault, uid):
        rules.append(("vault-parent", f"{folder}, above the vault: {why}", True, mend))
    for folder, why, mend in trust.weak_parents(program, uid):
        rules.append(("program-parent", f"{folder}, above the program: {why}", False, mend))
    return rules
