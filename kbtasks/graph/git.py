"""Reading Git: real Git, no shell, no network, a deadline over all calls, and output that is never unbounded."""

from __future__ import annotations

import os

from kbtasks import process
from kbtasks.errors import ProcessFailed, ProcessOverflow, ProcessTimeout, Unavailable

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: Paths of one commit that are looked at in full; a larger one keeps its identity and its notes, and is marked
#: incomplete.
MAX_PATHS = 2_000
#: Bytes of names read for one commit, enough for about 2,000 long paths.
MAX_COMMIT_BYTES = 1 << 20
MAX_BATCH = 100
MAX_BATCH_BYTES = 4 << 20
MAX_OUTPUT_BYTES = 32 << 20
DEADLINE = 10.0

#: Settings that keep a repository's own configuration from running programs or reaching a network while we only read.
_SAFE = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    *(word for setting in (
        "core.fsmonitor=false", "core.quotepath=false", "log.showSignature=false", "log.follow=false",
        "diff.external=", "diff.renameLimit=1000", "protocol.allow=never", "i18n.logOutputEncoding=UTF-8",
    ) for word in ("-c", setting)),
)  # fmt: skip
_KEPT = (
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "SYSTEMROOT",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_GLOBAL",
    "GIT_CEILING_DIRECTORIES",
)


class Commit:
    """A commit: ``hash``, ``time`` (Unix seconds), ``subject``, ``body``."""

    __slots__ = ("body", "hash", "subject", "time")

    def __init__(self, hash: str, time: int, subject: str, body: str = "") -> None:
        self.hash = hash
        self.time = time
        self.subject = subject
        self.body = body


class Change:
    """What a commit did to a path: ``status`` A, M, D, R, C or T; ``old`` is the former path of a rename or copy."""

    __slots__ = ("old", "path", "status")

    def __init__(self, status: str, path: str, old: str | None = None) -> None:
        self.status = status
        self.path = path
        self.old = old


