"""Git provenance of notes: which commits made a note what it is, what else they touched, and which notes a text or
path moved with."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from kbtasks.errors import KbError, ProcessTimeout, Unavailable
from kbtasks.graph.git import DEADLINE, Git

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kbtasks.graph.git import Change, Commit

MAX_COMMITS = 50
MAX_COCHANGED = 100
SHALLOW = "the clone is shallow: older commits are not here (git fetch --unshallow)"
INCOMPLETE = "a commit of more than 2,000 paths is shown without its whole list"


class Lane:
    """How far Git answered: ``status`` ready, degraded or unavailable, and why; ``partial`` unless ready."""

    __slots__ = ("message", "status")

    def __init__(self) -> None:
        self.status = "ready"
        self.message: str | None = None

    def worsen(self, status: str, message: str) -> None:
        """Lower the status to ``status`` (never raise it) and keep the first message."""
        if self.status != "unavailable":
            self.status = status
        self.message = self.message or message

    @property
    def partial(self) -> bool:
        """Whether something asked for is missing."""
        return self.status != "ready"

    def to_json(self) -> dict[str, Any]:
        """The lane as every document shows it."""
        return {"name": "git", "status": self.status, "message": self.message}


class History:
    """The provenance of some notes.

    notes: vault-relative path -> its commits as JSON objects, newest first. cut: the paths that have more commits
    than were asked for.
    scan_cut: a search looked at its newest commits only, and there are older ones.
    """

    __slots__ = ("cut", "head", "lane", "notes", "scan_cut")

    def __init__(self) -> None:
        self.lane = Lane()
        self.head: str | None = None
        self.notes: dict[str, list[dict[str, Any]]] = {}
        self.cut: set[str] = set()
        self.scan_cut = False


def require(lane: Lane) -> None:
    """Raise Unavailable (exit 10) unless ``lane`` is ready: for callers that asked for history or nothing."""
    if lane.partial:
        raise Unavailable(
            message=f"the history is {'not available' if lane.status == 'unavailable' else 'incomplete'}: {lane.message}",
            next="leave out --required (of search: --require-history) to take what there is",
        )


def notes_history(
    root: str,
    paths: Sequence[str],
    *,
    environ: Mapping[str, str],
    commits: int = 5,
    cochanged: int = 20,
    deadline: float = DEADLINE,
) -> History:
    """The newest ``commits`` (1 to 50) of each note of ``paths``, renames followed, each with up to ``cochanged`` other paths.

    root: the vault. paths: vault-relative. deadline: seconds for all of Git's answers together. Never raises for
    Git's sake: the lane says what is missing, and what was read before a deadline is kept.
    """
    history = History()
    known: dict[str, tuple[list[Change], bool]] = {}
    try:
        git = Git(root, environ=environ, deadline=deadline)
        history.head = git.head
        if git.shallow:
            history.lane.worsen("degraded", SHALLOW)
        for path in paths:
            log = git.followed(git.prefix + path, limit=commits + 1)
            if len(log) > commits:
                history.cut.add(path)
            shown = history.notes.setdefault(path, [])
            for commit, change in log[:commits]:
                entry = commit_json(commit) | {"status": change.status, "path": change.path, "renamed_from": change.old}
                shown.append(entry)
                if commit.hash not in known:
                    known[commit.hash] = next(git.changed([commit.hash], under=change.path))
                changed, whole = known[commit.hash]
                others = [item.path for item in changed if item.path != change.path]
                entry |= {"cochanged": others[:cochanged], "cochanged_total": len(others), "incomplete": not whole}
                if not whole:
                    entry |= {"cochanged": [], "cochanged_total": None}
                    history.lane.worsen("degraded", INCOMPLETE)
    except ProcessTimeout as error:
        history.lane.worsen("degraded" if history.head else "unavailable", error.message)
    except KbError as error:
        history.lane.worsen("degraded" if history.notes else "unavailable", error.message)
    for entries in history.notes.values():
        for entry in entries:  # the one that was being read when time ran out
            if "cochanged" not in entry:
                entry |= {"cochanged": [], "cochanged_total": None, "incomplete": True}
    return history


def search_history(
    root: str,
    query: str,
    *,
    environ: Mapping[str, str],
    alive: set[str],
    target: str | None = None,
    scan: int = 200,
    commits: int = 5,
    cochanged: int = 20,
    deadline: float = DEADLINE,
) -> tuple[History, list[dict[str, Any]], str]:
    """Notes whose commits speak of ``query``, best first, each with the commits that say so.

    alive: vault-relative paths of the notes of today; history of a renamed note counts for its present name. target:
    absolute path that ``query`` names, if it names one inside the repository: then the commits are those that
    touched it, and the notes those that changed with it.
    scan: how many commits are looked at, 1 to 1,000. Returns the history (lane and head), the hits, and the mode
    ``text`` or ``path``. A note's score adds its commits with weights 1, 1/2, 1/3 ...; a commit's is the share of
    query words in its message (four times), in the note's path at that time (twice), lowered by the logarithm of the
    number of notes it touched, so one sweeping commit proves little.
    """
    history = History()
    scores: dict[str, list[tuple[float, dict[str, Any]]]] = {}
    mode = "text"
    try:
        git = Git(root, environ=environ, deadline=deadline)
        history.head = git.head
        if git.shallow:
            history.lane.worsen("degraded", SHALLOW)
        place = _inside(git, target)
        log: list[Commit] = []
        if place is not None:
            log = git.log("--", place or ".", limit=scan + 1)
            mode = "path" if log else "text"
        if not log:
            log = git.log("--", git.prefix or ".", limit=scan + 1, bodies=True)
        history.scan_cut = len(log) > scan
        _score(git, log[:scan], query, mode, alive, cochanged, history, scores)
    except ProcessTimeout as error:
        history.lane.worsen("degraded" if history.head else "unavailable", error.message)
    except KbError as error:
        history.lane.worsen("degraded" if scores else "unavailable", error.message)
    hits: list[dict[str, Any]] = []
    for path, found in scores.items():
        found.sort(key=lambda pair: -pair[0])
        score = sum(value / (rank + 1) for rank, (value, _) in enumerate(found))
        kept = [entry for _, entry in found[:commits]]
        hits.append({"path": path, "score": round(score, 6), "commits": kept, "commits_total": len(found)})
    hits.sort(key=lambda hit: (-hit["score"], hit["path"]))
    return history, hits, mode


def _score(
    git: Git,
    log: list[Commit],
    query: str,
    mode: str,
    alive: set[str],
    cochanged: int,
    history: History,
    scores: dict[str, list[tuple[float, dict[str, Any]]]],
) -> None:
    from collections import deque
    from math import log2

    words = query.casefold().split()[:20]
    whole = " ".join(words)
    present: dict[str, str] = {}  # a former path -> the present one, learned going back in time
    renames = deque(git.renamed(git.prefix, limit=1000))
    details = git.changed([commit.hash for commit in log], under=git.prefix)
    for age, (commit, (changed, complete)) in enumerate(zip(log, details, strict=True)):
        message = strength(f"{commit.subject}\n{commit.body[:2000]}", words, whole)
        if not complete:
            history.lane.worsen("degraded", INCOMPLETE)
        touched = []
        while renames and renames[0][0].time >= commit.time:
            renamed = renames.popleft()[1]
            present[str(renamed.old)] = present.get(renamed.path, renamed.path)
        for change in changed:
            now = present.get(change.path, change.path)
            if now.startswith(git.prefix) and now[len(git.prefix) :] in alive:
                touched.append((now[len(git.prefix) :], change))
        for note, change in touched:
            at_path = strength(change.path, words, whole)
            if mode == "text" and not message and not at_path:
                continue
            value = (4 * message + 2 * at_path if mode == "text" else 4.0) / (1 + log2(len(touched))) + 1 / (100 + age)
            others = [item.path for item in changed if item.path != change.path] if complete else []
            entry = commit_json(commit) | {
                "status": change.status, "path": change.path, "renamed_from": change.old, "cochanged": others[:cochanged],
                "cochanged_total": len(others) if complete else None, "incomplete": not complete,
                "matched": [name for name, hit in (("message", message), ("path", at_path)) if hit] or ["path"],
            }  # fmt: skip
            scores.setdefault(note, []).append((value, entry))


def strength(text: str, words: Sequence[str], whole: str) -> float:
    """How well ``text`` answers the casefolded query: 2 and a little for length where all of it occurs, else the
    share of its words."""
    folded = " ".join(text.casefold().split())
    if not words:
        return 0.0
    if whole in folded:
        return 2 + min(len(whole), 500) / 1000
    return sum(word in folded for word in words) / len(words)


def commit_json(commit: Commit) -> dict[str, Any]:
    """A commit's identity as every document shows it."""
    try:
        when = datetime.fromtimestamp(commit.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        when = "1970-01-01T00:00:00Z"
    return {"hash": commit.hash, "committed_at": when, "subject": commit.subject[:500]}


def _inside(git: Git, target: str | None) -> str | None:
    if target is None:
        return None
    relative = os.path.relpath(os.path.realpath(os.path.dirname(target)), os.path.realpath(git.top))
    relative = os.path.normpath(os.path.join(relative, os.path.basename(target)))
    if relative in (".", "..") or relative.startswith("../"):
        return "" if relative == "." else None
    return relative
