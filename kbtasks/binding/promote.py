"""Saving a note back through the bound program: a receipt before the start, and no word of success without proof."""

from __future__ import annotations

import os
import re
import signal
import threading
from contextlib import contextmanager
from hashlib import sha256

from kbtasks import fsio
from kbtasks.binding import receipts
from kbtasks.binding.bound import SECONDS, command_line, run_bound
from kbtasks.binding.private import PROMOTIONS, check_private_file, private_folder
from kbtasks.binding.promotion import create_words
from kbtasks.binding.search import parse_object
from kbtasks.binding.stored import overridden_rules, require_binding
from kbtasks.binding.verify import verify
from kbtasks.errors import (
    BadOutput,
    Busy,
    Conflict,
    Interrupted,
    KbError,
    PrivateState,
    ProcessNotStarted,
    ProcessUnproven,
    Refused,
    Uncertain,
)
from kbtasks.plaintext import tail_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kbtasks.binding.promotion import Promotion
    from kbtasks.binding.registry import Registry
    from kbtasks.binding.stored import Place
    from kbtasks.binding.verify import Verified
    from kbtasks.process import Completed, Identity

#: Seconds an earlier attempt's process gets to be gone (its supervisor ends it when we die) before we say it is busy.
GONE_SECONDS = 8.0
LOCK_SECONDS = 2 * SECONDS
_REVISION = re.compile(r"sha256:[0-9a-f]{64}\Z")


class NotePlan:
    """What ``--dry-run`` shows: the file's name, its text, the command, and the receipt there may be."""

    __slots__ = ("command", "path", "receipt", "text")

    def __init__(self, path: str, text: str, command: list[str], receipt: dict[str, Any] | None) -> None:
        self.path = path
        self.text = text
        self.command = command
        self.receipt = receipt


def plan(place: Place, promotion: Promotion) -> NotePlan:
    """What ``promote`` would do. Verifies every fact, writes nothing. Raises NotBound, Drift."""
    with place.registry() as registry:
        pin = require_binding(registry, promotion.project)["pin"]
        with verify(pin, uid=place.uid, memory=registry, allowed=overridden_rules(pin)) as verified:
            verified.require()
            words = create_words(promotion, body_path(place, promotion.request), pin["vault"]["path"])
            argv, _ = command_line(verified, place.store, words)
        return NotePlan(promotion.path, promotion.text, argv, receipts.load(registry, promotion.request))


def promote(place: Place, promotion: Promotion, *, again: bool = False) -> tuple[dict[str, Any], bool]:
    """Save the note through the program bound to its project; return the confirmed receipt and whether it is new.

    again: also where the note was saved before and has since been deleted from the vault.
    Raises NotBound, Drift, PrivateState, Busy before anything is started; Refused where the program said no and nothing
    changed; Uncertain where the outcome could not be confirmed; ProcessNotStarted; Conflict where the saved note was
    deleted or edited since. Whatever happens is in the receipt first.
    """
    with place.registry(must_write=True) as registry:
        require_binding(registry, promotion.project)
        private_folder(os.path.join(place.store, PROMOTIONS), place.uid)
        with one_at_a_time(place, promotion.project):
            binding = require_binding(registry, promotion.project)  # it may have been replaced while we waited
            pin = binding["pin"]
            with verify(pin, uid=place.uid, memory=registry, allowed=overridden_rules(pin)) as verified:
                verified.require()
                earlier = receipts.load(registry, promotion.request)
                if earlier is not None:
                    if earlier["status"] == receipts.CONFIRMED and _stands(earlier, again=again):
                        return earlier, False
                    await_end(earlier)
                return _attempt(place, registry, promotion, verified, earlier, binding["revision"]), True


def body_path(place: Place, request: str) -> str:
    """Where the text of an open promotion lies."""
    return os.path.join(place.store, PROMOTIONS, request + ".md")


def one_at_a_time(place: Place, project: str) -> fsio.Lock:
    """The lock that promotions of ``project`` and their recovery hold in turn."""
    name = sha256(project.encode()).hexdigest()[:32] + ".lock"
    path = os.path.join(place.store, PROMOTIONS, name)
    check_private_file(path, place.uid)
    try:  # here, where a full disk or a folder without rights can still be named
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise PrivateState(path=path, rule=f"it cannot be written ({error.strerror})") from None
    return fsio.Lock(path, what="promotion for this project", wait=LOCK_SECONDS)


def _stands(receipt: dict[str, Any], *, again: bool) -> bool:
    """Whether the confirmed note is in the vault as it was saved; Conflict with a way on where not, False to re-create."""
    state = receipts.vault_state(receipt)
    if state == "present":
        return True
    if state == "missing":
        if again:
            return False
        raise Conflict(
            message=f"{receipt['path']} was saved before and has been deleted since",
            next="to create it again, add --again",
            receipt=receipt,
            vault_state=state,
        )
    raise Conflict(
        message=f"{receipt['path']} was saved before and has been edited since; it was left as it is",
        next="edit that note, or save a differently worded one",
        receipt=receipt,
        vault_state=state,
    )


def await_end(receipt: dict[str, Any]) -> None:
    """Wait until the process of an earlier attempt is gone; Busy where it is not."""
    from time import monotonic, sleep

    identity = receipts.process_of(receipt)
    if receipt["status"] not in receipts.OPEN or identity is None:
        return
    deadline = monotonic() + GONE_SECONDS
    while identity.alive():
        if monotonic() >= deadline:
            raise Busy(what=f"the earlier attempt (process {identity.pid})", next="try again when it has ended")
        sleep(0.02)


