"""Comparing a pin with the disk, fact by fact, and holding open what was verified so that just that can be started."""

from __future__ import annotations

import errno
import os
import stat

from kbtasks.binding import pythonenv, trust
from kbtasks.binding.hashing import MAX_SCRIPT_BYTES, hash_of, read_and_hash
from kbtasks.binding.identity import folder_identity, same_folder, stamp
from kbtasks.binding.tree import manifest, stats_of
from kbtasks.errors import Drift, Unavailable, Untrusted

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

    from kbtasks.binding.hashing import Memory

OK, CHANGED, MISSING = "ok", "changed", "missing"


class Fact:
    """One pinned fact now: its stable name, state (ok, changed, missing), old and new value, the command that mends."""

    __slots__ = ("name", "new", "next", "old", "state")

    def __init__(self, name: str, state: str, old: str, new: str | None, next: str | None = None) -> None:
        self.name = name
        self.state = state
        self.old = old
        self.new = new
        self.next = next

    def to_json(self) -> dict[str, Any]:
        """The fact as ``bind.status`` shows it."""
        return {"fact": self.name, "state": self.state, "old": self.old, "new": self.new, "next": self.next}


class Verified:
    """The outcome of one comparison. Keeps descriptors of what was verified until it is closed (a context manager)."""

    def __init__(self, pin: Mapping[str, Any]) -> None:
        self.pin = pin
        self.facts: list[Fact] = []
        self.binary: int | None = None
        self.script: int | None = None
        self.held: list[tuple[int, str, str]] = []
        self.package_stats: str | None = None
        self._handles: list[int] = []

    def __enter__(self) -> Verified:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every descriptor."""
        while self._handles:
            os.close(self._handles.pop())
        self.binary = self.script = None

    @property
    def ok(self) -> bool:
        """Whether every fact is as pinned."""
        return all(fact.state == OK for fact in self.facts)

    def require(self) -> None:
        """Raise Drift for the first fact that is not as pinned; its details list every one."""
        for fact in self.facts:
            if fact.state != OK:
                raise drift(fact, self.facts)

    def still_the_same(self) -> None:
        """Raise Drift where a verified file is no longer the one at its path, byte for byte and stat for stat.

        Called once the child has executed.
        """
        for handle, path, known in self.held:
            try:
                at_path = stamp(os.lstat(path))
            except OSError:
                at_path = "missing"
            if stamp(os.fstat(handle)) != known or at_path != known:
                name = "program.sha256" if path == self.pin["program"]["path"] else "interpreter.sha256"
                raise drift(Fact(name, CHANGED, "as verified", "swapped while it was started"), self.facts)

    def ended_the_same(self) -> None:
        """As ``still_the_same``, and for the vault and the package tree as well; called when the child has ended."""
        self.still_the_same()
        vault = self.pin["vault"]
        try:
            found = os.lstat(vault["path"])
            same = stat.S_ISDIR(found.st_mode) and same_folder(vault, folder_identity(vault["path"], found))
        except OSError:
            same = False
        if not same:
            raise drift(Fact("vault.identity", CHANGED, "as verified", "removed or replaced while it ran"), self.facts)
        if self.package_stats is not None:
            try:
                now = stats_of(self.pin["packages"]["roots"])
            except OSError:
                now = "missing"
            if now != self.package_stats:
                raise drift(Fact("packages.sha256", CHANGED, "as verified", "changed while it ran"), self.facts)

    def keep(self, handle: int) -> None:
        """Close ``handle`` with this object."""
        self._handles.append(handle)


def drift(fact: Fact, facts: list[Fact]) -> Drift:
    """The error for ``fact``, with its old and new value and every fact that is not as pinned."""
    return Drift(
        next=fact.next or "kb bind.status",
        fact=fact.name,
        state=fact.state,
        old=fact.old,
        new=fact.new,
        facts=[other.to_json() for other in facts if other.state != OK],
    )


def verify(pin: Mapping[str, Any], *, uid: int, memory: Memory, allowed: frozenset[str] = frozenset()) -> Verified:
    """Compare every fact of ``pin`` with the disk. The caller closes the outcome.

    uid: the caller's real user id. allowed: rules that were overridden when the binding was made.
    """
    outcome = Verified(pin)
    try:
        _vault(outcome, pin["vault"], uid, allowed)
        _file(outcome, "program", pin["program"], uid, memory, keep_script=bool(pin["interpreters"]))
        for level, item in enumerate(pin["interpreters"]):
            name = "interpreter" if level == 0 else f"interpreter.{level + 1}"
            _link(outcome, name, item)
            _file(outcome, name, item, uid, memory, keep_script=level < len(pin["interpreters"]) - 1)
        if pin["environment"] is not None:
            _environment(outcome, pin["environment"], pin["interpreters"][0]["written"], memory)
        if pin["packages"] is not None:
            _packages(outcome, pin["packages"], memory)
    except OSError as error:  # no descriptor, no memory, a folder that cannot be entered: nothing may be started
        outcome.close()
        raise Unavailable(message=f"the binding cannot be verified: {error.strerror or error}") from None
    except BaseException:
        outcome.close()
        raise
    return outcome


def _own_fault(error: Exception) -> None:
    """Raise ``error`` where this process lacks something: that says nothing about what was pinned."""
    if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}:
        raise error


def _vault(outcome: Verified, pinned: Mapping[str, Any], uid: int, allowed: frozenset[str]) -> None:
    path = pinned["path"]
    facts = outcome.facts
    try:
        found = os.lstat(path)
    except OSError as error:
        _own_fault(error)
        facts.append(Fact("vault.path", MISSING, path, None, f"restore {path}: {error.strerror}"))
        return
    real = os.path.realpath(path)
    facts.append(Fact("vault.path", OK if real == path else CHANGED, path, real))
    kind = "folder" if stat.S_ISDIR(found.st_mode) else "not a folder"
    facts.append(Fact("vault.type", OK if kind == "folder" else CHANGED, "folder", kind))
    breach = trust.vault_breach(found, path, uid)
    owner_ok = found.st_uid == pinned["owner"] == uid
    facts.append(
        Fact(
            "vault.owner", OK if owner_ok else CHANGED, str(pinned["owner"]), str(found.st_uid), _mend(breach, owner_ok)
        )
    )
    mode = found.st_mode & 0o7777
    mode_ok = not mode & 0o022 and not mode & ~int(pinned["mode"], 8)
    next_ = None if mode_ok else f"chmod {pinned['mode']} {trust.quote(path)}"
    facts.append(Fact("vault.mode", OK if mode_ok else CHANGED, pinned["mode"], f"{mode:04o}", next_))
    now = folder_identity(path, found)
    facts.append(Fact("vault.identity", OK if same_folder(pinned, now) else CHANGED, _identity(pinned), _identity(now)))
    if "vault-parent" not in allowed:
        weak = next(trust.weak_parents(path, uid), None)
        new = "private" if weak is None else f"{weak[0]}: {weak[1]}"
        facts.append(
            Fact(
                "vault.parents", OK if weak is None else CHANGED, "private", new, weak[2] if weak is not None else None
            )
        )


def _identity(values: Mapping[str, Any]) -> str:
    return f"device {values['device']} inode {values['inode']} generation {values['generation']}"


def _mend(breach: tuple[str, str | None] | None, fine: bool) -> str | None:
    return None if fine or breach is None else breach[1]


def _file(
    outcome: Verified, name: str, pinned: Mapping[str, Any], uid: int, memory: Memory, *, keep_script: bool
) -> None:
    """Facts ``path``, ``trust`` and ``sha256`` of a pinned file, read from one descriptor that stays open.

    keep_script: it is read by an interpreter, so the very bytes that were hashed are kept in a sealed copy.
    """
    path = pinned["path"]
    facts = outcome.facts
    try:
        handle = trust.open_regular(path)
    except OSError as error:
        _own_fault(error)
        facts.append(Fact(f"{name}.path", MISSING, path, None, f"restore {path}: {error.strerror}"))
        return
    outcome.keep(handle)
    found = os.fstat(handle)
    facts.append(Fact(f"{name}.path", OK, path, path))
    breach = trust.program_breach(found, path, uid)
    facts.append(
        Fact(
            f"{name}.trust",
            OK if breach is None else CHANGED,
            "trusted",
            "trusted" if breach is None else breach[0],
            None if breach is None else breach[1],
        )
    )
    if breach is not None:
        return
    known = stamp(found)
    if keep_script:
        digest, data = read_and_hash(handle, path, keep=MAX_SCRIPT_BYTES)
        sealed = _sealed_copy(data) if data is not None and outcome.pin["start"] == "descriptor" else None
        if sealed is not None:
            outcome.keep(sealed)
        if name == "program":
            outcome.script = sealed if sealed is not None else handle
        outcome.held.append((handle, path, known))
    else:
        digest = hash_of(handle, path, memory)
        outcome.binary = handle
        outcome.held.append((handle, path, known))
    state = OK if digest == pinned["sha256"] else CHANGED
    if state == OK and stamp(os.fstat(handle)) != known:
        state, digest = CHANGED, "changed while it was read"
    facts.append(Fact(f"{name}.sha256", state, pinned["sha256"], digest))


def _sealed_copy(data: bytes) -> int | None:
    """An anonymous file that holds ``data`` and that nobody can change any more; None where the system has none."""
    try:
        import fcntl

        handle = os.memfd_create("bound-program", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except (AttributeError, OSError):
        return None
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    fcntl.fcntl(
        handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    )
    return handle


def _link(outcome: Verified, name: str, pinned: Mapping[str, Any]) -> None:
    if pinned["written"] != pinned["path"]:
        now = os.path.realpath(pinned["written"])
        state = OK if now == pinned["path"] else CHANGED if os.path.exists(pinned["written"]) else MISSING
        outcome.facts.append(Fact(f"{name}.link", state, f"{pinned['written']} -> {pinned['path']}", now))


def _environment(outcome: Verified, pinned: Mapping[str, Any], written: str, memory: Memory) -> None:
    path = pinned["path"]
    now = pythonenv.configuration(written)
    if now != path:
        outcome.facts.append(Fact("environment.path", MISSING if now is None else CHANGED, path, now))
        return
    try:
        handle = trust.open_regular(os.path.realpath(path))
    except OSError as error:
        _own_fault(error)
        outcome.facts.append(Fact("environment.path", MISSING, path, None, f"restore {path}: {error.strerror}"))
        return
    try:
        digest = hash_of(handle, path, memory)
    finally:
        os.close(handle)
    outcome.facts.append(
        Fact("environment.sha256", OK if digest == pinned["sha256"] else CHANGED, pinned["sha256"], digest)
    )


def _packages(outcome: Verified, pinned: Mapping[str, Any], memory: Memory) -> None:
    try:
        now = manifest(pinned["roots"], memory)
    except (OSError, Untrusted) as error:
        _own_fault(error)
        lost = getattr(error, "filename", None) or str(error)
        outcome.facts.append(Fact("packages.path", MISSING, " ".join(pinned["roots"]), str(lost)))
        return
    outcome.package_stats = now.stats
    state = OK if now.sha256 == pinned["sha256"] else CHANGED
    outcome.facts.append(
        Fact(
            "packages.sha256",
            state,
            f"{pinned['sha256']} ({pinned['files']} files)",
            f"{now.sha256} ({now.files} files)",
        )
    )