class Git:
    """The repository around a folder, read within one deadline.

    top: absolute path of the work tree. prefix: the folder's path below it, with a final ``/``, empty for the top.
    head: hash of HEAD. shallow: older commits were left out when it was cloned.
    """

    def __init__(self, folder: str, *, environ: Mapping[str, str], deadline: float = DEADLINE) -> None:
        """Find the repository around ``folder``. deadline: seconds for all calls together. Raises Unavailable."""
        from time import monotonic

        self._ends = monotonic() + deadline
        self._seconds = deadline
        self._env = {name: environ[name] for name in _KEPT if name in environ}
        self._env |= {
            "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_LITERAL_PATHSPECS": "1",
            "LC_ALL": "C",
        }  # fmt: skip
        self._folder = folder
        try:
            top = self.ask("rev-parse", "--show-toplevel").removesuffix(b"\n")  # a folder's name may hold line ends
            shallow, _, prefix = self.ask("rev-parse", "--is-shallow-repository", "--show-prefix").partition(b"\n")
        except ProcessFailed as error:
            if "not a git repository" not in str(error.details.get("words")):
                raise
            raise Unavailable(message=f"{folder} is in no Git repository") from None
        if not top:
            raise Unavailable(message=f"{folder} is not in a Git work tree")
        self.top = os.fsdecode(top)
        self.prefix = os.fsdecode(prefix.removesuffix(b"\n"))
        self.shallow = shallow == b"true"
        self._folder = self.top
        try:
            self.head = self.ask("rev-parse", "--verify", "-q", "HEAD^{commit}").strip().decode("ascii", "replace")
        except ProcessFailed:
            raise Unavailable(message=self._without_head()) from None

    def _without_head(self) -> str:
        """Why there is no commit to begin at."""
        try:
            self.ask("rev-parse", "--verify", "-q", "HEAD")
        except ProcessFailed:
            return "the repository has no commit yet"
        return "the repository is damaged: its newest commit cannot be read"

    def ask(self, *words: str, input: bytes | None = None, limit: int = MAX_OUTPUT_BYTES) -> bytes:
        """The stdout of one Git command; Unavailable where Git is missing, fails, runs out of time or of ``limit`` bytes."""
        from time import monotonic

        left = self._ends - monotonic()
        if left <= 0:
            raise ProcessTimeout(program="git", seconds=self._seconds)
        done = process.run(
            ["git", *_SAFE, *words], cwd=self._folder, env=self._env, timeout=left, max_stdout=limit, input=input
        )
        if done.status:
            raise ProcessFailed(program="git", status=done.status, words=_first_line(done.stderr))
        return done.stdout

    def log(self, *words: str, limit: int, bodies: bool = False) -> list[Commit]:
        """At most ``limit`` commits, newest first, of ``git log`` with further ``words``."""
        form = "--format=%H%x00%ct%x00%s%x00%b%x00" if bodies else "--format=%H%x00%ct%x00%s%x00%x00"
        fields = self.ask("log", "-z", form, f"--max-count={limit}", "--no-color", *words).split(b"\0")
        # five fields each: the format's own NUL is followed by the one that -z puts between commits
        return [_commit(*fields[start : start + 4]) for start in range(0, len(fields) - 4, 5)]

    def followed(self, path: str, *, limit: int) -> list[tuple[Commit, Change]]:
        """At most ``limit`` commits that changed ``path``, newest first, renames followed, with what each did to it.

        A note that began as a copy of another begins there; the other's history is not its own.
        """
        found = []
        for commit, change in self._named("--follow", f"--max-count={limit}", "--", path):
            found.append((commit, change or Change("M", path)))
            if change is not None and change.status == "C":
                break
        return found

    def renamed(self, under: str, *, limit: int) -> list[tuple[Commit, Change]]:
        """The renames in the newest ``limit`` commits that renamed something ``under`` a path, newest first."""
        try:
            listed = self._named("--diff-filter=R", f"--max-count={limit}", "--", under or ".", every=True)
        except ProcessOverflow:
            return []
        return [(commit, change) for commit, change in listed if change is not None]

    def _named(self, *words: str, every: bool = False) -> list[tuple[Commit, Change | None]]:
        """Commits of ``git log`` with the first path that each shows, or with ``every`` once for each path."""
        form = ("log", "-z", "-M", "--name-status", "--no-color", "--no-ext-diff", "--format=%x01%H%x00%ct%x00%s")
        fields = self.ask(*form, *words).split(b"\0")
        starts = [at for at, field in enumerate(fields) if field[:1] == b"\x01" and len(field) in (41, 65)]
        found: list[tuple[Commit, Change | None]] = []
        for start, end in zip(starts, [*starts[1:], len(fields)], strict=False):
            name, time, subject, *rest = fields[start:end]
            commit = _commit(name[1:], time, subject, b"")
            listed = list(changes([part.removeprefix(b"\n") for part in rest]))
            if every:
                found += [(commit, change) for change in listed]
            else:
                found.append((commit, listed[0] if listed else None))
        return found

    def changed(self, commits: Sequence[str], *, under: str = "") -> Iterator[tuple[list[Change], bool]]:
        """For each of ``commits`` what it changed against its first parent, renames found, and whether that is all of it.

        A commit of more than MAX_PATHS paths gives only those ``under`` a path, and False.
        """
        done = 0
        while done < len(commits):
            batch = list(commits[done : done + MAX_BATCH])
            answer: dict[str, list[Change]] | None = None
            while answer is None and len(batch) > 1:
                try:
                    answer = self._diff(batch, limit=MAX_BATCH_BYTES)
                except ProcessOverflow:
                    batch = batch[: len(batch) // 2]
            for commit in batch:
                found = (answer or {}).get(commit)
                if found is None or len(found) > MAX_PATHS:
                    yield self._changed_one(commit, under)
                else:
                    yield found, True
            done += len(batch)

    def _changed_one(self, commit: str, under: str) -> tuple[list[Change], bool]:
        try:
            found = self._diff([commit], limit=MAX_COMMIT_BYTES).get(commit, [])
            if len(found) <= MAX_PATHS:
                return found, True
        except ProcessOverflow:
            pass
        try:
            return self._diff([commit], "--", under.rstrip("/") or ".", limit=MAX_OUTPUT_BYTES).get(commit, []), False
        except ProcessOverflow:
            return [], False

    def _diff(self, commits: Sequence[str], *words: str, limit: int) -> dict[str, list[Change]]:
        flags = ("-r", "-z", "--root", "--diff-merges=first-parent", "-M", "--name-status", "--no-ext-diff")
        names = "".join(commit + "\n" for commit in commits).encode()
        fields = self.ask("diff-tree", "--stdin", *flags, *words, input=names, limit=limit).split(b"\0")
        wanted = {commit.encode(): commit for commit in commits}
        starts = [at for at, field in enumerate(fields) if field in wanted]
        answer: dict[str, list[Change]] = {commit: [] for commit in commits}
        for start, end in zip(starts, [*starts[1:], len(fields)], strict=True):
            answer[wanted[fields[start]]] = list(changes(fields[start + 1 : end]))
        return answer


def changes(fields: Sequence[bytes]) -> Iterator[Change]:
    """The changes in the NUL-separated fields of ``--name-status -z``."""
    position = 0
    while position + 1 < len(fields):
        status = fields[position][:1].decode("ascii", "replace")
        if not status:
            position += 1
            continue
        if status in "RC" and position + 2 < len(fields):
            yield Change(status, os.fsdecode(fields[position + 2]), os.fsdecode(fields[position + 1]))
            position += 3
        else:
            yield Change(status, os.fsdecode(fields[position + 1]))
            position += 2


def _commit(hash: bytes, time: bytes, subject: bytes, body: bytes) -> Commit:
    seconds = int(time) if time.strip().lstrip(b"-").isdigit() else 0
    return Commit(hash.strip().decode("ascii", "replace"), seconds, _text(subject), _text(body))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()


def _first_line(data: bytes) -> str:
    lines = _text(data).splitlines()
    return lines[0][:300] if lines else "no message"