def _attempt(
    place: Place,
    registry: Registry,
    promotion: Promotion,
    verified: Verified,
    earlier: dict[str, Any] | None,
    bound_revision: int,
) -> dict[str, Any]:
    vault = verified.pin["vault"]["path"]
    body = body_path(place, promotion.request)
    try:
        fsio.atomic_write(body, promotion.text.encode("utf-8"), mode=0o600)
    except OSError as error:
        raise PrivateState(path=place.store, rule=f"it cannot be written ({error.strerror})") from None
    before = receipts.revision_in_vault(vault, promotion.path)
    receipt = receipts.save(registry, receipts.new_receipt(promotion, vault, before, earlier))
    started = False

    def before_exec(identity: Identity) -> None:
        nonlocal receipt, started
        if require_binding(registry, promotion.project)["revision"] != bound_revision:
            raise Conflict(message="the binding was replaced meanwhile; nothing was started", next="promote it again")
        process = {"pid": identity.pid, "start": identity.start, "boot": identity.boot}
        receipt = receipts.save(registry, receipt, process=process, ended=False)
        started = True
        fsio.step("child-recorded")

    words = create_words(promotion, body, vault)
    try:
        with _stoppable():
            done = run_bound(verified, place.store, words, before_exec=before_exec)
    except ProcessNotStarted as error:
        receipt = receipts.save(
            registry, receipt, status=receipts.NOT_STARTED, reason=error.message, process=None, ended=True
        )
        drop_body(body)
        raise ProcessNotStarted(**{**error.details, "receipt": receipt}) from None
    except BaseException as error:
        raise _interrupted_attempt(registry, receipt, error, started=started) from error
    fsio.step("child-ended")
    return _judge(registry, promotion, receipt, done, body)


def _interrupted_attempt(
    registry: Registry, receipt: dict[str, Any], error: BaseException, *, started: bool
) -> BaseException:
    """Record an attempt that ended by ``error``; the exception to raise for it."""
    ended = not isinstance(error, ProcessUnproven)
    reason = error.message if isinstance(error, KbError) else "interrupted"
    if not started:
        receipts.save(registry, receipt, status=receipts.NOT_STARTED, reason=reason, ended=ended)
        return error
    receipt = receipts.save(registry, receipt, status=receipts.UNCERTAIN, reason=reason, ended=ended)
    if isinstance(error, KeyboardInterrupt):
        return Interrupted(next=f"kb promote.recover {receipt['request']}", receipt=receipt)
    if not isinstance(error, KbError):
        return error
    return _uncertain(receipt)


def _uncertain(receipt: dict[str, Any]) -> Uncertain:
    return Uncertain(
        message=f"whether {receipt['path']} was saved is uncertain: {receipt['reason']}",
        next=f"kb promote.recover {receipt['request'][:16]}",
        receipt=receipt,
    )


def _judge(
    registry: Registry, promotion: Promotion, receipt: dict[str, Any], done: Completed, body: str
) -> dict[str, Any]:
    """Decide by the program's answer and by the file it left; record it; return the confirmed receipt or raise."""
    vault = receipt["vault"]
    data = receipts.note_in_vault(vault, promotion.path)
    now = receipts.ABSENT if data is None else fsio.revision(data)
    if done.status != 0:
        words = tail_of(done.stderr, 500) or "(no words)"
        reason = f"the program ended with status {done.status}: {words}"
        if done.status > 0 and now == receipt["before"]:
            receipt = receipts.save(registry, receipt, status=receipts.REFUSED, reason=reason, ended=True)
            drop_body(body)
            raise Refused(
                message=f"the program did not save {promotion.path}: {words}",
                next=None if data is None else f"look at {promotion.path}: a different note stands there",
                receipt=receipt,
            )
        raise _uncertain(receipts.save(registry, receipt, status=receipts.UNCERTAIN, reason=reason, ended=True))
    doubt = _unconfirmed(done.stdout, promotion, data, now)
    if doubt is not None:
        raise _uncertain(receipts.save(registry, receipt, status=receipts.UNCERTAIN, reason=doubt, ended=True))
    receipt = receipts.save(registry, receipt, status=receipts.CONFIRMED, reason=None, revision=now, ended=True)
    drop_body(body)
    return receipt


def _unconfirmed(stdout: bytes, promotion: Promotion, data: bytes | None, now: str) -> str | None:
    """Why an answer with exit status 0 is no proof; None where it is one and the file read back agrees."""
    try:
        answer = parse_object(stdout, "the program")
    except BadOutput as error:
        return error.message
    if answer.get("path") != promotion.path:
        return "the answer names another path"
    stated = answer.get("revision")
    if not isinstance(stated, str) or not _REVISION.match(stated):
        return "the answer states no revision"
    if data is None:
        return "the program said it was saved, but it is not in the vault"
    if stated != now:
        return "the file in the vault is not the one whose revision was stated"
    if not receipts.holds_text(data, promotion.text):
        return "the file in the vault does not hold the note"
    return None


def drop_body(path: str) -> None:
    """Delete the text of a promotion that is decided; the receipt stays."""
    try:
        os.unlink(path)
    except OSError:
        pass


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception while the program runs, so that the outcome is recorded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM, signal.SIGHUP]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number] if before[number] is not None else signal.SIG_DFL)
