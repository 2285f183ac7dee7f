"""What really runs when a program is started: the ``#!`` line taken apart, once, at binding.

Binary formats other than scripts need no interpreter. A script names one by ``#!/absolute [argument]``, ``env NAME`` or
``env -S NAME arguments``; a name is looked up then and there in the absolute entries of the caller's PATH, so that a
later PATH cannot swap it. An interpreter may itself be a script; the chain ends at a binary.
"""

from __future__ import annotations

import os
import shlex

from kbtasks.errors import KbError, NotFound, Untrusted

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable

#: The kernel reads 256 bytes; a longer first line would be cut there.
FIRST_LINE_BYTES = 256
MAX_LEVELS = 4


class Interpreter:
    """One interpreter of a chain: the path as written or looked up, the real file behind it, its fixed arguments."""

    __slots__ = ("arguments", "path", "written")

    def __init__(self, written: str, path: str, arguments: list[str]) -> None:
        self.written = written
        self.path = path
        self.arguments = arguments


def shebang(head: bytes, path: str) -> list[str] | None:
    """The words of a ``#!`` line: interpreter path, then at most one argument (all the rest); None for a binary.

    head: the first bytes of the program. Raises Untrusted for a line that is too long, empty or not UTF-8.
    """
    if not head.startswith(b"#!"):
        return None
    line, newline, _ = head[2 : FIRST_LINE_BYTES + 1].partition(b"\n")
    if not newline and len(head) > FIRST_LINE_BYTES:
        raise Untrusted(path=path, what="a program", rule=f"its #! line is longer than {FIRST_LINE_BYTES} bytes")
    try:
        words = line.decode("utf-8").strip().split(None, 1)
    except UnicodeDecodeError:
        raise Untrusted(path=path, what="a program", rule="its #! line is not UTF-8") from None
    if not words or "\0" in line.decode():
        raise Untrusted(path=path, what="a program", rule="its #! line names no interpreter")
    return words


def interpreter_words(words: list[str], path: str) -> tuple[str, list[str]]:
    """The interpreter's name or path and its fixed arguments, with ``env`` taken away.

    Raises Untrusted for forms that depend on the environment: options of env, assignments, variables, relative paths.
    """
    name, arguments = words[0], words[1:]
    if os.path.basename(name) == "env":
        if not arguments:
            raise Untrusted(path=path, what="a program", rule="its #! line names no interpreter after env")
        try:
            rest = shlex.split(arguments[0])
        except ValueError:
            rest = ["-"]
        if rest[:1] == ["-S"] and len(rest) > 1:
            rest = rest[1:]
        elif rest and rest[0].startswith("-S") and len(rest[0]) > 2:
            rest = [rest[0][2:], *rest[1:]]
        elif len(rest) > 1:
            rest = ["-"]  # without -S the kernel hands env one word that holds spaces
        if not rest or rest[0].startswith("-") or any("$" in word for word in rest) or "=" in rest[0]:
            raise Untrusted(
                path=path, what="a program", rule=f"its #! line uses a form of env that is not pinned: {words[1]}"
            )
        return rest[0], rest[1:]
    if not os.path.isabs(name):
        raise Untrusted(path=path, what="a program", rule=f"its #! line has a relative interpreter: {name}")
    return name, arguments


def look_up(name: str, search_path: str, accept: Callable[[str], None]) -> tuple[str, list[str]]:
    """The first file called ``name`` in the absolute entries of ``search_path`` that ``accept`` does not refuse.

    Returns it as found there and the refused ones with their reasons. Raises the first refusal where none is accepted,
    NotFound where no entry holds the name.
    """
    skipped: list[str] = []
    first: KbError | None = None
    for folder in search_path.split(os.pathsep):
        candidate = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(candidate):
            try:
                accept(os.path.realpath(candidate))
            except KbError as error:
                first = first or error
                skipped.append(f"{candidate} was passed over: {error.message}")
                continue
            return candidate, skipped
    if first is not None:
        raise first
    raise NotFound(what="program in the absolute entries of PATH", name=name, next=f"install {name}")


def interpreters_of(
    program: str, read_head: Callable[[str], bytes], search_path: str, accept: Callable[[str], None]
) -> tuple[list[Interpreter], list[str]]:
    """The interpreters of ``program``, the one it names first; and what was passed over on the way.

    program: real path. read_head: its first bytes from a trusted descriptor. accept: raises for an untrusted real path.
    """
    chain: list[Interpreter] = []
    warnings: list[str] = []
    current = program
    while (words := shebang(read_head(current), current)) is not None:
        if len(chain) == MAX_LEVELS:
            raise Untrusted(path=program, what="a program", rule=f"it needs more than {MAX_LEVELS} interpreters")
        name, arguments = interpreter_words(words, current)
        if os.path.isabs(name):
            written = name
            if not os.path.isfile(written):
                raise NotFound(
                    what="interpreter", name=written, next=f"install it, or mend the first line of {current}"
                )
        elif os.sep in name:
            raise Untrusted(path=current, what="a program", rule=f"its #! line has a relative interpreter: {name}")
        else:
            written, skipped = look_up(name, search_path, accept)
            warnings += skipped
        real = os.path.realpath(written)
        accept(real)
        chain.append(Interpreter(written, real, arguments))
        current = real
    return chain, warnings


_NEIGHBOUR_WORDS = (b"$0", b"${0", b"BASH_SOURCE", b"__file__", b"__dir__", b"__DIR__", b"argv[0]", b"import.meta")
_PATH_RUNTIMES = ("bun", "node", "deno", "nodejs", "tsx")


def starts_by_path(chain: list[Interpreter], script: bytes, folder: str) -> str | None:
    """Why a script must be started by its path, because it looks for files beside itself; None where it need not.

    Otherwise what runs is a sealed copy of the bytes that were verified. chain: its interpreters, not empty.
    script: its bytes. folder: where it lies.
    """
    name = os.path.basename(chain[0].written).rstrip("0123456789.")
    if name in _PATH_RUNTIMES:
        return f"{name} loads modules from beside the program"
    for word in _NEIGHBOUR_WORDS:
        if word in script:
            return f"the program asks where it lies ({word.decode()})"
    if name in {"python", "pypy"}:
        for other in os.listdir(folder):
            stem = other.removesuffix(".py").encode()
            if (other.endswith(".py") or os.path.isdir(os.path.join(folder, other))) and (
                b"import " + stem in script or b"from " + stem in script
            ):
                return f"the program imports {other} from beside itself"
    return None
