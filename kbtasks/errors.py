"""The error tree: every fault a user can meet, with its exit code, stable code and message.

The first paragraph of a class docstring is the message template; keyword arguments fill it and become ``details``.
Exit codes are those of the design: 2 usage, 4 not found, 5 conflict, 6 drift, 7 uncertain, 8 busy, 9 partly done,
10 unavailable, 130 interrupted. A class below one of these families only sharpens the code and the words.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any


class KbError(Exception):
    """{message}"""

    code: str = "error"
    exit_code: int = 1

    def __init__(self, *, next: str | None = None, **details: Any) -> None:
        """Keep the details that fill the template.

        next: the command (or action) a person should type now; shown after the message.
        details: values for the template; JSON values only, since they are emitted with ``--json``.
        """
        self.details = details
        self.next = next
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The sentence shown to a person: the docstring's first paragraph with the details filled in."""
        template = " ".join((self.__doc__ or self.code).split("\n\n", 1)[0].split())
        try:
            return template.format(**self.details)
        except (KeyError, IndexError, ValueError):
            return template

    def to_json(self) -> dict[str, Any]:
        """The ``error`` document of the contract (``kbtasks/error/1``)."""
        return {
            "schema": "kbtasks/error/1",
            "ok": False,
            "error": {"code": self.code, "message": self.message, "details": self.details, "next": self.next},
        }


class UsageError(KbError):
    """{message}"""

    code, exit_code = "usage", 2


class UnknownCommand(UsageError):
    """There is no command {name!r}."""

    code = "unknown-command"


class InvalidInput(UsageError):
    """{what} does not fit its schema {schema}: at {pointer}: {rule} (got {value}).

    Raised by schema.check; pointer is an RFC 6901 JSON pointer.
    """

    code = "invalid-input"


class NotFound(KbError):
    """There is no {what} named {name!r}."""

    code, exit_code = "not-found", 4


class Ambiguous(KbError):
    """{name!r} names more than one {what}: {candidates}."""

    code, exit_code = "ambiguous", 4

    @property
    def message(self) -> str:
        """The sentence with the candidates as words."""
        found = self.details.get("candidates")
        if not isinstance(found, list):
            return super().message
        return f"{self.details['name']!r} names more than one {self.details['what']}: {', '.join(map(str, found))}."


class NoVault(NotFound):
    """No vault was found from {start}: no kb.toml, .kbtasks or .obsidian upward, and no kb/ in the repository or here."""

    code = "no-vault"


class NotBound(KbError):
    """Nothing is bound to the project {project}."""

    code, exit_code = "not-bound", 4


class Conflict(KbError):
    """{message}"""

    code, exit_code = "conflict", 5


class RevisionConflict(Conflict):
    """{path} was changed by someone else: expected {expected}, found {actual}."""

    code = "revision-conflict"


class AlreadyExists(Conflict):
    """{path} exists already and differs; it was left as it is."""

    code = "already-exists"


class Refused(Conflict):
    """{message}"""

    code = "refused"


class Untrusted(Refused):
    """{path} is not trusted as {what}: {rule}."""

    code = "untrusted"


class Drift(KbError):
    """The binding no longer verifies: {fact} is {state}."""

    code, exit_code = "drift", 6


class Uncertain(KbError):
    """{message}"""

    code, exit_code = "uncertain", 7


class Busy(KbError):
    """{what} is in use by another process."""

    code, exit_code = "busy", 8


class PartlyDone(KbError):
    """{message}"""

    code, exit_code = "partly-done", 9


class Unavailable(KbError):
    """{message}"""

    code, exit_code = "unavailable", 10


class MissingExtra(Unavailable):
    """{feature} needs the extra {extra!r}, which is not installed."""

    code = "missing-extra"

    def __init__(self, *, feature: str, extra: str) -> None:
        super().__init__(next=f"pip install 'kbtasks[{extra}]'", feature=feature, extra=extra)


class ProcessNotStarted(Unavailable):
    """{program} could not be started: {reason}."""

    code = "not-started"


class ProcessTimeout(Unavailable):
    """{program} did not finish within {seconds} s and was ended."""

    code = "timeout"


class ProcessOverflow(Unavailable):
    """{program} wrote more than {limit} bytes and was ended."""

    code = "overflow"


class ProcessUnproven(Unavailable):
    """{program} (process {pid}) was told to end, but could not be shown to have ended."""

    code = "unproven"


class ProcessFailed(Unavailable):
    """{program} failed with exit status {status}: {words}"""

    code = "program-failed"


class BadOutput(Unavailable):
    """{program} gave an answer that cannot be used: {reason}."""

    code = "bad-output"


class PrivateState(Unavailable):
    """{path} cannot hold private records: {rule}."""

    code = "private-state"


class Interrupted(KbError):
    """Interrupted."""

    code, exit_code = "interrupted", 130
