"""Deciding what an unfinished promotion came to, by looking into the vault."""

from __future__ import annotations

import os

from kbtasks import fsio
from kbtasks.binding import receipts
from kbtasks.binding.private import PROMOTIONS, private_folder
from kbtasks.binding.promote import await_end, body_path, drop_body, one_at_a_time
from kbtasks.vault import journal

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.binding.stored import Place


def recover(place: Place, project: str, request: str) -> list[dict[str, Any]]:
    """Decide the open promotions of ``project`` (``request``: one of them, by a prefix; empty: all); return their receipts.

    confirmed: the note is in the vault with exactly the text. refused: a different note stands there, untouched.
    not_started: nothing was written, and it may be tried again. Raises NotFound, Ambiguous, Busy.
    """
    with place.registry(must_write=True) as registry:
        private_folder(os.path.join(place.store, PROMOTIONS), place.uid)
        with one_at_a_time(place, project):
            if request:
                chosen = [receipts.find(registry, project, request)]
            else:
                found, _, _ = receipts.listed(registry, project, 1 << 30)
                chosen = [receipt for receipt in found if receipt["status"] in receipts.OPEN]
            decided = []
            for receipt in chosen:
                if receipt["status"] in receipts.OPEN:
                    await_end(receipt)
                    decided.append(receipts.save(registry, receipt, **_decision(place, receipt)))
                    drop_body(body_path(place, receipt["request"]))
                else:
                    decided.append(receipt)
    return decided


def _decision(place: Place, receipt: dict[str, Any]) -> dict[str, Any]:
    _finish_killed_writer(receipt["vault"])
    data = receipts.note_in_vault(receipt["vault"], receipt["path"])
    common = {"ended": True, "recovered": True}
    if data is None:
        reason = "nothing was written; it may be tried again"
        return {**common, "status": receipts.NOT_STARTED, "reason": reason}
    if _is_the_note(place, receipt, data):
        return {**common, "status": receipts.CONFIRMED, "reason": None, "revision": fsio.revision(data)}
    return {**common, "status": receipts.REFUSED, "reason": "a different note stands at its path; it was left as it is"}


def _finish_killed_writer(vault: str) -> None:
    """Finish what a killed writer of ours began in the vault: else a later command would, and prove the decision wrong."""
    from kbtasks.vault.writer import Writer

    if journal.is_pending(vault):
        with Writer(vault):
            pass


def _is_the_note(place: Place, receipt: dict[str, Any], data: bytes) -> bool:
    try:
        with open(body_path(place, receipt["request"]), encoding="utf-8", newline="") as file:
            return receipts.holds_text(data, file.read())
    except (OSError, UnicodeDecodeError):  # the text is gone: the last line, with the hash of the text, still tells
        last = f"Promotion request: `{receipt['request']}`."
        return data.decode("utf-8", "replace").rstrip().endswith("\n" + last)
